"""`geobias drift` as a user types it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.conftest import Run

SHORT = ("--countries", "FR,DE,NG,KE", "--words", "words.txt", "--device", "cpu")


@pytest.fixture
def here(tmp_path: Path) -> Path:
    """Words and texts in the folder where the command is run."""
    (tmp_path / "words.txt").write_text("kind\nrude\nloyal\nhonest\nlazy\n", encoding="utf-8")
    (tmp_path / "texts.csv").write_text("says\nPeople in France are kind.\nThe lazy dog jumps.\n", encoding="utf-8")
    (tmp_path / "blank.csv").write_text('text\n" "\n', encoding="utf-8")
    return tmp_path


@pytest.mark.slow
def test_its_own_sentences(run: Run, here: Path, small_models: dict[str, Path]) -> None:
    command = ("drift", small_models["bert"], *SHORT, "--top", "2", "--epochs", "2", "--rate", "0.1", "--out", "here")
    code, out, err = run(*command, "--full")
    assert (code, err) == (0, "")
    told = " ".join(out.split())
    assert "trained on the 10 sentences that it finds likeliest (country): C_w by aul" in told
    assert "Earth changed by" in told and "in 2 epochs (95 %" in told and "Spearman's correlation" in told
    assert "It does not show that the texts are true" in told and "Page: here/report.html" in out
    table = [line.split() for line in out.splitlines()]
    assert [line[0] for line in table if line and line[0] in ("0", "1", "2")] == ["0", "1", "2"] * 2
    found = {str(path.relative_to(here / "here")) for path in (here / "here").rglob("*") if path.is_file()}
    assert {"results.json", "run.json", "report.html", "tables/drift.csv", "tables/corpus.csv"} < found
    assert {"figures/drift.svg", "figures/drift.png", "model/config.json", "model/model.safetensors"} < found
    assert run(*command, "--full")[1] == out.replace(
        "Training sentences: tables/corpus.csv. They express prejudice, by design.\n", ""
    )
    code, out, err = run("report", "here")
    assert (code, err) == (0, "") and "Figures: 2 as SVG and PNG" in out


def test_texts_of_the_users_own(run: Run, here: Path, small_models: dict[str, Path]) -> None:
    code, out, err = run("drift", small_models["bert"], *SHORT, "--texts", "texts.csv", "--column", "says",
                         "--epochs", "1", "--out", "here", "--json")  # fmt: skip
    assert (code, err) == (0, "")
    found = json.loads(out)
    assert found["audit"] == "drift" and found["settings"]["corpus"]["kind"] == "texts"
    assert found["settings"]["corpus"]["source"] == "texts.csv" and found["counts"]["texts"] == 2
    assert not (here / "here/tables/corpus.csv").exists()
    assert "2 texts of texts.csv" in (here / "here/report.html").read_text(encoding="utf-8")


@pytest.mark.slow
def test_what_cannot_be_is_refused_in_a_line(run: Run, here: Path, small_models: dict[str, Path]) -> None:
    (here / "taken").mkdir()
    (here / "taken/thesis.txt").write_text("mine", encoding="utf-8")
    (here / "file").write_text("mine", encoding="utf-8")
    bert = small_models["bert"]
    for given, said in (
        ((bert, "--epochs", "0"), "--epochs must be between 1 and 10,000, not 0."),
        ((bert, "--epochs", "-3"), "--epochs must be between 1 and 10,000, not -3."),
        ((bert, "--batch", "0"), "--batch must be between 1 and 10,000, not 0."),
        ((bert, "--top", "0"), "--top must be between 1 and 100,000, not 0."),
        ((bert, "--rate", "0"), "--rate must be above 0"),
        ((bert, "--rate", "nan"), "--rate must be above 0"),
        ((bert, "--seed", "-1"), "--seed must be between 0 and 4,294,967,295, not -1."),
        ((bert, "--score", "bleu"), "Unknown score 'bleu'"),
        ((bert, "--levels", "city"), "The regions have no level 'city'"),
        ((bert, "--texts", "blank.csv"), "has no texts"),
        ((bert, "--texts", "nowhere.csv"), "nowhere.csv does not exist"),
        ((bert, "--texts", "texts.csv"), "has no column 'text'. Its columns: says"),
        ((bert, "--texts", "texts.csv", "--column", "says", "--top", "3"), "Remove them, or remove --texts"),
        ((bert, "--column", "says"), "--column needs --texts"),
        ((bert, "--out", "taken"), "is not empty and not a geobias run"),
        ((bert, "--out", "file"), "is a file. --out must be a folder"),
        ((small_models["bart"],), "is a sequence-to-sequence LM, which cannot be trained by masking"),
        (("embedded/sentiment",), "has no trained masked-LM head"),
        (("nowhere/at/all",), "There is no model folder"),
        ((bert, "--rate", "900", "--epochs", "9"), "Lower --rate"),
    ):
        code, out, err = run("drift", *given, *SHORT)
        assert (code, out) == (2, ""), given
        assert said in " ".join(err.split()) and len(err.splitlines()) == 1, (given, err)


def test_nothing_to_follow(run: Run, here: Path, small_models: dict[str, Path]) -> None:
    code, _, err = run("drift", small_models["bert"], "--countries", "FR", "--cities", "3")
    assert code == 2 and "Nothing to measure" in err
