"""Language models behind a server: how likely is this text, by the server's own log-probabilities?

| method | what |
|---|---|
| mean | log P of each token given those before it, the mean over the text's tokens |
| sum | their sum: log P of the whole text |
| conditional | the mean over the tokens of the marked part alone, given all that stands before it |

The first token has a number only after something else: after `begin` (the token that begins a text, such as `<s>`, for
models whose server adds none). Else it is not counted; the column `tokens` says how many were.

At the first call the server is probed: what it can, whether its numbers stand at their own tokens, which model answers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property

import numpy as np

from geobias.errors import InputError
from geobias.models.scorer import LOG_LIKELIHOOD, AnyLanguageModel, MethodScorer, ModelIdentity, ScoreBlock
from geobias.models.served.completions import Token
from geobias.models.served.dictation import Heard
from geobias.models.served.endpoint import Endpoint, Line, Question
from geobias.models.served.identity import known_identities, which_model
from geobias.models.served.probe import Span, Ways, find_ways
from geobias.texts.templates import unmark


class ServedLM(AnyLanguageModel):
    """A language model behind an endpoint. `begin` is sent before every text and never counts."""

    methods = ("mean", "sum", "conditional")
    default_method = "mean"
    perplexity_method = "mean"
    prompted_method = "conditional"

    def __init__(self, endpoint: Endpoint, *, begin: str = "") -> None:
        self.endpoint = endpoint
        self.name = endpoint.model
        self.begin = begin

    @property
    def url(self) -> str:
        return self.endpoint.url

    def scorer(self, method: str | None = None) -> ServedScorer:
        return ServedScorer(self, method or self.default_method)

    @cached_property
    def ways(self) -> Ways:
        """How this server can be asked; found out at the first use."""
        return find_ways(self.endpoint, self.begin)

    @cached_property
    def identity(self) -> str:
        """Which model answers under this name."""
        return which_model(self._place, self.ways.numbers)

    @property
    def _place(self) -> tuple[str, str, str]:
        return self.url, self.name, self.begin

    def fingerprint_of(self, method: str, identity: str | None = None) -> str:
        return f"{identity or self.identity}:{method}:served"

    def describe(self, score: str, fingerprint: str | None) -> ModelIdentity:
        return ModelIdentity(
            self.name, score, fingerprint, endpoint=self.url, asked_by=self.ways.name, begin=self.begin
        )

    def known_fingerprints(self, method: str) -> list[str]:
        """Those of the models that answered here before, the last one first; no call is made."""
        return [self.fingerprint_of(method, identity) for identity in known_identities(self._place)]


class ServedScorer(MethodScorer):
    """One way of asking one served model; columns beside the score: tokens counted."""

    lm: ServedLM
    columns = (LOG_LIKELIHOOD, "tokens")
    paid = True

    def __init__(self, lm: ServedLM, method: str) -> None:
        if method not in lm.methods:
            raise InputError(f"Unknown score {method!r} for a served model: choose one of {', '.join(lm.methods)}.")
        self.lm = lm
        self.method = method
        self.needs_mark = self.looks_back_only = method == "conditional"

    @property
    def fingerprint(self) -> str:
        return self.lm.fingerprint_of(self.method)

    def known_fingerprints(self) -> list[str]:
        """Return the fingerprints of the models that answered here before, the last one first. No call is made."""
        return self.lm.known_fingerprints(self.method)

    def batches(self, texts: Sequence[str]) -> Iterator[ScoreBlock]:
        ways, heard = self.lm.ways, Heard()
        shares = [range(at, min(at + ways.prompts, len(texts))) for at in range(0, len(texts), ways.prompts)]

        def question(share: range) -> Question[tuple[np.ndarray, np.ndarray]]:
            async def answer(line: Line) -> tuple[np.ndarray, np.ndarray]:
                spans = [self._span(texts[i]) for i in share]
                found = await ways.tokens(line, spans, heard)
                return np.array(share), np.array([self._row(*one) for one in zip(found, spans, strict=True)])

            return answer

        yield from self.lm.endpoint.answers(question(share) for share in shares)

    def _span(self, text: str) -> Span:
        plain, start, end = unmark(text)
        if not self.needs_mark:
            start, end = 0, len(plain)
        before = len(self.lm.begin)
        return self.lm.begin + plain, before + start, before + end

    def _row(self, tokens: Sequence[Token], span: Span) -> tuple[float, int]:
        _, first, last = span
        numbers = [
            token.log_p for token in tokens if token.log_p is not None and token.start < last and token.end > first
        ]
        if not numbers:
            return np.nan, 0  # no token, no score
        return (sum(numbers) if self.method == "sum" else sum(numbers) / len(numbers)), len(numbers)
