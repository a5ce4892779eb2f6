"""Calls of a server: retries, limits of time and size, and the key.

A busy server (429), a failing one (5xx), a late answer, one that cannot be read and a cut connection are retried, each
time after a longer pause. Whatever else the server refuses is reported at once, in its own words.

The key comes from the environment (`GEOBIAS_API_KEY`) and goes into the header of the calls, nowhere else.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import random
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import lru_cache
from ipaddress import ip_address
from itertools import count
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import httpx

from geobias.errors import GeobiasError, InputError

if TYPE_CHECKING:
    from geobias.models.endpoint import Endpoint

KEY_VARIABLE = "GEOBIAS_API_KEY"
OPENAI_HOST, OPENAI_KEY_VARIABLE = "api.openai.com", "OPENAI_API_KEY"
REDACTED = "***"
SHORTEST_SECRET = 8  # characters; "token" or "none", as local servers are given, may stand in any answer
FIRST_PAUSE, LONGEST_PAUSE = 0.5, 30.0  # seconds; doubled from try to try
LONGEST_WAIT = 300.0  # seconds that a server may ask to wait; above it the run ends
MOST_BYTES = 64 * 2**20  # of an answer, decompressed
MESSAGE_LENGTH = 300  # characters of a server's message
UNREADABLE = 200  # the status of an answer that cannot be read

pause = asyncio.sleep  # a module-level name, so that tests need not wait
read_trusted_certificates = lru_cache(httpx.create_ssl_context)  # reading them takes longer than a call
log = logging.getLogger("geobias")


class CallFailed(GeobiasError):
    """A call failed; `status` is that of the server's last answer, 0 without one."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


class CallRefused(CallFailed, InputError):
    """The server refuses a call, and would refuse it again."""


class ServerFailed(CallFailed):
    """The server failed at every try."""


class UnreadableAnswer(GeobiasError):
    """An answer is not what was asked for; the message goes on after "The server"."""


class Connection:
    """An open connection to the server."""

    def __init__(self, endpoint: Endpoint) -> None:
        self.endpoint = endpoint
        self.closing = False  # something failed: calls under way may end, nothing is retried
        self._key_variable, self._key = read_key(endpoint.url)
        self._secret = self._key if len(self._key) >= SHORTEST_SECRET else ""
        warn_about_key(endpoint.url)
        headers = {"Authorization": f"Bearer {self._key}"} if self._key else {}
        self._slots = asyncio.Semaphore(endpoint.concurrency)
        self._client = httpx.AsyncClient(
            headers={**headers, "Accept-Encoding": "gzip"},
            timeout=endpoint.timeout,
            limits=httpx.Limits(max_connections=endpoint.concurrency),
            verify=read_trusted_certificates(),
        )

    async def post(
        self,
        path: str,
        body: dict[str, Any],
        read: Callable[[Any], Any] = lambda answer: answer,
        *,
        final: Sequence[int] = (),
    ) -> Any:
        """Return what `read` makes of the server's answer. A status in `final` is not retried.

        An answer that `read` cannot read is asked for again like one that failed: it says nothing about the text.
        """
        endpoint, url = self.endpoint, f"{self.endpoint.url}/{path}"
        for retry in count():
            if (seconds := endpoint.take_turn()) is not None:
                await pause(seconds)
            status, wait = 0, min(FIRST_PAUSE * 2**retry, LONGEST_PAUSE) * random.uniform(0.5, 1)
            try:
                response = await self._send(url, {"model": endpoint.model, **body})
                status = response.status_code
                if status < 300:
                    return self._read(response, read)
                if status != 429 and status < 500:
                    raise CallRefused(self._explain_refusal(response, url), status)
                problem = f"failed with status {status}: {self._server_message(response)}"
                wait = max(wait, _retry_after(response))
            except (httpx.TimeoutException, TimeoutError):
                problem = f"did not answer within {endpoint.timeout:g} s"
            except httpx.RequestError as error:
                problem = f"cannot be reached or cut the connection ({self._clean(str(error) or type(error).__name__)})"
            except UnreadableAnswer as error:
                status, problem = UNREADABLE, self._clean(str(error))
            if self.closing or retry >= endpoint.retries or wait > LONGEST_WAIT or status in final:
                times = "" if retry == 0 else f", {retry + 1} times"
                later = f" It asks to wait for {wait:.0f} s." if wait > LONGEST_WAIT else ""
                raise ServerFailed(
                    f"The server at {endpoint.url} {problem}{times}.{later} The answers so far are saved; run the same "
                    "command to resume.",
                    status,
                )
            await pause(wait)

    async def _send(self, url: str, body: dict[str, Any]) -> httpx.Response:
        """Return the server's answer, read within the time and the size that one call may have.

        httpx limits the time between two bytes only, and reads without end.
        """
        seconds = self.endpoint.timeout  # from when a connection is free
        async with self._slots, asyncio.timeout(seconds), self._client.stream("POST", url, json=body) as response:
            content = bytearray()
            async for part in response.aiter_bytes():  # decompressed piece by piece
                content += part
                if len(content) > MOST_BYTES:
                    raise UnreadableAnswer(f"returned an answer of more than {MOST_BYTES / 2**20:g} MB")
        headers = {name: value for name, value in response.headers.items() if name.lower() != "content-encoding"}
        return httpx.Response(response.status_code, headers=headers, content=bytes(content))

    def _read(self, response: httpx.Response, read: Callable[[Any], Any]) -> Any:
        try:
            answer = json.loads(response.content)
            answer = redact(answer, self._secret) if self._secret else answer
        except (ValueError, RecursionError):
            raise UnreadableAnswer(f"returned something other than JSON: {self._clean(response.text)}") from None
        try:
            return read(answer)
        except (TypeError, ValueError, LookupError, AttributeError, OverflowError):
            raise UnreadableAnswer(f"returned something that cannot be read: {str(answer)[:MESSAGE_LENGTH]}") from None

    async def close(self, pending: Iterable[asyncio.Task[Any]]) -> None:
        """Close the connection, and cancel the queries that still wait."""
        for task in pending:
            task.cancel()
        await asyncio.gather(*pending, return_exceptions=True)
        await self._client.aclose()

    def _explain_refusal(self, response: httpx.Response, url: str) -> str:
        status, message, address = response.status_code, self._server_message(response), self.endpoint.url
        if status in (401, 403):
            state = "was refused" if self._key else "is not set"
            return f"The server at {address} requires a key (status {status}): {self._key_variable} {state}. {message}"
        if status == 404:
            model = self.endpoint.model
            return f"The server has no {url} or no model {model!r} (does the URL end with /v1?): {message}"
        return f"The server at {address} rejected the call (status {status}): {message}"

    def _server_message(self, response: httpx.Response) -> str:
        """Return the error message in the server's answer, or the whole answer."""
        try:
            content = response.json()
        except ValueError:
            return self._clean(response.text)
        error = content.get("error", content) if isinstance(content, dict) else content
        message = error.get("message", error) if isinstance(error, dict) else error
        return self._clean(str(message))

    def _clean(self, text: str) -> str:
        """Return a server's text in one line, shortened, and never with the key in it."""
        if self._secret:
            text = text.replace(self._secret, REDACTED)
        return " ".join(text.split())[:MESSAGE_LENGTH]


def _retry_after(response: httpx.Response) -> float:
    """Return how many seconds the server asks to wait; 0 if it names none, or a time of day."""
    with suppress(ValueError):
        return float(response.headers.get("Retry-After", ""))
    return 0.0


def read_key(url: str) -> tuple[str, str]:
    """Return the environment variable for this URL, and the key in it; empty if it is not set.

    OpenAI's own variable is used for OpenAI only.
    """
    is_openai = urlsplit(url).hostname == OPENAI_HOST and KEY_VARIABLE not in os.environ
    variable = OPENAI_KEY_VARIABLE if is_openai else KEY_VARIABLE
    key = os.environ.get(variable, "").strip()
    if not (key.isascii() and key.isprintable()):
        raise InputError(f"{variable} contains invalid characters. Set it again.")
    return variable, key


@lru_cache
def warn_about_key(url: str) -> None:
    """Warn, once for each server, that the key for it can be read on the way."""
    variable, key = read_key(url)
    parts = urlsplit(url)
    if key and parts.scheme == "http" and not _is_this_machine(parts.hostname or ""):
        log.warning(
            "The key in %s is sent to %s without encryption: others on the way can read it. Use https, or unset %s.",
            *(variable, parts.hostname, variable),
        )


def _is_this_machine(host: str) -> bool:
    with suppress(ValueError):  # not a number
        return ip_address(host).is_loopback
    return host == "localhost" or host.endswith(".localhost")


def redact(content: Any, key: str) -> Any:
    """Return a server's answer without the key: what it says may be printed and stored."""
    if isinstance(content, str):
        return content.replace(key, REDACTED)
    if isinstance(content, list):
        return [redact(part, key) for part in content]
    if isinstance(content, dict):
        return {redact(name, key): redact(part, key) for name, part in content.items()}
    return content
