"""Language models behind a server, scored by the server's own log-probabilities.

The scores `mean`, `sum` and `conditional` are those of causal models (`causal.py`). The first token has a
log-probability only after another one: after `begin` (the token that begins a text, such as `<s>`, for models whose
server adds none). Otherwise it is not counted; the column `tokens` says how many were.

The first calls find out how the server gives log-probabilities, and whether they are at the right tokens:

1. The server continues a sentence by one token. It must name candidates with their log-probabilities, which are taken
   to be right for a token that the server generates.
2. It echoes the sentence with another of these candidates, which must have the same log-probability there. If so,
   echoes are used, and it is tested whether the server takes several texts in one call.

A server whose echo is missing or wrong (off by one, as that of llama-cpp-python) is refused, with a message that says
what it lacks. So is `begin` if the echo shows that the server begins texts by itself: the token would be there twice.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np

from geobias.checks import describe_choices
from geobias.errors import GeobiasError, InputError
from geobias.models.endpoint import UNREADABLE, CallFailed, Connection, Endpoint, UnreadableAnswer
from geobias.models.scorer import (
    LOG_LIKELIHOOD,
    AnyLanguageModel,
    CallLimitReached,
    MethodScorer,
    ModelIdentity,
    ScoreBlock,
)
from geobias.models.server_replies import (
    GeneratedToken,
    ScoredToken,
    known_models,
    read_choices,
    read_echo,
    read_first_token,
    recognise_model,
)
from geobias.texts.templates import unmark

PROBES = ("The quick brown fox jumps over the lazy", "She opened the door and", "Two plus two is")
TOLERANCE = 0.05  # nats by which servers may differ from themselves
TEXTS_PER_CALL = 16  # if the server takes several
CANDIDATES = 5
REFUSED, FAILED = (400, 422), (500, 501)  # status of an answer to what a server cannot do
MISSING = (404, 405, 501)  # and to what it does not have


class NoLikelihoods(InputError):
    """The server gives no likelihoods of texts; it may still chat."""


@dataclass(frozen=True)
class LikelihoodSource:
    """How a server gives the log-probabilities of texts."""

    texts_per_call: int
    probe_log_p: tuple[float, ...]  # of the tokens of all probes
    scores_first_token: bool


async def probe_server(begin: str, connection: Connection) -> LikelihoodSource:
    """Find out how a server gives log-probabilities; raise an error that says what it lacks."""
    probe, candidate = await _find_candidate(connection, begin)
    echo, problem, is_right = None, "it does not echo the text", False
    try:
        shown = candidate.text
        for word in [shown] if shown.startswith(" ") else [shown, f" {shown}"]:  # some servers leave the space out
            [echo] = await _echo(connection, [begin + probe + word], len(begin), final=FAILED)
            word_log_p = [token.log_p for token in echo or () if token.start >= len(begin + probe)]
            total = sum(log_p or 0.0 for log_p in word_log_p)
            is_right = word_log_p != [] and abs(total - candidate.log_p) <= TOLERANCE
            if is_right:
                break
    except CallFailed as refusal:
        if refusal.status not in (*REFUSED, *FAILED):
            raise
        problem = f"it does not echo the text ({refusal})"
    if echo is not None:
        problem = "its echoed log-probabilities do not stand at their own tokens"
        if is_right and begin:
            [without_begin] = await _echo(connection, [probe], 0)
            if without_begin and without_begin[0].log_p is not None:
                raise InputError(
                    f"The server at {connection.endpoint.url} adds the first token itself. Remove begin= from --server."
                )
        if is_right:
            return await _use_echo(connection, begin)
    raise NoLikelihoods(
        f"The server at {connection.endpoint.url} returns no likelihoods of texts: {problem}. Load the "
        "model's folder or GGUF file on this machine instead, or use another server (see docs/served.md)."
    )


async def _find_candidate(connection: Connection, begin: str) -> tuple[str, GeneratedToken]:
    """Return a probe, and a word with which the server might continue it, but does not.

    Such a word has its log-probability at one place only.
    """
    for probe in PROBES:
        body = {"prompt": begin + probe, "max_tokens": 1, "temperature": 0, "logprobs": CANDIDATES}
        try:
            first: GeneratedToken | None = await connection.post("completions", body, read_first_token, final=MISSING)
        except CallFailed as refusal:
            if refusal.status not in (*REFUSED, *MISSING):
                raise
            raise NoLikelihoods(
                f"{refusal} Likelihoods need /completions. A chat-only server can be audited as a classifier, with "
                "--labels."
            ) from None
        if first is None:
            raise NoLikelihoods(
                f"The server at {connection.endpoint.url} returns no log-probabilities with its completions. Start it "
                "with log-probabilities (see docs/served.md), or use another server."
            )
        words = [(text, log_p) for text, log_p in first.candidates if text.strip().isalpha() and text != first.text]
        if words:
            return probe, GeneratedToken(*words[-1], candidates=())
    raise NoLikelihoods(
        f"The server at {connection.endpoint.url} returns no alternative tokens, so its numbers cannot be checked."
    )


async def _echo(
    connection: Connection, texts: Sequence[str], begin: int, final: Sequence[int] = (), *, must_match: bool = False
) -> list[list[ScoredToken] | None]:
    """Return the tokens of each text, echoed. One token is generated too: some servers read 0 as no limit."""
    prompt = texts[0] if len(texts) == 1 else list(texts)
    body = {"prompt": prompt, "echo": True, "logprobs": 1, "max_tokens": 1, "temperature": 0}

    def read(answer: Any) -> list[list[ScoredToken] | None]:
        choices = read_choices(answer, len(texts))
        echoes = [read_echo(choice, text, begin) for choice, text in zip(choices, texts, strict=True)]
        if must_match and None in echoes:
            text = texts[echoes.index(None)][begin:]
            raise UnreadableAnswer(f"returned an echo that does not match the text {text[:60]!r}")
        return echoes

    echoes: list[list[ScoredToken] | None] = await connection.post("completions", body, read, final=final)
    return echoes


async def score_tokens(
    connection: Connection, texts: Sequence[str], begin: str, final: Sequence[int] = ()
) -> list[list[ScoredToken]]:
    """Return the tokens of each text, which starts with `begin`, with their log-probabilities."""
    echoes = await _echo(connection, texts, len(begin), final, must_match=True)
    return [echo for echo in echoes if echo is not None]


async def _use_echo(connection: Connection, begin: str) -> LikelihoodSource:
    texts = [begin + probe for probe in PROBES]
    one_by_one = [(await score_tokens(connection, [text], begin))[0] for text in texts]
    log_p = _collect_log_p(one_by_one)
    takes_several = False
    try:
        together = _collect_log_p(await score_tokens(connection, texts, begin, final=(*FAILED, UNREADABLE)))
        differences = [abs(a - b) for a, b in zip(together, log_p, strict=False)]
        takes_several = len(together) == len(log_p) and sum(differences) <= TOLERANCE * len(differences)
    except CallLimitReached:
        raise
    except GeobiasError as error:  # a server that takes one text in a call refuses, fails, or answers in its own way
        if isinstance(error, CallFailed) and error.status not in (*REFUSED, *FAILED, UNREADABLE):
            raise
    scores_first_token = next(token for token in one_by_one[0] if token.start >= len(begin)).log_p is not None
    return LikelihoodSource(TEXTS_PER_CALL if takes_several else 1, log_p, scores_first_token)


def _collect_log_p(texts: Sequence[Sequence[ScoredToken]]) -> tuple[float, ...]:
    return tuple(token.log_p for tokens in texts for token in tokens if token.log_p is not None)


class ServedLM(AnyLanguageModel):
    """A language model behind an endpoint, scored by the log-probabilities that the server returns.

    Use it as the model of `audit_regions`, as `lm` of `audit_names`, or with `labels` as a classifier. The server is
    probed at the first use: how it returns log-probabilities, and which model answers.

    Parameters
    ----------
    endpoint : Endpoint
        The server, and limits on its use.
    begin : str, default ""
        Text sent before every text and not scored: the token that begins texts, such as "<s>", if the server adds none.

    Attributes
    ----------
    methods : tuple of str
        "mean" and "sum" of the log-probabilities of all tokens, and "conditional": the mean over the marked part.
    name : str
        Name of the model on the server.

    Examples
    --------
    >>> import geobias
    >>> model = geobias.ServedLM(geobias.Endpoint("http://localhost:8000/v1", "my-model"))
    >>> model.methods
    ('mean', 'sum', 'conditional')
    >>> geobias.audit_regions(model, cities=0, out="runs/served")  # doctest: +SKIP
    """

    methods = ("mean", "sum", "conditional")
    default_method = "conditional"
    perplexity_method = "mean"
    prompted_method = "conditional"

    def __init__(self, endpoint: Endpoint, *, begin: str = "") -> None:
        self.endpoint, self.name, self.begin = endpoint, endpoint.model, begin

    def scorer(self, method: str | None = None) -> ServedScorer:
        return ServedScorer(self, method or self.default_method)

    @cached_property
    def source(self) -> LikelihoodSource:
        """How this server gives log-probabilities; probed at the first use."""
        return self.endpoint.ask(partial(probe_server, self.begin))

    @cached_property
    def model_digest(self) -> str:
        """Which model answers under this name."""
        return recognise_model(self._address, self.source.probe_log_p)

    @property
    def _address(self) -> tuple[str, str, str]:
        return self.endpoint.url, self.name, self.begin

    def describe(self, score: str, fingerprint: str | None) -> ModelIdentity:
        url, asked_by = self.endpoint.url, "echoed likelihoods"
        return ModelIdentity(self.name, score, fingerprint, endpoint=url, asked_by=asked_by, begin=self.begin)

    def known_fingerprints(self, method: str) -> list[str]:
        """Return the fingerprints of the models that answered here before, the last one first. No call is made."""
        return [make_fingerprint(digest, method) for digest in known_models(self._address)]


def make_fingerprint(model_digest: str, method: str) -> str:
    return f"{model_digest}:{method}:served:{ServedScorer.version}"


class ServedScorer(MethodScorer):
    """One scoring method of a served model. The column `tokens` says how many tokens counted."""

    lm: ServedLM
    version = 1  # raised whenever a change of the code changes the scores
    columns = (LOG_LIKELIHOOD, "tokens")
    paid = True

    def __init__(self, lm: ServedLM, method: str) -> None:
        if method not in lm.methods:
            raise InputError(f"Unknown score {method!r} for a served model. {describe_choices(method, lm.methods)}")
        self.lm, self.method = lm, method
        self.needs_mark = self.looks_back_only = method == "conditional"

    @property
    def fingerprint(self) -> str:
        return make_fingerprint(self.lm.model_digest, self.method)

    def batches(self, texts: Sequence[str]) -> Iterator[ScoreBlock]:
        size = self.lm.source.texts_per_call
        shares = (range(start, min(start + size, len(texts))) for start in range(0, len(texts), size))
        yield from self.lm.endpoint.ask_all(partial(self._score_share, texts, share) for share in shares)

    async def _score_share(self, texts: Sequence[str], share: range, connection: Connection) -> ScoreBlock:
        spans = [self._span(texts[i]) for i in share]
        tokens = await score_tokens(connection, [text for text, _, _ in spans], self.lm.begin)
        return np.array(share), np.array([self._row(*pair) for pair in zip(tokens, spans, strict=True)])

    def _span(self, text: str) -> tuple[str, int, int]:
        """Return the text as it is sent, and from where to where its tokens count."""
        plain, start, end = unmark(text)
        if not self.needs_mark:
            start, end = 0, len(plain)
        offset = len(self.lm.begin)
        return self.lm.begin + plain, offset + start, offset + end

    def _row(self, tokens: Sequence[ScoredToken], span: tuple[str, int, int]) -> tuple[float, int]:
        _, start, end = span
        log_p = [token.log_p for token in tokens if token.log_p is not None and token.start < end and token.end > start]
        if not log_p:
            return np.nan, 0  # no token, no score
        return (sum(log_p) if self.method == "sum" else sum(log_p) / len(log_p)), len(log_p)
