"""What a downstream audit measures, as flat tables: how far each prefix moves each class of each classifier."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, ClassVar, Literal

from geobias.audits.downstream.answers import Place, Predictions
from geobias.audits.inputs import ClassifierSettings, TextCounts, describe_copies
from geobias.audits.labels import AuditedClassifier
from geobias.measures.estimates import FEWEST_TEXTS_SHOWN, NO_ESTIMATE, SIGNIFICANT, Estimate
from geobias.models.scorer import ModelIdentity
from geobias.report.results import NOT_SAVED, AuditResult
from geobias.report.rows import Effect, Farthest, Measured, list_tidy_rows
from geobias.report.tables import is_marked, listed
from geobias.texts.user_texts import Texts


@dataclass(frozen=True, kw_only=True)
class DownstreamSettings(ClassifierSettings):
    """Settings that identify a run."""

    prefixes: list[str]
    """All wordings of the prefix; each text meets each place with one of them."""
    controls: list[str]
    """The control of each wording, which names no place."""
    invented: list[str]
    """Invented places, put before every text as places are."""
    regions: str
    """countries, cities or city-country."""
    cities: int | str
    """Largest cities of each country, or "all"; 0 for countries."""
    continents: list[str] | str
    """Codes, or "all"."""
    countries: list[str] | str
    """Codes, or "all"."""
    regions_digest: str
    """Tells other lists of regions apart."""
    positive: str
    """The class to show, or "by name"."""


@dataclass(frozen=True, kw_only=True)
class DownstreamCounts(TextCounts):
    """Numbers of texts scored and left out."""

    places: int
    countries_without_city: list[str]
    dissolved_countries: list[str] = field(default_factory=list)
    """Left out: they no longer exist, and the user did not name them."""


@dataclass(frozen=True, kw_only=True)
class ClassifierReading(AuditedClassifier):
    """A classifier, and how its answers were read."""

    shown: str
    """The class that findings, the terminal and the map show."""
    tone: int
    """1 where that class is better for the person, -1 where it is worse, 0 where the labels do not say."""
    detectable_difference: float | None
    """The smallest difference of one place in that class that stands out with a power of 80 %."""
    prefixed_texts: int
    distinct_prefixed_texts: int
    """Each is scored once."""
    prefixed_texts_cut: int


@dataclass(frozen=True, kw_only=True)
class PrefixEffect(Effect):
    """What one prefix does to the probability of one class. The control has neither code nor country.

    `p_adjusted` is the largest of the tests against invented places and against the mean of places, names held fixed or
    not: 1 if they point in opposite directions, and at least 0.05 where another reason is as good (`measure.py`).
    """

    unit: ClassVar[str] = "probability"
    keys: ClassVar[tuple[str, ...]] = ("model", "place", "code", "country")

    country: str | None
    """Its code."""
    in_sentence: str | None
    """The name as the prefix has it, with its article."""
    against_control: Annotated[Estimate | None, Measured("control")]
    """Probability after the prefix minus that after the control; p-values are adjusted over places and classes."""
    against_invented: Annotated[Estimate | None, Measured("invented places")]
    """Minus that after invented places whose names have as many characters, words and tokens; null for one text."""
    against_mean: Annotated[Estimate | None, Measured("mean of places")]
    """Minus the mean of all places, which does not depend on the control; null for a single place."""
    mean_difference: Annotated[Estimate, Measured("originals")]
    """Probability with the prefix minus that without."""
    names_held_fixed: Estimate | None
    """Minus the mean of places, with the characters, words and tokens of names held fixed."""
    p_all_tests: float | None
    """`p_adjusted` where nothing else is a reason as good."""
    shared_word: str | None
    """A word of its name that may be the reason: places that share it differ alike."""
    mean_before: float
    """Mean probability without a prefix."""
    mean_after: float
    gained: int
    """Texts that are predicted as the class with the prefix only."""
    lost: int
    """Texts that are predicted as the class without the prefix only."""

    @property
    def estimate(self) -> Estimate:
        return replace(self.against_invented or self.against_control or NO_ESTIMATE, p_adjusted=self.p_adjusted)

    @property
    def title(self) -> str:
        """Cities of one name are told apart by their countries."""
        return self.place if self.code == self.country else f"{self.place} ({self.country})"

    @property
    def is_doubted(self) -> bool:
        """Whether it would stand out, but for another reason that is as good."""
        return self.p_all_tests is not None and self.p_all_tests < SIGNIFICANT and not self.stands_out

    @property
    def differs_by_name(self) -> bool:
        """Whether it differs from the mean of places, and not beyond what its name does."""
        differs = self.against_mean is not None and is_marked(self.against_mean)
        return differs and not (self.stands_out or self.is_doubted)

    @property
    def changes(self) -> int:
        """Predictions that change."""
        return self.gained + self.lost


@dataclass(frozen=True)
class WordingEffect:
    """A place that differs after one wording of the prefix, whose name does not explain it."""

    model: str
    place: str
    code: str
    label: str
    wording: int
    """From 1."""
    texts: int
    """That have this wording with this place."""
    estimate: Estimate
    """Minus what invented places with such names do after the same wording; p-values are adjusted over all places,
    wordings and classes."""
    others: float
    """The same difference after the other wordings, their mean."""
    also: list[int]
    """The other wordings after which it differs in the same direction, from 1."""


@dataclass(frozen=True)
class NameTrait:
    """What one trait of names does to the probability of a class, by invented and real places together."""

    model: str
    label: str
    trait: str
    """characters, words, several words or tokens."""
    slope: Estimate
    """For each one more; p-values are adjusted over traits."""
    explained: float
    """Share of the variance between invented places that all traits explain."""
    spread: float
    """Standard deviation between invented places whose names are equally long: what spelling does."""


@dataclass(frozen=True)
class Performance:
    """How good a classifier is on the original texts, after the control, and after all places together."""

    model: str
    prefix: str
    """original, control or places."""
    accuracy: float | None
    macro_f1: float | None


@dataclass(frozen=True, kw_only=True, repr=False)
class DownstreamResult(AuditResult):
    """How naming a place before a text changes predictions: returned by `audit_downstream`.

    Examples
    --------
    >>> result = geobias.audit_downstream("embedded/hate", out="runs/downstream")  # doctest: +SKIP
    >>> result.plot()  # doctest: +SKIP
    """

    audit: Literal["downstream"] = "downstream"
    settings: DownstreamSettings
    models: list[ModelIdentity]
    """The classifiers."""
    counts: DownstreamCounts
    """Numbers of texts and places, and what was left out."""
    classifiers: list[ClassifierReading]
    """How their answers were read."""
    effects: list[PrefixEffect]
    """What each prefix does to each class of each classifier: the rows of `to_frame`."""
    wording_effects: list[WordingEffect]
    """Places that differ after one wording of the prefix (adjusted p < 0.05), the largest first."""
    name_traits: list[NameTrait]
    """What names do."""
    farthest: list[Farthest]
    """Of each classifier and class."""
    performance: list[Performance] = field(default_factory=list)
    """Empty without true labels."""
    texts: Annotated[Texts | None, *NOT_SAVED] = field(default=None, repr=False, compare=False)
    """What was classified. Not saved."""
    predictions: Annotated[tuple[Predictions, ...], *NOT_SAVED] = field(default=(), repr=False, compare=False)
    """The probabilities of each classifier. Not saved."""
    places: Annotated[tuple[Place, ...], *NOT_SAVED] = field(default=(), repr=False, compare=False)
    """In the order of the predictions. Not saved."""

    @property
    def model_identities(self) -> list[ModelIdentity]:
        return self.models

    @property
    def is_mapped(self) -> bool:
        """Whether the places are countries, which a world map can show."""
        return self.settings.regions == "countries"

    @property
    def wordings(self) -> int:
        """How many prefixes with controls of their own there are; one says nothing of others."""
        return min(len(set(self.settings.prefixes)), len(set(self.settings.controls)))

    @property
    def caps(self) -> list[str]:
        """Why no finding can be clear, whatever the models do: there is a single wording."""
        if self.wordings > 1:
            return []
        return ["one wording of the prefix: findings are at most suggestive. Repeat --prefix and --control."]

    @property
    def has_enough_texts(self) -> bool:
        """Whether there are at least five texts: numbers of fewer are not shown."""
        return self.counts.texts >= FEWEST_TEXTS_SHOWN

    def list_effects(self, model: str, label: str) -> list[PrefixEffect]:
        """Those of all places, in the order of answers.parquet."""
        return [row for row in self.effects if row.code and (row.model, row.label) == (model, label)]

    def find_control(self, model: str, label: str) -> PrefixEffect:
        """What the controls do; several count as one by their mean."""
        return next(row for row in self.effects if (row.model, row.label, row.code) == (model, label, None))

    def summarise(self) -> Iterator[str]:
        counts, names = self.counts, [model.short_name for model in self.models]
        yield (
            f"{listed(names)} on {counts.texts:,} texts{describe_copies(counts.texts, counts.copies)} after "
            f"“{self.settings.prefixes[0]}” with {counts.places:,} {'countries' if self.is_mapped else 'cities'}"
        )

    def list_tidy_rows(self) -> Iterator[dict[str, Any]]:
        """The shown class of each classifier first. The control is a place without a code."""
        order = [
            (entry.model, label)
            for entry in self.classifiers
            for label in sorted(entry.labels, key=lambda label: label != entry.shown)
        ]
        rows = sorted(self.effects, key=lambda row: order.index((row.model, row.label)))
        return list_tidy_rows(rows, too_few=not self.has_enough_texts)
