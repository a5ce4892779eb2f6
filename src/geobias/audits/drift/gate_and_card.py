"""The drift audit in other tools: rows of a model card, numbers of a gate."""

from __future__ import annotations

from collections.abc import Iterator

from geobias.audits.drift.findings import count_epochs
from geobias.audits.drift.result import FORMS, DriftResult, RegionScore, RegionTrend
from geobias.report.number_tree import HERB_SCORE, NumberTree, tree_number
from geobias.report.tables import digits, interval, signed


def card_rows(result: DriftResult) -> Iterator[dict[str, str]]:
    first, last = result.epochs[0], result.epochs[-1]
    for before, after, trend in zip(first.regions, last.regions, result.inference.regions, strict=True):
        yield {
            "Region": before.name,
            "Balanced C_w before the training": digits(before.balanced.value),
            f"After {count_epochs(result)}": digits(after.balanced.value),
            "Change": signed(trend.balanced.difference.value, 4),
            "95 % interval of the change": interval(trend.balanced.difference, 4),
        }


def gate_numbers(result: DriftResult) -> NumberTree:
    """drift.REGION.c_w.balanced after the last epoch; drift.REGION.change.balanced: that minus epoch 0, as a size."""
    pairs = zip(result.epochs[-1].regions, result.inference.regions, strict=True)
    return NumberTree(((score.id, score.name), _region_numbers(score, trend)) for score, trend in pairs)


def _region_numbers(score: RegionScore, trend: RegionTrend) -> NumberTree:
    scores = {form: tree_number(getattr(score, form), HERB_SCORE) for form in FORMS}
    changes = {form: tree_number(getattr(trend, form).difference, HERB_SCORE).absolute() for form in FORMS}
    return NumberTree(
        ((name,), NumberTree(((form,), number) for form, number in numbers.items()))
        for name, numbers in (("c_w", scores), ("change", changes))
    )
