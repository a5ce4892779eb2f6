"""Several runs of one audit on one page, side by side. Nothing is tested here: `geobias compare` tests differences.

An audit takes part if its `report.py` has `overlay_runs(runs)`: one chart of several runs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from geobias.audits.registry import get_audit, list_audits
from geobias.report.page.blocks import Chart, Row, Section
from geobias.report.page.charts import dots
from geobias.report.results import AuditResult
from geobias.report.runs import FinishedRun
from geobias.report.tables import listed, signed

SECTION = "side-by-side"
NO_TEST = (
    "Each dot and interval belongs to one run. They do not show whether two runs differ, since the runs may share "
    "texts, names or words: the command geobias compare tests that."
)


class NamedRun(NamedTuple):
    """A finished run, and a short name that tells it from the others."""

    name: str
    result: Any  # of the audit whose `overlay_runs` reads it


def side_by_side_section(runs: Sequence[FinishedRun[Any]]) -> Section | None:
    """A chart for each audit that has several runs here; None where none has."""
    names = short_names([run.folder for run in runs])
    named = [NamedRun(name, run.result) for name, run in zip(names, runs, strict=True)]
    groups = {audit.name: [run for run in named if run.result.audit == audit.name] for audit in list_audits()}
    overlays = {name: get_audit(name).find("report", "overlay_runs") for name in groups if len(groups[name]) > 1}
    several = {name: groups[name] for name, overlay in overlays.items() if overlay}
    if not several:
        return None
    counts = listed([f"{len(group)} runs of the {audit} audit" for audit, group in several.items()])
    charts = [overlay(groups[name]) for name, overlay in overlays.items() if overlay]
    return Section(
        id=SECTION,
        title="Side by side",
        lead=" ".join([f"{counts}.", NO_TEST, *_warn_of_differences(several)]),
        blocks=[chart for chart in charts if chart],
    )


def short_names(folders: Sequence[Path]) -> list[str]:
    """As few of the last parts of each path as tell all of them apart."""
    parts = [folder.resolve().parts for folder in folders]
    names = ["/".join(each) for each in parts]
    for count in range(1, max(map(len, parts))):
        shorter = ["/".join(each[-count:]) for each in parts]
        if len(set(shorter)) == len(set(names)):
            return shorter
    return names


def differing_settings(first: AuditResult, second: AuditResult) -> dict[str, str]:
    """The settings in which two runs of one audit differ, with a word for each.

    `SAME_SETTINGS` in the audit's `compare.py` lists those that count.
    """
    settings: Mapping[str, str] = get_audit(first.audit).load("compare", "SAME_SETTINGS")
    return {name: label for name, label in settings.items() if get_setting(first, name) != get_setting(second, name)}


def get_setting(result: AuditResult, name: str) -> Any:
    """A setting as runs are compared by it: the same texts may lie in another file."""
    value = getattr(result.settings, name)
    return getattr(value, "digest", value)


def _warn_of_differences(several: Mapping[str, Sequence[NamedRun]]) -> Iterator[str]:
    for audit, (first, *others) in several.items():
        labels = dict.fromkeys(
            label for run in others for label in differing_settings(first.result, run.result).values()
        )
        if labels:
            yield (
                f"The runs of the {audit} audit have different settings: they differ in {listed(list(labels))}, so "
                "differences between their numbers may come from that, not from the models."
            )


def distinct_names(names: Sequence[tuple[str, NamedRun]]) -> list[str]:
    """The names as they are; one that several runs have is followed by its run's."""
    counts = Counter(name for name, _ in names)
    return [name if counts[name] == 1 else f"{name} ({run.name})" for name, run in names]


def overlay_chart(
    audit: str, heading: str, reading: str, rows: Sequence[Row], *, label: str, colour: str, title: str
) -> Chart | None:
    """Dots with intervals of several runs, a colour each."""
    if not rows:
        return None
    farthest = max(rows, key=lambda row: abs(row["value"]))
    return Chart(
        f"{SECTION}-{audit}",
        heading,
        reading,
        f"{len({row[colour] for row in rows})} series over {len({row[label] for row in rows})} lines; farthest from 0: "
        f"{farthest[label]}, {farthest[colour]}, {signed(farthest['value'], 3)}.",
        dots(rows, label=label, title=title, order=list(dict.fromkeys(row[label] for row in rows)), colour=colour),
        rows,
    )
