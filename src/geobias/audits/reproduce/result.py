"""What `geobias reproduce` measures: the tables of a paper, each published number with a measured one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from geobias.audits.inputs import TextsSettings
from geobias.models.scorer import ModelIdentity
from geobias.report.results import AuditResult, Number


@dataclass(frozen=True, kw_only=True)
class DatasetSettings(TextsSettings):
    """The labelled texts of a dataset of HERB's Table 4."""

    classifier: str


@dataclass(frozen=True)
class HerbSettings:
    """Settings that identify a run of HERB's tables."""

    paper: Literal["herb"]
    tables: list[str]
    models: dict[str, str]
    """By name of the published model: the model scored instead, or the same name."""
    score: str
    """Of the language models."""
    template: str
    cities: int | str
    """Maximum number of cities per country, the largest first; or "all"."""
    regions_digest: str
    datasets: dict[str, DatasetSettings]
    """The datasets of Table 4 that were given."""
    limit: int | None
    """Maximum number of texts per file, the first ones."""
    dtype: str


@dataclass(frozen=True)
class NamesTablesSettings:
    """Settings that identify a run of the tables of Barriere and Cifuentes."""

    paper: Literal["names"]
    tables: list[str]
    models: dict[str, str]
    """By name of the published model: the model scored instead, or the same name."""
    texts: dict[str, TextsSettings]
    """By language."""
    draws: int
    """Renamed versions of each text for each country."""
    perplexity_draws: int
    finder: str | None
    """The model that finds people in texts; null for the bundled one."""
    dtype: str


@dataclass(frozen=True, kw_only=True)
class ReproducedModel(ModelIdentity):
    """A scored model, and the published model or dataset it stands for."""

    published: str
    """The model of the paper whose place it has, or the dataset that it classifies."""


@dataclass(frozen=True)
class ReproduceCounts:
    """How many of the published numbers were measured."""

    tables: int
    published_numbers: int
    measured_numbers: int
    """In all forms of all tables."""
    models_not_available: list[str]


@dataclass(frozen=True)
class TableForm:
    """A table's numbers in one form, as rows of columns."""

    form: str
    """For HERB's scores "balanced" or "paper" (as printed); empty where a table has one form only."""
    places: list[int]
    """Digits after the decimal point, by column."""
    published: list[list[Number]]
    measured: list[list[Number]]
    """Null where nothing was measured."""
    rank_correlation_over_rows: list[Number]
    """For each column, Spearman's correlation of measured with published numbers over its rows."""
    rank_correlation_over_columns: list[Number]
    """For each row, the same over the columns named in `ranked`."""


@dataclass(frozen=True)
class ReproducedTable:
    """A published table with what was measured for it."""

    table: str
    """Its number in the paper."""
    title: str
    keys: list[str]
    """What tells the rows apart: names of the entries of each row."""
    columns: list[str]
    taken_for: dict[str, str]
    """For a column whose printed label is likely wrong: what it is taken for."""
    ranked: list[str]
    """Columns of one kind, which can be ranked within a row."""
    rows: list[list[str]]
    """For each row its `keys`."""
    forms: list[TableForm]
    notes: list[str]

    @property
    def is_measured(self) -> bool:
        return any(value is not None for form in self.forms for row in form.measured for value in row)

    def cells(self) -> list[dict[str, Any]]:
        """Every number of the table in each of its forms: a row of its CSV file."""
        return [
            {
                **dict(zip(self.keys, row, strict=True)),
                "column": column,
                "taken_for": self.taken_for.get(column, column),
                "form": form.form,
                "published": published[k],
                "measured": measured[k],
            }
            for form in self.forms
            for row, published, measured in zip(self.rows, form.published, form.measured, strict=True)
            for k, column in enumerate(self.columns)
        ]


@dataclass(frozen=True, kw_only=True, repr=False)
class ReproduceResult(AuditResult):
    """The tables of a paper, measured and published.

    Attributes
    ----------
    schema_version : int
        Version of the format of results.json.
    audit : str
        Name of the audit.
    settings : object
        Everything that identifies the run.
    findings : list of Finding
        The conclusions: the overall answer for each model, then details, then cautions.
    nondeterministic_models : list of NondeterministicModel
        Models that gave other answers to the same texts when they were asked twice.
    versions : dict of str
        Versions of Python and of the packages that can change a number.
    work : dict of int
        How much was computed rather than read from the store. Not saved.
    folder : Path or None
        Where the run is saved.
    models : list of ReproducedModel
        The models, and the published models that they stand for.
    counts : ReproduceCounts
        How many of the published numbers were measured.
    tables : list of ReproducedTable
        For each table: `rows`, `columns` and `forms`, each with `published` and `measured` numbers.
    notes : list of str
        Notes on all tables.

    Notes
    -----
    Returned by `reproduce`. Printing it shows the findings.

    Examples
    --------
    >>> result = geobias.reproduce("herb", table="1")  # doctest: +SKIP
    >>> result.tables[0].is_measured  # doctest: +SKIP
    """

    audit: Literal["reproduce"] = "reproduce"
    settings: HerbSettings | NamesTablesSettings
    models: list[ReproducedModel]
    counts: ReproduceCounts
    tables: list[ReproducedTable]
    notes: list[str]
    """On all tables together."""

    @property
    def model_identities(self) -> list[ReproducedModel]:
        return self.models

    def summarise(self) -> Iterator[str]:
        numbers = ", ".join(table.table for table in self.tables)
        yield f"table{'' if len(self.tables) == 1 else 's'} {numbers} of the paper {self.settings.paper!r}"

    def list_tidy_rows(self) -> Iterator[dict[str, Any]]:
        """A row for each number of each table, in each of its forms."""
        for table in self.tables:
            yield from ({"table": table.table, **cell} for cell in table.cells())
