"""What `geobias names` prints below its findings: one small table, or with `--full` every table and note."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from geobias.audits.names.finder_spans import count_spans
from geobias.audits.names.full_tables import list_tables
from geobias.audits.names.gaps import Gap, has_delta, list_gaps, list_mirrored, list_standing_out, rank_gaps
from geobias.audits.names.notes import list_notes
from geobias.audits.names.result import ClassifierMeasures, NamesResult
from geobias.report.findings import EVIDENCE_LABELS
from geobias.report.tables import NOTHING, interval, signed, titled_table

MEANING = (
    "Δ is the mean of p(positive) - p(negative), in points of 100, minus the same on the original texts; the "
    "change of a class is in per cent of its predictions. Any renaming changes texts: compare countries by the "
    "differences from their mean. * marks an adjusted p-value below 0.05; intervals are over texts and names "
    "(docs/statistics.md). It describes the models and lists of common names, not people: names cross borders."
)
FILES = "Every number: tables/*.csv; every renamed text with its scores: counterfactuals.parquet."
ENDS_SHOWN: Final = 2  # countries at each end
MOST_GAPS: Final = 5  # of a classifier without Δ


class _Column(NamedTuple):
    heading: str
    cells: list[str]
    is_optional: bool = False  # left out where there is no room
    justify: str = "right"


def summary_table(result: NamesResult, width: int) -> Table:
    """One classifier: the countries at both ends. Several: the largest gap of each."""
    entries = result.classifiers
    gaps = list_gaps(entries[0])
    if len(entries) > 1 or not gaps:
        unit = ", points" if all(map(has_delta, entries)) else ""
        return _fit_table(f"Largest gap from the mean of countries{unit}", _classifier_columns(entries), width)
    if has_delta(entries[0]):
        ranked = sorted(gaps, key=lambda gap: -gap.value)
        ends = [*ranked[:ENDS_SHOWN], *ranked[max(ENDS_SHOWN, len(ranked) - ENDS_SHOWN) :]]
        return _fit_table("Δ against the mean of countries, points", _country_columns(ends, entries[0]), width)
    top = rank_gaps(gaps)[:MOST_GAPS]
    return _fit_table("Predictions against the mean of countries, per cent", _country_columns(top, entries[0]), width)


def summary_lines(result: NamesResult) -> list[Text]:
    """How many of the spans that a finder marked are probably no people."""
    spans, settings = result.counts.finder_spans, result.settings
    if spans is None or settings.doubtful is None:
        return []
    return [Text(count_spans(spans, settings.finder, settings.doubtful), style="dim")]


def full_report(result: NamesResult, width: int) -> Iterator[RenderableType]:
    """Every table, what was left out, and what the numbers mean."""
    yield from list_tables(result, width)
    yield from list_notes(result)
    yield Text(MEANING, style="dim")
    yield FILES


def _classifier_columns(entries: Sequence[ClassifierMeasures]) -> list[_Column]:
    gaps = [rank_gaps(list_gaps(entry)) for entry in entries]
    counts = [
        f"{len(list_standing_out(each))} of {len(each)}" if each else NOTHING
        for each, entry in zip(gaps, entries, strict=True)
    ]
    tops = [each[0] if each else None for each in gaps]
    return [
        _Column("classifier", [entry.model.short_name for entry in entries], justify="left"),
        _Column("gap", [_format_gap(top) if top else NOTHING for top in tops]),
        _Column("country", [top.country.country if top else NOTHING for top in tops], justify="left"),
        _Column("95 %", [interval(top.estimate, 1) if top else NOTHING for top in tops], is_optional=True),
        _Column("adj. p", [_format_p(top) if top else EVIDENCE_LABELS["not testable"] for top in tops]),
        _Column("stand out", counts, is_optional=True),
    ]


def _country_columns(gaps: Sequence[Gap], entry: ClassifierMeasures) -> list[_Column]:
    ranked = rank_gaps(list_gaps(entry))
    mirrored = list_mirrored(ranked)
    evidence = [
        f"may mirror {ranked[0].country.country}" if gap in mirrored else EVIDENCE_LABELS[gap.evidence] for gap in gaps
    ]
    columns = [
        _Column("country", [gap.country.country for gap in gaps], justify="left"),
        _Column("gap", [signed(gap.value, 1) for gap in gaps]),
        _Column("95 %", [interval(gap.estimate, 1) for gap in gaps]),
        _Column("adj. p", [_format_p(gap) for gap in gaps]),
        _Column("evidence", evidence, is_optional=True, justify="left"),
    ]
    if any(gap.label is not None for gap in gaps):
        columns.insert(1, _Column("class", [gap.label or "" for gap in gaps], justify="left"))
    return columns


def _fit_table(title: str, columns: list[_Column], width: int) -> Table:
    """Numbers are never cut: optional columns go, the last one first; then the first column folds."""

    def measure_width(column: _Column) -> int:
        return max(map(len, (column.heading, *column.cells))) + 2

    for column in reversed(columns):
        if column.is_optional and sum(map(measure_width, columns)) + 2 > width:
            columns = [each for each in columns if each is not column]
    table = titled_table(title)
    for k, column in enumerate(columns):
        if k == 0:
            table.add_column(column.heading, overflow="fold")
        else:
            table.add_column(column.heading, justify=column.justify, no_wrap=True)  # type: ignore[arg-type]
    for cells in zip(*(column.cells for column in columns), strict=True):
        table.add_row(*cells)
    return table


def _format_gap(gap: Gap) -> str:
    return signed(gap.value, 1) + ("" if gap.label is None else f" % {gap.label}")


def _format_p(gap: Gap) -> str:
    p = gap.estimate.p_adjusted or 0
    return "< 0.001" if p < 0.001 else f"{p:.2g}"
