"""Language models asked by a prompt: how likely is each of a few answers after a prompt that holds a text?

    Classify the text as negative, neutral or positive.
    Text: {text}
    Answer: positive                    <- how likely is this word here, compared with the other labels' words?

A chat model gets the prompt as a user's message, after a system message if there is one, and the answer begins its
reply. A set of labels is a set of answers: a classifier and a decider read a model in the same way.

- `PromptedClassifier`: p(label) is P of the label's whole word, all of its tokens, normalised over the labels. Models
  favour some words whatever the text; with `calibrate`, each word's log P after the prompt with an empty text is
  subtracted (Zhao et al. 2021).
- `LMDecider`: log P of each answer over all spellings that differ in tokens.

| model | what is read |
|---|---|
| causal, GGUF | the prompt, or the chat template; then the answer |
| sequence-to-sequence | the encoder reads the prompt; the decoder writes the answer |
| masked | "... Answer: [MASK]." |
| served with likelihoods | as causal, without a chat template |
"""

from __future__ import annotations

import hashlib
import sys
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, ClassVar, cast

import numpy as np

from geobias.checks import shorten
from geobias.errors import InputError
from geobias.models.answers import TEXT, AnswerSet, Decider, Prompt
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
from geobias.texts.templates import MARK_END, MARK_START, mark, unmark

SPARE_TOKENS = 4  # a text inside a prompt may be split into a few more tokens than alone
LOG_ODDS = "log_odds"
ANSWER_METHOD = "answer"  # of encoder-decoders, which write the answer by itself


class PromptReader(StreamingScorer):
    """A language model, a prompt around each text, and the answers to choose from, each in one or more spellings."""

    kind: ClassVar[str]
    version: ClassVar[int]  # of what is made of the language model's scores, which have a version of their own
    end = ""  # what follows an answer

    def __init__(self, lm: AnyLanguageModel, template: str, *, system: str | None = None) -> None:
        self.lm, self.name, self.template, self.system = lm, lm.name, template, system
        self.scorer = cast(Any, lm.scorer(lm.prompted_method))
        self.paid, self.has_digest = self.scorer.paid, self.scorer.has_digest
        self.uses_chat_template = _is_chat(lm)
        if self.uses_chat_template:
            self.scorer.begin, self.scorer.has_special = [], True  # the template writes all special tokens
        self.before, self.after = self._split_prompt()
        self.owners, self.continuations = map(list, zip(*self._list_continuations(), strict=True))
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

    def batches(self, texts: Sequence[str]) -> Iterator[ScoreBlock]:
        """Yield each text as soon as all continuations of its prompt are scored, with all of their tokens."""
        self.prepare(lambda scorer, sentences: scorer.score(sentences))
        short_texts, cut = self._cut_to_fit(texts)
        count = len(self.continuations)
        log_p, is_known = np.empty((len(texts), count)), np.zeros((len(texts), count), dtype=bool)
        sentences = [sentence for text in short_texts for sentence in self._sentences(text)]
        for positions, rows in self.scorer.batches(sentences):
            text, continuation = positions // count, positions % count
            log_p[text, continuation] = rows[:, 0] * rows[:, 1]
            is_known[text, continuation] = True
            new_texts = np.unique(text)
            complete = new_texts[is_known[new_texts].all(axis=1)]
            if len(complete):
                yield complete, self._make_rows(log_p[complete], cut[complete])

    @abstractmethod
    def _list_continuations(self) -> list[tuple[int, str]]:
        """How the prompt may go on, and the number of the answer that this spells."""

    @abstractmethod
    def _make_rows(self, log_p: np.ndarray, cut: np.ndarray) -> np.ndarray:
        """The scores of texts from texts x continuations of log P, and the tokens cut off each text."""

    @abstractmethod
    def _settings(self) -> tuple[Any, ...]:
        """What the scores depend on besides the model and the prompt around a text."""

    def _fingerprint(self, lm_fingerprint: str) -> str:
        """What scores are stored under, from the fingerprint of the language model's scores."""
        settings = repr((self.uses_chat_template, self.before, self.after, *self._settings()))
        return f"{lm_fingerprint}:{self.kind}:{self.version}:{hashlib.sha256(settings.encode()).hexdigest()[:32]}"

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


def _is_chat(lm: AnyLanguageModel) -> bool:
    return lm.tokenizer is not None and bool(lm.tokenizer.chat_template)


class PromptedClassifier(PromptReader, Classifier):
    """A language model and a prompt. The column "cut" counts the tokens cut off the text inside the prompt."""

    kind, version = "prompted", 1
    is_prompted = True
    lm: AnyLanguageModel

    def __init__(self, lm: AnyLanguageModel, prompt: Prompt) -> None:
        self.prompt = prompt
        self.labels = prompt.labels
        self.columns = probability_columns(self.labels)
        super().__init__(lm, prompt.template)
        self.tokenizer = lm.tokenizer
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

    def _list_continuations(self) -> list[tuple[int, str]]:
        return list(enumerate(self.prompt.words.values()))

    def _make_rows(self, log_p: np.ndarray, cut: np.ndarray) -> np.ndarray:
        values = log_p - self.log_prior
        odds = np.exp(values - values.max(axis=1, keepdims=True))
        return np.column_stack([odds / odds.sum(axis=1, keepdims=True), cut])

    def _settings(self) -> tuple[Any, ...]:
        return dict(self.prompt.words), self.prompt.calibrate

    def _split_prompt(self) -> tuple[str, str]:
        """Return the prompt before the text, and between the text and the label's word."""
        before, after = super()._split_prompt()
        return before, after if self.uses_chat_template or after[-1:].isspace() else f"{after} "


class LMDecider(PromptReader, Decider):
    """A language model and the answers to choose from."""

    kind, version = "decider", 1
    lm: AnyLanguageModel

    def __init__(self, lm: AnyLanguageModel, answers: AnswerSet, *, system: str | None = None) -> None:
        if lm.prompted_method is None:
            raise InputError(f"{lm.name} returns likelihoods of whole texts and cannot be asked for an answer.")
        self.answers, self.columns = answers, answers.columns
        self.fills_mask = "pll" in lm.methods
        self.end = "." if self.fills_mask else ""
        super().__init__(lm, answers.message if _is_chat(lm) else answers.template, system=system)

    def identity(self) -> ModelIdentity:
        settings = {"template": self.template, "system": self.system, "words": list(self.answers.words)}
        return replace(self.lm.describe(LOG_ODDS, self.fingerprint), prompt=settings)

    def _make_rows(self, log_p: np.ndarray, cut: np.ndarray) -> np.ndarray:
        owners = np.array(self.owners)
        columns = [np.logaddexp.reduce(log_p[:, owners == k], axis=1) for k in range(len(self.answers.words))]
        exact = np.where(np.isnan(columns).any(axis=0), np.nan, 0.0)  # a text without a score has no row
        return np.column_stack([exact, exact, *columns])

    def _settings(self) -> tuple[Any, ...]:
        return self.end, self.answers.words, self.continuations

    def _list_continuations(self) -> list[tuple[int, str]]:
        self.spellings = [self._distinct_spellings(self.answers.spellings(word)) for word in self.answers.words]
        groups = [{tokens for _, tokens in group} for group in self.spellings]
        if self.lm.tokenizer is not None and (not all(groups) or len(set().union(*groups)) < sum(map(len, groups))):
            raise InputError(
                f"{self.name} writes the answers {', '.join(self.answers.words)} with the same tokens, or cannot write "
                "them. Use another model."
            )
        # Those of one token first: a causal model reads the same for all of them, and no more for the next.
        pairs = [(len(tokens), k, spelling) for k, group in enumerate(self.spellings) for spelling, tokens in group]
        return [(k, spelling) for _, k, spelling in sorted(pairs, key=lambda pair: pair[0])]

    def _distinct_spellings(self, spellings: Sequence[str]) -> list[tuple[str, tuple[int, ...]]]:
        """Return spellings that the model can write behind the prompt, each with its tokens; equal tokens once.

        A spelling whose first letters merge with the end of the prompt into one token is no continuation of it, and
        one with a letter that the model does not know could be any word.
        """
        if self.lm.tokenizer is None:
            return [(spelling, ()) for spelling in spellings]
        distinct: dict[tuple[int, ...], str] = {}
        for spelling in spellings:
            if self.fills_mask and not spelling.startswith(" "):
                continue
            tokens = self._continuation_tokens(spelling)
            if tokens and self.lm.tokenizer.unk_token_id not in tokens:
                distinct.setdefault(tokens, spelling)
        return [(spelling, tokens) for tokens, spelling in distinct.items()]

    def _continuation_tokens(self, spelling: str) -> tuple[int, ...] | None:
        self.continuations = [spelling]
        text, start, end = unmark(self._sentences("")[0])
        if self.scorer.method == ANSWER_METHOD:
            text, start, end = text[start:end], 0, end - start
        # Causal scorers begin texts their own way.
        encoding = (self.scorer if hasattr(self.scorer, "encode") else cast(Any, self.lm)).encode([text])[0][0]
        tokens = []
        for token, (first, last), special in zip(
            encoding.ids, encoding.offsets, encoding.special_tokens_mask, strict=True
        ):
            if special or last <= start or first >= end:
                continue
            if first < start:
                return None
            tokens.append(token)
        return tuple(tokens)

    def _cut_to_fit(self, texts: Sequence[str]) -> tuple[list[str], np.ndarray]:
        """Refuse a text that is too long: the question stands at its end."""
        whole_texts = list(texts)
        _, cut = super()._cut_to_fit(whole_texts)
        if cut.any():
            text = whole_texts[int(np.argmax(cut))]
            raise InputError(
                f"The scenario {shorten(text)!r} is {int(cut.max())} tokens longer than {self.name} can read with the "
                "prompt. Shorten it."
            )
        return whole_texts, cut
