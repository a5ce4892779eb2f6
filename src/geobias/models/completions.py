"""Read a server's answers: where each token is in the text, and its log-probability.

Servers show tokens differently: some put one before the text that was not sent (`<s>`), some leave out one that was
sent, some generate one more. All of these are tried, and the one that spells the text is used.

What is not an answer raises `UnreadableAnswer`, or the error that Python gives for it: `Connection.post` asks again.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from geobias.models.connection import UnreadableAnswer

PARTIAL_CHARACTER = "\ufffd"  # what a server writes for a part of a character
SPACE_MARK = "\u2581"  # how some tokenizers write a space
ROUNDING = 1e-3  # how far rounding may take a log-probability above zero


@dataclass(frozen=True)
class ScoredToken:
    """The span of a token in the text, and its log-probability; None if the server gives none."""

    start: int
    end: int
    log_p: float | None


@dataclass(frozen=True)
class GeneratedToken:
    """A token that the server generated, and the likeliest candidates in its place, the likeliest first."""

    text: str
    log_p: float
    candidates: tuple[tuple[str, float], ...]


def read_choices(answer: Any, count: int) -> list[dict[str, Any]]:
    """Return the answers to so many prompts, in the order of the prompts."""
    choices = sorted(answer["choices"], key=lambda choice: choice.get("index", 0))
    if len(choices) != count:
        raise UnreadableAnswer(f"returned {len(choices)} answers to {count} prompt(s)")
    return choices


def read_first_token(answer: Any) -> GeneratedToken | None:
    """Return the first token of the answer to one prompt; None if it has no log-probabilities."""
    return next(iter(read_generated(read_choices(answer, 1)[0])), None)


def read_generated(choice: dict[str, Any]) -> list[GeneratedToken]:
    """Return the tokens that the server generated; an empty list if it gives no log-probabilities."""
    logprobs = choice.get("logprobs") or {}
    if chat := logprobs.get("content"):
        tokens, numbers = [entry["token"] for entry in chat], [entry["logprob"] for entry in chat]
        tops = [{top["token"]: top["logprob"] for top in entry.get("top_logprobs") or ()} for entry in chat]
    else:
        tokens, numbers = logprobs.get("tokens") or [], logprobs.get("token_logprobs") or []
        tops = logprobs.get("top_logprobs") or [None] * len(tokens)
    entries = zip(tokens, map(read_log_p, numbers), map(_rank, tops), strict=True)
    return [GeneratedToken(str(token), log_p, candidates) for token, log_p, candidates in entries]


def _rank(candidates: dict[str, Any] | None) -> tuple[tuple[str, float], ...]:
    pairs = [(str(text), read_log_p(log_p)) for text, log_p in (candidates or {}).items()]
    if pairs and max(log_p for _, log_p in pairs) == -math.inf:
        raise UnreadableAnswer("returned candidates that are all impossible")
    return tuple(sorted(pairs, key=lambda pair: -pair[1]))


def read_log_p(number: Any) -> float:
    """Return a log-probability: at most 0, and minus infinity for what is impossible."""
    if not isinstance(number, int | float) or not number < ROUNDING:  # False for NaN
        raise UnreadableAnswer(f"returned {str(number)[:40]} as a log-probability")
    return float(number)


def read_echo(choice: dict[str, Any], text: str, begin: int = 0) -> list[ScoredToken] | None:
    """Return the tokens of the text that was sent; None if the answer does not spell it.

    One token may have been generated after it. The first may be one that was not sent; or the server leaves out the
    first `begin` characters, which it reads as a token that begins texts.
    """
    logprobs = choice.get("logprobs") or {}
    try:
        tokens, numbers = [str(token) for token in logprobs["tokens"]], list(logprobs["token_logprobs"])
    except (KeyError, TypeError):
        return None
    if len(numbers) != len(tokens):
        return None
    for first, last, offset in product((0, 1), (len(tokens), len(tokens) - 1), (0, begin)):
        spans = _find_spans(tokens[first:last], text, offset)
        if spans is not None:
            log_p = _check_log_p(numbers[first:last])
            scored = [ScoredToken(*span, number) for span, number in zip(spans, log_p, strict=True)]
            return [token for token in scored if token.start < len(text)]  # a generated one may show nothing
    return None


def _find_spans(tokens: Sequence[str], text: str, offset: int) -> list[tuple[int, int]] | None:
    """Return the span of each token; None unless they spell the text from `offset` to its end.

    Offsets that servers give are not used: they count tokens that were not sent, and parts of characters as whole ones.
    """
    spans = []
    for token in tokens:
        start: int | None = None
        for part in token.replace(SPACE_MARK, " ").split(PARTIAL_CHARACTER):
            # A character in several tokens is broken in each, or left out: what no token shows is skipped.
            while not text.startswith(part, offset) and not text[offset : offset + 1].isascii():
                offset += 1
            if not text.startswith(part, offset):
                return None
            start = offset if start is None else start
            offset += len(part)
        spans.append((offset if start is None else start, offset))
    hidden = text[offset:]  # only parts of characters are not shown
    if not tokens or any(character.isascii() for character in hidden):
        return None
    if hidden and tokens[-1] and not tokens[-1].endswith(PARTIAL_CHARACTER):
        return None
    return [(start, max(end, start + 1)) for start, end in spans]  # a token that shows nothing is part of the next


def _check_log_p(numbers: Sequence[Any]) -> list[float | None]:
    """Return log-probabilities of a text's tokens, which are finite; only the first may have none."""
    log_p: list[float | None] = [
        None if number is None and place == 0 else read_log_p(number) for place, number in enumerate(numbers)
    ]
    if -math.inf in log_p:
        raise UnreadableAnswer("returned minus infinity as the log-probability of a token in a text")
    return log_p
