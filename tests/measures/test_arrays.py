"""Measures of torch's arrays, as a GPU has them, and of several sets at once: the numbers of NumPy, one by one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from scipy import stats

from geobias.measures import herb, ranks, word_jackknife
from geobias.measures.arrays import compute_on_gpu, to_numpy
from geobias.measures.herb import (
    FORMS,
    descriptive_vectors,
    flat_sparseness,
    herb_scores,
    sparseness,
    word_sparseness,
)
from geobias.measures.word_jackknife import jackknife_regions

CHILDREN = [
    np.array(below, dtype=np.int64) for below in ([1, 2, 3], [4, 5, 6, 7], [8], [], [], [], [], [], [9, 10], [], [])
]
WORDS = 8


@pytest.fixture
def likelihoods() -> np.ndarray:
    """Three sets of them; two regions are the same, which their distance must say exactly."""
    found = -1 - np.random.default_rng(5).random((3, len(CHILDREN), WORDS))
    found[:, 5] = found[:, 4]
    return found


def scored(vectors: Any) -> dict[str, Any]:
    found = herb_scores(vectors, np.linspace(-3, -1, len(CHILDREN)), CHILDREN)
    return {
        **{f"c_w.{form}": found.c_w[form] for form in FORMS},
        **{f"c_z.{form}": found.c_z[form] for form in FORMS},
        "sparseness": sparseness(vectors, CHILDREN),
        "flat": flat_sparseness(vectors, CHILDREN),
        "words": word_sparseness(vectors, CHILDREN),
    }


@pytest.mark.parametrize("given", [np.asarray, torch.as_tensor])
@pytest.mark.parametrize("block", [1, 2**18])
def test_sets_of_likelihoods_are_measured_each_alone(
    likelihoods: np.ndarray, given: Callable[[Any], Any], block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("BLOCK", "GPU_BLOCK"):
        monkeypatch.setattr(herb, name, block)
    monkeypatch.setattr(herb, "FEWEST_ROWS", 1)
    together = scored(descriptive_vectors(given(likelihoods)))
    for k, alone in enumerate(likelihoods):
        for name, values in scored(descriptive_vectors(alone)).items():
            np.testing.assert_allclose(to_numpy(together[name])[k], values, rtol=1e-12, err_msg=name)


@pytest.mark.parametrize("near", [0.0, 1.0])
@pytest.mark.parametrize("given", [np.asarray, torch.as_tensor])
def test_distances_within_sets_keep_their_digits(
    near: float, given: Callable[[Any], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Near ones are taken from their differences: one by one, or, where there are many, all of them."""
    monkeypatch.setattr(herb, "OFTEN_NEAR", near)
    points = 1 + 1e-9 * np.random.default_rng(0).random((2, 6, 4))
    points[:, 3] = points[:, 0]
    exact = np.sqrt(((points[:, :, None] - points[:, None]) ** 2).sum(-1))
    found = to_numpy(herb.distances(given(points)))
    np.testing.assert_allclose(found, exact, rtol=1e-6)
    assert (found[:, 0, 3] == 0).all()


def test_words_left_out_many_at_once(likelihoods: np.ndarray, monkeypatch: pytest.MonkeyPatch) -> None:
    names = np.linspace(-3, -1, len(CHILDREN))
    one_by_one = jackknife_regions(likelihoods[:2], names, CHILDREN)
    monkeypatch.setattr(word_jackknife, "compute_on_gpu", lambda measure, numbers: measure(torch.as_tensor(numbers)))
    monkeypatch.setattr(word_jackknife, "gpu_capacity", lambda: 3 * likelihoods[0].size)
    for name, by_words in jackknife_regions(likelihoods[:2], names, CHILDREN).items():
        np.testing.assert_allclose(by_words.words.leave_one_out, one_by_one[name].words.leave_one_out, rtol=1e-12)
        np.testing.assert_allclose(by_words.words.value, one_by_one[name].words.value, rtol=1e-12)
        np.testing.assert_allclose(by_words.templates, one_by_one[name].templates, rtol=1e-9, atol=1e-15)


def test_without_a_gpu_numbers_stay_where_they_are(likelihoods: np.ndarray) -> None:
    assert compute_on_gpu(lambda numbers: numbers, likelihoods) is likelihoods


def test_where_memory_does_not_suffice_numpy_goes_on(likelihoods: np.ndarray, monkeypatch: pytest.MonkeyPatch) -> None:
    """A GPU of tensors that are here."""
    given: list[type] = []

    def measure(numbers: Any) -> float:
        given.append(type(numbers))
        if isinstance(numbers, torch.Tensor):
            raise torch.OutOfMemoryError("CUDA out of memory.")
        return float(numbers.sum())

    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: True)
    monkeypatch.setattr(torch.cuda, "empty_cache", lambda: None)
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda: (2**35, 2**36))
    monkeypatch.setattr(torch, "as_tensor", lambda numbers, device: torch.from_numpy(numbers))
    assert compute_on_gpu(measure, likelihoods) == likelihoods.sum()
    assert given == [torch.Tensor, np.ndarray]
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda: (2**30, 2**36))
    assert compute_on_gpu(measure, likelihoods) == likelihoods.sum()
    assert given[2:] == [np.ndarray]  # not even tried


def test_ranks_are_counted_as_spearman_ranks_them() -> None:
    rng = np.random.default_rng(3)
    codes = np.stack([rng.permutation(40), rng.integers(5, size=40), rng.integers(30, size=40)])
    draws = rng.integers(40, size=(6, 40))
    found = ranks._rank_correlations(codes, draws)
    for k, some in enumerate(draws):
        for j in (1, 2):
            expected = stats.spearmanr(codes[0][some], codes[j][some]).statistic
            assert found[k, j - 1] == pytest.approx(expected, abs=1e-12)


def test_a_value_that_is_no_number_has_no_rank() -> None:
    values = np.arange(12.0)
    found = ranks.bootstrap_rank_correlations(values, {"known": values**2, "unknown": np.append(values[1:], np.nan)})
    assert found.value[0] == pytest.approx(1.0)
    assert np.isnan([found.value[1], found.low[1], found.high[1]]).all()
