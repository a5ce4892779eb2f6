"""The world map of a regions run: distances, scores, and how likely every word is of a country's people."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from geobias.audits.country_map.values import country_names
from geobias.audits.regions.files import read_likelihoods
from geobias.audits.regions.result import RegionsResult
from geobias.errors import InputError
from geobias.measures.herb import descriptive_vectors
from geobias.measures.region_intervals import centroid_distances
from geobias.report.page.blocks import Row, WorldMap
from geobias.report.page.world_map import map_spec
from geobias.report.runs import FinishedRun
from geobias.world.shapes import load_countries

CITIES_SHOWN = 30
WORDS_SHOWN = 6  # on each side, of a country


def regions_map(run: FinishedRun[RegionsResult], name: str) -> Iterator[WorldMap]:
    """One map; none for a tree of the user's that has no countries."""
    result = run.result
    try:
        names = country_names(result)
    except InputError:
        return
    likelihoods, _ = read_likelihoods(run)
    children = result.tree.children
    distance = np.mean([centroid_distances(descriptive_vectors(f), children) for f in likelihoods], axis=0)
    rows = {region.id: row for row, region in enumerate(result.regions) if region.level == "country"}
    mean_likelihoods = likelihoods.mean(axis=0)[list(rows.values())]
    yield WorldMap(
        f"{name}-map",
        "The world, as the model speaks of it",
        "Choose a measure, or a topic and a word; click a country, or choose it, to see its cities and what is "
        "said of it.",
        "A world map whose countries are coloured by the chosen measure; the list of countries beside it opens "
        "the same details.",
        map_spec(),
        {
            "measures": list(_measures(result, rows, distance)),
            "countries": _country_panels(result, names, rows, distance),
            "words": _words(result, list(rows), mean_likelihoods),
        },
    )


def relative_likelihoods(likelihoods: np.ndarray) -> np.ndarray:
    """How much likelier each word is of a country than of other countries (countries x words).

    f minus the word's mean over countries, minus the country's mean of that: some models find anything that is said of
    a country likelier, which says nothing of the word. NaN for a country without all its likelihoods.
    """
    against_others = likelihoods - np.nanmean(likelihoods, axis=0)
    return np.asarray(against_others - against_others.mean(axis=1, keepdims=True))


def _measures(result: RegionsResult, rows: dict[str, int], distance: np.ndarray) -> Iterator[Row]:
    yield {
        "title": "How far from its continent",
        "legend": "distance",
        "reading": "Distance between what the model says of a country and of its continent's countries on "
        "average; higher is farther.",
        "centre": None,
        "values": {code: _rounded(distance[row]) for code, row in rows.items() if not np.isnan(distance[row])},
    }
    scores = {code: result.regions[row].c_w.balanced for code, row in rows.items() if result.regions[row].pairs}
    if scores:
        yield {
            "title": "How differently its cities are spoken of",
            "legend": "balanced C_w",
            "reading": "Balanced C_w of a country's cities; higher means more differently.",
            "centre": None,
            "values": {code: _rounded(score) for code, score in scores.items()},
        }


def _country_panels(
    result: RegionsResult, names: dict[str, str], rows: dict[str, int], distance: np.ndarray
) -> dict[str, Row]:
    """What the panel of each country shows beside the measures: its cities, the farthest first."""
    cities: dict[int | None, list[tuple[str, float]]] = {}
    for row, region in enumerate(result.regions):
        if region.level == "city" and not np.isnan(distance[row]):
            cities.setdefault(region.parent_index, []).append((region.name, float(distance[row])))
    known, panels = load_countries(), {}
    for code, name in names.items():
        ranked = sorted(cities.get(rows[code], []), key=lambda city: -city[1])
        more = f", the {CITIES_SHOWN} farthest of {len(ranked)}" if len(ranked) > CITIES_SHOWN else ""
        panels[code] = {
            "name": name,
            "continent": known[code].continent_name,
            "cities": [(city, _rounded(value)) for city, value in ranked[:CITIES_SHOWN]],
            "cities_title": f"Its cities, by their distance from how all of them are spoken of{more}",
        }
    return panels


def _words(result: RegionsResult, codes: list[str], likelihoods: np.ndarray) -> Row:
    """f of every word and topic by country (countries x words), and the words that stand out for each country."""
    words, templates = result.words, result.settings.templates
    topics: dict[str, list[int]] = {}
    for position, word in enumerate(words):
        topics.setdefault(word.topic or "words", []).append(position)
    several = f", the mean over {len(templates)} templates of which one is shown" if len(templates) > 1 else ""
    return {
        "reading": f"Mean log-probability by {result.model.score}{several}; higher is likelier to the model.",
        "template": templates[0],
        "names": [word.word for word in words],
        "topics": [
            {
                "topic": topic,
                "words": positions,
                "values": _by_code(codes, likelihoods[:, positions].mean(axis=1)),
            }
            for topic, positions in topics.items()
        ],
        "f": {code: [_rounded(value) for value in f] for code, f in zip(codes, likelihoods, strict=True)},
        "salient": {
            code: _salient_words(relative)
            for code, relative in zip(codes, relative_likelihoods(likelihoods).round(4), strict=True)
            if not np.isnan(relative).any()
        },
    }


def _salient_words(relative: np.ndarray) -> dict[str, list[tuple[int, float]]]:
    """The words that are likeliest and least likely of a country, beside other countries: positions and differences."""
    order = np.argsort(-relative, kind="stable")
    likelier = [k for k in order if relative[k] > 0][:WORDS_SHOWN]
    less_likely = [k for k in order[::-1] if relative[k] < 0][:WORDS_SHOWN]
    return {
        side: [(int(k), float(relative[k])) for k in positions]
        for side, positions in (("likelier", likelier), ("less_likely", less_likely))
    }


def _by_code(codes: list[str], values: np.ndarray) -> dict[str, float | None]:
    return {code: _rounded(value) for code, value in zip(codes, values, strict=True) if not np.isnan(value)}


def _rounded(value: float | None) -> float | None:
    return None if value is None or np.isnan(value) else round(float(value), 4)
