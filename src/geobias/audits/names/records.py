"""Parts of results.json: correlations of probabilities with perplexity, and what the rarity of names explains."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated

from pydantic import Field

from geobias.measures.estimates import Estimate
from geobias.measures.single_names import HalfAsLarge
from geobias.report.results import NOT_SAVED, Number


@dataclass(frozen=True)
class FarthestCountry:
    """The country farthest from the mean of countries, either way, with bounds that hold for all at once."""

    value: float
    low: float
    high: float
    country: str


@dataclass(frozen=True)
class FarthestCountries:
    """For delta and for each class; null where nothing is known of the uncertainty."""

    delta: FarthestCountry | None
    change: dict[str, FarthestCountry | None]


@dataclass(frozen=True)
class SmallestEffects:
    """The difference from the mean of countries that is marked with a power of 80 %, adjusted for all comparisons.

    For the country of median uncertainty; null where there is no test.
    """

    delta: Number
    """Points."""
    change: dict[str, Number]
    """Of each class, in per cent of its predictions."""
    half_delta: HalfAsLarge | None = None
    """What would find half of the smallest difference in delta."""
    half_change: dict[str, HalfAsLarge | None] = field(default_factory=dict)
    """The same for each class."""


@dataclass(frozen=True)
class LanguageCorrelation:
    """Over the original texts of one language: log-perplexity with the probability of each class."""

    language: str
    texts: int
    pearson: dict[str, Number]
    """By label."""
    inference: dict[str, Estimate]
    partial: dict[str, Estimate]
    """With the number of tokens and of characters held fixed."""


@dataclass(frozen=True)
class OverallCorrelations:
    """Over the renamed texts of all countries, for each class."""

    within: dict[str, Estimate]
    """Over the draws of one text and country, averaged over texts."""
    pooled: dict[str, Estimate]
    """Of the differences from the original text, over all texts."""
    pooled_partial: dict[str, Estimate]
    """The same with the number of tokens and of characters held fixed."""


@dataclass(frozen=True)
class CountryCorrelation:
    """Over the renamed texts of one country."""

    country: str
    code: str
    pearson: dict[str, Number]
    """By label."""
    inference: dict[str, Estimate]
    texts: dict[str, Number]
    texts_without_variance: dict[str, Number]
    """Left out."""


@dataclass(frozen=True)
class CorrelationsByCountry:
    overall: dict[str, Number]
    countries: list[CountryCorrelation]


@dataclass(frozen=True, kw_only=True)
class PerplexityCorrelations:
    """How the probabilities of a classifier correlate with the log-perplexity of a language model."""

    lm: str
    score: str
    draws: int
    texts: int
    texts_cut: int
    unknown_tokens: dict[str, float]
    """For each language of the texts, the share of tokens that the language model does not know."""
    languages_refused: list[str]
    """Languages with too many such tokens."""
    by_language: Annotated[list[LanguageCorrelation], Field(alias="global")]
    local: OverallCorrelations
    within: CorrelationsByCountry
    pooled: CorrelationsByCountry


@dataclass(frozen=True)
class RarityCovariate:
    """A property of the names in renamed texts that is held fixed."""

    name: str
    """tokens, characters, non-ASCII (1 with a letter outside ASCII) or log-count (of an English text)."""
    slope: Estimate
    """Points for one unit more, between names of one country and gender in the same text."""


@dataclass(frozen=True)
class CountryRarity:
    """One country against the mean of countries: as measured, and with the covariates held fixed."""

    country: str
    code: str
    covariates: dict[str, Number]
    """Means of the covariates, minus the mean of countries."""
    unadjusted: Estimate
    """Over the same renamed texts as the adjusted difference."""
    adjusted: Estimate
    explained: Estimate
    """Unadjusted minus adjusted: the slopes times the covariates."""
    cautious: Estimate
    """The adjusted difference, had the covariates explained a quarter more: there is more to a name than they say."""


@dataclass(frozen=True)
class CountrySpread:
    """How much countries differ, and how far each is from their mean, once chance is taken off."""

    sd: Estimate
    """Standard deviation between countries without that of chance; its p is that of no difference at all."""
    shrunken: dict[str, Number]
    """By code: differences from the mean of countries, shrunk towards 0 (random effects): the largest of many is
    overestimated."""


@dataclass(frozen=True, kw_only=True)
class RarityAdjustment:
    """What remains of the countries' differences between names of equal length, spelling and frequency."""

    label: str | None = None
    """The class whose predictions are compared, in percentage points; null for delta."""
    texts: int
    draws: int
    """Draws of each text that have the covariates."""
    covariates: list[RarityCovariate]
    left_out: dict[str, str] = field(default_factory=dict)
    """Covariates that are not held fixed, and why."""
    spread: CountrySpread | None = None
    """Between names alike; null where it is not known."""
    countries: list[CountryRarity]
    """Empty where no covariate could be held fixed."""


@dataclass(frozen=True, kw_only=True)
class ClassDifferences:
    """How often countries' renamed texts get a class, as measured and between names alike."""

    label: str
    spread: CountrySpread | None
    """In percentage points."""
    rarity: RarityAdjustment | None
    """In percentage points; null where nothing had to be held fixed."""


@dataclass(frozen=True)
class GenderGap:
    """Whether a country's women's and men's names differ in another way than those of the other countries."""

    country: str
    code: str
    difference: Estimate
    """Delta against the mean of countries of women's names, minus that of men's; adjusted with delta."""


@dataclass(frozen=True)
class NameEffect:
    """What a single name does to delta, against other names of the same country and gender in the same text."""

    name: str
    kind: str
    """male, female or last."""
    countries: list[str]
    """Codes of those in whose renamed texts it stands."""
    texts: int
    renamed_texts: int
    value: Number
    """Points of delta."""
    low: Number
    """Lower end of the 95 % interval, not adjusted."""
    high: Number
    p_adjusted: Number
    """Of an effect of at most the threshold, adjusted for all names; null where too few texts show the name."""


@dataclass(frozen=True, kw_only=True)
class SingleNames:
    """Which names move delta by more than a threshold."""

    threshold: Number
    """Points."""
    shown: int
    """Different names in the renamed texts."""
    tested: int
    """Of these, names that stand in enough texts."""
    large: list[NameEffect]
    """Names that move delta by more than the threshold, the largest first."""
    share_of_variance: Number
    """Of the variance between names, what comes from the large ones; null where names do not differ."""
    effects: Annotated[list[NameEffect], *NOT_SAVED] = field(default_factory=list, repr=False, compare=False)
    """All names, those of tables/names.csv."""


@dataclass(frozen=True)
class ScriptGap:
    """A country that has names in Latin script and in another: delta of those in the other."""

    country: str
    code: str
    renamed_texts: int
    """In the other script."""
    own_script: Estimate
    """Delta against the mean of countries, which is that of names in Latin script."""
    difference: Estimate
    """Minus the same of the country's names in Latin script; all are adjusted together."""


@dataclass(frozen=True)
class FewTexts:
    """A country whose delta against the mean of countries rests on a few texts."""

    country: str
    code: str
    texts_of_half: int
    """How many texts, those that contribute most first, make up half of the difference."""
    skewness: float
    """Of the difference over texts: its interval misses on this side in some 2.5 + 8.5 |skewness| %."""


@dataclass(frozen=True)
class NameSharing:
    """How many names of a country other countries of the audit have too."""

    names: int
    """Names in its lists."""
    shared: int
    """Of these, names that at least one other country has."""
    other_countries: int
    """Countries that have at least one of its names."""
    others_per_shared_name: Number
    """Mean number of other countries that have a shared name."""
    renamed_texts_with_shared: float
    """Share of the country's renamed texts that show a shared name."""


@dataclass(frozen=True)
class SharedNamesEffect:
    """Names of a country that others have too against names that it has alone."""

    country: str
    code: str
    shared: int
    """Different shared names in the renamed texts."""
    unshared: int
    difference: Estimate
    """Delta of texts that show shared names only, minus delta of those that show none."""
