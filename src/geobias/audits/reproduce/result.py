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
    """What makes two runs of HERB's tables the same."""

    paper: Literal["herb"]
    tables: list[str]
    models: dict[str, str]
    """For each model of the paper the one that is asked in its place, or its own name."""
    score: str
    """Of the language models."""
    template: str
    cities: int | str
    """At most so many of each country, the largest; or "all"."""
    regions_digest: str
    datasets: dict[str, DatasetSettings]
    """The datasets of Table 4 that were given."""
    limit: int | None
    """Only the first so many texts of each file."""
    dtype: str


@dataclass(frozen=True)
class NamesTablesSettings:
    """What makes two runs of the tables of Barriere and Cifuentes the same."""

    paper: Literal["names"]
    tables: list[str]
    models: dict[str, str]
    """For each model of the paper the one that is asked in its place, or its own name."""
    texts: dict[str, TextsSettings]
    """By language."""
    draws: int
    """Renamed versions of each text for each country."""
    perplexity_draws: int
    finder: str | None
    """The model that finds people in texts; null for the bundled one."""
    dtype: str


@dataclass(frozen=True, kw_only=True)
class AskedModel(ModelIdentity):
    """A model that was asked, and the published model or dataset that it was asked for."""

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

    def cells(self, form: TableForm) -> Iterator[dict[str, Any]]:
        """Every number of the table in one form: a row of its CSV file."""
        for row, published, measured in zip(self.rows, form.published, form.measured, strict=True):
            for k, column in enumerate(self.columns):
                yield {
                    **dict(zip(self.keys, row, strict=True)),
                    "column": column,
                    "taken_for": self.taken_for.get(column, column),
                    "form": form.form,
                    "published": published[k],
                    "measured": measured[k],
                }


@dataclass(frozen=True, kw_only=True)
class ReproduceResult(AuditResult):
    """The tables of a paper, measured and published."""

    audit: Literal["reproduce"] = "reproduce"
    settings: HerbSettings | NamesTablesSettings
    models: list[AskedModel]
    counts: ReproduceCounts
    tables: list[ReproducedTable]
    notes: list[str]
    """On all tables together."""

    @property
    def model_identities(self) -> list[AskedModel]:
        return self.models

    def rows(self) -> list[dict[str, Any]]:
        """A row for each number of each table, in each of its forms: `frame`."""
        return [
            {"table": table.table, **cell}
            for table in self.tables
            for form in table.forms
            for cell in table.cells(form)
        ]
