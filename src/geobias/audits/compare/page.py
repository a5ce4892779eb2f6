"""A comparison on the page: the second model minus the first, place by place, and how much of it chance explains."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from geobias.audits.compare.terminal import HIDDEN, called, most_certain
from geobias.measures.paired_differences import FEWEST_TEXTS
from geobias.report.page.parts import Block, Chart, Choice, Number, Row, Section, Table
from geobias.report.page.theme import dots
from geobias.report.tables import is_marked, listed

MEASURES = {
    "delta": "Δ against the mean of countries, points",
    "change": "change of predictions against the mean of countries, %",
    "against_control": "probability against the control",
    "c_w.balanced": "balanced C_w",
}
Group = tuple[str, str, list[Row]]  # whose minus whose, the measure, and its rows


def compare_section(folder: Path, results: Mapping[str, Any], name: str) -> Section:
    groups = list(_groups(results))
    charts = {
        f"{whose}: {measure}": _chart(f"{name}-{n}", whose, measure, rows)
        for n, (whose, measure, rows) in enumerate(groups)
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
        notes=list(_notes(results)),
    )


def asked(results: Mapping[str, Any]) -> str:
    first, *others = results["settings"]["runs"]
    return (
        f"{listed(others)} {'was' if len(others) == 1 else 'were each'} compared with {first}, on what all were "
        f"asked in the {results['settings']['audit']} audit: every difference is the second minus the first."
    )


def _groups(results: Mapping[str, Any]) -> Iterator[Group]:
    """A group for each pair of models and measure; what any renaming or prefix does stays in the files."""
    for comparison in results["comparisons"]:
        shown = [row for row in comparison["rows"] if row["against"] != HIDDEN]
        for (models, measure), rows in groupby(shown, key=lambda row: (row["models"], row["measure"])):
            yield called(models, comparison["first"], comparison["second"]), MEASURES[measure], list(rows)


def _notes(results: Mapping[str, Any]) -> Iterator[str]:
    for comparison in results["comparisons"]:
        if comparison["left_out"]:
            yield (
                f"Classifiers that only one of {comparison['first']} and {comparison['second']} has, left out: "
                f"{', '.join(comparison['left_out'])}."
            )
    unknown = sum(not _is_known(row) for _, _, rows in _groups(results) for row in rows)
    if unknown:
        yield f"{unknown:,} without a difference, since a run predicts the class in fewer than {FEWEST_TEXTS} texts."


def _numbers(groups: Sequence[Group]) -> Iterator[Number]:
    known = [(whose, measure, row) for whose, measure, rows in groups for row in rows if _is_known(row)]
    if not known:
        return
    yield Number(
        "Differences that stand out",
        f"{sum(is_marked(row['difference']) for *_, row in known):,} of {len(known):,}",
        "",
        "Between two models, beyond what other texts and names, or words, explain (adjusted p below 0.05).",
    )
    surest = min(known, key=lambda each: (each[2]["difference"]["p"], -_size(each[2])))
    largest = max((each for each in known if each[1] == surest[1]), key=lambda each: _size(each[2]))
    for title, (whose, measure, row) in (("The surest difference", surest), ("The largest in size", largest)):
        found = row["difference"]
        yield Number(
            f"{title}: {_place(row)}",
            _number(found["value"]),
            "" if found["low"] is None else f"{_number(found['low'])} to {_number(found['high'])} (95 %)",
            f"{whose}: {measure}. {_how_sure(found)}",
        )
        if largest is surest:
            break


def _how_sure(found: Row) -> str:
    if found["p_adjusted"] is None:
        return "Not tested: too few texts."
    return f"{'Marked' if is_marked(found) else 'Not marked'} (adjusted p = {found['p_adjusted']:.2g})."


def _chart(key: str, whose: str, measure: str, group: Sequence[Row]) -> Chart:
    shown = [row for row in most_certain(list(group)) if _is_known(row)]
    ranked = sorted(shown, key=lambda row: -row["difference"]["value"])
    rows = [
        {
            "place": _place(row),
            **row["difference"],
            "first": row["first"],
            "second": row["second"],
            "marked": is_marked(row["difference"]),
        }
        for row in ranked
    ]
    cut = f" The {len(rows)} surest of {len(group):,}." if len(rows) < len(group) else ""
    ends = f"From {rows[0]['place']} {_number(rows[0]['value'])} to {rows[-1]['place']} {_number(rows[-1]['value'])}"
    return Chart(
        key,
        f"{whose}: {measure}",
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
                "second minus first": whose,
                "measure": measure,
                "marked": f"{sum(is_marked(row['difference']) for row in rows):,}",
                "of": f"{sum(map(_is_known, rows)):,}",
                "without a difference": f"{sum(not _is_known(row) for row in rows):,}",
            }
            for whose, measure, rows in groups
        ],
    )


def _is_known(row: Row) -> bool:
    return row["difference"]["value"] is not None


def _place(row: Row) -> str:
    return str(row["name"]) if row["label"] is None else f"{row['name']}, {row['label']}"


def _size(row: Row) -> float:
    return abs(float(row["difference"]["value"]))


def _number(value: float) -> str:
    """As many digits as its size asks for."""
    return f"{value:+.3g}" if value else "0"
