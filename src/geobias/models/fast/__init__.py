"""Everything that only makes models faster, and the one switch that turns all of it off.

A loaded model has a `FastPath` (`fast_path.py`): each part of `PARTS` is tried, and those that give the same numbers
are used. With `GEOBIAS_FAST=0` in the environment no part is tried: every model then runs
through plain transformers code, whose logits go through `log_softmax`. `model.fast_parts` names the parts that a
model uses. `python -m bench.speed.parts` measures what each brings.

"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

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


left_out: ContextVar[frozenset[str]] = ContextVar("left_out", default=frozenset())


@contextmanager
def leave_out(*parts: str) -> Iterator[None]:
    """Load models without these parts, to measure or to test what they do."""
    before = left_out.set(left_out.get() | frozenset(parts))
    try:
        yield
    finally:
        left_out.reset(before)
