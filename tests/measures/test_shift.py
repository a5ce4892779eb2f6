"""Rises, falls, changed predictions, accuracy and macro-F1: by hand, and against a brute force over single answers."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from geobias.measures.change import performance, shift

BEFORE = np.array([[0.6, 0.4], [0.2, 0.8], [0.5, 0.5]])
AFTER = np.array(
    [
        [[0.6, 0.4], [0.3, 0.7]],
        [[0.1, 0.9], [0.2 + 5e-7, 0.8 - 5e-7]],
        [[0.7, 0.3], [0.4, 0.6]],
    ]
)


def test_rises_and_falls_by_hand() -> None:
    found = shift(BEFORE, AFTER)
    # First prefix: the first class stays, falls by 0.1, rises by 0.2.
    # Second: it falls by 0.3, stays (that is rounding), falls by 0.1.
    assert found.rose.tolist() == [[1, 1], [0, 2]]
    assert found.fell.tolist() == [[1, 1], [2, 0]]
    assert found.mean_rise[0] == pytest.approx([0.2, 0.1]) and found.mean_fall[0] == pytest.approx([0.1, 0.2])
    assert np.isnan(found.mean_rise[1, 0]) and found.mean_rise[1, 1] == pytest.approx(0.2)
    assert found.mean_fall[1, 0] == pytest.approx(0.2) and np.isnan(found.mean_fall[1, 1])
    assert found.mean_difference[:, 0] == pytest.approx([0.1 / 3, -0.4 / 3], abs=1e-6)
    # Predicted first class: texts 1 and 3 before (a tie goes to the first); the same with one prefix; none with two.
    assert found.share_before == pytest.approx([2 / 3, 1 / 3])
    assert found.share_after.ravel() == pytest.approx([2 / 3, 1 / 3, 0, 1])
    assert found.gained.tolist() == [[0, 0], [0, 2]] and found.lost.tolist() == [[0, 0], [2, 0]]


def test_a_threshold_lets_classes_come_and_go_by_themselves() -> None:
    found = shift(BEFORE, AFTER, threshold=0.6)
    # From 0.6 on. Before: first class in text 1, second in text 2. First prefix: text 3 gets the first class.
    assert found.share_before == pytest.approx([1 / 3, 1 / 3])
    assert found.gained.tolist() == [[1, 0], [0, 2]]
    assert found.lost.tolist() == [[0, 0], [1, 0]]


def test_accuracy_and_macro_f1_by_hand() -> None:
    truth = np.array([[True, False], [False, True], [False, True]])
    # Before: first (right), second (right), first (wrong).
    # F1 of the first: 2/3 (1 TP, 1 FP), of the second: 2/3 (1 TP, 1 FN).
    found = performance(truth, BEFORE[:, None])
    assert [found.accuracy, found.macro_f1] == pytest.approx([2 / 3, 2 / 3])
    # Both prefixes: first, second, first; second, second, second: 4 of 6. First: 1 TP, 1 FP, 1 FN; second: 3, 1, 1.
    found = performance(truth, AFTER)
    assert [found.accuracy, found.macro_f1] == pytest.approx([4 / 6, (2 / 4 + 6 / 8) / 2])


def test_a_class_that_occurs_nowhere_has_no_f1() -> None:
    truth = np.array([[True, False, False], [False, True, False]])
    said = np.array([[0.9, 0.1, 0.0], [0.8, 0.2, 0.0]])[:, None]
    assert performance(truth, said).macro_f1 == pytest.approx((2 / 3 + 0) / 2)


def test_against_brute_force() -> None:
    rng = np.random.default_rng(5)
    texts, prefixes, classes = 40, 3, 4
    before = rng.dirichlet(np.ones(classes), texts)
    after = rng.dirichlet(np.ones(classes), (texts, prefixes))
    after[::5] = before[::5, None]
    true = rng.integers(0, classes, texts)
    truth = np.eye(classes, dtype=bool)[true]
    found = shift(before, after)
    for p, k in product(range(prefixes), range(classes)):
        moved = [after[t, p, k] - before[t, k] for t in range(texts)]
        rises, falls = [m for m in moved if m > 1e-6], [-m for m in moved if m < -1e-6]
        assert (found.rose[p, k], found.fell[p, k]) == (len(rises), len(falls))
        assert found.mean_rise[p, k] == pytest.approx(sum(rises) / len(rises))
        assert found.mean_fall[p, k] == pytest.approx(sum(falls) / len(falls))
        assert found.mean_difference[p, k] == pytest.approx(sum(moved) / texts)
        became = [int(after[t, p].argmax()) for t in range(texts)]
        assert found.share_after[p, k] == pytest.approx(became.count(k) / texts)
        was = [int(before[t].argmax()) for t in range(texts)]
        assert found.gained[p, k] == sum(b == k != a for a, b in zip(was, became, strict=True))
        assert found.lost[p, k] == sum(a == k != b for a, b in zip(was, became, strict=True))
    pairs = [(int(true[t]), int(after[t, p].argmax())) for t in range(texts) for p in range(prefixes)]
    f1 = []
    for k in range(classes):
        hit, wrong = pairs.count((k, k)), sum((a == k) != (b == k) for a, b in pairs)
        f1.append(2 * hit / (2 * hit + wrong))
    scored = performance(truth, after)
    assert scored.accuracy == pytest.approx(sum(a == b for a, b in pairs) / len(pairs))
    assert scored.macro_f1 == pytest.approx(sum(f1) / classes)
