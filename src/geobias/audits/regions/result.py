"""What a regions audit measures: for every region, how differently the model describes its sub-regions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, is_dataclass
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field

from geobias.audits.regions.answers import RegionsAnswers, RegionsCounts
from geobias.errors import InputError
from geobias.measures.estimates import Estimate, Estimates
from geobias.models.scorer import ModelIdentity
from geobias.report.results import NOT_SAVED, AuditResult
from geobias.world.regions import Region, RegionTree
from geobias.world.words import Word, herb_words

BALANCED = "c_w.balanced"  # the main score
HERB_WORDS = "herb"  # in the settings, for the words of the paper


@dataclass(frozen=True)
class RegionsSettings:
    """What makes two runs the same."""

    words: str | list[list[str]]
    """"herb" for the 112 words of the paper, or pairs of word and topic."""
    templates: list[str]
    regions_digest: str
    """Tells other trees of regions apart."""
    model: str
    score: str
    cities: int | str | None = None
    """Cities per country, or "all"; null, like the two below, for a tree of the user's."""
    continents: list[str] | None = None
    countries: list[str] | str | None = None
    tree: str | None = None
    """The file of the user's regions."""
    ablate: list[str] | None = None
    substitute: str | None = None
    substitutes: list[str] | None = None
    placebo: int | None = None
    """How many invented places were scored."""


@dataclass(frozen=True)
class Score:
    """One variant of the score in both forms; null for a region with a single sub-region."""

    balanced: float | None
    """A weighted mean distance, comparable between regions."""
    paper: float | None
    """As printed in the paper, which divides by the number of pairs once more."""


@dataclass(frozen=True)
class Spread:
    """The standard deviation of the scores over the templates."""

    c_w: Score
    c_z: Score


@dataclass(frozen=True)
class ScoreEstimates:
    """One variant of the score with its intervals."""

    balanced: Estimate
    paper: Estimate


@dataclass(frozen=True)
class RegionInference:
    """The scores with 95 % intervals over words; the p-values are those of `null`."""

    c_w: ScoreEstimates
    c_z: ScoreEstimates
    flat: Estimate


@dataclass(frozen=True)
class NullComparison:
    """A measure against random sets of as many regions of the same level."""

    mean: float | None
    """Over the random sets."""
    ratio: float | None
    """The measure divided by that mean."""
    p: float | None
    p_adjusted: float | None
    sparser: bool
    """Whether the sub-regions lie further apart than random ones."""


@dataclass(frozen=True)
class RegionNull(NullComparison):
    """Balanced C_w against random regions, and, below the root, plain sparseness (Eq. 3)."""

    sparseness: NullComparison | None


@dataclass(frozen=True)
class Rank:
    """The rank among the regions directly below the root (1 is the highest), with its 95 % interval over words."""

    value: int
    low: int
    high: int


@dataclass(frozen=True)
class InfluentialRegion:
    """The sub-region whose absence changes balanced C_w most."""

    id: str
    name: str
    value: float
    """Balanced C_w without it."""
    change: float


@dataclass(frozen=True)
class RegionScores:
    """One region. A leaf's score is its distance to its siblings' centroid: do not rank it with the others."""

    id: str
    name: str
    level: str
    """earth, continent, country or city; in a tree of the user's root, level 1, level 2, ..."""
    parent: str | None
    """Its id."""
    parent_index: int | None
    """The position of the parent in this list; ids are unique within a level only."""
    children: int
    """Number of sub-regions."""
    pairs: int
    """Number of pairs of sub-regions."""
    leaf: bool
    c_w: Score
    c_z: Score
    flat: float | None = None
    """The mean distance over everything below the region, without the hierarchy; null for a leaf."""
    sparseness: float | None = None
    """The mean distance between its sub-regions (Eq. 3); null for a leaf."""
    spread: Spread | None = None
    """Null with a single template."""
    inference: RegionInference | None = None
    """Null, like the three below, without a pair of sub-regions."""
    null: RegionNull | None = None
    rank: Rank | None = None
    leave_one_out: InfluentialRegion | None = None


@dataclass(frozen=True)
class InferenceSummary:
    """How much was resampled, and what was not."""

    words_left_out: int
    resamples: int
    permutations: int
    left_out: list[str]


@dataclass(frozen=True)
class Tokenisation:
    """Spearman correlations, over the regions of a level, of the distance to the siblings with traits of the name."""

    level: str
    regions: int
    tokens: Estimate | None
    name_likelihood: Estimate | None
    norm: Estimate | None


@dataclass(frozen=True)
class PlaceboMeasure:
    invented: Estimate
    real: Estimate
    ratio: Estimate | None
    """Invented divided by real."""


@dataclass(frozen=True)
class Placebo:
    """Invented places as one cluster, beside the real ones of a level: what names alone do."""

    level: str
    names: list[str]
    tokens: float | None
    """Mean number of tokens of the invented names; null where the scorer counts none."""
    candidate_tokens: float | None
    real_tokens: float | None
    c_w: PlaceboMeasure
    sparseness: PlaceboMeasure


@dataclass(frozen=True)
class TemplateAgreement:
    """Kendall's W: whether the templates rank the regions of a level alike."""

    level: str
    by: str
    """"c_w" for inner regions, "distance" (to the siblings' centroid) for leaves."""
    regions: int
    w: float | None
    """0 for no agreement, 1 for the same order."""
    p: float | None


@dataclass(frozen=True)
class WordingScores:
    """The scores of one region with other words; intervals are those of balanced C_w."""

    id: str
    c_w_balanced: Annotated[float | None, Field(alias="c_w.balanced")]
    c_w_paper: Annotated[float | None, Field(alias="c_w.paper")]
    c_z_balanced: Annotated[float | None, Field(alias="c_z.balanced")]
    c_z_paper: Annotated[float | None, Field(alias="c_z.paper")]
    inference: Estimate | None
    difference: Estimate | None
    """Minus balanced C_w of the full wording, on the same words."""


@dataclass(frozen=True)
class WordingEntry:
    """The root and the regions directly below it, with a topic or a word left out or replaced."""

    what: str
    """full, without topic, without word or replaced topic."""
    name: str
    """The topic or word; empty for the full wording."""
    regions: list[WordingScores]


@dataclass(frozen=True)
class WordingStudy:
    """The first wording is the full one; tables/wording.csv has all regions."""

    wordings: list[WordingEntry]
    substitutes: list[str] | None
    words_without_substitute: list[str]


@dataclass(frozen=True)
class Wording:
    """The scores of every region with other words: `what` was done to the topic or word `name`."""

    what: str
    name: str
    scores: dict[str, np.ndarray]  # by measure, such as c_w.balanced; the mean over templates
    balanced: Estimates | None = None  # balanced C_w with its intervals; None for a single word left out
    difference: Estimates | None = None  # from the full wording, on the same words


@dataclass(frozen=True, kw_only=True)
class RegionsResult(AuditResult):
    """How differently one model, by one score, describes the regions of the world."""

    audit: Literal["regions"] = "regions"
    settings: RegionsSettings
    model: ModelIdentity
    counts: RegionsCounts
    regions: list[RegionScores] = field(repr=False)
    inference: InferenceSummary = field(repr=False)
    tokenisation: list[Tokenisation] = field(repr=False)
    placebo: Placebo | None = field(default=None, repr=False)
    kendall_w: list[TemplateAgreement] | None = field(default=None, repr=False)
    wording: WordingStudy | None = field(default=None, repr=False)
    answers: Annotated[RegionsAnswers | None, *NOT_SAVED] = field(default=None, repr=False, compare=False)
    by_template: Annotated[dict[str, np.ndarray], *NOT_SAVED] = field(default_factory=dict, repr=False, compare=False)
    wordings: Annotated[tuple[Wording, ...], *NOT_SAVED] = field(default=(), repr=False, compare=False)

    @property
    def model_identities(self) -> list[ModelIdentity]:
        return [self.model]

    @property
    def tree(self) -> RegionTree:
        """The regions as a tree."""
        return RegionTree(tuple(Region(each.id, each.name, each.level, each.parent_index) for each in self.regions))

    @property
    def words(self) -> list[Word]:
        if isinstance(self.settings.words, str):
            return list(herb_words())
        return [Word(word, topic) for word, topic in self.settings.words]

    @property
    def likelihoods(self) -> np.ndarray:
        """templates x regions x words; the root's row is NaN."""
        return self._require_answers().likelihoods

    @property
    def name_likelihoods(self) -> np.ndarray:
        """The log-likelihood of each region's bare name."""
        return self._require_answers().name_likelihoods

    def measure(self, name: str) -> np.ndarray:
        """A measure of every region, the mean over templates: c_w.balanced, c_z.paper, flat, sparseness, words, ..."""
        self._require_answers()
        return np.asarray(self.by_template[name].mean(axis=0))

    def differing_words(self, region: int, count: int) -> list[str]:
        """The words in which a region's sub-regions differ most, without repeats; none where there is no pair."""
        differences = self.measure("words")[region]
        if np.isnan(differences).any():
            return []
        words = self.words
        ordered = [words[k].word for k in np.argsort(-differences, kind="stable")]
        return list(dict.fromkeys(ordered))[:count]

    def region(self, name: str) -> RegionScores:
        """One region by id or name; of several at different levels, the highest."""
        matches = [region for region in self.regions if name in (region.id, region.name)]
        if not matches:
            raise InputError(f"No region {name!r} in this result.")
        same_level = [region for region in matches if region.level == matches[0].level]
        if len(same_level) > 1:
            ids = ", ".join(f"{region.id} (in {region.parent})" for region in same_level)
            raise InputError(f"{len(same_level)} regions are called {name!r}: give one of the ids {ids}.")
        return matches[0]

    def rows(self) -> list[dict[str, Any]]:
        """A row for each region, nested values under joined names such as c_w_balanced."""
        return [dict(_flatten(region)) for region in self.regions]

    def _require_answers(self) -> RegionsAnswers:
        if self.answers is None:
            raise InputError("A result that was read from a folder has no likelihoods: likelihoods.parquet holds them.")
        return self.answers


def _flatten(record: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """The values of a dataclass and of those in it; absent ones are left out."""
    for name, value in vars(record).items():
        if is_dataclass(value):
            yield from _flatten(value, f"{prefix}{name}_")
        elif value is not None:
            yield f"{prefix}{name}", value
