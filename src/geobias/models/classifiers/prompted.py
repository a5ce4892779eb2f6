"""Any language model as a classifier: it is asked for the label of a text in words.

    Classify the text as negative, neutral or positive.
    Text: {text}
    Answer: positive                    <- how likely is this word here, beside the other labels' words?

p(label) is log P of the label's whole word, all of its tokens, made to sum to one over the labels. Models favour some
words before they have read anything; with `calibrate` each word's log P after the prompt with an empty text is
subtracted (Zhao et al. 2021). A chat model gets the prompt as a user's message, and the word begins its answer.
The same model gives the perplexity of the texts: `base` names it.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from geobias.errors import InputError
from geobias.models.scorer import StreamingScorer, probability_columns
from geobias.texts.templates import MARK_END, MARK_START, mark

TEXT = "{text}"
SPARE = 4  # tokens: a text inside a prompt may be cut into a few more than alone


@dataclass(frozen=True)
class Prompt:
    """How a model is asked for a label: the prompt, and for each label the word that stands for it."""

    words: Mapping[str, str]
    template: str
    calibrate: bool = False

    @property
    def labels(self) -> tuple[str, ...]:
        return tuple(self.words)

    @property
    def settings(self) -> dict[str, Any]:
        return {"template": self.template, "words": dict(self.words), "calibrate": self.calibrate}


def asked_for(labels: str | None, prompt: str | None, calibrate: bool) -> Prompt | None:
    """From the options of the command line; a prompt may be the name of a file that holds it."""
    if labels is None:
        if prompt is not None or calibrate:
            raise InputError("--prompt and --calibrate need --labels: what shall the model choose from?")
        return None
    if prompt is not None and TEXT not in prompt:
        with suppress(OSError, UnicodeDecodeError):  # no file, or none that holds a prompt
            prompt = Path(prompt).read_text(encoding="utf-8").removesuffix("\n")
    return prompt_for(labels, prompt, calibrate=calibrate)


def prompt_for(labels: str, template: str | None = None, *, calibrate: bool = False) -> Prompt:
    """From what a user writes: "negative,positive", or with other words for them "negative=bad,positive=good"."""
    words: dict[str, str] = {}
    for given in labels.split(","):
        label, _, word = (part.strip() for part in given.partition("="))
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


def refuse_unused(prompt: Prompt | None, classifiers: Sequence[Any]) -> None:
    """Refuse labels for models that have their own."""
    if prompt is not None and not any(hasattr(classifier, "prompt") for classifier in classifiers):
        names = ", ".join(classifier.name for classifier in classifiers)
        raise InputError(f"--labels are for language models, and there is none among {names}: leave them out.")


def needed(prompt: Prompt | None, name: str) -> Prompt:
    """The prompt, without which a language model is no classifier."""
    if prompt is None:
        raise InputError(
            f"{name} is a language model: say which labels it shall choose from, as in --labels "
            "negative,neutral,positive; or give a classifier."
        )
    return prompt


class PromptedClassifier(StreamingScorer):
    """A language model and a prompt; columns: p(label) for each label, and the tokens of the text cut off."""

    multi_label = False

    def __init__(self, lm: Any, prompt: Prompt) -> None:
        self.lm = lm
        self.prompt = prompt
        self.name = lm.name
        self.base: str | None = lm.name
        self.labels = prompt.labels
        self.columns = probability_columns(self.labels)
        self.scorer = lm.scorer(lm.prompted_method)
        self.chats = bool(getattr(getattr(lm, "tokenizer", None), "chat_template", None))
        if self.chats:  # the template writes all special tokens, that which begins a text among them
            self.scorer.begin, self.scorer.has_special = [], True
        self.paid = getattr(self.scorer, "paid", False)
        self.before, self.after = self._around_text()
        self.room = self._room_for_text()
        self.log_prior = None if prompt.calibrate else np.zeros(len(self.labels))

    def to(self, device: str) -> None:
        self.lm.to(device)
        if self.prompt.calibrate:
            self.log_prior = None  # in half precision each device rounds in its own way

    @property
    def fast_parts(self) -> tuple[str, ...]:
        """The parts of the fast path that the language model uses."""
        return tuple(getattr(self.lm, "fast_parts", ()))

    @property
    def fingerprint(self) -> str | None:
        own = self.scorer.fingerprint
        return None if own is None else self._fingerprint(own)

    def likely_fingerprints(self) -> list[str]:
        """That of the served model that answered last; no call is made."""
        return [self._fingerprint(own) for own in self.lm.likely_fingerprints(self.scorer.method)[:1]]

    def ask_before(self, asked: Callable[[Any, Sequence[str]], np.ndarray]) -> None:
        """What calibration takes, asked through a store: paid once, not at every start."""
        if self.log_prior is None:
            rows = asked(self.scorer, self._sentences(""))
            self.log_prior = np.asarray(rows[:, 0] * rows[:, 1])

    def batches(self, texts: Sequence[str]) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Texts as soon as all of their labels are known."""
        self.ask_before(lambda scorer, sentences: scorer.score(sentences))
        kept, cut = self._cut_to_fit(texts)
        labels = len(self.labels)
        found, answered = np.empty((len(texts), labels)), np.zeros((len(texts), labels), dtype=bool)
        for some, rows in self.scorer.batches([sentence for text in kept for sentence in self._sentences(text)]):
            at = some // labels, some % labels
            found[at], answered[at] = rows[:, 0] * rows[:, 1], True
            touched = np.unique(some // labels)
            whole = touched[answered[touched].all(axis=1)]
            if len(whole):
                yield whole, np.column_stack([self._probabilities(found[whole]), cut[whole]])

    def _sentences(self, text: str) -> list[str]:
        """The prompt with this text, answered by each label's word, which is what counts."""
        clean = text.replace(MARK_START, "").replace(MARK_END, "")
        if self.chats:  # a text that says "<|im_end|>" must not end the message
            for token in self.lm.tokenizer.all_special_tokens:
                clean = clean.replace(token, f"{token[0]} {token[1:]}")
        return [f"{self.before}{clean}{self.after}{mark(word)}" for word in self.prompt.words.values()]

    def _probabilities(self, log_likelihoods: np.ndarray) -> np.ndarray:
        values = log_likelihoods - self.log_prior
        odds = np.exp(values - values.max(axis=1, keepdims=True))
        return np.asarray(odds / odds.sum(axis=1, keepdims=True))

    def _fingerprint(self, own: str) -> str:
        asked = (self.chats, self.before, self.after, dict(self.prompt.words), self.prompt.calibrate)
        return f"{own}:prompted:{hashlib.sha256(repr(asked).encode()).hexdigest()[:32]}"

    def _around_text(self) -> tuple[str, str]:
        """What stands before the text, and between it and the label's word."""
        if self.chats:
            message = [{"role": "user", "content": self.prompt.template}]
            asked = self.lm.tokenizer.apply_chat_template(
                message, tokenize=False, add_generation_prompt=True, enable_thinking=False
            )
            before, found, after = asked.partition(TEXT)
            if not found:
                raise InputError(f"The chat template of {self.name} does not show the prompt: it cannot be asked so.")
            return before, after
        before, after = self.prompt.template.split(TEXT)
        return before, after if after[-1:].isspace() else f"{after} "

    def _room_for_text(self) -> int:
        """How many tokens of a text fit into what the model can read; without limit where nobody knows."""
        tokenizer = getattr(self.lm, "tokenizer", None)
        if tokenizer is None:
            return sys.maxsize
        longest = max(len(tokenizer(sentence.replace(MARK_START, ""))["input_ids"]) for sentence in self._sentences(""))
        room = int(self.lm.max_length) - longest - SPARE
        if room < 1:
            raise InputError(
                f"The prompt is longer than {self.name} can read ({self.lm.max_length} tokens): shorten it."
            )
        return room

    def _cut_to_fit(self, texts: Sequence[str]) -> tuple[list[str], np.ndarray]:
        """The texts, cut so that the prompt around them stays whole, and how many tokens each lost."""
        kept, cut = list(texts), np.zeros(len(texts))
        long = [i for i, text in enumerate(texts) if len(text.encode()) > self.room]
        if long:
            encodings = self.lm.tokenizer([texts[i] for i in long], add_special_tokens=False).encodings
            for i, encoding in zip(long, encodings, strict=True):
                if len(encoding.ids) > self.room:
                    kept[i] = texts[i][: encoding.offsets[self.room - 1][1]]
                    cut[i] = len(encoding.ids) - self.room
        return kept, cut
