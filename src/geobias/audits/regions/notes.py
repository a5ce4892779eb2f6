"""The uncertainty of a regions audit in sentences, for the terminal and the page."""

from __future__ import annotations

from collections.abc import Iterator

from geobias.audits.regions.result import Placebo, RegionScores, RegionsResult, Tokenisation
from geobias.measures.estimates import SIGNIFICANT, Estimate
from geobias.report.tables import digits, is_marked

MARK = "*"
NAMES_SHOWN = 3
TRAITS = {"tokens": "tokens of the name", "name_likelihood": "its f", "norm": "the norm before normalising"}


def is_marked_region(region: RegionScores) -> bool:
    """Whether a region's sub-regions lie further apart or closer together than random ones."""
    return region.null is not None and region.null.p_adjusted is not None and region.null.p_adjusted < SIGNIFICANT


def omission_notes(result: RegionsResult) -> Iterator[str]:
    """What was left out or could not be compared; nothing where there is nothing to say."""
    counts = result.counts
    single = [region.name for region in result.regions if region.children == 1]
    if single:
        names = ", ".join(single[:NAMES_SHOWN]) + (", ..." if len(single) > NAMES_SHOWN else "")
        yield f"Without a pair of sub-regions, so without a score: {len(single)} ({names})."
    if counts.sentences_cut:
        yield f"Longer than the model takes, and cut: {counts.sentences_cut:,} sentence(s)."
    if counts.names_with_unknown_tokens:
        yield f"With characters that the model does not know: {counts.names_with_unknown_tokens:,} name(s)."


def inference_notes(result: RegionsResult) -> Iterator[str]:
    """What random regions, the names themselves, invented places and the templates say; and what was not tested."""
    yield from _root_notes(result)
    yield from _level_notes(result)
    if result.tokenisation:
        yield _tokenisation_note(result.tokenisation[0])
    if result.placebo:
        yield _placebo_note(result.placebo)
    for agreement in result.kendall_w or ():
        if agreement.w is not None and agreement.p is not None:
            measure = "C_w" if agreement.by == "c_w" else "distance from their siblings"
            yield (
                f"Do the templates put the {agreement.regions:,} regions at the level {agreement.level} in one order "
                f"by {measure}? Kendall's W {agreement.w:.2f} ({_format_p(agreement.p)}; 1 always, 0 not at all)."
            )
    yield from result.inference.left_out


def _root_notes(result: RegionsResult) -> Iterator[str]:
    root = result.regions[0]
    if root.null is None:
        return
    above, below = list(dict.fromkeys(region.level for region in result.regions))[1:3]
    yield (
        f"{root.name}, the level {below} dealt out at random over the level {above}: balanced C_w "
        f"{digits(root.null.mean)} in the mean, against {digits(root.c_w.balanced)} ({_format_p(root.null.p)})."
    )


def _level_notes(result: RegionsResult) -> Iterator[str]:
    """Level by level below the root: which regions are sparser or denser than random ones, and by what factor."""
    for level in dict.fromkeys(region.level for region in result.regions[1:]):
        tested = [(region, region.null) for region in result.regions if region.level == level and region.null]
        if not tested:
            continue
        parts = []
        for word, sparser in (("sparser", True), ("denser", False)):
            marked = [
                (null.ratio or 0.0, region.name)
                for region, null in tested
                if is_marked_region(region) and null.sparser == sparser
            ]
            marked.sort(key=lambda pair: pair[0], reverse=sparser)
            names = ", ".join(f"{name} ×{ratio:.2f}" for ratio, name in marked[:NAMES_SHOWN])
            more = ", ..." if len(marked) > NAMES_SHOWN else ""
            parts.append(f"{len(marked)} {word}" + (f" ({names}{more})" if marked else ""))
        yield f"Level {level}, {len(tested)} regions against random ones of their size: {', '.join(parts)}."


def _tokenisation_note(level: Tokenisation) -> str:
    correlations = {trait: getattr(level, trait) for trait in TRAITS}
    shown = ", ".join(f"{TRAITS[trait]} {_format_correlation(c)}" for trait, c in correlations.items() if c is not None)
    return (
        "Does how far a region lies from its siblings go with its name alone? Spearman over "
        f"{level.regions:,} regions at the level {level.level}: {shown}."
    )


def _placebo_note(placebo: Placebo) -> str:
    measure, ratio = placebo.sparseness, placebo.sparseness.ratio
    factor = "against "
    if ratio is not None:
        bounds = "" if ratio.low is None else f" ({ratio.low:.2f} to {ratio.high:.2f})"
        factor = f"{ratio.value:.2f} times{bounds} "
    note = (
        f"Placebo: {len(placebo.names)} invented places lie {digits(measure.invented.value)} apart, "
        f"{factor}the {digits(measure.real.value)} of the real ones at the level {placebo.level}"
    )
    if placebo.tokens is not None and placebo.real_tokens is not None:
        note += f"; their names have {placebo.tokens:.1f} tokens, the real ones {placebo.real_tokens:.1f}"
    return note + ". So much can names alone do."


def _format_correlation(estimate: Estimate) -> str:
    if estimate.value is None:
        return "all alike"
    bounds = "" if estimate.low is None else f" ({estimate.low:+.2f} to {estimate.high:+.2f})"
    return f"{estimate.value:+.2f}{MARK if is_marked(estimate) else ''}{bounds}"


def _format_p(p: float | None) -> str:
    return "p < .001" if p is not None and p < 0.001 else f"p = {p:.3f}"
