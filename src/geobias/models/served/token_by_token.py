"""Log-probabilities from a server whose echo gives none, or wrong ones: it is made to generate the text.

The number that a server gives for a token that it generates itself is at that token. So each token of the text gets a
`logit_bias` with which the server generates it after what comes before; its log-probability is that without the bias.
Texts that begin alike share the calls for their beginning.

It needs `logit_bias`, and a server that tells its token ids (`/extras/tokenize`, `/extras/detokenize`), as
llama-cpp-python's does. There the echo is off by one for models without a token that begins texts: row i of the
scores, which says what follows token i, is read at token i itself (`Llama._create_completion`, version 0.3.36).
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Coroutine
from typing import Any, NamedTuple

from geobias.errors import GeobiasError
from geobias.models.served.completions import ScoredToken, read_choices, read_generated
from geobias.models.served.endpoint import Connection, ServerFailed

LOGIT_BIAS = 100.0  # far more than logits differ

Ids = tuple[int, ...]


class _Unit(NamedTuple):
    """Tokens that make whole characters: their span in the text, all tokens before them, and they."""

    start: int
    end: int
    before: Ids
    ids: Ids


class Dictation:
    """Makes a server generate given texts, and remembers how it spells its tokens."""

    def __init__(self) -> None:
        self._spellings: dict[Ids, str | None] = {}  # None: a part of a character, which is no text

    async def score_tokens(
        self, connection: Connection, text: str, first: int, last: int, cache: CallCache
    ) -> list[ScoredToken]:
        """Return the tokens that overlap text[first:last], each with its log-probability given all before it.

        What stands before is never spelled: it may hold tokens that a server writes as nothing (`<s>`).
        """
        tokens = []
        for unit in await self._split(connection, text, first):
            if unit.start < last and unit.start > 0:  # nothing stands before the first
                call = _generate(connection, text[: unit.start], unit, text[unit.start : unit.end])
                log_p = await cache.get((*unit.before, *unit.ids), call)
                tokens += [ScoredToken(unit.start, unit.end, number) for number in log_p]
        return tokens

    async def _split(self, connection: Connection, text: str, first: int) -> list[_Unit]:
        """Split the text from `first` on into tokens; those of one character stay together."""
        ids = _read_token_ids(await connection.post("/extras/tokenize", {"input": text}))
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
                raise GeobiasError(f"The server's tokens do not spell the text {text[:60]!r}: it cannot be dictated.")
            units.append(_Unit(end - len(spelling), end, ids[:count], group))
            end -= len(spelling)
        return units[::-1]

    async def _spell(self, connection: Connection, ids: Ids) -> str | None:
        """Return the text of these tokens; None if they end within a character, at which the server fails."""
        if ids not in self._spellings:
            try:
                answer = await connection.post("/extras/detokenize", {"tokens": ids}, final=[500])
                self._spellings[ids] = answer["text"] if isinstance(answer, dict) else None
            except ServerFailed as failure:
                if failure.status != 500:
                    raise
                self._spellings[ids] = None
        return self._spellings[ids]


class CallCache:
    """Log-probabilities by the tokens up to there. A call that is under way already is awaited, not repeated."""

    def __init__(self) -> None:
        self._tasks: dict[Ids, asyncio.Task[list[float]]] = {}

    async def get(self, key: Ids, call: Coroutine[Any, Any, list[float]]) -> list[float]:
        if key in self._tasks:
            call.close()
        else:
            self._tasks[key] = asyncio.ensure_future(call)
        return await self._tasks[key]


async def _generate(connection: Connection, before: str, unit: _Unit, spelling: str) -> list[float]:
    """Make the server generate these tokens, and return the log-probability of each."""
    ids = unit.ids
    body: dict[str, Any] = {
        "prompt": before,
        "max_tokens": len(ids),
        "temperature": 0,
        "logprobs": 1,
        "logit_bias": {str(token): LOGIT_BIAS for token in ids},
    }
    if len(ids) > 1:  # a bias says nothing about the order of the tokens; a grammar does
        body["grammar"] = f"root ::= {json.dumps(spelling, ensure_ascii=False)}"
    answer = await connection.post("completions", body)
    [choice] = read_choices(answer, 1)
    generated = read_generated(choice)[: len(ids)]
    tokens_read = (answer.get("usage") or {}).get("prompt_tokens", len(unit.before))
    is_complete = len(generated) == len(ids) and tokens_read == len(unit.before)
    if not is_complete or (len(ids) == 1 and generated[0].text != spelling):
        raise GeobiasError(f"The server does not say {spelling!r} after {before[-60:]!r} when it is dictated.")
    return [token.log_p for token in generated]


def _read_token_ids(answer: Any) -> Ids:
    try:
        return tuple(int(token) for token in answer["tokens"])
    except (TypeError, KeyError, ValueError):
        raise GeobiasError(f"The server's tokens cannot be read: {str(answer)[:100]}.") from None
