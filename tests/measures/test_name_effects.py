"""What names do to vectors is removed before regions are tested, and nothing else is."""

from __future__ import annotations

import numpy as np

from geobias.measures.grouping import compare_groups
from geobias.measures.herb import descriptive_vectors
from geobias.measures.random_regions import remove_name_effects

RNG = np.random.default_rng(3)
REGIONS, WORDS = 60, 30
GROUPS = [np.arange(start, start + 20) for start in (0, 20, 40)]
LETTERS = np.repeat([5.0, 8.0, 12.0], 20) + RNG.integers(0, 3, REGIONS)  # names of a group are about equally long


def test_an_effect_of_length_alone_is_removed_and_the_mean_stays() -> None:
    vectors = RNG.normal(size=WORDS) + LETTERS[:, None] * RNG.normal(size=WORDS)
    without = remove_name_effects(vectors, [LETTERS], [np.arange(REGIONS)])
    assert np.allclose(without, vectors.mean(axis=0))


def test_few_regions_and_equal_names_are_left_alone() -> None:
    vectors = RNG.normal(size=(REGIONS, WORDS))
    assert remove_name_effects(vectors, [np.ones(REGIONS)], [np.arange(REGIONS)]).tolist() == vectors.tolist()
    assert remove_name_effects(vectors, [LETTERS], [np.arange(3)]).tolist() == vectors.tolist()


def test_groups_that_differ_by_length_alone_are_not_told_apart() -> None:
    noise = 0.05 * RNG.normal(size=(REGIONS, WORDS))
    by_length = -20 - 0.1 * LETTERS[:, None] + 2 * RNG.normal(size=WORDS) + noise
    by_group = -20 + RNG.normal(size=WORDS) + noise + np.repeat(0.2 * RNG.normal(size=(3, WORDS)), 20, axis=0)
    p_values = []
    for likelihoods in (by_length, by_group):
        without = remove_name_effects(descriptive_vectors(likelihoods), [LETTERS], [np.arange(REGIONS)])
        raw, adjusted = compare_groups([likelihoods], GROUPS), compare_groups([likelihoods], GROUPS, [without])
        assert raw is not None and adjusted is not None
        assert raw.ratio.p is not None and raw.ratio.p < 0.01 and adjusted.ratio.value == raw.ratio.value
        assert adjusted.ratio.p is not None
        p_values.append(adjusted.ratio.p)
    assert p_values[0] > 0.1 and p_values[1] < 0.01
