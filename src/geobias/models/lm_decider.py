"""A language model as a decider: log P of each answer after the question, over all spellings that differ in tokens.

| kind | what is read |
|---|---|
| causal, GGUF | the question and "Answer:", or the chat template; then the answer |
| sequence-to-sequence | the encoder reads the question; the decoder writes the answer |
| masked | "... Answer: [MASK]." |
| served with likelihoods | as causal, without a chat template |
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from geobias.checks import shorten
from geobias.errors import InputError
from geobias.models.answers import AnswerSet, Decider
from geobias.models.prompted import PromptReader
from geobias.models.scorer import AnyLanguageModel, ModelIdentity, ScoreBlock
from geobias.texts.templates import unmark

LOG_ODDS = "log_odds"
ANSWER_METHOD = "answer"  # of encoder-decoders, which write the answer by itself


class LMDecider(PromptReader, Decider):
    """A language model and the answers to choose from."""

    version = 1  # of what is made of the language model's scores, which have a version of their own
    lm: AnyLanguageModel

    def __init__(self, lm: AnyLanguageModel, answers: AnswerSet, *, system: str | None = None) -> None:
        if lm.prompted_method is None:
            raise InputError(f"{lm.name} returns likelihoods of whole texts and cannot be asked for an answer.")
        self.answers, self.columns = answers, answers.columns
        self.fills_mask = "pll" in lm.methods
        self.end = "." if self.fills_mask else ""
        is_chat = lm.tokenizer is not None and bool(lm.tokenizer.chat_template)
        super().__init__(lm, answers.message if is_chat else answers.template, [answers.words[0]], system=system)
        self.spellings = [self._distinct_spellings(answers.spellings(word)) for word in answers.words]
        self._refuse_equal_answers()
        # Those of one token first: a causal model reads the same for all of them, and no more for the next.
        pairs = [(len(tokens), k, spelling) for k, group in enumerate(self.spellings) for spelling, tokens in group]
        pairs.sort(key=lambda pair: pair[0])
        self.continuations = [spelling for _, _, spelling in pairs]
        self.owners = np.array([k for _, k, _ in pairs])

    def identity(self) -> ModelIdentity:
        settings = {"template": self.template, "system": self.system, "words": list(self.answers.words)}
        return replace(self.lm.describe(LOG_ODDS, self.fingerprint), prompt=settings)

    def batches(self, texts: Sequence[str]) -> Iterator[ScoreBlock]:
        for positions, log_p, _ in self.read(texts):
            columns = [np.logaddexp.reduce(log_p[:, self.owners == k], axis=1) for k in range(len(self.spellings))]
            answers = np.column_stack(columns)
            exact = np.where(np.isnan(answers).any(axis=1), np.nan, 0.0)  # a text without a score has no row
            yield positions, np.column_stack([exact, exact, answers])

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
        reader: Any = (
            self.scorer if hasattr(self.scorer, "encode") else self.lm
        )  # causal scorers begin texts their own way
        encoding = reader.encode([text])[0][0]
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

    def _refuse_equal_answers(self) -> None:
        groups = [{tokens for _, tokens in group} for group in self.spellings]
        if self.lm.tokenizer is not None and (not all(groups) or len(set().union(*groups)) < sum(map(len, groups))):
            raise InputError(
                f"{self.name} writes the answers {', '.join(self.answers.words)} with the same tokens, or cannot write "
                "them. Use another model."
            )

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

    def _fingerprint(self, lm_fingerprint: str) -> str:
        settings = (self.uses_chat_template, self.before, self.after, self.end, self.answers.words, self.continuations)
        return f"{lm_fingerprint}:decider:{self.version}:{hashlib.sha256(repr(settings).encode()).hexdigest()[:32]}"
