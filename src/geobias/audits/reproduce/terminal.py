"""What `geobias reproduce` prints below its findings: published numbers, and measured ones below them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import RenderableType
from rich.table import Table

from geobias.audits.reproduce.findings import TOLERANCE, count_agreement
from geobias.audits.reproduce.result import ReproducedTable, ReproduceResult, TableForm
from geobias.report.results import Number
from geobias.report.tables import NOTHING, format_places, titled_table

RANKS = "rank corr."
WIDE = 70  # characters: below it, the summary has no rank correlation
FORM_TITLES = {"": "", "balanced": "balanced", "paper": "the paper's form, x 1000"}
MEANING = (
    "Rank corr.: Spearman's correlation of measured with published, over the rows of a column, or over the columns "
    "(continents, languages) of a row; +1 is the same order. What can be the same and what cannot, and why: "
    "docs/reproduce.md."
)


def summary_table(result: ReproduceResult, width: int) -> Table:
    """A row for each table of the paper: how many numbers were measured, and how many of them agree."""
    table = titled_table(
        "Measured and published numbers, by table",
        ["table"],
        ("published", "measured", f"within {100 * TOLERANCE:.0f} %", *((RANKS,) if width >= WIDE else ())),
    )
    for agreement in map(count_agreement, result.tables):
        counts = [f"{count:,}" for count in (agreement.published, agreement.measured, agreement.reproduced)]
        ranks = [format_correlation(agreement.table.forms[0].rank_correlation_over_rows[-1])] if width >= WIDE else []
        table.add_row(table_name(result.settings.paper, agreement.table.table), *counts, *ranks)
    return table


def full_report(result: ReproduceResult, width: int) -> Iterator[RenderableType]:
    """Every table, published and measured."""
    for table in result.tables:
        for form in table.forms:
            yield from terminal_tables(result.settings.paper, table, form, width=width)
        yield from table.notes
        yield ""
    yield from result.notes
    yield MEANING
    yield "Every number: tables/reproduce-*.csv."


def table_name(paper: str, number: str) -> str:
    return f"{'HERB' if paper == 'herb' else 'Names'}, Table {number}"


def form_title(paper: str, table: ReproducedTable, form: TableForm) -> str:
    return "; ".join(filter(None, (f"{table_name(paper, table.table)}: {table.title}", FORM_TITLES[form.form])))


def terminal_tables(paper: str, table: ReproducedTable, form: TableForm, *, width: int) -> Iterator[Table]:
    """No number is cut: columns that do not fit go into a further table below."""
    title = form_title(paper, table, form)
    row_names, *columns = _columns(table, form)
    for n, group in enumerate(_groups(columns, width - 2 - _width(row_names))):  # without the table's edges
        part = titled_table(f"{title}; further columns" if n else title)
        part.padding = 0
        for k, column in enumerate([row_names, *group]):
            part.add_column(column[0], no_wrap=True, justify="right" if k else "left")
        *lines, ranks = list(zip(row_names, *group, strict=True))[1:]
        for published, measured in zip(lines[::2], lines[1::2], strict=True):
            part.add_row(*published)
            if table.is_measured:
                part.add_row(*measured, style="bold")
        if table.is_measured:
            part.add_section()
            part.add_row(*ranks)
        yield part


def _columns(table: ReproducedTable, form: TableForm) -> Iterator[list[str]]:
    """Names, then every column: a head, two lines for each row (published, measured), and the rank correlation."""
    row_names = ["published,\n  measured" if table.is_measured else "published"]
    for (first, *others), measured in zip(table.rows, form.measured, strict=True):
        state = "not available" if all(value is None for value in measured) else "measured"
        row_names += [first, "  " + ", ".join((*others, state))]
    yield [*row_names, RANKS]
    for k, (name, rank) in enumerate(zip(table.columns, form.rank_correlation_over_rows, strict=True)):
        heading = f"{name}\nis {table.taken_for[name]}" if name in table.taken_for else name.replace("_", "\n")
        pairs = zip(form.published, form.measured, strict=True)
        cells = [format_places(row[k], form.places[k]) for pair in pairs for row in pair]
        yield [heading, *cells, format_correlation(rank)]
    if table.ranked and table.is_measured:
        ranks = map(format_correlation, form.rank_correlation_over_columns)
        yield [RANKS.replace(" ", "\n"), *(cell for rank in ranks for cell in ("", rank)), ""]


def _width(column: Sequence[str]) -> int:
    return max(len(line) for cell in column for line in cell.split("\n"))


def _groups(columns: Sequence[list[str]], room: int) -> Iterator[list[list[str]]]:
    """Columns in as few tables as they fit into."""
    group: list[list[str]] = []
    for column in columns:
        if group and sum(_width(each) + 1 for each in (*group, column)) > room:
            yield group
            group = []
        group.append(column)
    yield group


def format_correlation(value: Number) -> str:
    return NOTHING if value is None else f"{value:+.2f}"
