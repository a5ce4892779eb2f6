"""A run as a section of a model card: what was asked, the numbers with their intervals, and what they do not say."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from geobias.audits.downstream.page import region_name
from geobias.audits.regions.page import top_regions
from geobias.report.page.build import AUDITS, Finished
from geobias.report.tables import NOTHING, is_marked

HEADING = "## Bias by place and nationality"
LIMITS = (
    "These numbers speak of the model and of the words, names or texts put before it, not of the people of a place.",
    "No finding does not mean no bias: other words, names or texts may show one; mind how wide the intervals are.",
)
MARKED = "{} marked (adjusted p < 0.05)"
SPECIAL = re.compile(r"([\\`*_\[\]<>|~#&$])")

Row = dict[str, str]


def card(found: Sequence[Finished]) -> str:
    """All runs under one heading, as Markdown."""
    parts = [HEADING, *(part for run in found for part in _run(run)), "  \n".join(LIMITS)]
    return "\n\n".join(parts) + "\n"


def is_card(text: str) -> bool:
    """Whether a text is a card and nothing else: a README that a card was pasted into has more around it."""
    return text.startswith(HEADING) and text.rstrip().endswith(LIMITS[-1])


def plain(text: str) -> str:
    """Text that Markdown shows as it is, on one line and within one cell."""
    return SPECIAL.sub(r"\\\1", " ".join(text.split()))


def _run(run: Finished) -> Iterator[str]:
    audit = run.results["audit"]
    yield plain(AUDITS[audit].asked(run.results))
    rows = list(ROWS[audit](run.results))
    if rows:
        yield _table(rows)
    version, day = run.results["versions"]["geobias"], run.about["finished"][:10]
    measured = f"Measured by geobias {plain(version)} on {day}."
    command = run.about.get("command")
    if command:
        yield f"{measured} To repeat it:"
        yield _code(_without_place(command))
    else:
        yield f"{measured} The settings are in the run's run.json."


def _without_place(command: str) -> str:
    """Where the results went is nobody else's matter."""
    words = shlex.split(command)
    kept = [
        word
        for before, word in zip(["", *words], words, strict=False)
        if "--out" not in (word, before) and not word.startswith("--out=")
    ]
    return shlex.join(kept)


def _regions(results: Mapping[str, Any]) -> Iterator[Row]:
    for entry in top_regions(results):
        sure = entry["inference"]["c_w"]["balanced"]
        yield {
            "Region": entry["name"],
            "Balanced C_w (0: all sub-regions spoken of alike)": f"{entry['c_w']['balanced']:.3g}",
            "95 % interval": _interval(sure, ".3g"),
        }


def _names(results: Mapping[str, Any]) -> Iterator[Row]:
    """Delta of the classifiers that have one; of the others every class."""
    for entry in results["classifiers"]:
        against_mean = [row["inference"]["against_mean"] for row in entry["countries"]]
        named = {row["code"]: row["country"] for row in entry["countries"]}
        found = {"Δ, points": (entry["worst"]["delta"], [sure["delta"] for sure in against_mean])}
        if not entry["worst"]["delta"]:
            found = {
                f"predictions of {label}, %": (worst, [sure["change"][label] for sure in against_mean])
                for label, worst in entry["worst"]["change"].items()
            }
        for measure, (worst, sure) in found.items():
            if worst:
                yield {
                    "Classifier": entry["model"]["name"],
                    "Measure": measure,
                    "Farthest from the mean of countries": f"{worst['value']:.1f}",
                    "95 %, all countries at once": _interval(worst, ".1f"),
                    "Country": named[worst["country"]],
                    MARKED.format("Countries"): f"{sum(map(is_marked, sure))} of {len(sure)}",
                }


def _downstream(results: Mapping[str, Any]) -> Iterator[Row]:
    is_mapped = results["settings"]["regions"] == "countries"
    for entry in results["classifiers"]:
        label = entry["shown"]
        worst, regions = entry["worst"][label], entry["regions"]
        marked = sum(is_marked(region["classes"][label]["inference"]["against_control"]) for region in regions)
        farthest = next(region for region in regions if region["id"] == worst["region"])
        yield {
            "Classifier": entry["model"]["name"],
            "Class": label,
            "Largest shift of p beyond the control": f"{worst['value']:.3f}",
            "95 %, all places at once": _interval(worst, ".3f"),
            "Place": region_name(farthest, is_mapped),
            MARKED.format("Places"): f"{marked} of {len(regions)}",
        }


ROWS: dict[str, Callable[[Mapping[str, Any]], Iterator[Row]]] = {
    "regions": _regions,
    "names": _names,
    "downstream": _downstream,
}


def _interval(sure: Mapping[str, Any], form: str) -> str:
    return NOTHING if sure["low"] is None else f"{sure['low']:{form}} to {sure['high']:{form}}"


def _table(rows: Sequence[Row]) -> str:
    lines = [list(rows[0]), *(list(row.values()) for row in rows)]
    shown = ["| " + " | ".join(map(plain, line)) + " |" for line in lines]
    return "\n".join([shown[0], "|" + "---|" * len(rows[0]), *shown[1:]])


def _code(text: str) -> str:
    """A block whose fence is longer than any in it."""
    fence = "`" * max(3, 1 + max(map(len, re.findall("`+", text)), default=0))
    return f"{fence}\n{text}\n{fence}"
