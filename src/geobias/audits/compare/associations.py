"""Whether two models associate words with regions equally strongly, each relative to its own invented names."""

from __future__ import annotations

from math import exp

from geobias.audits.compare.pairs import ModelPair
from geobias.audits.compare.result import ASSOCIATION, Difference
from geobias.measures.detectable_effect import detectable_effect
from geobias.measures.estimates import Estimate
from geobias.report.findings import Evidence, Finding, Size, grade_evidence
from geobias.report.sentences import format_evidence, format_number

MEASURE = "association"
QUESTION = "Does the second model associate words with regions more strongly than the first?"


def answer_association(pair: ModelPair) -> Finding | None:
    """The overall answer about associations; None where the runs have none."""
    rows = pair.rows.get(ASSOCIATION)
    if not rows:
        return None
    (row,) = rows
    evidence = grade_evidence(row.difference.p_adjusted)
    if evidence == "not testable":
        return _make_finding(
            pair,
            evidence,
            f"{pair.second} and {pair.first} cannot be compared in how strongly they associate words with regions: a "
            "run has no invented places.",
            "Run both audits again without --no-placebo, then compare them.",
        )
    value, low, high = (None if number is None else exp(number) for number in _bounds(row))
    ratio = Estimate(value, low, high, row.difference.p, row.difference.p_adjusted)
    assert value is not None
    verb = {"clear": "differ clearly", "suggestive": "may differ"}.get(evidence, "do not differ clearly")
    missed = detectable_effect([row.difference]) if evidence == "none" else None
    power = "" if missed is None else f" A difference under {format_number(exp(missed))} times would be missed."
    sentence = (
        f"{pair.second} and {pair.first} {verb} in how strongly they associate words with regions: {row.second:.2f} "
        f"against {row.first:.2f} times as strongly as with invented names ({format_number(value)} times as much, "
        f"{format_evidence(ratio, ratio.p_adjusted)}).{power}"
    )
    return _make_finding(
        pair,
        evidence,
        sentence,
        f"See both runs side by side: geobias report {pair.comparison.first} {pair.comparison.second}",
        size=Size(value, low, high, "times"),
        direction=None if evidence == "none" else "higher" if value > 1 else "lower",
        p=ratio.p,
        p_adjusted=ratio.p_adjusted,
    )


def _bounds(row: Difference) -> tuple[float | None, float | None, float | None]:
    return row.difference.value, row.difference.low, row.difference.high


def _make_finding(pair: ModelPair, evidence: Evidence, sentence: str, next_step: str, **fields: object) -> Finding:
    return Finding(
        role="overall",
        audit="compare",
        model=pair.model,
        measure=MEASURE,
        question=QUESTION,
        evidence=evidence,
        sentence=sentence,
        limit="It says how strong associations are, not of whom: look at the typical words of each run.",
        next_step=next_step,
        **fields,  # type: ignore[arg-type]
    )
