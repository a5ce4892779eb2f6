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
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from geobias.errors import InputError
from geobias.models.scorer import (
    PROBABILITIES,
    AnyLanguageModel,
    Classifier,
    ModelIdentity,
    ScoreBlock,
    ScoreTexts,
    StreamingScorer,
    probability_columns,
)
from geobias.texts.templates import MARK_END, MARK_START, mark

TEXT = "{text}"
SPARE_TOKENS = 4  # a text inside a prompt may be split into a few more tokens than alone


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
            raise InputError("--prompt and --calibrate need --labels: what shall the model choose from?")
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
            raise InputError(f"The labels {labels!r} must have a name each, and differ: negative,neutral,positive.")
        words[label] = word or label
    if len(words) < 2 or len(set(words.values())) < len(words):
        raise InputError(f"The labels {labels!r} must be two or more, with a word of its own each.")
    if template is None:
        *first, last = words.values()
        template = f"Classify the text as {', '.join(first)} or {last}.\nText: {TEXT}\nAnswer:"
    if template.count(TEXT) != 1:
        raise InputError(f"The prompt {template!r} must hold {TEXT} once, where the text goes.")
    return Prompt(words, template, calibrate)


def refuse_unused_prompt(prompt: Prompt | None, classifiers: Sequence[Classifier]) -> None:
    """Refuse labels for classifiers that have their own."""
    if prompt is not None and not any(classifier.is_prompted for classifier in classifiers):
        names = ", ".join(classifier.name for classifier in classifiers)
        raise InputError(f"--labels are for language models, and there is none among {names}: leave them out.")


def require_prompt(prompt: Prompt | None, name: str) -> Prompt:
    """Return the prompt; refuse to use a language model as a classifier without one."""
    if prompt is None:
        raise InputError(
            f"{name} is a language model: say which labels it shall choose from, as in --labels "
            "negative,neutral,positive; or give a classifier."
        )
    return prompt


class PromptedClassifier(Classifier, StreamingScorer):
    """A language model and a prompt. The column "cut" counts the tokens cut off the text inside the prompt."""

    is_prompted = True
    lm: AnyLanguageModel

    def __init__(self, lm: AnyLanguageModel, prompt: Prompt) -> None:
        self.lm = lm
        self.prompt = prompt
        self.name = lm.name
        self.base = lm.name
        self.labels = prompt.labels
        self.columns = probability_columns(self.labels)
        self.scorer: Any = lm.scorer(lm.prompted_method)
        self.paid = self.scorer.paid
        self.uses_chat_template = lm.tokenizer is not None and bool(lm.tokenizer.chat_template)
        if self.uses_chat_template:
            self._leave_special_tokens_to_template()
        self.before, self.after = self._split_prompt()
        self.room = self._room_for_text()
        self.log_prior = None if prompt.calibrate else np.zeros(len(self.labels))

    def to(self, device: str) -> None:
        self.scorer.to(device)
        if self.prompt.calibrate:
            self.log_prior = None  # in half precision each device rounds in its own way

    @property
    def fast_parts(self) -> tuple[str, ...]:
        """The parts of the fast path that the language model uses."""
        return self.scorer.fast_parts

    @property
    def fingerprint(self) -> str | None:
        lm_fingerprint = self.scorer.fingerprint
        return None if lm_fingerprint is None else self._fingerprint(lm_fingerprint)

    def identity(self) -> ModelIdentity:
        return replace(self.lm.describe(PROBABILITIES, self.fingerprint), prompt=self.prompt.settings)

    def known_fingerprints(self) -> list[str]:
        """Return the fingerprint of the served model that answered last, if any. No call is made."""
        return [self._fingerprint(known) for known in self.scorer.known_fingerprints()[:1]]

    def prepare(self, score_texts: ScoreTexts) -> None:
        """Calibrate through the store: it is paid once, not at every start."""
        if self.log_prior is None:
            rows = score_texts(self.scorer, self._sentences(""))
            self.log_prior = np.asarray(rows[:, 0] * rows[:, 1])

    def batches(self, texts: Sequence[str]) -> Iterator[ScoreBlock]:
        """Yield each text as soon as all of its labels are scored."""
        self.prepare(lambda scorer, sentences: scorer.score(sentences))
        short_texts, cut = self._cut_to_fit(texts)
        count = len(self.labels)
        log_likelihoods, is_known = np.empty((len(texts), count)), np.zeros((len(texts), count), dtype=bool)
        sentences = [sentence for text in short_texts for sentence in self._sentences(text)]
        for positions, rows in self.scorer.batches(sentences):
            text, label = positions // count, positions % count
            log_likelihoods[text, label], is_known[text, label] = rows[:, 0] * rows[:, 1], True
            new_texts = np.unique(text)
            complete = new_texts[is_known[new_texts].all(axis=1)]
            if len(complete):
                yield complete, np.column_stack([self._probabilities(log_likelihoods[complete]), cut[complete]])

    def _sentences(self, text: str) -> list[str]:
        """Return the prompt with this text, answered by each label's word, which is marked."""
        plain = text.replace(MARK_START, "").replace(MARK_END, "")
        if self.uses_chat_template:  # a text that says "<|im_end|>" must not end the message
            for token in self.lm.tokenizer.all_special_tokens:
                plain = plain.replace(token, f"{token[0]} {token[1:]}")
        return [f"{self.before}{plain}{self.after}{mark(word)}" for word in self.prompt.words.values()]

    def _probabilities(self, log_likelihoods: np.ndarray) -> np.ndarray:
        values = log_likelihoods - self.log_prior
        odds = np.exp(values - values.max(axis=1, keepdims=True))
        return np.asarray(odds / odds.sum(axis=1, keepdims=True))

    def _fingerprint(self, lm_fingerprint: str) -> str:
        settings = (self.uses_chat_template, self.before, self.after, dict(self.prompt.words), self.prompt.calibrate)
        return f"{lm_fingerprint}:prompted:{hashlib.sha256(repr(settings).encode()).hexdigest()[:32]}"

    def _leave_special_tokens_to_template(self) -> None:
        """A chat template writes all special tokens, also the one that begins a text."""
        self.scorer.begin, self.scorer.has_special = [], True

    def _split_prompt(self) -> tuple[str, str]:
        """Return what stands before the text, and between it and the label's word."""
        if self.uses_chat_template:
            message = [{"role": "user", "content": self.prompt.template}]
            conversation = self.lm.tokenizer.apply_chat_template(
                message, tokenize=False, add_generation_prompt=True, enable_thinking=False
            )
            before, separator, after = conversation.partition(TEXT)
            if not separator:
                raise InputError(f"The chat template of {self.name} does not show the prompt: it cannot be asked so.")
            return before, after
        before, after = self.prompt.template.split(TEXT)
        return before, after if after[-1:].isspace() else f"{after} "

    def _room_for_text(self) -> int:
        """Return how many tokens of a text fit into what the model can read; a server does not say."""
        tokenizer = self.lm.tokenizer
        if tokenizer is None:
            return sys.maxsize
        longest = max(len(tokenizer(sentence.replace(MARK_START, ""))["input_ids"]) for sentence in self._sentences(""))
        room = self.lm.max_length - longest - SPARE_TOKENS
        if room < 1:
            raise InputError(
                f"The prompt is longer than {self.name} can read ({self.lm.max_length} tokens): shorten it."
            )
        return room

    def _cut_to_fit(self, texts: Sequence[str]) -> tuple[list[str], np.ndarray]:
        """Cut texts so that the prompt around them stays whole; return them, and how many tokens each lost."""
        short_texts, cut = list(texts), np.zeros(len(texts))
        long = [i for i, text in enumerate(texts) if len(text.encode()) > self.room]
        if long:
            encodings = self.lm.tokenizer([texts[i] for i in long], add_special_tokens=False).encodings
            for i, encoding in zip(long, encodings, strict=True):
                if len(encoding.ids) > self.room:
                    short_texts[i] = texts[i][: encoding.offsets[self.room - 1][1]]
                    cut[i] = len(encoding.ids) - self.room
        return short_texts, cut
