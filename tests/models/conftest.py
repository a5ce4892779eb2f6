"""The kernels of a GPU, run on a processor."""

from __future__ import annotations

import importlib.util
from types import ModuleType

import pytest

from geobias.models.fast import kernels


@pytest.fixture
def gpu_kernels(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """Inside, models take them for their own: Triton interprets what it would else compile."""
    pytest.importorskip("triton", reason="Triton is for Linux")
    monkeypatch.setenv("TRITON_INTERPRET", "1")
    spec = importlib.util.spec_from_file_location("interpreted_kernels", kernels.__file__)
    assert spec is not None and spec.loader is not None
    interpreted = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(interpreted)
    for name, thing in vars(interpreted).items():
        if getattr(thing, "__module__", None) == "interpreted_kernels" and hasattr(kernels, name):
            monkeypatch.setattr(kernels, name, thing)
    return interpreted
