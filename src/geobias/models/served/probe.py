"""The first calls to a server: what it can, and whether its numbers stand where they belong.

1. It continues a sentence by one token. That must come with candidates and their log-probabilities, which are taken for
   right where the server speaks by itself.
2. It echoes the sentence with one of the other candidates, which must have the same number there: then echoes are
   used, and it is seen whether the server answers several texts a call.
3. Where it has not (off by one, no echo), or where the first word after `begin` is left out, the text is dictated (see
   `dictation.py`), if the candidate gets its number so.

A server that passes neither is refused, with a sentence that says what it lacks. So is `begin` where the echo shows
that the server begins texts by itself: the token would stand there twice.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from typing import Any

from geobias.errors import GeobiasError, InputError
from geobias.models.served.completions import Said, Token, choices, echoed, said
from geobias.models.served.dictation import Dictation, Heard
from geobias.models.served.endpoint import Endpoint, Failed, Line, Refused

PROBES = ("The quick brown fox jumps over the lazy", "She opened the door and", "Two plus two is")
NEAR = 0.05  # nats by which servers may differ from themselves
PROMPTS = 16  # texts a call, where the server takes several
CANDIDATES = 5
REFUSES, FAILS = (400, 422), (500, 501)  # how servers answer what they cannot
MISSING = (404, 405, 501)  # and what they do not have

Span = tuple[str, int, int]  # a text as it is sent, and from where to where its tokens count
Tokens = Callable[[Line, Sequence[Span], Heard], Coroutine[Any, Any, list[list[Token]]]]


class Lacking(InputError):
    """The server gives no likelihoods of texts; it may still chat."""


@dataclass(frozen=True)
class Ways:
    """How a server can be asked for the tokens of texts, how many texts a call, and what it said of the probes."""

    tokens: Tokens
    prompts: int
    numbers: tuple[float, ...]
    first: bool  # whether the first token of a text has a number
    dictated: bool = False

    @property
    def name(self) -> str:
        return "dictated likelihoods" if self.dictated else "echoed likelihoods"


def find_ways(endpoint: Endpoint, begin: str) -> Ways:
    """Probe the server; raise with what it lacks."""
    return endpoint.ask(lambda line: _find(line, begin))


async def _find(line: Line, begin: str) -> Ways:
    probe, other = await _continued(line, begin)
    echo, lacking, right = None, "it does not echo the text", False
    try:
        shown = other.text
        for word in [shown] if shown.startswith(" ") else [shown, f" {shown}"]:  # some servers leave the space out
            [echo] = await _echo(line, [begin + probe + word], len(begin), final=FAILS)
            own = [token.log_p for token in echo or () if token.start >= len(begin + probe)]
            right = own != [] and abs(sum(log_p or 0.0 for log_p in own) - other.log_p) <= NEAR
            if right:
                break
    except (Refused, Failed) as refusal:
        if refusal.status not in (*REFUSES, *FAILS):
            raise
        lacking = f"it does not echo the text ({refusal})"
    if echo is not None:
        lacking = "its echoed log-probabilities do not stand at their own tokens"
        if right and begin:
            [alone] = await _echo(line, [probe], 0)
            if alone and alone[0].log_p is not None:
                raise InputError(f"The server at {line.endpoint.url} begins texts by itself: leave out --begin.")
        if right and (not begin or next(token for token in echo if token.start >= len(begin)).log_p is not None):
            return await _echoing(line, begin)
    dictation = await _dictating(line, begin, probe, other)
    if dictation is not None:
        return dictation
    if right:  # all but the first token, which a server may leave out
        return await _echoing(line, begin)
    raise Lacking(
        f"The server at {line.endpoint.url} cannot be asked for the likelihood of texts: {lacking}, and it cannot be "
        "made to say them token by token (see docs/served.md)."
    )


async def _continued(line: Line, begin: str) -> tuple[str, Said]:
    """A probe, and a word with which the server might continue it, but does not: no other place gives it its number."""
    for probe in PROBES:
        body = {"prompt": begin + probe, "max_tokens": 1, "temperature": 0, "logprobs": CANDIDATES}
        try:
            [choice] = choices(await line.post("completions", body, final=MISSING), 1)
        except (Refused, Failed) as refusal:
            if refusal.status not in (*REFUSES, *MISSING):
                raise
            raise Lacking(
                f"{refusal} Likelihoods of texts need /completions; a server that only chats can be asked to classify."
            ) from None
        heard = said(choice)
        if not heard:
            raise Lacking(
                f"The server at {line.endpoint.url} gives no log-probabilities with its completions: start it so that "
                "it does (see docs/served.md), or use another."
            )
        words = [one for one in heard[0].candidates if one[0].strip().isalpha() and one[0] != heard[0].text]
        if words:
            return probe, Said(*words[-1], candidates=())
    raise Lacking(
        f"The server at {line.endpoint.url} names no candidates beside what it says, so its numbers cannot be checked."
    )


async def _echo(line: Line, texts: Sequence[str], begin: int, final: Sequence[int] = ()) -> list[list[Token] | None]:
    """The tokens of each text, echoed. One token is generated too: some servers read 0 as no limit."""
    prompt = texts[0] if len(texts) == 1 else list(texts)
    body = {"prompt": prompt, "echo": True, "logprobs": 1, "max_tokens": 1, "temperature": 0}
    answer = await line.post("completions", body, final=final)
    found = choices(answer, len(texts))
    return [echoed(choice, text, begin) for choice, text in zip(found, texts, strict=True)]


async def _echoing(line: Line, begin: str) -> Ways:
    async def tokens(
        line: Line, spans: Sequence[Span], heard: Heard, *, final: Sequence[int] = ()
    ) -> list[list[Token]]:
        found = await _echo(line, [text for text, _, _ in spans], len(begin), final)
        for one, (text, _, _) in zip(found, spans, strict=True):
            if one is None:
                raise GeobiasError(f"The server's echo does not spell the text {text[len(begin) :][:60]!r}.")
        return [one for one in found if one is not None]

    spans = [(begin + probe, 0, 0) for probe in PROBES]
    alone = [(await tokens(line, [span], Heard()))[0] for span in spans]
    numbers = _numbers(alone)
    try:
        together = _numbers(await tokens(line, spans, Heard(), final=FAILS))
        apart = [abs(one - other) for one, other in zip(together, numbers, strict=False)]
        several = len(together) == len(numbers) and sum(apart) <= NEAR * len(apart)
    except (Refused, Failed) as refusal:
        if refusal.status not in (*REFUSES, *FAILS):
            raise
        several = False
    except InputError:  # the calls allowed are made
        raise
    except GeobiasError:  # a server that takes one text a call answers in a way of its own
        several = False
    first = next(token for token in alone[0] if token.start >= len(begin)).log_p is not None
    return Ways(tokens, PROMPTS if several else 1, numbers, first)


async def _dictating(line: Line, begin: str, probe: str, other: Said) -> Ways | None:
    """None where the server cannot be dictated to."""
    dictation = Dictation()

    async def tokens(line: Line, spans: Sequence[Span], heard: Heard) -> list[list[Token]]:
        return [await dictation.read(line, text, first, last, heard) for text, first, last in spans]

    before, sent = len(begin + probe), begin + probe + other.text
    try:
        heard = (await tokens(line, [(sent, before, len(sent))], Heard()))[0]
        if len(heard) != 1 or abs((heard[0].log_p or 0.0) - other.log_p) > NEAR:
            return None
        spans = [(begin + text, len(begin), len(begin + text)) for text in PROBES]
        return Ways(tokens, 1, _numbers(await tokens(line, spans, Heard())), first=begin != "", dictated=True)
    except Refused:
        return None
    except (Failed, InputError):  # it is gone, or the calls allowed are made
        raise
    except GeobiasError:  # it answers something else
        return None


def _numbers(texts: Sequence[Sequence[Token]]) -> tuple[float, ...]:
    return tuple(token.log_p for tokens in texts for token in tokens if token.log_p is not None)
