"""--plan: how much, how long, and how small an effect, before anything is scored for good."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from geobias.audits.plan import Step, timed
from geobias.models.scorer import Scorer
from tests.conftest import SCORE_ONLY, Run, spell


@pytest.fixture
def here(tmp_path: Path) -> Path:
    (tmp_path / "planned.py").write_text(
        """
import numpy as np
def noisy(texts):
    good = np.array([0.3 + sum(map(ord, text)) % 41 / 100 for text in texts])
    return np.column_stack([1 - good, good])
noisy.labels = ["negative", "positive"]
def moved_once(texts):
    good = np.array([0.3 + sum(map(ord, text)) % 41 / 100 if "hot" in text else 0.5 for text in texts])
    return np.column_stack([1 - good, good])
moved_once.labels = ["negative", "positive"]
def unnamed(texts):
    return np.full((len(texts), 2), 0.5)
""",
        encoding="utf-8",
    )
    return tmp_path


def points(out: str) -> float:
    found = re.search(r"about ([0-9.]+) points", " ".join(out.split()))
    assert found is not None
    return float(found[1])


def test_names(run: Run, here: Path, small_models: dict[str, Path]) -> None:
    options = ("planned:noisy", "planned:unnamed", "--countries", "FR,DE,MA", "--draws", "10", "--plan")
    code, out, err = run("names", *options, "--perplexity", small_models["roberta"], "--limit", "20")
    assert code == 0, err
    shown = " ".join(out.split())
    assert "20 of 20 texts name somebody; 3 countries x 10 draws." in shown
    assert "planned:noisy 620" in shown and "perplexity by" in shown and "planned:unnamed: no Δ" in shown
    assert not (here / "runs").exists()
    code, more, _ = run("names", *options, "--limit", "400")
    assert code == 0 and "perplexity" not in more and points(more) < points(out)  # more texts find smaller effects


@pytest.mark.parametrize(
    ("countries", "limit", "draws", "reason"),
    [
        ("FR,DE,MA", "5", "50", "tests need at least 15 texts that name somebody, and there are 5"),
        ("FR,DE", "14", "50", "tests need at least 15 texts that name somebody, and there are 14"),
        ("FR,DE,MA", "20", "1", "with one draw per text"),
        ("FR,DE,MA", "18", "2", "tests need at least 40 renamed texts per country, and there are 36"),
    ],
)
def test_names_promise_no_effect_where_the_run_gives_no_interval(
    run: Run, here: Path, countries: str, limit: str, draws: str, reason: str
) -> None:
    options = ("--countries", countries, "--limit", limit, "--draws", draws)
    code, out, err = run("names", "planned:noisy", *options, "--plan")
    assert code == 0, err
    shown = " ".join(out.split())
    assert reason in shown and "4 times of 5" not in shown
    code, out, err = run("names", "planned:noisy", *options, "--out", "small")
    assert code == 0 and reason in " ".join(out.split()), err


@pytest.mark.parametrize("hot_days", [0, 2])
def test_names_that_move_few_texts_promise_no_effect(run: Run, here: Path, hot_days: int) -> None:
    people = [f"Mary was at home on {'hot ' * (n < hot_days)}day {spell(n)}" for n in range(20)]
    (here / "few.txt").write_text("\n".join(people), encoding="utf-8")
    options = ("--texts", "few.txt", "--countries", "FR,DE,MA", "--draws", "8", "--plan")
    code, out, err = run("names", "planned:moved_once", *options)
    assert code == 0 and "too few texts to plan an effect" in " ".join(out.split()), err


def test_downstream_and_regions(
    run: Run, here: Path, small_models: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    code, out, err = run("downstream", "planned:noisy", "--limit", "10", "--continents", "EU", "--plan")
    assert code == 0, err
    assert "against the control that is detected with 80 % power" in " ".join(out.split())
    code, out, err = run("regions", small_models["bert"], "--cities", "0", "--countries", "FR,DE", "--score",
                         "aul,conditional", "--plan", *SCORE_ONLY)  # fmt: skip
    assert code == 0, err
    assert "regions, 112 words" in out and out.split().count("339") == 2  # Europe, France, Germany; and their names
    assert not (here / "runs").exists()


def test_the_rate_is_that_of_many_neighbours(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = 0.0

    class Batched(Scorer):
        """Takes a second for every call, however many texts come together."""

        fingerprint, columns = None, ("log_likelihood",)

        def score(self, texts: Sequence[str]) -> np.ndarray:
            nonlocal clock
            clock += 1.0 if len(texts) < 100 else 2.0
            return np.zeros((len(texts), 1))

    monkeypatch.setattr("geobias.audits.plan.time.perf_counter", lambda: clock)
    # 32 texts in a second, 64 in a second, then 128 in two: long enough to be believed.
    assert timed("batched", Batched(), ["a text"] * 1000) == Step("batched", 1020, 2 / 128)
    assert timed("few", Batched(), ["a text"] * 40).seconds_each == 1 / 8  # 32, and the 8 that remain
