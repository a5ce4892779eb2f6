"""A comparison on the page: the second model minus the first, place by place, and how much of it chance explains."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

from geobias.audits.compare.findings import list_clear
from geobias.audits.compare.pairs import list_pairs
from geobias.audits.compare.result import ASSOCIATION, CompareResult, Difference
from geobias.audits.compare.terminal import name_row, select_most_certain
from geobias.measures.paired_differences import FEWEST_WITH_CLASS
from geobias.report.page.blocks import Block, Chart, Choice, Section, Table
from geobias.report.page.charts import dots
from geobias.report.runs import FinishedRun
from geobias.report.tables import listed

MEASURES = {
    "delta": "Δ against the mean of countries, points",
    "preference": "preference against the mean of countries, nats",
    "answered": "share of questions answered, against the mean of countries",
    "spread": "spread between countries, nats",
    "change": "change of predictions against the mean of countries, %",
    "against_control": "probability against the control",
    "c_w.balanced": "balanced C_w",
    ASSOCIATION: "log ratio of associations to those of invented names",
}
Group = tuple[str, str, list[Difference]]  # which model minus which, the measure, and its rows


def section(run: FinishedRun[CompareResult], name: str) -> Section:
    groups = [
        (pair.title, MEASURES[measure], rows) for pair in list_pairs(run.result) for measure, rows in pair.rows.items()
    ]
    charts = {
        f"{pair}: {measure}": _chart(f"{name}-{n}", pair, measure, rows)
        for n, (pair, measure, rows) in enumerate(groups)
        if any(row.is_known for row in rows)
    }
    chart: list[Block] = [Choice(f"{name}-differences", "Measure", charts)] if len(charts) > 1 else [*charts.values()]
    notes = []
    unknown = sum(not row.is_known for *_, rows in groups for row in rows)
    if unknown:
        reason = f"a run predicts the class in fewer than {FEWEST_WITH_CLASS} texts, or answers too few questions"
        notes.append(f"{unknown:,} without a difference, since {reason}.")
    return Section(
        id=name,
        title="Comparison: do the models treat places differently?",
        lead="Both models had the same texts or cases and names, or words, so their difference may be more certain "
        "than either number. A smaller number is not a fairer model by itself.",
        blocks=[*chart, _marked_table(name, groups)],
        notes=notes,
    )


def describe(result: CompareResult) -> str:
    """What was compared, in a sentence."""
    first, *others = result.settings.runs
    return (
        f"{len(others) + 1} runs of the {result.settings.audit} audit were compared: {listed(others)} "
        f"{'' if len(others) == 1 else 'each '}with {first}. Every difference is the second minus the first."
    )


def _chart(chart_id: str, pair: str, measure: str, group: list[Difference]) -> Chart:
    known = [row for row in select_most_certain(group) if row.is_known]
    clear = list_clear(group)
    rows = [
        {
            "place": name_row(row),
            **asdict(row.difference),
            "first": row.first,
            "second": row.second,
            "marked": row in clear,
        }
        for row in sorted(known, key=lambda row: -(row.difference.value or 0))
    ]
    cut = f" The {len(rows)} most certain of {len(group):,}." if len(rows) < len(group) else ""
    ends = f"From {rows[0]['place']} {_number(rows[0]['value'])} to {rows[-1]['place']} {_number(rows[-1]['value'])}"
    return Chart(
        chart_id,
        f"{pair}: {measure}",
        "Dot: the second model minus the first; line: 95 % interval; filled: stands out (adjusted p below 0.05, and "
        f"not only the mirror of the largest). Right of 0: the second is higher.{cut}",
        f"{ends}; {sum(row['marked'] for row in rows)} of {len(rows)} stand out.",
        dots(rows, label="place", title=f"difference: {measure}", order=[row["place"] for row in rows]),
        rows,
    )


def _marked_table(name: str, groups: Sequence[Group]) -> Table:
    return Table(
        f"{name}-marked",
        "How much stands out",
        "Differences with an adjusted p-value below 0.05, without those that may only mirror the largest one.",
        [
            {
                "second minus first": pair,
                "measure": measure,
                "stand out": f"{len(list_clear(rows)):,}",
                "compared": f"{sum(row.is_known for row in rows):,}",
                "not comparable: class too rare": f"{sum(not row.is_known for row in rows):,}",
            }
            for pair, measure, rows in groups
        ],
    )


def _number(value: float | None) -> str:
    """As many digits as its size asks for."""
    return f"{value:+.3g}" if value else "0"
