"""The records of a regions result: the scores of each region, their intervals and tests, controls, other wordings."""

from __future__ import annotations

from dataclasses import dataclass

from geobias.measures.estimates import Estimate


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
class RegionNull:
    """Balanced C_w against random sets of as many regions of the same level."""

    mean: float | None
    """Over the random sets."""
    ratio: float | None
    """The score divided by that mean."""
    p: float | None
    p_adjusted: float | None
    sparser: bool
    """Whether the sub-regions lie further apart than random ones."""


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
    in_sentence: str | None = None
    """The name as sentences have it ("the United States"); null where that is the name."""


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
class Placebo:
    """Invented places beside the real ones of a level: how far names alone lie apart (Eq. 3)."""

    level: str
    names: list[str]
    tokens: float | None
    """Mean number of tokens of the invented names; null where the scorer counts none."""
    candidate_tokens: float | None
    real_tokens: float | None
    invented: Estimate
    real: Estimate
    ratio: Estimate | None
    """Invented divided by real."""


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
