"""The association of regions and words: against brute force, on worlds without one, and on planted ones."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from scipy import stats

from geobias.measures.association import (
    associate,
    compare_with_invented,
    estimate_associations,
    estimate_contrast,
    find_detectable,
    find_largest_contrast,
    measure_agreement,
    remove_length,
    split_variance,
)
from geobias.measures.association_signal import (
    compare_size_with_invented,
    compare_with_permuted_words,
)

REGIONS, PLACES, WORDS, PARAPHRASES = 40, 60, 60, 4
NOISE = 0.3
REPETITIONS = 100


def draw(rng: np.random.Generator, count: int, *, heavy: bool = False, words: int = WORDS) -> np.ndarray:
    """Log-likelihoods without an association that is more than noise: words and names have effects of their own."""
    shape = (count, words)
    noise = rng.standard_t(3, shape) if heavy else rng.normal(size=shape)
    return -20 + rng.normal(size=(count, 1)) + 3 * np.random.default_rng(0).normal(size=words) + NOISE * noise


def draw_world(seed: int, *, heavy: bool = False) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return draw(rng, REGIONS, heavy=heavy), draw(rng, PLACES, heavy=heavy)


def adjust(totals: np.ndarray, invented: np.ndarray) -> np.ndarray:
    """The adjusted p-value of every pair."""
    return estimate_associations(associate(totals)[None], associate(invented)[None]).p_adjusted


def test_associations_are_doubly_centred() -> None:
    totals = np.random.default_rng(1).normal(size=(2, 5, 7))
    associations = associate(totals)
    for p, r, w in np.ndindex(totals.shape):
        mean = sum(totals[p, i, k] for i in range(5) for k in range(7)) / 35
        of_region, of_word = totals[p, r].mean(), totals[p, :, w].mean()
        assert associations[p, r, w] == pytest.approx(totals[p, r, w] - of_region - of_word + mean)
    assert np.allclose(associations.sum(axis=-1), 0) and np.allclose(associations.sum(axis=-2), 0)
    shifted = totals + 100 * np.arange(5)[:, None] - 50 * np.arange(7)
    assert np.allclose(associate(shifted), associations)


def test_rounding_is_no_association() -> None:
    region, word = np.random.default_rng(2).normal(size=(2, 30))
    additive = -1e4 + region[:, None] + word
    assert (associate(additive) == 0).all()


def test_shares_of_variance_sum_to_one() -> None:
    totals = np.random.default_rng(3).normal(size=(3, 6, 8)) + 4 * np.arange(8)
    shares = split_variance(totals)
    assert shares.word + shares.region + shares.interaction == pytest.approx(1)
    mean = totals.mean(axis=0)
    residuals = mean - (mean.mean(axis=0) + mean.mean(axis=1, keepdims=True) - mean.mean())
    assert shares.interaction == pytest.approx((residuals**2).mean() / mean.var())
    assert shares.word > 0.9
    constant = split_variance(np.zeros((1, 3, 3)))
    assert (constant.word, constant.region, constant.interaction) == (0, 0, 0)


def test_length_is_removed_by_one_slope_for_each_word() -> None:
    """What depends on the log length of a name vanishes; the slopes are those of least squares on both together.

    What stands out has no part in them.
    """
    rng = np.random.default_rng(4)
    length, invented_length = rng.integers(1, 6, REGIONS), rng.integers(1, 6, PLACES)
    slope = rng.normal(size=WORDS)
    slope -= slope.mean()
    real = associate(np.log(length)[:, None] * slope)[None]
    invented = associate(np.log(invented_length)[:, None] * slope)[None]
    for without in remove_length(real, length, invented, invented_length):
        assert np.abs(without).max() < 1e-12
    noisy, noisy_invented = real + rng.normal(size=real.shape), invented + rng.normal(size=invented.shape)
    x = np.concatenate([np.log(each) - np.log(each).mean() for each in (length, invented_length)])
    noisy[0, 0, 0] = 1e6
    y = np.concatenate([noisy[0], noisy_invented[0]])
    most = 3 * np.sqrt((noisy_invented[0] ** 2).sum(axis=0) / (PLACES - 1))
    fitted = np.outer(x, np.linalg.lstsq(x[:, None], y.clip(-most, most), rcond=None)[0][0])
    without_both = remove_length(noisy, length, noisy_invented, invented_length)
    assert np.allclose(np.concatenate([each[0] for each in without_both]), y - fitted)
    same = np.full(REGIONS, 2), np.full(PLACES, 2)
    assert (remove_length(noisy, same[0], noisy_invented, same[1])[0] == noisy).all()


def test_intervals_are_students_t_over_paraphrases() -> None:
    associations = np.random.default_rng(5).normal(size=(PARAPHRASES, 3, 4))
    estimates = estimate_associations(associations, None)
    for r, w in np.ndindex(3, 4):
        sample = associations[:, r, w]
        low, high = stats.t.interval(0.95, PARAPHRASES - 1, sample.mean(), stats.sem(sample))
        assert (estimates.low[r, w], estimates.high[r, w]) == pytest.approx((low, high))
    assert np.isnan(estimates.p).all()
    assert np.isnan(estimate_associations(associations[:1], None).low).all()
    too_few = np.zeros((PARAPHRASES, 19, 4))
    assert np.isnan(estimate_associations(associations, too_few).p).all()


@pytest.mark.parametrize("heavy", [False, True])
def test_worlds_without_associations_have_no_mark(heavy: bool) -> None:
    marked = sum((adjust(*draw_world(seed, heavy=heavy)) < 0.05).any() for seed in range(REPETITIONS))
    assert marked <= 5


def test_p_values_of_a_world_without_associations_are_uniform_or_larger() -> None:
    p = np.concatenate([compare_with_invented(*map(associate, draw_world(seed))).ravel() for seed in range(20)])
    assert all((p < level).mean() < 1.2 * level + 0.001 for level in (0.5, 0.1, 0.05, 0.01, 0.001))


def test_a_planted_association_is_found_and_it_alone() -> None:
    found, others = 0, 0
    for seed in range(20):
        totals, invented = draw_world(seed)
        totals[7, 11] += 5
        marked = adjust(totals, invented) < 0.05
        found += bool(marked[7, 11])
        marked[7, 11] = False
        others += bool(marked.any())
    assert found >= 18 and others <= 3


def test_functions_without_noise_have_no_marked_mirror_images() -> None:
    """One pair moves the means of its word and of its region, and by them all pairs that share either."""
    totals, invented = np.zeros((REGIONS, WORDS)), np.zeros((PLACES, WORDS))
    assert not (adjust(totals, invented) < 0.05).any()
    for size in (0.5, 3.0, -3.0, 50.0):
        totals[7, 11] = size
        assert np.argwhere(adjust(totals, invented) < 0.05).tolist() == [[7, 11]]


def test_what_would_be_detected_is_detected_four_times_of_five() -> None:
    found = []
    for seed in range(60):
        totals, invented = draw_world(seed)
        size = find_detectable(associate(totals), associate(invented))
        totals[7, 11] += size
        found.append(adjust(totals, invented)[7, 11] < 0.05)
    assert 0.65 <= np.mean(found) <= 0.95


GROUPS = [np.arange(20), np.arange(20, 30)]


@pytest.mark.parametrize("groups", [GROUPS[:1], GROUPS])
def test_intervals_of_contrasts_are_welchs(groups: list[np.ndarray]) -> None:
    value = np.random.default_rng(7).normal(size=(5, WORDS))
    estimates = estimate_contrast(value, None, groups)
    for k, row in enumerate(value):
        samples = [row[words] for words in groups]
        test = (
            stats.ttest_1samp(samples[0], popmean=0) if len(groups) == 1 else stats.ttest_ind(*samples, equal_var=False)
        )
        assert (estimates.low[k], estimates.high[k]) == pytest.approx(tuple(test.confidence_interval()))
    assert np.isnan(estimates.p).all()


@pytest.mark.parametrize("heavy", [False, True])
@pytest.mark.parametrize("groups", [GROUPS[:1], GROUPS])
def test_contrasts_of_worlds_without_any_are_not_marked(heavy: bool, groups: list[np.ndarray]) -> None:
    marked = 0
    for seed in range(REPETITIONS):
        real, invented = map(associate, draw_world(seed, heavy=heavy))
        marked += bool((estimate_contrast(real, invented, groups).p_adjusted < 0.05).any())
    assert marked <= 5


def test_a_planted_contrast_is_found_with_its_size() -> None:
    totals, invented = draw_world(8)
    totals[3, GROUPS[0]] += 1.0
    estimates = estimate_contrast(associate(totals), associate(invented), GROUPS)
    assert np.flatnonzero(estimates.p_adjusted < 0.05).tolist() == [3]
    assert estimates.low[3] < 1.0 < estimates.high[3] and estimates.low[3] > 0.5


def test_the_largest_contrast_has_bounds_for_all_regions_at_once() -> None:
    covered = 0
    truth = np.zeros(REGIONS)
    truth[3] = -1.0
    for seed in range(200):
        value = NOISE * np.random.default_rng(seed).normal(size=(REGIONS, WORDS))
        value[3, GROUPS[0]] += truth[3]
        largest = find_largest_contrast(value, GROUPS)
        assert largest.position == 3 and largest.low <= largest.value <= largest.high
        covered += largest.low <= 1.0 <= largest.high
    assert covered >= 188  # 95 % of 200


def test_the_ratio_is_a_jackknife_over_words_regions_and_places() -> None:
    rng = np.random.default_rng(9)
    real, invented = associate(rng.normal(size=(9, 7))), associate(2 * rng.normal(size=(11, 7)))

    def log_ratio(real: np.ndarray, invented: np.ndarray) -> float:
        return float(0.5 * np.log((real**2).mean() / (invented**2).mean()))

    centre = log_ratio(real, invented) + 0.5 * np.log((1 - 1 / 11) / (1 - 1 / 9))
    left_out = [
        [log_ratio(np.delete(real, k, axis=1), np.delete(invented, k, axis=1)) for k in range(7)],
        [log_ratio(np.delete(real, k, axis=0), invented) for k in range(9)],
        [log_ratio(real, np.delete(invented, k, axis=0)) for k in range(11)],
    ]
    variances = [sum((x - np.mean(xs)) ** 2 for x in xs) * (len(xs) - 1) / len(xs) for xs in left_out]
    df = sum(variances) ** 2 / sum(v**2 / (len(xs) - 1) for v, xs in zip(variances, left_out, strict=True))
    half_width = stats.t.ppf(0.975, df) * np.sqrt(sum(variances))
    ratio = compare_size_with_invented(real, invented).at()
    assert (ratio.value, ratio.low, ratio.high) == pytest.approx(
        tuple(np.exp([centre, centre - half_width, centre + half_width]))
    )


def test_the_ratio_of_a_world_without_associations_is_one() -> None:
    ratios = [compare_size_with_invented(*map(associate, draw_world(seed))).at() for seed in range(REPETITIONS)]
    covered = sum((ratio.low or 0) <= 1 <= (ratio.high or 0) for ratio in ratios)
    assert covered >= 89 and np.mean([ratio.value for ratio in ratios]) == pytest.approx(1, abs=0.004)
    real, invented = draw_world(1)
    doubled = compare_size_with_invented(2 * associate(real), associate(invented)).at()
    assert doubled.low is not None and doubled.high is not None and doubled.low < 2 < doubled.high
    assert doubled.p is not None and doubled.p < 1e-6
    nothing = np.zeros((PLACES, WORDS))
    assert compare_size_with_invented(associate(real), nothing).at().value is None
    assert compare_size_with_invented(np.zeros((REGIONS, WORDS)), associate(invented)).at().value == 0


def test_permuted_words_have_a_closed_form() -> None:
    rng = np.random.default_rng(11)
    value = associate(rng.normal(size=(9, 12)) + 2 * rng.normal(size=12) * np.arange(9)[:, None])
    groups = [np.arange(4), np.arange(4, 8), np.array([8])]

    def mean_square(vectors: np.ndarray) -> float:
        pairs = [[np.sum((vectors[i] - vectors[j]) ** 2) for i, j in combinations(rows, 2)] for rows in groups[:2]]
        return float(sum(np.mean(each) for each in pairs))

    permuted = [mean_square(rng.permuted(value, axis=1)) for _ in range(4000)]
    expected = np.sqrt(mean_square(value) / np.mean(permuted))
    assert compare_with_permuted_words(value, groups) == pytest.approx(expected, rel=0.01)
    assert compare_with_permuted_words(value, groups[2:]) is None


def test_reliability_is_that_of_the_mean_over_paraphrases() -> None:
    rng = np.random.default_rng(12)
    signal = rng.normal(size=(200, 50))
    noisy = signal + 2 * rng.normal(size=(PARAPHRASES, 200, 50))
    agreement = measure_agreement(noisy)
    assert agreement == pytest.approx(0.5, abs=0.03)  # the mean has a noise variance of 4 / 4, like the signal
    second = (signal + 2 * rng.normal(size=noisy.shape)).mean(axis=0)
    assert agreement == pytest.approx(np.corrcoef(noisy.mean(axis=0).ravel(), second.ravel())[0, 1], abs=0.03)
    assert measure_agreement(np.repeat(signal[None], 3, axis=0)) == pytest.approx(1)
    assert measure_agreement(noisy[:1]) is None and measure_agreement(np.zeros((3, 2, 2))) is None
