"""The countries of a regions run on the page: the world map, and a table of all of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from geobias.audits.regions.result import RegionsResult
from geobias.audits.regions.rows import Association, RegionScores, WordAssociation
from geobias.measures.estimates import Estimate
from geobias.report.declarations import PAGE, Column, Table, get_value, say_p
from geobias.report.page.blocks import MapMeasure, WorldMap
from geobias.report.sentences import format_number
from geobias.report.tables import NOTHING, format_interval, is_marked
from geobias.world.countries import DISSOLVED, load_countries

TYPICAL_WORDS = 3  # of each side, in the table of all countries
MORE, LESS = "said more often", "said less often"
DISTANCE = (
    "Distance: how far the model's description of a country lies from the mean of its continent's countries, with "
    "its 95 % interval over words. Adjusted p: against the mean distance of all countries, adjusted for multiple "
    "comparisons. Distances describe the model and the names it reads, not people."
)
VALENCE = (
    "Favourable words: how many times as likely they are, relative to unfavourable ones, as of the average country, "
    "with the 95 % interval of that country alone, and p against other places, adjusted for all countries."
)
TYPICAL = (
    "Said more and less often: the words farthest from the average country, relative to other words, and how many "
    "times as likely they are; * marks those that stand out from other places (adjusted p below 0.05)."
)


def list_country_rows(result: RegionsResult) -> dict[str, int]:
    """The countries by code; none in a tree of the user's."""
    return {region.id: row for row, region in enumerate(result.regions) if region.level == "country"}


def _find_association(result: RegionsResult) -> Association | None:
    """The associations of countries; None where other regions were compared, or none."""
    association = result.association
    return association if association and association.level == "country" else None


def draw_map(result: RegionsResult, caution: str) -> WorldMap | None:
    """None for a tree of the user's that has no countries. A map of distances alone has the caution above it."""
    rows, association = list_country_rows(result), _find_association(result)
    if not rows or rows.keys() - load_countries():
        return None
    measures = list(_list_measures(result, rows, caution if association else ""))
    return WorldMap(
        "map",
        "The countries on the map",
        "World maps of what was measured of each country.",
        [*_list_association_measures(result, association), *measures] if association else measures,
        {code: result.regions[row].name for code, row in rows.items()},
        caution="" if association else caution,
    )


def _list_association_measures(result: RegionsResult, association: Association) -> Iterator[MapMeasure]:
    """How favourably countries are described, and how much what is said of them differs from the average."""
    valences = {row.id: row.valence for row in result.region_associations if row.valence is not None}
    if valences:
        yield MapMeasure(
            "Favourable words",
            "times as likely",
            "How many times as likely favourable words are, relative to unfavourable ones, as of the average country. "
            "Blue is more favourable, orange less.",
            valences,
            baseline=association.controls,
            centre=1,
            tone=1,
            is_ratio=True,
        )
    distinctness = {row.id: row.distinctness for row in result.region_associations if row.distinctness is not None}
    plain = {row.id: _estimate(float(np.exp(row.strength))) for row in result.region_associations}
    yield MapMeasure(
        "Strength of associations",
        "times" if not distinctness else "times that of invented places",
        "How far a typical word (root mean square) is from the average country, relative to other words: 1.5 is 1.5 "
        "times as likely, or as unlikely. It says how much, not what."
        if not distinctness
        else "How much what is said depends on the country (root mean square over words), divided by the same for "
        "invented places: 1 is no more than a name without meaning. It says how much, not what.",
        distinctness or plain,
        baseline="invented places",
        is_ratio=True,
    )


def _estimate(value: float | None) -> Estimate:
    return Estimate(value, None, None, None, None)


def _list_measures(result: RegionsResult, rows: Mapping[str, int], caution: str) -> Iterator[MapMeasure]:
    countries = [result.regions[row] for row in rows.values()]
    distances = {region.id: region.distance for region in countries if region.distance}
    if distances:
        yield MapMeasure(
            "Distance from the continent's mean",
            "distance",
            "How far the model's description of a country lies from the mean of its continent's countries (HERB). "
            f"{caution}".strip(),
            distances,
            baseline="the mean distance of countries",
        )
    scores = {region.id: region.c_w_balanced for region in countries if region.has_pairs}
    if scores:
        yield MapMeasure(
            "Differences between a country's cities",
            "balanced C_w",
            "Balanced C_w: the mean distance between the model's descriptions of a country's cities.",
            scores,
            baseline="random sets of as many cities",
        )


def _get_side(row: WordAssociation) -> str:
    return "more" if (row.times.value or 0.0) > 1 else "less"


def list_countries(result: RegionsResult) -> Iterator[Table]:
    """Every country, the most favourably described first; without associations the farthest from its continent.

    Columns that are empty for all countries are left out.
    """
    association = _find_association(result)
    described = {row.id: row for row in result.region_associations} if association else {}
    words: dict[tuple[str, str], list[WordAssociation]] = {}
    for row in result.associations if association else ():
        words.setdefault((row.id, _get_side(row)), []).append(row)
    countries = [result.regions[row] for row in list_country_rows(result).values()]
    countries = [each for each in countries if each.id in described or each.distance]
    if not countries:
        return

    def rank(country: RegionScores) -> float:
        """By valence, by strength if no word is rated."""
        row = described.get(country.id)
        if row is not None:
            return -(row.valence.value or 0.0 if row.valence else row.strength)
        return 0.0 if association or country.distance is None else -(country.distance.value or 0.0)

    countries.sort(key=rank)
    ranked = [each.id for each in countries if not (result.is_of_all_countries and each.id in DISSOLVED)]

    def say_words(side: str, country: RegionScores) -> str:
        rows = words.get((country.id, side), [])[:TYPICAL_WORDS]
        texts = [
            f"{row.word} {format_number(row.times.value or 0)}{'*' if is_marked(row.times) else ''}" for row in rows
        ]
        return ", ".join(texts) or NOTHING

    def make_columns(headings: Sequence[str], path: str, form: str) -> list[Column]:
        """A value, its interval and its adjusted p-value."""

        def find(country: RegionScores) -> Estimate:
            row = described.get(country.id) if path == "valence" else country
            return get_value(row, path) or _estimate(None) if row else _estimate(None)

        return [
            Column(headings[0], lambda country: find(country).value, form),
            Column(headings[1], lambda country: format_interval(find(country), form)),
            Column(headings[2], lambda country: say_p(find(country).p_adjusted)),
        ]

    beside = "distance\n(HERB)", "interval of\nthe distance", "adjusted p of\nthe distance"
    columns = [
        Column("rank", lambda country: str(ranked.index(country.id) + 1) if country.id in ranked else NOTHING),
        Column("country", "name", is_text=True),
        Column("continent", lambda country: load_countries()[country.id].continent_name, is_text=True),
        *make_columns(("favourable words,\ntimes", "95 % interval", "adjusted p"), "valence", ".2f"),
        Column(MORE, lambda country: say_words("more", country), is_text=True),
        Column(LESS, lambda country: say_words("less", country), is_text=True),
        *make_columns(beside, "distance", ".3f"),
        Column("cities: C_w", lambda each: each.c_w_balanced.value if each.has_pairs else None, ".3f"),
        Column("times random", "ratio", ".2f"),
        Column("adjusted p (cities)", lambda each: say_p(each.c_w_balanced.p_adjusted if each.has_pairs else None)),
    ]
    columns = [column for column in columns if any(column.show(each) != NOTHING for each in countries)]
    has_valence, has_distance = any(row.valence for row in described.values()), any(each.distance for each in countries)
    reading = " ".join([VALENCE] * has_valence + [TYPICAL] * bool(association) + [DISTANCE] * has_distance)
    yield Table(
        "countries",
        f"All {len(countries)} countries",
        reading,
        countries,
        columns,
        on={PAGE},
        text_columns=(MORE, LESS),
    )
