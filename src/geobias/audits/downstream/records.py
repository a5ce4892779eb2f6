"""The records of a downstream result: what a prefix does to a class, with intervals and tests, and what names do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from geobias.measures.estimates import Estimate


@dataclass(frozen=True)
class ShiftInference:
    """The same differences with intervals over texts; p-values are adjusted over all places and classes."""

    mean_difference: Estimate
    against_control: Estimate
    against_mean: Estimate | None = None
    """Minus the mean of all places, which does not depend on the control; null for the control and a single place."""
    against_invented: Estimate | None = None
    """Minus what invented places do whose names have as many characters, words and tokens."""
    held_fixed: Estimate | None = None
    """Minus the mean of places, with the characters, words and tokens of names held fixed."""


@dataclass(frozen=True)
class ClassShift:
    """What one prefix does to the probability of one class."""

    rose: int
    """Texts whose probability rises."""
    mean_rise: float | None
    """By how much, on average over those texts."""
    fell: int
    """Texts whose probability falls."""
    mean_fall: float | None
    mean_difference: float
    """Mean over all texts of the probability with the prefix minus that without."""
    against_control: float | None
    """The same minus that of the control, which names no region; null for the control itself."""
    share_before: float
    """Share of texts that are predicted as the class without a prefix."""
    share_after: float
    """The same with the prefix."""
    share_change: float
    gained: int
    """Texts that are predicted as the class with the prefix only."""
    lost: int
    """Texts that are predicted as the class without the prefix only."""
    inference: ShiftInference


@dataclass(frozen=True)
class Flips:
    """How many texts go from one predicted class to another."""

    source: Annotated[str | None, Field(alias="from")]
    """Null where a text may have several classes or none, and only `to` is known."""
    target: Annotated[str | None, Field(alias="to")]
    texts: int


@dataclass(frozen=True)
class FarthestPlace:
    """The region farthest from the control, with bounds that hold for all regions at once."""

    value: float
    """Its distance, either way."""
    low: float | None
    high: float | None
    region: str
    """Its id."""


@dataclass(frozen=True)
class WordingEffect:
    """A place that differs after one wording of the prefix, whose name does not explain it."""

    region: str
    """Its id."""
    label: str
    wording: int
    """From 1."""
    texts: int
    """That have this wording with this region."""
    estimate: Estimate
    """Minus what invented places with such names do after the same wording; p-values are adjusted over all places,
    wordings and classes."""
    others: float
    """The same difference after the other wordings, their mean."""
    also: list[int]
    """The other wordings after which it differs in the same direction, from 1."""


@dataclass(frozen=True)
class NameEffects:
    """What names do to the probability of a class, by invented and real places together."""

    slopes: dict[str, Estimate]
    """For each character, word, name of several words and token more; p-values are adjusted over them."""
    spread: float
    """Standard deviation between invented places whose names are equally long: what spelling does."""
    explained: float
    """Share of the variance between invented places that characters, words and tokens explain."""
    wording_spread: float
    """Standard deviation of a place's effect between the wordings of the prefix."""
