"""What `geobias compare` prints below its findings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import RenderableType
from rich.table import Table

from geobias.audits.compare.findings import list_clear, main_rows, select_places
from geobias.audits.compare.pairs import ModelPair, list_pairs
from geobias.audits.compare.result import CompareResult, Difference
from geobias.measures.estimates import SIGNIFICANT
from geobias.measures.paired_differences import FEWEST_WITH_CLASS
from geobias.report.tables import interval, signed, titled_table

MOST_ROWS = 24  # of more, those with the smallest p-values are shown; the files have all
SUMMARY_ROWS = 3
DIGITS = {"delta": 2, "change": 1}  # after the decimal point
WIDE = 76  # characters: below it, the values of the two runs are left out
MEANING = (
    "Each difference is the second run minus the first, on the same texts and names or the same words, with a 95 % "
    "interval. p-values are adjusted for multiple comparisons within one measure, over places and classes: by max-T "
    f"for names, else by Benjamini and Hochberg. Of more than {MOST_ROWS} rows those with the smallest p-values are "
    "shown. It describes models, not people."
)
FILES = "Every difference: tables/compare.csv."


def summary_table(result: CompareResult, width: int) -> Table:
    """The most certain differences of the main measure, over all pairs of models."""
    pairs = list_pairs(result)
    rows = [(pair.second, row) for pair in pairs for row in select_places(main_rows(pair))]
    rows = sorted(rows, key=lambda each: each[1].certainty)[:SUMMARY_ROWS]
    models, differences = [model for model, _ in rows], [row for _, row in rows]
    if len(pairs) == 1:
        return _differences_table(f"Most certain: {pairs[0].title}", differences, width)
    return _differences_table("Most certain differences", differences, width, models)


def full_report(result: CompareResult, width: int) -> Iterator[RenderableType]:
    """A table for each pair of models and measure, and what was left out."""
    for pair in list_pairs(result):
        for measure, rows in pair.rows.items():
            title = f"{pair.title}: {measure} against {rows[0].against}"
            yield _differences_table(title, select_most_certain(rows), width)
        yield from notes(pair)
        yield ""
    yield MEANING
    yield FILES


def _differences_table(title: str, rows: Sequence[Difference], width: int, models: Sequence[str] = ()) -> Table:
    """A row for each difference; `models` names the second model of each where there are several pairs."""
    has_values = width >= WIDE and not models
    table = titled_table(title)
    if models:
        table.add_column("model", overflow="fold")
    table.add_column("place", overflow="fold")
    for heading in (*(("first", "second") if has_values else ()), "difference", "95 % interval"):
        table.add_column(heading, justify="right", no_wrap=True, style="bold" if heading == "difference" else "")
    table.add_column("")
    clear = list_clear(rows)
    for k, row in enumerate(rows):
        digits = DIGITS.get(row.measure, 4)
        values = [signed(value, digits) for value in (row.first, row.second)] if has_values else []
        cells = [*values, signed(row.difference.value, digits), interval(row.difference, digits)]
        table.add_row(*models[k : k + 1], name_row(row), *cells, "*" if row in clear else "")
    return table


def name_row(row: Difference) -> str:
    """The place, with the class where the measure has one."""
    return row.name if row.label is None else f"{row.name}, {row.label}"


def notes(pair: ModelPair) -> Iterator[str]:
    """How much is marked, of how much; and what is unknown."""
    rows = [row for each in pair.rows.values() for row in each]
    marked = sum(len(list_clear(each)) for each in pair.rows.values())
    unknown = sum(not row.is_known for row in rows)
    yield (
        f"Marked *: {marked:,} of {len(rows) - unknown:,} differences (adjusted p below {SIGNIFICANT}, "
        "and not only the mirror of another)."
    )
    if unknown:
        reason = f"a run predicts the class in fewer than {FEWEST_WITH_CLASS} texts, or answers too few questions"
        yield f"No difference, since {reason}: {unknown:,}."


def select_most_certain(rows: Sequence[Difference]) -> list[Difference]:
    """All of them, or, where they are many, those with the smallest p-values."""
    if len(rows) <= MOST_ROWS:
        return list(rows)
    return sorted((row for row in rows if row.is_known), key=lambda row: row.certainty)[:MOST_ROWS]
