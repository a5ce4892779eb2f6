"""How a server gives log-probabilities of texts, and whether they are at the right tokens. The first calls find out:

1. The server continues a sentence by one token. It must name candidates with their log-probabilities, which are taken
   to be right for a token that the server generates.
2. It echoes the sentence with another of these candidates, which must have the same log-probability there. If so,
   echoes are used, and it is tested whether the server takes several texts in one call.
3. If not (off by one, no echo), or if the first word after `begin` is left out, the text is dictated (`Dictation`),
   provided that the candidate gets its log-probability that way.

A server that does neither is refused, with a message that says what it lacks. So is `begin` if the echo shows that the
server begins texts by itself: the token would be there twice.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any, NamedTuple

from geobias.errors import GeobiasError, InputError
from geobias.models.scorer import CallLimitReached
from geobias.models.served.completions import (
    GeneratedToken,
    ScoredToken,
    read_choices,
    read_echo,
    read_first_token,
    read_generated,
)
from geobias.models.served.connection import (
    UNREADABLE,
    CallFailed,
    Connection,
    ServerFailed,
    UnreadableAnswer,
)

PROBES = ("The quick brown fox jumps over the lazy", "She opened the door and", "Two plus two is")
TOLERANCE = 0.05  # nats by which servers may differ from themselves
TEXTS_PER_CALL = 16  # if the server takes several
CANDIDATES = 5
LOGIT_BIAS = 100.0  # far more than logits differ
REFUSED, FAILED = (400, 422), (500, 501)  # status of an answer to what a server cannot do
MISSING = (404, 405, 501)  # and to what it does not have

Ids = tuple[int, ...]
CallCache = dict[Ids, asyncio.Task[list[float]]]  # log-probabilities by the tokens up to there, perhaps under way
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
    name: str


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
                    f"The server at {connection.endpoint.url} adds the first token itself. Remove --begin."
                )
        if is_right and (not begin or next(token for token in echo if token.start >= len(begin)).log_p is not None):
            return await _use_echo(connection, begin)
    dictation = await _use_dictation(connection, begin, probe, candidate)
    if dictation is not None:
        return dictation
    if is_right:  # all tokens but the first, which a server may leave out
        return await _use_echo(connection, begin)
    raise NoLikelihoods(
        f"The server at {connection.endpoint.url} returns no likelihoods of texts: {problem}, and it cannot "
        "score them token by token (see docs/served.md)."
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


async def _use_echo(connection: Connection, begin: str) -> LikelihoodSource:
    async def score_tokens(
        connection: Connection, spans: Sequence[Span], cache: CallCache, *, final: Sequence[int] = ()
    ) -> list[list[ScoredToken]]:
        echoes = await _echo(connection, [text for text, _, _ in spans], len(begin), final, must_match=True)
        return [echo for echo in echoes if echo is not None]

    spans = [(begin + probe, 0, 0) for probe in PROBES]
    one_by_one = [(await score_tokens(connection, [span], {}))[0] for span in spans]
    log_p = _collect_log_p(one_by_one)
    takes_several = False
    try:
        together = _collect_log_p(await score_tokens(connection, spans, {}, final=(*FAILED, UNREADABLE)))
        differences = [abs(a - b) for a, b in zip(together, log_p, strict=False)]
        takes_several = len(together) == len(log_p) and sum(differences) <= TOLERANCE * len(differences)
    except CallLimitReached:
        raise
    except GeobiasError as error:  # a server that takes one text in a call refuses, fails, or answers in its own way
        if isinstance(error, CallFailed) and error.status not in (*REFUSED, *FAILED, UNREADABLE):
            raise
    scores_first_token = next(token for token in one_by_one[0] if token.start >= len(begin)).log_p is not None
    texts_per_call = TEXTS_PER_CALL if takes_several else 1
    return LikelihoodSource(score_tokens, texts_per_call, log_p, scores_first_token, "echoed likelihoods")


async def _use_dictation(
    connection: Connection, begin: str, probe: str, candidate: GeneratedToken
) -> LikelihoodSource | None:
    """Return None if the server cannot be dictated to."""
    score_tokens = Dictation().score_tokens
    start, text = len(begin + probe), begin + probe + candidate.text
    try:
        [tokens] = await score_tokens(connection, [(text, start, len(text))], {})
        if len(tokens) != 1 or abs((tokens[0].log_p or 0.0) - candidate.log_p) > TOLERANCE:
            return None
        spans = [(begin + text, len(begin), len(begin + text)) for text in PROBES]
        log_p = _collect_log_p(await score_tokens(connection, spans, {}))
        return LikelihoodSource(score_tokens, 1, log_p, begin != "", "dictated likelihoods")
    except (ServerFailed, CallLimitReached):
        raise
    except GeobiasError:  # it refuses, or answers something else
        return None


def _collect_log_p(texts: Sequence[Sequence[ScoredToken]]) -> tuple[float, ...]:
    return tuple(token.log_p for tokens in texts for token in tokens if token.log_p is not None)


class _Unit(NamedTuple):
    """Tokens that make whole characters: their span in the text, all tokens before them, and they."""

    start: int
    end: int
    before: Ids
    ids: Ids


class Dictation:
    """Makes a server generate given texts, for one whose echo gives no log-probabilities, or wrong ones.

    The number that a server gives for a token that it generates itself is at that token. So each token of the text
    gets a `logit_bias` with which the server generates it after what comes before; its log-probability is that without
    the bias. Texts that begin alike share the calls for their beginning.

    It needs `logit_bias`, and a server that tells its token ids (`/extras/tokenize`, `/extras/detokenize`), as
    llama-cpp-python's does. There the echo is off by one for models without a token that begins texts: row i of the
    scores, which says what follows token i, is read at token i itself (`Llama._create_completion`, version 0.3.36).
    """

    def __init__(self) -> None:
        self._spellings: dict[Ids, str | None] = {}  # None: a part of a character, which is no text

    async def score_tokens(
        self, connection: Connection, spans: Sequence[Span], cache: CallCache
    ) -> list[list[ScoredToken]]:
        """Return the tokens that overlap each span, with their log-probabilities given all before them.

        What stands before a span is never spelled: it may hold tokens that a server writes as nothing (`<s>`).
        """
        return [await self._score_span(connection, span, cache) for span in spans]

    async def _score_span(self, connection: Connection, span: Span, cache: CallCache) -> list[ScoredToken]:
        text, first, last = span
        tokens = []
        for unit in await self._split(connection, text, first):
            if 0 < unit.start < last:  # nothing stands before the first
                key = (*unit.before, *unit.ids)
                if key not in cache:
                    cache[key] = asyncio.ensure_future(_generate(connection, text, unit))
                tokens += [ScoredToken(unit.start, unit.end, log_p) for log_p in await cache[key]]
        return tokens

    async def _split(self, connection: Connection, text: str, first: int) -> list[_Unit]:
        """Split the text from `first` on into tokens; those of one character stay together."""
        ids: Ids = await connection.post(
            "/extras/tokenize", {"input": text}, lambda answer: tuple(map(int, answer["tokens"]))
        )
        spelled: list[tuple[int, Ids, str]] = []  # tokens before, tokens, their text
        group: Ids = ()
        for count, token in enumerate(ids, start=1):
            group = (*group, token)
            spelling = await self._spell(connection, group)
            if spelling is not None:
                spelled.append((count - len(group), group, spelling))
                group = ()
        units, end = [], len(text)
        while end > first:
            count, group, spelling = spelled.pop() if spelled else (0, (), "")
            if not text.endswith(spelling, 0, end):
                spelling = spelling.removeprefix(" ")  # some tokenizers put a space before the first word
            if not spelling or not text.endswith(spelling, 0, end):
                raise GeobiasError(
                    f"The server's tokens do not match the text {text[:60]!r}, so it cannot be scored token by token."
                )
            units.append(_Unit(end - len(spelling), end, ids[:count], group))
            end -= len(spelling)
        return units[::-1]

    async def _spell(self, connection: Connection, ids: Ids) -> str | None:
        """Return the text of these tokens; None if they end within a character, at which the server fails."""
        if ids not in self._spellings:
            try:
                read = itemgetter("text")
                self._spellings[ids] = await connection.post("/extras/detokenize", {"tokens": ids}, read, final=[500])
            except ServerFailed as failure:
                if failure.status != 500:
                    raise
                self._spellings[ids] = None
        return self._spellings[ids]


async def _generate(connection: Connection, text: str, unit: _Unit) -> list[float]:
    """Make the server generate these tokens, and return the log-probability of each."""
    before, spelling, ids = text[: unit.start], text[unit.start : unit.end], unit.ids
    body: dict[str, Any] = {
        "prompt": before,
        "max_tokens": len(ids),
        "temperature": 0,
        "logprobs": 1,
        "logit_bias": {str(token): LOGIT_BIAS for token in ids},
    }
    if len(ids) > 1:  # a bias says nothing about the order of the tokens; a grammar does
        body["grammar"] = f"root ::= {json.dumps(spelling, ensure_ascii=False)}"

    def read(answer: Any) -> tuple[list[GeneratedToken], int]:
        tokens_read = (answer.get("usage") or {}).get("prompt_tokens", len(unit.before))
        generated = read_generated(read_choices(answer, 1)[0])[: len(ids)]
        if not generated:
            raise UnreadableAnswer("returned no log-probabilities this time")
        return generated, tokens_read

    generated, tokens_read = await connection.post("completions", body, read)
    is_complete = len(generated) == len(ids) and tokens_read == len(unit.before)
    if not is_complete or (len(ids) == 1 and generated[0].text != spelling):
        raise GeobiasError(f"The server does not return {spelling!r} after {before[-60:]!r} when it is forced to.")
    return [token.log_p for token in generated]
