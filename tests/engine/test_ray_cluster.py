"""On Ray: the numbers of one process, whoever computes them; workers that die take nothing along."""

from __future__ import annotations

import json
import math
import os
import re
import sys
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import ray

from geobias.engine import ray_cluster as engine
from geobias.engine.ask import ask, compute_on
from geobias.engine.ray_cluster import Cluster
from geobias.engine.store import stored
from geobias.errors import GeobiasError, InputError
from geobias.models.load import load, load_classifier
from geobias.texts import DEFAULT_TEMPLATE
from geobias.texts.counterfactuals import Counterfactuals
from geobias.texts.people import find_people
from geobias.texts.templates import Sentences, TextSelection
from geobias.world.gazetteer import load_gazetteer
from tests.conftest import SCORE_ONLY, Run, posix_only
from tests.engine.scorers import Choosy, Deadly, Paid

pytestmark = posix_only
LANDS = ("France", "Chad", "Peru", "Åland", "Fiji")
REGIONS = [f"the {size} {land}" for size in ("old", "new", "far") for land in LANDS]
WORDS = ["kind", "shy", "hard-working", "loyal", "honest", "straightforward", "inquisitive"] * 4
TWEETS = [f"{greeting} {name}, it is {weather} today" for greeting in ("Hello", "Dear") for name in ("Ann", "Åsa")
          for weather in ("so very sunny", "raining", "cold and dark and grey")]  # fmt: skip


@pytest.fixture(scope="module", autouse=True)
def two_cores() -> Iterator[None]:
    """One small cluster for all: starting it takes seconds."""
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    ray.init(address="local", num_cpus=2, num_gpus=0, object_store_memory=2**27, include_dashboard=False,
             log_to_driver=False)  # fmt: skip
    yield
    ray.shutdown()


@pytest.fixture(scope="module")
def shared_cluster(two_cores: None) -> Iterator[Cluster]:
    with Cluster("auto") as cluster:
        yield cluster


@pytest.fixture
def cluster(shared_cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> Cluster:
    """The workers of all tests: starting one takes seconds. Commands use them too, whatever cluster they connect to."""
    monkeypatch.setattr(engine, "Cluster", lambda address, device: nullcontext(shared_cluster))
    return shared_cluster


@pytest.fixture(autouse=True)
def small_shards(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "SMALLEST_SHARD", 16)
    monkeypatch.setattr(engine, "LARGEST_SHARD", 16)


def collected(found: Iterator[tuple[np.ndarray, np.ndarray]], count: int) -> np.ndarray:
    """The rows in their order; every position must have come once."""
    parts = list(found)
    positions = np.concatenate([some for some, _ in parts])
    assert sorted(positions) == list(range(count))
    return np.asarray(np.concatenate([rows for _, rows in parts])[np.argsort(positions)])


@pytest.mark.slow
def test_language_models_give_the_same_whoever_computes(
    cluster: Cluster, small_models: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "LARGEST_SHARD", 800)  # enough that sentences are composed
    for kind, method in (("roberta", "conditional"), ("gpt2", "mean")):
        scorer: Any = load(small_models[kind]).scorer(method)
        words = [f"{word} {n}" for n, word in enumerate(WORDS)]
        block = Sentences([DEFAULT_TEMPLATE], REGIONS * 4, words, marked=scorer.needs_mark)
        asked = np.random.default_rng(0).permutation(len(block))
        here = scorer.score(TextSelection(block, asked))
        there = collected(cluster.score(scorer, block, asked), len(block))
        np.testing.assert_allclose(there, here, rtol=0, atol=1e-5)
        one = collected(cluster.score(scorer, block, asked[:10]), 10)  # a single shard, so a single worker
        np.testing.assert_allclose(one, here[:10], rtol=0, atol=1e-5)
    assert len(cluster.workers) == 2


def test_a_classifier_gives_the_same_for_texts_and_for_renamed_texts(cluster: Cluster) -> None:
    classifier = load_classifier("embedded/sentiment")
    names = load_gazetteer()
    found = [find_people(text, [(text.index(" ") + 1, text.index(","))], names) for text in TWEETS]
    renamed = Counterfactuals(TWEETS, found, names, ["FR", "NG"], draws=3, seed=0)
    for texts in (TWEETS, renamed):
        here = classifier.score(list(texts))
        there = collected(cluster.score(classifier, texts, np.arange(len(texts))), len(texts))
        np.testing.assert_allclose(there, here, rtol=0, atol=1e-5)


@pytest.mark.slow
def test_what_a_killed_worker_had_is_done_again(cluster: Cluster, tmp_path: Path) -> None:
    texts = ["x" * n for n in range(300)]
    scorer = Deadly(tmp_path, times=2)
    there = collected(cluster.score(scorer, texts, np.arange(300)), 300)
    np.testing.assert_array_equal(there[:, 0], np.arange(300))
    assert len(list(tmp_path.iterdir())) == 2


@pytest.mark.slow
def test_a_worker_killed_from_outside(cluster: Cluster, tmp_path: Path) -> None:
    """As when a node goes: each loses what it has been handed, one after the other."""
    texts = ["x" * n for n in range(300)]
    found = []
    for at, part in enumerate(cluster.score(Deadly(tmp_path, 0), texts, np.arange(300))):
        found.append(part)
        if at in (2, 6):
            ray.kill(cluster.workers[at == 6], no_restart=False)
    np.testing.assert_array_equal(collected(iter(found), 300)[:, 0], np.arange(300))


@pytest.mark.slow
def test_nothing_is_lost_or_doubled_in_the_store(cluster: Cluster, tmp_path: Path) -> None:
    marks = tmp_path / "marks"
    marks.mkdir()
    texts = ["x" * (n % 200) for n in range(400)]
    with compute_on("auto", "auto", "auto") as (device, dtype):
        answers = ask(Deadly(marks, times=1), texts)
        assert (device, dtype) == ("cpu", "auto")
    np.testing.assert_array_equal(answers.scores[:, 0], [n % 200 for n in range(400)])
    assert (answers.distinct, answers.scored) == (200, 200)
    assert [kept.texts for kept in stored()] == [200]
    assert ask(Deadly(marks, times=0), texts).scored == 0


@pytest.mark.slow
def test_texts_that_kill_every_worker_end_the_run_with_a_sentence(cluster: Cluster, tmp_path: Path) -> None:
    with pytest.raises(GeobiasError, match="3 workers have died on the same texts"):
        list(cluster.score(Deadly(tmp_path, times=99), ["x" * n for n in range(300)], np.arange(300)))
    assert 3 <= len(list(tmp_path.iterdir())) <= 6  # another worker may have died of other texts meanwhile


@pytest.mark.slow
def test_an_error_of_the_scorer_comes_as_it_is(cluster: Cluster, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"^This text is empty: leave it out\.$"):
        list(cluster.score(Choosy(tmp_path, 0), ["a"] * 99 + [""], np.arange(100)))


def test_what_is_paid_for_is_asked_from_here(tmp_path: Path) -> None:
    with compute_on("auto", "auto", "auto"):
        assert ask(Paid(tmp_path), ["a", "bb"]).scores[:, 0].tolist() == [1, 2]


@pytest.mark.slow
def test_what_cannot_travel_is_refused(cluster: Cluster, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="Paid cannot be sent to other processes"):
        list(cluster.score(Paid(tmp_path), ["a"], np.arange(1)))


@pytest.mark.slow
def test_the_command_leaves_the_same_results(
    cluster: Cluster, run: Run, small_models: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = ["regions", str(small_models["bert"]), "--countries", "FR,CH,PE", "--cities", "2", *SCORE_ONLY]
    found = []
    for number, more in enumerate(([], ["--ray", "local"])):
        monkeypatch.setenv("GEOBIAS_CACHE", f"store-{number}")
        code, _, error = run(*asked, "--out", f"run-{number}", *more)
        assert code == 0, error
        found.append(json.loads(Path(f"run-{number}/results.json").read_text()))
    assert alike(*found)


def alike(one: Any, other: Any, key: str = "") -> bool:
    """Other batches round otherwise: intervals amplify it, and a permutation more or less reaches the distance."""
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(alike(one[key], other[key], key) for key in one)
    if isinstance(one, list):
        return len(one) == len(other) and all(map(alike, one, other))
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=1e-4, abs_tol=0.01 if key in ("p", "p_adjusted") else 1e-5)
    if isinstance(one, str) and isinstance(other, str):
        return re.sub(r"[\d.]+", "", one) == re.sub(r"[\d.]+", "", other)  # its numbers stand in fields, too
    return bool(one == other)


@pytest.mark.parametrize(("device", "message"), [("cuda", "has no GPU"), ("cuda:1", "workers choose their GPU")])
def test_devices_that_workers_cannot_have(run: Run, device: str, message: str) -> None:
    code, _, error = run("regions", "--countries", "FR", "--ray", "auto", "--device", device)
    assert code == 2 and message in error


def test_without_ray_it_says_what_to_install(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    monkeypatch.delitem(sys.modules, "geobias.engine.ray_cluster")
    code, _, error = run("downstream", "embedded/hate", "--countries", "FR", "--ray", "local")
    assert code == 2 and "pip install '.[ray]'" in error
