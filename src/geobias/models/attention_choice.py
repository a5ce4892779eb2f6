"""Choosing among the attention implementations of transformers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def use_attention(model: Any, implementation: str) -> Iterator[None]:
    """Let a model compute attention in another way for a while ("eager", "sdpa", or a registered name)."""
    before = model.config._attn_implementation
    model.set_attn_implementation(implementation)
    try:
        yield
    finally:
        model.set_attn_implementation(before)
