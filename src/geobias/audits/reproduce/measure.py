"""From arrays of published and measured numbers to the tables of the result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from geobias.audits.reproduce.models import PublishedModels
from geobias.audits.reproduce.published import PublishedTable
from geobias.audits.reproduce.result import (
    HerbSettings,
    NamesTablesSettings,
    ReproduceCounts,
    ReproducedTable,
    ReproduceResult,
    TableForm,
)
from geobias.errors import InputError
from geobias.measures.ranks import rank_correlation
from geobias.report.results import Number, number

MISSING = "not available here"
Forms = Mapping[str, tuple[np.ndarray, np.ndarray]]  # by name of the form: published, measured


def build_table(
    table: PublishedTable,
    forms: Forms,
    *,
    taken_for: Mapping[str, str] | None = None,
    ranked: Sequence[str] = (),
    notes: Sequence[str] = (),
) -> ReproducedTable:
    """A published table beside what was measured for it: arrays of rows x columns, NaN where nothing was measured."""
    ranked_columns = [table.columns.index(name) for name in ranked]
    return ReproducedTable(
        table=table.number,
        title=table.title,
        keys=list(table.keys),
        columns=list(table.columns),
        taken_for=dict(taken_for or {}),
        ranked=list(ranked),
        rows=[list(row) for row in table.rows],
        forms=[
            TableForm(
                form=name,
                places=list(table.places),
                published=_nested(published),
                measured=_nested(measured),
                rank_correlation_over_rows=[
                    rank_correlation(*columns) for columns in zip(published.T, measured.T, strict=True)
                ],
                rank_correlation_over_columns=[
                    rank_correlation(*rows)
                    for rows in zip(published[:, ranked_columns], measured[:, ranked_columns], strict=True)
                ],
            )
            for name, (published, measured) in forms.items()
        ],
        notes=list(notes),
    )


def one_form(table: PublishedTable, measured: np.ndarray | None = None) -> Forms:
    """The numbers as printed; without measured ones, the published ones alone."""
    return {"": (table.values, np.full(table.values.shape, np.nan) if measured is None else measured)}


def build_result(
    settings: HerbSettings | NamesTablesSettings,
    tables: Sequence[ReproducedTable],
    models: PublishedModels,
    notes: Sequence[str],
) -> ReproduceResult:
    """The result; InputError where every model that the tables need is missing."""
    notes = list(notes)
    if models.missing and not models.models:
        raise InputError(
            f"These models are needed and {MISSING}: {', '.join(models.missing)}. Give a folder for each "
            f"(--model {models.missing[0]}=FOLDER), or put them into the Hugging Face cache on a machine "
            "with a network."
        )
    if models.missing:
        notes.append(f"Models {MISSING}, so without a measured number: {', '.join(models.missing)}.")
    if models.replacements:
        pairs = ", ".join(f"{local} for {published}" for published, local in models.replacements.items())
        notes.append(f"Standing in for published models: {pairs}. They are not the paper's.")
    measured = [form.measured for table in tables for form in table.forms]
    return ReproduceResult(
        settings=settings,
        models=models.models,
        counts=ReproduceCounts(
            tables=len(tables),
            published_numbers=sum(len(table.rows) * len(table.columns) for table in tables),
            measured_numbers=sum(value is not None for rows in measured for row in rows for value in row),
            models_not_available=models.missing,
        ),
        tables=list(tables),
        notes=notes,
        work=dict(models.work),
    )


def _nested(values: np.ndarray) -> list[list[Number]]:
    return [[number(value) for value in row] for row in values]
