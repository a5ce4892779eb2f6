"""Numbers as results.json has them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np


def number(value: Any) -> float | int | None:
    """A NumPy number as one that JSON has: nothing for NaN, counts as whole numbers."""
    return None if np.isnan(value) else value.item()


def by_label(labels: Sequence[str], values: np.ndarray) -> dict[str, float | int | None]:
    """A number for each label."""
    return {label: number(value) for label, value in zip(labels, values, strict=True)}
