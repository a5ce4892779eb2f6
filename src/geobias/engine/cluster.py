"""Answers from the workers of a Ray cluster: a process for each GPU or, where there is none, for every core or two.

    this process                                         every worker
    ask(): what is not known yet ── shards of texts ──>  a copy of the scorer, moved to the worker's GPU
           store, order, progress <── rows of a shard ── the block that the texts are of

Scorer and block are sent once, by pickle: workers need the package, no model folder. A shard is positions of a block,
or some texts; it takes a few seconds. Shards come back in any order, and each is yielded once. Those that a dying
worker had are given to others. This is the only module that knows Ray.
"""

from __future__ import annotations

import logging
import os
import pickle
import sys
import time
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

import geobias
from geobias.engine.ask import Part, answers_here
from geobias.errors import GeobiasError, InputError
from geobias.models.scorer import Scorer
from geobias.texts.lazy_texts import TextSelection, select_texts

try:
    import ray
    from ray.exceptions import NodeDiedError, ObjectLostError, RayActorError, RayTaskError
except ImportError:
    raise InputError("--ray needs the package ray: pip install geobias[ray].") from None

SHARD_SECONDS = 5.0  # how much of its work a dying worker takes along
SMALLEST_SHARD, LARGEST_SHARD = 64, 2**18
SHARDS_AHEAD = 2  # handed to a worker: it need not wait for this process
DEATHS = 3  # of workers over one shard, or before they have begun: it is no accident
LOOK_AGAIN = 5.0  # seconds after which joined nodes are noticed
SAID_AFTER = 60.0  # seconds without any worker
LOST = (RayActorError, ObjectLostError, NodeDiedError)
log = logging.getLogger("geobias")


class Cluster:
    """A connection to Ray, and the workers that have been started there; they stay for the next question."""

    def __init__(self, address: str, device: str = "auto") -> None:
        """`address` is "auto" (the cluster that this machine is part of), "local" (a new one, of this machine) or where
        its head is. `device` is auto, cpu or cuda: what the workers compute on.
        """
        if device not in ("auto", "cpu", "cuda"):
            raise InputError(f"With --ray workers find their own GPU: --device is auto, cpu or cuda, not {device!r}.")
        self.address = address
        self.device = device
        self.workers: list[_Worker] = []
        self._sent: dict[str, tuple[Any, Any]] = {}  # the last scorer and the last block, and where they lie
        self._next_look = 0.0
        self._failed_starts = 0
        self._waiting_since: float | None = None

    def __enter__(self) -> Self:
        self._connected_before = ray.is_initialized()
        if not self._connected_before:
            _connect(self.address)
        try:
            if self.device == "auto":
                self.device = "cuda" if _total("GPU") else "cpu"
            elif self.device == "cuda" and not _total("GPU"):
                raise InputError("The Ray cluster has no GPU: --device cpu.")
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *failure: object) -> None:
        for worker in list(self.workers):
            self._retire(worker)
        self._sent.clear()
        if not self._connected_before:
            ray.shutdown()

    def dtype(self, dtype: str) -> str:
        """The precision in which models are loaded: for `auto` what a GPU of the cluster would choose."""
        if dtype != "auto" or self.device == "cpu":
            return dtype
        found: str = ray.get(ray.remote(num_gpus=1, num_cpus=0)(_precision_of_gpu).remote())
        return found

    def answers(self, scorer: Scorer, texts: Sequence[str], asked: np.ndarray) -> Iterator[Part]:
        """The answers to the texts at these positions as they come: which of them, and their rows."""
        shards = _Shards(len(asked))
        try:
            while shards.left:
                self._start_workers(enough_for=len(asked))
                self._hand_out(shards, scorer, texts, asked)
                owner = {task: worker for worker in self.workers for task in worker.tasks}
                done, _ = ray.wait(list(owner), timeout=LOOK_AGAIN)
                self._say_if_busy()
                for task in done:
                    worker = owner[task]
                    oldest, shard = next(iter(worker.tasks.items()))  # done in turn: if any is, this one
                    try:
                        rows, seconds = ray.get(oldest)
                    except RayTaskError as error:
                        raise error.cause from None
                    except LOST as error:
                        self._bury(worker, shards, error)
                        continue
                    del worker.tasks[oldest]
                    if shard is None:
                        self._begin(worker, version=rows)
                    else:
                        shards.done(shard, seconds)
                        yield np.arange(shard.start, shard.stop), rows
        finally:
            for worker in [worker for worker in self.workers if worker.ready and worker.tasks]:
                self._retire(worker)  # after a failure: nobody waits for what it does

    def _start_workers(self, *, enough_for: int) -> None:
        """As many as the cluster has room for now; a node that has joined is used, one that has gone is not missed."""
        if time.monotonic() < self._next_look:
            return
        self._next_look = time.monotonic() + LOOK_AGAIN
        cores = 1 if _total("CPU") < 4 else 2
        kind, each = ("GPU", 1) if self.device == "cuda" else ("CPU", cores)
        room = sum(int(node["Resources"].get(kind, 0)) // each for node in _nodes())
        if not room:
            raise InputError(f"The Ray cluster has no {kind} to compute on: add a node that has.")
        how = {"num_gpus": 1, "num_cpus": 0} if self.device == "cuda" else {"num_cpus": cores}
        wanted = min(room, -(-enough_for // SMALLEST_SHARD))
        for _ in range(wanted - len(self.workers)):
            actor: Any = ray.remote(_Remote).options(**how).remote(self.device, cores)
            self.workers.append(_Worker(actor, {actor.version.remote(): None}))

    def _hand_out(self, shards: _Shards, scorer: Scorer, texts: Sequence[str], asked: np.ndarray) -> None:
        """Each worker that has begun gets one, then each a second one."""
        ready = [worker for worker in self.workers if worker.ready]
        for ahead in range(SHARDS_AHEAD):
            for worker in ready:
                if len(worker.tasks) > ahead or (shard := shards.take(len(ready))) is None:
                    continue
                some = select_texts(texts, asked[shard.start : shard.stop])
                model = self._put("scorer", scorer)
                if isinstance(some, TextSelection):
                    task = worker.actor.rows.remote([model, self._put("block", some.block)], some.positions)
                else:
                    task = worker.actor.rows.remote([model], some)
                worker.tasks[task] = shard

    def _put(self, kind: str, what: Any) -> Any:
        """Where it lies in the cluster; only the last one of its kind is kept there."""
        if kind not in self._sent or self._sent[kind][0] is not what:
            try:
                self._sent[kind] = (what, ray.put(what))
            except (TypeError, AttributeError, pickle.PicklingError) as error:
                said = " ".join(str(error).split())[:200]
                name = getattr(what, "name", type(what).__name__)
                raise InputError(f"{name} cannot be sent to other processes ({said}): leave out --ray.") from error
        return self._sent[kind][1]

    def _begin(self, worker: _Worker, *, version: str) -> None:
        if version != geobias.__version__:
            raise InputError(
                f"The Ray cluster has geobias {version}, and here is {geobias.__version__}: install one version."
            )
        worker.ready = True
        self._failed_starts = 0

    def _say_if_busy(self) -> None:
        if any(worker.ready for worker in self.workers):
            self._waiting_since = None
        elif self._waiting_since is None:
            self._waiting_since = time.monotonic()
        elif time.monotonic() - self._waiting_since > SAID_AFTER:
            log.warning("No worker of the Ray cluster has started yet: others may be using it.")
            self._waiting_since = time.monotonic()

    def _bury(self, worker: _Worker, shards: _Shards, error: Exception) -> None:
        """Its shards are done again; a new worker may come."""
        lost = [shard for shard in worker.tasks.values() if shard is not None]
        self._retire(worker)
        self._next_look = 0.0
        said = " ".join(str(error).split())[:300]
        if not worker.ready:
            self._failed_starts += 1
            if self._failed_starts == DEATHS:
                raise GeobiasError(
                    f"Workers of the Ray cluster do not start; is geobias {geobias.__version__} on every node? {said}"
                )
        if lost:
            lost[0].deaths += 1  # they are done in turn: it was at the first
            if lost[0].deaths == DEATHS:
                count = lost[0].stop - lost[0].start
                raise GeobiasError(
                    f"{DEATHS} workers have died of the same {count} texts; what was answered is kept. {said}"
                )
            log.warning("A Ray worker has died: its texts are asked again.")
        shards.give_back(lost)

    def _retire(self, worker: _Worker) -> None:
        self.workers.remove(worker)
        with suppress(Exception):  # it may be dead already
            ray.kill(worker.actor)


@dataclass(eq=False)
class _Shard:
    """Consecutive ones of the texts asked, and how many workers have died of them."""

    start: int
    stop: int
    deaths: int = 0


@dataclass(eq=False)
class _Worker:
    """A remote process, and what it has to do, oldest first. Until it is ready that is to start."""

    actor: Any
    tasks: dict[Any, _Shard | None] = field(default_factory=dict)
    ready: bool = False


class _Shards:
    """Cuts the work: each shard as large as fits into `SHARD_SECONDS` by what others took, small ones at the end."""

    def __init__(self, count: int) -> None:
        self.count, self.left = count, count  # `left` counts what is not done yet
        self.begun, self.size = 0, SMALLEST_SHARD
        self.again: deque[_Shard] = deque()

    def take(self, workers: int) -> _Shard | None:
        if self.again:
            return self.again.popleft()
        rest = self.count - self.begun
        if not rest:
            return None
        size = min(self.size, rest, max(SMALLEST_SHARD, rest // (2 * workers)))  # all workers end at about one time
        self.begun += size
        return _Shard(self.begun - size, self.begun)

    def give_back(self, shards: Sequence[_Shard]) -> None:
        self.again.extend(shards)

    def done(self, shard: _Shard, seconds: float) -> None:
        texts = shard.stop - shard.start
        self.left -= texts
        fits = int(texts * min(SHARD_SECONDS / max(seconds, 1e-6), 4.0))  # the first ones are short and say little
        self.size = min(max(self.size, fits) if seconds < SHARD_SECONDS else max(fits, SMALLEST_SHARD), LARGEST_SHARD)


class _Remote:
    """What lives in a worker's process."""

    def __init__(self, device: str, cores: int) -> None:
        self.device, self.cores = device, cores
        self.held: dict[int, tuple[str, Any]] = {}

    def version(self) -> tuple[str, float]:
        return geobias.__version__, 0.0

    def rows(self, given: Sequence[Any], some: Any) -> tuple[np.ndarray, float]:
        """The rows of a shard, in its order, and the seconds that it took. `given` is the scorer and, if any, the block
        that `some` are positions of.
        """
        scorer, *block = (self._here(at, where) for at, where in enumerate(given))
        texts = TextSelection(block[0], some) if block else some
        began = time.perf_counter()
        rows = np.empty((len(texts), len(scorer.columns)))
        for places, answer in answers_here(scorer, texts, np.arange(len(texts))):
            rows[places] = answer
        return rows, time.perf_counter() - began

    def _here(self, at: int, where: Any) -> Any:
        """What lies at a place of the cluster; fetched once, until another one is asked for."""
        if at not in self.held or self.held[at][0] != where.hex():
            self.held.pop(at, None)  # both may not fit into memory
            self.held[at] = where.hex(), self._settled(ray.get(where))
        return self.held[at][1]

    def _settled(self, what: Any) -> Any:
        if self.device == "cuda" and hasattr(what, "to"):
            what.to(self.device)
        elif self.device == "cpu" and "torch" in sys.modules:
            sys.modules["torch"].set_num_threads(self.cores)
        return what


def _connect(address: str) -> None:
    how: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR}
    if address == "local":
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # nothing leaves this machine
        how["include_dashboard"] = False
    try:
        ray.init(address=address, **how)
    except Exception as error:  # of many kinds
        said = " ".join(str(error).split())[:200]
        where = "running on this machine" if address == "auto" else f"at {address}"
        raise InputError(f"There is no Ray cluster {where}: `ray start --head`, or --ray local. {said}") from error


def _nodes() -> list[dict[str, Any]]:
    return [node for node in ray.nodes() if node["Alive"]]


def _total(kind: str) -> float:
    return float(sum(node["Resources"].get(kind, 0) for node in _nodes()))


def _precision_of_gpu() -> str:
    from geobias.models.pretrained import resolve_dtype

    return str(resolve_dtype("auto", "cuda")).removeprefix("torch.")
