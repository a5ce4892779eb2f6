"""Everything that only makes models faster, the one switch that turns all of it off, and how each part is checked.

A loaded model has a `FastPath` (`fast_path.py`): each part of `PARTS` is tried, and those that give the same numbers
are used. With `GEOBIAS_FAST=0` in the environment, or after `use_plain()`, no part is tried: every model then runs
through plain transformers code, whose logits go through `log_softmax`. `model.fast_parts` names the parts that a
model uses. `python -m bench.speed.parts` measures what each brings.

**Does a fast part compute what this model computes?** Two correct evaluations of a half-precision model differ by about
1 %. A tolerance that lets them pass would also let a slightly different architecture pass, above all where weights are
small. So no check compares the outputs of a whole model to a loose tolerance. There are three kinds instead:

- **Exact** (`head.py`). Where both ways make the same calls on tensors of the same shapes, the bits must be equal.
  Whether a position is looked at is seen by changing it: not a bit of the output may change.
- **Random numbers in float32** (`agree`). A Triton kernel reads half precision and sums in float32. It is compared with
  a float32 reference made from the same rounded random numbers, so that the rounding of its results alone remains.
- **Beside the effect** (`small_beside`). Where all layers take part (token trees, cached prefixes) the error is
  compared with the difference that ignoring the mask, the positions or the prefix would make. It may be 0.1 % of that
  in float32, 2 % in float16 and 10 % in bfloat16, whose precision is 2^-24, 2^-11 and 2^-8. A model that ignores them
  has 100 %. Where the effect is as small as the rounding error nothing can be told, and the part is not used.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import torch

VARIABLE = "GEOBIAS_FAST"
PLAIN_SUFFIX = ":plain"  # of the fingerprint of a plain model: its scores are not taken from those of a fast run
PARTS = {
    "packed_linear": "CPU: weights laid out once for oneDNN's matrix kernels, not in every product (fast_path.py)",
    "packed_attention": "GPU: several short texts share a block of the attention kernel (fast_path.py)",
    "read_positions": "the head runs at the positions that are read, not at every token (head.py)",
    "sliced_projection": "logits are summed slice by slice, or on a GPU as they are made, and never stored (head.py)",
    "template_tokens": "template sentences are put together from tokenised parts, and masked ones are read once for "
    "all words (templates.py)",
    "token_tree": "causal models read all words of a region in one pass, as a tree (token_tree.py)",
    "shared_prefixes": "causal models read what neighbouring texts have in common once (shared_prefixes.py)",
}

FLOAT32_TOLERANCE = 2e-5  # of the size of the outputs
SHARE_OF_EFFECT = {torch.float32: 1e-3, torch.float16: 0.02, torch.bfloat16: 0.1}

_left_out: ContextVar[frozenset[str]] = ContextVar("left_out", default=frozenset())


def use_plain() -> None:
    """Load every model from now on without any fast part, in this process and those that it starts."""
    os.environ[VARIABLE] = "0"


def enabled_parts() -> frozenset[str]:
    """The parts that a model loaded now may use."""
    return frozenset() if os.environ.get(VARIABLE) == "0" else frozenset(PARTS) - _left_out.get()


@contextmanager
def leave_out(*parts: str) -> Iterator[None]:
    """Load models without these parts, to measure or to test what they do."""
    before = _left_out.set(_left_out.get() | frozenset(parts))
    try:
        yield
    finally:
        _left_out.reset(before)


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
