"""Whether a difference of a country is clear both ways, as measured and between names alike; if it is not, why.

Names alike are of equal length, spelling and frequency (`covariates.py`). A difference that is clear as measured is
told of a country only if it is also clear, in the same direction, between names alike, even had the covariates
explained a quarter more than they did (`MARGIN` in `measure_rarity.py`). Otherwise the sentence says what explains it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from geobias.audits.names.covariates import GROUPS, INSEPARABLE, LOG_COUNT, TOKENS
from geobias.audits.names.records import CountryRarity, RarityAdjustment
from geobias.measures.estimates import Estimate
from geobias.report.tables import is_marked, listed

ALIKE: Final = "names of equal length, spelling and frequency"
REMAINS: Final = 0.5  # of a difference: if less is left, it is explained
LARGEST_SHARE: Final = 2 / 3  # of what is explained: a group with more explains it alone
GROUP_WORDS: Final = {"length": "names' length", "spelling": "spelling", "frequency": "frequency"}
NO_TOKENS: Final = "frequency or length in tokens"  # rare names have more tokens


class Explanation(NamedTuple):
    """Why a clear difference is not told of its country."""

    reason: str
    """ "names' length explains it", for a sentence."""
    is_explained: bool
    """Whether most of the difference goes; otherwise it is less certain, or could not be tested."""


def find_country(rarity: RarityAdjustment | None, code: str) -> CountryRarity | None:
    countries = [] if rarity is None else rarity.countries
    return next((country for country in countries if country.code == code), None)


def is_clear_both_ways(raw: Estimate, country: CountryRarity) -> bool:
    """Whether a country differs, in the same direction, as measured and between names alike."""
    adjusted = country.adjusted
    cautious = country.cautious
    is_same_side = (raw.value or 0) * (adjusted.value or 0) > 0 and (raw.value or 0) * (cautious.value or 0) > 0
    return is_marked(raw) and is_marked(adjusted) and is_marked(cautious) and is_same_side


def explain(rarity: RarityAdjustment | None, pairs: Sequence[tuple[str, Estimate]]) -> Explanation | None:
    """Why none of these clear differences (codes and estimates) is told of its country; None if one of them is.

    None also where there is nothing to hold fixed.
    """
    if rarity is None or not pairs:
        return None
    if not rarity.countries:
        inseparable = [name for name, reason in rarity.left_out.items() if reason == INSEPARABLE]
        return Explanation(f"names differ in {listed(_name_groups(inseparable))} as countries do", False)
    found = [(raw, country) for code, raw in pairs if (country := find_country(rarity, code)) is not None]
    if any(is_clear_both_ways(raw, country) for raw, country in found):
        return None
    if all(country.adjusted.p_adjusted is None for _, country in found):
        return Explanation(f"too few texts react to compare {ALIKE}", False)
    before = sum(abs(country.unadjusted.value or 0) for _, country in found)  # classes: in percentage points, too
    after = [_sign(raw) * (country.adjusted.value or 0) for raw, country in found]  # below 0 on the other side
    if sum(max(each, 0) for each in after) >= REMAINS * before:
        return Explanation(f"it is not clear between {ALIKE}", False)
    groups = _find_groups_that_explain(rarity, found)
    if sum(max(-each, 0) for each in after) >= REMAINS * before:  # slopes that reach too far explain nothing
        return Explanation(f"it cannot be told from {listed(groups)}", False)
    return Explanation(f"{listed(groups)} {'explains' if len(groups) == 1 else 'explain'} it", True)


def _find_groups_that_explain(rarity: RarityAdjustment, found: Sequence[tuple[Estimate, CountryRarity]]) -> list[str]:
    """The groups whose covariates and slopes make up most of what is explained, in words."""
    parts = dict.fromkeys(GROUPS.values(), 0.0)
    for covariate in rarity.covariates:
        for raw, country in found:
            part = (covariate.slope.value or 0) * (country.covariates[covariate.name] or 0)
            parts[GROUPS[covariate.name]] += _sign(raw) * part
    ranked = sorted((group for group in parts if parts[group] > 0), key=lambda group: -parts[group])
    total, named = sum(parts[group] for group in ranked), list[str]()
    for group in ranked:
        named.append(NO_TOKENS if group == GROUPS[LOG_COUNT] and TOKENS in rarity.left_out else GROUP_WORDS[group])
        if sum(parts[each] for each in ranked[: len(named)]) >= LARGEST_SHARE * total:
            break
    return named


def _name_groups(covariates: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(GROUPS[name] for name in covariates))


def _sign(estimate: Estimate) -> int:
    return 1 if (estimate.value or 0) > 0 else -1
