"""Replacing what a module computes, for a while."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def replace_forward(module: Any, forward: Callable[..., Any]) -> Iterator[None]:
    """Let one module compute something else; what stood there before comes back."""
    before = vars(module).get("forward")  # others may have replaced it too
    module.forward = forward
    try:
        yield
    finally:
        del module.forward
        if before is not None:
            module.forward = before
