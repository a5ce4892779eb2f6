"""The world map of a regions run: distances, scores, and how likely every word is of a country's people."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from geobias.audits.country_map.values import countries_of, words_of
from geobias.errors import InputError
from geobias.measures.herb import descriptive_vectors
from geobias.measures.region_intervals import centroid_distances
from geobias.report.answers import likelihoods, tree_of
from geobias.report.page.parts import Row, WorldMap
from geobias.report.page.world import map_spec
from geobias.world.shapes import load_countries

CITIES_SHOWN = 30


def regions_map(folder: Path, results: Mapping[str, Any], name: str) -> Iterator[WorldMap]:
    try:
        names = countries_of(results)
    except InputError:
        return  # a tree of the user's own has no place on a map
    tree, (f, _) = tree_of(folder, results), likelihoods(folder, results)
    mean_f = f.mean(axis=0)
    distance = np.mean([centroid_distances(descriptive_vectors(one), tree.children) for one in f], axis=0)
    at = {entry["id"]: row for row, entry in enumerate(results["regions"]) if entry["level"] == "country"}
    known, words = load_countries(), words_of(results)
    cities: dict[str, list[tuple[str, float]]] = {}
    for row, entry in enumerate(results["regions"]):
        if entry["level"] == "city":
            cities.setdefault(entry["parent"], []).append((entry["name"], float(distance[row])))
    about: dict[str, Row] = {}
    for code, country in names.items():
        shown = sorted(((n, d) for n, d in cities.get(code, []) if not np.isnan(d)), key=lambda city: -city[1])
        more = f", the {CITIES_SHOWN} farthest of {len(shown)}" if len(shown) > CITIES_SHOWN else ""
        about[code] = {
            "name": country,
            "continent": known[code].continent_name,
            "cities": [(city, _rounded(d)) for city, d in shown[:CITIES_SHOWN]],
            "cities_title": f"Its cities, by their distance from how all of them are spoken of{more}",
        }
    measures = [
        {
            "title": "How far from its continent",
            "legend": "distance",
            "reading": "Distance between what the model says of a country and of its continent's countries on "
            "average; higher is farther.",
            "centre": None,
            "values": {code: _rounded(distance[row]) for code, row in at.items() if not np.isnan(distance[row])},
        }
    ]
    scored = {code: results["regions"][row] for code, row in at.items() if results["regions"][row]["pairs"]}
    if scored:
        measures.append(
            {
                "title": "How differently its cities are spoken of",
                "legend": "balanced C_w",
                "reading": "Balanced C_w of a country's cities; higher means more differently.",
                "centre": None,
                "values": {code: _rounded(entry["c_w"]["balanced"]) for code, entry in scored.items()},
            }
        )
    of_countries = mean_f[list(at.values())]
    topics: dict[str, list[tuple[int, str]]] = {}
    for position, word in enumerate(words):
        topics.setdefault(word.topic or "words", []).append((position, word.word))
    yield WorldMap(
        f"{name}-map",
        "The world, as the model speaks of it",
        "Choose a measure, or a topic and a word; click a country, or choose it, to see its cities and what is "
        "said of it.",
        "A world map whose countries are coloured by the chosen measure; the list of countries beside it opens "
        "the same "
        "details.",
        map_spec(),
        {
            "measures": measures,
            "countries": about,
            "words": {
                "reading": f"Mean log-probability by {results['model']['score']}{_of_several(results)}; higher is "
                "likelier to the model.",
                "template": results["settings"]["templates"][0],
                "names": [word.word for word in words],
                "topics": [{"topic": topic, "words": listed} for topic, listed in topics.items()],
                "f": {code: [_rounded(v) for v in mean_f[row]] for code, row in at.items()},
                "means": [_rounded(v) for v in np.nanmean(of_countries, axis=0)],
            },
        },
    )


def _rounded(value: float) -> float | None:
    return None if np.isnan(value) else round(float(value), 4)


def _of_several(results: Mapping[str, Any]) -> str:
    templates = results["settings"]["templates"]
    return f", the mean over {len(templates)} templates of which one is shown" if len(templates) > 1 else ""
