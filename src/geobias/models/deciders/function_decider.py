"""A function as a decider: from a list of prompts to answers in words, or to probabilities."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from geobias.models.deciders.decider import AnswerSet, Decider, count_answers
from geobias.models.functions import RANGE_TOLERANCE, Function, FunctionScorer
from geobias.models.prompt_reader import TEXT
from geobias.models.scorer import PROBE

NOT_A_DECIDER = (
    "A function that decides returns words, or the probability of yes. If this is a log-likelihood, the function is a "
    "language model: use it with `geobias regions`"
)


class FunctionDecider(FunctionScorer, Decider):
    """A function that decides. It is called once at the start, to see how it answers.

    For each prompt it returns an answer in words ("Yes, because ..."), a mapping from answers to probabilities, or
    between two answers the probability of the first. Words count as one answer that never varies.
    """

    version = 1
    expected_answer = "an answer for each text: words, a mapping from answers to probabilities, or p(first answer)"

    def __init__(
        self, function: Function, answers: AnswerSet, *, name: str | None = None, system: str | None = None
    ) -> None:
        super().__init__(function, name=name)
        self.answers, self.columns, self.system = answers, answers.columns, system
        if self.fingerprint is not None:
            self.fingerprint = f"{self.fingerprint}:{answers.kind}:{self._prompt('')}"
        self.score([PROBE])

    def score(self, texts: Sequence[str]) -> np.ndarray:
        prompts = [self._prompt(text) for text in texts]
        rows = [self._read_row(row, prompts, index) for index, row in enumerate(self._call(prompts))]
        return np.array(rows).reshape(len(texts), len(self.columns))

    def _read_single(self, p: float, prompts: Sequence[str], index: int) -> np.ndarray:
        """One number is the probability of the first of two answers."""
        words = self.answers.words
        if len(words) != 2:
            advice = f"Return the answer in words, or a mapping from {', '.join(words)} to probabilities"
            self._refuse(
                "returned a single number, which does not choose among so many answers,", prompts, index, advice
            )
        if not -RANGE_TOLERANCE <= p <= 1 + RANGE_TOLERANCE:
            self._refuse(f"returned {p:g}, which is no probability,", prompts, index, NOT_A_DECIDER)
        return np.array([p, 1 - p])

    def _prompt(self, text: str) -> str:
        message = self.answers.message.replace(TEXT, text)
        return f"{self.system}\n\n{message}" if self.system else message

    def _read_row(self, row: Any, prompts: Sequence[str], index: int) -> np.ndarray:
        if isinstance(row, str):
            return count_answers(self.answers, [row])
        words = self.answers.words
        if isinstance(row, Mapping):
            p_by_word = {str(word).casefold(): p for word, p in row.items()}
            row = [p_by_word.get(word.casefold(), 0.0) for word in words]
        p = self._as_numbers(row, prompts, index, "Return words or probabilities").astype(float)
        if p.shape == ():
            p = self._read_single(float(p), prompts, index)
        if p.shape != (len(words),):
            self._refuse(
                f"returned numbers of shape {p.shape}", prompts, index, f"Return one for each of {', '.join(words)}"
            )
        if not ((p >= -RANGE_TOLERANCE).all() and p.sum() <= 1 + RANGE_TOLERANCE):
            self._refuse(f"returned {p}", prompts, index, "Probabilities are at least 0 and sum to at most 1")
        with np.errstate(divide="ignore"):
            return np.array([0, 0, *np.log(np.clip(p, 0.0, 1.0))])
