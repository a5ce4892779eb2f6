"""Numbers as results.json has them."""

from __future__ import annotations

from typing import Any

import numpy as np


def number(value: Any) -> float | int | None:
    """A NumPy number as one that JSON has: nothing for NaN, counts as whole numbers."""
    return None if np.isnan(value) else value.item()
