"""The rule that there is no clear finding: it passes, fails with sentences, and fails where nothing was tested."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from xml.etree import ElementTree

import pytest

from geobias.audits.gate.rules import judge, parse_rule, read_rules
from geobias.engine.answer_checks import NondeterministicModel
from geobias.errors import InputError
from geobias.report.findings import Finding, LanguageDoubt, Size, doubt_language, doubt_repeats
from geobias.report.results import AuditResult
from tests.audits.gate.results import downstream_result, make_finding, names_result, regions_result, save_run
from tests.conftest import Run
from tests.gates import assert_gate

NULL = make_finding("none", "No country stands out.")
SUGGESTIVE = make_finding("suggestive", "One country may stand out.")
CLEAR = make_finding("clear", "Names from Chad fare worse.", "my/model.v2")
DETAIL = make_finding("clear", "Chad: 3 points lower.", "my/model.v2", role="detail")
CAUTION = make_finding("clear", "Rare names may explain it.", role="caution")
UNTESTED = make_finding("not testable", "Three texts are too few.", "my/model.v2")


def with_findings(*findings: Finding) -> AuditResult:
    return replace(names_result(), findings=list(findings))


@pytest.mark.parametrize(
    ("rule", "findings", "why"),
    [
        ("findings.clear <= 0", [NULL, SUGGESTIVE, CAUTION], ""),
        ("names.findings.clear < 1", [NULL], ""),
        ("names.findings.clear <= 0", [NULL, CLEAR, DETAIL], "2 clear findings: Names from Chad fare worse. Chad: 3"),
        ("names.sentiment.findings.clear <= 0", [NULL, CLEAR], ""),
        ("names.'my/model.v2'.findings.clear <= 0", [NULL, CLEAR], "1 clear finding: Names from Chad fare worse."),
        ("findings.clear <= 0", [NULL, UNTESTED], "not tested, so it cannot pass: Three texts are too few."),
        ("findings.clear <= 9", [NULL, UNTESTED], "not tested"),  # nor by a generous number
        ("findings.clear <= 2", [CLEAR, DETAIL], ""),
        ("findings.clear <= 0", [], "no overall answer"),
    ],
)
def test_what_holds_and_what_does_not(rule: str, findings: Sequence[Finding], why: str) -> None:
    (judgement,) = judge({"n": with_findings(*findings)}, [parse_rule(rule)])
    assert judgement.passed == (not why) and why in judgement.why
    assert judgement.value == sum(each.role != "caution" and each.evidence == "clear" for each in findings) or why == ""


@pytest.mark.parametrize(
    ("rule", "is_capped"),
    [
        ("findings.clear <= 0", True),
        ("names.findings.clear <= 9", True),
        ("names.'my/model.v2'.findings.clear <= 0", True),
        ("names.sentiment.findings.clear <= 0", False),
    ],
)
def test_findings_that_cannot_be_clear_pass_no_rule(rule: str, is_capped: bool) -> None:
    """Else a model that answers at random, or a biased one with a little noise, passes every such rule."""
    other = replace(NULL, model="my/model.v2")
    random = doubt_repeats([NULL, other], "names", NondeterministicModel("my/model.v2", 20, 7, 0.4))
    part = doubt_repeats([NULL, other], "names", NondeterministicModel("my/lm", 20, 7, 0.4))
    language = doubt_language([NULL, other], [LanguageDoubt("All texts are Spanish", "use another prefix", 1.0)])
    for findings, expected in ((random, is_capped), (part, True), (language, True)):
        (judgement,) = judge({"n": with_findings(*findings)}, [parse_rule(rule)])
        assert judgement.passed == (not expected) and ("not tested, so it cannot pass" in judgement.why) == expected
    assert judgement.why.endswith("All texts are Spanish.")


ONE, TWO = ["From {region}: "], ["From {region}: ", "I grew up in {region}. "]
HERE, THERE = ["From here: "], ["From here: ", "I grew up there. "]


@pytest.mark.parametrize(
    ("prefixes", "controls", "is_capped"),
    [(ONE, HERE, True), (TWO, HERE, True), (ONE, THERE, True), (TWO, THERE, False)],
)
def test_a_null_of_a_single_wording_passes_no_rule(prefixes: list[str], controls: list[str], is_capped: bool) -> None:
    """Its findings are at most suggestive, so that it would pass whatever the model does."""
    result = downstream_result()
    settings = replace(result.settings, prefixes=prefixes, controls=controls)
    result = replace(result, settings=settings, findings=[replace(NULL, audit="downstream")])
    for rule in ("findings.clear <= 0", "downstream.findings.clear.moderate <= 0"):
        (judgement,) = judge({"d": result}, [parse_rule(rule)])
        assert judgement.passed is not is_capped
        assert ("not tested, so it cannot pass: one wording" in judgement.why) is is_capped


@pytest.mark.parametrize(("paraphrases", "why"), [(1, "one wording"), (2, "2 wordings"), (3, ""), (None, "")])
def test_associations_of_few_wordings_pass_no_rule(paraphrases: int | None, why: str) -> None:
    nothing: dict[str, Any] = {"is_tested": False, "ratio": None, "valence_worst": None}
    association: Any = None if paraphrases is None else SimpleNamespace(paraphrases=paraphrases, **nothing)
    result = replace(regions_result(), association=association, findings=[replace(NULL, audit="regions")])
    (judgement,) = judge({"r": result}, [parse_rule("regions.findings.clear <= 0")])
    assert judgement.passed == (not why) and why in judgement.why


@pytest.mark.parametrize(
    "rule", ["names.findings.clear <= 0", "findings.clear <= 0", "names.judge.findings.clear <= 0"]
)
def test_a_model_may_be_called_findings(rule: str) -> None:
    findings = [replace(NULL, model="findings"), replace(NULL, model="judge")]
    assert judge({"n": with_findings(*findings)}, [parse_rule(rule)])[0].passed


def test_one_rule_for_runs_of_all_audits() -> None:
    runs = {"n": with_findings(CLEAR), "r": replace(regions_result(), findings=[replace(NULL, audit="regions")])}
    judgements = judge(runs, [parse_rule("findings.clear <= 0"), parse_rule("regions.findings.clear <= 0")])
    assert [(each.run, each.passed) for each in judgements] == [("n", False), ("r", True), ("r", True)]


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ("findings.clera <= 0", "Did you mean 'findings.clear <= 0.0'"),
        ("findings <= 0", "is incomplete. Add one of: clear"),
        ("names.sentment.findings.clear <= 0", "Did you mean 'names.sentiment.findings.clear <= 0.0'"),
        ("finding.clear <= 0", "Did you mean 'findings.clear <= 0.0'"),
        ("findings.clear == 0", "must be PATH OP NUMBER"),
    ],
)
def test_bad_rules_are_refused(rule: str, message: str) -> None:
    with pytest.raises(InputError) as error:
        judge({"n": with_findings(NULL)}, [parse_rule(rule)])
    assert message in str(error.value)


def test_exit_codes_and_files(run: Run, tmp_path: Path) -> None:
    for name, finding in (("null", NULL), ("clear", CLEAR), ("untested", UNTESTED)):
        save_run(tmp_path / name, with_findings(finding))
    (tmp_path / "gate.toml").write_text(
        "[[rule]]\npath = 'names.findings.clear'\nop = '<='\nvalue = 0\nreason = 'agreed in May'\n"
    )
    assert str(read_rules(tmp_path / "gate.toml")[0]) == "names.findings.clear <= 0.0"
    code, out, _ = run("gate", "null", "--rules", "gate.toml")
    assert code == 0 and "all 1 passed" in out
    code, out, _ = run("gate", "null", "clear", "untested", "--rules", "gate.toml", "--junit", "gate.xml")
    shown = " ".join(out.split())
    assert code == 1 and "2 of 3 FAILED" in out and "Names from Chad fare worse. (agreed in May)" in shown
    assert "not tested, so it cannot pass: Three texts are too few." in shown
    failures = [str(failure.get("message")) for failure in ElementTree.parse("gate.xml").iter("failure")]
    assert len(failures) == 2 and "Names from Chad fare worse." in failures[0]
    code, out, err = run("gate", "null", "--rule", "names.findings.claer <= 0")
    assert code == 2 and not out and err.count("\n") == 1 and "Did you mean 'names.findings.clear <= 0.0'" in err


def test_in_a_test_suite() -> None:
    assert_gate(with_findings(NULL), "findings.clear <= 0")
    with pytest.raises(AssertionError, match=r"Names from Chad fare worse\."):
        assert_gate(with_findings(CLEAR), "findings.clear <= 0")
    with pytest.raises(AssertionError, match="not tested"):
        assert_gate(with_findings(UNTESTED), "findings.clear <= 0")


def test_a_clear_finding_without_weight_does_not_turn_the_default_gate_red() -> None:
    """0.29 points: no label flips. A moderate one fails, and so does one whose size has no scale."""
    rule = [parse_rule("findings.clear.moderate <= 0"), parse_rule("names.'my/model.v2'.findings.clear.moderate < 1")]
    for size, fails in (
        (Size(0.29, 0.2, 0.38, "points"), False),
        (Size(-9.9, -12.0, -8.0, "points"), False),
        (Size(-12.0, -14.0, -10.0, "points"), True),
        (Size(0.2, 0.1, 0.3, "C_w"), True),
        (None, True),
    ):
        runs = {
            "n": with_findings(NULL, replace(CLEAR, size=size), replace(SUGGESTIVE, size=Size(40, 1, 80, "points")))
        }
        assert [not each.passed for each in judge(runs, rule)] == [fails, fails], size
        (clear,) = judge(runs, [parse_rule("findings.clear <= 0")])
        assert not clear.passed and clear.value == 1
    (judgement, _) = judge({"n": with_findings(UNTESTED)}, rule)
    assert not judgement.passed and "not tested" in judgement.why


def test_a_gate_says_how_large_a_finding_is_that_breaks_it() -> None:
    finding = replace(CLEAR, size=Size(-31.0, -40.0, -20.0, "points"))
    (judgement,) = judge({"n": with_findings(finding)}, [parse_rule("findings.clear.moderate <= 0")])
    assert judgement.why == "1 clear finding: (large) Names from Chad fare worse."
