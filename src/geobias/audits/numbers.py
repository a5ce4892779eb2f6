"""Numbers as results.json has them."""

from __future__ import annotations

from collections.abc import Sequence
from math import isnan
from typing import Any

import numpy as np


def number(value: Any) -> float | int | None:
    """A NumPy number as one that JSON has: nothing for NaN, counts as whole numbers."""
    plain: float | int = value.item()
    return None if isnan(plain) else plain


def by_label(labels: Sequence[str], values: np.ndarray) -> dict[str, float | int | None]:
    """A number for each label."""
    return {label: number(value) for label, value in zip(labels, values, strict=True)}
