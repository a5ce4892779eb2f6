"""The first calls to a server: how it gives log-probabilities, and whether they are at the right tokens.

1. The server continues a sentence by one token. It must name candidates with their log-probabilities, which are taken
   to be right for a token that the server generates.
2. It echoes the sentence with another of these candidates, which must have the same log-probability there. If so,
   echoes are used, and it is tested whether the server takes several texts in one call.
3. If not (off by one, no echo), or if the first word after `begin` is left out, the text is dictated (`dictation.py`),
   provided that the candidate gets its log-probability that way.

A server that does neither is refused, with a message that says what it lacks. So is `begin` if the echo shows that the
server begins texts by itself: the token would be there twice.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from typing import Any

from geobias.errors import GeobiasError, InputError
from geobias.models.served.completions import GeneratedToken, ScoredToken, read_choices, read_echo, read_generated
from geobias.models.served.endpoint import CallRefused, Connection, Endpoint, ServerFailed
from geobias.models.served.token_by_token import CallCache, Dictation

PROBES = ("The quick brown fox jumps over the lazy", "She opened the door and", "Two plus two is")
TOLERANCE = 0.05  # nats by which servers may differ from themselves
TEXTS_PER_CALL = 16  # if the server takes several
CANDIDATES = 5
REFUSED, FAILED = (400, 422), (500, 501)  # status of an answer to what a server cannot do
MISSING = (404, 405, 501)  # and to what it does not have

Span = tuple[str, int, int]  # a text as it is sent, and from where to where its tokens count
ScoreTokens = Callable[[Connection, Sequence[Span], CallCache], Coroutine[Any, Any, list[list[ScoredToken]]]]


class NoLikelihoods(InputError):
    """The server gives no likelihoods of texts; it may still chat."""


@dataclass(frozen=True)
class LikelihoodSource:
    """How a server gives the log-probabilities of texts."""

    score_tokens: ScoreTokens
    texts_per_call: int
    probe_log_p: tuple[float, ...]  # of the tokens of all probes
    scores_first_token: bool
    is_dictated: bool = False

    @property
    def name(self) -> str:
        return "dictated likelihoods" if self.is_dictated else "echoed likelihoods"


def probe_server(endpoint: Endpoint, begin: str) -> LikelihoodSource:
    """Find out how a server gives log-probabilities; raise an error that says what it lacks."""
    return endpoint.ask(lambda connection: _probe(connection, begin))


async def _probe(connection: Connection, begin: str) -> LikelihoodSource:
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
    except (CallRefused, ServerFailed) as refusal:
        if refusal.status not in (*REFUSED, *FAILED):
            raise
        problem = f"it does not echo the text ({refusal})"
    if echo is not None:
        problem = "its echoed log-probabilities do not stand at their own tokens"
        if is_right and begin:
            [without_begin] = await _echo(connection, [probe], 0)
            if without_begin and without_begin[0].log_p is not None:
                raise InputError(f"The server at {connection.endpoint.url} begins texts by itself: leave out --begin.")
        if is_right and (not begin or next(token for token in echo if token.start >= len(begin)).log_p is not None):
            return await _use_echo(connection, begin)
    dictation = await _use_dictation(connection, begin, probe, candidate)
    if dictation is not None:
        return dictation
    if is_right:  # all tokens but the first, which a server may leave out
        return await _use_echo(connection, begin)
    raise NoLikelihoods(
        f"The server at {connection.endpoint.url} cannot be asked for the likelihood of texts: {problem}, and it "
        "cannot be made to say them token by token (see docs/served.md)."
    )


async def _find_candidate(connection: Connection, begin: str) -> tuple[str, GeneratedToken]:
    """Return a probe, and a word with which the server might continue it, but does not.

    Such a word has its log-probability at one place only.
    """
    for probe in PROBES:
        body = {"prompt": begin + probe, "max_tokens": 1, "temperature": 0, "logprobs": CANDIDATES}
        try:
            [choice] = read_choices(await connection.post("completions", body, final=MISSING), 1)
        except (CallRefused, ServerFailed) as refusal:
            if refusal.status not in (*REFUSED, *MISSING):
                raise
            raise NoLikelihoods(
                f"{refusal} Likelihoods of texts need /completions; a server that only chats can be asked to classify."
            ) from None
        generated = read_generated(choice)
        if not generated:
            raise NoLikelihoods(
                f"The server at {connection.endpoint.url} gives no log-probabilities with its completions: start it so "
                "that it does (see docs/served.md), or use another."
            )
        first = generated[0]
        words = [(text, log_p) for text, log_p in first.candidates if text.strip().isalpha() and text != first.text]
        if words:
            return probe, GeneratedToken(*words[-1], candidates=())
    raise NoLikelihoods(
        f"The server at {connection.endpoint.url} names no candidates beside what it says, so its numbers cannot be "
        "checked."
    )


async def _echo(
    connection: Connection, texts: Sequence[str], begin: int, final: Sequence[int] = ()
) -> list[list[ScoredToken] | None]:
    """Return the tokens of each text, echoed. One token is generated too: some servers read 0 as no limit."""
    prompt = texts[0] if len(texts) == 1 else list(texts)
    body = {"prompt": prompt, "echo": True, "logprobs": 1, "max_tokens": 1, "temperature": 0}
    choices = read_choices(await connection.post("completions", body, final=final), len(texts))
    return [read_echo(choice, text, begin) for choice, text in zip(choices, texts, strict=True)]


async def _use_echo(connection: Connection, begin: str) -> LikelihoodSource:
    async def score_tokens(
        connection: Connection, spans: Sequence[Span], cache: CallCache, *, final: Sequence[int] = ()
    ) -> list[list[ScoredToken]]:
        echoes = []
        texts = [text for text, _, _ in spans]
        for echo, text in zip(await _echo(connection, texts, len(begin), final), texts, strict=True):
            if echo is None:
                raise GeobiasError(f"The server's echo does not spell the text {text[len(begin) :][:60]!r}.")
            echoes.append(echo)
        return echoes

    spans = [(begin + probe, 0, 0) for probe in PROBES]
    one_by_one = [(await score_tokens(connection, [span], CallCache()))[0] for span in spans]
    log_p = _collect_log_p(one_by_one)
    try:
        together = _collect_log_p(await score_tokens(connection, spans, CallCache(), final=FAILED))
        differences = [abs(a - b) for a, b in zip(together, log_p, strict=False)]
        takes_several = len(together) == len(log_p) and sum(differences) <= TOLERANCE * len(differences)
    except (CallRefused, ServerFailed) as refusal:
        if refusal.status not in (*REFUSED, *FAILED):
            raise
        takes_several = False
    except InputError:  # the limit of calls
        raise
    except GeobiasError:  # a server that takes one text in a call answers in its own way
        takes_several = False
    scores_first_token = next(token for token in one_by_one[0] if token.start >= len(begin)).log_p is not None
    return LikelihoodSource(score_tokens, TEXTS_PER_CALL if takes_several else 1, log_p, scores_first_token)


async def _use_dictation(
    connection: Connection, begin: str, probe: str, candidate: GeneratedToken
) -> LikelihoodSource | None:
    """Return None if the server cannot be dictated to."""
    dictation = Dictation()

    async def score_tokens(connection: Connection, spans: Sequence[Span], cache: CallCache) -> list[list[ScoredToken]]:
        return [await dictation.score_tokens(connection, text, first, last, cache) for text, first, last in spans]

    start, text = len(begin + probe), begin + probe + candidate.text
    try:
        [tokens] = await score_tokens(connection, [(text, start, len(text))], CallCache())
        if len(tokens) != 1 or abs((tokens[0].log_p or 0.0) - candidate.log_p) > TOLERANCE:
            return None
        spans = [(begin + text, len(begin), len(begin + text)) for text in PROBES]
        log_p = _collect_log_p(await score_tokens(connection, spans, CallCache()))
        return LikelihoodSource(score_tokens, 1, log_p, scores_first_token=begin != "", is_dictated=True)
    except CallRefused:
        return None
    except (ServerFailed, InputError):  # it is gone, or the limit of calls is reached
        raise
    except GeobiasError:  # it answers something else
        return None


def _collect_log_p(texts: Sequence[Sequence[ScoredToken]]) -> tuple[float, ...]:
    return tuple(token.log_p for tokens in texts for token in tokens if token.log_p is not None)
