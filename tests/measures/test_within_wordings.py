"""What a place does after one wording: hand-worked numbers."""

from __future__ import annotations

import numpy as np

from geobias.measures.prefix_effects import estimate_within_wordings


def test_effects_of_cells_are_found_whatever_wordings_do_to_texts() -> None:
    rng = np.random.default_rng(0)
    texts, places, wordings = 12, 9, 3
    rotation = (np.arange(texts)[:, None] + rng.permuted(np.tile(np.arange(places), (texts, 1)), axis=1)) % wordings
    cells = np.zeros((wordings, places))
    cells[0, 2] = 0.9  # one place after one wording
    by_text = rng.uniform(size=(texts, wordings))
    rows, columns = np.arange(texts)[:, None], np.arange(places)
    values = by_text[rows, rotation] + cells[rotation, columns]
    within = estimate_within_wordings(values, rotation)
    np.testing.assert_allclose(within.effects[0], np.where(columns == 2, 0.8, -0.1), atol=1e-9)  # they sum to 0
    np.testing.assert_allclose(within.effects[1:], 0, atol=1e-9)
    np.testing.assert_allclose(within.variances, 0, atol=1e-12)
    np.testing.assert_array_equal(within.texts, [(rotation == k).sum(axis=0) for k in range(wordings)])


def test_variances_are_those_of_means_over_the_texts_of_a_cell() -> None:
    values = np.array([[0.0, 0.2], [0.0, 0.4], [0.0, 0.6]])
    within = estimate_within_wordings(values, np.zeros((3, 2), dtype=int))
    np.testing.assert_allclose(within.effects, [[-0.2, 0.2]])
    np.testing.assert_allclose(within.variances, [[0.01 / 3, 0.01 / 3]])  # ± 0.1 around each mean
