"""How likely is each of a few continuations after a prompt that holds a text? For any language model.

The prompt is a template with `{text}`. A chat model gets it as a user's message, after a system message if there is
one, and the continuation begins its answer. Classifiers by prompt and deciders read models in this way.
"""

from __future__ import annotations

import sys
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any, cast

import numpy as np

from geobias.errors import InputError
from geobias.models.scorer import AnyLanguageModel, StreamingScorer
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
