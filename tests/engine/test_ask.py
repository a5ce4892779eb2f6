"""Every distinct text once, ever; resumed after a kill; the same numbers in the texts' own order."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from geobias.engine import ask as engine
from geobias.engine.ask import ask, ask_in_blocks
from geobias.engine.store import FILES_BEFORE_MERGING
from geobias.errors import GeobiasError, InputError
from geobias.models.scorer import Scorer
from geobias.texts.templates import LazyTexts
from tests.conftest import posix_only


class Lengths(Scorer):
    """A scorer that gives a text's length, and records the texts that it scores."""

    columns = ("length",)
    fingerprint: str | None

    def __init__(self, fingerprint: str | None = "lengths") -> None:
        self.fingerprint = fingerprint
        self.scored_texts: list[str] = []

    def score(self, texts: Sequence[str]) -> np.ndarray:
        self.scored_texts += texts
        return np.array([[float(len(text))] for text in texts])


def test_distinct_texts_once_in_the_order_asked() -> None:
    scorer = Lengths()
    texts = ["bb", "a", "bb", "ccc", "a"] * 30
    answers = ask(scorer, texts)
    np.testing.assert_array_equal(answers.scores[:, 0], [2, 1, 2, 3, 1] * 30)
    assert sorted(scorer.scored_texts) == ["a", "bb", "ccc"]
    assert (answers.distinct, answers.scored) == (3, 3)


class Grid(LazyTexts):
    """Three texts of every length from 1 to 8."""

    shape = (8, 3, 1)

    def at(self, first: int, second: int, third: int) -> str:
        return "abc"[second] * (first + 1)


def test_blocks_give_the_same_scores_and_resume(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "TEXTS_PER_BLOCK", 7)
    ask(Lengths(), ["aaa", "bbb"])
    scorer = Lengths()
    answers = ask_in_blocks(scorer, Grid(), label="lengths")
    np.testing.assert_array_equal(answers.scores[:, 0], np.repeat(np.arange(1, 9), 3))
    assert (answers.distinct, answers.scored, len(scorer.scored_texts)) == (24, 22, 22)
    assert ask_in_blocks(Lengths(), Grid(), label="lengths").scored == 0


def test_a_paid_text_is_never_scored_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "TEXTS_PER_BLOCK", 7)
    scorer = Lengths()
    scorer.paid = True
    same_texts = Grid()
    monkeypatch.setattr(same_texts, "at", lambda *position: "same")
    assert ask_in_blocks(scorer, same_texts, label="paid").distinct == 1
    assert scorer.scored_texts == ["same"]


def test_a_text_is_scored_once_ever() -> None:
    ask(Lengths(), ["a", "bb"])
    again = Lengths()
    answers = ask(again, ["bb", "ccc", "a"])
    assert again.scored_texts == ["ccc"]
    np.testing.assert_array_equal(answers.scores[:, 0], [2, 3, 1])
    assert answers.scored == 1


class Streaming(Lengths):
    """Gives its answers in two batches, the second half of the texts first."""

    def batches(self, texts: Sequence[str]) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        for some in (np.arange(len(texts) // 2, len(texts)), np.arange(len(texts) // 2)):
            yield some, self.score([texts[int(i)] for i in some])


def test_a_streaming_scorer_gives_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "LARGEST_SHARE", 7)
    texts = ["x" * (n % 23) for n in range(100)]
    np.testing.assert_array_equal(ask(Streaming(), texts).scores[:, 0], [n % 23 for n in range(100)])
    again = Streaming()
    ask(again, texts)
    assert again.scored_texts == []


class Wrong(Lengths):
    def __init__(self, answer: np.ndarray) -> None:
        super().__init__("wrong")
        self.answer = answer

    def score(self, texts: Sequence[str]) -> np.ndarray:
        return self.answer


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (np.zeros((1, 1)), "shape"),
        (np.zeros(2), "shape"),
        (np.array([[np.inf], [np.nan]]), "no score for 2 text.*'a'"),
    ],
)
def test_wrong_answers_are_refused_and_not_kept(answer: np.ndarray, message: str) -> None:
    with pytest.raises(GeobiasError, match=message):
        ask(Wrong(answer), ["a", "bb"])
    fresh = Lengths("wrong")
    ask(fresh, ["a", "bb"])
    assert fresh.scored_texts == ["a", "bb"]


class Deciding(Scorer):
    """Gives these rows, one to each text."""

    fingerprint, columns = "deciding", ("samples", "log_p(yes)")

    def __init__(self, *rows: list[float]) -> None:
        self.rows, self.calls = np.array(rows), 0

    def score(self, texts: Sequence[str]) -> np.ndarray:
        self.calls += 1
        return self.rows[: len(texts)]


@pytest.mark.parametrize("wrong", [np.nan, np.inf])
def test_every_number_of_a_row_must_be_one_before_it_is_kept(wrong: float) -> None:
    with pytest.raises(InputError, match=r"no score for 1 text.*'a'"):
        ask(Deciding([0.0, wrong], [0.0, -1.0]), ["a", "bb"])
    well_again = Deciding([0.0, -2.0])
    np.testing.assert_array_equal(ask(well_again, ["a", "bb"]).scores, [[0.0, -2.0], [0.0, -1.0]])


def test_an_answer_that_never_comes_is_kept() -> None:
    for decider, calls in ((Deciding([1.0, -np.inf]), 1), (Deciding(), 0)):
        np.testing.assert_array_equal(ask(decider, ["a"]).scores, [[1.0, -np.inf]])
        assert decider.calls == calls


class Partly(Lengths):
    """Streams answers in pairs, without a number for empty texts; a text "never" is not answered at all."""

    def batches(self, texts: Sequence[str]) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        for start in range(0, len(texts), 2):
            some = np.array([i for i in range(start, min(start + 2, len(texts))) if texts[i] != "never"])
            if len(some):
                yield some, np.array([[float(len(texts[int(i)])) or np.nan] for i in some])


@pytest.mark.parametrize("unanswered", ["", "never"])
def test_a_text_without_a_number_is_told_when_all_others_are_kept(unanswered: str) -> None:
    with pytest.raises(InputError, match=rf"no score for 1 text\(s\), such as '{unanswered}'\. Remove them"):
        ask(Partly(), ["a", unanswered, "ccc", "dd"])
    again = Lengths()
    ask(again, ["a", "ccc", "dd"])
    assert again.scored_texts == []


STOPPING = """
import sys, time
from pathlib import Path
import numpy as np
from geobias.engine import ask as engine
from geobias.models import scorer

engine.SECONDS_AT_RISK = scorer.SHARE_SECONDS = 0.0
log, result, waiting, go = map(Path, sys.argv[1:])

class Stopping(scorer.Scorer):
    fingerprint, columns = "stopping", ("length",)
    def score(self, texts):
        with open(log, "a") as file:
            file.writelines(text + "\\n" for text in texts)
        while "x" * 200 in texts and not go.exists():
            waiting.touch()
            time.sleep(0.01)
        return np.array([[float(len(text)) + 0.1] for text in texts])

texts = ["x" * n for n in range(1, 400)]
answers = engine.ask(Stopping(), texts)
np.save(result, answers.scores)
"""


@posix_only
def test_killed_in_the_middle_it_resumes_and_ends_the_same(tmp_path: Path, own_store: Path) -> None:
    """kill -9 in the middle: the second run asks only what is not on disk yet."""
    script, log, result = tmp_path / "stopping.py", tmp_path / "asked.txt", tmp_path / "scores.npy"
    waiting, go = tmp_path / "waiting", tmp_path / "go"
    script.write_text(STOPPING)
    command = [sys.executable, *map(str, (script, log, result, waiting, go))]
    first = subprocess.Popen(command, env=os.environ | {"GEOBIAS_CACHE": str(own_store)})
    while not waiting.exists():
        assert first.poll() is None
        time.sleep(0.01)
    first.send_signal(signal.SIGKILL)
    assert first.wait() == -signal.SIGKILL
    assert not result.exists()
    kept = sum(pq.read_metadata(file).num_rows for file in own_store.rglob("*.parquet"))
    asked_before = log.read_text().splitlines()

    go.touch()
    subprocess.run(command, check=True, env=os.environ | {"GEOBIAS_CACHE": str(own_store)})
    np.testing.assert_array_equal(np.load(result)[:, 0], np.arange(1, 400) + 0.1)
    asked = log.read_text().splitlines()
    assert set(asked) == {"x" * n for n in range(1, 400)}
    assert 0 < kept < 399 and len(asked) - len(asked_before) == 399 - kept


class Failing(Lengths):
    """Streams answers one by one, and fails when it comes to an empty text."""

    def batches(self, texts: Sequence[str]) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        for i, text in enumerate(texts):
            if not text:
                raise GeobiasError("gone")
            yield np.array([i]), self.score([text])


def test_what_came_before_a_failure_is_kept() -> None:
    with pytest.raises(GeobiasError, match="gone"):
        ask(Failing(), ["a", "bb", "", "ccc"])
    again = Lengths()
    ask(again, ["a", "bb", "ccc"])
    assert again.scored_texts == ["ccc"]


class Paid(Lengths):
    """Every answer costs: how many texts lie on disk is looked at before each one."""

    paid = True

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.folder = folder
        self.on_disk: list[int] = []
        self.files: list[int] = []

    def batches(self, texts: Sequence[str]) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        for i, text in enumerate(texts):
            files = list(self.folder.rglob("*.parquet"))
            self.on_disk.append(sum(pq.read_metadata(file).num_rows for file in files))
            self.files.append(len(files))
            yield np.array([i]), self.score([text])


def test_what_was_paid_for_is_on_disk_at_once_in_few_files(own_store: Path) -> None:
    scorer = Paid(own_store)
    texts = ["x" * n for n in range(300)]
    np.testing.assert_array_equal(ask(scorer, texts).scores[:, 0], np.arange(300))
    assert scorer.on_disk == list(range(300))
    assert max(scorer.files) <= 2 * FILES_BEFORE_MERGING
    again = Lengths()
    ask(again, texts)
    assert again.scored_texts == []
