"""Does a fast part compute what this model computes? Comparisons that rounding cannot blur.

Two correct evaluations of a half-precision model differ by about 1 %. A tolerance that lets them pass would also let a
slightly different architecture pass, above all where weights are small. So no check compares the outputs of a whole
model to a loose tolerance. There are three kinds instead:

- **Exact** (`head.py`). Where both ways make the same calls on tensors of the same shapes, the bits
  must be equal. Whether a position is looked at is seen by changing it: not a bit of the output may change.
- **In float32** (`agree`). A layer is copied to float32 on the CPU, its weights become random numbers of unit gain, and
  it reads random numbers: so every operation shows, whatever the weights are. The tolerance is 2e-5 of the outputs'
  size. Both ways of computing a right layer, 16 to 1,024 units wide, differ by 3e-6 at most. Exact GELU in
  place of its tanh approximation makes a difference of 2e-4 and more, a normalisation elsewhere or a missing bias one
  of 0.1 and more.
- **Beside the effect** (`small_beside`). Where all layers take part (token trees, cached prefixes) the error is
  compared with the difference that ignoring the mask, the positions or the prefix would make. It may be 0.1 % of that
  in float32, 2 % in float16 and 10 % in bfloat16, whose precision is 2^-24, 2^-11 and 2^-8. A model that ignores them
  has 100 %. Where the effect is as small as the rounding error nothing can be told, and the part is not used.

Triton kernels read half precision and sum in float32. They are compared with float32 references made from the same
rounded numbers, so that the rounding of their results alone remains: `kernel_tolerance`.
"""

from __future__ import annotations

import copy
from typing import Any

import torch

LAYER_TOLERANCE = 2e-5  # of the size of a layer's outputs, in float32
SHARE_OF_EFFECT = {torch.float32: 1e-3, torch.float16: 0.02, torch.bfloat16: 0.1}


def float32_copy(module: Any) -> Any:
    """The module on the CPU in float32, with random weights of such a size that states keep theirs."""
    copied = copy.deepcopy(module).to(device="cpu", dtype=torch.float32)
    generator = torch.Generator().manual_seed(21)
    with torch.no_grad():
        for name, parameter in copied.named_parameters():
            numbers = torch.randn(parameter.shape, generator=generator)
            if parameter.dim() > 1:
                parameter.copy_(1.5 * numbers / parameter.shape[-1] ** 0.5)
            else:  # of a normalisation, or a bias
                parameter.copy_(0.3 * numbers + (0 if name.endswith("bias") else 1))
    return copied


def random_numbers(*shape: int, scale: float = 1.0, like: torch.Tensor | None = None) -> torch.Tensor:
    """The same normal random numbers in every call, on the device and in the precision of `like`."""
    numbers = scale * torch.randn(*shape, generator=torch.Generator().manual_seed(20))
    return numbers if like is None else numbers.to(device=like.device, dtype=like.dtype)


def agree(expected: torch.Tensor, actual: torch.Tensor, tolerance: float = LAYER_TOLERANCE) -> bool:
    """Whether values differ by no more than this share of their own size plus the standard deviation of all."""
    if expected.shape != actual.shape:
        return False
    expected, actual = expected.double().cpu(), actual.double().cpu()
    return bool(((expected - actual).abs() <= tolerance * (expected.std() + expected.abs())).all())


def kernel_tolerance(dtype: torch.dtype) -> float:
    """The tolerance for a kernel compared with its float32 reference, which has read the same rounded numbers.

    Attention rounds twice (weights, then outputs), each time by half of `eps` of the largest values at most; 4 eps, 3 %
    in bfloat16, leaves room for values of several standard deviations.
    """
    return LAYER_TOLERANCE if dtype == torch.float32 else 4 * torch.finfo(dtype).eps


def small_beside(error: torch.Tensor, effect: torch.Tensor, dtype: torch.dtype) -> bool:
    """Whether an error is small (root mean square) compared with the effect of what is checked."""
    share = SHARE_OF_EFFECT.get(dtype, SHARE_OF_EFFECT[torch.bfloat16])
    return _root_mean_square(error) <= share * _root_mean_square(effect)


def _root_mean_square(values: torch.Tensor) -> float:
    return float(values.double().square().mean().sqrt())
