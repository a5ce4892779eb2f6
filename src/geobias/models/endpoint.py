"""An OpenAI-compatible server (vLLM, llama.cpp, Ollama, ...): limits on its use, calls, retries and the key.

At most `concurrency` calls run at the same time; answers are yielded as they come. A busy server (429), a failing one
(5xx), a late answer, one that cannot be read and a cut connection are retried, each time after a longer pause. Whatever
else the server refuses is reported at once, in its own words. The key comes from the environment (`GEOBIAS_API_KEY`)
and goes into the header of the calls, nowhere else.
"""

from __future__ import annotations

import asyncio
import logging
import os
import random
import time
from collections.abc import Callable, Coroutine, Generator, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import lru_cache
from itertools import count, islice
from typing import Any, TypeAlias, TypeVar
from urllib.parse import urlsplit

import httpx

from geobias.errors import GeobiasError, InputError
from geobias.models.scorer import CallLimitReached

KEY_VARIABLE = "GEOBIAS_API_KEY"
OPENAI_HOST, OPENAI_KEY_VARIABLE = "api.openai.com", "OPENAI_API_KEY"
THIS_MACHINE = ("localhost", "127.0.0.1", "::1")
SHORTEST_SECRET = 8  # characters; "token" or "none", as local servers are given, may stand in any answer
FIRST_PAUSE, LONGEST_PAUSE = 0.5, 30.0  # seconds; doubled from try to try
LONGEST_WAIT = 300.0  # seconds that a server may ask to wait; above it the run ends
MESSAGE_LENGTH = 300  # characters of a server's message
UNREADABLE = 200  # the status of an answer that cannot be read

T = TypeVar("T")
Query: TypeAlias = "Callable[[Connection], Coroutine[Any, Any, T]]"  # one call, or several that build on each other
pause = asyncio.sleep  # a module-level name, so that tests need not wait
read_trusted_certificates = lru_cache(httpx.create_ssl_context)  # reading them takes longer than a call
log = logging.getLogger("geobias")


class Endpoint:
    """A model behind an OpenAI-compatible server (vLLM, llama.cpp, Ollama, ...), and limits on its use.

    The API key is read from the environment variable GEOBIAS_API_KEY (for api.openai.com also OPENAI_API_KEY). Busy and
    failing servers are called again after growing pauses.

    Parameters
    ----------
    url : str
        Base URL of the server, such as "http://localhost:8000/v1".
    model : str
        Name of the model on the server.
    concurrency : int, default 8
        Highest number of calls at the same time.
    rate : float, optional
        Highest number of calls per second. Default: no limit.
    max_calls : int, optional
        Highest number of calls of this object, retries included. Default: no limit.
    timeout : float, default 60.0
        Seconds to wait for a whole answer.
    retries : int, default 5
        How often to repeat a call that fails.

    Attributes
    ----------
    calls : int
        Number of calls so far.

    Raises
    ------
    InputError
        If the URL, the name of the model or a limit cannot be used.

    Examples
    --------
    >>> import geobias
    >>> geobias.Endpoint("http://localhost:8000/v1", "my-model", rate=10, max_calls=50_000)
    Endpoint('http://localhost:8000/v1', 'my-model')
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
        self.url = check_url(url)
        self.model = model
        if not model.strip():
            raise InputError("The name of the server's model is empty. Write it as URL#NAME.")
        if concurrency < 1 or (rate is not None and not rate > 0) or (max_calls is not None and max_calls < 1):
            raise InputError("concurrency, rate and max_calls must be above 0.")
        self.concurrency, self.rate, self.max_calls = concurrency, rate, max_calls
        self.timeout, self.retries = timeout, retries
        self.calls = 0
        self._next_call = 0.0

    def __repr__(self) -> str:
        return f"Endpoint({self.url!r}, {self.model!r})"

    def ask_all(self, queries: Iterable[Query[T]]) -> Iterator[T]:
        """Yield the answers of queries as they arrive. If one fails, those that are running are finished first."""
        answers = self._run_loop(iter(queries))
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            yield from answers
            return
        with ThreadPoolExecutor(1) as thread:  # a notebook has a loop already, and a thread can have only one
            try:
                while answer := thread.submit(lambda: [*islice(answers, 1)]).result():
                    yield answer[0]
            finally:
                thread.submit(answers.close).result()

    def ask(self, query: Query[T]) -> T:
        """Return the answer of a query that probes the server."""
        [answer] = self.ask_all([query])
        return answer

    def _run_loop(self, queries: Iterator[Query[T]]) -> Generator[T]:
        connection = Connection(self)
        loop = asyncio.new_event_loop()
        pending: set[asyncio.Task[T]] = set()
        failure: BaseException | None = None
        try:
            while True:
                if failure is None:
                    for query in islice(queries, self.concurrency - len(pending)):
                        pending.add(loop.create_task(query(connection)))
                if not pending:
                    break
                done, pending = loop.run_until_complete(asyncio.wait(pending, return_when=asyncio.FIRST_COMPLETED))
                for task in done:
                    if task.exception() is not None:
                        failure, connection.closing = failure or task.exception(), True
                    else:
                        yield task.result()
            if failure is not None:
                raise failure
        finally:
            loop.run_until_complete(connection.close(pending))
            loop.close()

    def take_turn(self) -> float | None:
        """Count a call that is about to be made; return how many seconds to wait before it, None without a rate."""
        if self.max_calls is not None and self.calls >= self.max_calls:
            raise CallLimitReached(
                f"The limit of {self.max_calls:,} calls was reached. The answers so far are saved; run the same "
                "command to resume, or raise --server calls=N."
            )
        self.calls += 1
        if self.rate is None:
            return None
        now = time.monotonic()
        self._next_call = max(now, self._next_call) + 1 / self.rate
        return self._next_call - 1 / self.rate - now


def check_url(url: str) -> str:
    """Return the URL without a slash at its end. One that could hold a secret is refused, and not repeated."""
    try:
        parts = urlsplit(url.strip())
        is_url = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        is_url = False
    if not is_url:  # a mistyped URL may hold a password all the same
        raise InputError("The endpoint is not a URL. Write it as http://localhost:8000/v1.")
    if parts.username is not None or parts.query or parts.fragment:
        raise InputError(
            f"The endpoint's URL must have no user, password, query or fragment. Put the key into {KEY_VARIABLE}."
        )
    return f"{parts.scheme}://{parts.netloc.lower()}{parts.path.rstrip('/')}"


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
        warn_about_key(endpoint.url)
        self._slots = asyncio.Semaphore(endpoint.concurrency)
        self._client = httpx.AsyncClient(
            headers={"Authorization": f"Bearer {self._key}"} if self._key else {},
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
        """Return the server's answer; httpx limits the time between two bytes only."""
        async with self._slots, asyncio.timeout(self.endpoint.timeout):  # from when a connection is free
            return await self._client.post(url, json=body)

    def _read(self, response: httpx.Response, read: Callable[[Any], Any]) -> Any:
        try:
            answer = response.json()
        except (ValueError, RecursionError):
            raise UnreadableAnswer(f"returned something other than JSON: {response.text[:MESSAGE_LENGTH]}") from None
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
        text = text.replace(self._key, "***") if len(self._key) >= SHORTEST_SECRET else text
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
    if key and parts.scheme == "http" and parts.hostname not in THIS_MACHINE:
        log.warning(
            "The key in %s is sent to %s without encryption: others on the way can read it. Use https, or unset %s.",
            *(variable, parts.hostname, variable),
        )
