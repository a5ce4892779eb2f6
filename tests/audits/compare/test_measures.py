"""Comparison: a planted difference is found with its size, none where there is none, and chance stays chance."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import geobias
from geobias.audits.names.answers import read_name_units, read_renamed
from geobias.audits.pages import read_run
from geobias.audits.regions.design import SCORE_ONLY
from geobias.measures.change import change_by_country
from geobias.measures.crossed_variance import NameUnits
from geobias.measures.estimates import SIGNIFICANT
from geobias.measures.herb import descriptive_vectors, herb_scores
from geobias.measures.paired_differences import (
    MEAN,
    ORIGINALS,
    NamesAnswers,
    names_differences,
    text_differences,
    word_differences,
)
from geobias.world.words import herb_words
from tests.conftest import made_up_names, spell

COUNTRIES, DRAWS, NAMES = 4, 5, 30
REPETITIONS = 200


def band(n: int, share: float) -> tuple[int, int]:
    """The counts that chance gives in 99.9 % of all cases, exactly."""
    low, high = stats.binom.interval(0.999, n, share)
    return int(low), int(high)


def synthetic(rng: np.random.Generator, texts: int = 60) -> tuple[NamesAnswers, NamesAnswers, NameUnits]:
    """Two classifiers without a bias by country, whose answers differ by text, by name and from version to version."""
    tone = rng.normal(0, 0.5, (2, texts, 1, 1)) + np.zeros((2, texts, COUNTRIES, DRAWS))
    names = rng.permuted(np.tile(np.arange(NAMES), (texts, COUNTRIES, 1)), axis=2)[..., :DRAWS]
    for country in range(COUNTRIES):
        tone[:, :, country] += rng.normal(0, 0.5, (2, NAMES))[:, names[:, country]]
    tone += rng.normal(0, 0.3, tone.shape)
    original = rng.normal(0, 0.7, (2, texts))

    def said(tone: np.ndarray) -> np.ndarray:
        positive = 1 / (1 + np.exp(-tone))
        return np.stack([1 - positive, positive], axis=-1)

    first, second = (NamesAnswers(said(original[run]), said(tone[run])) for run in range(2))
    return first, second, bearing(names)


def bearing(names: np.ndarray) -> NameUnits:
    """Every version bears one name of its country's own list (names: texts x countries x draws)."""
    countries = names.shape[1]
    unit = names + NAMES * np.arange(countries)[None, :, None]
    return NameUnits(np.arange(names.size), unit.ravel(), np.zeros(countries * NAMES, dtype=int))


def differences(first: NamesAnswers, second: NamesAnswers, names: NameUnits) -> dict[Any, Any]:
    return names_differences(first, second, names, positive=[1], negative=[0], threshold=None)


def test_values_are_those_of_the_names_audit() -> None:
    first, second, names = synthetic(np.random.default_rng(3))
    found = differences(first, second, names)
    for run, said in (("first", first), ("second", second)):
        counted = np.ones((60, DRAWS), dtype=bool)
        known = change_by_country(said.original, said.versions, counted=counted, positive=[1], negative=[0])
        for measure, against, expected in (
            ("delta", ORIGINALS, known.delta),
            ("delta", MEAN, known.delta_from_mean),
            ("change", ORIGINALS, known.change.T),
            ("change", MEAN, known.change_from_mean.T),
        ):
            np.testing.assert_allclose(getattr(found[measure, against], run), expected, atol=1e-9)


def test_identical_runs_do_not_differ() -> None:
    first, _, names = synthetic(np.random.default_rng(5))
    for found in differences(first, first, names).values():
        for part in ("value", "low", "high"):
            assert (getattr(found.difference, part) == 0).all()
        assert (found.difference.p == 1).all()


@pytest.mark.slow
def test_chance_raises_no_more_false_alarms_than_it_may() -> None:
    """One country's p below 0.05 in one of twenty repetitions; after correction, any country's in as many at most."""
    alone, any_at_all = 0, 0
    for seed in range(REPETITIONS):
        found = differences(*synthetic(np.random.default_rng(seed)))["delta", MEAN].difference
        alone += int(found.p[0] < SIGNIFICANT)
        any_at_all += int((found.p_adjusted < SIGNIFICANT).any())
    low, high = band(REPETITIONS, SIGNIFICANT)
    assert low <= alone <= high and any_at_all <= high


def test_names_are_units_too() -> None:
    """Where names alone decide, other texts would hardly matter: an interval over texts alone would be too narrow."""
    rng, texts = np.random.default_rng(11), 400
    names = np.concatenate([rng.permutation(NAMES)[:DRAWS] for _ in range(texts)])
    by_name = rng.normal(0.5, 0.1, (2, NAMES))
    positive = by_name[:, names].reshape(2, texts, 1, DRAWS)
    first, second = (NamesAnswers(np.full((texts, 2), 0.5), np.stack([1 - p, p], axis=-1)) for p in positive)
    units = bearing(names.reshape(texts, 1, DRAWS))
    found = differences(first, second, units)["delta", ORIGINALS].difference
    # The difference is a mean over thirty names, so its error is theirs; over 400 texts it would be a third of that.
    error = 200 * (by_name[1] - by_name[0]).std() / np.sqrt(NAMES)
    assert (found.high[0] - found.low[0]) / (2 * 1.96) == pytest.approx(error, rel=0.15)


def test_a_class_of_few_texts_has_no_difference() -> None:
    first, _, names = synthetic(np.random.default_rng(2))
    never = NamesAnswers(np.tile([0.2, 0.8], (60, 1)), np.tile([0.2, 0.8], (60, COUNTRIES, DRAWS, 1)))
    found = differences(first, never, names)["change", MEAN]
    assert np.isnan(found.second[0]).all() and not np.isnan(found.first[0]).any()
    assert np.isnan(found.difference.p_adjusted[0]).all() and not np.isnan(found.difference.p_adjusted[1]).any()
    for texts, told in ((4, False), (5, True)):
        few = NamesAnswers(never.original.copy(), never.versions.copy())
        few.original[:texts], few.versions[:texts] = [0.9, 0.1], [0.9, 0.1]
        for found in (differences(first, few, names)["change", against] for against in (ORIGINALS, MEAN)):
            assert (found.second == 0).all() and (~np.isnan(found.difference.value[0]) == told).all()


def test_what_hardly_ever_happens_raises_no_alarm_where_it_did_not() -> None:
    """A class that joins in one version of a thousand: a country without any would look certain of it."""
    is_first, countries, alarms = np.arange(100) < 50, 20, 0

    def run(flipped: np.ndarray) -> NamesAnswers:
        said = (is_first, is_first[:, None, None] | flipped)
        return NamesAnswers(*(np.where(part[..., None], [0.9, 0.1], [0.1, 0.9]) for part in said))

    for seed in range(20):
        rng = np.random.default_rng(seed)
        names = bearing(rng.integers(NAMES, size=(100, countries, DRAWS)))
        flipped = rng.random((100, countries, DRAWS)) < 0.002
        found = differences(run(flipped), run(np.zeros_like(flipped)), names)["change", MEAN].difference
        assert not np.isnan(found.value).any()
        alarms += int((found.p_adjusted < SIGNIFICANT).any())
    assert alarms <= band(20, SIGNIFICANT)[1]


def test_texts_and_words_that_differ_by_a_known_amount() -> None:
    rng = np.random.default_rng(1)
    first = rng.normal(size=(400, 1200))  # more columns than are taken at once
    second = first + rng.normal(0, 1, first.shape) + np.where(np.arange(1200) == 1100, 1.0, 0.0)
    found = text_differences(first, second).difference
    assert found.value[1100] == pytest.approx((second - first)[:, 1100].mean())
    assert np.flatnonzero(found.p_adjusted < SIGNIFICANT).tolist() == [1100]
    alone = (np.delete(found.p, 1100) < SIGNIFICANT).sum()
    low, high = band(1199, SIGNIFICANT)
    assert low <= alone <= high
    spread = (second - first)[:, 0].std() / 20
    assert (found.high[0] - found.low[0]) / (2 * 1.96) == pytest.approx(spread, rel=0.1)

    few = text_differences(np.zeros((4, 1)), np.ones((4, 1))).difference
    assert few.low[0] == few.high[0] == 1 and few.p[0] == 1 / 8  # four coins that fall alike

    values = rng.normal(size=(2, 50))

    def mean(words: np.ndarray) -> np.ndarray:
        return values[None, :, words].mean(axis=2, keepdims=True)

    of_words = word_differences(mean, 50).difference
    # The mean's influences are exact, so the interval is that of a mean.
    error = (values[1] - values[0]).std() / np.sqrt(50)
    assert of_words.value[0] == pytest.approx((values[1] - values[0]).mean())
    assert (of_words.high[0] - of_words.low[0]) / (2 * 1.96) == pytest.approx(error, rel=0.1)


@pytest.mark.slow
def test_words_left_out_stand_for_words_resampled(small_models: dict[str, Path], tmp_path: Path) -> None:
    """The interval of C_w from leaving words out against words drawn anew and everything measured again."""
    words = list(dict.fromkeys(word.word for word in herb_words()))[:40]
    options: dict[str, Any] = {"cities": 0, "countries": "FR,DE,IT,NG,KE,TD,JP,CN", "words": words, **SCORE_ONLY}
    for kind in ("bert", "roberta"):
        geobias.audit_regions(small_models[kind], **options, out=tmp_path / kind)
    runs = [read_run(tmp_path / kind) for kind in ("bert", "roberta")]
    tree = runs[0].result.tree
    assert [region.id for region in tree.regions][:4] == ["Earth", "AF", "AS", "EU"]

    answers = [(run.result.likelihoods, run.result.name_likelihoods) for run in runs]

    def c_w(chosen: np.ndarray) -> np.ndarray:
        scores = []
        for f, names in answers:
            found = herb_scores(descriptive_vectors(f[0][:, chosen]), names, tree.children)
            scores.append(found.c_w["balanced"][:4])
        return np.stack(scores)[None]

    found = word_differences(c_w, len(words))
    for run, values in zip(runs, (found.first, found.second), strict=True):
        np.testing.assert_allclose(values, [region.c_w_balanced.value for region in run.result.regions[:4]])
    rng = np.random.default_rng(0)
    again = np.diff([c_w(rng.integers(len(words), size=len(words))) for _ in range(300)], axis=2)[:, 0, 0]
    honest, ours = again.std(axis=0), (found.difference.high - found.difference.low) / (2 * 1.96)
    assert (np.abs(ours / honest - 1) < 0.35).all()


def test_a_planted_difference_is_found_with_its_size(tmp_path: Path) -> None:
    """From the run's own files: one classifier is even, the other thinks 0.1 less of names that begin with B."""
    rng = np.random.default_rng(0)
    made_up_names(tmp_path, ["Aland", "Bland", "Cland"])
    texts = pd.DataFrame({"text": [f"Mary did it {spell(i)} times" for i in range(60)], "spans": ["[[0, 4]]"] * 60})
    noise = dict(zip(map(spell, range(60)), rng.normal(0, 0.05, 60), strict=True))

    def even(texts: list[str]) -> list[dict[str, float]]:
        found = [0.6 + noise.get(text.split()[-2], 0.0) for text in texts]
        return [{"negative": 1 - p, "positive": p} for p in found]

    def biased(texts: list[str]) -> list[dict[str, float]]:
        found = [p["positive"] - 0.1 * text.startswith("B") for p, text in zip(even(texts), texts, strict=True)]
        return [{"positive": p, "negative": 1 - p} for p in found]  # labels in another order

    for name, classifier in (("even", even), ("biased", biased)):
        geobias.audit_names(classifier, texts, spans="spans", draws=4,
                            gazetteer=tmp_path / "names.csv", out=tmp_path / name)  # fmt: skip
    runs = [read_run(tmp_path / name) for name in ("even", "biased")]
    said = [read_renamed(run, run.result.classifiers[0], ["negative", "positive"]) for run in runs]
    names = read_name_units(runs[0])
    assert len(names.kind) == 60 and not names.kind.any()  # all of Mary's are women's first names, 20 a country
    found = differences(said[0], said[1], names)["delta", ORIGINALS]
    np.testing.assert_allclose(found.difference.value, [0, -20, 0], atol=1e-9)
    np.testing.assert_allclose(differences(said[0], said[1], names)["delta", MEAN].difference.value,
                               [20 / 3, -40 / 3, 20 / 3], atol=1e-9)  # fmt: skip
    assert found.difference.p_adjusted[1] < SIGNIFICANT and found.difference.p[0] > SIGNIFICANT
