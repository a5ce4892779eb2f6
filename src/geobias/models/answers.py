"""The answers to a question: the labels of a prompt, the answers of a decision, and what answers say.

A decider scores texts that end with a question. Its columns are the number of answers that were sampled (0 where the
probabilities are exact), how many of these refuse, and log P of each answer over all of its spellings, which is -inf
for an answer that never comes. `Decisions` turns the rows into log-odds, choices and numbers.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from geobias.errors import InputError
from geobias.models.functions import RANGE_TOLERANCE, Function, FunctionScorer
from geobias.models.scorer import LOG_P, PROBE, SAMPLES, Classifier, Scorer
from geobias.texts.scenarios import CHOICE, NUMBER, YES_NO

TEXT = "{text}"  # in a prompt: where the text stands
REFUSALS = "refusals"
HALF_AN_ANSWER = 0.5  # added to each count, so that log-odds of counts are finite (Haldane 1956, Anscombe 1956)
REFUSAL_LETTERS = 300  # where a refusal is looked for
_REFUSAL = re.compile(
    r"\b(cannot|can['’]t|can not|unable to|not able to|won['’]t|will not|not comfortable|not appropriate|"
    r"inappropriate|sorry|as an ai|decline to|refuse to)\b"
)


@dataclass(frozen=True)
class AnswerSet:
    """The answers that a question allows.

    Attributes
    ----------
    kind : str
        "yes_no", "number" or "choice".
    words : tuple of str
        The answers. Of a number, its digit.
    instruction : str
        Stands before the question.
    """

    kind: str
    words: tuple[str, ...]
    instruction: str

    @property
    def columns(self) -> tuple[str, ...]:
        return (SAMPLES, REFUSALS, *(f"{LOG_P}{word})" for word in self.words))

    @property
    def template(self) -> str:
        """The prompt for a model that continues texts."""
        return f"{self.message}\nAnswer:"

    @property
    def message(self) -> str:
        """The prompt for a model that chats, and for a function."""
        return f"{self.instruction}\n\n{{text}}"

    def spellings(self, word: str) -> list[str]:
        """How an answer may be written, with a space before it and without."""
        forms = dict.fromkeys((word, word.lower(), word.capitalize(), word.upper()) if len(word) > 1 else (word,))
        return [f"{space}{form}" for space in (" ", "") for form in forms]

    def parse(self, text: str) -> int | None:
        """Return which answer a text begins with; None if it begins with none."""
        match = re.match(r"[\s\"'“‘*_(\[]*(\d+|\w+)(.?)", text.strip(), re.DOTALL)
        if match is None:
            return None
        words = [word.casefold() for word in self.words]
        word, following = match[1].casefold(), match[2]
        # "A person ..." is no choice of A.
        is_article = self.kind == CHOICE and len(word) == 1 and following == " "
        return words.index(word) if word in words and not is_article else None


YES_NO_ANSWERS = AnswerSet(YES_NO, ("yes", "no"), "Answer the question with yes or no.")
NUMBER_ANSWERS = AnswerSet(NUMBER, tuple("123456789"), "Answer the question with one number from 1 to 9.")
CHOICE_ANSWERS = AnswerSet(CHOICE, ("A", "B"), "Answer the question with A or B.")
ANSWER_SETS = {YES_NO: YES_NO_ANSWERS, NUMBER: NUMBER_ANSWERS, CHOICE: CHOICE_ANSWERS}


@dataclass(frozen=True)
class Prompt:
    """A prompt that asks for a label, and for each label the word that stands for it."""

    words: Mapping[str, str]
    template: str
    calibrate: bool = False

    @property
    def labels(self) -> tuple[str, ...]:
        return tuple(self.words)

    @property
    def settings(self) -> dict[str, Any]:
        return {"template": self.template, "words": dict(self.words), "calibrate": self.calibrate}


def read_prompt_options(labels: str | None, prompt: str | None, calibrate: bool) -> Prompt | None:
    """Make a prompt from --labels, --prompt (a text, or a file that holds it) and `calibrate`; None without labels."""
    if labels is None:
        if prompt is not None or calibrate:
            raise InputError("--prompt needs --labels: the labels to choose from.")
        return None
    if prompt is not None and TEXT not in prompt:
        with suppress(OSError, UnicodeDecodeError):  # no file, or not a text
            prompt = Path(prompt).read_text(encoding="utf-8").removesuffix("\n")
    return make_prompt(labels, prompt, calibrate=calibrate)


def make_prompt(labels: str, template: str | None = None, *, calibrate: bool = False) -> Prompt:
    """Make a prompt from labels: "negative,positive", or with other words for them "negative=bad,positive=good"."""
    words: dict[str, str] = {}
    for item in labels.split(","):
        label, _, word = (part.strip() for part in item.partition("="))
        if not label or label in words:
            raise InputError(
                f"The labels {labels!r} must be distinct and not empty. Example: negative,neutral,positive."
            )
        words[label] = word or label
    if len(words) < 2 or len(set(words.values())) < len(words):
        raise InputError(f"The labels {labels!r} must be at least two, each with a different word.")
    if template is None:
        *first, last = words.values()
        template = f"Classify the text as {', '.join(first)} or {last}.\nText: {TEXT}\nAnswer:"
    if template.count(TEXT) != 1:
        raise InputError(f"The prompt {template!r} must contain {TEXT} exactly once.")
    return Prompt(words, template, calibrate)


def refuse_unused_prompt(prompt: Prompt | None, classifiers: Sequence[Classifier]) -> None:
    """Refuse --labels where every classifier has its own."""
    if prompt is not None and not any(classifier.is_prompted for classifier in classifiers):
        names = ", ".join(classifier.name for classifier in classifiers)
        raise InputError(
            f"{names} has its own labels. Remove --labels: it is for language models and for functions that return "
            "labels."
        )


def require_prompt(prompt: Prompt | None, name: str) -> Prompt:
    """Return the prompt; refuse to use a language model as a classifier without one."""
    if prompt is None:
        raise InputError(
            f"{name} is a language model. Add the labels to choose from, such as --labels negative,neutral,positive, "
            "or use `geobias regions`."
        )
    return prompt


class Decider(Scorer):
    """A scorer of texts that end with a question; its columns are those of its answers.

    Attributes
    ----------
    answers : AnswerSet
        The answers to choose from.
    system : str or None
        The system prompt.
    """

    answers: AnswerSet
    system: str | None = None


def is_refusal(text: str) -> bool:
    """Whether an answer says that it will not answer."""
    return _REFUSAL.search(text[:REFUSAL_LETTERS].casefold()) is not None


def count_answers(answers: AnswerSet, texts: Sequence[str]) -> np.ndarray:
    """Return a row of scores from answers in words: samples, refusals, log of the share of each answer."""
    choices = [answers.parse(text) for text in texts]
    counts = np.array([choices.count(k) for k in range(len(answers.words))], dtype=float)
    refusals = sum(is_refusal(text) for text, choice in zip(texts, choices, strict=True) if choice is None)
    with np.errstate(divide="ignore"):
        return np.array([len(texts), refusals, *np.log(counts / len(texts))])


@dataclass(frozen=True)
class Decisions:
    """What the rows of a decider say; every property has an entry for each text."""

    answers: AnswerSet
    rows: np.ndarray

    @property
    def p(self) -> np.ndarray:
        """texts x answers: the probability of each answer, over all of its spellings."""
        return np.exp(self.rows[:, 2:])

    @property
    def answered(self) -> np.ndarray:
        """The probability that the model answers with one of the answers at all."""
        return np.asarray(self.p.sum(axis=1))

    @property
    def samples(self) -> np.ndarray:
        """How many answers were sampled; 0 where the probabilities are exact, 1 for an answer that never varies."""
        return np.asarray(self.rows[:, 0])

    @property
    def refusals(self) -> np.ndarray:
        """How many of the sampled answers refuse."""
        return np.asarray(self.rows[:, 1])

    @property
    def shares(self) -> np.ndarray:
        """texts x answers: p(answer) / answered; NaN where nothing was answered."""
        with np.errstate(invalid="ignore"):
            return np.asarray(self.p / self.answered[:, None])

    @property
    def log_odds(self) -> np.ndarray:
        """log p(first answer) - log p(second answer), such as yes against no, or A against B.

        From counts k and m of samples: log((k + 1/2) / (m + 1/2)).
        """
        with np.errstate(invalid="ignore"):
            exact = self.rows[:, 2] - self.rows[:, 3]
        counts = self.p * self.samples[:, None] + HALF_AN_ANSWER
        return np.where(self.samples > 0, np.log(counts[:, 0] / counts[:, 1]), exact)

    @property
    def expected_number(self) -> np.ndarray:
        """The mean of the numbers, weighted by their shares; NaN where no number was answered."""
        return np.asarray(self.shares @ np.array([int(word) for word in self.answers.words], dtype=float))


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
        if p.shape == () and len(words) == 2:  # the probability of the first answer
            p = np.array([p, 1 - p])
        if p.shape != (len(words),):
            self._refuse(
                f"returned numbers of shape {p.shape}", prompts, index, f"Return one for each of {', '.join(words)}"
            )
        if not ((p >= -RANGE_TOLERANCE).all() and p.sum() <= 1 + RANGE_TOLERANCE):
            self._refuse(f"returned {p}", prompts, index, "Probabilities are at least 0 and sum to at most 1")
        with np.errstate(divide="ignore"):
            return np.array([0, 0, *np.log(np.clip(p, 0.0, 1.0))])
