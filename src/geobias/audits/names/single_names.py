"""Name the names: whether few single names move the score, where countries are not the reason."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

from geobias.audits.names.gaps import rerun
from geobias.audits.names.records import NameEffect, SingleNames
from geobias.measures.arrays import TextValues
from geobias.measures.crossed_variance import FEWEST_DRAWS, CrossedVariance
from geobias.measures.estimates import NORMAL_QUANTILE
from geobias.measures.single_names import LARGE, NameEffects, estimate_name_effects
from geobias.report.findings import Finding
from geobias.texts.counterfactuals import Counterfactuals

if TYPE_CHECKING:
    from geobias.audits.names.result import ClassifierMeasures, NamesResult

MOST_NAMED: Final = 6
MUCH: Final = 0.5  # of the variance between names


def measure_single_names(
    renamed: Counterfactuals, design: CrossedVariance, deltas: TextValues, genders: np.ndarray
) -> SingleNames | None:
    """Effects of all names over the counted answers; None where names cannot be told from their texts."""
    if renamed.draws < FEWEST_DRAWS or not design.total:
        return None
    estimates = estimate_name_effects(design, deltas, genders)
    effects = _list_effects(estimates, renamed, design)
    return SingleNames(
        threshold=LARGE,
        shown=len(effects),
        tested=int(estimates.is_tested.sum()),
        large=[effect for effect, is_large in effects if is_large],
        share_of_variance=estimates.share_of_large,
        effects=[effect for effect, _ in effects],
    )


def _list_effects(
    estimates: NameEffects, renamed: Counterfactuals, design: CrossedVariance
) -> list[tuple[NameEffect, bool]]:
    """Every name that is shown, and whether its effect is large: tested ones first, then by size."""
    keys, countries = renamed.name_index[2], dict[int, list[str]]()
    for unit, country in zip(design.cells.unit.tolist(), design.cells.country.tolist(), strict=True):
        countries.setdefault(unit, []).append(renamed.countries[country])
    shown = np.flatnonzero(estimates.answers)
    order = np.lexsort((-np.abs(estimates.effect[shown]).round(9), ~estimates.is_tested[shown]))
    effects = []
    for unit in shown[order].tolist():
        kind, name = keys[unit]
        effect, error = float(estimates.effect[unit]), NORMAL_QUANTILE * float(estimates.standard_error[unit])
        is_tested = bool(estimates.is_tested[unit])
        row = NameEffect(
            name=name,
            kind=kind,
            countries=countries.get(unit, []),
            texts=int(estimates.texts[unit]),
            renamed_texts=int(estimates.answers[unit]),
            value=effect,
            low=effect - error if is_tested else None,
            high=effect + error if is_tested else None,
            p_adjusted=float(estimates.p_adjusted[unit]) if is_tested else None,
        )
        effects.append((row, bool(estimates.is_large[unit])))
    return effects


def list_name_cautions(result: NamesResult) -> list[Finding]:
    """For each classifier that single names move: how many, which, and how much of the variance is theirs."""
    return [
        _make_finding(result, entry, entry.single_names)
        for entry in result.classifiers
        if entry.single_names and entry.single_names.large
    ]


def _make_finding(result: NamesResult, entry: ClassifierMeasures, single: SingleNames) -> Finding:
    count = len(single.large)
    share = single.share_of_variance
    much = ""
    if share is not None and share >= MUCH:
        much = f"; {share:.0%} of the variance between names is theirs"
    return Finding(
        role="caution",
        audit=result.audit,
        model=entry.model.name,
        question="Do a few single names move the score, whatever their country?",
        evidence="clear",
        p_adjusted=max(each.p_adjusted or 0.0 for each in single.large),
        sentence=f"{entry.model.short_name}: {count:,} of {single.shown:,} names move{'s' if count == 1 else ''} the "
        f"score by more than {single.threshold:.0f} points, against others of their country: "
        f"{_list_names(single.large)}{much}.",
        limit=f"{single.tested:,} names stand in enough texts to be tested, together; sizes of the "
        "largest tend to be overestimated.",
        next_step=f"Every name is in tables/names.csv. Leave them out: {rerun(result, entry, '--gazetteer FILE')}",
    )


def _list_names(effects: Sequence[NameEffect]) -> str:
    first = ", ".join(f"{each.name} {each.value or 0:+.0f}" for each in effects[:MOST_NAMED])
    return first + (f" and {len(effects) - MOST_NAMED:,} more" if len(effects) > MOST_NAMED else "")
