"""Read a server's answers: where each token is in the text, and its log-probability.

Servers show tokens differently: some put one before the text that was not sent (`<s>`), some leave out one that was
sent, some generate one more. All of these are tried, and the one that spells the text is used.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from geobias.errors import GeobiasError

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
    try:
        choices = sorted(answer["choices"], key=lambda choice: choice.get("index", 0))
    except (TypeError, KeyError, AttributeError):
        raise GeobiasError(f"The server's response has no choices ({str(answer)[:100]}).") from None
    if len(choices) != count:
        raise GeobiasError(f"The server returned {len(choices)} answers to {count} prompt(s).")
    return choices


def read_generated(choice: dict[str, Any]) -> list[GeneratedToken]:
    """Return the tokens that the server generated; an empty list if it gives no log-probabilities."""
    logprobs = choice.get("logprobs") or {}
    try:
        if chat := logprobs.get("content"):
            tokens, numbers = [entry["token"] for entry in chat], [entry["logprob"] for entry in chat]
            tops = [{top["token"]: top["logprob"] for top in entry.get("top_logprobs") or ()} for entry in chat]
        else:
            tokens, numbers = logprobs.get("tokens") or [], logprobs.get("token_logprobs") or []
            tops = logprobs.get("top_logprobs") or [None] * len(tokens)
        return [GeneratedToken(*entry) for entry in zip(tokens, map(float, numbers), map(_rank, tops), strict=True)]
    except (TypeError, KeyError, ValueError, AttributeError):
        raise GeobiasError(f"Cannot read the server's log-probabilities: {str(logprobs)[:100]}.") from None


def _rank(candidates: dict[str, Any] | None) -> tuple[tuple[str, float], ...]:
    pairs = [(text, float(log_p)) for text, log_p in (candidates or {}).items()]
    return tuple(sorted(pairs, key=lambda pair: -pair[1]))


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
            log_p = _check_log_p(numbers[first:last], text)
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


def _check_log_p(numbers: Sequence[Any], text: str) -> list[float | None]:
    """Return log-probabilities; only the first token may have none."""
    for number in numbers[1:] if numbers[0] is None else numbers:
        if not isinstance(number, int | float) or not (math.isfinite(number) and number < ROUNDING):
            raise GeobiasError(f"The server returned {number!r} as a log-probability in the text {text[:60]!r}.")
    return list(numbers)
