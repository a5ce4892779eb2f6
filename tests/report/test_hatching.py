"""Hatch lines lie inside, and only inside."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from geobias.report.figures import LONGEST_STEP, hatch
from geobias.world.countries import load_shapes

SQUARE = np.array([[0, 0], [6, 0], [6, 6], [0, 6], [0, 0]], dtype=float)
HOLE = np.array([[2, 2], [4, 2], [4, 4], [2, 4], [2, 2]], dtype=float)


def inside(point: np.ndarray, rings: list[np.ndarray]) -> bool:
    """By a ray to the east, edge by edge: another way than the one that is tested."""
    crossings = 0
    for ring in rings:
        for (x1, y1), (x2, y2) in pairwise(ring):
            if (y1 > point[1]) != (y2 > point[1]):
                crossings += point[0] < x1 + (point[1] - y1) / (y2 - y1) * (x2 - x1)
    return crossings % 2 == 1


def test_a_square_by_hand() -> None:
    pieces = list(hatch([SQUARE], spacing=3))
    ends = sorted((*piece[0], *piece[-1]) for piece in pieces if not np.allclose(piece[0], piece[-1]))
    assert ends == [(0, 0, 6, 6), (0, 3, 3, 6), (3, 0, 6, 3)]


def test_a_hole_stays_free() -> None:
    middle = [piece for piece in hatch([SQUARE, HOLE], spacing=4) if np.isclose(piece[0][0], piece[0][1])]
    assert [(piece[0].tolist(), piece[-1].tolist()) for piece in middle] == [([0, 0], [2, 2]), ([4, 4], [6, 6])]


@pytest.mark.parametrize("name", ["South Africa", "Italy", "Russia"])
@pytest.mark.slow
def test_real_countries(name: str) -> None:
    rings = next(shape for shape in load_shapes() if shape.name == name).rings
    pieces = [piece for piece in hatch(rings) if np.ptp(piece[:, 1]) > 1e-6]
    assert len(pieces) > 5
    for piece in pieces[::7]:
        assert inside((piece[0] + piece[1]) / 2, rings)
        assert np.diff(piece[:, 1]).max() <= LONGEST_STEP
