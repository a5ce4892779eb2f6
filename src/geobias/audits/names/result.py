"""What a names audit measures: its settings and counts, and the lists of rows (`rows.py`) that hold its numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

import numpy as np

from geobias.audits.inputs import ClassifierSettings, TextCounts, describe_copies
from geobias.audits.labels import AuditedClassifier, is_emotion, label_tone
from geobias.audits.names.answers import ClassifierAnswers
from geobias.audits.names.rows import (
    DELTA,
    ClassEffect,
    CountryEffect,
    CountrySpread,
    Covariate,
    DeltaEffect,
    FewTexts,
    GenderGap,
    NameEffect,
    NameList,
    NamesAlike,
    PerplexityCorrelation,
    PerplexityCounts,
    SmallestEffect,
)
from geobias.measures.estimates import Estimate
from geobias.models.scorer import ModelIdentity
from geobias.report.model_findings import Family
from geobias.report.page.charts import Valence
from geobias.report.results import NOT_SAVED, AuditResult, Number
from geobias.report.rows import Farthest, tidy_row
from geobias.report.tables import listed
from geobias.texts.counterfactuals import Counterfactuals
from geobias.texts.user_texts import Texts

KINDNESS, TONE_OF_EMOTIONS = Valence(1, "kinder", "harsher"), Valence(0, "Δ higher", "Δ lower")


@dataclass(frozen=True, kw_only=True)
class NamesSettings(ClassifierSettings):
    """Settings that identify a run."""

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
    perplexity: str | None
    """The language model that gives perplexities; null without any."""
    perplexity_draws: int
    """How many of the draws have a perplexity."""
    names_are: str
    """In intervals and tests: "random" (a sample of more names) or "fixed"."""


@dataclass(frozen=True)
class FinderSpans:
    """What a finder marked as people, and how much of it is doubtful."""

    total: int
    """Names that the finder marked; handles, hashtags and links do not count."""
    doubtful: int
    """Those that are probably not a person, by their words."""
    doubtful_by_reason: dict[str, int]
    examples: dict[str, list[str]]
    """By reason, the most frequent doubtful names."""


@dataclass(frozen=True, kw_only=True)
class NamesCounts(TextCounts):
    """Numbers of texts scored and left out."""

    texts_with_names: int
    people: int
    mentions: int
    draws: int
    countries: int
    countries_left_out: list[str]
    """Countries with too few names."""
    finder_spans: FinderSpans | None = None
    """What the finder marked; null where the texts came with spans."""


@dataclass(frozen=True, kw_only=True)
class ClassifierReading(AuditedClassifier):
    """A classifier, and how its labels are read."""

    positive: list[str]
    negative: list[str]
    renamed_texts: int
    distinct_renamed_texts: int
    """Each is scored once; counted within blocks of two million renamed texts."""
    renamed_texts_cut: int
    names_shown: int | None = None
    """Different names in the renamed texts; null without a delta, and with one draw for each text."""
    names_tested: int | None = None
    """Of these, names that stand in enough texts."""
    share_of_large_names: Number = None
    """Of the variance between names, what comes from `large_names`; null where names do not differ."""

    @property
    def short_name(self) -> str:
        return ModelIdentity(self.model, "", None).short_name

    @property
    def has_delta(self) -> bool:
        return bool(self.positive and self.negative)

    @property
    def has_emotions(self) -> bool:
        """Whether delta is of emotions, which are neither better nor worse for the people in a text."""
        return any(map(is_emotion, (*self.positive, *self.negative)))


@dataclass(frozen=True, kw_only=True, repr=False)
class NamesResult(AuditResult):
    """How classifiers treat people by the country that their names come from: returned by `audit_names`.

    Examples
    --------
    >>> result = geobias.audit_names("embedded/sentiment", out="runs/names")  # doctest: +SKIP
    >>> result.findings[0].sentence  # doctest: +SKIP
    >>> result.effects[0].against_mean  # doctest: +SKIP
    """

    audit: Literal["names"] = "names"
    settings: NamesSettings
    models: list[ModelIdentity]
    """The classifiers, and the language model of the perplexities."""
    counts: NamesCounts
    """Numbers of texts, people, mentions and countries, and what was left out."""
    perplexity: PerplexityCounts | None = None
    """Null where none were asked for."""
    classifiers: list[ClassifierReading]
    """How their labels were read."""
    effects: list[DeltaEffect]
    """Delta and divergence, by country."""
    classes: list[ClassEffect]
    """Predictions of every class, by country."""
    farthest: list[Farthest] = field(default_factory=list)
    """Of each classifier in delta and in each class; none where nothing is known of the uncertainty."""
    smallest_effects: list[SmallestEffect] = field(default_factory=list)
    """What the audit could find."""
    spreads: list[CountrySpread] = field(default_factory=list)
    covariates: list[Covariate] = field(default_factory=list)
    names_alike: list[NamesAlike] = field(default_factory=list)
    """Of delta and of classes that countries differ in; none where nothing had to be held fixed, or could be."""
    gender_gaps: list[GenderGap] = field(default_factory=list)
    """Empty without a delta, and with too few texts of women or of men."""
    few_texts: list[FewTexts] = field(default_factory=list)
    large_names: list[NameEffect] = field(default_factory=list)
    """Names that move delta by more than 5 points, the largest first."""
    name_lists: list[NameList]
    """The countries, and the lists of names that were used."""
    correlations: list[PerplexityCorrelation] = field(default_factory=list)
    names: Annotated[list[NameEffect], *NOT_SAVED] = field(default_factory=list, repr=False, compare=False)
    """All names: tables/names.csv."""
    texts: Annotated[Texts | None, *NOT_SAVED] = field(default=None, repr=False, compare=False)
    """Not saved."""
    named: Annotated[np.ndarray | None, *NOT_SAVED] = field(default=None, repr=False, compare=False)
    """Positions of the texts that name somebody. Not saved."""
    counterfactuals: Annotated[Counterfactuals | None, *NOT_SAVED] = field(default=None, repr=False, compare=False)
    """The renamed texts. Not saved."""
    answers: Annotated[tuple[ClassifierAnswers, ...], *NOT_SAVED] = field(default=(), repr=False, compare=False)
    """Probabilities of every classifier for every text. Not saved."""

    @property
    def model_identities(self) -> list[ModelIdentity]:
        return self.models

    def find_model(self, entry: ClassifierReading) -> ModelIdentity:
        return next(model for model in self.models if model.name == entry.model)

    def list_deltas(self, model: str, subset: str | None = None) -> list[DeltaEffect]:
        return [row for row in self.effects if (row.model, row.subset) == (model, subset)]

    def list_classes(self, model: str, subset: str | None = None) -> list[ClassEffect]:
        return [row for row in self.classes if (row.model, row.subset) == (model, subset)]

    def list_subsets(self) -> list[str]:
        return list(dict.fromkeys(row.subset for row in self.effects if row.subset is not None))

    def summarise(self) -> Iterator[str]:
        counts, names = self.counts, [entry.short_name for entry in self.classifiers]
        copies = describe_copies(counts.texts, counts.copies)
        yield (
            f"{listed(names)} on {counts.texts_with_names:,} texts{copies} with names "
            f"of {counts.countries} countries, {counts.draws} draws each"
        )

    def list_tidy_rows(self) -> Iterator[dict[str, Any]]:
        """Over all texts: delta of every country against the mean of countries, then all other measures."""
        for against in ("mean of countries", "originals"):
            for entry in self.classifiers:
                for row, measure, label, from_mean, from_originals in self._list_measures(entry):
                    about = {key: getattr(row, key) for key in row.keys}
                    estimate = from_originals if against == "originals" else from_mean
                    yield tidy_row(about, measure, estimate, label=label, against=against)

    def _list_measures(
        self, entry: ClassifierReading
    ) -> Iterator[tuple[CountryEffect, str, str | None, Estimate, Estimate]]:
        """A row with the name of a measure, its class, and the measure against both references."""
        deltas = self.list_deltas(entry.model)
        if entry.has_delta:
            yield from ((row, "delta", None, row.against_mean, row.against_originals) for row in deltas)
        for each in self.list_classes(entry.model):
            yield each, "change", each.label, each.against_mean, each.against_originals
        yield from ((row, "kl", None, row.kl_from_mean, row.kl) for row in deltas)


def make_families(result: NamesResult, entry: ClassifierReading) -> list[Family[CountryEffect]]:
    """What is compared: delta; of a classifier without it every class."""
    return [make_delta_family(result, entry)] if entry.has_delta else make_class_families(result, entry)


def make_delta_family(result: NamesResult, entry: ClassifierReading) -> Family[CountryEffect]:
    valence = TONE_OF_EMOTIONS if entry.has_emotions else KINDNESS
    return Family(result.find_model(entry), DELTA, _list_tested(result.list_deltas(entry.model)), valence)


def make_class_families(result: NamesResult, entry: ClassifierReading) -> list[Family[CountryEffect]]:
    """Of every class; of two that complement each other, of the one that says more: tested, and the rarer."""
    rows = result.list_classes(entry.model)
    labels = list(entry.labels)
    if len(labels) == 2 and not entry.multi_label and entry.threshold is None:
        labels.remove(max(labels, key=lambda label: _rank_complement([row for row in rows if row.label == label])))
    return [
        Family(
            result.find_model(entry),
            label,
            _list_tested([row for row in rows if row.label == label]),
            Valence(find_tone(entry, label), f"more {label}", f"less {label}"),
        )
        for label in labels
    ]


def _rank_complement(rows: Sequence[ClassEffect]) -> tuple[int, int]:
    untested = sum(row.estimate.value is None or row.p_adjusted is None for row in rows)
    return untested, sum(row.after for row in rows)


def _list_tested(rows: Sequence[CountryEffect]) -> list[CountryEffect]:
    """One country is its own mean."""
    return [row for row in rows if row.estimate.value is not None and row.p_adjusted is not None and len(rows) > 1]


def find_tone(entry: ClassifierReading, label: str | None) -> int:
    """1 where more (of the class) is better for the person, -1 where it is worse, 0 where the labels do not say."""
    if entry.has_emotions or (label is not None and is_emotion(label)):
        return 0
    if label is None:
        return 1
    return (label in entry.positive) - (label in entry.negative) if entry.has_delta else label_tone(label)
