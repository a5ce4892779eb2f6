"""The rows of a names audit: lists of them are the numbers of its result.

Rows are over all texts; those with a `subset` are over the texts with one value in one column ("topic politics").
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from geobias.measures.estimates import SIGNIFICANT, Estimate
from geobias.report.results import Number
from geobias.report.rows import Effect

DELTA = "Δ"


@dataclass(frozen=True, kw_only=True)
class CountryRow:
    """What a row is about."""

    model: str
    place: str
    """The country."""
    code: str


@dataclass(frozen=True, kw_only=True)
class MeasureRow:
    """What a row on all countries together is about."""

    model: str
    label: str | None
    """A class; null for delta."""


@dataclass(frozen=True, kw_only=True)
class CountryEffect(Effect):
    """How far the names of one country move a classifier, over the renamed texts.

    `p_adjusted` is that of `against_mean`, whatever explains the difference.
    """

    keys: ClassVar[tuple[str, ...]] = ("model", "country", "code")

    subset: str | None
    """The column and the value that these texts have; null for all texts."""
    against_mean: Estimate
    """Minus the mean of countries, which removes what any renaming does; adjusted over countries and classes."""
    against_originals: Estimate
    """Minus the original texts."""
    reason: str | None = None
    """Why the difference, clear as it is, is not told of the country: "names' length explains it"."""
    alike: Estimate | None = None
    """What is left between names alike, where that is less than half: then the difference is told by it."""
    shrunken: Number = None
    """Shrunk towards the mean of countries (random effects), in points of delta or of predictions: the largest of many
    is overestimated."""
    renamed_texts: int

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.reason and self.evidence == "clear":
            object.__setattr__(self, "evidence", "suggestive")

    @property
    def country(self) -> str:
        return self.place

    @property
    def estimate(self) -> Estimate:
        return self.against_mean

    @property
    def is_clear_as_measured(self) -> bool:
        return self.p_adjusted is not None and self.p_adjusted < SIGNIFICANT

    @property
    def stands_out(self) -> bool:
        """As measured and between names alike: then it is told of the country."""
        return super().stands_out and self.reason is None

    @property
    def of_class(self) -> str | None:
        """The class; None for delta."""
        return None

    @property
    def told(self) -> Estimate:
        """What is told of the country."""
        return self.alike or self.against_mean


@dataclass(frozen=True, kw_only=True)
class DeltaEffect(CountryEffect):
    """Delta: 100 times the mean of p(positive) - p(negative). Null with fewer than five texts, and without labels."""

    unit: ClassVar[str] = "points"

    kl: Estimate
    """Mean symmetric Kullback-Leibler divergence from the original texts, in nats."""
    kl_from_mean: Estimate
    """The same from the mean predictions of all countries."""
    noise_floor: Number
    """Split-half noise of delta: the 95th percentile of what random halves of the country's names differ by."""


@dataclass(frozen=True, kw_only=True)
class ClassEffect(CountryEffect):
    """Predictions of a class, in per cent more or fewer.

    Null where there were none, and where it rests on one to four texts (`changed_texts`): too few.
    """

    unit: ClassVar[str] = "per cent"

    before: int
    """Predictions on the original texts, as many times as these were renamed."""
    after: int
    """Predictions on the renamed texts."""
    changed_texts: int
    """Texts with a renamed version whose prediction is not that of the original text."""
    changed_texts_from_mean: int
    """Texts whose predictions with this country's names differ from those of the mean country."""
    false_positive: Number = None
    """Error rates, this class against the rest; null without true labels, and where no text is without the class."""
    false_negative: Number = None
    original_false_positive: Number = None
    """Of the original texts."""
    original_false_negative: Number = None

    @property
    def of_class(self) -> str | None:
        return self.label

    @property
    def rate(self) -> float:
        """The share of renamed texts that get the class."""
        return self.after / max(self.renamed_texts, 1)

    @property
    def rate_before(self) -> float:
        return self.before / max(self.renamed_texts, 1)


@dataclass(frozen=True, kw_only=True)
class SmallestEffect(MeasureRow):
    """The difference from the mean of countries that stands out with a power of 80 %, for a typical country."""

    value: Number
    """Points, or per cent of predictions; null where there is no test."""
    half_texts: int | None
    """Texts that name somebody to find half of it; null where they would not, or take more than 25 times as many."""
    half_draws: int | None
    """Or renamed versions of each text."""
    half_times_names: Number
    """Or how many times as many names in each list."""
    share_of_names: Number
    """Of the variance of a country's difference, what stays however many texts and draws there are."""


@dataclass(frozen=True, kw_only=True)
class CountrySpread(MeasureRow):
    """How much countries differ, without chance: the standard deviation between them, whose p is of no difference.

    In points of delta, or in percentage points of a class that countries differ in (adjusted p < 0.10).
    """

    is_alike: bool
    """Between names alike, with `covariates` held fixed."""
    sd: Estimate


@dataclass(frozen=True, kw_only=True)
class Covariate(MeasureRow):
    """A property of the names in renamed texts that is held fixed between countries, or why it is not."""

    name: str
    """tokens, characters, non-ASCII (1 with a letter outside ASCII) or log-count (of an English text)."""
    slope: Estimate | None
    """Points for one unit more, between names of one country and gender in the same text."""
    left_out: str | None


@dataclass(frozen=True, kw_only=True)
class NamesAlike(CountryRow):
    """A country against the mean of countries: as measured, and between names alike. In (percentage) points."""

    label: str | None
    tokens: Number
    """Mean of the covariate, minus the mean of countries; null where it is not held fixed."""
    characters: Number
    non_ascii: Number
    log_count: Number
    unadjusted: Estimate
    """Over the same renamed texts as the adjusted difference."""
    adjusted: Estimate
    cautious: Estimate
    """The adjusted difference, had the covariates explained a quarter more: there is more to a name than they say."""
    shrunken: Number
    """The adjusted difference, shrunk towards the mean of countries."""


@dataclass(frozen=True, kw_only=True)
class GenderGap(CountryRow):
    """Whether a country's women's and men's names differ in another way than those of the other countries."""

    subset: str | None
    women: Number
    """Delta of women's names against the mean of countries."""
    men: Number
    difference: Estimate
    """Adjusted with delta."""
    stands_out: bool
    """It is clear, and does not only mirror another."""


@dataclass(frozen=True, kw_only=True)
class FewTexts(CountryRow):
    """A country whose delta against the mean of countries rests on a few texts, so that its interval is too narrow."""

    texts_of_half: int
    """How many texts, those that contribute most first, make up half of the difference."""
    skewness: float
    """Of the difference over texts: its interval misses on this side in some 2.5 + 8.5 |skewness| %."""


@dataclass(frozen=True, kw_only=True)
class NameEffect:
    """What a single name does to delta, against other names of the same country and gender in the same text."""

    model: str
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
    """Of an effect of at most 5 points, adjusted for all names; null where too few texts show the name."""


@dataclass(frozen=True, kw_only=True)
class NameList:
    """The names of one country."""

    place: str
    code: str
    male: int
    """Names in the selected scripts."""
    female: int
    last: int
    shared: int
    """Names that at least one other country of the audit has."""
    renamed_texts_with_shared: float
    """Share of the country's renamed texts that show a shared name."""

    @property
    def shortest(self) -> int:
        return min(self.male, self.female, self.last)


@dataclass(frozen=True)
class PerplexityCounts:
    """The language model of the perplexities, and what it read."""

    lm: str
    draws: int
    texts: int
    texts_cut: int
    unknown_tokens: dict[str, float]
    """For each language of the texts, the share of tokens that the language model does not know."""
    languages_refused: list[str]
    """Languages with too many such tokens."""


Over = Literal["originals", "within", "pooled", "pooled, length fixed"]


@dataclass(frozen=True, kw_only=True)
class PerplexityCorrelation:
    """How the probability of a class correlates with the log-perplexity of a language model."""

    model: str
    over: Over
    """The original texts of a language; the draws of one text and country, averaged over texts; the differences of
    renamed texts from their originals, also with the number of tokens and characters held fixed."""
    language: str | None = None
    place: str | None = None
    """Null over all countries."""
    code: str | None = None
    label: str
    correlation: Estimate
    texts: int | None = None
    texts_without_variance: int | None = None
    """Left out."""
