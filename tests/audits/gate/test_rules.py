"""Gates: which number a rule means, which end of its interval is judged, and what no rule may say."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from geobias.audits.gate.rules import judge, parse_rule, read_rules
from geobias.errors import InputError
from geobias.testing import assert_gate
from tests.audits.gate.results import WORST, downstream_result, estimate, names_result, regions_result

RUNS = {"n": names_result(), "r": regions_result(), "d": downstream_result()}


@pytest.mark.parametrize(
    ("rule", "value", "bound"),
    [
        ("names.sentiment.delta.worst < 3", 1.5, 2.9),
        ("names.sentiment.delta.worst > 0.1", 1.5, 0.2),
        ("names.embedded/sentiment.delta.GB <= 2.5", 1.5, 2.5),  # of both ends the one farther from 0
        ("names.sentiment.delta.united kingdom >= 0.5", 1.5, 0.5),
        ("names.sentiment.change.sad.FR < 18.1", 8.0, 18.0),
        ("names.sentiment.change.sad.FR >= 0", 8.0, 0.0),  # the interval holds 0
        ("names.sentiment.kl.FR < 0.03", 0.01, 0.02),
        ('names."my/model.v2".delta.worst < 3', 1.5, 2.9),
        ("names.'model.v2'.delta.worst < 3", 1.5, 2.9),
        ("regions.Earth.c_w.balanced < 0.13", 0.1, 0.12),
        ("regions.NA.c_z.balanced > 0.17", 0.2, 0.18),  # of an id at two levels the higher one
        ("regions.namibia.c_w.paper<1e-1", 0.03, 0.05),
        ("regions.NAM.c_w.paper<1e-1", 0.03, 0.05),  # the country, not North America
        ("names.sentiment.delta.UK <= 2.5", 1.5, 2.5),
        ("names.sentiment.delta.Great Britain <= 2.5", 1.5, 2.5),
        ("downstream.b.hate.worst < 0.07", 0.03, 0.06),
        ("downstream.a/b.hate.MX < 0.051", 0.03, 0.05),
    ],
)
def test_a_rule_is_judged_on_the_worse_end(rule: str, value: float, bound: float) -> None:
    (judged,) = judge(RUNS, [parse_rule(rule)])
    assert judged.passed and judged.why == ""
    assert judged.value == pytest.approx(value) and judged.bound == pytest.approx(bound)


@pytest.mark.parametrize(
    ("rule", "why"),
    [
        ("names.sentiment.delta.worst < 2.0", "the high end of its interval, 2.9, is not < 2.0"),
        ("names.sentiment.delta.GB < 2.5", "2.5, is not < 2.5"),  # though -1.5 itself is within
        ("names.sentiment.delta.GB > 1", "the low end of its interval, 0.5, is not > 1"),
        ("names.sentiment.delta.FR < 100", "no interval"),
        ("names.sentiment.change.sad.worst < 100", "no interval"),
        ("downstream.b.hate.MX > 0.001", "the low end of its interval, 0, is not"),
    ],
)
def test_rules_that_do_not_hold_say_why(rule: str, why: str) -> None:
    (judged,) = judge(RUNS, [parse_rule(rule)])
    assert not judged.passed and why in judged.why


def test_numbers_without_an_interval_or_a_value_fail() -> None:
    unknown = names_result(worst=None, deltas=(estimate(None), estimate(0.75)))
    rules = [f"names.sentiment.delta.{where} < 100" for where in ("worst", "FR", "GB")]
    found = judge({"unknown": unknown}, list(map(parse_rule, rules)))
    assert [judged.value for judged in found] == [0.75, 0.75, None]
    assert not any(judged.passed for judged in found) and "no value" in found[2].why


def test_every_run_of_the_audit_is_judged() -> None:
    runs = {"a": names_result(), "b": names_result(worst=replace(WORST, high=8.0)), "r": regions_result()}
    found = judge(runs, [parse_rule("names.sentiment.delta.worst < 3")])
    assert [(judged.run, judged.passed) for judged in found] == [("a", True), ("b", False)]


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ("names.sentment.delta.worst < 1", "Did you mean names.sentiment.delta.worst?"),
        ("names.sentiment.delta.Frence < 1", "Did you mean names.sentiment.delta.france?"),
        ("names.sentiment.detla.worst < 1", "Did you mean names.sentiment.delta.worst?"),
        ("nams.sentiment.delta.worst < 1", "Did you mean names.sentiment.delta.worst?"),
        ("names.xyzzy.delta.worst < 1", "Choose from: embedded/sentiment, my/model.v2."),
        ("names.sentiment.delta < 1", "is incomplete. Add one of: worst, GB, FR"),
        ("names.sentiment.delta.worst.more < 1", "End it with 'worst'"),
        ("names.sentiment.delta.USA < 1", "'USA' is unknown. Choose from: worst, GB, FR."),
        ("regions.Windhoek.c_w.balanced < 1", "'Windhoek' is unknown"),
        ("names.sentiment.delta.worst", "must be PATH OP NUMBER"),
        ("names.sentiment.delta.worst == 1", "must be PATH OP NUMBER"),
        ("< 1", "must be PATH OP NUMBER"),
        ("names..delta < 1", "must be PATH OP NUMBER"),
        ("names.sentiment.delta.worst < two", "not a number"),
        ("names.sentiment.delta.worst < nan", "not a number"),
        ("", "must be PATH OP NUMBER"),
    ],
)
def test_what_no_rule_may_say(rule: str, message: str) -> None:
    with pytest.raises(InputError) as refused:
        judge(RUNS, [parse_rule(rule)])
    assert message in str(refused.value)


def test_a_short_name_of_two_classifiers_is_refused() -> None:
    result = names_result(["embedded/sentiment", "other/sentiment"])
    with pytest.raises(InputError, match="'sentiment' is unknown"):
        judge({"n": result}, [parse_rule("names.sentiment.delta.worst < 3")])
    assert judge({"n": result}, [parse_rule("names.other/sentiment.delta.worst < 3")])[0].passed


def test_rules_from_toml(tmp_path: Path) -> None:
    file = tmp_path / "gate.toml"
    file.write_text(
        """
rules = ["names.sentiment.delta.worst < 3"]

[[rule]]
path = 'names."my/model.v2".delta.worst'
op = "<"
value = 2
reason = "agreed in May"
"""
    )
    rules = read_rules(file)
    assert [str(rule) for rule in rules] == [
        "names.sentiment.delta.worst < 3.0",
        'names."my/model.v2".delta.worst < 2.0',
    ]
    assert [judged.passed for judged in judge(RUNS, rules)] == [True, False] and rules[1].reason == "agreed in May"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("rules = [", "is not valid TOML"),
        ("rules = 'a < 1'", "must have strings in `rules`"),
        ("rules = []", "has no rules"),
        ("limits = ['a < 1']", "an unknown key 'limits'"),
        ("[rule]\npath = 'a'", "with double brackets"),
        ("[[rule]]\npath = 'a'\nop = '<'", "Its keys: path, op, value, reason"),
        ("[[rule]]\npath = 'a'\nop = '<'\nvalue = true", "not a number"),
        ("[[rule]]\npath = 'a'\nop = '!='\nvalue = 1", "must be PATH OP NUMBER"),
    ],
)
def test_bad_toml_is_refused(tmp_path: Path, content: str, message: str) -> None:
    file = tmp_path / "gate.toml"
    file.write_text(content)
    with pytest.raises(InputError, match=message):
        read_rules(file)


def test_the_helper_for_test_suites() -> None:
    result = names_result()
    assert_gate(result, "names.sentiment.delta.worst < 3")
    with pytest.raises(AssertionError) as failed:
        assert_gate(result, "names.sentiment.delta.worst < 3", "names.sentiment.delta.worst < 2")
    said = str(failed.value)
    assert "1 of 2 FAILED" in said and "passed" in said and "2.9, is not < 2" in said
    with pytest.raises(InputError, match="No rule"):
        assert_gate(result)
