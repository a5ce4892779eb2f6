"""What a finetune audit measures: how many labels of every fine-tuned classifier flip with a country's name."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import Annotated, Any, Literal

from geobias.audits.downstream.result import DownstreamResult, PerformanceByPrefix
from geobias.audits.inputs import TextsSettings
from geobias.audits.regions.result import RegionsResult, Score, ScoreEstimates
from geobias.models.scorer import ModelIdentity
from geobias.models.training.hyperparameters import Hyperparameters
from geobias.report.results import NOT_SAVED, AuditResult, Interval

ALL, ANY = "all", "any"  # all countries; a flip in any direction

Flips = dict[str, Interval]
"""Per cent of texts x prefixes whose label flips: "any", and each direction as "kind to rude"."""


@dataclass(frozen=True)
class FinetuneSettings:
    """What makes two runs the same."""

    texts: TextsSettings
    test: TextsSettings
    labels: list[str]
    training: Hyperparameters
    prefix: str
    continents: list[str] | str
    countries: list[str] | str
    regions_digest: str
    without: list[str]
    """Codes of countries that are left out, one at a time."""
    models: list[str]


@dataclass(frozen=True)
class FinetuneCounts:
    training_texts: int
    validation_texts: int
    test_texts: int
    regions: int
    rows_without_text: int
    test_texts_of_training: int
    """Test texts that are training texts too; they were left out."""


@dataclass(frozen=True)
class HerbScore:
    """C_w of the language model itself, for the highest region that has one."""

    region: str
    c_w: Score
    inference: ScoreEstimates


@dataclass(frozen=True)
class TrainingEpoch:
    """The training loss of one epoch, and how good the classifier then is on the validation texts."""

    loss: float
    accuracy: float
    macro_f1: float
    epoch: int


@dataclass(frozen=True)
class FinetunedModel:
    """One model: its training, and how many labels of its classifier flip."""

    model: ModelIdentity
    herb: HerbScore | None
    without_score: str | None
    """Why the language model has no HERB score; null if it has one."""
    performance: PerformanceByPrefix
    epochs: list[TrainingEpoch]
    best_epoch: int
    """The epoch that was kept, from 1."""
    flips: dict[str, Flips]
    """By set of countries: "all", and "without IE" for each country that was left out."""
    control: Flips
    """The same for the prefix that names no country."""


@dataclass(frozen=True)
class Correlation:
    """Spearman's rank correlation; null where all values of one side are equal."""

    value: float | None
    p: float | None


@dataclass(frozen=True)
class RankCorrelation:
    """Rank correlation, over the models, of C_w with the labels that flip."""

    models: int
    balanced: Correlation
    paper: Correlation


@dataclass(frozen=True)
class TrainedModel:
    """What one model's training and its two audits gave."""

    model: ModelIdentity
    epochs: list[TrainingEpoch]
    best_epoch: int  # from 1
    downstream: DownstreamResult = field(repr=False)
    regions: RegionsResult | None = field(repr=False)
    without_score: str | None


@dataclass(frozen=True, kw_only=True)
class FinetuneResult(AuditResult):
    """HERB's Table 5: the labels that flip, for every fine-tuned model, beside its HERB score."""

    audit: Literal["finetune"] = "finetune"
    settings: FinetuneSettings
    models: list[ModelIdentity]
    counts: FinetuneCounts
    labels: list[str]
    fine_tuned: list[FinetunedModel]
    rank_correlation: RankCorrelation | None
    """Null with fewer than three models that have a HERB score."""
    trained: Annotated[tuple[TrainedModel, ...], *NOT_SAVED] = field(default=(), repr=False, compare=False)

    @property
    def model_identities(self) -> list[ModelIdentity]:
        return self.models

    def rows(self) -> list[dict[str, Any]]:
        """A row for each model, set of countries and direction: `frame`, tables/flips.csv."""
        return list(self._rows())

    def _rows(self) -> Iterator[dict[str, Any]]:
        for entry in self.fine_tuned:
            for regions, flips in {**entry.flips, "control": entry.control}.items():
                for direction, interval in flips.items():
                    about = {"model": entry.model.name, "regions": regions, "direction": direction}
                    yield about | asdict(interval)
