"""The table of all countries of a regions run on the page."""

from __future__ import annotations

from collections.abc import Mapping

from geobias.audits.regions.association_records import RegionAssociation, list_compared
from geobias.audits.regions.country_distances import CountryDistances
from geobias.audits.regions.page_association_map import country_association
from geobias.audits.regions.page_association_tables import LESS, MORE, country_cells, format_cell_p
from geobias.audits.regions.records import RegionScores
from geobias.audits.regions.result import RegionsResult
from geobias.measures.estimates import Estimate
from geobias.report.page.blocks import MapCountry, Table
from geobias.report.tables import NOTHING, format_interval

DISTANCE = (
    "Distance: how far the model's description of a country lies from the mean of its continent's countries, with "
    "its 95 % interval over words. Adjusted p: against the mean distance of all countries, adjusted for multiple "
    "comparisons. Distances describe the model and the names it reads, not people."
)
VALENCE = (
    "Favourable words: how many times as likely they are, relative to unfavourable ones, as of the average country, "
    "with the 95 % interval over words and the adjusted p against invented places."
)
TYPICAL = (
    "Said more and less often: the words farthest from the average country and how many times as likely they are; * "
    "marks those beyond invented places."
)


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
