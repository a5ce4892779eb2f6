"""What the models of a names audit answer, as arrays."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from geobias.models.scorer import ModelIdentity


@dataclass(frozen=True)
class RenamedTextCounts:
    """How many renamed texts one classifier read, and how many texts were longer than it takes."""

    texts_cut: int
    """Texts truncated to the model's maximum length."""
    renamed_texts: int
    distinct_renamed_texts: int
    """Each is scored once; counted within blocks of two million renamed texts."""
    renamed_texts_cut: int


@dataclass(frozen=True)
class Perplexities:
    """Log-perplexities of one language model; NaN where it was not scored, or does not know the language."""

    model: ModelIdentity
    original: np.ndarray = field(repr=False)  # all texts
    renamed: np.ndarray = field(repr=False)  # texts with names x countries x scored draws
    sizes: np.ndarray = field(repr=False)  # all texts x (tokens, characters)
    renamed_sizes: np.ndarray = field(repr=False)  # texts with names x countries x scored draws x the same
    unknown_tokens: dict[str, float]  # language -> share of its tokens that the model does not know
    languages_refused: list[str]
    texts_cut: int
    texts_scored: int


@dataclass(frozen=True)
class ClassifierAnswers:
    """The probabilities of one classifier for every text, original and with its people renamed."""

    model: ModelIdentity
    labels: tuple[str, ...]
    multi_label: bool
    positive: list[int]  # positions of labels
    negative: list[int]
    threshold: float | None
    original: np.ndarray = field(repr=False)  # all texts x labels
    renamed: np.ndarray = field(repr=False)  # texts with names x countries x draws x labels
    truth: np.ndarray | None = field(repr=False)  # all texts x labels
    counts: RenamedTextCounts
    work: dict[str, int]
    notes: tuple[str, ...] = ()  # how labels were read and models chosen where the user did not say
    perplexities: Perplexities | None = None
    own_scripts: np.ndarray | None = field(default=None, repr=False)  # texts with names x countries x draws x labels
    name_tokens: np.ndarray | None = None  # new names x cases: tokens by the classifier's own tokenizer, if it has one
