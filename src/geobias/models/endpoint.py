"""An OpenAI-compatible server (vLLM, llama.cpp, Ollama, ...): how often it may be called, and several calls at a time.

At most `concurrency` calls run at the same time; answers are yielded as they come.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine, Generator, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from typing import Any, TypeAlias, TypeVar
from urllib.parse import urlsplit

from geobias.errors import InputError
from geobias.models.connection import KEY_VARIABLE, Connection
from geobias.models.scorer import CallLimitReached

T = TypeVar("T")
Query: TypeAlias = Callable[[Connection], Coroutine[Any, Any, T]]  # one call, or several that build on each other


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
