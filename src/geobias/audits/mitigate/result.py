"""What a mitigation measures, as flat tables: the original model and that of each method, and the countries of each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Literal

from geobias.audits.inputs import TextsSettings
from geobias.measures.estimates import NO_ESTIMATE, Estimate
from geobias.models.scorer import ModelIdentity
from geobias.report.findings import Evidence, grade_evidence
from geobias.report.results import NO_INTERVAL, AuditResult, Interval
from geobias.report.rows import Effect, Measured, list_tidy_rows, tidy_row
from geobias.report.tables import is_marked

ORIGINAL = "original"
MEASURES = {"change": "change of delta", "after": "delta after", "before": "delta before"}  # of `to_frame`
LARGEST_LOSS = 1.0  # percentage points of accuracy that a recommended method may cost
# Of a language model after mitigation: the least variance over words (a share of that before) that counts as help, and
# the most that it may lose to be recommended: per cent of perplexity, percentage points of the capitals that it knows.
LEAST_WORD_VARIANCE = 0.5
MOST_PERPLEXITY_RISE, MOST_CAPITALS_LOST = 5.0, 2.0


@dataclass(frozen=True, kw_only=True)
class MitigateSettings:
    """Settings that identify a run."""

    model: str
    methods: list[str]
    texts: TextsSettings
    train: TextsSettings | None
    """The texts that methods were trained on; null if none was trained."""
    finder: str | None = None
    """Null for a language model."""
    mentions: str | None = None
    """A digest of the people in the texts."""
    countries: list[str]
    draws: int = 0
    seed: int
    names: str
    """A digest of the held-out names; of a language model, of the held-out regions, words and templates."""
    positive: list[str] | str = "by name"
    negative: list[str] | str = "by name"
    epochs: int | None
    """Of training; null if no method was trained."""


@dataclass(frozen=True, kw_only=True)
class MitigateCounts:
    """How much was scored."""

    texts: int
    texts_with_names: int = 0
    training_texts: int
    rows_without_text: int
    copies: int = 0
    """Rows left out because they repeat another text but for names, numbers and case."""
    countries: int
    countries_left_out: list[str] = field(default_factory=list)
    draws: int = 0
    held_out_names: int = 0
    """Different names that the models were tested with; no method used them."""
    held_out_words: int = 0
    """Descriptions that a language model was tested with, and not trained on."""
    originals: int | None = None
    """Names that the user marked in the original texts; null if the finder found the people."""
    originals_missed: int | None = None
    """Of these, those that the finder of a wrapper misses: it leaves them in the text."""


@dataclass(frozen=True, kw_only=True)
class MethodMeasures:
    """One classifier: how it treats names, how good it is and what it costs; changes are after minus before.

    The original one has no changes and no ratios, which are after divided by before.
    """

    method: str
    """ "original", or the method as the user writes it: "average:8"."""
    model: str
    folder: str | None = None
    """Where the model is saved, in the folder of the run; null if it is not."""
    allow: list[str] = field(default_factory=list)
    """Names that `--allow` has to repeat to load the model: functions, Hugging Face ids and spaCy pipelines."""
    spread: Interval
    """Standard deviation between the names of countries of Δ, in points, without the noise of texts."""
    noise: float | None
    """The noise floor: the standard deviation that equal countries would show, since each has other names."""
    exceeds_noise: bool
    """Whether it is clearly more than the noise floor; if not, it may come from single names."""
    largest_gap: Interval
    """Of the country farthest from the mean of countries, with bounds that hold for all countries at once."""
    flips: Interval
    """Per cent of renamed texts whose label is not the one that most versions of the text have."""
    accuracy: Interval | None
    """Per cent, on the original texts; null without true labels."""
    macro_f1: Interval | None
    recall: Interval | None = None
    """The share of all held-out names that the finder marks; null if the method needs no finder."""
    texts_per_text: float = 1.0
    """Texts that the model reads for one text of the user's."""
    helps: bool = False
    """Whether the spread clearly falls, also if standardised, and flips do not rise; if there was no spread, whether
    flips clearly fall."""
    spread_ratio: Interval = NO_INTERVAL
    standardised_ratio: Interval = NO_INTERVAL
    """Of spreads divided by the standard deviation over texts: shrinking all probabilities does not change it."""
    spread_change: Estimate = NO_ESTIMATE
    """In points; p-values are adjusted for all methods."""
    flips_change: Estimate = NO_ESTIMATE
    """In percentage points."""
    accuracy_change: Estimate | None = None
    """In percentage points."""
    macro_f1_change: Estimate | None = None

    @property
    def has_spread(self) -> bool:
        """Whether there is a spread to mitigate: clear over texts, and more than equal countries would show."""
        return bool(self.spread.low) and self.exceeds_noise

    @property
    def evidence(self) -> Evidence:
        """That it helps; a spread that falls only because all probabilities shrink is not clear."""
        evidence = grade_evidence(self.spread_change.p_adjusted)
        return "clear" if self.helps else _limit(evidence) if falls(self.spread_change) else evidence

    @property
    def loses_quality(self) -> bool:
        """Whether the method clearly costs accuracy, or probably more than a point."""
        change = self.accuracy_change
        return falls(change) or (change is not None and (change.value or 0) < -LARGEST_LOSS)


@dataclass(frozen=True, kw_only=True)
class CountryChange(Effect):
    """Δ of one country minus the mean of countries, before and after, in points. `model` is the method."""

    unit: ClassVar[str] = "points"

    change: Annotated[Estimate, Measured("mean of countries")]
    """After minus before, in pairs."""
    after: Annotated[Estimate, Measured("mean of countries")]
    before: Annotated[Estimate, Measured("mean of countries")]
    recall: Interval | None
    """The share of this country's names that the finder marks; null if the method needs no finder."""

    @property
    def estimate(self) -> Estimate:
        return self.change


@dataclass(frozen=True, kw_only=True)
class LanguageModelMeasures:
    """A language model on held-out words, regions and templates, and how good it is; the original has no changes."""

    method: str
    model: str
    folder: str | None = None
    score: Interval
    """Balanced HERB score of the held-out regions and words."""
    perplexity: float
    """(Pseudo-)perplexity of plain texts."""
    capitals: float
    """Per cent of capitals whose country the model ranks first."""
    helps: bool = False
    """Whether the score clearly falls, and words still differ."""
    score_change: Estimate = NO_ESTIMATE
    perplexity_change: Interval = NO_INTERVAL
    """Per cent, with its interval over texts."""
    capitals_change: Interval = NO_INTERVAL
    """Percentage points, with its interval over capitals."""
    word_variance_ratio: Interval = NO_INTERVAL
    """Variance over words of the log-likelihood, after divided by before: a model that says the same of everything has
    none."""

    @property
    def evidence(self) -> Evidence:
        """A score that falls because the model says the same of everything is not clear."""
        evidence = grade_evidence(self.score_change.p_adjusted)
        return evidence if self.helps or rises(self.score_change) else _limit(evidence)

    @property
    def keeps_words(self) -> bool:
        return (self.word_variance_ratio.value or 0) >= LEAST_WORD_VARIANCE

    @property
    def forgets(self) -> bool:
        """Whether it loses more than a method may cost."""
        capitals = self.capitals_change.value or 0
        return (self.perplexity_change.value or 0) > MOST_PERPLEXITY_RISE or capitals < -MOST_CAPITALS_LOST


@dataclass(frozen=True, kw_only=True, repr=False)
class MitigateResult(AuditResult):
    """A model before and after mitigation, for each method: returned by `mitigate`.

    Examples
    --------
    >>> result = geobias.mitigate("embedded/sentiment", out="runs/mitigate")  # doctest: +SKIP
    >>> result.mitigated[0].spread_ratio.value  # doctest: +SKIP
    """

    audit: Literal["mitigate"] = "mitigate"
    settings: MitigateSettings
    models: list[ModelIdentity]
    """The original model, then that of each method."""
    counts: MitigateCounts
    """Numbers of texts, countries and held-out names."""
    methods: list[MethodMeasures] = field(default_factory=list)
    """The original classifier, then that of each method; empty for a language model."""
    countries: list[CountryChange] = field(default_factory=list)
    """The countries of each method: the rows of `to_frame`."""
    language_models: list[LanguageModelMeasures] = field(default_factory=list)
    """The original language model, then that of each method; empty for a classifier."""
    recommended: str | None
    """The method to take; null if none helps."""
    notes: list[str] = field(default_factory=list)
    """What a reader must know about labels and models."""

    @property
    def is_of_language_model(self) -> bool:
        """Whether a language model was mitigated, and not a classifier."""
        return bool(self.language_models)

    @property
    def original(self) -> MethodMeasures:
        """The original classifier."""
        return self.methods[0]

    @property
    def mitigated(self) -> list[MethodMeasures]:
        """The classifiers of the methods."""
        return self.methods[1:]

    def list_countries(self, method: str) -> list[CountryChange]:
        """Return the countries of one method.

        Parameters
        ----------
        method : str
            The method as the settings have it, such as "average:8".

        Returns
        -------
        list of CountryChange
            A row for each country.
        """
        return [row for row in self.countries if row.model == method]

    def summarise(self) -> Iterator[str]:
        counts, model = self.counts, f"{self.models[0].short_name} with {', '.join(self.settings.methods)}"
        if self.is_of_language_model:
            yield f"{model}: {counts.countries} held-out countries x {counts.held_out_words} held-out words"
        else:
            yield (
                f"{model}: {counts.texts_with_names:,} texts x {counts.countries} countries x {counts.draws} held-out "
                "names"
            )
            yield f"Recommended: {self.recommended or 'no method'}."

    def list_tidy_rows(self) -> Iterator[dict[str, Any]]:
        """Δ minus the mean of countries: the change for each method and country, then after and before."""
        for row in list_tidy_rows(self.countries):
            yield row | {"measure": MEASURES[row["measure"]], "label": None}
        for each in self.language_models[1:]:
            place = {"model": each.method, "place": None, "code": None}
            yield tidy_row(place, "change of score", each.score_change, against="before")


def falls(change: Estimate | None) -> bool:
    return change is not None and is_marked(change) and (change.value or 0) < 0


def rises(change: Estimate | None) -> bool:
    return change is not None and is_marked(change) and (change.value or 0) > 0


def _limit(evidence: Evidence) -> Evidence:
    """At most suggestive."""
    return "suggestive" if evidence == "clear" else evidence
