"""What a language model answers about regions, as arrays."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from geobias.models.scorer import ModelIdentity


@dataclass(frozen=True)
class RegionsCounts:
    """Numbers of sentences scored, cut or not comparable."""

    regions: int
    sentences: int
    distinct_sentences: int
    """Each is scored once."""
    sentences_cut: int
    """Longer than the model takes."""
    names_with_unknown_tokens: int


@dataclass(frozen=True)
class InventedPlaces:
    """The answers about invented places."""

    names: tuple[str, ...]
    likelihoods: np.ndarray = field(repr=False)  # templates x places x words
    tokens: np.ndarray | None = field(repr=False)  # of each bare name
    candidate_tokens: np.ndarray | None = field(repr=False)  # of all names that these were chosen from


@dataclass(frozen=True)
class KnownPlaceAnswers:
    """The bare names of known places that are no countries."""

    names: tuple[str, ...]
    populations: np.ndarray = field(repr=False)
    likelihoods: np.ndarray = field(repr=False)  # of each bare name, in all
    tokens: np.ndarray | None = field(repr=False)
    region_likelihoods: np.ndarray = field(repr=False)  # the same of the regions of `AssociationAnswers.rows`


@dataclass(frozen=True)
class AssociationAnswers:
    """Total log-likelihoods of paraphrases, for the association of regions and words."""

    rows: np.ndarray = field(repr=False)  # of the regions
    totals: np.ndarray = field(repr=False)  # paraphrases x regions x words
    invented: np.ndarray | None = field(repr=False)  # paraphrases x invented places x words
    scored: int = 0  # sentences that were not in the store
    known_totals: np.ndarray | None = field(default=None, repr=False)  # paraphrases x known places x words
    known_places: KnownPlaceAnswers | None = field(default=None, repr=False)


@dataclass(frozen=True)
class KnownAnswers:
    """Total log-likelihoods of the sentences about known stereotypes."""

    totals: np.ndarray = field(repr=False)  # templates x countries x attributes; NaN where not scored
    scored: int = 0  # sentences that were not in the store
    cut: int = 0  # longer than the model takes


@dataclass(frozen=True)
class RegionsAnswers:
    """The log-likelihoods that one model gives by one score. The root is not scored: its row is NaN."""

    model: ModelIdentity
    counts: RegionsCounts
    work: dict[str, int]
    likelihoods: np.ndarray = field(repr=False)  # templates x regions x words
    name_likelihoods: np.ndarray = field(repr=False)  # of each region's bare name
    name_tokens: np.ndarray | None = field(default=None, repr=False)  # of each bare name, if the scorer counts them
    invented: InventedPlaces | None = field(default=None, repr=False)
    association: AssociationAnswers | None = field(default=None, repr=False)
    known: KnownAnswers | None = field(default=None, repr=False)
