"""Several runs of one audit side by side. It shows and tests nothing: differences are `geobias compare`'s to test."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from geobias.audits.compare.design import asked_otherwise
from geobias.audits.country_map.values import model_name
from geobias.audits.regions.page import form_row, top_regions
from geobias.report.page.parts import Chart, Row, Section
from geobias.report.page.theme import dots
from geobias.report.tables import is_marked, listed, signed

SECTION = "side-by-side"
NO_TEST = (
    "Every dot and interval is its own run's. Whether two runs differ cannot be read off them, since they may share "
    "texts, names or words: the command geobias compare tests that."
)


class Run(NamedTuple):
    """A finished run, and what to call it where others are beside it."""

    called: str
    results: Mapping[str, Any]


def beside_section(found: Sequence[Run]) -> Section | None:
    """A chart for each audit that has several runs here; nothing where none has."""
    by_audit = {audit: [run for run in found if run.results["audit"] == audit] for audit in CHARTS}
    several = {audit: some for audit, some in by_audit.items() if len(some) > 1}
    if not several:
        return None
    counted = listed([f"{len(some)} runs of the {audit} audit" for audit, some in several.items()])
    charts = (CHARTS[audit](some) for audit, some in several.items())
    return Section(
        id=SECTION,
        title="Side by side",
        lead=" ".join([f"{counted}.", NO_TEST, *_asked_otherwise(several)]),
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


def _asked_otherwise(several: Mapping[str, Sequence[Run]]) -> Iterator[str]:
    for audit, (first, *others) in several.items():
        other = dict.fromkeys(what for run in others for what in asked_otherwise(first.results, run.results))
        if other:
            yield (
                f"The runs of the {audit} audit were not asked the same: they differ in {listed(list(other))}, so what "
                "sets their numbers apart may be that, and not the models."
            )


def _regions(found: Sequence[Run]) -> Chart | None:
    called = _apart([(f"{model_name(run.results)}, {run.results['model']['score']}", run) for run in found])
    rows = [
        {"run": name, **form_row(entry, "balanced")}
        for name, run in zip(called, found, strict=True)
        for entry in top_regions(run.results)
    ]
    scores = {run.results["model"]["score"] for run in found}
    scale = " Scores have scales of their own: compare the order of regions between them." if len(scores) > 1 else ""
    return _chart(
        "regions",
        "How differently each model speaks of the parts of the world",
        "Dot: balanced C_w; line: 95 % interval over words; filled: sparser or denser than random regions of its "
        f"level.{scale}",
        rows,
        label="region",
        colour="run",
        title="C_w, balanced",
    )


def _names(found: Sequence[Run]) -> Chart | None:
    rows = [
        {
            "classifier": name,
            "country": row["country"],
            "value": row["against_mean"]["delta"],
            **{part: row["inference"]["against_mean"]["delta"][part] for part in ("low", "high", "p", "p_adjusted")},
            "marked": is_marked(row["inference"]["against_mean"]["delta"]),
        }
        for name, entry in _classifiers(found)
        for row in entry["countries"]
        if row["against_mean"]["delta"] is not None
    ]
    return _chart(
        "names",
        "How much kinder or harsher each classifier is with a country's names",
        "Dot: Δ against the mean of countries, in points of 100; line: 95 % interval; filled: adjusted p below 0.05.",
        rows,
        label="country",
        colour="classifier",
        title="Δ against the mean of countries, points",
    )


def _downstream(found: Sequence[Run]) -> Chart | None:
    rows = [
        {
            "classifier": name,
            "class": label,
            "value": _mean_size(entry["regions"], label),
            "low": None,
            "high": None,
            "p_adjusted": None,
            "marked": False,
        }
        for name, entry in _classifiers(found)
        for label in entry["labels"]
    ]
    return _chart(
        "downstream",
        "How far naming a place moves each classifier",
        "Dot: how far p(class) lies from the control, either way, the mean over places. There is no interval: noise "
        "alone makes it larger than 0, the more the fewer the texts.",
        rows,
        label="class",
        colour="classifier",
        title="mean distance from the control",
    )


CHARTS: dict[str, Callable[[Sequence[Run]], Chart | None]] = {
    "regions": _regions,
    "names": _names,
    "downstream": _downstream,
}


def _mean_size(regions: Sequence[Row], label: str) -> float:
    return sum(abs(region["classes"][label]["against_control"]) for region in regions) / len(regions)


def _classifiers(found: Sequence[Run]) -> Iterator[tuple[str, Row]]:
    entries = [(entry["model"]["name"], run, entry) for run in found for entry in run.results["classifiers"]]
    called = _apart([(name, run) for name, run, _ in entries])
    yield from zip(called, (entry for *_, entry in entries), strict=True)


def _apart(named: Sequence[tuple[str, Run]]) -> list[str]:
    """The names as they are; those that several runs have with the run's."""
    times = Counter(name for name, _ in named)
    return [name if times[name] == 1 else f"{name} ({run.called})" for name, run in named]


def _chart(
    audit: str, heading: str, reading: str, rows: Sequence[Row], *, label: str, colour: str, title: str
) -> Chart | None:
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
