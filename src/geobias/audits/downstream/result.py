"""What a downstream audit measures: for every classifier, prefix and class, how far the prefix moves it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

import numpy as np

from geobias.audits.downstream.records import ClassShift, FarthestPlace, Flips, NameEffects, WordingEffect
from geobias.audits.inputs import TextsSettings, describe_copies
from geobias.measures.estimates import FEWEST_TEXTS_SHOWN, NO_ESTIMATE
from geobias.models.scorer import ModelIdentity
from geobias.report.results import NOT_SAVED, AuditResult
from geobias.report.tables import listed
from geobias.report.tidy import tidy_row
from geobias.texts.user_texts import Texts

TIDY_MEASURES = (
    ("against_control", "control"),
    ("against_invented", "invented places"),
    ("against_mean", "mean of places"),
    ("mean_difference", "originals"),
)


@dataclass(frozen=True)
class DownstreamSettings:
    """Settings that identify a run."""

    texts: TextsSettings
    prefix: str
    """Put before every text, with the name of each region."""
    control: str
    """A prefix that names no region."""
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
    threshold: float | None
    """A class is predicted from this probability on; null for the likeliest one."""
    classifiers: list[str]
    prompt: dict[str, Any] | None = None
    """Prompt for language models."""
    prefixes: list[str] = field(default_factory=list)
    """All wordings of the prefix; each text meets each region with one of them."""
    controls: list[str] = field(default_factory=list)
    """The control of each wording."""
    invented: list[str] = field(default_factory=list)
    """Invented places, put before every text as regions are."""


@dataclass(frozen=True)
class DownstreamCounts:
    """Numbers of texts scored and left out."""

    texts: int
    rows_without_text: int
    """Left out."""
    regions: int
    countries_without_city: list[str]
    dissolved_countries: list[str] = field(default_factory=list)
    """Left out: they no longer exist, and the user did not name them."""
    copies: int = 0
    """Rows left out because they repeat another text but for names, numbers and case."""


@dataclass(frozen=True)
class Place:
    """A region that texts are said to come from."""

    id: str
    name: str
    country: str  # code
    in_sentence: str  # as the prefix names it


@dataclass(frozen=True)
class PlaceShift:
    """One prefix: what it does to every class. The control has neither id nor country."""

    id: str | None
    name: str
    country: str | None
    """Its code."""
    classes: dict[str, ClassShift]
    """By label."""
    flips: list[Flips]
    in_sentence: str | None = None
    """The name as the prefix has it, with its article."""


@dataclass(frozen=True)
class Performance:
    accuracy: float | None
    macro_f1: float | None


@dataclass(frozen=True)
class PerformanceByPrefix:
    """Performance on the original texts, with the control prefix, and with all regions together."""

    original: Performance
    control: Performance
    regions: Performance


@dataclass(frozen=True)
class ClassifierCounts:
    texts_cut: int
    """Texts truncated to the model's maximum length."""
    prefixed_texts: int
    distinct_prefixed_texts: int
    """Each is scored once."""
    prefixed_texts_cut: int


@dataclass(frozen=True)
class ClassifierShifts:
    """One classifier."""

    model: ModelIdentity
    labels: list[str]
    multi_label: bool
    """Whether a text may have several labels, or none."""
    threshold: float | None
    """A class is predicted from this probability on; null for the likeliest one."""
    shown: str
    """The class that the terminal and the map show."""
    counts: ClassifierCounts
    notes: list[str]
    """How labels were read where the user did not say."""
    worst: dict[str, FarthestPlace]
    """By label."""
    control: PlaceShift
    regions: list[PlaceShift]
    performance: PerformanceByPrefix | None = None
    """Null without true labels."""
    name_effects: dict[str, NameEffects] | None = None
    """By label; null without invented places."""
    worst_beyond_names: dict[str, FarthestPlace] | None = None
    """The region farthest from invented places with such names, by label; its bounds hold for all regions at once, and
    contain texts and wordings. Null without invented places."""
    wording_effects: list[WordingEffect] = field(default_factory=list)
    """Regions that differ after one wording of the prefix (adjusted p < 0.05), the largest first."""

    @property
    def shown_control(self) -> ClassShift:
        return self.control.classes[self.shown]

    @property
    def shown_shifts(self) -> list[ClassShift]:
        """The shown class in each region."""
        return [place.classes[self.shown] for place in self.regions]

    @property
    def farthest_region(self) -> PlaceShift:
        """The region farthest from invented places, or from the control, by the shown class."""
        worst = self.worst_beyond_names or self.worst
        return next(place for place in self.regions if place.id == worst[self.shown].region)


@dataclass(frozen=True)
class Predictions:
    """The probabilities of one classifier for every text, without a prefix and with each."""

    model: ModelIdentity
    labels: tuple[str, ...]
    multi_label: bool
    shown: int  # position of the class that the terminal and the map show
    threshold: float | None
    original: np.ndarray = field(repr=False)  # texts x labels
    prefixed: np.ndarray = field(repr=False)  # texts x (the mean control, then regions) x labels
    truth: np.ndarray | None = field(repr=False)  # texts x labels
    counts: ClassifierCounts
    work: dict[str, int]
    notes: tuple[str, ...] = ()  # how labels were read where the user did not say
    controls: np.ndarray | None = field(default=None, repr=False)  # texts x wordings x labels; None: one wording
    invented: np.ndarray | None = field(default=None, repr=False)  # texts x invented places x labels
    name_tokens: np.ndarray | None = field(default=None, repr=False)  # of the regions and invented places


@dataclass(frozen=True, kw_only=True, repr=False)
class DownstreamResult(AuditResult):
    """How naming a region before a text changes predictions.

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
    counts : DownstreamCounts
        Numbers of texts and regions, and what was left out.
    classifiers : list of ClassifierShifts
        For each classifier: `regions` and `control`, with the change of the probability of each class; `worst`,
        `shown`, `performance`.
    texts : Texts or None
        The texts. Not saved.
    places : tuple of Place
        The regions. Not saved.
    predictions : tuple of Predictions
        Probabilities of every classifier for every text. Not saved.
    rotation : array or None
        Texts by regions and invented places: which wording of the prefix a text has. Not saved.
    is_mapped : bool
        Whether the regions are countries, which a world map can show.
    place_noun : str
        "countries" or "cities".
    wordings : int
        Number of wordings of the prefix.
    caps : list of str
        Why no finding can be clear, whatever the models do: there is a single wording.
    has_enough_texts : bool
        Whether there are at least five texts: numbers of fewer are not shown.

    Notes
    -----
    Returned by `audit_downstream`. Printing it shows the findings.

    Examples
    --------
    >>> result = geobias.audit_downstream("embedded/hate", out="runs/downstream")  # doctest: +SKIP
    >>> result.plot()  # doctest: +SKIP
    """

    audit: Literal["downstream"] = "downstream"
    settings: DownstreamSettings
    models: list[ModelIdentity]
    counts: DownstreamCounts
    classifiers: list[ClassifierShifts]
    texts: Annotated[Texts | None, *NOT_SAVED] = field(default=None, repr=False, compare=False)
    places: Annotated[tuple[Place, ...], *NOT_SAVED] = field(default=(), repr=False, compare=False)
    predictions: Annotated[tuple[Predictions, ...], *NOT_SAVED] = field(default=(), repr=False, compare=False)
    rotation: Annotated[np.ndarray | None, *NOT_SAVED] = field(default=None, repr=False, compare=False)

    @property
    def model_identities(self) -> list[ModelIdentity]:
        return self.models

    @property
    def is_mapped(self) -> bool:
        """Whether the regions are countries, which a world map can show."""
        return self.settings.regions == "countries"

    @property
    def place_noun(self) -> str:
        return "countries" if self.is_mapped else "cities"

    @property
    def wordings(self) -> int:
        """How many prefixes with controls of their own there are; one says nothing of others."""
        return min(len(set(self.settings.prefixes)), len(set(self.settings.controls))) or 1

    @property
    def caps(self) -> list[str]:
        if not self.settings.prefixes or self.wordings > 1:  # runs of earlier versions name no prefixes
            return []
        return ["one wording of the prefix: findings are at most suggestive. Repeat --prefix and --control."]

    @property
    def has_enough_texts(self) -> bool:
        return self.counts.texts >= FEWEST_TEXTS_SHOWN

    def summarise(self) -> Iterator[str]:
        counts, names = self.counts, [entry.model.short_name for entry in self.classifiers]
        yield (
            f"{listed(names)} on {counts.texts:,} texts{describe_copies(counts.texts, counts.copies)} after "
            f"“{self.settings.prefix}” with {counts.regions:,} {self.place_noun}"
        )

    def list_tidy_rows(self) -> Iterator[dict[str, Any]]:
        """The shown class of each classifier first. The control is a region without a code."""
        for measure, against in TIDY_MEASURES:
            for entry in self.classifiers:
                places = [entry.control, *entry.regions] if measure == "mean_difference" else entry.regions
                for label in sorted(entry.labels, key=lambda label: label != entry.shown):
                    for place in places:
                        about = {"model": entry.model.name, "region": place.name, "code": place.id}
                        about["country"] = place.country
                        estimate = getattr(place.classes[label].inference, measure)
                        if estimate is not None:
                            shown = estimate if self.has_enough_texts else NO_ESTIMATE
                            yield tidy_row(about, measure, shown, label=label, against=against)

    def rows(self) -> list[dict[str, Any]]:
        """A row for each classifier, region and class: tables/regions.csv. The control has no region id."""
        rows = []
        for entry in self.classifiers:
            for place in (entry.control, *entry.regions):
                about = {"classifier": entry.model.name, "region": place.id, "name": place.name}
                about["country"] = place.country
                for label, shift in place.classes.items():
                    row = {**about, "label": label, **vars(shift)}
                    del row["inference"]
                    mean = shift.inference.against_mean
                    row["against_mean"] = mean.value if mean else None
                    for name, estimate in vars(shift.inference).items():
                        numbers = vars(estimate or NO_ESTIMATE)
                        row |= {f"{name}_{key}": value for key, value in numbers.items() if key != "value"}
                    rows.append(row)
        return rows
