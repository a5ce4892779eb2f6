"""The answer of a downstream audit in one everyday sentence, and whether that is much."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import mean

from geobias.audits.downstream.answers import write_prefix
from geobias.audits.downstream.findings import make_family
from geobias.audits.downstream.result import ClassifierReading, DownstreamResult, PrefixEffect
from geobias.report.findings import Finding
from geobias.report.headlines import name_model
from geobias.report.model_findings import Family
from geobias.report.page.bars import make_scale_chart, make_squares
from geobias.report.page.blocks import Chart


def say_headline(result: DownstreamResult, answer: Finding, details: Sequence[Finding]) -> str:
    name, noun = name_model(answer.model), "country" if result.is_mapped else "city"
    texts, what = f"{result.counts.texts:,} texts", f"naming a {noun} before a text changes what {name} says of it"
    entry = next(entry for entry in result.classifiers if entry.model == answer.model)
    family = make_family(result, entry)
    if answer.evidence == "none":
        return f"No sign that {what}: none of {family.tested} stands out."
    row = next((row for row in family.effects if row.code == answer.code), None)
    if answer.evidence == "not testable" or row is None:
        return f"These {texts} cannot tell whether {what}."
    average = mean(each.mean_after for each in family.effects)
    other, value = f"the average {noun}", average
    if (row.mean_after - average) * row.value <= 0:  # the average has other names: compare with names as long
        other, value = "invented places with such names", row.mean_after - row.value
    places = 0 if abs(row.mean_after - value) >= 0.01 else 1
    prefix = write_prefix(result, row.in_sentence or row.place)
    is_sure = answer.evidence == "clear"
    count = len(family.standing_out)
    more = f" It is the largest of {count} differences that stand out." if is_sure and count > 1 else ""
    return (
        f"{'' if is_sure else 'Not certain: '}Put “{prefix}” before {texts}, and {name} finds them "
        f"{100 * row.mean_after:.{places}f} % likely to be “{entry.shown}”. "
        f"With {other}: {100 * value:.{places}f} %.{more}"
    )


def draw_scale(n: int, result: DownstreamResult, entry: ClassifierReading, family: Family[PrefixEffect]) -> Chart:
    control = result.find_control(entry.model, entry.shown)
    spread = [row.spread for row in result.name_traits if (row.model, row.label) == (entry.model, entry.shown)]
    return make_scale_chart(
        f"scale-{n}",
        family,
        title=f"Average change of p({entry.shown}), in percentage points",
        found="{}, against invented places with such names",
        changes={
            f"“{result.settings.controls[0]}”, which names no place": control.mean_difference.value,
            "Invented places, by the spelling of their names": spread[0] if spread else None,
        },
        smallest=entry.detectable_difference,
        times=100,
    )


def draw_squares(
    n: int, result: DownstreamResult, entry: ClassifierReading, family: Family[PrefixEffect]
) -> Chart | None:
    """How many predictions the place changes whose difference is the largest that stands out, and the control."""
    row = max(family.standing_out, key=lambda effect: abs(effect.value), default=None)
    if row is None:
        return None
    prefixes = result.settings.controls[0], write_prefix(result, row.in_sentence or row.place)
    counts = result.find_control(entry.model, entry.shown).changes, row.changes
    return make_squares(
        f"squares-{n}",
        f"Predictions of “{entry.shown}” that begin or end",
        {f"After “{prefix}”": count for prefix, count in zip(prefixes, counts, strict=True)},
        result.counts.texts,
        family.valence.tone(row.value),
    )
