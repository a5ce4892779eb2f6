"""The chart and the map of effects by place, for every audit that has them, and their titles in words."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from geobias.measures.estimates import Estimate
from geobias.models.scorer import ModelIdentity
from geobias.report.declarations import get_value
from geobias.report.findings import Finding, with_role
from geobias.report.model_findings import Family
from geobias.report.page.blocks import Chart, MapCountry, MapMeasure, Row, WorldMap
from geobias.report.page.charts import dots
from geobias.report.tables import listed, signed
from geobias.world.countries import load_countries

SHOWN_EACH_WAY = 12
COLOURS = {1: "orange is lower", -1: "orange is higher", 0: "green is higher, purple lower"}


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
) -> Chart:
    """A dot with its interval for each place, from high to low; its title says which stand out.

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
    if len(rows) > 2 * SHOWN_EACH_WAY:
        reading += f" The {SHOWN_EACH_WAY} highest and the {SHOWN_EACH_WAY} lowest of {len(rows):,}."
        rows = [*rows[:SHOWN_EACH_WAY], *rows[-SHOWN_EACH_WAY:]]
    spec = dots(
        rows, label="place", title=axis, order=[row["place"] for row in rows], valence=family.valence, floor=floor
    )
    return Chart(
        block_id, title, reading, f"Places by {axis}. {describe_ends(rows, 'place', places, unit)}", spec, rows
    )


def make_effect_map(
    block_id: str,
    families: Sequence[Family[Any]],
    *,
    title: str,
    measures: Mapping[str, str],
    legend: str,
    readings: Mapping[str, str],
    baseline: str,
    fact: Callable[[Family[Any], Any], str],
) -> WorldMap:
    """The world map: a measure for each model (its title and how to read it by the model's name), and a fact of each.

    `baseline` is what the test compares a country with.
    """
    shapes = load_countries()
    countries = {
        effects[0].code: MapCountry(
            effects[0].place,
            shapes[effects[0].code].continent_name if effects[0].code in shapes else "",  # such as a former state
            facts=[fact(family, effect) for family, effect in zip(families, effects, strict=True)],
        )
        for effects in zip(*(family.effects for family in families), strict=True)
    }
    return WorldMap(
        block_id,
        title,
        "Choose a model. Click a country, or find it by name, for its interval and its numbers.",
        "A world map whose countries are coloured by the chosen model's numbers; the ranking next to it has the same.",
        [
            MapMeasure(
                measures[family.model.name],
                legend,
                f"{readings[family.model.name]}; {COLOURS[family.valence.sign]}.",
                {effect.code: effect.estimate for effect in family.effects},
                baseline=baseline,
                centre=0,
                tone=family.valence.sign,
                model=family.model.name,
            )
            for family in families
        ],
        countries,
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
