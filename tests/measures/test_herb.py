"""HERB's equations: worked out by hand on small trees, and by loops that follow the paper word for word."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from geobias.measures import herb

NOTHING = np.array([], dtype=np.int64)


def children_of(parents: list[int | None]) -> list[np.ndarray]:
    return [np.flatnonzero([p == i for p in parents]) for i in range(len(parents))]


# Root 0; 1 and 2 below it; 3, 4, 5 below 1; 6 alone below 2; 7 a leaf directly below the root.
PARENTS = [None, 0, 0, 1, 1, 1, 2, 0]
CHILDREN = children_of(PARENTS)


def example(seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    likelihoods = -rng.gamma(2.0, size=(len(PARENTS), 6))
    likelihoods[0] = np.nan
    names = -rng.gamma(2.0, size=len(PARENTS))
    names[0] = np.nan
    return herb.descriptive_vectors(likelihoods), names


def loops(v: np.ndarray, f: np.ndarray, children: list[np.ndarray], variant: str, form: str) -> list[float]:
    """Eq. 4 to 10 with one loop for each sum sign."""
    n = len(children)
    aggregated = {}
    for r in range(n):
        below = list(children[r])
        if not below:
            aggregated[r] = v[r]
            continue
        words = v.shape[1]
        c = np.zeros(words)
        for i in range(words):
            differences = [abs(v[a, i] - v[b, i]) for a, b in combinations(below, 2)]
            c[i] = sum(differences) / len(differences) if differences else 0.0
        alpha = np.exp(c) / sum(np.exp(c))
        aggregated[r] = v[r] + alpha * (sum(v[k] for k in below) / len(below))
    scores = [float("nan")] * n
    for r in reversed(range(n)):
        below = list(children[r])
        if not below:
            siblings = next(list(group) for group in children if r in group)
            scores[r] = float(np.linalg.norm(v[r] - sum(v[k] for k in siblings) / len(siblings)))
            continue
        pairs = list(combinations(below, 2))
        if not pairs:
            continue
        own = {k: 0.0 if np.isnan(scores[k]) else scores[k] for k in below}
        weight = {p: np.exp(own[p[0]] + own[p[1]]) if variant == "w" else np.exp(f[p[0]] + f[p[1]]) for p in pairs}
        total = sum(weight.values())
        score = sum(weight[p] / total * np.linalg.norm(aggregated[p[0]] - aggregated[p[1]]) for p in pairs)
        scores[r] = float(score / len(pairs) if form == "paper" else score)
    return scores


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("form", herb.FORMS)
def test_scores_equal_the_equations_written_as_loops(form: str, seed: int) -> None:
    v, f = example(seed)
    found = herb.herb_scores(v, f, CHILDREN)
    np.testing.assert_allclose(found.c_w[form], loops(v, f, CHILDREN, "w", form), rtol=1e-12)
    np.testing.assert_allclose(found.c_z[form], loops(v, f, CHILDREN, "z", form), rtol=1e-12)


def test_a_small_tree_by_hand() -> None:
    """Root > a, b, c; unit vectors along three axes: every number can be worked out on paper."""
    v = np.vstack([np.full(3, np.nan), np.eye(3)])
    children = [np.array([1, 2, 3]), NOTHING, NOTHING, NOTHING]
    f = np.array([np.nan, 0.0, 0.0, np.log(3.0)])
    found = herb.herb_scores(v, f, children)
    # Each leaf to the centroid (1/3, 1/3, 1/3): sqrt(4/9 + 1/9 + 1/9) = sqrt(2/3).
    np.testing.assert_allclose(found.c_w["balanced"][1:], np.sqrt(2 / 3))
    # All leaves alike, so equal weights: the mean distance, sqrt(2); the paper divides by the 3 pairs once more.
    assert found.c_w["balanced"][0] == pytest.approx(np.sqrt(2))
    assert found.c_w["paper"][0] == pytest.approx(np.sqrt(2) / 3)
    assert found.c_z["balanced"][0] == pytest.approx(np.sqrt(2))
    np.testing.assert_allclose(herb.word_sparseness(v, children)[0], 2 / 3)


def test_name_likelihoods_weigh_pairs_by_hand() -> None:
    v = np.vstack([[np.nan, np.nan], [1.0, 0.0], [0.0, 1.0], [-1.0, 0.0]])
    children = [np.array([1, 2, 3]), NOTHING, NOTHING, NOTHING]
    f = np.array([np.nan, 0.0, 0.0, np.log(3.0)])
    # Pairs: (1,2) weight 1, distance sqrt 2; (1,3) weight 3, distance 2; (2,3) weight 3, distance sqrt 2.
    expected = (np.sqrt(2) + 3 * 2 + 3 * np.sqrt(2)) / 7
    assert herb.herb_scores(v, f, children).c_z["balanced"][0] == pytest.approx(expected)


def test_aggregated_vector_by_hand() -> None:
    """Two sub-regions that differ by 1 in the first word and not in the second: alpha = softmax(1, 0)."""
    v = np.array([[np.nan, np.nan], [0.6, 0.8], [1.0, 0.5], [0.0, 0.5]])
    children = [np.array([1]), np.array([2, 3]), NOTHING, NOTHING]
    alpha = np.exp([1.0, 0.0]) / np.exp([1.0, 0.0]).sum()
    np.testing.assert_allclose(herb.aggregated_vectors(v, children)[1], [0.6 + alpha[0] * 0.5, 0.8 + alpha[1] * 0.5])


def test_one_sub_region_has_no_score_and_uniform_alpha() -> None:
    v, f = example()
    found = herb.herb_scores(v, f, CHILDREN)
    for form in herb.FORMS:
        assert np.isnan(found.c_w[form][2]) and np.isnan(found.c_z[form][2])
        assert np.isfinite(found.c_w[form][0])
    np.testing.assert_allclose(herb.aggregated_vectors(v, CHILDREN)[2], v[2] + v[6] / 6)


def test_a_leaf_beside_inner_regions_is_measured_against_all_its_siblings() -> None:
    v, f = example()
    expected = np.linalg.norm(v[7] - v[[1, 2, 7]].mean(axis=0))
    assert herb.herb_scores(v, f, CHILDREN).c_w["balanced"][7] == pytest.approx(expected)


def test_equal_vectors_give_exactly_zero() -> None:
    likelihoods = np.tile([-1.0, -2.0, -0.5], (len(PARENTS), 1))
    v = herb.descriptive_vectors(likelihoods)
    found = herb.herb_scores(v, np.zeros(len(PARENTS)), children_of([None, 0, 0, 1, 1, 1, 2, 2]))
    assert found.c_w["balanced"][1] == 0.0 and found.c_w["balanced"][0] == 0.0


def test_descriptive_vectors_have_length_one_and_zero_stays_zero() -> None:
    v = herb.descriptive_vectors(np.array([[-3.0, -4.0], [0.0, 0.0]]))
    np.testing.assert_allclose(v, [[-0.6, -0.8], [0.0, 0.0]])


def test_flat_baseline_takes_all_below_and_the_region_itself_but_not_the_root() -> None:
    v, _ = example()
    found = herb.flat_sparseness(v, CHILDREN)

    def mean_over(rows: list[int]) -> float:
        return float(np.mean([np.linalg.norm(v[a] - v[b]) for a, b in combinations(rows, 2)]))

    assert found[0] == pytest.approx(mean_over([1, 2, 3, 4, 5, 6, 7]))
    assert found[1] == pytest.approx(mean_over([1, 3, 4, 5]))
    assert found[2] == pytest.approx(mean_over([2, 6]))
    assert np.isnan(found[3:]).all()


def test_the_paper_form_falls_with_size_and_the_balanced_does_not() -> None:
    """Twice as many sub-regions drawn alike: the balanced score stays, the paper's falls about fourfold."""
    rng = np.random.default_rng(5)

    def score(n: int) -> tuple[float, float]:
        v = herb.descriptive_vectors(-rng.gamma(5.0, size=(n + 1, 30)))
        found = herb.herb_scores(v, np.zeros(n + 1), [np.arange(1, n + 1), *[NOTHING] * n])
        return float(found.c_w["balanced"][0]), float(found.c_w["paper"][0])

    (small, small_paper), (large, large_paper) = score(50), score(100)
    assert large == pytest.approx(small, rel=0.05)
    assert small_paper / large_paper == pytest.approx(4.0, rel=0.15)
