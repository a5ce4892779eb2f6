"""What a server answered, read: where each token stands in the text, and its log-probability.

Servers differ in how they show tokens: some put one before the text that nobody sent (`<s>`), some leave one out that
was sent, some generate one more. All of it is tried, and what spells the text is taken.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from geobias.errors import GeobiasError

BROKEN = "\ufffd"  # what a server writes for a part of a character
SPACE = "\u2581"  # how some tokenizers write a space
ROUNDING = 1e-3  # how far rounding may take a log-probability above zero


@dataclass(frozen=True)
class Token:
    """From where to where a token stands in the text, and its log-probability; None where the server gives none."""

    start: int
    end: int
    log_p: float | None


@dataclass(frozen=True)
class Said:
    """A token that the server said itself, and the likeliest candidates in its place, the likeliest first."""

    text: str
    log_p: float
    candidates: tuple[tuple[str, float], ...]


def choices(answer: Any, count: int) -> list[dict[str, Any]]:
    """The answers to so many prompts, in the order of the prompts."""
    try:
        found = sorted(answer["choices"], key=lambda choice: choice.get("index", 0))
    except (TypeError, KeyError, AttributeError):
        raise GeobiasError(f"The server's answer cannot be read: it has no choices ({str(answer)[:100]}).") from None
    if len(found) != count:
        raise GeobiasError(f"The server gave {len(found)} answers to {count} prompt(s).")
    return found


def said(choice: dict[str, Any]) -> list[Said]:
    """The tokens that the server said, with their log-probabilities; none where it gives none."""
    given = choice.get("logprobs") or {}
    try:
        if given.get("content"):  # as in chats
            return [
                Said(
                    one["token"],
                    float(one["logprob"]),
                    _ranked({other["token"]: other["logprob"] for other in one.get("top_logprobs") or ()}),
                )
                for one in given["content"]
            ]
        tokens, numbers = given.get("tokens") or [], given.get("token_logprobs") or []
        tops = given.get("top_logprobs") or [None] * len(tokens)
        return [
            Said(token, float(number), _ranked(top or {}))
            for token, number, top in zip(tokens, numbers, tops, strict=True)
        ]
    except (TypeError, KeyError, ValueError, AttributeError):
        raise GeobiasError(f"The server's log-probabilities cannot be read: {str(given)[:100]}.") from None


def _ranked(candidates: dict[str, Any]) -> tuple[tuple[str, float], ...]:
    return tuple(sorted(((text, float(log_p)) for text, log_p in candidates.items()), key=lambda one: -one[1]))


def echoed(choice: dict[str, Any], text: str, begin: int = 0) -> list[Token] | None:
    """The tokens of the text that was sent; None where the answer does not spell it.

    One token may have been generated after it. The first may be one that nobody sent; or the server leaves out the
    first `begin` characters, which it takes for a token that begins texts.
    """
    given = choice.get("logprobs") or {}
    try:
        tokens, numbers = [str(token) for token in given["tokens"]], list(given["token_logprobs"])
    except (KeyError, TypeError):
        return None
    if len(numbers) != len(tokens):
        return None
    for first, last, at in product((0, 1), (len(tokens), len(tokens) - 1), (0, begin)):
        places = _places(tokens[first:last], text, at)
        if places is not None:
            checked = _checked(numbers[first:last], text)
            found = [Token(*place, number) for place, number in zip(places, checked, strict=True)]
            return [token for token in found if token.start < len(text)]  # a generated one may show nothing
    return None


def _places(tokens: Sequence[str], text: str, at: int) -> list[tuple[int, int]] | None:
    """From where to where each token stands; None unless they spell the text from `at` to its end.

    Offsets that servers give are not looked at: they count tokens that nobody sent, and parts of characters as whole.
    """
    places = []
    for token in tokens:
        start: int | None = None
        for part in token.replace(SPACE, " ").split(BROKEN):
            # A character in several tokens is broken in each, or left out: what no token shows is passed over.
            while not text.startswith(part, at) and not text[at : at + 1].isascii():
                at += 1
            if not text.startswith(part, at):
                return None
            start = at if start is None else start
            at += len(part)
        places.append((at if start is None else start, at))
    hidden = text[at:]  # only parts of characters are not shown
    if not tokens or any(sign.isascii() for sign in hidden):
        return None
    if hidden and tokens[-1] and not tokens[-1].endswith(BROKEN):
        return None
    return [(start, max(end, start + 1)) for start, end in places]  # what shows nothing is a part of what follows


def _checked(numbers: Sequence[Any], text: str) -> list[float | None]:
    """Log-probabilities; the first token alone may have none."""
    for number in numbers[1:] if numbers[0] is None else numbers:
        if not isinstance(number, int | float) or not (math.isfinite(number) and number < ROUNDING):
            raise GeobiasError(f"The server gives {number!r} for a log-probability, in the text {text[:60]!r}.")
    return list(numbers)
