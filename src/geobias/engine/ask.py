"""Ask a scorer about texts: each distinct one once, the known ones from the store.

Texts are asked in their own order, so that neighbours (the words of one region, the variants of one text) reach the
scorer together; it sorts them by length and may find work in common.

The answers come from the scorer itself; inside `computing("auto", ...)` from copies of it on a Ray cluster
(`engine.cluster`). All else is the same.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np

from geobias.engine.store import ScoreStore, text_keys
from geobias.errors import GeobiasError, InputError
from geobias.models.scorer import Scorer
from geobias.progress import progress_bar
from geobias.texts.lazy_texts import LazyTexts, select_texts

if TYPE_CHECKING:
    from geobias.engine.cluster import Cluster

SECONDS_AT_RISK = 2.0  # how much work a kill can lose, and how often the bar moves; nothing of what was paid for
SMALLEST_SHARE, LARGEST_SHARE = 8, 65536

_cluster: ContextVar[Cluster | None] = ContextVar("cluster", default=None)


@contextmanager
def computing(ray: str | None, device: str, dtype: str) -> Iterator[tuple[str, str]]:
    """Where scorers compute inside: here, or on the Ray cluster of that address.

    Gives the device and the precision with which models are to be loaded in this process.
    """
    if ray is None:
        yield device, dtype
        return
    from geobias.engine.cluster import Cluster  # Ray only when it is asked for

    with Cluster(ray, device) as cluster:
        before = _cluster.set(cluster)
        try:
            yield "cpu", cluster.dtype(dtype)
        finally:
            _cluster.reset(before)


@dataclass(frozen=True)
class Answers:
    """A row of scores for each text, in the texts' order, and how much of that was work."""

    scores: np.ndarray
    columns: Sequence[str]
    distinct: int
    scored: int

    @property
    def cut(self) -> int:
        """How many texts were longer than the scorer takes."""
        cut = self.column("cut")
        return 0 if cut is None else int((cut > 0).sum())

    def column(self, name: str) -> np.ndarray | None:
        """One column by name; None if this scorer does not give it."""
        return self.scores[:, list(self.columns).index(name)] if name in self.columns else None


def ask(
    scorer: Scorer,
    texts: Sequence[str],
    *,
    label: str = "scoring",
    progress: bool | None = None,
    keeper: Keeper | None = None,
) -> Answers:
    """The scorer's answer to every text. `progress` shows a bar; by default only on a terminal.

    Who asks several times about texts of different kinds has one keeper, and need not wait for what it writes.

    Texts without a number are told when all others are kept. A scorer may have two methods more: `ask_before(asked)`,
    which, where answers are paid, may have other scorers asked through the store first, and `check_answers(texts,
    scores)`, which may refuse what is known in the end.
    """
    if keeper is None:
        with Keeper(scorer, label) as own:
            return ask(scorer, texts, label=label, progress=progress, keeper=own)
    first, which = distinct(texts)
    scores = keeper.store.lookup(select_texts(texts, first))
    missing = np.flatnonzero(np.isnan(scores[:, 0]))
    paid = getattr(scorer, "paid", False)
    if paid and len(missing) and hasattr(scorer, "ask_before"):
        scorer.ask_before(lambda other, some: ask(other, some, label=label, progress=False).scores)
    cluster = None if paid else _cluster.get()  # a server is called from here, whoever computes
    answers = answers_here if cluster is None else cluster.answers
    with progress_bar(label, len(missing), progress) as advance:
        parts = _kept_in_time(answers(scorer, texts, first[missing]), 0.0 if paid else SECONDS_AT_RISK)
        with _closed(parts):  # a scorer is left as it was, whatever happens here
            for some, answer in parts:
                fine = np.isfinite(answer[:, 0].astype(np.float64))
                rows = missing[some[fine]]
                if len(rows):
                    keeper.keep(select_texts(texts, first[rows]), answer[fine])
                    scores[rows] = answer[fine]
                advance(len(some))
    _refuse_without_number(texts, first[np.isnan(scores[:, 0])])
    if hasattr(scorer, "check_answers"):
        scorer.check_answers(select_texts(texts, first), scores)
    return Answers(scores[which], scorer.columns, len(first), len(missing))


Part = tuple[np.ndarray, np.ndarray]  # positions among the texts asked, and their rows of scores


def distinct(texts: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """The positions of the first of equal texts, and for every text which of them it is."""
    found = texts.find_distinct() if isinstance(texts, LazyTexts) else None
    if found is not None:
        return found
    coded = text_keys(texts).dictionary_encode()
    which = coded.indices.to_numpy()
    first = np.full(len(coded.dictionary), len(texts))
    np.minimum.at(first, which, np.arange(len(texts)))
    return first, which


class Keeper:
    """Knows a scorer's answers, and writes new ones beside the scoring: no batch waits for digests and disks."""

    def __init__(self, scorer: Scorer, label: str) -> None:
        self.store = ScoreStore(scorer.fingerprint, scorer.columns, name=label)
        self.wait = getattr(scorer, "paid", False)
        self.writer = ThreadPoolExecutor(1)
        self.last: Future[None] | None = None

    def __enter__(self) -> Self:
        return self

    def keep(self, texts: Sequence[str], answer: np.ndarray) -> None:
        """Returns when the answers before these are on disk; if they are paid for, when these are."""
        if self.last is not None:
            self.last.result()
        self.last = self.writer.submit(self.store.add, texts, answer)
        if self.wait:
            self.last.result()

    def __exit__(self, *failure: object) -> None:
        self.writer.shutdown()  # what was handed over is written, also after a failure
        if self.last is not None and failure[0] is None:
            self.last.result()
        if failure[0] is None:
            self.store.tidy()


def answers_here(scorer: Scorer, texts: Sequence[str], asked: np.ndarray) -> Iterator[Part]:
    """The answers as they come: batch by batch from a scorer that streams, share by share from any other."""
    if hasattr(scorer, "batches"):
        size = len(asked) if getattr(scorer, "takes_everything", False) else LARGEST_SHARE
        for start in range(0, len(asked), max(size, 1)):
            share = select_texts(texts, asked[start : start + size])
            with _closed(scorer.batches(share)) as batches:
                for some, answer in batches:
                    yield start + some, _checked(scorer, select_texts(share, some), answer)
    else:
        for share_at in _shares(len(asked)):
            share = list(select_texts(texts, asked[share_at]))
            yield np.arange(len(asked))[share_at], _checked(scorer, share, np.asarray(scorer.score(share)))


def _kept_in_time(parts: Iterator[Part], at_risk: float) -> Iterator[Part]:
    """Small parts joined until a few seconds' work has come together: what is yielded is kept on disk.

    What came before a failure is yielded before it rises.
    """
    waiting: list[Part] = []
    since = time.perf_counter()
    failure: BaseException | None = None
    try:
        with _closed(parts):
            for part in parts:
                waiting.append(part)
                if time.perf_counter() - since >= at_risk:
                    yield _joined(waiting)
                    waiting, since = [], time.perf_counter()
    except (Exception, KeyboardInterrupt) as error:
        failure = error
    if waiting:
        yield _joined(waiting)
    if failure is not None:
        raise failure


@contextmanager
def _closed(parts: Iterator[Part]) -> Iterator[Iterator[Part]]:
    """Parts that are ended here, also where nobody takes the last of them; a scorer's need not be a generator."""
    try:
        yield parts
    finally:
        getattr(parts, "close", lambda: None)()


def _joined(parts: list[Part]) -> Part:
    return np.concatenate([some for some, _ in parts]), np.concatenate([answer for _, answer in parts])


def _shares(count: int) -> Iterator[slice]:
    """Consecutive shares of the work, each as large as fits into `SECONDS_AT_RISK` by what the last one took."""
    start, size = 0, SMALLEST_SHARE
    while start < count:
        began = time.perf_counter()
        yield slice(start, start + size)
        seconds = max(time.perf_counter() - began, 1e-6)
        start += size
        # At most four times the last share: the first ones are short and say little.
        size = int(np.clip(size * min(SECONDS_AT_RISK / seconds, 4.0), SMALLEST_SHARE, LARGEST_SHARE))


def _checked(scorer: Scorer, texts: Sequence[str], answer: np.ndarray) -> np.ndarray:
    expected = (len(texts), len(scorer.columns))
    if answer.shape != expected:
        raise GeobiasError(f"The scorer gave an array of shape {answer.shape} for {len(texts)} texts, not {expected}.")
    return answer


def _refuse_without_number(texts: Sequence[str], which: np.ndarray) -> None:
    if len(which):
        text = texts[int(which[0])]
        raise InputError(f"The model gives no number for {len(which)} text(s), for example {text!r}: leave it out.")
