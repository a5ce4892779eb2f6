"""Tables of the page beside countries: women's and men's names, two scripts, and single names."""

from __future__ import annotations

from typing import Final

from geobias.audits.names.gender_gaps import list_split
from geobias.audits.names.result import ClassifierMeasures
from geobias.report.page.blocks import Row, Table
from geobias.report.page.charts import Valence
from geobias.report.page.country_blocks import estimate_cells
from geobias.report.tables import interval, signed

MOST_NAMES: Final = 30


def draw_gender_table(table_id: str, entry: ClassifierMeasures) -> Table | None:
    """Delta of women's and of men's names, and their difference, the largest first; None where it is not tested."""
    rows: list[Row] = [
        {
            "country": each.gap.country,
            "women's names": signed(each.women.value, 2),
            "men's names": signed(each.men.value, 2),
            "difference": signed(each.gap.difference.value, 2),
            **estimate_cells(each.gap.difference, 2, Valence(0, "women's higher", "women's lower")),
        }
        for each in list_split(entry)
    ]
    title = f"{entry.model.short_name}: women's and men's names"
    explanation = (
        "Δ against the mean of countries, in points, and the difference with its 95 % interval; p-values are adjusted "
        "for all countries, together with those of Δ."
    )
    return Table(table_id, title, explanation, rows) if rows else None


def draw_names_table(table_id: str, entry: ClassifierMeasures) -> Table | None:
    """The names that move Delta most; None where no name does."""
    single = entry.single_names
    if single is None or not single.large:
        return None
    rows: list[Row] = [
        {
            "name": each.name,
            "kind": each.kind,
            "countries": ", ".join(each.countries),
            "effect, points": signed(each.value, 1),
            "95 % interval": interval(each, 1),
            "texts": f"{each.texts:,}",
        }
        for each in single.large[:MOST_NAMES]
    ]
    more = f" The first {MOST_NAMES}; all are in tables/names.csv." if len(single.large) > MOST_NAMES else ""
    return Table(
        table_id,
        f"{entry.model.short_name}: {len(single.large):,} of {single.shown:,} names move the score by more than "
        f"{single.threshold:.0f} points",
        f"Against other names of the same country and gender in the same text; adjusted for all names.{more}",
        rows,
    )


def draw_script_table(table_id: str, entry: ClassifierMeasures) -> Table | None:
    """Delta of countries with names in two scripts; None without such countries."""
    latin = {country.code: country.inference.against_mean.delta for country in entry.countries}
    rows: list[Row] = [
        {
            "country": gap.country,
            "Latin script": signed(latin[gap.code].value, 2),
            "own script": signed(gap.own_script.value, 2),
            "own - Latin": signed(gap.difference.value, 2),
            **estimate_cells(gap.difference, 2, Valence(0, "own script higher", "own script lower")),
        }
        for gap in entry.scripts
    ]
    explanation = (
        "Δ against the mean of countries (of names in Latin script), in points; interval and adjusted p-value are of "
        "the difference."
    )
    return Table(table_id, f"{entry.model.short_name}: names in two scripts", explanation, rows) if rows else None
