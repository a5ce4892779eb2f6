"""Properties of the store of scores, checked on arbitrary texts, scores, orders and damage."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest import mock

import numpy as np
import pytest
from hypothesis import event, example, given, settings
from hypothesis import strategies as st

from geobias.engine import store
from geobias.engine.store import ScoreStore

Scores = dict[str, tuple[float, float]]

COLUMNS = ["value", "log_p(yes)"]
MISSING = (np.nan, np.nan)
TEXTS = st.text(st.characters(), max_size=6) | st.text(st.characters(categories=["Cs"]), max_size=2)  # any code point
FINITE = st.floats(allow_nan=False, allow_infinity=False)
ROWS = st.tuples(FINITE, FINITE | st.just(-np.inf))  # P of an answer may be 0
SCORES: st.SearchStrategy[Scores] = st.dictionaries(TEXTS, ROWS, max_size=8)


@contextmanager
def temporary_cache(files_before_merging: int = store.FILES_BEFORE_MERGING) -> Iterator[Path]:
    """An empty cache for each example; fixtures would last for all examples of a test."""
    with (
        tempfile.TemporaryDirectory() as folder,
        mock.patch.dict(os.environ, {"GEOBIAS_CACHE": folder}),
        mock.patch.object(store, "FILES_BEFORE_MERGING", files_before_merging),
        mock.patch.object(os, "fsync"),  # nobody cuts the power here, and it takes most of the time
    ):
        yield Path(folder)


def open_store(fingerprint: str = "model:aul") -> ScoreStore:
    return ScoreStore(fingerprint, COLUMNS, name="a model")


def add_scores(store: ScoreStore, scores: Scores) -> None:
    store.add(list(scores), np.array(list(scores.values())).reshape(-1, len(COLUMNS)))


def assert_holds(store: ScoreStore, scores: Scores, texts: list[str]) -> None:
    """The store gives exactly these scores, to the last bit, and NaN for every other text."""
    expected = np.array([scores.get(text, MISSING) for text in texts]).reshape(-1, len(COLUMNS))
    rows = store.lookup(texts)
    np.testing.assert_array_equal(rows, expected, strict=True)
    numbers = ~np.isnan(expected)
    assert (np.signbit(rows) == np.signbit(expected))[numbers].all()


@settings(max_examples=60, deadline=None)
@given(SCORES, st.lists(TEXTS, max_size=4))
def test_scores_are_read_as_they_were_added(scores: Scores, other_texts: list[str]) -> None:
    with temporary_cache():
        add_scores(open_store(), scores)
        assert_holds(open_store(), scores, [*other_texts, *scores, *reversed(scores)])
        assert_holds(open_store("another model"), {}, list(scores))
        assert {entry.fingerprint: entry.texts for entry in store.stored()} == {
            "model:aul": len(scores),
            "another model": 0,
        }


STORES = 3
ACTIONS = st.tuples(
    st.integers(0, STORES - 1), st.sampled_from(["open", "add", "add", "add", "tidy"]), st.sets(st.integers(0, 7))
)


@settings(max_examples=60, deadline=None)
@given(SCORES, st.lists(ACTIONS, max_size=25), st.integers(2, 4))
@example({"a": (0.0, 0.0)}, [(0, "add", set())], 2)  # merged with no rows at all, a file has the same content again
def test_order_parts_and_number_of_stores_do_not_matter(
    scores: Scores, actions: list[tuple[int, str, set[int]]], files_before_merging: int
) -> None:
    texts = list(scores)
    with temporary_cache(files_before_merging):
        stores = [open_store() for _ in range(STORES)]
        contents: list[Scores] = [{} for _ in range(STORES)]  # what was on disk when each store was opened
        on_disk: Scores = {}
        for number, action, positions in actions:
            if action == "open":
                stores[number], contents[number] = open_store(), dict(on_disk)
            elif action == "tidy":
                stores[number].tidy()
            else:
                part = {
                    texts[i]: scores[texts[i]] for i in sorted(positions, reverse=number % 2 == 1) if i < len(texts)
                }
                add_scores(stores[number], part)
                on_disk |= part
            assert_holds(stores[number], contents[number], texts)
        assert_holds(open_store(), on_disk, texts)
        add_scores(stores[0], scores)
        assert_holds(open_store(), scores, texts)


@settings(max_examples=30, deadline=None)
@given(st.lists(SCORES, min_size=1, max_size=8), st.integers(2, 4))
def test_tidying_changes_no_score(parts: list[Scores], files_before_merging: int) -> None:
    scores = {text: row for part in reversed(parts) for text, row in part.items()}
    texts = list(scores)
    with temporary_cache(files_before_merging) as cache:
        for part in parts:
            add_scores(open_store(), {text: scores[text] for text in part})
        (before,) = store.stored()
        file_count = len(list(cache.rglob("*.parquet")))
        open_store().tidy()
        assert_holds(open_store(), scores, texts)
        (after,) = store.stored()
        assert before.texts == after.texts == len(scores)
        assert len(list(cache.rglob("*.parquet"))) == (1 if file_count > files_before_merging else file_count)


Damage = tuple[str, int, int, int]  # kind, which file, which byte, change of its bits
DAMAGE: st.SearchStrategy[list[Damage]] = st.lists(
    st.tuples(
        st.sampled_from(["flip", "truncate", "append", "copy", "delete"]),
        st.integers(0, 7),
        st.integers(0, 2000),
        st.integers(1, 255),
    ),
    min_size=1,
    max_size=6,
)


def damage_file(files: list[Path], kind: str, number: int, position: int, bits: int) -> None:
    path, other = files[number % len(files)], files[position % len(files)]
    content = bytearray(path.read_bytes()) if path.exists() else bytearray()
    if kind == "flip" and content:
        content[position % len(content)] ^= bits
    elif kind == "truncate":
        del content[position % (len(content) + 1) :]
    elif kind == "append":
        content.append(bits)
    elif kind == "copy" and other.exists():
        content = bytearray(other.read_bytes())
    if kind == "delete":
        path.unlink(missing_ok=True)
    else:
        path.write_bytes(content)


@pytest.mark.filterwarnings("error")
@settings(max_examples=80, deadline=None)
@given(st.lists(SCORES.filter(bool), min_size=1, max_size=4), DAMAGE)
def test_damage_never_gives_a_wrong_score(parts: list[Scores], damages: list[Damage]) -> None:
    scores = {text: row for part in reversed(parts) for text, row in part.items()}
    with temporary_cache() as cache:
        holders: dict[str, list[Path]] = {text: [] for text in scores}
        for part in parts:
            files = set(cache.rglob("*.parquet"))
            add_scores(open_store(), {text: scores[text] for text in part})
            for text in part:
                holders[text] += set(cache.rglob("*.parquet")) - files
        contents = {path: path.read_bytes() for path in sorted(cache.rglob("*.parquet"))}
        for damage in damages:
            damage_file(list(contents), *damage)
        intact = {path for path, content in contents.items() if path.exists() and path.read_bytes() == content}
        readable = {text: row for text, row in scores.items() if intact & set(holders[text])}
        event(f"{len(contents) - len(intact)} damaged files")
        assert sum(entry.texts for entry in store.stored()) == len(readable)
        assert_holds(open_store(), readable, list(scores))
        assert intact <= set(cache.rglob("*.parquet"))  # nothing else is deleted
        missing = {text: row for text, row in scores.items() if text not in readable}
        add_scores(open_store(), missing)
        assert_holds(open_store(), scores, list(scores))
