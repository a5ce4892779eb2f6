"""The chart and the map of effects by place, for every audit that has them, and their titles in words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from geobias.measures.estimates import Estimate
from geobias.models.scorer import ModelIdentity
from geobias.report.declarations import get_value
from geobias.report.findings import Finding, with_role
from geobias.report.model_findings import Family
from geobias.report.page.blocks import Chart, MapMeasure, Row, WorldMap
from geobias.report.page.charts import dots
from geobias.report.page.svg import Picture
from geobias.report.page.swarm import Swarm
from geobias.report.tables import listed, signed

MOST_LINES = 24  # of more places all are one swarm of dots


def make_effect_chart(
    block_id: str,
    family: Family[Any],
    *,
    words: tuple[str, str, str],
    nothing: str,
    reading: str,
    axis: str,
    unit: str,
    findings: Sequence[Finding],
    more: Mapping[str, str] = MappingProxyType({}),
    places: int = 3,
    floor: bool = False,
    absolute: tuple[str, float, str] | None = None,
) -> Chart:
    """A dot with its interval for each place, from high to low; its title says which stand out.

    `absolute` has a column of shares where dots of many places stand, the share at its line, and the axis then.

    `words` go around the places in the title: "naming", "makes negative likelier", "makes negative less likely". `more`
    has further columns of the chart's rows, each with the field of the effects that it shows. With `floor`, one of them
    is the noise floor.
    """
    before, above, below = words
    higher, lower = ([effect.title for effect in family.list_standing_out(sign)] for sign in (1, -1))
    title = title_differences(
        family.model,
        [effect.estimate for effect in family.effects],
        [Difference(before, higher, above), Difference(before, lower, below)],
        nothing,
        findings,
    )
    rows: list[dict[str, Any]] = [
        {"place": effect.title, **vars(effect.estimate), "marked": effect.stands_out}
        | {name: get_value(effect, path) for name, path in more.items()}
        for effect in family.by_value
    ]
    reading = " ".join([reading, "Filled: distinguishable. Hollow: not.", *_say_mirrors(family)])
    order = [row["place"] for row in rows]
    picture: Picture = dots(rows, label="place", title=axis, order=order, valence=family.valence, floor=floor)
    if len(rows) > MOST_LINES:
        column, centre, axis = absolute or ("value", 0.0, axis)
        picture = Swarm(rows, "place", axis, family.valence, column, centre)
    alt = f"Places by {axis}. {describe_ends(rows, 'place', places, unit)}"
    return Chart(block_id, title, reading, alt, picture, rows)


def _say_mirrors(family: Family[Any]) -> Iterator[str]:
    """Why places beyond their interval have no colour."""
    for place in dict.fromkeys(effect.mirrors for effect in family.effects if effect.mirrors):
        yield f"{place} is part of the mean, and moves all others the other way: they may only mirror it."


def make_effect_map(
    block_id: str,
    families: Sequence[Family[Any]],
    *,
    title: str,
    measures: Mapping[str, str],
    legend: str,
    readings: Mapping[str, str],
    baseline: str,
) -> WorldMap:
    """The world map: a measure for each model (its title and how to read it by the model's name).

    `baseline` is what the test compares a country with.
    """
    return WorldMap(
        block_id,
        title,
        "A world map: countries that are distinguishable have the colour of their direction.",
        [
            MapMeasure(
                measures[family.model.name],
                legend,
                f"{readings[family.model.name]}.",
                {effect.code: effect.estimate for effect in family.effects},
                baseline=baseline,
                centre=0,
                tone=family.valence.sign,
                model=family.model.name,
            )
            for family in families
        ],
        {effect.code: effect.place for family in families for effect in family.effects},
    )


MOST_NAMED = 3  # countries in a title; of more it names two and counts the others
TOO_LITTLE = "too little data to tell"


class Difference(NamedTuple):
    """What is said of some countries: "names from", the countries, "are judged more harshly"."""

    before: str
    countries: Sequence[str]
    after: str


def title_differences(
    model: ModelIdentity,
    estimates: Iterable[Estimate],
    differences: Sequence[Difference],
    nothing: str,
    findings: Sequence[Finding] = (),
) -> str:
    """What is clear (adjusted p < 0.05), in words, and `nothing` where nothing is; never more than the findings say."""
    evidence = {finding.evidence for finding in with_role(findings, "overall") if finding.model == model.name}
    parts = [f"{before} {_name_countries(names)} {after}" for before, names, after in differences if names]
    if evidence == {"not testable"} or all(estimate.p_adjusted is None for estimate in estimates):
        parts = [TOO_LITTLE]
    elif evidence and "clear" not in evidence:
        parts = []
    return f"{model.short_name}: {'; '.join(parts) or nothing}"


def _name_countries(names: Sequence[str]) -> str:
    if len(names) <= MOST_NAMED:
        return listed(names)
    return f"{names[0]}, {names[1]} and {len(names) - 2} other countries"


def describe_ends(rows: Sequence[Row], label: str, places: int, unit: str) -> str:
    """The first and the last row of a chart and how many are clear, for those who cannot see it."""
    ends = " to ".join(f"{row[label]} {signed(row['value'], places)}" for row in (rows[0], rows[-1]))
    return f"From {ends} {unit}; {sum(row['marked'] for row in rows)} of {len(rows)} are clear (adjusted p < 0.05)."
