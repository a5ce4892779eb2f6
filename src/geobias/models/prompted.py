"""Prompts: how likely is each of a few continuations after a prompt that holds a text? For any language model.

    Classify the text as negative, neutral or positive.
    Text: {text}
    Answer: positive                    <- how likely is this word here, compared with the other labels' words?

A chat model gets the prompt as a user's message, after a system message if there is one, and the continuation begins
its answer. Deciders and classifiers by prompt read models in this way. p(label) is P of the label's whole word, all of
its tokens, normalised over the labels. Models favour some words whatever the text; with `calibrate`, each word's log P
after the prompt with an empty text is subtracted (Zhao et al. 2021).
"""

from __future__ import annotations

import hashlib
import sys
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

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

Readings = tuple[np.ndarray, np.ndarray, np.ndarray]  # positions, texts x continuations of log P, tokens cut off


class PromptReader(StreamingScorer):
    """A language model, a prompt around each text, and continuations of the prompt."""

    end = ""  # what follows a continuation

    def __init__(
        self, lm: AnyLanguageModel, template: str, continuations: Sequence[str], *, system: str | None = None
    ) -> None:
        self.lm, self.name = lm, lm.name
        self.template, self.system, self.continuations = template, system, continuations
        self.scorer = cast(Any, lm.scorer(lm.prompted_method))
        self.paid, self.has_digest = self.scorer.paid, self.scorer.has_digest
        self.uses_chat_template = lm.tokenizer is not None and bool(lm.tokenizer.chat_template)
        if self.uses_chat_template:
            self.scorer.begin, self.scorer.has_special = [], True  # the template writes all special tokens
        self.before, self.after = self._split_prompt()
        self.room = self._room_for_text()

    def to(self, device: str) -> None:
        self.scorer.to(device)

    @property
    def fast_parts(self) -> tuple[str, ...]:
        return cast(tuple[str, ...], self.scorer.fast_parts)

    @property
    def fingerprint(self) -> str | None:
        fingerprint = self.scorer.fingerprint
        return None if fingerprint is None else self._fingerprint(fingerprint)

    def known_fingerprints(self) -> list[str]:
        """Return the fingerprint of the served model that answered last, if any. No call is made."""
        return [self._fingerprint(known) for known in self.scorer.lm.known_fingerprints(self.scorer.method)[:1]]

    def read(self, texts: Sequence[str]) -> Iterator[Readings]:
        """Yield each text as soon as all continuations are scored: log P of the whole continuation, all its tokens."""
        short_texts, cut = self._cut_to_fit(texts)
        count = len(self.continuations)
        log_likelihoods, is_known = np.empty((len(texts), count)), np.zeros((len(texts), count), dtype=bool)
        sentences = [sentence for text in short_texts for sentence in self._sentences(text)]
        for positions, rows in self.scorer.batches(sentences):
            text, continuation = positions // count, positions % count
            log_likelihoods[text, continuation] = rows[:, 0] * rows[:, 1]
            is_known[text, continuation] = True
            new_texts = np.unique(text)
            complete = new_texts[is_known[new_texts].all(axis=1)]
            if len(complete):
                yield complete, log_likelihoods[complete], cut[complete]

    @abstractmethod
    def _fingerprint(self, lm_fingerprint: str) -> str:
        """What scores are stored under, from the fingerprint of the language model's scores."""

    def _sentences(self, text: str) -> list[str]:
        """Return the prompt with this text and each continuation, which is marked."""
        plain = text.replace(MARK_START, "").replace(MARK_END, "")
        if self.uses_chat_template:  # a text that says "<|im_end|>" must not end the message
            for token in self.lm.tokenizer.all_special_tokens:
                plain = plain.replace(token, f"{token[0]} {token[1:]}")
        prompt = f"{self.before}{plain}{self.after}"
        return [f"{prompt}{mark(continuation)}{self.end}" for continuation in self.continuations]

    def _split_prompt(self) -> tuple[str, str]:
        """Return the prompt before the text, and between the text and the continuation."""
        if not self.uses_chat_template:
            before, after = self.template.split(TEXT)
            return f"{self.system}\n\n{before}" if self.system else before, after
        conversation = self._write_conversation()
        before, separator, after = conversation.partition(TEXT)
        if not separator:
            raise InputError(f"The chat template of {self.name} does not contain the prompt. Use another model.")
        return before, after

    def _write_conversation(self) -> str:
        """Return the messages in the model's own chat template, up to where its answer begins."""
        import jinja2

        user, options = {"role": "user", "content": self.template}, {"tokenize": False, "enable_thinking": False}
        apply = self.lm.tokenizer.apply_chat_template
        messages = [{"role": "system", "content": self.system}, user] if self.system else [user]
        try:
            conversation = apply(messages, add_generation_prompt=True, **options)
        except jinja2.TemplateError:  # some templates have no system messages
            merged = {"role": "user", "content": f"{self.system}\n\n{self.template}"}
            conversation = apply([merged], add_generation_prompt=True, **options)
        return str(conversation)

    def _room_for_text(self) -> int:
        """Return how many tokens of a text fit into what the model can read; a server does not say."""
        tokenizer = self.lm.tokenizer
        if tokenizer is None:
            return sys.maxsize
        longest = max(len(tokenizer(sentence.replace(MARK_START, ""))["input_ids"]) for sentence in self._sentences(""))
        room = self.lm.max_length - longest - SPARE_TOKENS
        if room < 1:
            raise InputError(
                f"The prompt is longer than the context of {self.name} ({self.lm.max_length} tokens). Shorten it."
            )
        return room

    def _cut_to_fit(self, texts: Sequence[str]) -> tuple[list[str], np.ndarray]:
        """Cut texts so that the prompt around them stays whole; return them, and how many tokens each lost."""
        short_texts, cut = list(texts), np.zeros(len(texts))
        long = [i for i, text in enumerate(short_texts) if len(text.encode()) > self.room]
        if long:
            encodings = self.lm.tokenizer([short_texts[i] for i in long], add_special_tokens=False).encodings
            for i, encoding in zip(long, encodings, strict=True):
                if len(encoding.ids) > self.room:
                    short_texts[i] = short_texts[i][: encoding.offsets[self.room - 1][1]]
                    cut[i] = len(encoding.ids) - self.room
        return short_texts, cut


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
