"""`geobias decide` as a user types it: the folder, the page, the card, the gate, comparisons, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import geobias
from geobias.audits.pages import read_run
from tests.conftest import Run
from tests.servers import served

MODEL = "tests.audits.decide.deciders:harder_on_chad"
FEW = ("--countries", "FR,TD,KE,NO", "--limit", "12")


def test_a_run_has_everything(run: Run, tmp_path: Path) -> None:
    code, out, err = run("decide", MODEL, *FEW, "--out", "a", "--full")
    assert code == 0, err
    assert out.startswith("Ask ") and "people of Chad" in out and "Page: " in out
    assert "what else moves decisions" in out
    folder = tmp_path / "a"
    names = {path.name for path in (folder / "tables").iterdir()}
    assert names == {"cases.csv", "deciders.csv", "effects.csv", "parts.csv"}
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert "Decisions: the same cases" in page and "EEOC" in page and "recommend nothing" in page
    result = read_run(folder).result
    assert json.loads((folder / "results.json").read_text())["deciders"][0]["worst_country"] == "Chad"
    assert result.to_frame().query("measure == 'preference'").set_index("code").loc["TD", "value"] < -0.5
    table = pq.read_table(folder / "answers.parquet")
    assert table.num_rows == 12 * 2 * 4 and set(table["favours"].to_pylist()) == {1, -1}
    # the gate judges the worse end of the interval
    rules = {"impact_ratio.worst > 0.95": False, "impact_ratio.worst > 0.01": True, "preference.Chad < 0.1": False}
    for rule, passes in {**rules, "answered > 0.9": True, "order < 0.1": True, "spread < 9": True}.items():
        assert geobias.gate(folder, f'decide."{MODEL}".{rule}').passed == passes, rule
    assert "| Chad |" in geobias.export(folder)
    # a system prompt that helps
    code, out, err = run("decide", MODEL, *FEW, "--system", "Be fair.", "--out", "b", "--quiet")
    assert code == 0 and "No sign that" in out, out + err
    comparison = geobias.compare([folder, tmp_path / "b"])
    assert comparison.findings[0].evidence == "clear" and "better for Chad" in comparison.findings[0].sentence
    spread = next(row for row in comparison.comparisons[0].rows if row.measure == "spread")
    assert spread.difference.value is not None and spread.difference.value < 0
    code, out, _ = run("compare", "a", "b", "--out", "c", "--full")
    assert code == 0 and "spread" in out and (tmp_path / "c" / "report.html").exists()


def test_plan_scores_little_and_says_what_could_be_found(run: Run, tmp_path: Path) -> None:
    code, out, err = run("decide", MODEL, *FEW, "--plan")
    assert code == 0 and not list(tmp_path.iterdir()), err
    assert "12 cases with 24 yes/no questions" in out and "detected with 80 %" in " ".join(out.split())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--origin", "smell"), "Unknown way to show origin 'smell'"),
        (("--domains", "cooking"), "Unknown domain 'cooking'"),
        (("--countries", "FR"), "Name at least two in --countries"),
        (("--countries", "FR,Atlantis"), "Unknown country 'Atlantis'"),
        (("--draws", "0"), "--draws"),
        (("--paraphrases", "0"), "--paraphrases"),
        (("--system", " "), "An argument is empty"),
        (("--limit", "0"), "--limit"),
        (("--scenarios", "missing.csv"), "missing.csv"),
    ],
)
def test_bad_input_is_one_line(run: Run, tmp_path: Path, options: tuple[str, ...], message: str) -> None:
    code, out, err = run("decide", MODEL, *options)
    assert code == 2 and message in " ".join(err.split()) and "Traceback" not in err and not out
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("kind", ["plain", "chat"])
def test_a_served_model_is_asked_after_consent(
    run: Run, tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    few = ("--countries", "FR,KE", "--domains", "hiring", "--limit", "1")
    with served(kind) as toy:
        if kind == "plain":  # a server of likelihoods
            monkeypatch.setattr(toy, "_chat", lambda body: (404, {"detail": "Not Found"}))
        address = ("decide", f"{toy.url}#toy", "--server", "begin=<s>", *few)
        code, _, err = run(*address)
        assert code == 2 and "needs your confirmation" in err
        # 2 questions about 2 countries, 12 invented ones and nobody in particular, and 2 reviews of each; one number
        # about 2 countries, one choice in 2 orders: at most 20 calls each
        assert f"{20 * (2 * (15 + 2) + 2 + 5):,} texts" in err, err
        code, out, err = run(*address, "--yes", "--out", "served", "--quiet")
    assert code == 0 and "toy" in out, out + err
    begin = json.loads((tmp_path / "served" / "results.json").read_text())["models"][0].get("begin")
    assert kind == "chat" or begin == "<s>"
