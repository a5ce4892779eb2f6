"""A comparison on the page: the second model minus the first, place by place, and how much of it chance explains."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from itertools import groupby

from geobias.audits.compare.differences import Difference
from geobias.audits.compare.result import CompareResult
from geobias.audits.compare.terminal import describe_pair, most_certain, shown_rows
from geobias.measures.estimates import Estimate
from geobias.measures.paired_differences import FEWEST_TEXTS
from geobias.report.page.blocks import Block, Chart, Choice, Number, Section, Table
from geobias.report.page.charts import dots
from geobias.report.runs import FinishedRun
from geobias.report.tables import is_marked, listed

MEASURES = {
    "delta": "Δ against the mean of countries, points",
    "change": "change of predictions against the mean of countries, %",
    "against_control": "probability against the control",
    "c_w.balanced": "balanced C_w",
}
Group = tuple[str, str, list[Difference]]  # which model minus which, the measure, and its rows


def section(run: FinishedRun[CompareResult], name: str) -> Section:
    groups = list(_groups(run.result))
    charts = {
        f"{pair}: {measure}": _chart(f"{name}-{n}", pair, measure, rows)
        for n, (pair, measure, rows) in enumerate(groups)
        if any(map(_is_known, rows))
    }
    blocks: list[Block] = [_marked_table(name, groups)]
    if charts:
        shown = Choice(f"{name}-differences", "Measure", charts) if len(charts) > 1 else next(iter(charts.values()))
        blocks.insert(0, shown)
    return Section(
        id=name,
        title="Comparison: does one model treat places otherwise than the other?",
        lead="Both answer for the same texts and names, or words, which are resampled together: so a "
        "difference may be surer than either number. A smaller number is not a fairer model by itself.",
        blocks=blocks,
        numbers=list(_numbers(groups)),
        notes=list(_notes(run.result)),
    )


def describe(result: CompareResult) -> str:
    """What was compared, in a sentence."""
    first, *others = result.settings.runs
    return (
        f"{listed(others)} {'was' if len(others) == 1 else 'were each'} compared with {first}, on what all were "
        f"asked in the {result.settings.audit} audit: every difference is the second minus the first."
    )


def _groups(result: CompareResult) -> Iterator[Group]:
    """A group for each pair of models and measure; what any renaming or prefix does stays in the files."""
    for comparison in result.comparisons:
        for (models, measure), rows in groupby(shown_rows(comparison), key=lambda row: (row.models, row.measure)):
            yield describe_pair(models, comparison.first, comparison.second), MEASURES[measure], list(rows)


def _notes(result: CompareResult) -> Iterator[str]:
    for comparison in result.comparisons:
        if comparison.left_out:
            yield (
                f"Classifiers that only one of {comparison.first} and {comparison.second} has, left out: "
                f"{', '.join(comparison.left_out)}."
            )
    unknown = sum(not _is_known(row) for _, _, rows in _groups(result) for row in rows)
    if unknown:
        yield f"{unknown:,} without a difference, since a run predicts the class in fewer than {FEWEST_TEXTS} texts."


def _numbers(groups: Sequence[Group]) -> Iterator[Number]:
    known = [(pair, measure, row) for pair, measure, rows in groups for row in rows if _is_known(row)]
    if not known:
        return
    yield Number(
        "Differences that stand out",
        f"{sum(is_marked(row.difference) for *_, row in known):,} of {len(known):,}",
        "",
        "Between two models, beyond what other texts and names, or words, explain (adjusted p below 0.05).",
    )
    surest = min(known, key=lambda each: (each[2].difference.p, -_size(each[2])))
    largest = max((each for each in known if each[1] == surest[1]), key=lambda each: _size(each[2]))
    for title, (pair, measure, row) in (("The surest difference", surest), ("The largest in size", largest)):
        estimate = row.difference
        yield Number(
            f"{title}: {_place(row)}",
            _number(estimate.value),
            "" if estimate.low is None else f"{_number(estimate.low)} to {_number(estimate.high)} (95 %)",
            f"{pair}: {measure}. {_evidence(estimate)}",
        )
        if largest is surest:
            break


def _evidence(estimate: Estimate) -> str:
    if estimate.p_adjusted is None:
        return "Not tested: too few texts."
    return f"{'Marked' if is_marked(estimate) else 'Not marked'} (adjusted p = {estimate.p_adjusted:.2g})."


def _chart(chart_id: str, pair: str, measure: str, group: Sequence[Difference]) -> Chart:
    known = [row for row in most_certain(list(group)) if _is_known(row)]
    ranked = sorted(known, key=lambda row: -(row.difference.value or 0))
    rows = [
        {
            "place": _place(row),
            **asdict(row.difference),
            "first": row.first,
            "second": row.second,
            "marked": is_marked(row.difference),
        }
        for row in ranked
    ]
    cut = f" The {len(rows)} surest of {len(group):,}." if len(rows) < len(group) else ""
    ends = f"From {rows[0]['place']} {_number(rows[0]['value'])} to {rows[-1]['place']} {_number(rows[-1]['value'])}"
    return Chart(
        chart_id,
        f"{pair}: {measure}",
        "Dot: the second minus the first; line: 95 % interval; filled: adjusted p below 0.05. Right of 0: the second "
        f"is higher.{cut}",
        f"{ends}; {sum(row['marked'] for row in rows)} of {len(rows)} are marked.",
        dots(rows, label="place", title=f"difference: {measure}", order=[row["place"] for row in rows]),
        rows,
    )


def _marked_table(name: str, groups: Sequence[Group]) -> Table:
    return Table(
        f"{name}-marked",
        "How much stands out",
        "Differences with an adjusted p-value below 0.05 (Benjamini and Hochberg, within one measure over places and "
        "classes).",
        [
            {
                "second minus first": pair,
                "measure": measure,
                "marked": f"{sum(is_marked(row.difference) for row in rows):,}",
                "of": f"{sum(map(_is_known, rows)):,}",
                "without a difference": f"{sum(not _is_known(row) for row in rows):,}",
            }
            for pair, measure, rows in groups
        ],
    )


def _is_known(row: Difference) -> bool:
    return row.difference.value is not None


def _place(row: Difference) -> str:
    return row.name if row.label is None else f"{row.name}, {row.label}"


def _size(row: Difference) -> float:
    return abs(row.difference.value or 0)


def _number(value: float | None) -> str:
    """As many digits as its size asks for."""
    return f"{value:+.3g}" if value else "0"
