"""The regions audit in other tools: rows of a model card, numbers of a gate."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import inf

from geobias.audits.regions.association_records import Association
from geobias.audits.regions.known_views import known_numbers
from geobias.audits.regions.notes import name_level, pluralise
from geobias.audits.regions.records import RegionScores
from geobias.audits.regions.result import RegionsResult
from geobias.report.number_tree import (
    HERB_SCORE,
    NOT_NEGATIVE,
    WORST,
    NumberTree,
    Range,
    TreeNumber,
    model_names,
    tree_number,
)
from geobias.report.results import HasInterval
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
    numbers: list[tuple[str, HasInterval]] = []
    association = result.association
    if association is not None and association.ratio is not None:
        members = pluralise(association.level)
        numbers.append(
            (
                f"Association of words and {members} (1: as of invented names; not for comparing models)",
                association.ratio,
            )
        )
    if association is not None and association.valence_worst is not None:
        level = name_level(association.level)
        numbers.append(
            (f"Favourable words, {level} farthest from the average (1: as of it)", association.valence_worst)
        )
    for region in top_regions(result):
        if region.inference:
            label = f"Balanced C_w of {region.name} (0: all sub-regions described alike)"
            numbers.append((label, region.inference.c_w.balanced))
    for label, number in numbers:
        yield {"Measure": label, "Value": f"{number.value:.3g}", "95 % interval": format_interval(number, ".3g")}


def gate_numbers(result: RegionsResult) -> NumberTree:
    """regions.REGION.c_w.balanced and so on, of regions with sub-regions; an id of two levels is the higher one's.

    regions.MODEL.association.ratio, regions.MODEL.known.auc and so on are of the whole run.
    """
    entries: list[tuple[Sequence[str], NumberTree]] = []
    level_of_name = dict[str, str]()
    of_model: list[tuple[Sequence[str], NumberTree]] = []
    if result.association is not None:
        of_model.append((("association",), _association_numbers(result.association)))
    if result.known is not None:
        of_model.append((("known",), known_numbers(result.known)))
    if of_model:
        entries.append((model_names(result.model.name), NumberTree(of_model)))
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


def _association_numbers(association: Association) -> NumberTree:
    """The ratio to invented names, the number of marked pairs, and the tone that is farthest from the average's."""
    is_tested = association.invented_times is not None and association.paraphrases > 1
    marked = float(association.marked) if is_tested else None
    worst = tree_number(association.valence_worst, Range(1, inf))
    return NumberTree(
        [
            (("ratio",), tree_number(association.ratio, NOT_NEGATIVE)),
            (("marked",), TreeNumber(marked, marked, marked, NOT_NEGATIVE)),  # a count has no interval
            (("valence",), NumberTree([((WORST,), worst)])),
        ]
    )


def _score_numbers(region: RegionScores) -> NumberTree:
    def forms(variant: str) -> NumberTree:
        estimates = vars(getattr(region.inference, variant)) if region.inference else {}
        scores = vars(getattr(region, variant))
        return NumberTree(
            ((form,), tree_number(estimates.get(form), HERB_SCORE, value=score)) for form, score in scores.items()
        )

    return NumberTree(((variant,), forms(variant)) for variant in ("c_w", "c_z"))
