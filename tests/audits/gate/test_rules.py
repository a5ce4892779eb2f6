"""Gates: which number a rule means, which end of its interval is judged, and what no rule may say."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from geobias.audits.gate.rules import judge, parse_rule, read_rules
from geobias.errors import InputError
from geobias.testing import assert_gate


def estimate(value: float | None, low: float | None, high: float | None) -> dict[str, float | None]:
    return {"value": value, "low": low, "high": high, "p": None, "p_adjusted": None}


def names_results() -> dict[str, Any]:
    """Two classifiers; the United Kingdom's Delta is -1.5 (-2.5 to -0.5) against the mean, France's has no interval."""

    def country(code: str, name: str, delta: Any) -> dict[str, Any]:
        against = {"delta": delta, "change": {"sad": estimate(8.0, -2.0, 18.0)}, "kl": estimate(0.01, 0.005, 0.02)}
        plain = {"delta": delta["value"], "change": {"sad": 8.0}, "kl": 0.01}
        inference = {"delta": estimate(-9, -9, -9), "change": {}, "kl": estimate(9, 9, 9), "against_mean": against}
        return {"country": name, "code": code, "against_mean": plain, "inference": inference}

    countries = [
        country("GB", "United Kingdom", estimate(-1.5, -2.5, -0.5)),
        country("FR", "France", estimate(0.75, None, None)),
    ]
    worst = {"delta": {"value": -1.5, "low": 0.2, "high": 2.9, "country": "GB"}, "change": {"sad": None}}
    classifiers = [
        {"model": {"name": name}, "labels": ["sad"], "countries": countries, "worst": worst}
        for name in ("embedded/sentiment", "my/model.v2")
    ]
    return {"audit": "names", "classifiers": classifiers}


def regions_results() -> dict[str, Any]:
    def region(key: str, name: str, level: str, value: float, *, leaf: bool = False) -> dict[str, Any]:
        scores = {"balanced": value, "paper": value / 10}
        entry = {"id": key, "name": name, "level": level, "leaf": leaf, "c_w": scores, "c_z": scores}
        bounds = {form: estimate(v, v - 0.02, v + 0.02) for form, v in scores.items()}
        return entry if leaf else entry | {"inference": {"c_w": bounds, "c_z": bounds}}

    return {
        "audit": "regions",
        "regions": [
            region("Earth", "Earth", "earth", 0.1),
            region("NA", "North America", "continent", 0.2),
            region("NA", "Namibia", "country", 0.3),
            region("1", "Windhoek", "city", 0.4, leaf=True),
        ],
    }


def downstream_results() -> dict[str, Any]:
    found = {"against_control": -0.03, "inference": {"against_control": estimate(-0.03, -0.05, 0.01)}}
    regions = [{"id": "MX", "name": "Mexico", "classes": {"hate": found}}]
    worst = {"hate": {"value": 0.03, "low": 0.0, "high": 0.06, "region": "MX"}}
    entry = {"model": {"name": "a/b"}, "labels": ["hate"], "regions": regions, "worst": worst}
    return {"audit": "downstream", "classifiers": [entry]}


RUNS = {"n": names_results(), "r": regions_results(), "d": downstream_results()}


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


def test_runs_from_before_there_were_intervals_fail() -> None:
    old = names_results()
    (entry, _) = old["classifiers"]
    del entry["worst"]
    for country in entry["countries"]:
        del country["inference"]
    entry["countries"][0]["against_mean"]["delta"] = None
    rules = [f"names.sentiment.delta.{where} < 100" for where in ("worst", "FR", "GB")]
    found = judge({"old": old}, list(map(parse_rule, rules)))
    assert [judged.value for judged in found] == [0.75, 0.75, None]
    assert not any(judged.passed for judged in found) and "no value" in found[2].why


def test_every_run_of_the_audit_is_judged() -> None:
    worse = names_results()
    worse["classifiers"][0]["worst"]["delta"]["high"] = 8.0
    found = judge(
        {"a": names_results(), "b": worse, "r": regions_results()}, [parse_rule("names.sentiment.delta.worst < 3")]
    )
    assert [(judged.run, judged.passed) for judged in found] == [("a", True), ("b", False)]


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ("names.sentment.delta.worst < 1", "did you mean names.sentiment.delta.worst?"),
        ("names.sentiment.delta.Frence < 1", "did you mean names.sentiment.delta.france?"),
        ("names.sentiment.detla.worst < 1", "did you mean names.sentiment.delta.worst?"),
        ("nams.sentiment.delta.worst < 1", "did you mean names.sentiment.delta.worst?"),
        ("names.xyzzy.delta.worst < 1", "there is embedded/sentiment, my/model.v2."),
        ("names.sentiment.delta < 1", "goes on with worst, GB, FR"),
        ("names.sentiment.delta.worst.more < 1", "could end with 'worst'"),
        ("regions.Windhoek.c_w.balanced < 1", "'Windhoek' is unknown"),
        ("names.sentiment.delta.worst", "not PATH OP NUMBER"),
        ("names.sentiment.delta.worst == 1", "not PATH OP NUMBER"),
        ("< 1", "not PATH OP NUMBER"),
        ("names..delta < 1", "not PATH OP NUMBER"),
        ("names.sentiment.delta.worst < two", "no number"),
        ("names.sentiment.delta.worst < nan", "no number"),
        ("", "not PATH OP NUMBER"),
    ],
)
def test_what_no_rule_may_say(rule: str, message: str) -> None:
    with pytest.raises(InputError) as refused:
        judge(RUNS, [parse_rule(rule)])
    assert message in str(refused.value)


def test_a_short_name_of_two_classifiers_is_refused() -> None:
    results = names_results()
    results["classifiers"][1]["model"]["name"] = "other/sentiment"
    with pytest.raises(InputError, match="'sentiment' is unknown"):
        judge({"n": results}, [parse_rule("names.sentiment.delta.worst < 3")])
    assert judge({"n": results}, [parse_rule("names.other/sentiment.delta.worst < 3")])[0].passed


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
        ("rules = [", "is not TOML"),
        ("rules = 'a < 1'", "needs texts in `rules`"),
        ("rules = []", "holds no rule"),
        ("limits = ['a < 1']", "a key 'limits'"),
        ("[rule]\npath = 'a'", "two pairs of brackets"),
        ("[[rule]]\npath = 'a'\nop = '<'", "takes path, op, value, reason"),
        ("[[rule]]\npath = 'a'\nop = '<'\nvalue = true", "no number"),
        ("[[rule]]\npath = 'a'\nop = '!='\nvalue = 1", "not PATH OP NUMBER"),
    ],
)
def test_bad_toml_is_refused(tmp_path: Path, content: str, message: str) -> None:
    file = tmp_path / "gate.toml"
    file.write_text(content)
    with pytest.raises(InputError, match=message):
        read_rules(file)


def test_the_helper_for_test_suites() -> None:
    class Found:
        @property
        def work(self) -> dict[str, int]:
            return {}

        def to_dict(self) -> dict[str, Any]:
            return names_results()

    assert_gate(Found(), "names.sentiment.delta.worst < 3")
    with pytest.raises(AssertionError) as failed:
        assert_gate(Found(), "names.sentiment.delta.worst < 3", "names.sentiment.delta.worst < 2")
    said = str(failed.value)
    assert "1 of 2 FAILED" in said and "passed" in said and "2.9, is not < 2" in said
    with pytest.raises(InputError, match="No rule"):
        assert_gate(Found())
