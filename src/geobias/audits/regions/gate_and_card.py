"""The regions audit in other tools: rows of a model card, numbers of a gate."""

from __future__ import annotations

from collections.abc import Iterator

from geobias.audits.regions.result import RegionScores, RegionsResult
from geobias.report.number_tree import NumberTree, tree_number
from geobias.report.tables import format_interval


def top_regions(result: RegionsResult) -> list[RegionScores]:
    """The highest region that has sub-regions to compare, and those directly below it that have some too."""
    with_pairs = [row for row, region in enumerate(result.regions) if region.pairs]
    if not with_pairs:
        return []
    highest = with_pairs[0]
    parents = {highest, result.regions[highest].parent_index} - {None}
    return [result.regions[row] for row in with_pairs if row == highest or result.regions[row].parent_index in parents]


def card_rows(result: RegionsResult) -> Iterator[dict[str, str]]:
    for region in top_regions(result):
        if region.inference:
            yield {
                "Region": region.name,
                "Balanced C_w (0: all sub-regions spoken of alike)": f"{region.c_w.balanced:.3g}",
                "95 % interval": format_interval(region.inference.c_w.balanced, ".3g"),
            }


def gate_numbers(result: RegionsResult) -> NumberTree:
    """regions.REGION.c_w.balanced and so on, of regions with sub-regions; an id of two levels is the higher one's."""
    entries, level_of_name = [], dict[str, str]()
    for region in result.regions:
        if region.leaf:
            continue
        names = [
            name
            for name in dict.fromkeys((region.id, region.name))
            if level_of_name.setdefault(name.casefold(), region.level) == region.level
        ]
        if names:
            entries.append((names, _score_numbers(region)))
    return NumberTree(entries)


def _score_numbers(region: RegionScores) -> NumberTree:
    variants = []
    for variant in ("c_w", "c_z"):
        values = vars(getattr(region, variant))
        estimates = vars(getattr(region.inference, variant)) if region.inference else {}
        forms = NumberTree(((form,), tree_number(estimates.get(form), value)) for form, value in values.items())
        variants.append(((variant,), forms))
    return NumberTree(variants)
