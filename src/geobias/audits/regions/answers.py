"""What a language model answers about regions, as arrays."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from geobias.models.scorer import ModelIdentity


@dataclass(frozen=True)
class RegionsCounts:
    """How much was asked, and what could not be asked or compared as it should be."""

    regions: int
    sentences: int
    distinct_sentences: int
    sentences_cut: int
    names_with_unknown_tokens: int
    regions_with_one_sub_region: int
    leaves: int


@dataclass(frozen=True)
class InventedPlaces:
    """The answers about invented places."""

    names: tuple[str, ...]
    likelihoods: np.ndarray = field(repr=False)  # templates x places x words
    tokens: np.ndarray | None = field(repr=False)  # of each bare name
    candidate_tokens: np.ndarray | None = field(repr=False)  # of all names that these were chosen from


@dataclass(frozen=True)
class RegionsAnswers:
    """The log-likelihoods that one model gives by one score. Nothing is asked about the root: its row is NaN."""

    model: ModelIdentity
    counts: RegionsCounts
    work: dict[str, int]
    likelihoods: np.ndarray = field(repr=False)  # templates x regions x words
    name_likelihoods: np.ndarray = field(repr=False)  # of each region's bare name
    name_tokens: np.ndarray | None = field(default=None, repr=False)  # of each bare name, if the scorer counts them
    substituted: np.ndarray | None = field(default=None, repr=False)  # likelihoods with every word's substitute
    invented: InventedPlaces | None = field(default=None, repr=False)
