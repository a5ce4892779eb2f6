"""Descriptive vectors without what names do to them, for the tests of HERB's score.

A model whose likelihoods depend on the length of a name alone puts Europe's countries closer together than random
ones, because the names of a continent are alike. So a region is tested twice: as it is, and with the effect of the
names of its level removed.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

FEWEST_FOR_SQUARES = 40  # regions of a level: with fewer, squares of the traits fit noise


def remove_name_effects(vectors: np.ndarray, traits: Sequence[np.ndarray], levels: Sequence[np.ndarray]) -> np.ndarray:
    """Vectors (regions x words) without the linear and quadratic effect of traits of names, level by level.

    The mean of each level stays as it is.
    """
    residuals = vectors.copy()
    for rows in levels:
        columns = [trait[rows] for trait in traits if np.ptp(trait[rows]) > 0]
        if not columns or not np.isfinite(columns).all():
            continue
        standardised = [(column - column.mean()) / column.std() for column in columns]
        if len(rows) >= FEWEST_FOR_SQUARES:
            standardised += [column**2 for column in standardised]
        if len(rows) < 2 * (len(standardised) + 1):
            continue
        x = np.column_stack(standardised)
        x -= x.mean(axis=0)
        residuals[rows] -= x @ np.linalg.lstsq(x, vectors[rows], rcond=None)[0]
    return residuals
