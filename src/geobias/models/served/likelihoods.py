"""How a server gives log-probabilities of texts, and whether they are at the right tokens. The first calls find out:

1. The server continues a sentence by one token. It must name candidates with their log-probabilities, which are taken
   to be right for a token that the server generates.
2. It echoes the sentence with another of these candidates, which must have the same log-probability there. If so,
   echoes are used, and it is tested whether the server takes several texts in one call.

A server whose echo is missing or wrong (off by one, as that of llama-cpp-python) is refused, with a message that says
what it lacks. So is `begin` if the echo shows that the server begins texts by itself: the token would be there twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from geobias.errors import GeobiasError, InputError
from geobias.models.scorer import CallLimitReached
from geobias.models.served.completions import (
    GeneratedToken,
    ScoredToken,
    read_choices,
    read_echo,
    read_first_token,
)
from geobias.models.served.connection import (
    UNREADABLE,
    CallFailed,
    Connection,
    UnreadableAnswer,
)

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
    name: str = "echoed likelihoods"


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
