"""What a mitigation measures: a model before and after, by method, with the change and its cost."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from geobias.audits.inputs import TextsSettings
from geobias.measures.estimates import Estimate
from geobias.models.scorer import ModelIdentity
from geobias.report.results import NOT_SAVED, AuditResult, Interval
from geobias.report.tidy import tidy_row


@dataclass(frozen=True)
class MitigateSettings:
    """Settings that identify a run."""

    model: str
    methods: list[str]
    texts: TextsSettings
    train: TextsSettings | None
    """The texts that methods were trained on; null if none was trained."""
    finder: str | None
    """Null for a language model."""
    mentions: str | None
    """A digest of the people in the texts."""
    countries: list[str]
    draws: int
    seed: int
    names: str | None
    """A digest of the held-out names; of a language model, of the held-out regions, words and templates."""
    positive: list[str] | str
    negative: list[str] | str
    epochs: int | None
    """Of training; null if no method was trained."""


@dataclass(frozen=True)
class MitigateCounts:
    """How much was scored."""

    texts: int
    texts_with_names: int
    training_texts: int
    rows_without_text: int
    countries: int
    draws: int
    held_out_names: int
    """Different names that the models were tested with; no method used them."""
    texts_unreadable: int | None
    """Texts in a language that the finder does not read; null if its language is unknown."""
    countries_left_out: list[str]
    held_out_words: int = 0
    """Descriptions that a language model was tested with, and not trained on."""
    originals: int | None = None
    """Names that the user marked in the original texts; null if the finder found the people."""
    originals_missed: int | None = None
    """Of these, those that the finder of a wrapper misses: it leaves them in the text."""
    copies: int = 0
    """Rows left out because they repeat another text but for names, numbers and case."""


@dataclass(frozen=True)
class CountrySpread:
    """Standard deviation between the names of countries of Δ, in points, without the noise of texts."""

    value: float | None
    low: float | None
    """Lower end of the 95 % interval."""
    high: float | None
    noise: float | None
    """The noise floor: the standard deviation that equal countries would show, since each has other names."""
    exceeds_noise: bool
    """Whether it is clearly more than the noise floor; if not, it may come from single names."""
    standardised: float | None
    """The spread divided by the standard deviation over texts: shrinking all probabilities does not change it."""


@dataclass(frozen=True)
class LargestGap:
    """The country farthest from the mean of countries, with bounds that hold for all countries at once."""

    value: float
    low: float | None
    high: float | None
    country: str


@dataclass(frozen=True)
class ModelMeasures:
    """One model: how it treats names, and how good it is."""

    spread: CountrySpread
    largest_gap: LargestGap | None
    flips: Interval
    """Per cent of renamed texts whose label is not the one that most versions of the text have."""
    accuracy: Interval | None
    """Per cent, on the original texts; null without true labels."""
    macro_f1: Interval | None


@dataclass(frozen=True)
class MethodChange:
    """After minus before, or after divided by before."""

    spread_ratio: Interval
    standardised_ratio: Interval
    spread: Estimate
    """In points; the p-value is adjusted for all methods."""
    flips: Estimate
    """In percentage points."""
    accuracy: Estimate | None
    """In percentage points."""
    macro_f1: Estimate | None


@dataclass(frozen=True)
class CountryComparison:
    """Δ of one country minus the mean of countries, before and after, in points."""

    country: str
    code: str
    before: Estimate
    after: Estimate
    change: Estimate
    recall: Interval | None
    """The share of this country's names that the finder marks; null if the method needs no finder."""


@dataclass(frozen=True)
class MethodComparison:
    """One method: the model that it gives, its measures, and the change."""

    method: str
    model: ModelIdentity
    folder: str | None
    """Where the model is saved, in the folder of the run; null if it is not."""
    allow: list[str] = field(default_factory=list, kw_only=True)
    """Names that `--allow` has to repeat to load the model: functions, Hugging Face ids and spaCy pipelines."""
    after: ModelMeasures
    change: MethodChange
    countries: list[CountryComparison]
    recall: Interval | None
    """The share of all held-out names that the finder marks; null if the method needs no finder."""
    texts_per_text: float
    """Texts that the model reads for one text of the user's."""
    helps: bool
    """Whether the spread clearly falls, also if standardised, and flips do not rise; if there was no spread, whether
    flips clearly fall."""
    time_ratio: Annotated[float | None, *NOT_SAVED] = field(default=None, repr=False, compare=False)
    """Time per text, divided by that of the original model in the same run."""


@dataclass(frozen=True)
class LanguageModelMeasures:
    """A language model on held-out words, regions and templates, and how good it is."""

    score: Interval
    """Balanced HERB score of the held-out regions and words."""
    perplexity: float
    """(Pseudo-)perplexity of plain texts."""
    capitals: float
    """Per cent of capitals whose country the model ranks first."""
    word_variance: float
    """Variance over words of the log-likelihood: a model that says the same of everything has none."""


@dataclass(frozen=True)
class LanguageModelComparison:
    """One method on a language model."""

    method: str
    model: ModelIdentity
    folder: str | None
    after: LanguageModelMeasures
    score_change: Estimate
    perplexity_change: Interval
    """Per cent, with its interval over texts."""
    capitals_change: Interval
    """Percentage points, with its interval over capitals."""
    word_variance_ratio: Interval
    """After divided by before, with its interval over words."""
    helps: bool


@dataclass(frozen=True, kw_only=True, repr=False)
class MitigateResult(AuditResult):
    """A model before and after mitigation, for each method.

    Attributes
    ----------
    schema_version : int
        Version of the format of results.json.
    audit : str
        Name of the audit.
    settings : object
        Everything that identifies the run.
    findings : list of Finding
        The conclusions: the answer for each method, then what it changes for whom, then cautions.
    nondeterministic_models : list of NondeterministicModel
        Models that gave other answers to the same texts when they were asked twice.
    versions : dict of str
        Versions of Python and of the packages that can change a number.
    work : dict of int
        How much was computed rather than read from the store. Not saved.
    folder : Path or None
        Where the run is saved.
    models : list of ModelIdentity
        The original model, then that of each method.
    counts : MitigateCounts
        Numbers of texts, countries and held-out names.
    before : ModelMeasures or None
        The original classifier; None for a language model.
    methods : list of MethodComparison
        For each method: `after`, `change`, `countries`, `recall` and the cost.
    language_model : LanguageModelMeasures or None
        The original language model; None for a classifier.
    language_models : list of LanguageModelComparison
        For each method on a language model.
    recommended : str or None
        The method to take; None if none helps.
    notes : list of str
        What a reader must know about texts, labels and models.

    Notes
    -----
    Returned by `mitigate`. Printing it shows the findings.

    Examples
    --------
    >>> result = geobias.mitigate("embedded/sentiment", out="runs/mitigate")  # doctest: +SKIP
    >>> result.methods[0].change.spread_ratio.value  # doctest: +SKIP
    """

    audit: Literal["mitigate"] = "mitigate"
    settings: MitigateSettings
    models: list[ModelIdentity]
    counts: MitigateCounts
    before: ModelMeasures | None
    methods: list[MethodComparison]
    language_model: LanguageModelMeasures | None = None
    language_models: list[LanguageModelComparison] = field(default_factory=list)
    recommended: str | None
    """The method to take; null if none helps."""
    notes: list[str] = field(default_factory=list)

    @property
    def model_identities(self) -> list[ModelIdentity]:
        return self.models

    def summarise(self) -> Iterator[str]:
        counts, names = self.counts, ", ".join(self.settings.methods)
        if self.language_model is not None:
            yield (
                f"{self.models[0].short_name} with {names}: {counts.countries} held-out countries x "
                f"{counts.held_out_words} held-out words"
            )
            return
        yield (
            f"{self.models[0].short_name} with {names}: {counts.texts_with_names:,} texts x {counts.countries} "
            f"countries x {counts.draws} held-out names"
        )
        yield f"Recommended: {self.recommended or 'no method'}."

    def list_tidy_rows(self) -> Iterator[dict[str, Any]]:
        """Δ minus the mean of countries: the change for each method and country, then before and after."""
        for name in ("change", "after", "before"):
            for entry in self.methods:
                for country in entry.countries:
                    place = {"model": entry.method, "country": country.country, "code": country.code}
                    number: Estimate = getattr(country, name)
                    measure = {"change": "change of delta", "after": "delta after", "before": "delta before"}[name]
                    yield tidy_row(place, measure, number, against="mean of countries")
        for comparison in self.language_models:
            row_place: dict[str, Any] = {"model": comparison.method, "country": None, "code": None}
            yield tidy_row(row_place, "change of score", comparison.score_change, against="before")

    def rows(self) -> list[dict[str, Any]]:
        """A row for the original model and for each method: tables/methods.csv."""
        return [*self._classifier_rows(), *self._language_rows()]

    def _language_rows(self) -> Iterator[dict[str, Any]]:
        if self.language_model is None:
            return
        yield {"method": "original", **_flatten_language_model(self.language_model)}
        for entry in self.language_models:
            change = entry.score_change
            yield {
                "method": entry.method,
                **_flatten_language_model(entry.after),
                "score_change": change.value,
                "score_change_low": change.low,
                "score_change_high": change.high,
                "perplexity_change": entry.perplexity_change.value,
                "capitals_change": entry.capitals_change.value,
                "word_variance_ratio": entry.word_variance_ratio.value,
                "helps": entry.helps,
            }

    def _classifier_rows(self) -> Iterator[dict[str, Any]]:
        if self.before is None:
            return
        yield {"method": "original", **_flatten(self.before), "texts_per_text": 1.0}
        for entry in self.methods:
            changes = {
                "spread_ratio": entry.change.spread_ratio,
                "standardised_ratio": entry.change.standardised_ratio,
                "flips_change": entry.change.flips,
                "accuracy_change": entry.change.accuracy,
                "macro_f1_change": entry.change.macro_f1,
            }
            yield {
                "method": entry.method,
                **_flatten(entry.after),
                "texts_per_text": entry.texts_per_text,
                "time_ratio": entry.time_ratio,
                **{
                    f"{name}{end}": None if number is None else getattr(number, field)
                    for name, number in changes.items()
                    for end, field in (("", "value"), ("_low", "low"), ("_high", "high"))
                },
                "recall": entry.recall and entry.recall.value,
                "helps": entry.helps,
            }


def _flatten_language_model(measures: LanguageModelMeasures) -> dict[str, Any]:
    score, names = measures.score, ("perplexity", "capitals", "word_variance")
    numbers = {"score": score.value, "score_low": score.low, "score_high": score.high}
    return numbers | {name: getattr(measures, name) for name in names}


def _flatten(measures: ModelMeasures) -> dict[str, Any]:
    numbers = {
        "spread": measures.spread,
        "flips": measures.flips,
        "accuracy": measures.accuracy,
        "macro_f1": measures.macro_f1,
    }
    row = {
        f"{name}{end}": None if number is None else getattr(number, bound)
        for name, number in numbers.items()
        for end, bound in (("", "value"), ("_low", "low"), ("_high", "high"))
    }
    return row | {"noise": measures.spread.noise, "standardised": measures.spread.standardised}
