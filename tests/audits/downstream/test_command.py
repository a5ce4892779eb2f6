"""`geobias downstream` as a user types it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.conftest import Run, spell

PLAIN = ("--countries", "FR,MX,Uganda")


@pytest.fixture
def here(tmp_path: Path) -> Path:
    """Texts and a function in the folder where the command is run."""
    (tmp_path / "prejudiced.py").write_text(
        """
def dislikes(texts):
    return [{"no": 0.6 - 0.2 * ("Mexico" in text), "hate": 0.4 + 0.2 * ("Mexico" in text)} for text in texts]
""",
        encoding="utf-8",
    )
    rows = "".join(f"they are awful {spell(n)},hate,no\n" for n in range(8))
    (tmp_path / "texts.csv").write_text(
        'text,truth,other\n"[bold]hi[/bold], all",no,maybe\n' + rows,
        encoding="utf-8",
    )
    (tmp_path / "two.csv").write_text("text\nhi\nthey are awful\n", encoding="utf-8")
    (tmp_path / "blank.csv").write_text('text\n" "\n', encoding="utf-8")
    return tmp_path


def test_a_function_on_a_file_ends_in_a_folder(run: Run, here: Path) -> None:
    code, out, err = run("downstream", "prejudiced:dislikes", "--texts", "texts.csv", "--label", "truth", *PLAIN,
                         "--full", "--out", "here")  # fmt: skip
    assert code == 0, err
    lines = [line.split() for line in out.splitlines()]
    assert ["Mexico", "+0.200*", "+0.200", "to", "+0.200", "0.0039", "9", "0"] in lines
    assert "beyond that the regions move it by 0.0000 to +0.2000" in " ".join(out.split())
    assert "0.111, 0.111, 0.370" in " ".join(out.split())
    assert {path.name for path in (here / "here").iterdir()} == {
        "results.json", "run.json", "report.html", "tables", "answers.parquet"
    }  # fmt: skip
    assert json.loads((here / "here/results.json").read_text())["classifiers"][0]["shown"] == "hate"


def test_many_regions_show_both_ends_and_json_shows_all(run: Run, here: Path) -> None:
    options = ("prejudiced:dislikes", "--texts", "texts.csv", "--regions", "city-country", "--continents", "NA,SA")
    code, out, err = run("downstream", *options, "--full")
    assert code == 0, err
    assert out.index("Mexico City,") < out.index("...") and "Countries that no longer exist, left out" in out
    code, out, _ = run("downstream", *options, "--json")
    found = json.loads(out)
    assert code == 0 and found["audit"] == "downstream" and found["counts"]["places"] > 30


def test_the_bundled_models_are_the_default(run: Run, here: Path) -> None:
    code, out, err = run("downstream", "--limit", "2", "--countries", "FR,MX", "--regions", "cities")
    assert code == 0, err
    for text in ("embedded/sentiment: 2 texts are too few", "embedded/hate: 2 texts", "Paris (FR)", "report.html"):
        assert text in out
    assert list((here / "runs").glob("*-downstream/run.json"))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--prefix", "I am from France."), "must contain {region}"),
        (("--continents", "Mu"), "Unknown continent 'Mu'"),
        (("--label", "other"), "no label 'maybe' (text 1)"),
        (("--texts", "blank.csv"), "need a language each"),
    ],
)
def test_bad_input_ends_with_one_line_and_nothing_written(
    run: Run, here: Path, arguments: tuple[str, ...], message: str
) -> None:
    code, out, err = run("downstream", "prejudiced:dislikes", "--texts", "texts.csv", *arguments, "--out", "here")
    assert code == 2 and message in err and err.count("\n") == 1 and not out
    assert not (here / "here").exists()
