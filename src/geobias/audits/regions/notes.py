"""The uncertainty of a regions audit in sentences, for `--full` and the page."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from geobias.audits.regions.records import Placebo, RegionScores, Tokenisation
from geobias.measures.estimates import SIGNIFICANT, Estimate
from geobias.report.tables import digits, is_marked

if TYPE_CHECKING:
    from geobias.audits.regions.result import RegionsResult

MARK = "*"
NAMES_SHOWN = 3
TRAITS = {"tokens": "tokens of the name", "name_likelihood": "its f", "norm": "the norm before normalising"}


def is_marked_region(region: RegionScores) -> bool:
    """Whether a region's sub-regions lie further apart or closer together than random ones."""
    return region.null is not None and region.null.p_adjusted is not None and region.null.p_adjusted < SIGNIFICANT


def pluralise(level: str) -> str:
    """The plural of a level; levels of a user's tree have numbers."""
    if level.startswith("level "):
        return f"regions at {level}"
    return f"{level[:-1]}ies" if level.endswith("y") else f"{level}s"


def name_level(level: str) -> str:
    """A level in the singular; those of a user's tree are regions."""
    return "region" if level.startswith("level ") else level


def name_one(level: str) -> str:
    """A single region of a level, and which level if that has only a number."""
    return f"one region at {level}" if level.startswith("level ") else f"one {level}"


def omission_notes(result: RegionsResult) -> Iterator[str]:
    """What was left out or could not be compared; nothing where there is nothing to say."""
    counts = result.counts
    single = [region.name for region in result.regions if region.children == 1]
    if single:
        names = ", ".join(single[:NAMES_SHOWN]) + (", ..." if len(single) > NAMES_SHOWN else "")
        yield f"Without a pair of sub-regions, so without a score: {len(single)} ({names})."
    if counts.sentences_cut:
        yield f"Truncated to the model's maximum length: {counts.sentences_cut:,} sentence(s)."
    if counts.names_with_unknown_tokens:
        yield f"With characters that the model does not know: {counts.names_with_unknown_tokens:,} name(s)."


def inference_notes(result: RegionsResult) -> Iterator[str]:
    """What random regions, the names themselves, invented places and the templates say; and what was not tested."""
    root = result.regions[0]
    if root.null:
        above, below = list(dict.fromkeys(region.level for region in result.regions))[1:3]
        yield (
            f"{root.name}, with the level {below} randomly reassigned to the level {above}: balanced C_w "
            f"{digits(root.null.mean)} on average, observed {digits(root.c_w.balanced)} ({_format_p(root.null.p)})."
        )
    yield from _level_notes(result)
    if result.tokenisation:
        yield _tokenisation_note(result.tokenisation[0])
    if result.placebo:
        yield _placebo_note(result.placebo)
    for agreement in result.kendall_w or ():
        if agreement.w is not None and agreement.p is not None:
            measure = "C_w" if agreement.by == "c_w" else "distance from their siblings"
            yield (
                f"Agreement of the templates on the order of the {agreement.regions:,} regions at the level "
                f"{agreement.level} by {measure}: Kendall's W {agreement.w:.2f} ({_format_p(agreement.p)}; 1: the same "
                "order, 0: no agreement)."
            )
    yield from result.inference.left_out


def _level_notes(result: RegionsResult) -> Iterator[str]:
    """Level by level below the root: which regions are sparser or denser than random ones, and by what factor."""
    for level in dict.fromkeys(region.level for region in result.regions[1:]):
        tested = [(region, region.null) for region in result.regions if region.level == level and region.null]
        if not tested:
            continue
        parts = []
        for word, sparser in (("sparser", True), ("denser", False)):
            marked = [
                (null.ratio or 0.0, r.name) for r, null in tested if is_marked_region(r) and null.sparser == sparser
            ]
            marked.sort(key=lambda pair: pair[0], reverse=sparser)
            names = ", ".join(f"{name} ×{ratio:.2f}" for ratio, name in marked[:NAMES_SHOWN])
            more = ", ..." if len(marked) > NAMES_SHOWN else ""
            parts.append(f"{len(marked)} {word}" + (f" ({names}{more})" if marked else ""))
        yield f"Level {level}, {len(tested)} regions against random ones of their size: {', '.join(parts)}."


def _tokenisation_note(level: Tokenisation) -> str:
    correlations = [(label, getattr(level, trait)) for trait, label in TRAITS.items()]
    shown = ", ".join(f"{label} {_format_correlation(c)}" for label, c in correlations if c is not None)
    return (
        "Spearman correlations of a region's distance from its siblings with properties of its name, over "
        f"{level.regions:,} regions at the level {level.level}: {shown}."
    )


def _placebo_note(placebo: Placebo) -> str:
    ratio = placebo.ratio
    factor = "against "
    if ratio is not None:
        bounds = "" if ratio.low is None else f" ({ratio.low:.2f} to {ratio.high:.2f})"
        factor = f"{ratio.value:.2f} times{bounds} "
    note = (
        f"Placebo: {len(placebo.names)} invented places lie {digits(placebo.invented.value)} apart, "
        f"{factor}the {digits(placebo.real.value)} of the real ones at the level {placebo.level}"
    )
    if placebo.tokens is not None and placebo.real_tokens is not None:
        note += f"; their names have {placebo.tokens:.1f} tokens, the real ones {placebo.real_tokens:.1f}"
    return note + ". That is the effect of names alone."


def _format_correlation(estimate: Estimate) -> str:
    if estimate.value is None:
        return "all alike"
    bounds = "" if estimate.low is None else f" ({estimate.low:+.2f} to {estimate.high:+.2f})"
    return f"{estimate.value:+.2f}{MARK if is_marked(estimate) else ''}{bounds}"


def _format_p(p: float | None) -> str:
    return "p < .001" if p is not None and p < 0.001 else f"p = {p:.3f}"
