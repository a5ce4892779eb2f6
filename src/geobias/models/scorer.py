"""The one protocol of all models, and `load()`, which finds the right one for a name.

Anything with these three attributes is a scorer; a model of your own needs no more than

    class Mine:
        fingerprint, columns = None, ("log_likelihood",)
        def score(self, texts): return numpy.array([[my_function(text)] for text in texts])

With a string for `fingerprint` its scores are kept for ever; change the string whenever the function changes.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, runtime_checkable

import numpy as np

from geobias.errors import InputError
from geobias.models.catalogue import embedded_folder

if TYPE_CHECKING:
    from geobias.models.masked import MaskedLM

LOG_LIKELIHOOD = "log_likelihood"
EMBEDDED_LM = "embedded/lm"
METHODS = ("aul", "aula", "pll", "pll-word", "conditional")


@runtime_checkable
class Scorer(Protocol):
    """Texts in, numbers out.

    `fingerprint` stands for everything the numbers depend on besides the text: weights, method, precision, cut
    length. Scores are kept under it; with None they are kept for this run alone. The first of the `columns` is the
    score; a scorer may add what it saw on the way (number of tokens, tokens cut off).
    A scorer that has a method `batches(texts)`, yielding positions and rows as they come, is handed many texts at once.
    A scorer that looks at a marked part of the text only (see `prompts.templates`) has `needs_mark = True`.
    """

    @property
    def fingerprint(self) -> str | None: ...

    @property
    def columns(self) -> Sequence[str]: ...

    def score(self, texts: Sequence[str]) -> np.ndarray: ...


def load(name: str | Path | None = None, *, device: str = "auto", dtype: str = "auto") -> MaskedLM:
    """A masked language model by Hugging Face id, by folder, or the embedded one (`embedded/lm`, the default)."""
    from geobias.models.masked import MaskedLM  # torch only when a model is loaded

    name = str(name or EMBEDDED_LM)
    return MaskedLM.from_pretrained(name, location(name), device=device, dtype=dtype)


def location(name: str) -> str:
    """Where the weights are: a folder inside the package, a folder of the user's, or a Hugging Face id."""
    if name.startswith("embedded/"):
        folder = embedded_folder() / name.removeprefix("embedded/")
        if not (folder / "config.json").is_file():
            raise InputError(f"There is no embedded model {name!r}: `geobias models` lists those there are.")
        return str(folder)
    path = Path(name).expanduser()
    if path.is_dir():
        if not (path / "config.json").is_file():
            raise InputError(f"The folder {name} holds no model: it has no config.json.")
        return str(path)
    looks_like_path = name.startswith((".", "/", "~")) or name.count("/") > 1 or path.exists()
    if looks_like_path:
        raise InputError(f"There is no model folder {name}: give a folder with config.json and weights.")
    return name


def checked_method(method: str) -> str:
    """The name of a score, if there is one of that name."""
    if method not in METHODS:
        raise InputError(f"Unknown score {method!r}: choose one of {', '.join(METHODS)}.")
    return method
