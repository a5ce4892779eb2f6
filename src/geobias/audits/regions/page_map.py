"""The countries of a regions run on the page: the world map, and a table of all of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from geobias.audits.regions.association_records import RegionAssociation, list_compared
from geobias.audits.regions.caution import describe_artefact, is_artefact
from geobias.audits.regions.country_distances import CountryDistances, measure_country_distances
from geobias.audits.regions.files import read_likelihoods
from geobias.audits.regions.page_association_map import association_measures, association_words, country_association
from geobias.audits.regions.page_association_tables import LESS, MORE, country_cells, format_cell_p
from geobias.audits.regions.records import RegionScores
from geobias.audits.regions.result import RegionsResult
from geobias.measures.estimates import Estimate
from geobias.measures.herb import centroid_distances, descriptive_vectors
from geobias.report.page.blocks import MapCountry, MapMeasure, Row, Table, WorldMap
from geobias.report.runs import FinishedRun
from geobias.report.tables import NOTHING, format_interval
from geobias.world.countries import DISSOLVED, load_countries

CITIES_SHOWN = 30
WORDS_SHOWN = 6  # on each side, of a country
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


@dataclass(frozen=True)
class CountryBlocks:
    """What the page shows of countries."""

    world: WorldMap
    table: Table | None


def country_blocks(run: FinishedRun[RegionsResult], name: str) -> CountryBlocks | None:
    """The map and the table; None for a tree of the user's that has no countries."""
    result = run.result
    names = {region.id: region.name for region in result.regions if region.level == "country"}
    if not names or names.keys() - load_countries():
        return None
    likelihoods, _ = read_likelihoods(run)
    rows = {region.id: row for row, region in enumerate(result.regions) if region.level == "country"}
    distances = measure_country_distances(result, likelihoods)
    panels = _country_panels(result, names, rows, likelihoods)
    caution = describe_artefact(result)
    association = country_association(result)
    distance_measures = list(_measures(result, rows, distances, caution if association else ""))
    world = WorldMap(
        f"{name}-map",
        "The countries on the map",
        "Choose a measure, or a topic and a word. Click a country, or find it by name, for its cities and its most "
        "typical words.",
        "A world map whose countries are coloured by the chosen measure; the ranking next to it has the same numbers.",
        distance_measures if association is None else [*association_measures(association), *distance_measures],
        panels,
        words=_words(result, list(rows), likelihoods.mean(axis=0)[list(rows.values())])
        if association is None
        else association_words(run, association),
        caution="" if association else caution,
        is_hero=association is not None or not is_artefact(result),
    )
    return CountryBlocks(world, country_table(f"{name}-countries", result, rows, panels, distances))


def relative_likelihoods(likelihoods: np.ndarray) -> np.ndarray:
    """How much likelier each word is of a country than of other countries (countries x words).

    f minus the word's mean over countries, minus the country's mean of that: some models find anything that is said of
    a country likelier, which says nothing of the word. NaN for a country without all its likelihoods.
    """
    against_others = likelihoods - np.nanmean(likelihoods, axis=0)
    return np.asarray(against_others - against_others.mean(axis=1, keepdims=True))


def _measures(
    result: RegionsResult, rows: Mapping[str, int], distances: CountryDistances | None, caution: str
) -> Iterator[MapMeasure]:
    if distances:
        yield MapMeasure(
            "Distance from the continent's mean",
            "distance",
            "How far the model's description of a country lies from the mean of its continent's countries (HERB). "
            f"{caution}".strip(),
            distances.list_estimates(),
            baseline="the mean distance of countries",
        )
    scores = {code: _score_estimate(result.regions[row]) for code, row in rows.items() if result.regions[row].pairs}
    if scores:
        yield MapMeasure(
            "Differences between a country's cities",
            "balanced C_w",
            "Balanced C_w: the mean distance between the model's descriptions of a country's cities.",
            scores,
            baseline="random sets of as many cities",
        )


def _score_estimate(country: RegionScores) -> Estimate:
    """Balanced C_w of a country's cities, its interval over words, and the p-values against random cities."""
    if country.inference is None:
        return Estimate(country.c_w.balanced, None, None, None, None)
    estimate, null = country.inference.c_w.balanced, country.null
    return replace(estimate, p=null.p if null else None, p_adjusted=null.p_adjusted if null else None)


def _country_panels(
    result: RegionsResult, names: dict[str, str], rows: Mapping[str, int], likelihoods: np.ndarray
) -> dict[str, MapCountry]:
    """What the panel of each country shows in addition to the measures: its cities, the farthest first."""
    children = result.tree.children
    distance = np.mean([centroid_distances(descriptive_vectors(f), children) for f in likelihoods], axis=0)
    is_default = result.settings.countries == "all"  # a dissolved country is in other runs by choice
    known, panels = load_countries(), {}
    for code, name in names.items():
        cities = [k for k in children[rows[code]] if result.regions[k].level == "city" and not np.isnan(distance[k])]
        ranked = sorted(cities, key=lambda city: -distance[city])
        more = f" (the {CITIES_SHOWN} farthest of {len(ranked)})" if len(ranked) > CITIES_SHOWN else ""
        panels[code] = MapCountry(
            name,
            known[code].continent_name,
            cities=[(result.regions[city].name, _rounded(distance[city])) for city in ranked[:CITIES_SHOWN]],
            cities_title=f"Its cities, by their distance from the mean of its cities{more}",
            unranked=f"dissolved in {DISSOLVED[code]}" if is_default and code in DISSOLVED else "",
        )
    return panels


def _words(result: RegionsResult, codes: list[str], likelihoods: np.ndarray) -> Row:
    """f of every word and topic by country (countries x words), and the words that stand out for each country."""
    words, templates = result.words, result.settings.templates
    topics: dict[str, list[int]] = {}
    for position, word in enumerate(words):
        topics.setdefault(word.topic or "words", []).append(position)
    several = f", the mean over {len(templates)} templates of which one is shown" if len(templates) > 1 else ""
    return {
        "reading": f"Mean log-probability by {result.model.score}{several}; higher is more likely.",
        "template": templates[0],
        "names": [word.word for word in words],
        "topics": [
            {"topic": topic, "words": positions, "values": _by_code(codes, likelihoods[:, positions].mean(axis=1))}
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
    """The likeliest and least likely words of a country, relative to other countries: positions and differences."""
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


def country_table(
    table_id: str,
    result: RegionsResult,
    rows: Mapping[str, int],
    panels: Mapping[str, MapCountry],
    distances: CountryDistances | None,
) -> Table | None:
    """Every country, the most favourably described first; without associations the farthest from its continent."""
    association, estimates = country_association(result), distances.list_estimates() if distances else {}
    described = {region.id: region for region in list_compared(association)} if association else {}
    has_valence = any(region.valence for region in described.values())
    order = _rank_codes(described, estimates)
    ranks = {code: rank for rank, code in enumerate((code for code in order if not panels[code].unranked), start=1)}
    has_cities = any(result.regions[row].pairs for row in rows.values())
    table = [
        {
            "rank": str(ranks.get(code, NOTHING)),
            "country": panels[code].name,
            "continent": panels[code].continent,
            **(country_cells(described.get(code), has_valence=has_valence) if association else {}),
            **(_distance_cells(estimates.get(code), distances, is_alone=association is None) if distances else {}),
            **(_city_cells(result.regions[rows[code]]) if has_cities else {}),
        }
        for code in order
    ]
    if not table:
        return None
    readings = [VALENCE] * has_valence + [TYPICAL] * bool(association) + [DISTANCE] * (distances is not None)
    return Table(table_id, f"All {len(table)} countries", " ".join(readings), table, text_columns=(MORE, LESS))


def _rank_codes(described: Mapping[str, RegionAssociation], distances: Mapping[str, Estimate]) -> list[str]:
    """By valence, by strength if no word is rated, or by distance without associations; the highest first."""
    values: dict[str, float] = {code: estimate.value or 0.0 for code, estimate in distances.items()}
    if described:
        codes = dict.fromkeys([*described, *distances])
        values = {code: _rank_value(described.get(code)) for code in codes}
    return sorted(values, key=lambda code: -values[code])


def _rank_value(region: RegionAssociation | None) -> float:
    if region is None:
        return 0.0
    return region.valence.value or 0.0 if region.valence else region.strength


def _distance_cells(estimate: Estimate | None, distances: CountryDistances, *, is_alone: bool) -> dict[str, str]:
    value, mean = estimate.value if estimate else None, distances.mean
    bounds = format_interval(estimate, ".3f") if estimate else NOTHING
    p = format_cell_p(estimate.p_adjusted if estimate else None)
    distance = NOTHING if value is None else f"{value:.3f}"
    if not is_alone:
        return {"distance\n(HERB)": distance, "interval of\nthe distance": bounds, "adjusted p of\nthe distance": p}
    times = f"{value / mean:.2f}" if value is not None and mean else NOTHING
    return {"distance": distance, "95 % interval": bounds, "times the mean": times, "adjusted p": p}


def _city_cells(country: RegionScores) -> dict[str, str]:
    null = country.null
    return {
        "cities: C_w": NOTHING if not country.pairs else f"{country.c_w.balanced:.3f}",
        "times random": f"{null.ratio:.2f}" if null and null.ratio else NOTHING,
        "adjusted p (cities)": format_cell_p(null.p_adjusted if null else None),
    }
