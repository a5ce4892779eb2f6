"""What a finetune audit measures: how many labels of every fine-tuned classifier flip with a country's name."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from geobias.audits.downstream.result import PerformanceByPrefix
from geobias.audits.inputs import TextsSettings
from geobias.audits.regions.records import Score, ScoreEstimates
from geobias.measures.estimates import Estimate
from geobias.models.scorer import ModelIdentity
from geobias.models.training.hyperparameters import Hyperparameters
from geobias.report.results import AuditResult, Interval
from geobias.report.tables import listed
from geobias.report.tidy import tidy_row

ALL, ANY = "all", "any"  # all countries; a flip in any direction

Flips = dict[str, Interval]
"""Per cent of texts x prefixes whose label flips: "any", and each direction as "kind to rude"."""


@dataclass(frozen=True)
class FinetuneSettings:
    """Settings that identify a run."""

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
    dissolved_countries: list[str] = field(default_factory=list)
    """Left out: they no longer exist, and the user did not name them."""


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
    against_control: Estimate | None = None
    """All flips of countries minus those of the control, in percentage points; null in runs of older versions."""


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


@dataclass(frozen=True, kw_only=True, repr=False)
class FinetuneResult(AuditResult):
    """HERB's Table 5: the labels that flip, for every fine-tuned model, with its HERB score.

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
        The models.
    counts : FinetuneCounts
        Numbers of texts and countries.
    labels : list of str
        The labels of the texts.
    fine_tuned : list of FinetunedModel
        For each model: `flips` (per cent of texts x countries), `control`, `herb`, `performance` and `epochs`.
    rank_correlation : RankCorrelation or None
        Correlation of C_w with flips over the models; None with fewer than three models.

    Notes
    -----
    Returned by `audit_finetune`. Printing it shows the findings.

    Examples
    --------
    >>> result = geobias.audit_finetune("gpt2", "reviews.csv", label="stars", out="runs/ft")  # doctest: +SKIP
    >>> result.fine_tuned[0].flips["all"]["any"]  # doctest: +SKIP
    """

    audit: Literal["finetune"] = "finetune"
    settings: FinetuneSettings
    models: list[ModelIdentity]
    counts: FinetuneCounts
    labels: list[str]
    fine_tuned: list[FinetunedModel]
    rank_correlation: RankCorrelation | None
    """Null with fewer than three models that have a HERB score."""

    @property
    def model_identities(self) -> list[ModelIdentity]:
        return self.models

    def summarise(self) -> Iterator[str]:
        counts, names = self.counts, [entry.model.short_name for entry in self.fine_tuned]
        yield (
            f"{listed(names)} fine-tuned on {counts.training_texts:,} texts, tested on {counts.test_texts:,} texts x "
            f"{counts.regions:,} countries"
        )

    def list_tidy_rows(self) -> Iterator[dict[str, Any]]:
        """Labels that flip, in per cent; `label` is the direction, and `countries` the set that was used."""
        for entry in self.fine_tuned:
            for countries, flips in {**entry.flips, "control": entry.control}.items():
                for direction, number in flips.items():
                    place = {"model": entry.model.name, "countries": countries}
                    yield tidy_row(place, "flips", number, label=direction, against="originals")

    def rows(self) -> list[dict[str, Any]]:
        """A row for each model, set of countries and direction: tables/flips.csv."""
        return [
            {"model": entry.model.name, "regions": regions, "direction": direction, **asdict(interval)}
            for entry in self.fine_tuned
            for regions, flips in {**entry.flips, "control": entry.control}.items()
            for direction, interval in flips.items()
        ]
