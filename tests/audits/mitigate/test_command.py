"""`geobias mitigate` as a user types it: files, the saved model, gate, card and page; and bad input."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

import geobias
from geobias.audits.pages import read_run
from tests.conftest import Run
from tests.models.mitigated.planted import make_texts

FUNCTION = "tests.models.mitigated.planted:dislike_poland"
FINDER = "tests.models.mitigated.planted:find_everybody"


def write_texts(folder: Path, count: int = 20) -> Path:
    rows = [{"text": text, "label": "positive" if "good" in text else "negative"} for text in make_texts(count)]
    path = folder / "texts.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)))
    return path


def test_from_a_run_to_a_model_that_is_audited_again(run: Run, tmp_path: Path) -> None:
    texts = write_texts(tmp_path)
    arguments = ("--texts", texts, "--label", "label", "--finder", FINDER, "--countries", "PL,FR", "--draws", "3")
    code, out, err = run("mitigate", FUNCTION, *arguments, "--out", "fixed", "--full")
    assert code == 0, err
    for text in ("Before and after, on held-out names", "average:8", "names found, %", "After minus before"):
        assert text in out
    result = read_run(tmp_path / "fixed").result
    assert isinstance(result, geobias.MitigateResult) and result.mitigated[0].folder == "models/blind"
    assert "blind" in (tmp_path / "fixed/tables/methods.csv").read_text()
    assert "Poland" in (tmp_path / "fixed/tables/countries.csv").read_text()
    page = (tmp_path / "fixed/report.html").read_text(encoding="utf-8")
    assert "Bias against quality" in page and "before and after" in page
    assert result.mitigated[1].allow == [FUNCTION, FINDER]
    names = ("names", "mitigated:fixed/models/average-8", "--texts", texts, "--countries", "PL,FR", "--draws", "2")
    allow = ("--allow", FUNCTION, "--allow", FINDER)
    code, out, err = run(*names, *allow, "--out", "again")
    assert code == 0, err
    page = (tmp_path / "again/report.html").read_text(encoding="utf-8")
    assert f"wrapped_model {FUNCTION}, finder {FINDER}" in page and FUNCTION in out
    deltas = [row.against_originals.value or 0 for row in read_run(tmp_path / "again").result.effects]
    assert max(map(abs, deltas)) < 1e-6
    rules = (
        "mitigate.blind.spread.ratio < 0.5",
        "mitigate.average-8.accuracy.change > -20",
        "mitigate.blind.recall.worst > 0.5",
    )
    failing = ("mitigate.blind.spread.ratio > 0.5", "mitigate.original.spread.value < 1")
    for rule in (*rules, *failing):
        assert run("gate", "fixed", "--rule", rule)[0] == (rule in failing), rule
    code, out, _ = run("export", "fixed")
    assert "| average:8 |" in out


def test_the_printed_next_command_runs(run: Run, tmp_path: Path) -> None:
    texts, out = write_texts(tmp_path, 40), "my run"
    arguments = ("--texts", texts, "--finder", FINDER, "--countries", "PL,FR,DE,IT", "--draws", "5")
    _, printed, _ = run("mitigate", FUNCTION, *arguments, "--method", "blind", "--out", out)
    (command,) = (line.partition(": geobias ")[2] for line in printed.splitlines() if line.startswith("Next: "))
    assert f"mitigated:{out}/models/blind" in shlex.split(command)
    fewer = ("--texts", texts, "--finder", FINDER, "--countries", "PL,FR")
    code, printed, err = run(*shlex.split(command), *fewer)
    assert code == 0 and FUNCTION in printed, err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--method", "average:0"), "K of average:K must be between 1 and 1,000"),
        (("--method", "augment:101", "--label", "label"), "N of augment:N must be between 1 and 100"),
        (("--method", "average:x"), "needs a number after the colon"),
        (("--method", "average:2.5"), "K of average:K must be a whole number"),
        (("--method", "blind:2"), "takes no value"),
        (("--method", "pair:-1"), "must be above 0 and at most 1000"),
        (("--method", "align:2"), "must be above 0 and at most 1."),
        (("--method", "forget"), "Unknown --method 'forget'"),
        (("--method", ","), "--method is empty"),
        (("--method", "augment"), "is trained on true labels. Name their column with --label."),
        (("--method", "augment", "--label", "label"), "cannot be trained with augment"),
        (("--train", "texts.jsonl"), "--train has texts to train on, but no --method is trained"),
        (("--countries", "ET,FR"), "Ethiopia has"),
        (("--countries", "FR"), "Name at least two in --countries"),
        (("--out", "."), "is not empty and not a geobias run"),
        (("--draws", "0"), "--draws"),
        (("--epochs", "0"), "--epochs"),
        (("--positive", "kind"), "Use both --positive and --negative"),
    ],
)
def test_bad_input_is_one_line(run: Run, tmp_path: Path, options: tuple[str, ...], message: str) -> None:
    texts = write_texts(tmp_path, 15)
    out = () if "--out" in options else ("--out", "fixed")
    countries = () if "--countries" in options else ("--countries", "PL,FR")
    code, _, err = run("mitigate", FUNCTION, "--texts", texts, *countries, *out, *options)
    assert code == 2 and message in err and len(err.strip().splitlines()) == 1, err
    assert not (tmp_path / "fixed").exists()


@pytest.mark.parametrize("method", ["pair", "augment"])
@pytest.mark.parametrize("model", ["http://localhost:1/score", "model.skops", "model.pkl"])
def test_what_is_no_hugging_face_model_cannot_be_trained(run: Run, tmp_path: Path, model: str, method: str) -> None:
    texts = ("--texts", write_texts(tmp_path, 15), "--label", "label")
    code, _, err = run("mitigate", model, *texts, "--method", method, "--out", "fixed")
    assert code == 2 and f"{model} cannot be trained with {method}" in err and not (tmp_path / "fixed").exists()


def test_a_wrapper_of_an_earlier_run_is_written_again(run: Run, tmp_path: Path) -> None:
    arguments = ("mitigate", FUNCTION, "--texts", write_texts(tmp_path, 15), "--finder", FINDER, "--countries", "PL,FR")
    more = ("--draws", "2", "--method", "blind", "--out", "fixed")
    assert run(*arguments, *more)[0] == 0
    settings = tmp_path / "fixed/models/blind/mitigation.json"
    content = settings.read_text()
    settings.write_text("{}")
    assert run(*arguments, *more)[0] == 0 and settings.read_text() == content


def test_texts_without_people_and_models_that_cannot_be_mitigated(run: Run, tmp_path: Path) -> None:
    (tmp_path / "empty.txt").write_text("Nothing here.\nNor here.\n")
    code, _, err = run("mitigate", FUNCTION, "--texts", "empty.txt", "--countries", "PL,FR")
    assert code == 2 and "names a person" in err
    with pytest.raises(geobias.InputError, match="are positive and negative is not known"):
        geobias.mitigate(
            lambda texts: [{"a": 0.5, "b": 0.5} for _ in texts], method="blind", texts=make_texts(5), countries="PL,FR"
        )
