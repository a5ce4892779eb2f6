from __future__ import annotations

import numpy as np
import pytest

from geobias.measures.ranks import mean_rank_correlation


def test_same_order_opposite_order_and_their_mean() -> None:
    up = np.array([[1.0, 1.0], [2.0, 2.0], [3.0, 3.0]])
    half = np.array([[10.0, -1.0], [20.0, -2.0], [40.0, -3.0]])
    assert mean_rank_correlation(up, up) == pytest.approx(1.0)
    assert mean_rank_correlation(up, half) == pytest.approx(0.0)


def test_words_without_order_are_left_out() -> None:
    flat = np.array([[1.0, 1.0], [1.0, 2.0], [1.0, 3.0]])
    up = np.array([[1.0, 1.0], [2.0, 2.0], [3.0, 3.0]])
    assert mean_rank_correlation(flat, up) == pytest.approx(1.0)
    assert mean_rank_correlation(flat[:, :1], up[:, :1]) is None
