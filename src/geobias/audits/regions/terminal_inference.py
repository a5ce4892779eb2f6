"""How sure the regions audit is, as a person reads it: cells of tables, columns of the CSV, lines on the terminal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from geobias.audits.regions.design import RegionsResult
from geobias.measures.estimates import SIGNIFICANT
from geobias.report.tables import NOTHING, digits

MARK = "*"
NAMED = 3  # regions of a level that differ most from random ones
LEGEND = (
    "Below a score: its 95 % interval, were other words drawn; the rank so too. * The sub-regions lie further apart or "
    "closer together than as many drawn at random from their level (p < .05, corrected for looking often)."
)
ABOUT = {"tokens": "tokens of the name", "name_likelihood": "its f", "norm": "the norm before normalising"}


def is_marked(entry: Mapping[str, Any]) -> bool:
    null = entry.get("null")
    return null is not None and null["p_adjusted"] < SIGNIFICANT


def score_cell(entry: Mapping[str, Any]) -> str:
    """Balanced C_w, its mark, and below it the interval."""
    value = digits(entry["c_w"]["balanced"]) + (MARK if is_marked(entry) else "")
    found = entry.get("inference")
    return (
        value
        if found is None or found["c_w"]["balanced"]["low"] is None
        else f"{value}\n{between(found['c_w']['balanced'])}"
    )


def name_cell(entry: Mapping[str, Any]) -> str:
    """The region's name, and below it the bounds of its rank."""
    rank = entry.get("rank")
    return entry["name"] if rank is None else f"{entry['name']}\nrank {rank['value']} ({rank['low']}–{rank['high']})"


def csv_cells(entry: Mapping[str, Any]) -> dict[str, Any]:
    """The columns beside a region's scores in tables/regions.csv; empty for a region without a pair."""
    if "inference" not in entry:
        return {}
    found, null = entry["inference"], entry["null"] or {}
    cells = {f"c_w_balanced_{key}": found["c_w"]["balanced"][key] for key in ("low", "high", "p", "p_adjusted")}
    return cells | {"c_w_balanced_null_mean": null.get("mean")}


def sure_lines(result: RegionsResult) -> list[str]:
    """What random regions, the names themselves, invented places and the templates say; and what was left out."""
    found = result.inference
    lines = [*_root_line(result), *_random_lines(result)]
    if found.tokenisation:
        lines.append(_tokenisation_line(found.tokenisation[0]))
    if found.placebo is not None:
        lines.append(_placebo_line(found.placebo))
    for entry in found.kendall_w or ():
        if entry["w"] is not None:
            what = "C_w" if entry["by"] == "c_w" else "distance from their siblings"
            lines.append(
                f"Do the templates put the {entry['regions']:,} regions at the level {entry['level']} in one order "
                f"by {what}? Kendall's W {entry['w']:.2f} ({_p(entry['p'])}; 1 always, 0 not at all)."
            )
    return lines + list(found.summary["left_out"])


def _root_line(result: RegionsResult) -> list[str]:
    root = result.regions[0]
    null = root.get("null")
    if null is None:
        return []
    above, below = list(dict.fromkeys(entry["level"] for entry in result.regions))[1:3]
    return [
        f"{root['name']}, the level {below} dealt out at random over the level {above}: balanced C_w "
        f"{digits(null['mean'])} in the mean, against {digits(root['c_w']['balanced'])} ({_p(null['p'])})."
    ]


def _random_lines(result: RegionsResult) -> list[str]:
    """Level by level below the root: which regions are sparser or denser than random ones, and by what factor."""
    lines = []
    for level in dict.fromkeys(entry["level"] for entry in result.regions[1:]):
        tested = [entry for entry in result.regions if entry["level"] == level and entry.get("null")]
        if not tested:
            continue
        parts = []
        for word, sparser in (("sparser", True), ("denser", False)):
            some = [entry for entry in tested if is_marked(entry) and entry["null"]["sparser"] == sparser]
            some.sort(key=lambda entry: entry["null"]["ratio"] or 0.0, reverse=sparser)
            named = ", ".join(f"{entry['name']} ×{entry['null']['ratio'] or 0:.2f}" for entry in some[:NAMED])
            parts.append(f"{len(some)} {word}" + (f" ({named}{', ...' if len(some) > NAMED else ''})" if some else ""))
        lines.append(f"Level {level}, {len(tested)} regions against random ones of their size: {', '.join(parts)}.")
    return lines


def _tokenisation_line(entry: Mapping[str, Any]) -> str:
    told = ", ".join(f"{text} {_correlation(entry[name])}" for name, text in ABOUT.items() if entry[name] is not None)
    return (
        "Does how far a region lies from its siblings go with its name alone? Spearman over "
        f"{entry['regions']:,} regions at the level {entry['level']}: {told}."
    )


def _placebo_line(placebo: Mapping[str, Any]) -> str:
    found = placebo["sparseness"]
    ratio = found.get("ratio")
    sure = f" ({ratio['low']:.2f} to {ratio['high']:.2f})" if ratio and ratio["low"] is not None else ""
    times = f"{ratio['value']:.2f} times{sure} " if ratio else "against "
    line = (
        f"Placebo: {len(placebo['names'])} invented places lie {digits(found['invented']['value'])} apart, "
        f"{times}the {digits(found['real']['value'])} of the real ones at the level {placebo['level']}"
    )
    if placebo["tokens"] is not None and placebo["real_tokens"] is not None:
        line += f"; their names have {placebo['tokens']:.1f} tokens, the real ones {placebo['real_tokens']:.1f}"
    return line + ". So much can names alone do."


def _correlation(found: Mapping[str, float | None]) -> str:
    if found["value"] is None:
        return "all alike"
    mark = MARK if found["p_adjusted"] is not None and found["p_adjusted"] < SIGNIFICANT else ""
    between = "" if found["low"] is None else f" ({found['low']:+.2f} to {found['high']:+.2f})"
    return f"{found['value']:+.2f}{mark}{between}"


def between(found: Mapping[str, Any]) -> str:
    """Three digits are enough for bounds, and the table fits a narrow terminal; what is small keeps more."""
    low, high = found["low"], found["high"]
    if low is None:
        return NOTHING
    return f"{low:.3f}–{high:.3f}" if low >= 0.01 else f"{digits(low)}–{digits(high)}"


def _p(value: float) -> str:
    return "p < .001" if value < 0.001 else f"p = {value:.3f}"
