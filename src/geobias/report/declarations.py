"""What an audit reports, said once: tables, charts, maps and notes; how terminal, page and model card show them.

The `report.py` of an audit has `make_report(result) -> Report`. Charts and maps are blocks of the page
(`page/blocks.py`, `page/effect_blocks.py`); tables are the `Table` below, since the terminal and the model card have
them too.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from itertools import groupby
from typing import Any

from rich.console import RenderableType
from rich.table import Table as RichTable
from rich.text import Text

from geobias.measures.estimates import Estimate
from geobias.report.findings import EVIDENCE_LABELS
from geobias.report.page import blocks
from geobias.report.page.blocks import CardText, Chart, Remark, WorldMap
from geobias.report.page.charts import Valence
from geobias.report.results import HasInterval, Interval
from geobias.report.rows import Effect
from geobias.report.tables import NOTHING, TOO_FEW, is_marked, signed, titled_table

TERMINAL, FULL, PAGE, CARD = "terminal", "full", "page", "card"  # below the findings; --full; report.html; model card
TABLES = frozenset({FULL, PAGE})
ALL_TABLES = frozenset({TERMINAL, FULL, PAGE})
EVERYWHERE = frozenset({TERMINAL, FULL, PAGE, CARD})


@dataclass(frozen=True, eq=False)
class Column:
    """A column of a table: its heading, and the value of a row as people read it."""

    heading: str
    value: str | Callable[[Any], Any]
    """The name of a field ("gained", "recall.value"; "recall" is shown with its interval), or a function of the row."""
    form: str = ""
    """A format: ",", ".3f", or "+.3f" for a number with its sign, which 0 has not."""
    on: Collection[str] = EVERYWHERE
    """Of the places where its table is, those that have the column."""
    keep: int = 1
    """A narrow terminal drops columns of 3 first, then of 2."""
    times: int = 1
    """100 for shares in per cent."""
    is_text: bool = False
    """Words are folded; numbers are never cut."""
    is_count: bool = False
    """Shown also where there are too few texts for means."""

    def show(self, row: Any, *, too_few: bool = False) -> str:
        if too_few and not (self.is_text or self.is_count):
            return TOO_FEW
        value = get_value(row, self.value)
        if value is None or isinstance(value, str):
            return NOTHING if value is None else value
        if isinstance(value, Interval | Estimate):
            return show_interval(value, self.form, self.times)
        if self.form.startswith("+"):
            return signed(self.times * value, int(self.form[2]))
        return format(self.times * value, self.form)


def get_value(row: Any, path: str | Callable[[Any], Any]) -> Any:
    """The value of a field, or of a field of a field; None where one on the way is None."""
    if callable(path):
        return path(row)
    return reduce(lambda part, name: None if part is None else getattr(part, name), path.split("."), row)


@dataclass(frozen=True)
class Table:
    """Rows of one kind. Tables of one id are of several models, between which the page lets the reader choose."""

    id: str
    title: str
    reading: str
    rows: Sequence[Any] = field(repr=False)
    columns: Sequence[Column] = field(repr=False)
    model: str | None = None
    """Its name, where there is a table for each model."""
    first: Sequence[Any] = ()
    """Rows above the others, such as a control; only with `--full`."""
    group: Callable[[Any], str] | None = None
    """What rows between two lines have in common."""
    most: Mapping[str, int] = field(default_factory=dict)
    """How many rows are shown where, if not the usual number; of more both ends."""
    on: Collection[str] = ALL_TABLES
    too_few: bool = False
    """Whether there are too few texts for numbers."""
    text_columns: Sequence[str] = ()
    """With words that may offend: the page's switch hides them."""


@dataclass(frozen=True)
class ByModel:
    """A chart of each model, by name, or of each form of a number; the reader of the page looks at one."""

    charts: Mapping[str, Chart]
    noun: str = ""
    """What the reader chooses, if it is not the model."""


ReportBlock = Table | ByModel | Chart | Remark | WorldMap


@dataclass(frozen=True)
class Report:
    """Everything that people read of a result besides its findings."""

    description: str
    """What was audited, in a sentence: for the page, the model card and the evidence."""
    title: str
    lead: str
    """What the reader should know before the pictures, in a sentence or two."""
    blocks: Sequence[ReportBlock]
    """In the order of the page."""
    summary: str
    """The id of the table below the findings on the terminal."""
    summary_note: str = ""
    """A line below that table."""
    model_noun: str = "Model"
    notes: Sequence[str] = ()
    """What was left out, cut or read in some way: on the page and with `--full`."""
    full_notes: Sequence[str] = ()
    """Further notes, with `--full` only."""
    meaning: str = ""
    """What the numbers mean, below the tables of `--full`."""
    cards: Mapping[str, CardText] = field(default_factory=dict)  # by measure of an answer; "" is for all others

    def tables(self, place: str) -> list[Table]:
        return [block for block in self.blocks if isinstance(block, Table) and place in block.on]


def estimate_columns(
    heading: str,
    places: int,
    valence: Valence,
    *,
    of: str | Callable[[Any], Effect | None] = "",
    times: int = 1,
    on: Collection[str] = EVERYWHERE,
) -> list[Column]:
    """An effect: its value with a star where it stands out, its interval, its adjusted p-value and, on pages, a word.

    `of` says where a row has the effect; by default it is the row.
    """

    def get(row: Any) -> Effect | None:
        effect: Effect | None = get_value(row, of) if of else row
        return effect

    def mark(row: Any) -> str:
        effect = get(row)
        if effect is None or effect.estimate.value is None:
            return NOTHING
        return signed(times * effect.estimate.value, places) + ("*" if effect.stands_out else " ")

    def say_interval(row: Any) -> str:
        effect = get(row)
        return NOTHING if effect is None else say_bounds(effect.estimate.low, effect.estimate.high, places, times)

    def say_test(row: Any) -> str:
        effect = get(row)
        return NOTHING if effect is None else say_p(effect.p_adjusted)

    def judge(row: Any) -> str:
        effect = get(row)
        return NOTHING if effect is None else say_evidence(effect, valence)

    return [
        Column(heading, mark, on=on),
        Column("95 % interval", say_interval, on=on),
        Column("adjusted p", say_test, keep=2, on=set(on) & TABLES),
        Column("evidence", judge, on=set(on) & {PAGE}),
    ]


def say_bounds(low: float | None, high: float | None, places: int, times: int = 1, *, sign: bool = True) -> str:
    """ "+0.1 to +0.3"."""
    if low is None or high is None:
        return NOTHING
    if sign:
        return f"{signed(times * low, places)} to {signed(times * high, places)}"
    return f"{times * low:.{places}f} to {times * high:.{places}f}"


def show_interval(number: HasInterval, form: str, times: int = 1) -> str:
    """ "4.3 (2.1 to 6.4)"; with signs "-1.2* (-2.0 to -0.4)", with a star where the adjusted p-value is small."""
    if number.value is None:
        return NOTHING
    has_sign, places = form.startswith("+"), int(form[-2])
    value = signed(times * number.value, places) if has_sign else format(times * number.value, form)
    star = "*" if isinstance(number, Estimate) and is_marked(number) else ""
    bounds = say_bounds(number.low, number.high, places, times, sign=has_sign)
    return f"{value}{star}" if bounds == NOTHING else f"{value}{star} ({bounds})"


def say_p(p: float | None) -> str:
    return NOTHING if p is None else "< 0.001" if p < 0.001 else f"{p:.2g}"


def say_evidence(effect: Effect, valence: Valence) -> str:
    """ "clear: negative likelier"."""
    if effect.mirrors:
        return f"may mirror {effect.mirrors}"
    words = EVIDENCE_LABELS[effect.evidence]
    if effect.evidence in ("clear", "suggestive"):
        words = f"{words}: {valence.above if effect.value > 0 else valence.below}"
    return words


def say_left_out(what: str, names: Iterable[str], unless: str = "") -> list[str]:
    """A note that names what was left out; none where nothing was."""
    names = list(names)
    return [f"{what}, left out{unless}: {', '.join(names)}."] if names else []


MOST = {TERMINAL: 4, FULL: 16, PAGE: 300, CARD: 40}  # rows
GAP = "..."
FILES = "Every number: tables/*.csv and results.json; what models answered: *.parquet."


def draw_summary(report: Report, width: int) -> Iterator[RenderableType]:
    """The table below the findings, and the line below it."""
    yield draw_table(next(table for table in report.tables(TERMINAL) if table.id == report.summary), TERMINAL, width)
    if report.summary_note:
        yield Text(report.summary_note, style="dim")


def draw_full(report: Report, width: int) -> Iterator[RenderableType]:
    """Every table and note, what the numbers mean, and where the files are."""
    yield from (draw_table(table, FULL, width) for table in report.tables(FULL))
    yield report.description
    yield from (*report.full_notes, *report.notes)
    yield from (Text(line, style="dim") for line in (report.meaning, FILES) if line)


def draw_table(table: Table, place: str, width: int) -> RichTable:
    """Numbers are never cut: a narrow terminal shows fewer columns, then folds the words of the others."""
    first = list(table.first) if place == FULL else []
    rows = [*first, *_cut(table, place)]
    columns = _list_columns(table, place)
    cells = {
        column: [GAP if row is None else column.show(row, too_few=table.too_few) for row in rows] for column in columns
    }
    while sum(_measure_width(column, cells[column]) for column in columns) + 1 > width:  # and an edge
        spare = max(reversed(columns), key=lambda column: column.keep)
        if spare.keep == 1:
            break
        columns.remove(spare)
    drawn = titled_table(table.title)
    for column in columns:
        is_text = column.is_text
        drawn.add_column(column.heading, justify="left" if is_text else "right", no_wrap=not is_text, overflow="fold")
    for k, row in enumerate(rows):
        line = [GAP] if row is None else [cells[column][k] for column in columns]
        drawn.add_row(*line, end_section=k == len(first) - 1 or _ends_group(table, rows[k : k + 2]))
    return drawn


def _list_columns(table: Table, place: str) -> list[Column]:
    return [column for column in table.columns if place in column.on]


def _measure_width(column: Column, cells: Sequence[str]) -> int:
    return max(map(len, (*column.heading.splitlines(), *cells))) + 2


def _ends_group(table: Table, rows: Sequence[Any]) -> bool:
    return table.group is not None and len(rows) == 2 and None not in rows and len(set(map(table.group, rows))) == 2


def _cut(table: Table, place: str) -> list[Any]:
    """The rows that are shown; of too many both ends, with None between them."""
    rows, most = list(table.rows), table.most.get(place, MOST[place])
    if len(rows) <= most:
        return rows
    gap = [] if place == TERMINAL else [None]
    return [*rows[: most // 2], *gap, *rows[-(most // 2) :]]


def make_section(report: Report, name: str) -> blocks.Section:
    """Its part of a page, whose ids begin with `name`: a page may have several runs."""
    shown = [block for block in report.blocks if not isinstance(block, Table) or PAGE in block.on]
    groups = [list(group) for _, group in groupby(enumerate(shown), key=_group_key)]
    made = [block for group in groups for block in _make_blocks([each for _, each in group], name, report.model_noun)]
    return blocks.Section(name, report.title, report.lead, made, list(report.notes), report.cards)


def _group_key(numbered: tuple[int, ReportBlock]) -> Any:
    """Tables of one id come together; every other block stands by itself."""
    number, block = numbered
    return block.id if isinstance(block, Table) else number


def _make_blocks(group: Sequence[ReportBlock], name: str, noun: str) -> list[blocks.Block]:
    """One block; those of several models become a choice between them."""
    first = group[0]
    if isinstance(first, ByModel):
        noun = first.noun or noun
        options: dict[str, Any] = {
            model: replace(chart, id=f"{name}-{chart.id}") for model, chart in first.charts.items()
        }
    elif isinstance(first, Table):
        tables = [each for each in group if isinstance(each, Table)]
        options = {
            each.model or str(n): make_page_table(each, f"{name}-{each.id}-{n}") for n, each in enumerate(tables)
        }
    else:
        return [replace(first, id=f"{name}-{first.id}")]
    block_id = next(iter(options.values())).id
    is_numbered = block_id.endswith("-0")
    if len(options) < 2:
        is_table = isinstance(first, Table)
        return [replace(each, id=block_id.removesuffix("-0")) if is_table else each for each in options.values()]
    return [blocks.Choice(block_id.removesuffix("-0") if is_numbered else f"{block_id}-choice", noun, options)]


def make_page_table(table: Table, block_id: str) -> blocks.Table:
    columns = _list_columns(table, PAGE)
    rows = [row for row in _cut(table, PAGE) if row is not None]
    cut = "" if len(rows) == len(table.rows) else f" Both ends of {len(table.rows):,} rows: tables/*.csv has all."
    return blocks.Table(
        block_id,
        table.title,
        f"{table.reading}{cut}",
        [_show_row(table, columns, row) for row in rows],
        table.text_columns,
    )


def list_card_rows(report: Report) -> Iterator[dict[str, str]]:
    """The rows of a model card."""
    for table in report.tables(CARD):
        columns = _list_columns(table, CARD)
        yield from (_show_row(table, columns, row) for row in table.rows)


def _show_row(table: Table, columns: Sequence[Column], row: Any) -> dict[str, str]:
    return {column.heading: column.show(row, too_few=table.too_few).strip() for column in columns}
