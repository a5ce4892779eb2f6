"""Read a server's replies: log-probabilities of tokens, and which model replies.

**Tokens of a text.** Servers show tokens differently: some put one before the text that was not sent (`<s>`), some
leave out one that was sent, some generate one more. All of these are tried, and the one that spells the text is used.
What is not an answer raises `UnreadableAnswer`, or the error that Python gives for it: `Connection.post` asks again.

**Which model replies.** A URL and a name can stand for another model tomorrow, and nothing says so. A server scores a
few fixed sentences whenever it is used. Its numbers are compared with those of the models that replied under this URL
and name before: the nearest is the same model, if it is near enough. Servers do not repeat themselves exactly (batches,
caches), so equal numbers cannot be expected. Likelihoods are compared token by token. If a server only chats, the
candidates for the first word of its replies are compared. The likeliest alone would not do: models that are sure of it
all give it a log-probability near zero.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from geobias.files import cache_folder, write_whole, writing
from geobias.models.endpoint import UnreadableAnswer

PARTIAL_CHARACTER = "\ufffd"  # what a server writes for a part of a character
SPACE_MARK = "\u2581"  # how some tokenizers write a space
ROUNDING = 1e-3  # how far rounding may take a log-probability above zero
SAME_MODEL = 0.02  # nats per token
CANDIDATES_COMPARED = 5
SMALLEST_PROBABILITY = 1e-9  # below what servers tell from zero

Candidates = Sequence[tuple[str, float]]  # text and log-probability, the likeliest first
Distance = Callable[[Any, Any], float]


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
    logprobs = read_choices(answer, 1)[0].get("logprobs") or {}
    if chat := logprobs.get("content"):
        token, number = chat[0]["token"], chat[0]["logprob"]
        top = {entry["token"]: entry["logprob"] for entry in chat[0].get("top_logprobs") or ()}
    elif logprobs.get("tokens"):
        token, number = logprobs["tokens"][0], logprobs["token_logprobs"][0]
        top = (logprobs.get("top_logprobs") or [None])[0]
    else:
        return None
    return GeneratedToken(str(token), read_log_p(number), _rank(top))


def read_content(answer: Any) -> str:
    """Return the text of a chat's reply."""
    message = read_choices(answer, 1)[0].get("message") or {}
    return str(message.get("content") or message.get("refusal") or "")


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


def log_p_distance(before: Sequence[float], now: Sequence[float]) -> float:
    """Return the mean absolute difference of log-probabilities of the same tokens, in nats per token."""
    return float(np.abs(np.subtract(before, now)).mean()) if np.shape(before) == np.shape(now) else np.inf


def candidate_distance(before: Sequence[Mapping[str, float]], now: Sequence[Mapping[str, float]]) -> float:
    """Return the mean relative difference of the likeliest candidates of both. Less likely ones are less exact.

    A candidate that is not named is at most as likely as the least likely one, and as what the likeliest leaves over.
    """
    differences = []
    for answer, other in zip(before, now, strict=True):
        for text in {*_likeliest(answer), *_likeliest(other)}:
            a, b = (candidates.get(text, _upper_bound(candidates)) for candidates in (answer, other))
            differences.append(abs(a - b) / (1 - min(a, b, 0.0)))
    return float(np.mean(differences))


def recognise_model(address: Sequence[str], answers: Any, distance: Distance = log_p_distance) -> str:
    """Return the digest of the model that gave these answers to the probes; that of a new model is kept."""
    folder = _folder(address)
    distances = {file: _distance_to(file, answers, distance) for file in _known_files(folder)}
    nearest = min(distances, key=distances.__getitem__, default=None)
    if nearest is not None and distances[nearest] <= SAME_MODEL:
        with writing(nearest):
            nearest.touch()  # the last that answered
        return nearest.stem
    description = json.dumps({"place": list(address), "log_probabilities": list(answers)}, indent=1).encode()
    digest = hashlib.sha256(description).hexdigest()[:32]
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
        write_whole(folder / f"{digest}.json", description)
    return digest


def known_models(address: Sequence[str]) -> list[str]:
    """Return the digests of the models that answered here before, the last one first."""
    return [file.stem for file in _known_files(_folder(address))]


def _likeliest(candidates: Mapping[str, float]) -> list[str]:
    return sorted(candidates, key=lambda text: -candidates[text])[:CANDIDATES_COMPARED]


def _upper_bound(candidates: Mapping[str, float]) -> float:
    """Return the largest log-probability that a candidate can have that is not named."""
    rest = 1 - math.exp(max(candidates.values()))
    return min(*candidates.values(), math.log(max(rest, SMALLEST_PROBABILITY)))


def _distance_to(file: Path, answers: Any, distance: Distance) -> float:
    """Return the distance to a model's answers on disk; infinity if they cannot be compared."""
    try:
        return distance(json.loads(file.read_text(encoding="utf-8"))["log_probabilities"], answers)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):  # damaged: that model counts as a new one
        return np.inf


def _known_files(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.json"), key=lambda file: file.stat().st_mtime, reverse=True)


def _folder(address: Sequence[str]) -> Path:
    return cache_folder() / "served" / hashlib.sha256(json.dumps(list(address)).encode()).hexdigest()[:32]
