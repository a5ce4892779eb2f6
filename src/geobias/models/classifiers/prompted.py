"""Any language model as a classifier, by a prompt.

    Classify the text as negative, neutral or positive.
    Text: {text}
    Answer: positive                    <- how likely is this word here, compared with the other labels' words?

p(label) is P of the label's whole word, all of its tokens, normalised over the labels. Models favour some words
whatever the text; with `calibrate`, each word's log P after the prompt with an empty text is subtracted (Zhao et al.
2021). A chat model gets the prompt as a user's message, and the word begins its answer. The same model gives the
perplexity of the texts: `base` names it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from geobias.errors import InputError
from geobias.models.prompt_reader import TEXT, PromptReader
from geobias.models.scorer import (
    PROBABILITIES,
    AnyLanguageModel,
    Classifier,
    ModelIdentity,
    ScoreBlock,
    ScoreTexts,
    probability_columns,
)


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
    """Make a prompt from --labels, --prompt (a text, or a file that holds it) and --calibrate; None without labels."""
    if labels is None:
        if prompt is not None or calibrate:
            raise InputError("--prompt and --calibrate need --labels: the labels to choose from.")
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


class PromptedClassifier(PromptReader, Classifier):
    """A language model and a prompt. The column "cut" counts the tokens cut off the text inside the prompt."""

    version = 1  # of what is made of the language model's scores, which have a version of their own
    is_prompted = True
    lm: AnyLanguageModel

    def __init__(self, lm: AnyLanguageModel, prompt: Prompt) -> None:
        self.prompt = prompt
        self.labels = prompt.labels
        self.columns = probability_columns(self.labels)
        super().__init__(lm, prompt.template, list(prompt.words.values()))
        self.base, self.tokenizer = lm.name, lm.tokenizer
        self.log_prior = None if prompt.calibrate else np.zeros(len(self.labels))

    def to(self, device: str) -> None:
        super().to(device)
        if self.prompt.calibrate:
            self.log_prior = None  # in half precision each device rounds in its own way

    def identity(self) -> ModelIdentity:
        return replace(self.lm.describe(PROBABILITIES, self.fingerprint), prompt=self.prompt.settings)

    def prepare(self, score_texts: ScoreTexts) -> None:
        """Calibrate through the store: it is paid once, not at every start."""
        if self.log_prior is None:
            rows = score_texts(self.scorer, self._sentences(""))
            self.log_prior = np.asarray(rows[:, 0] * rows[:, 1])

    def batches(self, texts: Sequence[str]) -> Iterator[ScoreBlock]:
        """Yield each text as soon as all of its labels are scored."""
        self.prepare(lambda scorer, sentences: scorer.score(sentences))
        for positions, log_likelihoods, cut in self.read(texts):
            yield positions, np.column_stack([self._probabilities(log_likelihoods), cut])

    def _probabilities(self, log_likelihoods: np.ndarray) -> np.ndarray:
        values = log_likelihoods - self.log_prior
        odds = np.exp(values - values.max(axis=1, keepdims=True))
        return np.asarray(odds / odds.sum(axis=1, keepdims=True))

    def _fingerprint(self, lm_fingerprint: str) -> str:
        settings = (self.uses_chat_template, self.before, self.after, dict(self.prompt.words), self.prompt.calibrate)
        return f"{lm_fingerprint}:prompted:{self.version}:{hashlib.sha256(repr(settings).encode()).hexdigest()[:32]}"

    def _split_prompt(self) -> tuple[str, str]:
        """Return the prompt before the text, and between the text and the label's word."""
        before, after = super()._split_prompt()
        return before, after if self.uses_chat_template or after[-1:].isspace() else f"{after} "
