"""Arrays of NumPy, or of torch on the GPU that this process uses.

Measures that take long are written for both: they use the functions of `array_namespace` of their input.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from array_api_compat import array_namespace, device

FEWEST_NUMBERS = 2**26  # capacity below which the GPU is not used
COPIES = 12  # of its input that a measure holds at most

Result = TypeVar("Result")


def compute_on_gpu(measure: Callable[[Any], Result], numbers: np.ndarray) -> Result:
    """Compute a measure on the GPU in use, if there is one with enough free memory; otherwise with NumPy."""
    torch = sys.modules.get("torch")
    if torch is None or not torch.cuda.is_initialized() or gpu_capacity() < FEWEST_NUMBERS:
        return measure(numbers)
    try:
        return measure(torch.as_tensor(numbers, device="cuda"))
    except torch.OutOfMemoryError:
        torch.cuda.empty_cache()
    return measure(numbers)


def gpu_capacity() -> int:
    """How many numbers can be measured together in the free memory of the GPU."""
    torch = sys.modules["torch"]
    torch.cuda.empty_cache()
    return int(torch.cuda.mem_get_info()[0]) // (8 * COPIES)


def as_index(positions: np.ndarray, numbers: Any) -> Any:
    """Positions as an index array of the same library and device as the numbers."""
    return array_namespace(numbers).asarray(positions, device=device(numbers))


def to_numpy(numbers: Any) -> np.ndarray:
    """The numbers as a NumPy array, copied from the GPU if necessary."""
    return np.asarray(numbers if isinstance(numbers, np.ndarray) else numbers.cpu())
