"""What a downstream audit measures: for every classifier, prefix and class, how far the prefix moves it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field

from geobias.audits.inputs import TextsSettings
from geobias.measures.estimates import Estimate
from geobias.models.scorer import ModelIdentity
from geobias.report.results import NOT_SAVED, AuditResult
from geobias.texts.user_texts import Texts


@dataclass(frozen=True)
class DownstreamSettings:
    """What makes two runs the same."""

    texts: TextsSettings
    prefix: str
    control: str
    regions: str
    cities: int | str
    continents: list[str] | str
    countries: list[str] | str
    regions_digest: str
    positive: str
    threshold: float | None
    classifiers: list[str]
    prompt: dict[str, Any] | None = None


@dataclass(frozen=True)
class DownstreamCounts:
    """How much was asked, and what was left out."""

    texts: int
    rows_without_text: int
    regions: int
    countries_without_city: list[str]


@dataclass(frozen=True)
class Place:
    """A region that texts are said to come from."""

    id: str
    name: str  # as the prefix names it
    country: str  # code


@dataclass(frozen=True)
class ShiftInference:
    """The same differences with intervals over texts; p-values are adjusted over all places and classes."""

    mean_difference: Estimate
    against_control: Estimate


@dataclass(frozen=True)
class ClassShift:
    """What one prefix does to the probability of one class."""

    rose: int
    """Texts whose probability rises."""
    mean_rise: float | None
    fell: int
    mean_fall: float | None
    mean_difference: float
    """Mean over all texts of the probability with the prefix minus that without."""
    against_control: float | None
    """The same minus that of the control, which names no region; null for the control itself."""
    share_before: float
    share_after: float
    share_change: float
    gained: int
    """Texts that are predicted as the class with the prefix only."""
    lost: int
    inference: ShiftInference


@dataclass(frozen=True)
class Flips:
    """How many texts go from one predicted class to another."""

    source: Annotated[str | None, Field(alias="from")]
    target: Annotated[str | None, Field(alias="to")]
    texts: int


@dataclass(frozen=True)
class PlaceShift:
    """One prefix: what it does to every class. The control has neither id nor country."""

    id: str | None
    name: str
    country: str | None
    classes: dict[str, ClassShift]
    flips: list[Flips]


@dataclass(frozen=True)
class Performance:
    accuracy: float | None
    macro_f1: float | None


@dataclass(frozen=True)
class PerformanceByPrefix:
    """How good the classifier is on the texts as they are, with the control, and with all regions together."""

    original: Performance
    control: Performance
    regions: Performance


@dataclass(frozen=True)
class FarthestPlace:
    """The region farthest from the control, with bounds that hold for all regions at once."""

    value: float
    low: float | None
    high: float | None
    region: str


@dataclass(frozen=True)
class ClassifierCounts:
    texts_cut: int
    prefixed_texts: int
    distinct_prefixed_texts: int
    prefixed_texts_cut: int


@dataclass(frozen=True)
class ClassifierShifts:
    """One classifier."""

    model: ModelIdentity
    labels: list[str]
    multi_label: bool
    threshold: float | None
    shown: str
    """The class that the terminal and the map show."""
    counts: ClassifierCounts
    notes: list[str]
    worst: dict[str, FarthestPlace]
    control: PlaceShift
    regions: list[PlaceShift]
    performance: PerformanceByPrefix | None = None

    @property
    def shown_control(self) -> ClassShift:
        return self.control.classes[self.shown]


@dataclass(frozen=True)
class Predictions:
    """The probabilities of one classifier for every text, without a prefix and with each."""

    model: ModelIdentity
    labels: tuple[str, ...]
    multi_label: bool
    shown: int  # position of the class that the terminal and the map show
    threshold: float | None
    original: np.ndarray = field(repr=False)  # texts x labels
    prefixed: np.ndarray = field(repr=False)  # texts x (control, then regions) x labels
    truth: np.ndarray | None = field(repr=False)  # texts x labels
    counts: ClassifierCounts
    work: dict[str, int]
    notes: tuple[str, ...] = ()  # how labels were read where the user did not say


@dataclass(frozen=True, kw_only=True)
class DownstreamResult(AuditResult):
    """How classifiers judge the same texts, said to come from region after region."""

    audit: Literal["downstream"] = "downstream"
    settings: DownstreamSettings
    models: list[ModelIdentity]
    counts: DownstreamCounts
    classifiers: list[ClassifierShifts]
    texts: Annotated[Texts | None, *NOT_SAVED] = field(default=None, repr=False, compare=False)
    places: Annotated[tuple[Place, ...], *NOT_SAVED] = field(default=(), repr=False, compare=False)
    predictions: Annotated[tuple[Predictions, ...], *NOT_SAVED] = field(default=(), repr=False, compare=False)

    @property
    def model_identities(self) -> list[ModelIdentity]:
        return self.models

    @property
    def is_mapped(self) -> bool:
        """Whether the regions are countries, which a world map can show."""
        return self.settings.regions == "countries"

    def rows(self) -> list[dict[str, Any]]:
        """A row for each classifier, region and class: `frame`, tables/regions.csv. The control has no region id."""
        return list(self._rows())

    def _rows(self) -> Iterator[dict[str, Any]]:
        for entry in self.classifiers:
            for place in (entry.control, *entry.regions):
                about = {"classifier": entry.model.name, "region": place.id, "name": place.name}
                about["country"] = place.country
                for label, shift in place.classes.items():
                    row = {**about, "label": label, **vars(shift)}
                    del row["inference"]
                    for name, estimate in vars(shift.inference).items():
                        row |= {f"{name}_{key}": value for key, value in asdict(estimate).items() if key != "value"}
                    yield row
