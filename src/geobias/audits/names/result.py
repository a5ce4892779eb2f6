"""What a names audit measures: for every classifier and country, how far the country's names move it."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
from pydantic import Field

from geobias.audits.inputs import TextsSettings
from geobias.audits.names.answers import ClassifierAnswers, RenamedTextCounts
from geobias.measures.estimates import Estimate
from geobias.models.scorer import ModelIdentity
from geobias.report.results import NOT_SAVED, AuditResult, Number
from geobias.texts.counterfactuals import Counterfactuals
from geobias.texts.user_texts import Texts

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, kw_only=True)
class NamesSettings:
    """What makes two runs the same."""

    texts: TextsSettings
    finder: str
    """What found the names: "given spans" where the texts came with them."""
    mentions: str
    """A digest of where the names stand in the texts."""
    entity: str
    countries: list[str]
    """Codes."""
    draws: int
    seed: int
    scripts: str
    names: str
    """A digest of the lists of names."""
    positive: list[str] | str
    negative: list[str] | str
    threshold: float | None
    lm: str | None
    """The language model behind the perplexities; null for the base model of each classifier."""
    perplexity: str
    perplexity_form: str
    perplexity_draws: int
    perplexity_texts: int | str
    names_are: str
    """In intervals and tests: "random" (a sample of more names) or "fixed"."""
    prompt: dict[str, Any] | None
    classifiers: list[str]


@dataclass(frozen=True)
class NamesCounts:
    """How much was asked, and what was left out."""

    texts: int
    rows_without_text: int
    texts_with_names: int
    people: int
    mentions: int
    people_by_gender: dict[str, int]
    """Of the people whose first name a text shows: male, female, unknown."""
    draws: int
    countries: int
    countries_left_out: list[str]
    """Countries with too few names."""


@dataclass(frozen=True)
class ListedNames:
    """Names of one kind (male, female, last or city) of one country."""

    left: int
    """Names in the scripts that were asked for."""
    total: Annotated[int, Field(alias="of")]
    used: int
    """Different names in the renamed texts."""


@dataclass(frozen=True)
class CountryNames:
    """The list of names of one country."""

    country: str
    code: str
    names: dict[str, ListedNames]


@dataclass(frozen=True)
class ChangeFromMean:
    """The measures of one country against the mean of all countries, which removes what any renaming does."""

    delta: Number
    change: dict[str, Number]
    kl: Number


@dataclass(frozen=True)
class EstimatesFromMean:
    """Intervals and tests of the same."""

    delta: Estimate
    change: dict[str, Estimate]
    kl: Estimate


@dataclass(frozen=True)
class CountryInference:
    """Intervals over texts and names, and tests; p-values of one measure are adjusted over countries and classes."""

    placebo: Number
    """Split-half noise floor of delta: the 95th percentile of what random halves of the country's names differ by."""
    delta: Estimate
    change: dict[str, Estimate]
    kl: Estimate
    against_mean: EstimatesFromMean


@dataclass(frozen=True)
class ClassErrors:
    """Error rates by class, one class against the rest."""

    false_positive: dict[str, Number]
    false_negative: dict[str, Number]


@dataclass(frozen=True, kw_only=True)
class CountryChange:
    """What the names of one country do to a classifier, against the original texts and the mean of countries."""

    country: str
    code: str
    renamed_texts: int
    delta: Number
    """100 times the mean of p(positive) - p(negative), minus the same of the original texts."""
    change: dict[str, Number]
    """Predictions of each class, in per cent more than on the original texts; null where there were none."""
    kl: Number
    """Mean symmetric Kullback-Leibler divergence from the original texts, in nats."""
    against_mean: ChangeFromMean
    inference: CountryInference
    before: dict[str, int]
    after: dict[str, int]
    errors: ClassErrors | None = None


@dataclass(frozen=True, kw_only=True)
class GenderChange(CountryChange):
    """The same over the renamed texts that show names of one gender only."""

    gender: str


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
class GlobalTest:
    """Whether delta differs between countries at all."""

    p: float | None


@dataclass(frozen=True)
class LanguageCorrelation:
    """Over the original texts of one language: log-perplexity with the probability of each class."""

    language: str
    texts: int
    pearson: dict[str, Number]
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
    inference: dict[str, Estimate]
    texts: dict[str, Number]
    texts_without_variance: dict[str, Number]


@dataclass(frozen=True)
class CorrelationsByCountry:
    overall: dict[str, Number]
    countries: list[CountryCorrelation]


@dataclass(frozen=True, kw_only=True)
class PerplexityCorrelations:
    """How the probabilities of a classifier correlate with the log-perplexity of a language model."""

    lm: str
    score: str
    form: str
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


@dataclass(frozen=True, kw_only=True)
class TextsMeasures:
    """Every measure of one classifier over some of the texts."""

    texts: int
    texts_with_names: int
    countries: list[CountryChange]
    worst: FarthestCountries
    any_country_differs: GlobalTest
    by_gender: list[GenderChange]
    original_errors: ClassErrors | None = None
    correlations: PerplexityCorrelations | None = None


@dataclass(frozen=True, kw_only=True)
class Subset:
    """The texts with one value in one column."""

    column: str
    value: str


@dataclass(frozen=True, kw_only=True)
class SubsetMeasures(TextsMeasures, Subset):
    """The measures over a subset of the texts."""


@dataclass(frozen=True, kw_only=True)
class ClassifierReading:
    """A classifier, and how its labels are read."""

    model: ModelIdentity
    labels: list[str]
    multi_label: bool
    threshold: float | None
    positive: list[str]
    negative: list[str]
    counts: RenamedTextCounts
    notes: list[str]


@dataclass(frozen=True, kw_only=True)
class ClassifierMeasures(TextsMeasures, ClassifierReading):
    """The measures over all texts, and again over each subset."""

    confusion: dict[str, list[list[int]]] | None = None
    """By country: how often a text of the first class, by its original, got the second one when it was renamed."""
    subsets: list[SubsetMeasures] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class NamesResult(AuditResult):
    """How classifiers treat people by the country that their names come from."""

    audit: Literal["names"] = "names"
    settings: NamesSettings
    models: list[ModelIdentity]
    counts: NamesCounts
    countries: list[CountryNames]
    classifiers: list[ClassifierMeasures]
    texts: Annotated[Texts | None, *NOT_SAVED] = field(default=None, repr=False, compare=False)
    named: Annotated[np.ndarray | None, *NOT_SAVED] = field(default=None, repr=False, compare=False)
    counterfactuals: Annotated[Counterfactuals | None, *NOT_SAVED] = field(default=None, repr=False, compare=False)
    answers: Annotated[tuple[ClassifierAnswers, ...], *NOT_SAVED] = field(default=(), repr=False, compare=False)

    @property
    def model_identities(self) -> list[ModelIdentity]:
        return self.models

    @property
    def frame(self) -> pd.DataFrame:
        """A row for each classifier and country; nested names are joined by "_"."""
        import pandas as pd

        return pd.json_normalize(self.rows(), sep="_")

    def rows(self) -> list[dict[str, Any]]:
        return [
            {"classifier": entry.model.name, **asdict(country)}
            for entry in self.classifiers
            for country in entry.countries
        ]
