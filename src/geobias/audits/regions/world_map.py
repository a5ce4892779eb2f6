"""The countries of a regions run on the page: the world map with its words, and a table of all of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from geobias.audits.regions.result import RegionsResult
from geobias.audits.regions.rows import Association, RegionScores, WordAssociation
from geobias.measures.estimates import Estimate, Estimates
from geobias.report.colours import NEUTRAL_SCHEME
from geobias.report.declarations import PAGE, Column, Table, get_value, say_p
from geobias.report.page.blocks import MapCountry, MapMeasure, Row, WorldMap
from geobias.report.page.world_map import list_numbers
from geobias.report.sentences import format_number
from geobias.report.tables import NOTHING, format_interval, is_marked
from geobias.texts.paraphrases import paraphrase_templates
from geobias.world.countries import DISSOLVED, load_countries
from geobias.world.places import name_people
from geobias.world.words import Word

CITIES_SHOWN = 30
WORDS_SHOWN = 6  # on each side, of a country
TYPICAL_WORDS = 3  # of each side, in the table of all countries
MORE, LESS = "said more often", "said less often"
PRECISION = 1000  # cells are whole thousandths of a nat: half the size of ratios with four digits
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
    measures, cities = list(_list_measures(result, rows, caution if association else "")), _group_cities(result)
    return WorldMap(
        "map",
        "The countries on the map",
        "Choose a measure, or a topic and a word. Click a country, or find it by name, for its cities and its most "
        "typical words.",
        "A world map whose countries are coloured by the chosen measure; the ranking next to it has the same numbers.",
        [*_list_association_measures(result, association), *measures] if association else measures,
        {code: _describe_country(result, row, cities.get(row, [])) for code, row in rows.items()},
        words=_list_association_words(result, association) if association else _list_words(result, rows),
        caution="" if association else caution,
        is_hero=association is not None or not caution,
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


def _group_cities(result: RegionsResult) -> dict[int, list[RegionScores]]:
    """The cities of each country by its position."""
    cities: dict[int, list[RegionScores]] = {}
    for region in result.regions:
        if region.level == "city" and region.parent_index is not None:
            cities.setdefault(region.parent_index, []).append(region)
    return cities


def _describe_country(result: RegionsResult, row: int, cities: Sequence[RegionScores]) -> MapCountry:
    """What the panel shows in addition to the measures: its cities, the farthest from their mean first."""
    country, shape = result.regions[row], load_countries()[result.regions[row].id]
    ranked = sorted(cities, key=lambda city: -(city.c_w_balanced.value or 0.0)) if country.has_pairs else []
    more = f" (the {CITIES_SHOWN} farthest of {len(ranked)})" if len(ranked) > CITIES_SHOWN else ""
    is_default = result.is_of_all_countries  # a dissolved country is in other runs by choice
    return MapCountry(
        country.name,
        shape.continent_name,
        cities=[(city.name, _round(city.c_w_balanced.value)) for city in ranked[:CITIES_SHOWN]],
        cities_title=f"Its cities, by their distance from the mean of its cities{more}",
        unranked=f"dissolved in {DISSOLVED[country.id]}" if is_default and country.id in DISSOLVED else "",
    )


def _round(value: float | None) -> float | None:
    return None if value is None or np.isnan(value) else round(float(value), 4)


def _list_association_words(result: RegionsResult, association: Association) -> Row:
    """What the page's script needs of every word and topic (`words.js`)."""
    words, regions, estimates = result.scored_words, result.region_associations, result.all_associations
    subject = "demonym" if association.subject == "demonym" else "region"
    frames = [
        paraphrase_templates(Word(word.word, word.topic, part_of_speech=word.part_of_speech), subject)[0]
        for word in words
    ]
    distinct_frames = list(dict.fromkeys(frames))
    positions = {word.word: position for position, word in reversed(list(enumerate(words)))}
    times = {(row.id, row.topic): row.times for row in result.topic_associations}
    topics = _group_topics(result)
    typical: dict[str, dict[str, list[int]]] = {region.id: {"more": [], "less": []} for region in regions}
    for row in result.associations:
        typical[row.id][_get_side(row)].append(positions[row.word])
    return {
        "reading": "Times as likely as of the average country, relative to other words: green is more often, purple "
        f"less. 95 % intervals are of each country alone, over {association.paraphrases} paraphrases, what a name "
        "alone may do and, for a topic, its words.",
        "baseline": association.controls,
        "scheme": NEUTRAL_SCHEME,
        "names": [word.word for word in words],
        "frames": distinct_frames,
        "frame": [distinct_frames.index(frame) for frame in frames],
        "people": {each.id: name_people(each.level, each.id) or each.name for each in regions}
        if subject == "demonym"
        else {},
        "topics": [
            {
                "topic": topic,
                "words": members,
                "countries": {
                    region.id: list_numbers(times[region.id, topic])
                    for region in regions
                    # The mean over the words of a single topic is 0.
                    if len(topics) > 1 and (region.id, topic) in times
                },
            }
            for topic, members in topics.items()
        ],
        "cells": {region.id: _list_cells(estimates.part(k)) for k, region in enumerate(regions)},
        "salient": typical,
    }


def _get_side(row: WordAssociation) -> str:
    return "more" if (row.times.value or 0.0) > 1 else "less"


def _group_topics(result: RegionsResult) -> dict[str, list[int]]:
    """The positions of the words of each topic."""
    topics: dict[str, list[int]] = {}
    for position, word in enumerate(result.scored_words):
        topics.setdefault(word.topic or "words", []).append(position)
    return topics


def _list_cells(estimates: Estimates) -> list[float | None]:
    """Value, bounds and adjusted p-value of every word of a country, one after the other."""
    nats = [np.round(PRECISION * numbers) for numbers in (estimates.value, estimates.low, estimates.high)]
    numbers = np.column_stack([*nats, estimates.p_adjusted]).ravel().tolist()
    return [None if not np.isfinite(each) else int(each) if each % 1 == 0 else float(f"{each:.2g}") for each in numbers]


def _list_words(result: RegionsResult, rows: Mapping[str, int]) -> Row:
    """f of every word and topic by country, and the words that stand out for each country: without associations."""
    templates, codes = result.settings.templates, list(rows)
    likelihoods = result.likelihoods.mean(axis=0)[list(rows.values())]
    several = f", the mean over {len(templates)} templates of which one is shown" if len(templates) > 1 else ""

    def list_by_code(values: np.ndarray) -> dict[str, float | None]:
        return {code: _round(value) for code, value in zip(codes, values, strict=True) if not np.isnan(value)}

    return {
        "reading": f"Mean log-probability by {result.model.score}{several}; higher is more likely.",
        "template": templates[0],
        "names": [word.word for word in result.scored_words],
        "topics": [
            {"topic": topic, "words": members, "values": list_by_code(likelihoods[:, members].mean(axis=1))}
            for topic, members in _group_topics(result).items()
        ],
        "f": {code: [_round(value) for value in f] for code, f in zip(codes, likelihoods, strict=True)},
        "salient": {
            code: _choose_words(relative)
            for code, relative in zip(codes, relative_likelihoods(likelihoods).round(4), strict=True)
            if not np.isnan(relative).any()
        },
    }


def relative_likelihoods(likelihoods: np.ndarray) -> np.ndarray:
    """How much likelier each word is of a country than of other countries (countries x words).

    f minus the word's mean over countries, minus the country's mean of that: some models find anything that is said of
    a country likelier, which says nothing of the word. NaN for a country without all its likelihoods.
    """
    against_others = likelihoods - np.nanmean(likelihoods, axis=0)
    return np.asarray(against_others - against_others.mean(axis=1, keepdims=True))


def _choose_words(relative: np.ndarray) -> dict[str, list[tuple[int, float]]]:
    """The likeliest and least likely words of a country, relative to other countries: positions and differences."""
    order = np.argsort(-relative, kind="stable")
    sides = {
        "likelier": [k for k in order if relative[k] > 0],
        "less_likely": [k for k in order[::-1] if relative[k] < 0],
    }
    return {side: [(int(k), float(relative[k])) for k in positions[:WORDS_SHOWN]] for side, positions in sides.items()}


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
