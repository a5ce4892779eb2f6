"""A model behind a server as a decider.

Tried in this order:

1. chats with log-probabilities: the candidates for the first token of the answer, one call per text;
2. log-probabilities of texts (`ServedLM`), without a chat template;
3. chats without log-probabilities: answers are sampled at temperature 1 and counted, refusals too.

A candidate counts for an answer if it is the answer's word, in any spelling; where no candidate is, if the word begins
with it ("Ye" for "yes"). A spelling of several tokens is left out if others are one token ("YES" of SmolLM2 has 2.6 %
of the probability of yes). An answer that is not among the candidates gets the probability of the least likely one,
which it has at most; where none of the answers is, the model does not answer.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import Any

import numpy as np

from geobias.errors import InputError
from geobias.models.answers import AnswerSet, Decider, count_answers
from geobias.models.completions import read_choices, read_first_token
from geobias.models.connection import CallFailed, CallRefused, Connection, UnreadableAnswer
from geobias.models.endpoint import Endpoint
from geobias.models.lm_decider import LOG_ODDS, LMDecider
from geobias.models.prompted import TEXT
from geobias.models.scorer import ModelIdentity, ScoreBlock, StreamingScorer
from geobias.models.served_lm import FAILED, REFUSED, NoLikelihoods, ServedLM
from geobias.models.server_identity import candidate_distance, known_models, recognise_model

CHAT = "chat/completions"
CANDIDATES = (500, 20, 5)  # asked for; servers allow different numbers
SAMPLED = 0  # in place of a number of candidates
DEFAULT_SAMPLES, FEWEST_SAMPLES = 20, 2  # one sample would say nothing about its own error
ANSWER_TOKENS = 24  # enough to tell an answer from a refusal
MISSING = (404, 405)  # status of a server that does not chat
PROBES = ("Is two more than one?", "Is ice hot?", "Is it late?")

Candidates = Sequence[tuple[str, float]]


class ServedDecider(StreamingScorer, Decider):
    """A chat model behind an endpoint. It is probed at the first use: whether it returns log-probabilities."""

    version = 3  # raised whenever a change of the code changes what is stored
    paid = True

    def __init__(
        self, endpoint: Endpoint, answers: AnswerSet, *, system: str | None = None, samples: int | None = None
    ) -> None:
        self.endpoint, self.name, self.answers, self.system = endpoint, endpoint.model, answers, system
        self.samples = DEFAULT_SAMPLES if samples is None else samples
        if self.samples < FEWEST_SAMPLES:
            raise InputError(f"--samples must be at least {FEWEST_SAMPLES}, not {self.samples}.")
        self.columns = answers.columns

    @cached_property
    def candidates(self) -> int:
        """How many candidates the server returns for the first token; 0 if it returns none, and answers are sampled."""
        for count in CANDIDATES:
            try:
                if self.endpoint.ask(partial(self._get_candidates, PROBES[0], count)) is not None:
                    return count
            except CallFailed as failure:  # some servers refuse too large a number, others fail
                is_last = count == CANDIDATES[-1]
                if failure.status not in REFUSED and (is_last or failure.status not in FAILED):
                    raise
        return SAMPLED

    @cached_property
    def model_digest(self) -> str:
        """Which model answers under this name. Sampled answers cannot tell: they go by the name."""
        if self.candidates == SAMPLED:
            return hashlib.sha256(repr(self._address).encode()).hexdigest()[:32]
        queries = [partial(self._get_candidates, text, self.candidates) for text in PROBES]
        replies: list[Sequence[tuple[str, float]] | None] = [self.endpoint.ask(query) for query in queries]
        answers = [dict(reply or ()) for reply in replies]
        return recognise_model(self._address, answers, candidate_distance)

    @property
    def _address(self) -> tuple[str, ...]:
        return self.endpoint.url, self.name, self.system or "", self.answers.message, str(self.candidates)

    @property
    def fingerprint(self) -> str:
        return self._fingerprint(self.model_digest)

    def known_fingerprints(self) -> list[str]:
        """Return that of the model that answered last, if any. No call is made unless the server was never probed."""
        return [self._fingerprint(digest) for digest in known_models(self._address)[:1]]

    def identity(self) -> ModelIdentity:
        way = f"{self.samples} sampled answers" if self.candidates == SAMPLED else "candidates of an answer"
        settings = {"template": self.answers.message, "system": self.system, "words": list(self.answers.words)}
        identity = ModelIdentity(self.name, LOG_ODDS, self.fingerprint)
        return replace(identity, endpoint=self.endpoint.url, asked_by=way, prompt=settings)

    def batches(self, texts: Sequence[str]) -> Iterator[ScoreBlock]:
        decide = self._sample if self.candidates == SAMPLED else self._decide
        yield from self.endpoint.ask_all(partial(self._make_row, decide, i, text) for i, text in enumerate(texts))

    async def _make_row(self, decide: Any, position: int, text: str, connection: Connection) -> ScoreBlock:
        return np.array([position]), np.array([await decide(text, connection)])

    async def _decide(self, text: str, connection: Connection) -> np.ndarray:
        candidates = await self._get_candidates(text, self.candidates, connection, required=True) or ()
        log_p = [sum_spellings(candidates, self.answers.spellings(word)) for word in self.answers.words]
        # Without any candidate the bound would be the same for all answers, and look like an undecided model.
        missing = -np.inf if all(number is None for number in log_p) else candidates[-1][1]
        return np.array([0, 0, *(missing if number is None else number for number in log_p)])

    async def _sample(self, text: str, connection: Connection) -> np.ndarray:
        """Count sampled answers. Each is a call of its own: not every server returns several at once."""
        body = {"messages": self._messages(text), "max_tokens": ANSWER_TOKENS, "temperature": 1}
        replies = (connection.post(CHAT, body, _read_content) for _ in range(self.samples))
        return count_answers(self.answers, await asyncio.gather(*replies))

    async def _get_candidates(
        self, text: str, count: int, connection: Connection, *, required: bool = False
    ) -> Candidates | None:
        """Return the candidates for the first token of the answer; None if the server names none.

        If they are `required`, the server has named candidates before: an answer without them is asked for again.
        """

        def read(answer: Any) -> Candidates | None:
            token = read_first_token(answer)
            if required and not (token and token.candidates):
                raise UnreadableAnswer("returned no log-probabilities this time")
            return token.candidates or None if token else None

        options = {"logprobs": True, "top_logprobs": count, "max_tokens": 1, "temperature": 0}
        candidates: Candidates | None = await connection.post(CHAT, {"messages": self._messages(text), **options}, read)
        return candidates

    def _messages(self, text: str) -> list[dict[str, str]]:
        system = [{"role": "system", "content": self.system}] if self.system else []
        return [*system, {"role": "user", "content": self.answers.message.replace(TEXT, text)}]

    def _fingerprint(self, model_digest: str) -> str:
        samples = self.samples if self.candidates == SAMPLED else 0
        settings = json.dumps([self.answers.words, self.answers.instruction, self.system, samples])
        return f"{model_digest}:{hashlib.sha256(settings.encode()).hexdigest()[:16]}:decider:served:{self.version}"


def _read_content(reply: Any) -> str:
    [choice] = read_choices(reply, 1)
    message = choice.get("message") or {}
    return str(message.get("content") or message.get("refusal") or "")


def sum_spellings(candidates: Candidates, spellings: Sequence[str]) -> float | None:
    """log P of an answer from the candidates for its first token; None if none of them belongs to it."""
    forms = {spelling.strip() for spelling in spellings}
    tokens = [(token.strip(), log_p) for token, log_p in candidates]
    numbers = [log_p for token, log_p in tokens if token in forms] or [
        log_p for token, log_p in tokens if token and any(form.startswith(token) for form in forms)
    ]
    return float(np.logaddexp.reduce(numbers)) if numbers else None


def load_served_decider(
    endpoint: Endpoint,
    answers: AnswerSet,
    *,
    system: str | None = None,
    samples: int | None = None,
    begin: str = "",
) -> Decider:
    """Return the decider for a server: by chats; by likelihoods of texts if it does not chat, or chats without them."""
    chat = ServedDecider(endpoint, answers, system=system, samples=samples)
    try:
        if chat.candidates != SAMPLED:
            return chat
        does_chat = True
    except CallRefused as refusal:
        if refusal.status not in MISSING:
            raise
        does_chat = False
    lm = ServedLM(endpoint, begin=begin)
    try:
        lm.source  # noqa: B018 (probes the server)
    except NoLikelihoods:
        if does_chat:
            return chat
        raise
    return LMDecider(lm, answers, system=system)
