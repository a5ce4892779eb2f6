"""The uncertainty of scores of regions: against brute force, planted truths, and what chance must give."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from bench import subsample
from bench.calibrate_regions import World, judge
from geobias.measures import herb
from geobias.measures.estimates import Estimate
from geobias.measures.herb import pair_count
from geobias.measures.random_regions import (
    LevelDistances,
    compare_with_random_regions,
    leave_one_out,
    rows_by_level,
)
from geobias.measures.ranks import bootstrap_rank_correlations, kendalls_w, rank_intervals
from geobias.measures.word_jackknife import (
    FLAT,
    SCORES,
    find_affordable,
    jackknife_regions,
)
from tests.measures.test_herb import CHILDREN, PARENTS, children_of, loops

NOTHING = np.array([], dtype=np.int64)


def likelihoods_of(parents: list[int | None], words: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    likelihoods, names = -rng.gamma(2.0, size=(len(parents), words)), -rng.gamma(2.0, size=len(parents))
    likelihoods[0] = names[0] = np.nan
    return likelihoods, names


def one_cluster(n: int) -> list[np.ndarray]:
    return [np.arange(1, n + 1), *[NOTHING] * n]


def test_intervals_by_hand_from_words_left_out() -> None:
    """Every score without each word, by the equations in loops; two templates."""
    f = np.stack([likelihoods_of(PARENTS, 5, seed)[0] for seed in (3, 4)])
    names = likelihoods_of(PARENTS, 5, 3)[1]
    found = jackknife_regions(f, names, CHILDREN)
    for score in SCORES:
        variant, form = score.split(".")

        def by_loops(words: list[int], variant: str = variant, form: str = form) -> np.ndarray:
            vectors = [herb.descriptive_vectors(part[:, words]) for part in f]
            return np.array([loops(v, names, CHILDREN, variant[-1], form) for v in vectors])

        whole = by_loops([0, 1, 2, 3, 4])
        without = np.sqrt([by_loops([w for w in range(5) if w != left]).mean(axis=0) for left in range(5)])
        of_words = 4 / 5 * ((without - without.mean(axis=0)) ** 2).sum(axis=0)  # the jackknife's, of the root
        with np.errstate(invalid="ignore"):  # regions without a score
            of_templates = whole.var(axis=0, ddof=1) / 2 / (4 * whole.mean(axis=0))  # of the mean of two, near its root
        bias = 4 * (without.mean(axis=0) - np.sqrt(whole.mean(axis=0)))
        estimates = found[score].estimates(score, len(PARENTS))
        for region in (row for row, below in enumerate(CHILDREN) if len(below) > 1):
            value, variance = whole.mean(axis=0)[region], of_words[region] + of_templates[region]
            freedom = variance**2 / (of_words[region] ** 2 / 4 + of_templates[region] ** 2 / 1)
            reach = stats.t.ppf(0.975, freedom) * np.sqrt(variance)
            assert estimates.value[region] == pytest.approx(value)
            low, high = (max(np.sqrt(value) - bias[region] + side * reach, 0) ** 2 for side in (-1, 1))
            assert estimates.low[region] == pytest.approx(min(low, value))
            assert estimates.high[region] == pytest.approx(max(high, value))


def test_ranks_come_from_words_and_templates_drawn_anew() -> None:
    f = np.stack([likelihoods_of(PARENTS, 40, seed)[0] for seed in (3, 4, 5)])
    found = jackknife_regions(f, np.zeros(len(PARENTS)), CHILDREN)["c_w.balanced"]
    rows = found.rows[:2]
    resampled = found.bootstrap_values("c_w.balanced", rows)
    rng = np.random.default_rng(0)
    again = []
    for _ in range(300):
        words, templates = rng.integers(40, size=40), rng.integers(3, size=3)
        vectors = [herb.descriptive_vectors(f[k][:, words]) for k in templates]
        scores = [herb.herb_scores(v, np.zeros(len(v)), CHILDREN).c_w["balanced"][rows] for v in vectors]
        again.append(np.mean(scores, axis=0))
    np.testing.assert_allclose(resampled.std(axis=0), np.std(again, axis=0), rtol=0.25)


def test_the_flat_baseline_too() -> None:
    f, names = likelihoods_of(PARENTS, 6, seed=1)
    found = jackknife_regions(f[None], names, CHILDREN)[FLAT].estimates(FLAT, len(PARENTS))
    rows = [row for row, below in enumerate(CHILDREN) if len(below) > 1]
    np.testing.assert_allclose(found.value[rows], herb.flat_sparseness(herb.descriptive_vectors(f), CHILDREN)[rows])
    assert (found.low[rows] < found.value[rows]).all() and (found.value[rows] < found.high[rows]).all()


def test_what_is_affordable_depends_on_size_alone() -> None:
    assert find_affordable(np.empty((1, 254, 112)), one_cluster(253)) == (True, True)
    assert find_affordable(np.empty((1, 5001, 112)), one_cluster(5000)) == (True, False)
    assert find_affordable(np.empty((4, 5001, 1120)), one_cluster(5000)) == (False, False)
    assert find_affordable(np.empty((1, 254, 4)), one_cluster(253)) == (False, False)  # too few words
    f, names = likelihoods_of([None, 0, 0], 5, seed=0)
    assert set(jackknife_regions(f[None], names, one_cluster(2), flat=False)) == set(SCORES)


@pytest.mark.slow
def test_intervals_cover_the_truth_as_often_as_they_say() -> None:
    """Words drawn from a population whose score is known: 200 times, each interval holds it 90 to 99 times in 100."""
    covered = judge(World("40 words", words=40), 200) / 200
    assert (covered >= 0.90).all() and (covered <= 0.99).all()


def test_a_subsampled_cluster_keeps_its_balanced_score_in_expectation() -> None:
    """However many sub-regions are left: the balanced score stays, the paper's grows as the number of pairs falls."""
    for row in subsample.relative(200):
        pairs = pair_count(subsample.WHOLE) / pair_count(row["kept"])
        assert row["mean"] == pytest.approx(1 if row["form"] == "balanced" else pairs, rel=0.02)
        assert row["low"] <= row["mean"] <= row["high"]


def two_levels(sizes: list[int]) -> list[np.ndarray]:
    parents: list[int | None] = [None, *[0] * len(sizes)]
    parents += [1 + k for k, size in enumerate(sizes) for _ in range(size)]
    return children_of(parents)


def scored(f: np.ndarray, children: list[np.ndarray]) -> tuple[list[np.ndarray], list[np.ndarray]]:
    v = herb.descriptive_vectors(f)
    return [v], [herb.herb_scores(v, np.zeros(len(v)), children).c_w["balanced"]]


def test_a_region_made_of_its_own_sub_regions_has_its_own_score() -> None:
    parents: list[int | None] = [None, 0, 0, 1, 1, 1, 2, 2, 3, 3, 3, 6, 7, 7]  # inner regions, single ones and leaves
    children = children_of(parents)
    f, names = likelihoods_of(parents, 8, seed=9)
    v = herb.descriptive_vectors(f)
    c_w = herb.herb_scores(v, names, children).c_w["balanced"]
    rows = rows_by_level(children)[2]
    level = LevelDistances.from_vectors(rows, v, c_w, children)
    for region in (1, 2):
        found = level.scores(np.searchsorted(rows, children[region])[None])
        assert found[0] == pytest.approx(c_w[region], rel=1e-9)


def test_a_planted_sparse_cluster_and_a_dense_one_are_found() -> None:
    children = two_levels([10, 10, 10, 10])
    rng = np.random.default_rng(10)
    f = -2.0 + 0.2 * rng.normal(size=(45, 40))
    f[children[1]] *= 1 + 0.5 * rng.normal(size=(10, 40))
    f[children[2]] = -2.0 + 0.01 * rng.normal(size=(10, 40))
    found = compare_with_random_regions(*scored(f, children), children)
    assert found.p_adjusted[1] < 0.01 and found.p_adjusted[2] < 0.01
    values = scored(f, children)[1][0]
    assert values[1] > 1.5 * found.mean[1] and values[2] < 0.5 * found.mean[2]
    assert np.isnan(found.p[5:]).all()
    np.testing.assert_allclose(found.p_adjusted[1:5], stats.false_discovery_control(found.p[1:5]))


@pytest.mark.slow
def test_chance_alone_is_marked_as_often_as_it_should_be() -> None:
    """Sub-regions drawn alike, 200 times: p < .05 within the exact binomial band, for a region and for the root."""
    children = two_levels([6, 9, 5])
    rng = np.random.default_rng(11)
    p = []
    for _ in range(200):
        f = -2.0 + 0.3 * rng.normal(size=(24, 8))
        found = compare_with_random_regions(*scored(f, children), children, draws=199).p
        p.append([found[0], found[2]])
    low, high = stats.binom.interval(0.999, 200, 0.05)
    for column in np.array(p).T:
        assert low <= (column < 0.05).sum() <= high
        assert stats.kstest(column, "uniform").pvalue > 0.001


def test_countries_that_fit_their_continents_are_found_at_the_root() -> None:
    """Each continent's countries share a way of being spoken of: dealt out at random, that is lost."""
    children = two_levels([8, 8, 8])
    rng = np.random.default_rng(12)
    f = -2.0 + 0.05 * rng.normal(size=(28, 10))
    for k in (1, 2, 3):
        f[children[k], 3 * (k - 1) : 3 * k] -= 2.0
    found = compare_with_random_regions(*scored(f, children), children)
    assert found.p[0] < 0.01 and found.p_adjusted[0] == found.p[0]


def test_a_level_too_large_and_a_region_that_is_its_whole_level_have_no_null() -> None:
    f, _ = likelihoods_of([None, 0, *[1] * 5], 4, seed=13)
    children = [np.array([1]), np.arange(2, 7), *[NOTHING] * 5]
    assert np.isnan(compare_with_random_regions(*scored(f, children), children).p).all()
    children = two_levels([1600, 1601])
    f = -2.0 + 0.1 * np.random.default_rng(0).normal(size=(3204, 3))
    found = compare_with_random_regions(*scored(f, children), children)
    assert found.too_large == 2 and np.isnan(found.p).all()


def test_leaving_out_finds_the_outlier() -> None:
    children = two_levels([6, 2])
    f = -2.0 + 0.05 * np.random.default_rng(14).normal(size=(11, 10))
    f[5] = -np.arange(1.0, 11.0)
    vectors, c_w = scored(f, children)
    found = leave_one_out(vectors, c_w, children)
    assert found[2] is None and found[0] is None  # one of two leaves no pair
    assert found[1] is not None and found[1].region == 5
    rest = np.delete(f, 5, axis=0)
    expected = scored(rest, two_levels([5, 2]))[1][0][1]
    assert found[1].value == pytest.approx(expected, rel=1e-9)


def test_ranks_by_hand() -> None:
    resampled = np.tile([3.0, 2.0, 1.0], (100, 1))
    resampled[:10] = [3.0, 1.0, 2.0]
    value, low, high = rank_intervals(np.array([3.0, 2.0, 1.0]), resampled)
    assert value.tolist() == [1, 2, 3] and low.tolist() == [1, 2, 2] and high.tolist() == [1, 3, 3]


def test_kendalls_w_by_hand() -> None:
    assert kendalls_w(np.array([[1.0, 2, 3], [1, 2, 3]]))[0] == pytest.approx(1.0)
    assert kendalls_w(np.array([[1.0, 2, 3], [3, 2, 1]]))[0] == pytest.approx(0.0)
    # Ranks 1 2 3 4, 1 2 3 4, 2 1 4 3: sums 4 5 10 11, S = 12.25 + 6.25 + 6.25 + 12.25 = 37; 12 * 37 / (9 * 60).
    w, p = kendalls_w(np.array([[1.0, 2, 3, 4], [1, 2, 3, 4], [2, 1, 4, 3]]))
    assert w == pytest.approx(444 / 540) and p == pytest.approx(stats.chi2.sf(3 * 3 * 444 / 540, 3))
    # A tie: ranks 1.5 1.5 3 and 1 2 3; sums 2.5 3.5 6, S = 2.25 + .25 + 4 = 6.5; 78 / (4 * 24 - 2 * 6).
    assert kendalls_w(np.array([[1.0, 1, 2], [1, 2, 3]]))[0] == pytest.approx(78 / 84)
    assert np.isnan(kendalls_w(np.ones((2, 3)))[0])


def test_what_goes_with_tokens_is_found_and_what_does_not_is_not() -> None:
    rng = np.random.default_rng(15)
    tokens = rng.integers(1, 6, size=200).astype(float)
    distance = tokens + rng.normal(size=200)
    found = bootstrap_rank_correlations(
        distance, {"tokens": tokens, "none": rng.normal(size=200), "same": np.ones(200)}
    )
    assert found.value[0] == pytest.approx(stats.spearmanr(distance, tokens).statistic)
    assert 0.5 < found.low[0] < found.value[0] < found.high[0] and found.p_adjusted[0] < 1e-6
    assert found.low[1] < 0 < found.high[1] and found.p_adjusted[1] > 0.05
    assert found.at(2) == Estimate(None, None, None, None, None)


@pytest.mark.slow
def test_a_correlation_of_nothing_is_marked_as_often_as_it_should_be() -> None:
    rng = np.random.default_rng(16)
    outside = 0
    for _ in range(100):
        found = bootstrap_rank_correlations(rng.normal(size=60), {"none": rng.normal(size=60)})
        outside += not found.low[0] <= 0 <= found.high[0]
    low, high = stats.binom.interval(0.999, 100, 0.06)  # a percentile interval of 60 regions is a little short
    assert low <= outside <= high
