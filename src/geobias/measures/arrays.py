"""Numbers in NumPy's hands, or on the GPU that this process uses.

Measures that take long are written for both: they ask `array_namespace` for the functions of whatever they are given.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from array_api_compat import array_namespace, device

FEWEST_NUMBERS = 2**26  # numbers that measures of any size may need beside each other
COPIES = 12  # of the numbers that are measured, at most, while they are

Result = TypeVar("Result")


def compute_on_gpu(measure: Callable[[Any], Result], numbers: np.ndarray) -> Result:
    """The measure of the numbers on the GPU that is in use, if there is one with room for it; else as they are."""
    torch = sys.modules.get("torch")
    if torch is None or not torch.cuda.is_initialized() or gpu_capacity() < FEWEST_NUMBERS:
        return measure(numbers)
    try:
        return measure(torch.as_tensor(numbers, device="cuda"))
    except torch.OutOfMemoryError:
        torch.cuda.empty_cache()
    return measure(numbers)


def gpu_capacity() -> int:
    """How many numbers can be measured together on that GPU."""
    torch = sys.modules["torch"]
    torch.cuda.empty_cache()
    return int(torch.cuda.mem_get_info()[0]) // (8 * COPIES)


def as_index(positions: np.ndarray, numbers: Any) -> Any:
    """Positions to be looked up in these numbers, wherever they are."""
    return array_namespace(numbers).asarray(positions, device=device(numbers))


def to_numpy(numbers: Any) -> np.ndarray:
    """Back from wherever they are."""
    return np.asarray(numbers if isinstance(numbers, np.ndarray) else numbers.cpu())
