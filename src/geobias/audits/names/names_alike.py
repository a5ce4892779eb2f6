"""Country or name: what is left of a difference between names of equal length, spelling and frequency.

Each of these says something of a name that is no country, and a classifier may react to it alone. A difference that is
clear as measured is told of a country only if it is also clear, in the same direction, between names alike, even had
the covariates explained a quarter more than they did (`MARGIN`). Otherwise a sentence says what explains it.

| covariate | of a renamed text |
|---|---|
| tokens | tokens of its new names, by the classifier's own tokenizer; without one, it is left out |
| characters | its characters |
| non-ASCII | 1 if a new name has a letter outside ASCII, else 0 |
| log-count | log(1 + count) of each new name in 24,000 articles of the English Wikipedia, summed; for bundled names |

Sums are over all mentions. What the rest of the text adds is a constant of the text, which cancels between countries.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from geobias.audits.names.rows import CountrySpread, Covariate, NameList, NamesAlike
from geobias.files import read_block
from geobias.measures.arrays import NUMBERS_AT_ONCE, LazyValues, TextValues, sum_over_texts
from geobias.measures.covariate_adjustment import AdjustedDifferences, adjust_for_covariates
from geobias.measures.crossed_variance import CrossedVariance, LinearMeasure, NameUnits
from geobias.measures.estimates import Estimate
from geobias.measures.uncertainty import ROUNDING, Uncertainty, measure_spread, shrink_means
from geobias.models.pretrained import count_added_tokens
from geobias.report.tables import is_marked, listed
from geobias.texts.counterfactuals import Counterfactuals
from geobias.texts.people import Person
from geobias.world.gazetteer import load_name_counts

if TYPE_CHECKING:
    from geobias.audits.names.result import NamesResult

TOKENS: Final = "tokens"
CHARACTERS: Final = "characters"
NON_ASCII: Final = "non-ASCII"
LOG_COUNT: Final = "log-count"
GROUPS: Final = {TOKENS: "length", CHARACTERS: "length", NON_ASCII: "spelling", LOG_COUNT: "frequency"}
COLUMNS: Final = {TOKENS: "tokens", CHARACTERS: "characters", NON_ASCII: "non_ascii", LOG_COUNT: "log_count"}
CASES: Final = ("", "lower", "upper")  # of a mention
NO_TOKENIZER: Final = "the classifier has no tokenizer"
NO_COUNT: Final = "not all names are bundled ones"
INSEPARABLE: Final = "among the names of one country it does not vary by itself"
MARGIN: Final = 0.25  # of what covariates explain: they measure length, spelling and frequency with some error
ALIKE: Final = "names of equal length, spelling and frequency"
REMAINS: Final = 0.5  # of a difference: if less is left, it is explained
LARGEST_SHARE: Final = 2 / 3  # of what is explained: a group with more explains it alone
GROUP_WORDS: Final = {"length": "names' length", "spelling": "spelling", "frequency": "frequency"}
RARE_OR_LONG: Final = "frequency or length in tokens"  # without tokens: rare names have more


class Covariates(NamedTuple):
    names: tuple[str, ...]
    values: TextValues
    """texts with names x countries x draws x covariates"""
    left_out: Mapping[str, str]
    """Covariates that are not known, and why."""


def count_name_tokens(tokenizer: Any, names: Sequence[str]) -> np.ndarray:
    """names x cases: the tokens that a name adds to a text, as it is written, in lower case and in capitals."""
    forms = [form for name in names for form in (name, name.lower(), name.upper())]
    distinct = list(dict.fromkeys(forms))
    tokens = dict(zip(distinct, count_added_tokens(tokenizer, distinct), strict=True))
    return np.array([tokens[form] for form in forms], dtype=float).reshape(len(names), len(CASES))


def list_covariates(renamed: Counterfactuals, units: NameUnits, name_tokens: np.ndarray | None) -> Covariates:
    """All covariates that are known of these names; `name_tokens` is names x cases."""
    names = [name for _, name in renamed.name_index[2]]
    counts = load_name_counts()
    has_counts = all(name in counts for name in names)
    left_out = {} if has_counts else {LOG_COUNT: NO_COUNT}
    if name_tokens is None:
        left_out = {TOKENS: NO_TOKENIZER} | left_out
    log_counts = np.log1p([counts[name] for name in names]) if has_counts else None
    is_non_ascii = np.array([any(letter.isalpha() and not letter.isascii() for letter in name) for name in names])
    texts, countries, draws = renamed.shape

    def compute(block: slice) -> np.ndarray:
        answer, unit = units.read_texts(block, countries * draws)
        size = (block.stop - block.start) * countries * draws
        mentions = _count_mentions(renamed, block)

        def add_up(weights: np.ndarray) -> np.ndarray:
            return np.bincount(answer, weights=weights, minlength=size)

        columns = {
            TOKENS: None if name_tokens is None else add_up((mentions * name_tokens[unit]).sum(axis=1)),
            CHARACTERS: read_block(renamed.text_lengths, block).astype(float).ravel(),
            NON_ASCII: (add_up(is_non_ascii[unit].astype(float)) > 0).astype(float),
            LOG_COUNT: None if log_counts is None else add_up(mentions.sum(axis=1) * log_counts[unit]),
        }
        known = [column for column in columns.values() if column is not None]
        return np.stack(known, axis=-1).reshape(-1, countries, draws, len(known))

    known_names = tuple(name for name in GROUPS if name not in left_out)
    if texts * countries * draws <= NUMBERS_AT_ONCE:  # read several times
        return Covariates(known_names, compute(slice(0, texts)), left_out)
    return Covariates(known_names, LazyValues(compute), left_out)


def _count_mentions(renamed: Counterfactuals, texts: slice) -> np.ndarray:
    """Entries of `name_units` x cases: how often a text has each new name, by the case that it is written in."""
    _, countries, draws = renamed.shape
    by_text = []
    for i in range(texts.start, texts.stop):
        persons = [np.tile(_count_by_part(person), (draws, 1)) for person in renamed.people[i]]
        by_text.append(np.tile(np.concatenate(persons), (countries, 1)))
    return np.concatenate(by_text)


def _count_by_part(person: Person) -> np.ndarray:
    """Parts of a name x cases, in the order of `name_units`: the last name, then the first."""
    parts = [part for part in ("last", "first") if person.has(part)]
    return np.array(
        [[sum(m.case == case and part in m.parts for m in person.mentions) for case in CASES] for part in parts]
    )


@dataclass(frozen=True)
class Comparison:
    """Differences of countries in delta or in one class, as measured and between names alike.

    Without covariates nothing differs that would have to be held fixed; without countries nothing could be.
    """

    spreads: list[CountrySpread]
    shrunken: Sequence[float | None]
    """By country, as measured."""
    covariates: list[Covariate]
    countries: list[NamesAlike]


def compare_alike(
    about: Mapping[str, Any],
    values: TextValues,
    covariates: Covariates,
    genders: np.ndarray,
    variance: CrossedVariance,
    countries: Sequence[NameList],
) -> Comparison:
    """Differences in the mean of `values` (texts x countries x draws); `about` has the model and the label of rows."""
    measure = LinearMeasure(variance.summarise(values), np.eye(variance.countries) - 1 / variance.countries)
    differences = measure.coefficients @ variance.means(measure.values)
    spreads: list[CountrySpread] = []
    shrunken: Sequence[float | None] = [None] * len(countries)
    if variance.is_estimable:
        spreads, shrunken = _measure_spread(about, differences, variance.uncertainty(measure), is_alike=False)
    adjustment = None
    if len(countries) > 1 and variance.total:
        adjustment = adjust_for_covariates(variance, values, covariates.values, genders, MARGIN)
    kept = [] if adjustment is None else adjustment.kept
    left_out = {**covariates.left_out, **_find_inseparable(variance, covariates, kept)}
    if adjustment is None and (INSEPARABLE not in left_out.values() or len(countries) < 2):
        return Comparison(spreads, shrunken, [], [])
    unknown = [Covariate(**about, name=name, slope=None, left_out=reason) for name, reason in left_out.items()]
    if adjustment is None:
        return Comparison(spreads, shrunken, unknown, [])
    names = [covariates.names[k] for k in kept]
    known = [
        Covariate(**about, name=name, slope=adjustment.slopes.at(k), left_out=None) for k, name in enumerate(names)
    ]
    spread, adjusted = _measure_spread(about, adjustment.adjusted.value, adjustment.uncertainty, is_alike=True)
    rows = list(_list_countries(about, adjustment, names, adjusted, countries))
    return Comparison([*spreads, *spread], shrunken, known + unknown, rows)


def _measure_spread(
    about: Mapping[str, Any], differences: np.ndarray, uncertainty: Uncertainty, *, is_alike: bool
) -> tuple[list[CountrySpread], Sequence[float | None]]:
    """The spread of differences from the mean of countries, and these shrunk; none where nothing is known of it."""
    if not uncertainty.is_known or len(differences) < 2:
        return [], [None] * len(differences)
    sd = measure_spread(differences, uncertainty)
    shrunken = shrink_means(differences, uncertainty.covariance, sd.value or 0)
    return [CountrySpread(**about, is_alike=is_alike, sd=sd)], shrunken.tolist()


def _list_countries(
    about: Mapping[str, Any],
    adjustment: AdjustedDifferences,
    names: Sequence[str],
    shrunken: Sequence[float | None],
    countries: Sequence[NameList],
) -> Iterator[NamesAlike]:
    columns = [COLUMNS[name] for name in names]
    for c, country in enumerate(countries):
        row: dict[str, Any] = {**about, **dict.fromkeys(COLUMNS.values()), "place": country.place, "code": country.code}
        row |= zip(columns, adjustment.covariate_differences[c].tolist(), strict=True)
        row |= {name: getattr(adjustment, name).at(c) for name in ("unadjusted", "adjusted", "cautious")}
        yield NamesAlike(**row, shrunken=shrunken[c])


def _find_inseparable(variance: CrossedVariance, covariates: Covariates, kept: Sequence[int]) -> Mapping[str, str]:
    """Covariates that differ between countries, but not within them: their effect and that of a country are one."""
    return {
        name: INSEPARABLE
        for k, name in enumerate(covariates.names)
        if k not in kept and np.ptp(variance.means(_select_column(covariates.values, k))) > ROUNDING
    }


def _select_column(values: TextValues, k: int) -> LazyValues:
    return LazyValues(lambda texts: values[texts][..., k])


def list_names(renamed: Counterfactuals, units: NameUnits) -> list[NameList]:
    """The lists of names of every country, and how many of them others have too."""
    owners, gazetteer = renamed.count_owners(), renamed.gazetteer
    is_shared = np.array([owners[key] > 1 for key in renamed.name_index[2]], dtype=bool)
    texts, countries, draws = renamed.shape

    def count_texts(block: slice) -> list[np.ndarray]:
        answer, unit = units.read_texts(block, countries * draws)
        size = (block.stop - block.start) * countries * draws
        shown = np.bincount(answer, weights=is_shared[unit], minlength=size).reshape(-1, countries, draws)
        return [(shown > 0).sum(axis=(0, 2))]

    (with_shared,) = sum_over_texts(count_texts, texts, countries * draws)
    lists = [
        {(kind, name) for kind in gazetteer.kinds for name in gazetteer.names(code, kind)} for code in renamed.countries
    ]
    return [
        NameList(
            place=gazetteer.country(code),
            code=code,
            **{kind: len(gazetteer.names(code, kind)) for kind in gazetteer.kinds},
            shared=sum(owners[key] > 1 for key in lists[c]),
            renamed_texts_with_shared=float(with_shared[c] / (texts * draws)),
        )
        for c, code in enumerate(renamed.countries)
    ]


class Explanation(NamedTuple):
    """Why a clear difference is not told of its country."""

    reason: str
    """ "names' length explains it", for a sentence."""
    is_explained: bool
    """Whether most of the difference goes; otherwise it is less certain, or could not be tested."""


def explain(
    covariates: Sequence[Covariate], countries: Sequence[NamesAlike], pairs: Sequence[tuple[str, Estimate]]
) -> Explanation | None:
    """Why none of these clear differences (codes and estimates) is told of its country; None if one of them is.

    None also where there is nothing to hold fixed.
    """
    if not covariates or not pairs:
        return None
    if not countries:
        inseparable = [GROUPS[each.name] for each in covariates if each.left_out == INSEPARABLE]
        return Explanation(f"names differ in {listed(list(dict.fromkeys(inseparable)))} as countries do", False)
    by_code = {country.code: country for country in countries}
    found = [(raw, by_code[code]) for code, raw in pairs if code in by_code]
    if any(is_clear_both_ways(raw, country) for raw, country in found):
        return None
    if all(country.adjusted.p_adjusted is None for _, country in found):
        return Explanation(f"too few texts react to compare {ALIKE}", False)
    before = sum(abs(country.unadjusted.value or 0) for _, country in found)  # classes: in percentage points, too
    after = [_sign(raw) * (country.adjusted.value or 0) for raw, country in found]  # below 0 on the other side
    if sum(max(each, 0) for each in after) >= REMAINS * before:
        return Explanation(f"it is not clear between {ALIKE}", False)
    groups = _find_groups_that_explain(covariates, found)
    if sum(max(-each, 0) for each in after) >= REMAINS * before:  # slopes that reach too far explain nothing
        return Explanation(f"it cannot be told from {listed(groups)}", False)
    return Explanation(f"{listed(groups)} {'explains' if len(groups) == 1 else 'explain'} it", True)


def is_clear_both_ways(raw: Estimate, country: NamesAlike) -> bool:
    """Whether a country differs, in the same direction, as measured and between names alike."""
    others = country.adjusted, country.cautious
    is_same_side = all((raw.value or 0) * (each.value or 0) > 0 for each in others)
    return is_same_side and all(is_marked(each) for each in (raw, *others))


def find_rest(raw: Estimate, country: NamesAlike, label: str | None) -> Estimate | None:
    """What is left between names alike, where that is less than half of the difference."""
    before = raw.value if label is None else country.unadjusted.value
    after = country.adjusted.value
    return country.adjusted if after is not None and abs(after) < REMAINS * abs(before or 0) else None


def _find_groups_that_explain(
    covariates: Sequence[Covariate], found: Sequence[tuple[Estimate, NamesAlike]]
) -> list[str]:
    """The groups whose covariates and slopes make up most of what is explained, in words."""
    parts = dict.fromkeys(GROUPS.values(), 0.0)
    for covariate in covariates:
        for raw, country in found:
            slope = covariate.slope.value if covariate.slope else None
            part = (slope or 0) * (getattr(country, COLUMNS[covariate.name]) or 0)
            parts[GROUPS[covariate.name]] += _sign(raw) * part
    has_tokens = all(each.slope or each.name != TOKENS for each in covariates)
    ranked = sorted((group for group in parts if parts[group] > 0), key=lambda group: -parts[group])
    total, named = sum(parts[group] for group in ranked), list[str]()
    for group in ranked:
        named.append(RARE_OR_LONG if group == GROUPS[LOG_COUNT] and not has_tokens else GROUP_WORDS[group])
        if sum(parts[each] for each in ranked[: len(named)]) >= LARGEST_SHARE * total:
            break
    return named


def _sign(estimate: Estimate) -> int:
    return 1 if (estimate.value or 0) > 0 else -1


def describe_covariates(covariates: Sequence[Covariate]) -> str:
    """What is held fixed, and what is not and why."""
    names = listed([each.name for each in covariates if each.slope] or ["nothing"])
    return names + "".join(f"; without {each.name}: {each.left_out}" for each in covariates if each.left_out)


def describe_held_fixed(result: NamesResult, model: str, label: str | None) -> str:
    covariates = [row for row in result.covariates if (row.model, row.label) == (model, label)]
    names, _, left_out = describe_covariates(covariates).partition(";")
    texts = f"{result.counts.draws} draws of {result.counts.texts_with_names} texts"
    return f"{names}, {texts}" + (f";{left_out}" if left_out else "")
