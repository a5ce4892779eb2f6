"""An OpenAI-compatible server (vLLM, llama.cpp, Ollama, ...): how it is called, again where that helps.

Calls run side by side, `concurrency` of them at most; answers are handed on as they come. A busy server (429), a
failing one (5xx), a late answer and a cut connection are tried again, each time after a longer pause; whatever else
the server refuses is told at once, in its own words.

The key comes from the environment (`GEOBIAS_API_KEY`) and goes into the header of the calls, nowhere else.
"""

from __future__ import annotations

import asyncio
import os
import random
import ssl
import time
from collections.abc import Callable, Coroutine, Generator, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import lru_cache
from itertools import count, islice
from typing import Any, TypeAlias, TypeVar
from urllib.parse import urlsplit

import httpx

from geobias.errors import GeobiasError, InputError

KEY_VARIABLE = "GEOBIAS_API_KEY"
OPENAI_HOST, OPENAI_KEY_VARIABLE = "api.openai.com", "OPENAI_API_KEY"
FIRST_PAUSE, LONGEST_PAUSE = 0.5, 30.0  # seconds; doubled from try to try
LONGEST_WAIT = 300.0  # seconds that a server may ask to wait for before it is better to come back later
SAID = 300  # characters of a server's message

T = TypeVar("T")
Question: TypeAlias = "Callable[[Line], Coroutine[Any, Any, T]]"  # one call, or several that build on each other
Body = dict[str, Any]
pause = asyncio.sleep  # one name, so that tests need not wait


class Refused(InputError):
    """The server refuses a call, and would refuse it again; `status` says how."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


class Failed(GeobiasError):
    """The server failed, again and again; `status` says how, 0 where there was no answer."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


class Spent(InputError):
    """The calls allowed are made."""


class Endpoint:
    """A model behind a URL, and how hard it may be asked.

    `rate` is the number of calls a second, `max_calls` that of all calls of this object, with those tried again, but
    without those that ask the model for nothing (see `Line.post`).
    """

    def __init__(
        self,
        url: str,
        model: str,
        *,
        concurrency: int = 8,
        rate: float | None = None,
        max_calls: int | None = None,
        timeout: float = 60.0,
        retries: int = 5,
    ) -> None:
        self.url = checked_url(url)
        self.model = model
        if not model.strip():
            raise InputError("A server's model needs its name: give it with --model.")
        if concurrency < 1 or (rate is not None and not rate > 0) or (max_calls is not None and max_calls < 1):
            raise InputError("Concurrency, rate and the number of calls must be above zero.")
        self.concurrency, self.rate, self.max_calls = concurrency, rate, max_calls
        self.timeout, self.retries = timeout, retries
        self.calls = 0
        self._answered = False  # whether anything came of the calls but what the server can
        self._next_call = 0.0

    def __repr__(self) -> str:
        return f"Endpoint({self.url!r}, {self.model!r})"

    def answers(self, questions: Iterable[Question[T]]) -> Iterator[T]:
        """What each question finds out through its line, as it comes. When one fails, those under way are heard first.

        The event loop turns only while somebody waits for the next answer, so this is an ordinary generator.
        """
        steps = self._counted(self._steps(iter(questions)))
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            yield from steps
            return
        with ThreadPoolExecutor(1) as thread:  # a notebook has a loop of its own, and a thread has one at most
            try:
                while answer := thread.submit(lambda: [*islice(steps, 1)]).result():
                    yield answer[0]
            finally:
                thread.submit(steps.close).result()

    def ask(self, question: Question[T]) -> T:
        """The answer to one question, which finds out something about the server: it is kept by nobody."""
        before = self._answered
        [answer] = self.answers([question])
        self._answered = before
        return answer

    def _counted(self, steps: Generator[T]) -> Generator[T]:
        try:
            for answer in steps:
                self._answered = True
                yield answer
        except Spent:
            if self._answered:
                raise
            raise Spent(
                f"The {self.max_calls:,} calls allowed are made before any text was answered: the first calls only "
                "find out what the server can, and a text may take several, so allow more."
            ) from None

    def _steps(self, questions: Iterator[Question[T]]) -> Generator[T]:
        line = Line(self)
        loop = asyncio.new_event_loop()
        pending: set[asyncio.Task[T]] = set()
        failure: BaseException | None = None
        try:
            while True:
                if failure is None:
                    for question in islice(questions, self.concurrency - len(pending)):
                        pending.add(loop.create_task(question(line)))
                if not pending:
                    break
                done, pending = loop.run_until_complete(asyncio.wait(pending, return_when=asyncio.FIRST_COMPLETED))
                for task in done:
                    if task.exception() is not None:
                        failure, line.closing = failure or task.exception(), True
                    else:
                        yield task.result()
            if failure is not None:
                raise failure
        finally:
            loop.run_until_complete(line.close(pending))
            loop.close()

    async def turn(self, *, counts: bool = True) -> None:
        """Wait until the next call may be made, and count it."""
        if counts and self.max_calls is not None and self.calls >= self.max_calls:
            raise Spent(
                f"The {self.max_calls:,} calls allowed are made: answers so far are kept, and the same command goes on "
                "from there."
            )
        self.calls += counts
        if self.rate is not None:
            now = time.monotonic()
            self._next_call = max(now, self._next_call) + 1 / self.rate
            await pause(self._next_call - 1 / self.rate - now)


class Line:
    """An open connection to the server."""

    def __init__(self, endpoint: Endpoint) -> None:
        self.endpoint = endpoint
        self.closing = False  # something failed: what is under way may end, nothing is tried again
        self._variable, self._key = _key(endpoint.url)
        headers = {"Authorization": f"Bearer {self._key}"} if self._key else {}
        limits = httpx.Limits(max_connections=endpoint.concurrency)
        self._client = httpx.AsyncClient(headers=headers, timeout=endpoint.timeout, limits=limits, verify=_trusted())

    async def post(self, path: str, body: Body, *, final: Sequence[int] = ()) -> Any:
        """The server's answer. A status in `final` is not tried again.

        A path that begins with / stands beside /v1: what is there only cuts texts into tokens and puts them together,
        so these calls are not among those that may be limited.
        """
        endpoint, beside = self.endpoint, path.startswith("/")
        url = endpoint.url.removesuffix("/v1") + path if beside else f"{endpoint.url}/{path}"
        for tried in count():
            await endpoint.turn(counts=not beside)
            status, wait = 0, min(FIRST_PAUSE * 2**tried, LONGEST_PAUSE) * random.uniform(0.5, 1)
            try:
                response = await self._client.post(url, json={"model": endpoint.model, **body})
            except httpx.TimeoutException:
                why = f"did not answer within {endpoint.timeout:g} s"
            except httpx.RequestError as error:
                why = f"cannot be reached or cut the connection ({self._shown(str(error) or type(error).__name__)})"
            else:
                status = response.status_code
                if status < 300:
                    return self._content(response)
                if status != 429 and status < 500:
                    raise Refused(self._refusal(response, url), status)
                why = f"failed with status {status}: {self._said(response)}"
                wait = max(wait, _retry_after(response))
            if self.closing or tried >= endpoint.retries or wait > LONGEST_WAIT or status in final:
                tries = "" if tried == 0 else f", {tried + 1} times"
                later = f" It asks to wait for {wait:.0f} s." if wait > LONGEST_WAIT else ""
                raise Failed(
                    f"The server at {endpoint.url} {why}{tries}.{later} Answers so far are kept: the same command goes "
                    "on from there.",
                    status,
                )
            await pause(wait)

    async def close(self, pending: Iterable[asyncio.Task[Any]]) -> None:
        """Hang up, also on questions that still wait."""
        for task in pending:
            task.cancel()
        await asyncio.gather(*pending, return_exceptions=True)
        await self._client.aclose()

    def _content(self, response: httpx.Response) -> Any:
        try:
            return response.json()
        except ValueError:
            said = self._shown(response.text)
            raise GeobiasError(f"The server at {self.endpoint.url} answered something else than JSON: {said}") from None

    def _refusal(self, response: httpx.Response, url: str) -> str:
        status, said = response.status_code, self._said(response)
        if status in (401, 403):
            state = "was refused" if self._key else "is not set"
            return f"The server at {self.endpoint.url} wants a key (status {status}): {self._variable} {state}. {said}"
        if status == 404:
            return f"The server has no {url} or no model {self.endpoint.model!r} (does the URL end with /v1?): {said}"
        return f"The server at {self.endpoint.url} refuses the call (status {status}): {said}"

    def _said(self, response: httpx.Response) -> str:
        """The server's own message, where it gives one."""
        try:
            content = response.json()
        except ValueError:
            return self._shown(response.text)
        error = content.get("error", content) if isinstance(content, dict) else content
        message = error.get("message", error) if isinstance(error, dict) else error
        return self._shown(str(message))

    def _shown(self, text: str) -> str:
        """A server's text in one line, cut, and never with the key in it."""
        if self._key:
            text = text.replace(self._key, "***")
        return " ".join(text.split())[:SAID]


def checked_url(url: str) -> str:
    """The URL without a slash at its end; one that could hold a secret is refused, and not repeated."""
    try:
        parts = urlsplit(url.strip())
        port = parts.port
    except ValueError:
        raise InputError("The endpoint is no URL: write it as http://localhost:8000/v1.") from None
    if parts.username is not None or parts.query or parts.fragment:
        raise InputError(
            f"The endpoint's URL must hold no user, password, query or fragment: a key goes into {KEY_VARIABLE}."
        )
    if parts.scheme not in ("http", "https") or not parts.hostname:
        shown = "" if set(url) & set("@?#") else f" {url!r}"  # a mistyped URL may hold a password all the same
        raise InputError(f"The endpoint{shown} is no URL: write it as http://localhost:8000/v1.")
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    return f"{parts.scheme}://{host}{f':{port}' if port else ''}{parts.path.rstrip('/')}"


@lru_cache
def _trusted() -> ssl.SSLContext:
    """The certificates that this machine trusts: reading them takes longer than a call."""
    return httpx.create_ssl_context()


def _key(url: str) -> tuple[str, str]:
    """The variable that is read, and the key in it; empty where there is none. OpenAI's own goes to OpenAI alone."""
    openai = urlsplit(url).hostname == OPENAI_HOST and KEY_VARIABLE not in os.environ
    variable = OPENAI_KEY_VARIABLE if openai else KEY_VARIABLE
    key = os.environ.get(variable, "").strip()
    if not (key.isascii() and key.isprintable()):
        raise InputError(f"{variable} holds characters that no key has: set it anew.")
    return variable, key


def _retry_after(response: httpx.Response) -> float:
    """How many seconds the server asks to wait for: as a number, or as the time to come back."""
    asked = response.headers.get("Retry-After", "").strip()
    try:
        return float(asked)
    except ValueError:
        pass
    try:
        return (parsedate_to_datetime(asked) - datetime.now(UTC)).total_seconds()
    except (ValueError, TypeError):  # nothing, or a date that is none
        return 0.0
