"""The models of a paper, or those that are asked in their place."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from geobias.audits.reproduce.result import AskedModel
from geobias.errors import InputError
from geobias.models.scorer import Scorer
from geobias.models.sources import locate_weights

Loaded = TypeVar("Loaded")


@dataclass
class PublishedModels:
    """Loads the models one by one, since they need not fit into memory together; lists those that were asked."""

    replacements: Mapping[str, str]
    device: str
    dtype: str
    models: list[AskedModel] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    work: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        from geobias.models.pretrained import resolve_device, resolve_dtype  # torch only where models are loaded

        resolve_dtype(self.dtype, resolve_device(self.device))  # a wrong device is not a missing model

    def load(self, published: str, loader: Callable[..., Loaded]) -> Loaded | None:
        """The model; None where it is not available. A replacement that cannot be loaded is the user's error."""
        replacement = self.replacements.get(published)
        try:
            return loader(replacement or published, device=self.device, dtype=self.dtype)
        except InputError:
            if replacement is not None:
                raise
            if published not in self.missing:
                self.missing.append(published)
            return None

    def record(self, published: str, scorer: Scorer, work: Mapping[str, int] | None = None) -> None:
        """Note that a model was asked, and how many texts it had to score."""
        model = AskedModel(**vars(scorer.identity()), published=published)
        if model not in self.models:
            self.models.append(model)
        self.work.update(work or {})


def read_replacements(
    option: str, replacements: Mapping[str, str] | Sequence[str], published: Iterable[str]
) -> dict[str, str]:
    """PUBLISHED=LOCAL, one or several, as a dictionary; InputError for a name that the paper does not have."""
    names = list(published)
    if isinstance(replacements, str):
        replacements = [replacements]
    if not isinstance(replacements, Mapping):
        for text in replacements:
            if not text.partition("=")[2]:
                raise InputError(f"{option} is PUBLISHED=LOCAL, for example {names[0]}=FOLDER, not {text!r}.")
        replacements = {text.partition("=")[0]: text.partition("=")[2] for text in replacements}
    for name, local in replacements.items():
        if name not in names:
            raise InputError(f"{option} {name!r} is not in the paper's tables: choose of {', '.join(names)}.")
        locate_weights(local)
    return dict(replacements)
