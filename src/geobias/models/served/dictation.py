"""Log-probabilities from a server whose echo gives none, or wrong ones: it is made to say the text, token by token.

A number that a server gives for a token that it says itself stands at that token. So each token of the text is pushed
(`logit_bias`) until the server says it after what comes before it; the number is the one before the push. Texts
that begin alike share the calls for their beginning.

It needs `logit_bias`, and a server that tells its token ids (`/extras/tokenize`, `/extras/detokenize`), as
llama-cpp-python's does. There the echo is off by one for models without a token that begins texts: row i of the
scores, which says what follows token i, is read at token i itself (`Llama._create_completion`, version 0.3.36).
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Coroutine
from typing import Any

from geobias.errors import GeobiasError
from geobias.models.served.completions import Token, choices, said
from geobias.models.served.endpoint import Failed, Line

PUSH = 100.0  # added to a logit: far more than logits differ

Ids = tuple[int, ...]


class Dictation:
    """How a server spells its tokens."""

    def __init__(self) -> None:
        self._spellings: dict[Ids, str | None] = {}  # None: a part of a character, which is no text

    async def read(self, line: Line, text: str, first: int, last: int, heard: Heard) -> list[Token]:
        """The tokens that overlap text[first:last], each with its log-probability given all before it.

        What stands before is never spelled: it may hold tokens that a server writes as nothing (`<s>`).
        """
        tokens = []
        for start, end, before, own in await self._units(line, text, first):
            if start < last and start > 0:  # nothing stands before the first
                question = _pushed(line, text[:start], len(before), own, text[start:end])
                tokens += [Token(start, end, log_p) for log_p in await heard.once((*before, *own), question)]
        return tokens

    async def _units(self, line: Line, text: str, first: int) -> list[tuple[int, int, Ids, Ids]]:
        """Tokens from the one at `first` on: where they stand, all before them, they; a split character stays whole."""
        ids = _ids(await line.post("/extras/tokenize", {"input": text}))
        spelled: list[tuple[int, Ids, str]] = []
        own: Ids = ()
        for at, token in enumerate(ids, start=1):
            own = (*own, token)
            spelling = await self._spelling(line, own)
            if spelling is not None:
                spelled.append((at - len(own), own, spelling))
                own = ()
        units, end = [], len(text)
        while end > first:
            count, own, spelling = spelled.pop() if spelled else (0, (), "")
            if not text.endswith(spelling, 0, end):
                spelling = spelling.removeprefix(" ")  # some tokenizers put a space before the first word
            if not spelling or not text.endswith(spelling, 0, end):
                raise GeobiasError(f"The server's tokens do not spell the text {text[:60]!r}: it cannot be dictated.")
            units.append((end - len(spelling), end, ids[:count], own))
            end -= len(spelling)
        return units[::-1]

    async def _spelling(self, line: Line, ids: Ids) -> str | None:
        """The text of these tokens; None where they end within a character, which the server fails at."""
        if ids not in self._spellings:
            try:
                answer = await line.post("/extras/detokenize", {"tokens": ids}, final=[500])
                self._spellings[ids] = answer["text"] if isinstance(answer, dict) else None
            except Failed as failure:
                if failure.status != 500:
                    raise
                self._spellings[ids] = None
        return self._spellings[ids]


class Heard:
    """Log-probabilities by the tokens up to there. Who asks for what is being asked already waits for that answer."""

    def __init__(self) -> None:
        self._asked: dict[Ids, asyncio.Task[list[float]]] = {}

    async def once(self, key: Ids, question: Coroutine[Any, Any, list[float]]) -> list[float]:
        if key in self._asked:
            question.close()
        else:
            self._asked[key] = asyncio.ensure_future(question)
        return await self._asked[key]


async def _pushed(line: Line, before: str, tokens_before: int, ids: Ids, spelling: str) -> list[float]:
    """Make the server say these tokens, and hear how likely each was."""
    body: dict[str, Any] = {
        "prompt": before,
        "max_tokens": len(ids),
        "temperature": 0,
        "logprobs": 1,
        "logit_bias": {str(token): PUSH for token in ids},
    }
    if len(ids) > 1:  # one push cannot tell in which order; the grammar can
        body["grammar"] = f"root ::= {json.dumps(spelling, ensure_ascii=False)}"
    answer = await line.post("completions", body)
    [choice] = choices(answer, 1)
    heard = said(choice)[: len(ids)]
    read = (answer.get("usage") or {}).get("prompt_tokens", tokens_before)
    if len(heard) < len(ids) or read != tokens_before or (len(ids) == 1 and heard[0].text != spelling):
        raise GeobiasError(f"The server does not say {spelling!r} after {before[-60:]!r} when it is dictated.")
    return [one.log_p for one in heard]


def _ids(answer: Any) -> Ids:
    try:
        return tuple(int(token) for token in answer["tokens"])
    except (TypeError, KeyError, ValueError):
        raise GeobiasError(f"The server's tokens cannot be read: {str(answer)[:100]}.") from None
