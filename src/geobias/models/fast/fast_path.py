"""The fast path of one model: which parts it uses (`models.fast.PARTS` says what each does), and how they are put in.

A part is used only where the switch allows it, the device has it, and it gives this model's numbers: each was tried
when the model was loaded (`self_checks.py` says how). The base class here tries what concerns the layers of any model;
language models and classifiers try what depends on their kind and note it in the attributes.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from threading import RLock
from typing import Any

import torch

from geobias.models.fast import PARTS, PLAIN_SUFFIX
from geobias.models.fast.attention import find_packed_attention
from geobias.models.fast.head import PositionHead
from geobias.models.fast.layers import PackedLayers, replace_forward
from geobias.models.model_files import use_attention


class ModelLock:
    """A re-entrant lock around forward passes: parts replace layers of a model, and another thread may score it too.

    A copy of a model, in this process or in a worker, gets its own lock.
    """

    def __init__(self) -> None:
        self._lock = RLock()

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        self._lock.release()

    def __reduce__(self) -> tuple[type[ModelLock], tuple[()]]:
        return ModelLock, ()


class FastPath:
    """The parts in use for one model on its present device."""

    def __init__(self, model: Any, allowed: frozenset[str], lock: ModelLock) -> None:
        self.model, self.allowed, self.lock = model, allowed, lock
        self.device = next(model.parameters()).device
        self.packed = PackedLayers(model) if "packed_linear" in allowed else None
        self.attention = find_packed_attention(model) if "packed_attention" in allowed else None
        # What language models and classifiers try themselves:
        self.head: PositionHead | None = None
        self.template_tokens = False
        self.token_tree = False
        self.shared_prefixes = False
        self.forked_rows = False  # part of shared_prefixes
        self.users = 0  # how many scorers use the replaced layers now
        self._replacements = ExitStack()

    @property
    def parts(self) -> tuple[str, ...]:
        """The names of the parts in use, as in `PARTS`."""
        in_use = {
            "packed_linear": self.packed is not None and self.packed.bytes > 0,
            "packed_attention": self.attention is not None,
            "read_positions": self.head is not None,
            "sliced_projection": self.head is not None and self.head.projection is not None,
            "template_tokens": self.template_tokens,
            "token_tree": self.token_tree,
            "shared_prefixes": self.shared_prefixes,
        }
        return tuple(name for name in PARTS if in_use[name])

    @property
    def identity(self) -> str:
        """What is added to the fingerprint under which scores are stored."""
        return "" if self.allowed else PLAIN_SUFFIX

    @contextmanager
    def use(self) -> Iterator[None]:
        """Inside, the model computes with its fast layers; nothing can be trained there.

        Several scorers of one model may be inside at once, in one thread or in several: the first one puts the layers
        in, and the last one takes them out.
        """
        with ExitStack() as around:
            if self.device.type == "cuda" and self.allowed:
                around.enter_context(torch.cuda.device(self.device))  # Triton starts kernels on the current GPU
            with self.lock:
                if not self.users:
                    self._put_in()
                self.users += 1
            try:
                yield
            finally:
                with self.lock:
                    self.users -= 1
                    if not self.users:
                        self._replacements.close()

    def _put_in(self) -> None:
        with ExitStack() as replacements:
            if self.attention is not None:
                replacements.enter_context(use_attention(self.model, self.attention))
            for layer, forward in self.packed.products() if self.packed is not None else []:
                replacements.enter_context(replace_forward(layer, forward))
            self._replacements = replacements.pop_all()

    def __getstate__(self) -> dict[str, Any]:
        """A copy for a worker: nothing is in use there yet."""
        return self.__dict__ | {"users": 0, "_replacements": ExitStack()}
