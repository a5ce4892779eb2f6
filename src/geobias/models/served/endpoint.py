"""An OpenAI-compatible server (vLLM, llama.cpp, Ollama, ...): concurrent calls, retries and limits.

At most `concurrency` calls run at the same time; answers are yielded as they come. A busy server (429), a failing one
(5xx), a late answer and a cut connection are retried, each time after a longer pause. Whatever else the server refuses
is reported at once, in its own words.

The key comes from the environment (`GEOBIAS_API_KEY`) and goes into the header of the calls, nowhere else.
"""

from __future__ import annotations

import asyncio
import os
import random
import time
from collections.abc import Callable, Coroutine, Generator, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
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
LONGEST_WAIT = 300.0  # seconds that a server may ask to wait; above it the run ends
MESSAGE_LENGTH = 300  # characters of a server's message

T = TypeVar("T")
Query: TypeAlias = "Callable[[Connection], Coroutine[Any, Any, T]]"  # one call, or several that build on each other
pause = asyncio.sleep  # a module-level name, so that tests need not wait
read_trusted_certificates = lru_cache(httpx.create_ssl_context)  # reading them takes longer than a call


class CallFailed(GeobiasError):
    """A call failed; `status` is that of the server's last answer, 0 without one."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


class CallRefused(CallFailed, InputError):
    """The server refuses a call, and would refuse it again."""


class ServerFailed(CallFailed):
    """The server failed at every try."""


class CallLimitReached(InputError):
    """All calls that the user allows have been made."""


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
        Seconds to wait for an answer.
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
            raise InputError("The name of the server's model is empty. Set it with --model.")
        if concurrency < 1 or (rate is not None and not rate > 0) or (max_calls is not None and max_calls < 1):
            raise InputError("--concurrency, --rate and --max-calls must be above 0.")
        self.concurrency, self.rate, self.max_calls = concurrency, rate, max_calls
        self.timeout, self.retries = timeout, retries
        self.calls = 0
        self._has_answered = False  # whether any text was answered; probes of the server do not count
        self._next_call = 0.0

    def __repr__(self) -> str:
        return f"Endpoint({self.url!r}, {self.model!r})"

    def ask_all(self, queries: Iterable[Query[T]]) -> Iterator[T]:
        """Yield the answers of queries as they arrive. If one fails, those that are running are finished first.

        Parameters
        ----------
        queries : iterable of callable
            Each takes a connection and returns a coroutine.

        Yields
        ------
        object
            What a query returns.
        """
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
        """Return the answer of a query that probes the server.

        Parameters
        ----------
        query : callable
            Takes a connection and returns a coroutine.

        Returns
        -------
        object
            What the query returns.
        """
        before = self._has_answered
        [answer] = self.ask_all([query])
        self._has_answered = before
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
                        self._has_answered = True
                        yield task.result()
            if isinstance(failure, CallLimitReached) and not self._has_answered:
                raise CallLimitReached(
                    f"The limit of {self.max_calls:,} calls was reached before any text was scored. The first calls "
                    "only probe the server, and a text may take several calls. Raise --max-calls."
                )
            if failure is not None:
                raise failure
        finally:
            loop.run_until_complete(connection.close(pending))
            loop.close()

    async def wait_for_turn(self, *, counts: bool = True) -> None:
        """Wait until the next call may be made, and count it.

        Parameters
        ----------
        counts : bool, default True
            Whether the call counts towards `max_calls`.
        """
        if counts and self.max_calls is not None and self.calls >= self.max_calls:
            raise CallLimitReached(
                f"The limit of {self.max_calls:,} calls was reached. The answers so far are saved; run the same "
                "command to resume."
            )
        self.calls += counts
        if self.rate is not None:
            now = time.monotonic()
            self._next_call = max(now, self._next_call) + 1 / self.rate
            await pause(self._next_call - 1 / self.rate - now)


class Connection:
    """An open connection to the server."""

    def __init__(self, endpoint: Endpoint) -> None:
        self.endpoint = endpoint
        self.closing = False  # something failed: calls under way may end, nothing is retried
        self._key_variable, self._key = read_key(endpoint.url)
        headers = {"Authorization": f"Bearer {self._key}"} if self._key else {}
        limits = httpx.Limits(max_connections=endpoint.concurrency)
        self._client = httpx.AsyncClient(
            headers=headers, timeout=endpoint.timeout, limits=limits, verify=read_trusted_certificates()
        )

    async def post(self, path: str, body: dict[str, Any], *, final: Sequence[int] = ()) -> Any:
        """Return the server's answer. A status in `final` is not retried.

        A path that begins with / is next to /v1. Such calls only split texts into tokens and join them, so they are not
        counted.
        """
        endpoint, is_beside = self.endpoint, path.startswith("/")
        url = endpoint.url.removesuffix("/v1") + path if is_beside else f"{endpoint.url}/{path}"
        for retry in count():
            await endpoint.wait_for_turn(counts=not is_beside)
            status, wait = 0, min(FIRST_PAUSE * 2**retry, LONGEST_PAUSE) * random.uniform(0.5, 1)
            try:
                response = await self._client.post(url, json={"model": endpoint.model, **body})
            except httpx.TimeoutException:
                problem = f"did not answer within {endpoint.timeout:g} s"
            except httpx.RequestError as error:
                problem = f"cannot be reached or cut the connection ({self._clean(str(error) or type(error).__name__)})"
            else:
                status = response.status_code
                if status < 300:
                    return self._read_json(response)
                if status != 429 and status < 500:
                    raise CallRefused(self._explain_refusal(response, url), status)
                problem = f"failed with status {status}: {self._server_message(response)}"
                wait = max(wait, _retry_after(response))
            if self.closing or retry >= endpoint.retries or wait > LONGEST_WAIT or status in final:
                times = "" if retry == 0 else f", {retry + 1} times"
                later = f" It asks to wait for {wait:.0f} s." if wait > LONGEST_WAIT else ""
                raise ServerFailed(
                    f"The server at {endpoint.url} {problem}{times}.{later} The answers so far are saved; run the same "
                    "command to resume.",
                    status,
                )
            await pause(wait)

    async def close(self, pending: Iterable[asyncio.Task[Any]]) -> None:
        """Close the connection, and cancel the queries that still wait."""
        for task in pending:
            task.cancel()
        await asyncio.gather(*pending, return_exceptions=True)
        await self._client.aclose()

    def _read_json(self, response: httpx.Response) -> Any:
        try:
            return response.json()
        except ValueError:
            raise GeobiasError(
                f"The server at {self.endpoint.url} returned something other than JSON: {self._clean(response.text)}"
            ) from None

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
        if self._key:
            text = text.replace(self._key, "***")
        return " ".join(text.split())[:MESSAGE_LENGTH]


def _retry_after(response: httpx.Response) -> float:
    """Return how many seconds the server asks to wait: its header holds a number, or the time to come back."""
    header = response.headers.get("Retry-After", "").strip()
    with suppress(ValueError):
        return float(header)
    with suppress(ValueError, TypeError):  # no header, or not a date
        return (parsedate_to_datetime(header) - datetime.now(UTC)).total_seconds()
    return 0.0


def check_url(url: str) -> str:
    """Return the URL without a slash at its end. One that could hold a secret is refused, and not repeated."""
    try:
        parts = urlsplit(url.strip())
        port = parts.port
    except ValueError:
        raise InputError("The endpoint is not a URL. Write it as http://localhost:8000/v1.") from None
    if parts.username is not None or parts.query or parts.fragment:
        raise InputError(
            f"The endpoint's URL must have no user, password, query or fragment. Put the key into {KEY_VARIABLE}."
        )
    if parts.scheme not in ("http", "https") or not parts.hostname:
        excerpt = "" if set(url) & set("@?#") else f" {url!r}"  # a mistyped URL may hold a password all the same
        raise InputError(f"The endpoint{excerpt} is not a URL. Write it as http://localhost:8000/v1.")
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    return f"{parts.scheme}://{host}{f':{port}' if port else ''}{parts.path.rstrip('/')}"


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
