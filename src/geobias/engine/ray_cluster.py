"""Score texts on the workers of a Ray cluster: one process for each GPU or, without GPUs, for each core or two.

    this process                                         every worker
    ask(): texts without a score ── shards of texts ──>  a copy of the scorer, moved to the worker's GPU
           store, order, progress <── rows of a shard ── the block that the texts are part of

Scorer and block are sent once, by pickle: workers need the package, but no model folder. A shard is positions in a
block, or a list of texts; it takes a few seconds. Shards come back in any order, and each is yielded once. Those of a
worker that dies are given to others. This is the only module that imports Ray.
"""

from __future__ import annotations

import logging
import os
import pickle
import sys
import time
from collections.abc import Generator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

import geobias
from geobias.engine.ask import score_here
from geobias.engine.ray_shards import Shard, ShardQueue
from geobias.errors import GeobiasError, InputError
from geobias.models.scorer import ScoreBlock, Scorer
from geobias.texts.lazy_texts import TextSelection, select_texts

try:
    import ray
    from ray.exceptions import NodeDiedError, ObjectLostError, RayActorError, RayTaskError
except ImportError:
    raise InputError("--ray needs the package ray: pip install 'geobias[ray]'.") from None

SHARDS_PER_WORKER = 2  # handed out at once, so that a worker need not wait for this process
MOST_DEATHS = 3  # of workers that had the same shard, or that did not start
NODE_CHECK_SECONDS = 5.0  # how often to look for new nodes
IDLE_WARNING_SECONDS = 60.0  # without any worker
WORKER_LOST = (RayActorError, ObjectLostError, NodeDiedError)
log = logging.getLogger("geobias")


class Cluster:
    """A connection to Ray, and the workers that were started there. They stay until the connection is closed."""

    def __init__(self, address: str, device: str = "auto") -> None:
        """`address` is "auto" (the cluster that this machine is part of), "local" (a new one on this machine) or the
        address of its head. `device` is what the workers compute on: auto, cpu or cuda.
        """
        if device not in ("auto", "cpu", "cuda"):
            raise InputError(
                f"With --ray, --device must be auto, cpu or cuda, not {device!r}: workers choose their GPU."
            )
        self.address = address
        self.device = device
        self.workers: list[_Worker] = []
        self._shared: dict[str, tuple[Any, Any]] = {}  # the last scorer and the last block, with their references
        self._next_node_check = 0.0
        self._failed_starts = 0
        self._idle_since: float | None = None

    def __enter__(self) -> Self:
        self._was_connected = ray.is_initialized()
        if not self._was_connected:
            _connect(self.address)
        try:
            if self.device == "auto":
                self.device = "cuda" if _count_resource("GPU") else "cpu"
            elif self.device == "cuda" and not _count_resource("GPU"):
                raise InputError("The Ray cluster has no GPU. Use --device cpu.")
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *failure: object) -> None:
        for worker in list(self.workers):
            self._retire(worker)
        self._shared.clear()
        if not self._was_connected:
            ray.shutdown()

    def resolve_dtype(self, dtype: str) -> str:
        """Return the precision in which to load models; `auto` is what a GPU of the cluster would choose."""
        if dtype != "auto" or self.device == "cpu":
            return dtype
        gpu_dtype: str = ray.get(ray.remote(num_gpus=1, num_cpus=0)(_find_gpu_dtype).remote())
        return gpu_dtype

    def score(self, scorer: Scorer, texts: Sequence[str], positions: np.ndarray) -> Generator[ScoreBlock]:
        """Score the texts at these positions; yield places among `positions`, and their rows."""
        shards = ShardQueue(len(positions))
        try:
            while shards.texts_left:
                self._start_workers(most=shards.most_workers)
                self._hand_out(shards, scorer, texts, positions)
                owner = {task: worker for worker in self.workers for task in worker.tasks}
                finished, _ = ray.wait(list(owner), timeout=NODE_CHECK_SECONDS)
                self._warn_if_idle()
                for task in finished:
                    worker = owner[task]
                    oldest, shard = next(iter(worker.tasks.items()))  # a worker does its tasks in order
                    try:
                        rows, seconds = ray.get(oldest)
                    except RayTaskError as error:
                        raise error.cause from None
                    except WORKER_LOST as error:
                        self._replace(worker, shards, error)
                        continue
                    del worker.tasks[oldest]
                    if shard is None:
                        self._check_version(worker, version=rows)
                    else:
                        shards.finish(shard, seconds)
                        yield np.arange(shard.start, shard.stop), rows
        finally:
            for worker in [worker for worker in self.workers if worker.ready and worker.tasks]:
                self._retire(worker)  # after a failure: its results are not needed

    def _start_workers(self, *, most: int) -> None:
        """Start as many workers as the cluster has room for now. Nodes may have joined or left."""
        if time.monotonic() < self._next_node_check:
            return
        self._next_node_check = time.monotonic() + NODE_CHECK_SECONDS
        cores = 1 if _count_resource("CPU") < 4 else 2
        kind, each = ("GPU", 1) if self.device == "cuda" else ("CPU", cores)
        room = sum(int(node["Resources"].get(kind, 0)) // each for node in _nodes())
        if not room:
            raise InputError(f"The Ray cluster has no {kind}. Add a node that has one.")
        resources = {"num_gpus": 1, "num_cpus": 0} if self.device == "cuda" else {"num_cpus": cores}
        for _ in range(min(room, most) - len(self.workers)):
            actor: Any = ray.remote(_WorkerProcess).options(**resources).remote(self.device, cores)
            self.workers.append(_Worker(actor, {actor.version.remote(): None}))

    def _hand_out(self, shards: ShardQueue, scorer: Scorer, texts: Sequence[str], positions: np.ndarray) -> None:
        """Give every ready worker one shard, then every one a second."""
        ready = [worker for worker in self.workers if worker.ready]
        for ahead in range(SHARDS_PER_WORKER):
            for worker in ready:
                if len(worker.tasks) > ahead or (shard := shards.take(len(ready))) is None:
                    continue
                share: Any = select_texts(texts, positions[shard.start : shard.stop])
                references = [self._put("scorer", scorer, scorer.name or type(scorer).__name__)]
                if isinstance(share, TextSelection):
                    references.append(self._put("block", share.block, type(share.block).__name__))
                    share = share.positions
                worker.tasks[worker.actor.score.remote(references, share)] = shard

    def _put(self, kind: str, value: Any, name: str) -> Any:
        """Return a reference to a value in the cluster; only the last value of its kind is kept there."""
        if kind not in self._shared or self._shared[kind][0] is not value:
            try:
                self._shared[kind] = (value, ray.put(value))
            except (TypeError, AttributeError, pickle.PicklingError) as error:
                message = _shorten(error, 200)
                raise InputError(f"{name} cannot be sent to other processes ({message}). Run without --ray.") from error
        return self._shared[kind][1]

    def _check_version(self, worker: _Worker, *, version: str) -> None:
        """Make a new worker ready if it runs the same version of the package."""
        if version != geobias.__version__:
            raise InputError(
                f"The Ray cluster has geobias {version}, this machine has {geobias.__version__}. Install the same "
                "version."
            )
        worker.ready = True
        self._failed_starts = 0

    def _warn_if_idle(self) -> None:
        if any(worker.ready for worker in self.workers):
            self._idle_since = None
        elif self._idle_since is None:
            self._idle_since = time.monotonic()
        elif time.monotonic() - self._idle_since > IDLE_WARNING_SECONDS:
            log.warning("No Ray worker has started yet. The cluster may be busy.")
            self._idle_since = time.monotonic()

    def _replace(self, worker: _Worker, shards: ShardQueue, error: Exception) -> None:
        """Retry the shards of a dead worker elsewhere, and let a new worker start. Give up after some deaths."""
        lost = [shard for shard in worker.tasks.values() if shard is not None]
        self._retire(worker)
        self._next_node_check = 0.0
        message = _shorten(error, 300)
        if not worker.ready:
            self._failed_starts += 1
            if self._failed_starts == MOST_DEATHS:
                raise GeobiasError(
                    f"Ray workers do not start. Check that every node has geobias {geobias.__version__}. {message}"
                )
        if lost:
            lost[0].deaths += 1  # a worker does its shards in order: it died at the first
            if lost[0].deaths == MOST_DEATHS:
                count = lost[0].stop - lost[0].start
                raise GeobiasError(
                    f"{MOST_DEATHS} workers have died on the same {count} texts. The scores so far are saved. {message}"
                )
            log.warning("A Ray worker has died. Its texts are scored again.")
        shards.give_back(lost)

    def _retire(self, worker: _Worker) -> None:
        self.workers.remove(worker)
        with suppress(Exception):  # it may be dead already
            ray.kill(worker.actor)


@dataclass(eq=False)
class _Worker:
    """A remote process with its tasks, the oldest first. Its first task, without a shard, is to start."""

    actor: Any
    tasks: dict[Any, Shard | None] = field(default_factory=dict)
    ready: bool = False


class _WorkerProcess:
    """What runs in a worker's process."""

    def __init__(self, device: str, cores: int) -> None:
        self.device, self.cores = device, cores
        self.values: dict[int, tuple[str, Any]] = {}

    def version(self) -> tuple[str, float]:
        return geobias.__version__, 0.0

    def score(self, references: Sequence[Any], texts: Any) -> tuple[np.ndarray, float]:
        """Return the rows of a shard, in its order, and the seconds that it took.

        `references` are those of the scorer and, if `texts` are positions in a block, of the block.
        """
        scorer, *block = (self._get(slot, reference) for slot, reference in enumerate(references))
        if block:
            texts = TextSelection(block[0], texts)
        began = time.perf_counter()
        rows = np.empty((len(texts), len(scorer.columns)))
        for places, scores in score_here(scorer, texts, np.arange(len(texts))):
            rows[places] = scores
        return rows, time.perf_counter() - began

    def _get(self, slot: int, reference: Any) -> Any:
        """Return the value of a reference. It is fetched once, and kept until its slot gets another."""
        if slot not in self.values or self.values[slot][0] != reference.hex():
            self.values.pop(slot, None)  # both may not fit into memory
            value = ray.get(reference)
            if isinstance(value, Scorer) and self.device == "cuda":
                value.to(self.device)
            elif isinstance(value, Scorer) and "torch" in sys.modules:
                sys.modules["torch"].set_num_threads(self.cores)  # this worker's share
            self.values[slot] = reference.hex(), value
        return self.values[slot][1]


def _connect(address: str) -> None:
    options: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR}
    if address == "local":
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # nothing leaves this machine
        options["include_dashboard"] = False
    try:
        ray.init(address=address, **options)
    except Exception as error:  # of many kinds
        place = "running on this machine" if address == "auto" else f"at {address}"
        message = _shorten(error, 200)
        raise InputError(f"No Ray cluster is {place}. Run `ray start --head`, or use --ray local. {message}") from error


def _nodes() -> list[dict[str, Any]]:
    return [node for node in ray.nodes() if node["Alive"]]


def _count_resource(kind: str) -> float:
    return float(sum(node["Resources"].get(kind, 0) for node in _nodes()))


def _find_gpu_dtype() -> str:
    from geobias.models.pretrained import resolve_dtype

    return str(resolve_dtype("auto", "cuda")).removeprefix("torch.")


def _shorten(error: Exception, length: int) -> str:
    """Return the beginning of an error's message in one line."""
    return " ".join(str(error).split())[:length]
