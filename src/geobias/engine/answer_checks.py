"""Whether a model still gives its stored answers, and the same answers when it is asked twice.

A model that is known by a digest of its weights does. A function or a server can change while its fingerprint stays the
same, or answer at random: some of its texts are asked again in every run. What they give is compared, never stored.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

import numpy as np

from geobias.checks import shorten
from geobias.errors import InputError
from geobias.models.scorer import LOG_P, SAMPLES, Scorer

CHECKED_TEXTS = 20  # of each scorer in a run: so many stored answers are compared, and so many texts asked twice
FLOAT32_TOLERANCE, TOLERANCE = 1e-3, 2e-2  # of a probability, or relative to a larger number
SAMPLING_ERRORS = 4.0  # standard errors by which shares of sampled answers may differ


@dataclass(frozen=True)
class NondeterministicModel:
    """A model that answers the same text in one way, then in another."""

    name: str
    texts: int
    """How many texts it was asked twice."""
    differing: int
    """How many of them it answered differently."""
    largest_difference: float
    """Of a probability; of a number above 1, relative to it."""


def count_checks(scorer: Scorer, texts: int) -> int:
    """Return how many of a scorer's texts are asked again at most."""
    if scorer.has_digest:
        return 0
    return min(CHECKED_TEXTS, texts) * (1 if scorer.fingerprint is None else 2)


@dataclass
class _CheckedScorer:
    """What is known of one scorer in this run; differences are those between two calls."""

    scorer: Scorer
    rng: np.random.Generator
    left: dict[str, int] = field(default_factory=lambda: {"stored": CHECKED_TEXTS, "twice": CHECKED_TEXTS})
    differences: list[float] = field(default_factory=list)

    @property
    def tolerance(self) -> float:
        return FLOAT32_TOLERANCE if self.scorer.identity().dtype == "float32" else TOLERANCE

    def draw(self, check: str, places: np.ndarray) -> np.ndarray:
        """Draw as many of these places of texts as are still to be checked in this run, in their order."""
        count = min(self.left[check], len(places))
        self.left[check] -= count
        return places[np.sort(self.rng.choice(len(places), count, replace=False, shuffle=False))]


class AnswerChecks:
    """The checks of one run."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._checked: dict[str | int, _CheckedScorer] = {}  # by fingerprint, or by the scorer itself

    def check_stored(self, scorer: Scorer, texts: Sequence[str], rows: np.ndarray, places: np.ndarray) -> None:
        """Compare the rows at these places, which are stored, with what the scorer answers now.

        Two answers to the same text may differ, too: what differs from the store by twice as much is another model.
        """
        checked = self._find(scorer)
        places = checked.draw("stored", places)
        if not len(places):
            return
        sample, stored = [texts[int(place)] for place in places], rows[places]
        answers = _score_again(scorer, sample)
        if _are_sampled(scorer, stored) or _are_sampled(scorer, answers):
            differences, limit = _compare_samples(scorer, stored, answers)
        else:
            self._compare_calls(checked, sample, answers, np.arange(len(sample)))
            differences = _compare(scorer, stored, answers)
            limit = max(checked.tolerance, 2 * max(checked.differences, default=0.0))
        if differences.max() > limit:
            text, count = sample[int(differences.argmax())], int((differences > limit).sum())
            raise InputError(
                f"{scorer.identity().name} gives answers that differ from stored ones (to {count} of {len(sample)} "
                f"texts, by up to {differences.max():.2g}, such as to {shorten(text)!r}). If it has changed, change "
                "its fingerprint, or clear the cache: geobias cache --clear."
            )

    def check_twice(self, scorer: Scorer, texts: Sequence[str], rows: np.ndarray, places: np.ndarray) -> None:
        """Compare the rows at these places, which were just scored, with those of a second call."""
        if not _are_sampled(scorer, rows[places[:1]]):
            self._compare_calls(self._find(scorer), texts, rows, places)

    def list_nondeterministic(self) -> list[NondeterministicModel]:
        """Return the models whose answers differed between two calls."""
        models: list[NondeterministicModel] = []
        for checked in self._checked.values():
            differences, name = np.array(checked.differences), checked.scorer.identity().name
            if (count := int((differences > checked.tolerance).sum())) and name not in {each.name for each in models}:
                models.append(NondeterministicModel(name, len(differences), count, float(differences.max())))
        return models

    def _find(self, scorer: Scorer) -> _CheckedScorer:
        return self._checked.setdefault(
            scorer.fingerprint or id(scorer), _CheckedScorer(scorer, np.random.default_rng(self._seed))
        )

    def _compare_calls(
        self, checked: _CheckedScorer, texts: Sequence[str], answers: np.ndarray, places: np.ndarray
    ) -> None:
        # In another order, and so in other batches: their rounding is part of how far two calls differ.
        places = checked.draw("twice", places)[::-1]
        if len(places):
            again = _score_again(checked.scorer, [texts[int(place)] for place in places])
            checked.differences += _compare(checked.scorer, answers[places], again).tolist()


def _score_again(scorer: Scorer, texts: Sequence[str]) -> np.ndarray:
    rows = np.full((len(texts), len(scorer.columns)), np.nan)
    for places, block in scorer.batches(texts):
        rows[places] = block
    return rows


def _compare(scorer: Scorer, before: np.ndarray, after: np.ndarray) -> np.ndarray:
    """Return how far two answers to each text differ: by probabilities, or by numbers above 1 relative to them."""
    before, after = _read_probabilities(scorer, before), _read_probabilities(scorer, after)
    scale = np.maximum(1.0, np.maximum(np.abs(before), np.abs(after)))
    differences = np.abs(before - after) / scale
    return np.asarray(np.where(np.isnan(differences), 1.0, differences).max(axis=1))


def _compare_samples(scorer: Scorer, before: np.ndarray, after: np.ndarray) -> tuple[np.ndarray, float]:
    """Return by how much the mean share of each answer differs, and how much sampling explains."""
    samples = list(scorer.columns).index(SAMPLES)
    total = min(before[:, samples].sum(), after[:, samples].sum())
    is_share = np.array([column.startswith(LOG_P) for column in scorer.columns])
    means = [_read_probabilities(scorer, rows)[:, is_share].mean(axis=0) for rows in (before, after)]
    p = np.mean(means, axis=0)
    limit = SAMPLING_ERRORS * np.sqrt(2 * (p * (1 - p)).max() / total) + 1 / total
    return np.full(len(before), np.abs(means[0] - means[1]).max()), float(limit)


def _read_probabilities(scorer: Scorer, rows: np.ndarray) -> np.ndarray:
    """Return rows with P in place of log P, which may be minus infinity."""
    is_log_p = np.array([column.startswith(LOG_P) for column in scorer.columns])
    return np.where(is_log_p, np.exp(np.where(is_log_p, rows, 0.0)), rows)


def _are_sampled(scorer: Scorer, rows: np.ndarray) -> bool:
    """Whether answers were drawn several times each, so that they differ from call to call by design."""
    return SAMPLES in scorer.columns and bool((rows[:, list(scorer.columns).index(SAMPLES)] > 1).any())


_checks: ContextVar[AnswerChecks | None] = ContextVar("checks", default=None)


@contextmanager
def check_answers(seed: int) -> Iterator[AnswerChecks]:
    """Inside, answers of models that can change unnoticed are checked. The seed draws the texts."""
    checks = AnswerChecks(seed)
    token = _checks.set(checks)
    try:
        yield checks
    finally:
        _checks.reset(token)


@contextmanager
def without_checks() -> Iterator[None]:
    """Inside, nothing is asked again."""
    token = _checks.set(None)
    try:
        yield
    finally:
        _checks.reset(token)


def find_checks(scorer: Scorer) -> AnswerChecks | None:
    """Return the checks of this run; None for a scorer that is known by its content, and outside of a run."""
    return None if scorer.has_digest else _checks.get()
