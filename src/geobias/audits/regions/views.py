"""How the result of a regions audit shows itself in Python: summary lines and tidy rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from geobias.audits.regions.association_records import Association, list_compared
from geobias.audits.regions.notes import name_level, pluralise
from geobias.report.results import Interval
from geobias.report.tables import digits, format_interval
from geobias.report.tidy import tidy_row

if TYPE_CHECKING:
    from geobias.audits.regions.records import RegionScores
    from geobias.audits.regions.result import RegionsResult

SCORES = [(variant, form) for variant in ("c_w", "c_z") for form in ("balanced", "paper")]
PLAIN_MEASURES = ("flat", "sparseness")


def summarise(result: RegionsResult) -> Iterator[str]:
    """What was audited, its size, and balanced C_w of the highest region that has one."""
    settings = result.settings
    yield (
        f"{result.model.short_name} by {result.model.score} on {result.counts.regions - 1:,} regions, "
        f"{len(result.words)} words, {len(settings.templates)} template(s)"
    )
    association = result.association
    if association is not None:
        members = len(list_compared(association))
        strength = "not compared with invented places"
        if association.signal is not None and association.signal.beyond_names.value is not None:
            more = association.signal.beyond_names
            bounds = "" if more.low is None else f" (95 %: {format_interval(more, '+.2f')})"
            strength = f"{more.value:+.2f} nats more than invented places{bounds}"
        yield (
            f"Associations of {members:,} {pluralise(association.level)} with words, {association.paraphrases} "
            f"paraphrases: {strength}, {association.marked:,} of {association.tests:,} pairs marked"
        )
    region = next((region for region in result.regions if region.pairs), None)
    if region is None:
        yield "No region has two sub-regions to compare, so there is no C_w"
        return
    bounds = format_interval(region.inference.c_w.balanced, ".4g") if region.inference else "no interval"
    yield f"{region.name}: balanced C_w {digits(region.c_w.balanced)} (95 %: {bounds})"


def list_tidy_rows(result: RegionsResult) -> Iterator[dict[str, Any]]:
    """Balanced C_w of every region, then all other measures; what a region has no value for is left out."""
    for measure in (*(f"{variant}.{form}" for variant, form in SCORES), *PLAIN_MEASURES):
        for region in result.regions:
            number = _get_number(region, measure)
            if number.value is not None:
                place = {"model": result.model.name, "region": region.name, "code": region.id, "level": region.level}
                against = "siblings" if region.leaf else "sub-regions"
                yield tidy_row(place, measure, number, against=against)
    for country in result.known.by_country if result.known else ():
        place = {"model": result.model.name, "region": country.name, "code": country.code, "level": "country"}
        yield tidy_row(place, "known.auc", country.auc, against="other pairs")
    if result.association is not None:
        yield from _list_association_rows(result.association, result.model.name)


def _list_association_rows(association: Association, model: str) -> Iterator[dict[str, Any]]:
    """Valence, topics and strength of every region that is compared; the association score of those above."""
    against = f"average {name_level(association.level)}"
    for region in association.regions:
        place = {"model": model, "region": region.name, "code": region.id, "level": region.level}
        if region.score is not None:
            yield tidy_row(place, "association.score", Interval(region.score, None, None), against="sub-regions")
        if region.valence is not None:
            yield tidy_row(place, "association.valence", region.valence, against=against)
        for topic, times in region.topics.items():
            yield tidy_row(place, f"association.topic.{topic}", times, against=against)
        if region.level == association.level:
            yield tidy_row(place, "association.strength", Interval(region.strength, None, None), against=against)


def _get_number(region: RegionScores, measure: str) -> Any:
    """A measure with its interval; the bare value of a region without one."""
    variant, _, form = measure.partition(".")
    numbers = region if region.inference is None else region.inference
    number = getattr(numbers, variant, None) if variant != "sparseness" else region.sparseness
    number = getattr(number, form) if form and number is not None else number
    return Interval(number, None, None) if number is None or isinstance(number, float | int) else number
