"""Score texts: each distinct text once, those scored before from the store.

Texts are scored in their order, so that neighbours (the words of one region, the variants of one text) reach the
scorer together. It sorts them by length and may find work in common.

The scorer computes in this process. Inside `compute_on("auto", ...)`, copies of it compute on a Ray cluster
(`engine.ray_cluster`); all else is the same.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self, TypeAlias, TypeVar

import numpy as np
import pyarrow as pa

from geobias.checks import need
from geobias.engine.answer_checks import find_checks, without_checks
from geobias.engine.store import ScoreStore, TextsOrKeys, find_scored, text_keys
from geobias.errors import GeobiasError, InputError
from geobias.files import DiskArray
from geobias.models.scorer import LARGEST_SHARE, ScoreBlock, Scorer
from geobias.progress import progress_bar
from geobias.texts.templates import LazyTexts, TextSelection, select_texts

if TYPE_CHECKING:
    from geobias.engine.ray_cluster import Cluster

DistinctTexts: TypeAlias = tuple[np.ndarray, np.ndarray, pa.FixedSizeBinaryArray | None]
Item = TypeVar("Item")
Result = TypeVar("Result")
TEXTS_PER_BLOCK = 2**21
SECONDS_AT_RISK = 2.0  # how much work a kill can lose

_cluster: ContextVar[Cluster | None] = ContextVar("cluster", default=None)


@contextmanager
def compute_on(ray: str | None, device: str, dtype: str) -> Iterator[tuple[str, str]]:
    """Inside, scorers compute on the Ray cluster at this address; in this process if it is None.

    Yield the device and the precision with which to load models in this process.
    """
    if ray is None:
        yield device, dtype
        return
    need("ray", extra="ray", user="--ray")
    from geobias.engine.ray_cluster import Cluster  # imports Ray

    with Cluster(ray, device) as cluster:
        token = _cluster.set(cluster)
        try:
            yield "cpu", cluster.resolve_dtype(dtype)
        finally:
            _cluster.reset(token)


@dataclass(frozen=True)
class Answers:
    """A row of scores for each text, in the texts' order, and how many texts were scored for it."""

    scores: np.ndarray
    columns: Sequence[str]
    distinct: int
    scored: int
    cut: int
    """How many texts were longer than the scorer takes."""

    def column(self, name: str) -> np.ndarray | None:
        """Return one column by name; None if this scorer does not have it."""
        return self.scores[:, list(self.columns).index(name)] if name in self.columns else None


def ask(
    scorer: Scorer,
    texts: Sequence[str],
    *,
    label: str = "scoring",
    progress: bool | None = None,
    writer: StoreWriter | None = None,
    distinct: DistinctTexts | None = None,
) -> Answers:
    """Return the scores of all texts. `progress` shows a bar; by default only on a terminal.

    To score several blocks of texts, share one `writer`: then no block waits until the last one is on disk.
    A text without a score raises an error after all others are stored. `distinct` is what `find_distinct` returns.
    """
    if writer is None:
        with StoreWriter(scorer, label) as writer:
            return ask(scorer, texts, label=label, progress=progress, writer=writer)
    first_positions, text_numbers, keys = distinct or find_distinct(texts)
    distinct_texts = select_texts(texts, first_positions)
    scores = writer.store.lookup(distinct_texts if keys is None else keys)
    is_missing, checks = np.isnan(scores[:, 0]), find_checks(scorer)
    missing = np.flatnonzero(is_missing)
    if scorer.paid and (len(missing) or checks is not None):
        with without_checks():
            scorer.prepare(lambda other, more: ask(other, more, label=label, progress=False).scores)
    if checks is not None:  # before the store gets any answer of a changed model
        checks.check_stored(scorer, distinct_texts, scores, np.flatnonzero(~is_missing))
    cluster = None if scorer.paid else _cluster.get()  # a server is always called from this process
    score = score_here if cluster is None else cluster.score
    waiting: list[np.ndarray] = []  # scored, but not handed to the store yet
    began = time.perf_counter()

    def save() -> None:
        if waiting:
            scored = np.concatenate(waiting)
            waiting.clear()
            share = select_texts(texts, first_positions[scored]) if keys is None else keys.take(scored)
            writer.write(share, scores[scored])

    with (
        progress_bar(label, len(missing), progress) as advance,
        closing(score(scorer, texts, first_positions[missing])) as blocks,
    ):
        try:
            for positions, rows in blocks:
                is_scored = find_scored(rows, scorer.columns)
                waiting.append(missing[positions[is_scored]])
                scores[waiting[-1]] = rows[is_scored]
                if scorer.paid or time.perf_counter() - began >= SECONDS_AT_RISK:
                    save()
                    began = time.perf_counter()
                advance(len(positions))
        finally:
            save()  # also what came before a failure
    unscored = first_positions[np.isnan(scores[:, 0])]
    if len(unscored):
        text = texts[int(unscored[0])]
        raise InputError(f"The model returns no score for {len(unscored)} text(s), such as {text!r}. Remove them.")
    scorer.check_scores(distinct_texts, scores)
    if checks is not None:
        checks.check_twice(scorer, distinct_texts, scores, missing)
    columns = list(scorer.columns)
    cut = int((scores[text_numbers, columns.index("cut")] > 0).sum()) if "cut" in columns else 0
    return Answers(scores[text_numbers], columns, len(first_positions), len(missing), cut)


def ask_in_blocks(scorer: Scorer, texts: LazyTexts, *, label: str, progress: bool | None = None) -> Answers:
    """Return the scores of all texts, as `ask` does, in memory that grows with the stored scores only.

    Many texts are scored block by block, while a thread finds the distinct texts of the next block; scores are then on
    disk. A text that is in two blocks is scored in each of them, except by a server, which is paid for every text.
    """
    if scorer.paid or len(texts) <= TEXTS_PER_BLOCK:
        return ask(scorer, texts, label=label, progress=progress)

    def select_block(start: int) -> tuple[TextSelection, DistinctTexts]:
        block = TextSelection(texts, np.arange(start, min(start + TEXTS_PER_BLOCK, len(texts))))
        return block, find_distinct(block)

    starts = range(0, len(texts), TEXTS_PER_BLOCK)
    scores = DiskArray(np.float64, (len(scorer.columns),))
    distinct = scored = cut = 0
    with StoreWriter(scorer, label) as writer:
        for number, (block, known) in enumerate(_map_ahead(select_block, starts), start=1):
            block_label = f"{label}, block {number} of {len(starts)}"
            answers = ask(scorer, block, label=block_label, progress=progress, writer=writer, distinct=known)
            scores.append(answers.scores)
            distinct, scored, cut = distinct + answers.distinct, scored + answers.scored, cut + answers.cut
    return Answers(scores.finish(), scorer.columns, distinct, scored, cut)


def _map_ahead(work: Callable[[Item], Result], items: Sequence[Item]) -> Generator[Result]:
    """Map items one by one; a thread works on the next while a result is used."""
    with ThreadPoolExecutor(1) as thread:
        waiting = thread.submit(work, items[0])
        for item in items[1:]:
            result, waiting = waiting.result(), thread.submit(work, item)
            yield result
        yield waiting.result()


def find_distinct(texts: Sequence[str]) -> DistinctTexts:
    """Return the position of the first of equal texts, and for every text the number of its distinct text.

    The last part are the keys of the distinct texts if they were needed to tell texts apart.
    """
    known = texts.find_distinct() if isinstance(texts, LazyTexts) else None
    if known is not None:
        return *known, None
    keys = text_keys(texts).dictionary_encode()
    text_numbers = keys.indices.to_numpy()  # in the order of first appearance, so every new maximum is a new text
    first_positions = np.flatnonzero(np.diff(np.maximum.accumulate(text_numbers), prepend=-1))
    return first_positions, text_numbers, keys.dictionary


class StoreWriter:
    """A scorer's store, written to by a thread: no batch waits for digests and disks."""

    def __init__(self, scorer: Scorer, label: str) -> None:
        self.store = ScoreStore(scorer.fingerprint, scorer.columns, name=label)
        self.waits = scorer.paid
        self.thread = ThreadPoolExecutor(1)
        self.last: Future[None] | None = None

    def __enter__(self) -> Self:
        return self

    def write(self, texts: TextsOrKeys, rows: np.ndarray) -> None:
        """Write scores. Return when those before are on disk; if they are paid for, when these are."""
        if self.last is not None:
            self.last.result()
        self.last = self.thread.submit(self.store.add, texts, rows)
        if self.waits:
            self.last.result()

    def __exit__(self, *failure: object) -> None:
        self.thread.shutdown()  # writes what was handed over, also after a failure
        if failure[0] is None:
            if self.last is not None:
                self.last.result()
            self.store.tidy()


def score_here(scorer: Scorer, texts: Sequence[str], positions: np.ndarray) -> Generator[ScoreBlock]:
    """Score the texts at these positions in this process; yield places among `positions`, and their rows."""
    size = max(1, len(positions) if scorer.takes_everything else LARGEST_SHARE)
    for start in range(0, len(positions), size):
        share = select_texts(texts, positions[start : start + size])
        # Closed here even if it was not read to its end, so that the scorer can restore its model.
        with closing(block for block in scorer.batches(share)) as blocks:
            for places, rows in blocks:
                expected = (len(places), len(scorer.columns))
                if rows.shape != expected:
                    raise GeobiasError(
                        f"The scorer returned an array of shape {rows.shape} for {len(places)} texts, not {expected}."
                    )
                yield start + places, rows
