"""Typed results: an audit's dataclasses are the content of its results.json, and their JSON Schema is generated.

Fields keep the order and the names of the file. `Annotated[..., Field(alias="from")]` gives a field a name in the file
that Python does not allow; a field annotated with `NOT_SAVED` (arrays behind the numbers) stays in memory only.
A string literal below a field is its description in the schema.
"""

from __future__ import annotations

import platform
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from importlib import metadata
from itertools import takewhile
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, Protocol, TypeVar

from pydantic import Field, GetPydanticSchema, TypeAdapter, ValidationError
from pydantic.json_schema import GenerateJsonSchema
from pydantic_core import core_schema

import geobias
from geobias.engine.answer_checks import NondeterministicModel
from geobias.errors import InputError
from geobias.models.scorer import ModelIdentity
from geobias.report.field_docs import SECTION, FieldDocs, describe_fields
from geobias.report.findings import ConstantAnswers, Finding, LanguageDoubt
from geobias.report.headlines import state_headline
from geobias.report.notebook import Plot, render_result
from geobias.report.run_folder import PAGE
from geobias.report.runs import open_page

if TYPE_CHECKING:
    import pandas as pd

SCHEMA_VERSION: Final = 3
PACKAGES = "numpy scikit-learn scipy skops spacy tokenizers torch transformers".split()

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


NO_INTERVAL: Final = Interval(None, None, None)


class HasInterval(Protocol):
    @property
    def value(self) -> float | None: ...
    @property
    def low(self) -> float | None: ...
    @property
    def high(self) -> float | None: ...


# pydantic does not look at the field's type: arrays have no schema.
NOT_SAVED = (GetPydanticSchema(lambda source, handler: core_schema.any_schema()), Field(exclude=True))


def package_versions() -> dict[str, str]:
    versions = {"python": platform.python_version(), "geobias": geobias.__version__}
    for package in PACKAGES:
        with suppress(metadata.PackageNotFoundError):
            versions[package] = metadata.version(package)
    return versions


class SavedResult(ABC):
    """What users see of the result of one audit or of several: a summary, and the page."""

    @property
    @abstractmethod
    def folder(self) -> Path | None: ...

    @abstractmethod
    def _list_lines(self) -> list[str]:
        """The lines of the summary."""

    def summary(self) -> str:
        """Return what was audited, the headline and every finding as text, one line each.

        Returns
        -------
        str
            The same text that `print(result)` shows.

        Examples
        --------
        >>> print(result.summary())  # doctest: +SKIP
        """
        return "\n".join(self._list_lines())

    def __repr__(self) -> str:
        return self.summary()

    def open(self) -> None:
        """Open the page in the browser.

        Raises
        ------
        InputError
            If nothing was saved (pass `out` to the audit), or no browser can be started.
        """
        if self.folder is None:
            raise InputError("This result was not saved, so it has no page. Run it with out='runs/NAME'.")
        if not (self.folder / PAGE).is_file():
            raise InputError(f"{self.folder} has no page. Write it with geobias.write_report({str(self.folder)!r}).")
        open_page(self.folder / PAGE)


@dataclass(frozen=True, kw_only=True, repr=False)
class AuditResult(SavedResult):
    """What every results.json holds. Subclasses add `settings`, `counts` and the numbers of their audit.

    They are dataclasses with `repr=False`: `__repr__` here shows their summary. `folder` is where the run was saved.
    """

    schema_version: Literal[3] = SCHEMA_VERSION
    """Raised when the content changes its form."""
    audit: str
    """The command that made it."""
    settings: Any
    """Settings that identify a run; each audit has its own dataclass."""
    findings: list[Finding] = field(default_factory=list, repr=False)
    """What the audit concludes: the overall answer for each model first, then what stands out, then cautions."""
    nondeterministic_models: list[NondeterministicModel] = field(default_factory=list, repr=False)
    """Models that gave other answers to the same texts when they were asked twice; their findings are not clear."""
    constant_answers: dict[str, ConstantAnswers] = field(default_factory=dict, repr=False)
    """The models that give the same answer to all texts, original and changed, or to all original texts only."""
    language_doubts: list[LanguageDoubt] = field(default_factory=list, repr=False)
    """Why the language of the texts speaks against the numbers; findings are then at most suggestive."""
    versions: dict[str, str] = field(default_factory=package_versions, repr=False)
    """The versions of everything that can change a number."""
    work: Annotated[dict[str, int], *NOT_SAVED] = field(default_factory=dict, repr=False, compare=False)
    """How much was computed rather than read from the store. Not saved."""
    folder: Annotated[Path | None, *NOT_SAVED] = field(default=None, repr=False, compare=False)
    """Where the run is saved."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        cls.__doc__ = FieldDocs(cls.__doc__)  # type: ignore[assignment]

    @property
    def model_identities(self) -> Sequence[ModelIdentity]:
        """Every model that was scored: the field `models`, if there is one."""
        return list(getattr(self, "models", ()))

    @property
    def caps(self) -> Sequence[str]:
        """Why an answer cannot be clear, whatever the models do: what was chosen for the run does not allow it."""
        return ()

    def summarise(self) -> Iterable[str]:
        """What was audited and how much of it, in one line, and the main number in another."""
        from geobias.report.rows import list_row_kinds

        return [", ".join(f"{len(getattr(self, name)):,} {name}" for name in list_row_kinds(type(self)))]

    def list_tidy_rows(self) -> Iterable[Mapping[str, Any]]:
        """The rows of `to_frame`, those of the main measure first."""
        from geobias.report.rows import list_row_kinds, list_tidy_rows

        return [row for name in list_row_kinds(type(self)) for row in list_tidy_rows(getattr(self, name))]

    def _repr_html_(self) -> str:
        rows = iter(self.list_tidy_rows())
        first = next(rows, None)
        main = [] if first is None else [first, *takewhile(lambda row: _measure_of(row) == _measure_of(first), rows)]
        return render_result(self._summary_lines([]), main, self.findings)

    def _list_lines(self) -> list[str]:
        sentences = (f"[{finding.label_with_size}] {finding.sentence}" for finding in self.findings)
        return self._summary_lines([state_headline(self.findings), *sentences])

    def _summary_lines(self, conclusions: Sequence[str]) -> list[str]:
        """What was audited, the conclusions (without findings the main number), and where the page is."""
        first, *others = self.summarise()
        saved = [f"Page: {self.folder / PAGE}"] if self.folder else []
        return [f"{type(self).__name__}: {first}", *(conclusions if self.findings else others), *saved]

    def to_frame(self) -> pd.DataFrame:
        """Return the result as a tidy table.

        Returns
        -------
        pandas.DataFrame
            A row for each place and measure, the main measure first. The columns in every audit of places: `measure`;
            `label`, the class it is of; `against`, its reference; `value`; `low` and `high`, its 95 % interval; `p`
            and `p_adjusted`; `is_marked`, whether `p_adjusted` is below 0.05. Columns before them name the model and
            the place.

        Examples
        --------
        >>> frame = result.to_frame()  # doctest: +SKIP
        >>> frame[(frame.measure == "delta") & frame.is_marked]  # doctest: +SKIP
        """
        import pandas as pd

        return pd.DataFrame(list(self.list_tidy_rows()))

    def plot(
        self,
        measure: str | None = None,
        *,
        label: str | None = None,
        against: str | None = None,
        model: str | None = None,
    ) -> Plot:
        """Plot one measure of every place with its 95 % interval, the highest first.

        Dots are filled where the adjusted p-value is below 0.05. With more than 40 places the chart shows both ends.

        Parameters
        ----------
        measure : str, optional
            Measure to plot, by the column `measure` of `to_frame`. Default: the main measure.
        label : str, optional
            Class to plot, by the column `label`. Default: the first.
        against : str, optional
            Reference of the measure, by the column `against`. Default: the first.
        model : str, optional
            Model to plot, by the column `model`. Default: all models.

        Returns
        -------
        Plot
            A picture that notebooks show; `plot.save("plot.svg")` writes it.

        Raises
        ------
        InputError
            If the result has no such measure, label, reference or model, or no numbers by place.

        Examples
        --------
        >>> result.plot("change", label="hate").save("hate.svg")  # doctest: +SKIP
        """
        from geobias.report.notebook import plot_rows

        choices = {"measure": measure, "label": label, "against": against, "model": model}
        return plot_rows(self.list_tidy_rows(), choices)

    def to_dict(self) -> dict[str, Any]:
        """Return the content of results.json: the same for the same settings and models, whenever and wherever it runs.

        Returns
        -------
        dict
            Plain values that `json.dumps` can write; the JSON Schema is that of `geobias explain schema`.
        """
        return to_json(self)


def _measure_of(row: Mapping[str, Any]) -> tuple[Any, ...]:
    return row.get("measure"), row.get("against")


def to_json(record: Any) -> dict[str, Any]:
    """A dataclass as JSON has it."""
    kind: Any = type(record)
    return _adapter(kind).dump_python(record, mode="json", by_alias=True)


def from_json(kind: type[Record], content: Any) -> Record:
    """A dataclass from the JSON that `to_json` gave; ValueError says where the content is of another form."""
    dataclass: Any = kind
    try:
        record: Record = _adapter(dataclass).validate_python(content)
        return record
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
        descriptions = describe_fields(schema["cls"])
        for key, properties in content["properties"].items():
            if names[key] in descriptions:
                properties["description"] = descriptions[names[key]]
        if "description" in content:  # the docstring; its sections are for Python
            content["description"] = SECTION.split(content["description"])[0].strip()
        return content

    def field_is_required(self, field: Any, total: bool) -> bool:
        return True

    def default_schema(self, schema: core_schema.WithDefaultSchema) -> dict[str, Any]:
        return self.generate_inner(schema["schema"])

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False


@cache
def _adapter(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(kind)  # which takes milliseconds


def number(value: Any) -> Number:
    """A NumPy number as one that JSON has: None for NaN, counts as whole numbers."""
    plain: float | int = value.item()
    return None if isnan(plain) else plain
