"""What a drift audit measures: how a model's regional bias moves from epoch to epoch of a training."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from geobias.audits.regions.answers import RegionsCounts
from geobias.audits.regions.result import RegionsSettings
from geobias.measures.estimates import Estimate
from geobias.models.scorer import ModelIdentity
from geobias.report.results import NOT_SAVED, AuditResult, Interval
from geobias.report.tidy import tidy_row

FORMS = ("balanced", "paper")  # of C_w


@dataclass(frozen=True)
class CorpusSettings:
    """What the model is trained on."""

    kind: Literal["toxic", "texts"]
    """"toxic" for the sentences that the model itself finds likeliest, "texts" for the user's."""
    levels: list[str] | None = None
    """Of toxic sentences: the levels of their regions."""
    top: int | None = None
    """Of toxic sentences: how many of each word."""
    source: str | None = None
    digest: str | None = None


@dataclass(frozen=True, kw_only=True)
class DriftSettings(RegionsSettings):
    """Settings that identify a run: the settings of the regions audit, and those of the training."""

    corpus: CorpusSettings
    optimiser: str
    rate: float
    epochs: int
    batch: int
    seed: int


@dataclass(frozen=True, kw_only=True)
class DriftCounts(RegionsCounts):
    """The counts of the regions audit before the training, and those of the corpus (null for the other kind)."""

    corpus_sentences: int | None = None
    corpus_sentences_cut: int | None = None
    """Sentences that the model cuts before their region; they were left out."""
    corpus_tokens_hidden: int | None = None
    texts: int | None = None
    texts_blank: int | None = None
    parts: int | None = None
    """Longer texts are read in parts."""
    tokens: int | None = None


@dataclass(frozen=True)
class RegionScore:
    """C_w of one region after an epoch, in both forms, with intervals over words."""

    id: str
    name: str
    level: str
    balanced: Interval
    paper: Interval


@dataclass(frozen=True)
class EpochScores:
    """The model after one epoch; epoch 0 is the model before the training, which has no loss."""

    epoch: int
    loss: float | None
    regions: list[RegionScore]


@dataclass(frozen=True)
class Trend:
    """How one form of C_w changed."""

    spearman: float | None
    """Spearman's correlation of the score with the epoch; null with fewer than three epochs or a constant score."""
    difference: Estimate
    """The last epoch minus epoch 0, on the same words; p-values are adjusted over the regions."""


@dataclass(frozen=True)
class RegionTrend:
    id: str
    name: str
    balanced: Trend
    paper: Trend


@dataclass(frozen=True)
class DriftInference:
    regions: list[RegionTrend]
    words_left_out: int
    """Words that were left out one at a time; 0 without intervals."""


@dataclass(frozen=True)
class CorpusSentence:
    """A sentence that the model is trained on: a row of tables/corpus.csv."""

    word: str
    topic: str
    region: str
    level: str
    f: float  # log-likelihood
    sentence: str


@dataclass(frozen=True, kw_only=True, repr=False)
class DriftResult(AuditResult):
    """How the scores changed during training.

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
    model : ModelIdentity
        The model before the training.
    counts : DriftCounts
        Numbers of regions, sentences and training sentences.
    epochs : list of EpochScores
        Loss and C_w of the regions after every epoch; epoch 0 is the model before the training.
    inference : DriftInference
        For each region the last epoch minus epoch 0, with interval and p-value.
    corpus : list of CorpusSentence
        The training sentences. Not saved in results.json.
    trained_model : object
        The trained model. Not saved in results.json.

    Notes
    -----
    Returned by `audit_drift`. Printing it shows the findings.

    Examples
    --------
    >>> result = geobias.audit_drift(out="runs/drift", epochs=5)  # doctest: +SKIP
    >>> result.epochs[-1].regions[0].balanced  # doctest: +SKIP
    """

    audit: Literal["drift"] = "drift"
    settings: DriftSettings
    model: ModelIdentity
    """The model before the training."""
    counts: DriftCounts
    epochs: list[EpochScores] = field(repr=False)
    inference: DriftInference = field(repr=False)
    corpus: Annotated[list[CorpusSentence], *NOT_SAVED] = field(default_factory=list, repr=False, compare=False)
    trained_model: Annotated[Any, *NOT_SAVED] = field(default=None, repr=False, compare=False)

    @property
    def model_identities(self) -> list[ModelIdentity]:
        return [self.model]

    def summarise(self) -> Iterator[str]:
        yield (
            f"{self.model.short_name} trained for {self.settings.epochs} epochs, scored by {self.model.score} on "
            f"{self.counts.regions - 1:,} regions"
        )

    def list_tidy_rows(self) -> Iterator[dict[str, Any]]:
        """How far each region moved since epoch 0, then its scores after every epoch."""
        last = self.epochs[-1]
        for form in FORMS:
            for score, trend in zip(last.regions, self.inference.regions, strict=True):
                change = getattr(trend, form).difference
                yield tidy_row(self._name_place(last.epoch, score), f"c_w.{form}", change, against="epoch 0")
        for form in FORMS:
            for epoch in self.epochs:
                for score in epoch.regions:
                    place = self._name_place(epoch.epoch, score)
                    yield tidy_row(place, f"c_w.{form}", getattr(score, form), against="sub-regions")

    def _name_place(self, epoch: int, score: RegionScore) -> dict[str, Any]:
        place = {"region": score.name, "code": score.id, "level": score.level}
        return {"model": self.model.name, **place, "epoch": epoch}

    def rows(self) -> list[dict[str, Any]]:
        """A row for each epoch and region: tables/drift.csv."""
        rows = []
        for epoch in self.epochs:
            for region in epoch.regions:
                row: dict[str, Any] = {"epoch": epoch.epoch, "loss": epoch.loss}
                row |= {"id": region.id, "name": region.name, "level": region.level}
                for form in FORMS:
                    score = getattr(region, form)
                    row |= {form: score.value, f"{form}_low": score.low, f"{form}_high": score.high}
                rows.append(row)
        return rows
