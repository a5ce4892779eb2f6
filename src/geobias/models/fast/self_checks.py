"""Does a fast part compute what this model computes? Comparisons that rounding cannot blur.

Two correct evaluations of a half-precision model differ by about 1 %. A tolerance that lets them pass would also let a
slightly different architecture pass, above all where weights are small. So no check compares the outputs of a whole
model to a loose tolerance. There are three kinds instead:

- **Exact** (`head.py`). Where both ways make the same calls on tensors of the same shapes, the bits
  must be equal. Whether a position is looked at is seen by changing it: not a bit of the output may change.
- **Random numbers in float32** (`agree`). A Triton kernel reads half precision and sums in float32. It is compared with
  a float32 reference made from the same rounded random numbers, so that the rounding of its results alone remains.
- **Beside the effect** (`small_beside`). Where all layers take part (token trees, cached prefixes) the error is
  compared with the difference that ignoring the mask, the positions or the prefix would make. It may be 0.1 % of that
  in float32, 2 % in float16 and 10 % in bfloat16, whose precision is 2^-24, 2^-11 and 2^-8. A model that ignores them
  has 100 %. Where the effect is as small as the rounding error nothing can be told, and the part is not used.
"""

from __future__ import annotations

import torch

FLOAT32_TOLERANCE = 2e-5  # of the size of the outputs
SHARE_OF_EFFECT = {torch.float32: 1e-3, torch.float16: 0.02, torch.bfloat16: 0.1}


def random_numbers(*shape: int, scale: float = 1.0, like: torch.Tensor | None = None) -> torch.Tensor:
    """The same normal random numbers in every call, on the device and in the precision of `like`."""
    numbers = scale * torch.randn(*shape, generator=torch.Generator().manual_seed(20))
    return numbers if like is None else numbers.to(device=like.device, dtype=like.dtype)


def agree(expected: torch.Tensor, actual: torch.Tensor) -> bool:
    """Whether a kernel's values differ from its float32 reference by rounding alone.

    The unit is the size of a value plus the standard deviation of all. Attention rounds twice (weights, then outputs),
    each time by half of `eps` of the largest values at most; 4 eps, 3 % in bfloat16, leaves room for values of several
    standard deviations.
    """
    tolerance = FLOAT32_TOLERANCE if actual.dtype == torch.float32 else 4 * torch.finfo(actual.dtype).eps
    expected, actual = expected.double().cpu(), actual.double().cpu()
    return bool(((expected - actual).abs() <= tolerance * (expected.std() + expected.abs())).all())


def small_beside(error: torch.Tensor, effect: torch.Tensor, dtype: torch.dtype) -> bool:
    """Whether an error is small (root mean square) compared with the effect of what is checked."""
    share = SHARE_OF_EFFECT.get(dtype, SHARE_OF_EFFECT[torch.bfloat16])
    return _root_mean_square(error) <= share * _root_mean_square(effect)


def _root_mean_square(values: torch.Tensor) -> float:
    return float(values.double().square().mean().sqrt())
