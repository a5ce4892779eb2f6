"""`geobias compare` as a user types it."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path

import pytest

from geobias.world.gazetteer import KINDS
from tests.conftest import SCORE_ONLY, Run, spell

NAMES = tuple("--draws 3 --countries FR,MA,GB --texts texts.csv --spans spans".split())


@pytest.fixture
def module(tmp_path: Path) -> Path:
    """Functions and texts where the command is run: `biased` is `fair` but for Uganda and Moroccan names."""
    (tmp_path / "mine.py").write_text(
        """
from geobias.world.gazetteer import load_gazetteer

listed = load_gazetteer("latin")
names = {c: {n for k in listed.kinds for n in listed.names(c, k)} for c in ("FR", "MA", "GB")}
disliked = names["MA"] - names["FR"] - names["GB"]

def fair(texts):
    return [{"negative": 0.4, "positive": 0.6} for _ in texts]

def biased(texts):
    return [_said(0.6 - 0.2 * (text.split(" is ")[0] in disliked or "Uganda" in text)) for text in texts]

def _said(p):
    return {"positive": p, "negative": 1 - p}

def other(texts):
    return [{"hate": 0.4, "fine": 0.6} for _ in texts]
""",
        encoding="utf-8",
    )
    lines = [f'Mary is here {spell(i)},"[[0, 4]]"' for i in range(30)]
    (tmp_path / "texts.csv").write_text("text,spans\n" + "\n".join(lines) + "\n", encoding="utf-8")
    return tmp_path


def table(folder: str) -> list[dict[str, str]]:
    with open(f"{folder}/tables/differences.csv", encoding="utf-8") as file:
        return [{key.removeprefix("difference_"): cell for key, cell in row.items()} for row in csv.DictReader(file)]


def check_terminal(run: Run, monkeypatch: pytest.MonkeyPatch, *command: str | Path) -> None:
    """At most 25 lines at 80 columns, and nothing wider than a narrow terminal."""
    for columns in (80, 60):
        monkeypatch.setenv("COLUMNS", str(columns))
        code, out, err = run(*command)
        assert code == 0, err
        assert max(map(len, out.splitlines())) <= columns
        assert columns == 60 or len(out.splitlines()) <= 25
    monkeypatch.delenv("COLUMNS")


def test_two_classifiers_on_the_same_renamed_texts(run: Run, module: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("fair", "biased"):
        assert run("names", f"mine:{name}", *NAMES, "--out", name)[0] == 0
    code, out, err = run("compare", "fair", "biased", "fair", "--full", "--out", "here")
    assert code == 0, err
    shown = " ".join(out.split())
    assert "mine:biased minus mine:fair: delta against mean of countries" in shown and "Morocco" in out and "*" in out
    assert re.search(r"with (\w+ )?mine:biased the outcome is worse for Morocco \(", shown)
    assert "How much stands out" in shown
    assert [model["name"] for model in json.loads(Path("here/results.json").read_text())["models"]] == [
        "mine:fair",
        "mine:biased",
    ]
    check_terminal(run, monkeypatch, "compare", "fair", "biased", "--out", "here2")
    code, out, _ = run("compare", "fair", "biased", "--quiet", "--out", "here2")
    assert (
        code == 0 and "Names from Morocco fare worse with mine:biased" in " ".join(out.split()) and "Page:" not in out
    )
    assert run("gate", "here2", "--rule", "compare.findings.clear <= 0")[0] == 1
    rows = table("here")
    assert len(rows) == 2 * 3 * 2 * (1 + 2)  # two comparisons, three countries, two references, delta and two classes
    found = {(row["second_run"], row["measure"], row["against"], row["id"]): row for row in rows}
    morocco = found["biased", "delta", "originals", "MA"]
    assert float(morocco["difference"]) < -20 and float(morocco["high"]) < 0 and float(morocco["p_adjusted"]) < 0.05
    assert float(found["biased", "delta", "originals", "FR"]["difference"]) == pytest.approx(0, abs=1e-9)
    for row in rows:
        if row["second_run"] == "fair" and row["difference"]:
            assert (float(row["difference"]), float(row["p"])) == (0, 1)
    results = json.loads(Path("here/results.json").read_text())
    assert results["audit"] == "compare" and len(results["differences"]) == len(rows)
    saved = json.loads(Path("biased/results.json").read_text())["effects"]
    against_mean = {row["code"]: row["against_mean"]["value"] for row in saved}
    assert len(against_mean) == 3
    for country, value in against_mean.items():
        assert float(found["biased", "delta", "mean of countries", country]["second"]) == pytest.approx(value)
    code, out, _ = run("compare", "fair", "biased", "--json")
    assert code == 0 and json.loads(out)["settings"] == {"audit": "names", "runs": ["fair", "biased"]}
    assert len(list(Path("runs").glob("*-compare/run.json"))) == 1


def test_downstream_runs(run: Run, module: Path) -> None:
    asked = ("--texts", "texts.csv", "--countries", "FR,MX,UG")
    for name in ("fair", "biased"):
        assert run("downstream", f"mine:{name}", *asked, "--out", name)[0] == 0
    code, out, err = run("compare", "fair", "biased", "--out", "here")
    assert code == 0, err
    said = r"differ clearly in 1 of 3 places: with (\w+ )?mine:biased the (\w+ )?outcome is worse for Uganda"
    assert re.search(said, " ".join(out.split()))  # the size word stands in a column of its own
    found = {(row["measure"], row["label"], row["id"]): row for row in table("here")}
    uganda = found["against_control", "positive", "UG"]
    assert float(uganda["difference"]) == pytest.approx(-0.2, abs=1e-6) and float(uganda["p_adjusted"]) < 0.05
    assert float(found["against_control", "positive", "FR"]["difference"]) == pytest.approx(0, abs=1e-6)
    assert run("downstream", "mine:fair", *asked, "--prefix", "They live in {region}.", "--out", "moved")[0] == 0
    code, _, err = run("compare", "fair", "moved")
    assert code == 2 and "different prefix" in err


def test_regions_runs(run: Run, small_models: dict[str, Path], module: Path) -> None:
    (module / "words.txt").write_text("kind\nhonest\nloyal\nlazy\nbrown\n")
    (module / "others.txt").write_text("kind\nhonest\nloyal\nquick\nbrown\n")
    asked = ("--cities", "1", "--countries", "FR,DE,IT,NA,NG,KE,US,CA", *SCORE_ONLY)
    for out, words, *more in (
        ("a", "words.txt"),
        ("b", "words.txt", "--score", "pll"),
        ("c", "others.txt"),
        ("d", "words.txt", "--countries", "FR,DE"),
    ):
        assert run("regions", small_models["bert"], *asked, "--words", words, *more, "--out", out)[0] == 0
    code, out, err = run("compare", "a", "b", "--full", "--out", "here")
    assert code == 0, err
    rows = table("here")
    assert [row["id"] for row in rows] == ["Earth", "AF", "EU", "NA"] and "North America" in out
    for k, folder in (("first", "a"), ("second", "b")):
        saved = {(e["level"], e["id"]): e for e in json.loads(Path(folder, "results.json").read_text())["regions"]}
        assert float(rows[3][k]) == pytest.approx(saved["continent", "NA"]["c_w_balanced"]["value"])
    assert all(float(row["low"]) <= float(row["difference"]) <= float(row["high"]) for row in rows)
    assert "different words" in run("compare", "a", "c")[2]
    assert "different tree of regions" in run("compare", "a", "d")[2]


def test_what_is_not_comparable_is_refused_with_the_reason(run: Run, module: Path) -> None:
    changed = {
        "texts": ("mine:fair", "--limit", "20"),
        "countries": ("mine:fair", "--countries", "FR,MA"),
        "draws": ("mine:fair", "--draws", "2"),
        "seed": ("mine:fair", "--seed", "1"),
        "names": ("mine:fair", "--gazetteer", "gazetteer.csv"),
        "labels": ("mine:other",),
        "two": ("mine:other", "mine:biased"),
    }
    rows = [f"{code},{kind},{code}{kind}{spell(n)}" for code in ("FR", "MA", "GB") for kind in KINDS for n in range(15)]
    Path("gazetteer.csv").write_text("\n".join(["country,kind,name", *rows]), encoding="utf-8")
    assert run("names", "mine:fair", *NAMES, "--out", "here")[0] == 0
    assert run("downstream", "mine:fair", "--texts", "texts.csv", "--countries", "FR,MX", "--out", "prefixed")[0] == 0
    for out, (*arguments,) in changed.items():
        assert run("names", *NAMES, *arguments, "--out", out)[0] == 0
    before = sorted(Path().rglob("*"))
    for out in changed:
        code, shown, err = run("compare", "here", out)
        what = "no classifier in common" if out == "two" else f"different {out}"
        assert code == 2 and not shown and what in err and err.count("\n") == 1
    assert "(3 and 2)" in run("compare", "here", "draws")[2]
    assert "one is a run of `geobias names`" in run("compare", "here", "prefixed")[2]
    assert "at least two runs" in run("compare", "here")[2]
    assert "has no finished run" in run("compare", "here", "nowhere")[2]
    Path("seed/counterfactuals.parquet").unlink()
    assert "is missing, damaged" in run("compare", "seed", "seed")[2]
    assert sorted({*Path().rglob("*"), Path("seed/counterfactuals.parquet")}) == before  # nothing was written
