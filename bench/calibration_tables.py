"""The calibration as Markdown: one table each for intervals and marks, plans, and comparisons."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from bench.calibration_cells import Cell
from geobias.measures.paired_differences import MEAN, ORIGINALS

LEGEND = """\
Shares in per cent of repetitions, ± Monte Carlo standard error (of a rate of 6 % in 1,000 repetitions: 0.8).
**Given**: repetitions with intervals; other shares are of these. **Coverage**: 95 % intervals that contain the true
effect (target: 93 to 98), against the originals or the mean of countries. **Simultaneous miss**: some country's
simultaneous interval misses its true effect (target: at most 6). **False mark**: some country is marked in a world
without effects of countries (at most 6). **Power**: the country with the planted effect is marked. **Gate fails,
passes**: a gate on the largest difference from the mean fails although the true one is below its limit, or passes
although it is above (each at most 6; the limit is the true largest difference, the hardest case). **Width**: mean
width of an interval, relative to one from the true standard error. **Note**: why there is no number; "conservative":
coverage above 98 %; "outside": beyond a target by more than three standard errors.
"""
PLAN_LEGEND = """\
**Planned**: the smallest effect that `--plan` promises to mark with 80 % power, from its pilot; mean over
repetitions. **True**: the effect that is marked in 80 % of the repetitions. **Power**: of the planned effect (target:
70 to 90).
"""
COMPARE_LEGEND = """\
Two classifiers on the same texts and names. The second has all effects of the first and, of its own, those of the
world.
"""


def write_tables(repetitions: int, cells: Sequence[Cell], comparisons: Sequence[Cell]) -> str:
    """The whole page."""
    plans = [cell for cell in cells if "power" in cell.shares]
    command = f"python -m bench.calibrate {repetitions} docs/figures"
    parts = [
        "# Calibration of the names audit",
        f"`{command}` (`make calibrate`): {repetitions:,} repetitions per cell, half as many for the two largest "
        "sizes. How to use it: [statistics.md](../statistics.md#calibration).",
        f"## Intervals, marks and gates\n\n{LEGEND}",
        "\n".join(_list_cells(cells)),
        f"## Plans\n\n{PLAN_LEGEND}",
        "\n".join(_list_plans(plans)),
        f"## Comparisons\n\n{COMPARE_LEGEND}",
        "\n".join(_list_comparisons(comparisons)),
    ]
    return "\n\n".join(part.rstrip("\n") for part in parts) + "\n"


def _list_cells(cells: Sequence[Cell]) -> Iterator[str]:
    yield from _table_head(
        "texts x draws x countries",
        "world",
        "given, originals",
        "given, mean",
        "coverage, originals",
        "coverage, mean",
        "simultaneous miss, originals",
        "simultaneous miss, mean",
        "false mark",
        "power",
        "gate fails",
        "gate passes",
        "width",
        "note",
    )
    for size, group in groupby(cells, key=lambda cell: cell.size):
        same_size = list(group)
        if len({cell.note for cell in same_size}) == 1 and not any(cell.shares for cell in same_size):
            yield _row(_format_size(size), "all", "0", "0", *["–"] * 9, same_size[0].note)
            continue
        for cell in same_size:
            yield _row(
                _format_size(size),
                cell.world.name,
                _percent(cell.with_intervals[ORIGINALS]),
                _percent(cell.with_intervals[MEAN]),
                _with_error(cell, f"coverage {ORIGINALS}"),
                _with_error(cell, f"coverage {MEAN}"),
                _percent(cell.share(f"simultaneous_misses {ORIGINALS}")),
                _percent(cell.share(f"simultaneous_misses {MEAN}")),
                _percent(cell.false_marks),
                _percent(cell.detections),
                _percent(cell.share("false_gate_failures")),
                _percent(cell.share("false_gate_passes")),
                "–" if cell.width is None else f"{cell.width:.2f}",
                cell.note,
            )


def _list_plans(cells: Sequence[Cell]) -> Iterator[str]:
    yield from _table_head("texts x draws x countries", "world", "planned, points", "true, points", "power")
    for cell in cells:
        planned = f"{cell.share('planned_effect'):.2f}"
        true_effect = f"{cell.true_effect:.2f}"
        yield _row(_format_size(cell.size), cell.world.name, planned, true_effect, _with_error(cell, "power"))


def _list_comparisons(cells: Sequence[Cell]) -> Iterator[str]:
    heads = (
        "texts x draws x countries",
        "world",
        "coverage, originals",
        "coverage, mean",
        "false mark",
        "power",
        "note",
    )
    yield from _table_head(*heads)
    for cell in cells:
        coverages = [_with_error(cell, f"coverage {reference}") for reference in (ORIGINALS, MEAN)]
        marks = _percent(cell.false_marks), _percent(cell.detections)
        yield _row(_format_size(cell.size), cell.world.name, *coverages, *marks, cell.note)


def _table_head(*names: str) -> list[str]:
    return [_row(*names), "|" + "---|" * len(names)]


def _row(*fields: str) -> str:
    return f"| {' | '.join(fields)} |"


def _format_size(size: tuple[int, int, int]) -> str:
    return " x ".join(map(str, size))


def _percent(share: float | None) -> str:
    return "–" if share is None else f"{100 * share:.1f}"


def _with_error(cell: Cell, name: str) -> str:
    share = cell.shares.get(name)
    return "–" if share is None else f"{100 * share.mean:.1f} ± {100 * share.error:.1f}"
