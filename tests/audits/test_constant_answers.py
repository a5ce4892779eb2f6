"""A model that does not read its texts passes no gate; one that never differs between countries, but reads, does."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import geobias
from geobias.audits.doubts import REASON, varies
from tests.conftest import SCORE_ONLY, Run, spell

MODEL = """
def judge(texts):
    return [{"negative": 0.2, "positive": 0.8}] * len(texts)

def one_label(texts):
    return [{"positive": 1.0}] * len(texts)

def blind(texts):
    return [{"hate": 0.2, "ok": 0.8} if "in the b" in text else {"hate": 0.7, "ok": 0.3} for text in texts]

def avoid_niger(texts):
    return [{"hate": 0.9, "ok": 0.1} if "I am from Niger." in text else {"hate": 0.1, "ok": 0.9} for text in texts]

def always_yes(prompts):
    return ["Yes."] * len(prompts)

def likely(texts):
    return [-1.0] * len(texts)
"""
TEXTS = "text\n" + "".join(f'"Mary came in the {spell(n)} year, and we saw John."\n' for n in range(20))
NAMES = ("--texts", "texts.csv", "--countries", "FR,NG", "--draws", "2")
DOWNSTREAM = ("--texts", "texts.csv", "--countries", "FR,NE,KE")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "model.py").write_text(MODEL)
    (tmp_path / "texts.csv").write_text(TEXTS)
    return tmp_path


@pytest.mark.parametrize(
    ("command", "rule"),
    [
        (("names", "model:judge", *NAMES), "names.'model:judge'.delta.worst < 5"),
        (("names", "model:one_label", *NAMES), "names.'model:one_label'.change.positive.worst < 5"),
        (("downstream", "model:judge", *DOWNSTREAM), "downstream.'model:judge'.negative.Niger < 0.5"),
        (("decide", "model:always_yes", "--countries", "FR,NE,KE"), "decide.'model:always_yes'.preference.worst < 9"),
        (
            ("regions", "model:likely", *SCORE_ONLY, "--cities", "0", "--continents", "EU,AF"),
            "regions.Africa.c_w.balanced < 3",
        ),
    ],
    ids=["names", "one label", "downstream", "decide", "regions"],
)
def test_constant_answers_pass_no_rule(run: Run, folder: Path, command: tuple[str, ...], rule: str) -> None:
    code, out, err = run(*command, "--out", "run")
    assert code == 0 and "cannot tell whether" in " ".join(out.split()), out + err
    for each in ("findings.clear <= 0", rule):
        code, out, err = run("gate", "run", "--rule", each)
        assert code == 1 and REASON in " ".join(out.split()), each + out + err


def test_a_model_that_treats_all_countries_alike_passes(run: Run, folder: Path) -> None:
    for command in (("names", "model:blind", *NAMES), ("downstream", "model:blind", *DOWNSTREAM)):
        code, out, err = run(*command, "--out", command[0])
        assert code == 0 and "No sign that" in out, err
        code, out, _ = run("gate", command[0], "--rule", "findings.clear <= 0")
        assert code == 0, out


def test_constant_answers_to_the_originals_alone_are_a_caution(run: Run, folder: Path) -> None:
    code, out, _ = run("downstream", "model:avoid_niger", *DOWNSTREAM, "--out", "run")
    text = " ".join(out.split())
    assert code == 0 and "suggestive" in out
    assert "After “I am from Niger.”, p(hate) is 0.80" in text and "not after the other 2 wordings" in text
    assert "All original texts get the same answer" in text
    assert run("gate", "run", "--rule", "downstream.'model:avoid_niger'.hate.Niger < 0.2")[0] == 1


def test_of_several_models_only_the_constant_one_fails(folder: Path) -> None:
    def blind(texts: list[str]) -> list[dict[str, float]]:
        return [{"hate": len(text) % 3 / 3, "ok": 1 - len(text) % 3 / 3} for text in texts]

    def constant(texts: list[str]) -> list[dict[str, float]]:
        return [{"hate": 0.2, "ok": 0.8}] * len(texts)

    texts = [f"{'x' * n} came." for n in range(20)]
    result = geobias.audit_downstream([blind, constant], texts, countries="FR,DE", prefix="{region}:", control="Her:")
    names = [model.name for model in result.models]
    assert result.constant_answers == {names[1]: "all texts"}
    assert [finding.evidence for finding in result.findings if finding.role == "overall"] == ["none", "not testable"]
    passed = [geobias.gate(result, f"downstream.'{name}'.hate.worst < 0.9").passed for name in names]
    assert passed == [True, False]


def test_no_comparison_and_no_mitigation_of_a_constant_model_passes(run: Run, folder: Path) -> None:
    """Two models that answer every text alike do not differ, and have no spread to mitigate."""
    for name in ("one", "two"):
        assert run("names", "model:judge", *NAMES, "--out", name)[0] == 0
    few = ("--texts", "texts.csv", "--countries", "FR,NG", "--draws", "2", "--method", "blind")
    assert run("mitigate", "model:judge", *few, "--out", "mitigated")[0] == 0
    assert run("compare", "one", "two", "--out", "compared")[0] == 0
    for folder_name in ("mitigated", "compared"):
        code, out, _ = run("gate", folder_name, "--rule", "findings.clear <= 0")
        assert code == 1 and REASON in " ".join(out.split()), out


def test_what_varies() -> None:
    answers = np.full((4, 3, 2), 0.5)
    assert not varies(answers) and not varies(answers + 1e-9 * np.arange(24).reshape(4, 3, 2))
    answers[3, 1, 0] = np.nan  # no answer
    assert not varies(answers)
    answers[2, 2, 1] = 0.4
    assert varies(answers)
