"""What is said of countries whose names are in Latin script and in their own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from geobias.audits.names.gaps import name_origin, shorten
from geobias.audits.names.gender_gaps import list_sides, says_delta
from geobias.audits.names.records import ScriptGap
from geobias.measures.estimates import Estimate
from geobias.report.findings import Finding, format_p
from geobias.report.tables import interval, is_marked

if TYPE_CHECKING:
    from geobias.audits.names.result import ClassifierMeasures, NamesResult


def add_script_findings(result: NamesResult, findings: Sequence[Finding]) -> tuple[list[Finding], list[Finding]]:
    """The findings, with the country's other script; and a caution for every other country whose scripts disagree."""
    told, cautions = list(findings), []
    for entry in result.classifiers:
        latin = {country.code: country.inference.against_mean.delta for country in entry.countries}
        for gap in entry.scripts:
            of_country = [k for k, each in enumerate(told) if says_delta(each, entry, gap.code)]
            for k in of_country[:1]:
                told[k] = replace(told[k], sentence=f"{told[k].sentence} {_describe_other(entry, gap)}")
            if not of_country and is_marked(gap.difference):
                cautions.append(_make_caution(result, entry, gap, latin[gap.code]))
    return told, cautions


def _describe_other(entry: ClassifierMeasures, gap: ScriptGap) -> str:
    certainty = f" (95 % interval {interval(gap.own_script, 1)})" if gap.own_script.low is not None else ""
    sentence = f"With {name_origin(gap.country)}, in its own script, it is {_size(entry, gap.own_script)}{certainty}"
    if gap.difference.p_adjusted is None:
        return f"{sentence}; whether the scripts differ was not tested."
    if is_marked(gap.difference):
        return f"{sentence}: the scripts disagree ({format_p(gap.difference.p_adjusted)})."
    return f"{sentence}."


def _size(entry: ClassifierMeasures, estimate: Estimate) -> str:
    value = estimate.value or 0.0
    return f"{shorten(value)} points {list_sides(entry)[value < 0]}"


def _make_caution(result: NamesResult, entry: ClassifierMeasures, gap: ScriptGap, latin: Estimate) -> Finding:
    origin = name_origin(gap.country)
    return Finding(
        role="caution",
        audit=result.audit,
        model=entry.model.name,
        question="Is it the country, or the script of its names?",
        subject=gap.country,
        code=gap.code,
        p=gap.difference.p,
        p_adjusted=gap.difference.p_adjusted,
        evidence="clear",
        sentence=f"{entry.model.short_name}: Texts with {origin} score {_size(entry, latin)} than in the mean country "
        f"in Latin script, and {_size(entry, gap.own_script)} in their own: the scripts disagree (difference: 95 % "
        f"interval {interval(gap.difference, 1)}, {format_p(gap.difference.p_adjusted)}).",
        limit="Few names in another script stand in English texts; the two lists are of different names.",
        next_step='Audit the country with all its names: geobias.audit_names(..., scripts="all")',
    )
