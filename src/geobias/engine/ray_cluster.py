"""Score texts on the workers of a Ray cluster: one process for each GPU or, without GPUs, for each core or two.

    this process                                         every worker
    ask(): texts without a score ── shards of texts ──>  a copy of the scorer, moved to the worker's GPU
           store, order, progress <── rows of a shard ── the block that the texts are part of

Scorer and block are sent once, by pickle: workers need the package, but no model folder. A shard is positions in a
block, or a list of texts. Shards come back in any order, and each is yielded once. Ray restarts a worker that dies and
gives it its shard again. This is the only module that imports Ray.
"""

from __future__ import annotations

import logging
import os
import pickle
import sys
from collections.abc import Generator, Sequence
from contextlib import suppress
from typing import Any, Self

import numpy as np
import ray
from ray.exceptions import NodeDiedError, ObjectLostError, RayActorError, RayTaskError
from ray.util import ActorPool

import geobias
from geobias.engine.ask import score_here
from geobias.errors import GeobiasError, InputError
from geobias.models.scorer import ScoreBlock, Scorer
from geobias.texts.templates import TextSelection, select_texts

SHARDS_PER_WORKER = 8  # so that all workers end at about one time
SMALLEST_SHARD, LARGEST_SHARD = 64, 2048  # texts; a shard is what is lost when a run is killed
MOST_DEATHS = 3  # of workers that had the same shard
IDLE_WARNING_SECONDS = 60.0  # without any answer
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
        self.workers: list[Any] = []
        self._shared: dict[str, tuple[Any, Any]] = {}  # the last scorer and the last block, with their references

    def __enter__(self) -> Self:
        self._was_connected = ray.is_initialized()
        if not self._was_connected:
            _connect(self.address)
        if self.device == "auto":
            self.device = "cuda" if _count_resource("GPU") else "cpu"
        elif self.device == "cuda" and not _count_resource("GPU"):
            self.__exit__()
            raise InputError("The Ray cluster has no GPU. Use --device cpu.")
        return self

    def __exit__(self, *failure: object) -> None:
        self._stop_workers()
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
        self._start_workers(most=-(-len(positions) // SMALLEST_SHARD))
        pool: Any = ActorPool(self.workers)
        size = len(positions) // (SHARDS_PER_WORKER * len(self.workers))
        size = min(max(size, SMALLEST_SHARD), LARGEST_SHARD)
        scorer_name = scorer.name or type(scorer).__name__

        def send(worker: Any, start: int) -> Any:
            share: Any = select_texts(texts, positions[start : start + size])
            references = [self._put("scorer", scorer, scorer_name)]
            if isinstance(share, TextSelection):
                references.append(self._put("block", share.block, type(share.block).__name__))
                share = share.positions
            return worker.score.remote(geobias.__version__, references, start, share)

        try:
            for start in range(0, len(positions), size):
                pool.submit(send, start)
            while pool.has_next():
                try:
                    start, rows = pool.get_next_unordered(timeout=IDLE_WARNING_SECONDS)
                except RayTaskError as error:  # first: it may also be an instance of any other error
                    raise error.cause from None
                except TimeoutError:
                    log.warning("No Ray worker has answered yet. The cluster may be busy.")
                except WORKER_LOST as error:
                    raise GeobiasError(
                        f"{MOST_DEATHS} workers have died on the same texts. The scores so far are saved. "
                        f"{_shorten(error, 300)}"
                    ) from None
                else:
                    yield np.arange(start, start + len(rows)), rows
        except BaseException:
            self._stop_workers()  # what they still compute is not needed
            raise

    def _start_workers(self, *, most: int) -> None:
        """Start as many workers as the cluster has room for now. Ray restarts those that die."""
        cores = 1 if _count_resource("CPU") < 4 else 2
        kind, each = ("GPU", 1) if self.device == "cuda" else ("CPU", cores)
        room = sum(int(node["Resources"].get(kind, 0)) // each for node in ray.nodes() if node["Alive"])
        if not room:
            raise InputError(f"The Ray cluster has no {kind}. Add a node that has one.")
        resources = {"num_gpus": 1, "num_cpus": 0} if self.device == "cuda" else {"num_cpus": cores}
        restarts = {"max_restarts": -1, "max_task_retries": MOST_DEATHS - 1}
        for _ in range(min(room, most) - len(self.workers)):
            actor_class: Any = ray.remote(_WorkerProcess).options(**resources, **restarts)
            self.workers.append(actor_class.remote(self.device, cores))

    def _stop_workers(self) -> None:
        for worker in self.workers:
            with suppress(Exception):  # it may be dead already
                ray.kill(worker)
        self.workers.clear()

    def _put(self, kind: str, value: Any, name: str) -> Any:
        """Return a reference to a value in the cluster; only the last value of its kind is kept there."""
        if kind not in self._shared or self._shared[kind][0] is not value:
            try:
                self._shared[kind] = (value, ray.put(value))
            except (TypeError, AttributeError, pickle.PicklingError) as error:
                message = _shorten(error, 200)
                raise InputError(f"{name} cannot be sent to other processes ({message}). Run without --ray.") from error
        return self._shared[kind][1]


class _WorkerProcess:
    """What runs in a worker's process."""

    def __init__(self, device: str, cores: int) -> None:
        self.device, self.cores = device, cores
        self.values: dict[int, tuple[str, Any]] = {}

    def score(self, version: str, references: Sequence[Any], start: int, texts: Any) -> tuple[int, np.ndarray]:
        """Return where a shard starts and its rows, in its order.

        `references` are those of the scorer and, if `texts` are positions in a block, of the block.
        """
        if version != geobias.__version__:
            raise InputError(
                f"The Ray cluster has geobias {geobias.__version__}, this machine has {version}. Install the same "
                "version."
            )
        scorer, *block = (self._get(slot, reference) for slot, reference in enumerate(references))
        if block:
            texts = TextSelection(block[0], texts)
        rows = np.empty((len(texts), len(scorer.columns)))
        for places, scores in score_here(scorer, texts, np.arange(len(texts))):
            rows[places] = scores
        return start, rows

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


def _count_resource(kind: str) -> float:
    return float(ray.cluster_resources().get(kind, 0))


def _find_gpu_dtype() -> str:
    from geobias.models.pretrained import resolve_dtype

    return str(resolve_dtype("auto", "cuda")).removeprefix("torch.")


def _shorten(error: Exception, length: int) -> str:
    """Return the beginning of an error's message in one line."""
    return " ".join(str(error).split())[:length]
