"""Gates: which number a rule means, which end of its interval is judged, and what no rule may say."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

import geobias
from geobias.audits.gate.report import gate_text, judge_runs
from geobias.audits.gate.rules import judge, parse_rule, read_rules
from geobias.errors import InputError
from geobias.report.gate_numbers import join_path
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
        ("names.sentiment.change.sad.FR > 0", "the low end of its interval, 0, is not"),  # the interval holds 0
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
        ("names.sentment.delta.worst < 1", "Did you mean 'names.sentiment.delta.worst < 1.0'?"),
        ("names.sentiment.delta.Frence < 1", "Did you mean 'names.sentiment.delta.France < 1.0'?"),
        ("names.sentiment.detla.worst < 1", "Did you mean 'names.sentiment.delta.worst < 1.0'?"),
        ("nams.sentiment.delta.worst < 1", "Did you mean 'names.sentiment.delta.worst < 1.0'?"),
        ("names.xyzzy.delta.worst < 1", "Choose from: embedded/sentiment, my/model.v2, findings."),
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


@pytest.mark.parametrize(
    ("rule", "limits"),
    [
        ("findings.clear >= 0", "can never fail: its number is at least 0"),
        ("findings.clear > -1", "can never fail"),
        ("findings.clear < 0", "can never hold"),
        ("names.findings.clear >= 0", "can never fail"),
        ("names.sentiment.delta.worst >= 0", "can never fail: its number is between 0 and 200"),
        ("names.sentiment.delta.worst <= 200", "can never fail"),
        ("names.sentiment.delta.FR > 200", "can never hold"),
        ("names.sentiment.change.sad.worst >= 0", "can never fail: its number is at least 0"),
        ("names.sentiment.kl.FR > -0.1", "can never fail"),
        ("downstream.b.hate.worst <= 1", "can never fail: its number is between 0 and 1"),
        ("downstream.b.hate.MX < 0", "can never hold"),
        ("regions.Earth.c_w.balanced >= 0", "can never fail"),
    ],
)
def test_a_rule_that_no_value_can_break_is_refused_with_the_range(rule: str, limits: str) -> None:
    with pytest.raises(InputError) as refused:
        judge(RUNS, [parse_rule(rule)])
    assert limits in str(refused.value) and str(parse_rule(rule)) in str(refused.value)


@pytest.mark.parametrize(
    "rule",
    ["findings.clear <= 0", "findings.clear > 0", "names.sentiment.delta.worst < 200", "downstream.b.hate.worst < 1"],
)
def test_rules_at_the_end_of_a_range_that_can_fail_are_judged(rule: str) -> None:
    assert judge(RUNS, [parse_rule(rule)])


def test_points_of_several_labels_at_once_have_a_wider_range() -> None:
    """The probabilities of a multi-label model do not sum to 1: two good and two bad labels make 800 points."""
    result = names_result()
    entry = replace(result.classifiers[0], multi_label=True, positive=["a", "b"], negative=["c", "d"])
    runs = {"n": replace(result, classifiers=[entry])}
    assert judge(runs, [parse_rule("names.sentiment.delta.worst <= 200")])
    with pytest.raises(InputError, match="between 0 and 400"):
        judge(runs, [parse_rule("names.sentiment.delta.worst <= 400")])


FUNCTION = "mypackage.model:predict"


def test_a_model_goes_by_any_of_its_names_without_quotes() -> None:
    runs = {"n": names_result([FUNCTION, "my/model.v2", "/home/me/models/v1.2/final"])}
    for name in (
        *("predict", FUNCTION, f'"{FUNCTION}"', "my/model.v2", "model.v2", "'model.v2'"),
        *("final", "v1.2/final", "/home/me/models/v1.2/final"),
    ):
        assert judge(runs, [parse_rule(f"names.{name}.delta.worst < 3")])[0].passed, name


def find_rules(error: InputError) -> list[str]:
    return re.findall(r"""['"](names\.\S+ < 3\.0)['"]""", str(error))


def test_a_short_name_of_two_classifiers_is_refused_with_rules_that_work() -> None:
    runs = {"n": names_result(["embedded/sentiment", "other.one/sentiment"]), "m": names_result(["my/sentiment"])}
    with pytest.raises(InputError, match="is the name of several") as refused:
        judge(runs, [parse_rule("names.sentiment.delta.worst < 3")])
    rules = find_rules(refused.value)
    assert len(rules) == 2 and all(judge(runs, [parse_rule(rule)])[0].run == "n" for rule in rules)


def test_the_full_name_of_one_model_may_be_the_short_name_of_another() -> None:
    result = names_result(["embedded/sentiment", "sentiment"])
    runs = {"n": replace(result, farthest=[result.farthest[0], replace(result.farthest[1], high=8.0)])}
    for name, bound in (("sentiment", 8.0), ("embedded/sentiment", 2.9)):
        assert judge(runs, [parse_rule(f"names.{name}.delta.worst < 3")])[0].bound == bound


@pytest.mark.parametrize(
    "path", ["names.predcit.delta.worst", "names.mypackage.modle:predict.detla.worst", "nams.predict.delta.worts"]
)
def test_the_rule_that_a_message_prints_works(path: str) -> None:
    runs = {"n": names_result([FUNCTION])}
    with pytest.raises(InputError) as refused:
        judge(runs, [parse_rule(f"{path} < 3")])
    (rule,) = find_rules(refused.value)
    assert judge(runs, [parse_rule(rule)])[0].passed


@pytest.mark.parametrize("name", ["my/model.v2", "it's", 'a "good" one', "a<b", "p>=0.5", " model", FUNCTION])
def test_every_name_can_be_written_in_a_path(name: str) -> None:
    rule = parse_rule(f"{join_path(['names', name, 'delta', 'worst'])} < 3")
    assert judge({"n": names_result([name])}, [rule])[0].passed


def test_a_rule_about_a_model_is_judged_in_the_runs_that_have_it() -> None:
    runs = {"a": names_result(["my/v1"]), "b": names_result(["my/v2"]), "d": downstream_result()}
    rules = [parse_rule(f"names.{model}.delta.worst < 3") for model in ("v1", "v2")]
    assert [(judged.run, judged.rule) for judged in judge(runs, rules)] == [("a", rules[0]), ("b", rules[1])]
    report = judge_runs(runs, rules[:1])
    assert report.passed and report.not_judged == ["b", "d"] == report.to_dict()["not_judged"]
    assert "No rule is about b." in gate_text(report)
    with pytest.raises(InputError, match="'v3' is unknown"):
        judge(runs, [parse_rule("names.v3.delta.worst < 3")])


def test_a_number_that_one_of_two_runs_of_a_model_lacks_is_refused() -> None:
    """It is not passed over: the run has the model, and nothing would be tested in it."""
    without_france = names_result()
    effects = [row for row in without_france.effects if row.code != "FR"]
    classes = [row for row in without_france.classes if row.code != "FR"]
    runs = {"all": names_result(), "few": replace(without_france, effects=effects, classes=classes)}
    with pytest.raises(InputError, match="is not in the run few: 'FR' is unknown"):
        judge(runs, [parse_rule("names.sentiment.delta.FR < 3")])


def test_nothing_passes_where_nothing_was_judged() -> None:
    for runs, rules in (([], "findings.clear <= 0"), (names_result(), [])):
        with pytest.raises(InputError):
            geobias.gate(runs, rules)
    with pytest.raises(InputError, match="nothing passes"):
        geobias.GateReport([])


def test_every_result_of_a_list_is_judged() -> None:
    report = geobias.gate(
        [names_result(worst=replace(WORST, high=8.0)), names_result()], "names.sentiment.delta.worst < 3"
    )
    assert [judged.passed for judged in report.judgements] == [False, True]


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
