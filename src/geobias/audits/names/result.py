"""What a names audit measures: for every classifier and country, how far the country's names move it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field

from geobias.audits.inputs import TextsSettings
from geobias.audits.names.answers import ClassifierAnswers, RenamedTextCounts
from geobias.audits.names.finder_spans import FinderSpans
from geobias.audits.names.records import (
    ClassDifferences,
    CountrySpread,
    FarthestCountries,
    FewTexts,
    GenderGap,
    NameSharing,
    PerplexityCorrelations,
    RarityAdjustment,
    ScriptGap,
    SharedNamesEffect,
    SingleNames,
    SmallestEffects,
)
from geobias.audits.names.views import list_tidy_rows, summarise
from geobias.measures.estimates import Estimate
from geobias.models.scorer import ModelIdentity
from geobias.report.results import NOT_SAVED, AuditResult, Number
from geobias.texts.counterfactuals import Counterfactuals
from geobias.texts.user_texts import Texts


@dataclass(frozen=True, kw_only=True)
class NamesSettings:
    """Settings that identify a run."""

    texts: TextsSettings
    finder: str
    """What found the names: "given spans" where the texts came with them."""
    doubtful: str | None = None
    """Whether doubtful spans of the finder were renamed: "keep" or "drop"; null where no finder marked people."""
    mentions: str
    """A digest of where the names stand in the texts."""
    countries: list[str]
    """Codes."""
    draws: int
    """Renamed versions of each text for each country."""
    seed: int
    scripts: str
    """Scripts of the names: latin or all."""
    names: str
    """A digest of the lists of names."""
    positive: list[str] | str
    negative: list[str] | str
    threshold: float | None
    """A class is predicted from this probability on; null for the likeliest one."""
    perplexity: str | None
    """The language model that gives perplexities; null without any."""
    perplexity_draws: int
    """How many of the draws have a perplexity."""
    names_are: str
    """In intervals and tests: "random" (a sample of more names) or "fixed"."""
    prompt: dict[str, Any] | None
    classifiers: list[str]


@dataclass(frozen=True)
class NamesCounts:
    """Numbers of texts scored and left out."""

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
    finder_spans: FinderSpans | None = None
    """What the finder marked; null where the texts came with spans."""
    copies: int = 0
    """Rows left out because they repeat another text but for names, numbers and case."""


@dataclass(frozen=True)
class ListedNames:
    """Names of one kind (male, female or last) of one country."""

    left: int
    """Names in the selected scripts."""
    total: Annotated[int, Field(alias="of")]
    used: int
    """Different names in the renamed texts."""


@dataclass(frozen=True)
class CountryNames:
    """The list of names of one country."""

    country: str
    code: str
    names: dict[str, ListedNames]
    sharing: NameSharing | None = None


@dataclass(frozen=True)
class ChangeFromMean:
    """The measures of one country against the mean of all countries, which removes what any renaming does."""

    delta: Number
    change: dict[str, Number]
    """Null as in `CountryChange`."""
    kl: Number
    changed_texts: dict[str, int] = field(default_factory=dict)
    """Of each class, the texts whose predictions with this country's names differ from those of the mean country."""


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
    """100 times the mean of p(positive) - p(negative), minus the same of the original texts.

    It and `kl` are null where there are fewer than five texts.
    """
    change: dict[str, Number]
    """Predictions of each class, in per cent more than on the original texts.

    Null where there were none, and where the change rests on one to four texts (`changed_texts`): too few.
    """
    kl: Number
    """Mean symmetric Kullback-Leibler divergence from the original texts, in nats."""
    against_mean: ChangeFromMean
    inference: CountryInference
    before: dict[str, int]
    """Predictions of each class on the original texts, as many times as these were renamed."""
    after: dict[str, int]
    """Predictions of each class on the renamed texts."""
    changed_texts: dict[str, int] = field(default_factory=dict)
    """Of each class, the texts with a renamed version whose prediction is not that of the original text."""
    errors: ClassErrors | None = None


@dataclass(frozen=True, kw_only=True)
class GenderChange(CountryChange):
    """The same over the renamed texts that show names of one gender only."""

    gender: str


@dataclass(frozen=True)
class GlobalTest:
    """Whether delta differs between countries at all: the smallest adjusted p-value of a country."""

    p: float | None


@dataclass(frozen=True, kw_only=True)
class TextsMeasures:
    """Every measure of one classifier over some of the texts."""

    texts: int
    texts_with_names: int
    countries: list[CountryChange]
    worst: FarthestCountries
    any_country_differs: GlobalTest
    by_gender: list[GenderChange]
    gender_gaps: list[GenderGap] = field(default_factory=list)
    """Empty without a delta, and with too few texts of women or of men."""
    smallest_effects: SmallestEffects | None = None
    """What the audit could find; null in results of older versions."""
    original_errors: ClassErrors | None = None
    correlations: PerplexityCorrelations | None = None
    spread: CountrySpread | None = None
    """Of delta; null without one, and where nothing is known of its uncertainty."""
    rarity: RarityAdjustment | None = None
    """Null without a delta, with fewer than five texts, and where names do not differ in what is held fixed."""
    class_differences: list[ClassDifferences] = field(default_factory=list)
    """Of the classes that are predicted more or less often with the names of some country (adjusted p < 0.10)."""
    shared_names: list[SharedNamesEffect] = field(default_factory=list)
    """Countries with enough names of both kinds."""
    scripts: list[ScriptGap] = field(default_factory=list)
    """Countries whose names are in Latin script and in another; empty with scripts "all"."""
    few_texts: list[FewTexts] = field(default_factory=list)
    """Countries whose intervals of delta are too narrow, since a few texts carry the difference."""
    single_names: SingleNames | None = None
    """Null without a delta, and with one draw for each text."""


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


@dataclass(frozen=True, kw_only=True, repr=False)
class NamesResult(AuditResult):
    """How classifiers treat people by the country that their names come from.

    Attributes
    ----------
    schema_version : int
        Version of the format of results.json.
    audit : str
        Name of the audit.
    settings : object
        Everything that identifies the run.
    findings : list of Finding
        The conclusions: the overall answer for each model, then details, then cautions.
    nondeterministic_models : list of NondeterministicModel
        Models that gave other answers to the same texts when they were asked twice.
    versions : dict of str
        Versions of Python and of the packages that can change a number.
    work : dict of int
        How much was computed rather than read from the store. Not saved.
    folder : Path or None
        Where the run is saved.
    models : list of ModelIdentity
        The classifiers.
    counts : NamesCounts
        Numbers of texts, people, mentions and countries, and what was left out.
    countries : list of CountryNames
        The countries, and the lists of names that were used.
    classifiers : list of ClassifierMeasures
        For each classifier: `countries`, with Δ, the change of each class and KL by country; `worst`, `by_gender`,
        `correlations`, `rarity` and `subsets`.
    texts : Texts or None
        The texts. Not saved.
    named : numpy.ndarray or None
        Positions of the texts that name somebody. Not saved.
    counterfactuals : Counterfactuals or None
        The renamed texts. Not saved.
    answers : tuple of ClassifierAnswers
        Probabilities of every classifier for every text. Not saved.

    Notes
    -----
    Returned by `audit_names`. Printing it shows the findings.

    Examples
    --------
    >>> result = geobias.audit_names("embedded/sentiment", out="runs/names")  # doctest: +SKIP
    >>> result.findings[0].sentence  # doctest: +SKIP
    >>> result.classifiers[0].countries[0].inference.against_mean.delta  # doctest: +SKIP
    """

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

    def summarise(self) -> Iterator[str]:
        return summarise(self)

    def list_tidy_rows(self) -> Iterator[dict[str, Any]]:
        """All texts together; tables/*.csv have genders and subsets."""
        return list_tidy_rows(self)
