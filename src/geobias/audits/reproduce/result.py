"""The papers' tables again: what is measured here beside what was published.

What is common to both papers stands here: which models stand where the published ones stood, a table in its forms, and
the result. What is measured for each table is in `reproduce_herb`, `reproduce_prefixes` and `reproduce_names`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np

from geobias.audits.model_identity import versions
from geobias.audits.numbers import number
from geobias.audits.reproduce.published import Published
from geobias.errors import InputError
from geobias.measures.ranks import rank_correlation
from geobias.models.scorer import Scorer
from geobias.models.sources import locate_weights

SCHEMA_VERSION = 1
MISSING = "not available here"
Loaded = TypeVar("Loaded")


@dataclass(frozen=True)
class Form:
    """A table's numbers in one form: rows x columns, NaN where nothing was measured."""

    name: str  # empty where a table has one form only
    published: np.ndarray
    measured: np.ndarray
    places: tuple[int, ...]  # digits after the point, by column

    def over_rows(self) -> list[float | None]:
        """For each column: are the rows in the same order as published?"""
        return [rank_correlation(self.published[:, k], self.measured[:, k]) for k in range(self.published.shape[1])]

    def over_columns(self, columns: Sequence[int]) -> list[float | None]:
        """For each row: are these columns in the same order as published?"""
        some = list(columns)
        return [rank_correlation(a[some], b[some]) for a, b in zip(self.published, self.measured, strict=True)]


@dataclass(frozen=True)
class Reproduced:
    """A published table with what was measured for it."""

    table: Published
    forms: tuple[Form, ...]
    taken_for: Mapping[str, str] = field(default_factory=dict)  # a printed column -> what it likely is
    ranked: tuple[str, ...] = ()  # columns of one kind, which can be ranked within a row
    notes: tuple[str, ...] = ()

    @property
    def ranked_columns(self) -> list[int]:
        return [self.table.columns.index(name) for name in self.ranked]

    @property
    def is_measured(self) -> bool:
        return not all(np.isnan(form.measured).all() for form in self.forms)

    def to_dict(self) -> dict[str, Any]:
        table = self.table
        return {
            "table": table.number,
            "title": table.title,
            "keys": list(table.keys),
            "columns": list(table.columns),
            "taken_for": dict(self.taken_for),
            "ranked": list(self.ranked),
            "rows": [list(names) for names in table.rows],
            "forms": [
                {
                    "form": form.name,
                    "places": list(form.places),
                    "published": _nested(form.published),
                    "measured": _nested(form.measured),
                    "rank_correlation_over_rows": form.over_rows(),
                    "rank_correlation_over_columns": form.over_columns(self.ranked_columns),
                }
                for form in self.forms
            ],
            "notes": list(self.notes),
        }


def _nested(values: np.ndarray) -> list[list[float | int | None]]:
    return [[number(value) for value in row] for row in values]


def published_only(table: Published, *notes: str) -> Reproduced:
    return Reproduced(table, (one_form(table, np.full(table.values.shape, np.nan)),), notes=notes)


def one_form(table: Published, measured: np.ndarray) -> Form:
    return Form("", table.values, measured, table.places)


@dataclass
class Models:
    """The published models or what stands in for them; which were asked, and which could not be had."""

    stand_ins: Mapping[str, str]
    device: str
    dtype: str
    asked: list[dict[str, Any]] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    work: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        from geobias.models.pretrained import resolve_device, resolve_dtype  # torch only where models are loaded

        resolve_dtype(self.dtype, resolve_device(self.device))  # else every model would seem out of reach

    def load(self, published: str, how: Callable[..., Loaded]) -> Loaded | None:
        """The model, or None where it is out of reach. A stand-in that cannot be loaded is the user's error."""
        given = self.stand_ins.get(published)
        try:
            return how(given or published, device=self.device, dtype=self.dtype)
        except InputError:
            if given is not None:
                raise
            if published not in self.missing:
                self.missing.append(published)
            return None

    def note(self, published: str, scorer: Scorer, work: Mapping[str, int]) -> None:
        """What was asked of a model, and in whose place."""
        identity = {**scorer.identity(), "published": published}
        if identity not in self.asked:
            self.asked.append(identity)
        self.work.update(work)


def checked_stand_ins(given: Sequence[str], known: Sequence[str], option: str = "--model") -> dict[str, str]:
    """PUBLISHED=LOCAL as a dictionary; a slip is found before the first model is asked."""
    found = {}
    for text in given:
        published, _, local = text.partition("=")
        if not local:
            raise InputError(f"{option} is PUBLISHED=LOCAL, for example {known[0]}=FOLDER, not {text!r}.")
        if published not in known:
            raise InputError(f"{option} {published!r} is not in the paper's tables: choose of {', '.join(known)}.")
        locate_weights(local)
        found[published] = local
    return found


@dataclass(frozen=True)
class ReproduceResult:
    """The tables of a paper, measured beside published."""

    settings: dict[str, Any] = field(repr=False)
    tables: tuple[Reproduced, ...]
    models: list[dict[str, Any]] = field(repr=False)
    missing: tuple[str, ...]
    work: dict[str, int]
    notes: tuple[str, ...] = ()  # of all tables together

    @property
    def counts(self) -> dict[str, Any]:
        """How much there is beside the published numbers."""
        cells = [form.measured for table in self.tables for form in table.forms]
        return {
            "tables": len(self.tables),
            "published_numbers": sum(table.table.values.size for table in self.tables),
            "measured_numbers": int(sum((~np.isnan(some)).sum() for some in cells)),
            "models_not_available": list(self.missing),
        }

    def to_dict(self) -> dict[str, Any]:
        """The content of results.json."""
        return {
            "schema_version": SCHEMA_VERSION,
            "audit": "reproduce",
            "settings": self.settings,
            "models": self.models,
            "versions": versions(),
            "counts": self.counts,
            "tables": [table.to_dict() for table in self.tables],
            "notes": list(self.notes),
        }


def result(
    settings: dict[str, Any], tables: Sequence[Reproduced], models: Models, notes: Sequence[str] = ()
) -> ReproduceResult:
    """The result, unless every model that it needs is out of reach: then one sentence that names them all."""
    if models.missing and not models.asked:
        raise InputError(
            f"These models are needed and {MISSING}: {', '.join(models.missing)}. Give a folder for each "
            f"(--model {models.missing[0]}=FOLDER), or put them into the Hugging Face cache on a machine "
            "with a network."
        )
    if models.missing:
        notes = [*notes, f"Models {MISSING}, so without a measured number: {', '.join(models.missing)}."]
    stand_ins = [f"{local} for {published}" for published, local in models.stand_ins.items()]
    if stand_ins:
        notes = [*notes, f"Standing in for published models: {', '.join(stand_ins)}. They are not the paper's."]
    return ReproduceResult(
        settings, tuple(tables), models.asked, tuple(models.missing), dict(models.work), tuple(notes)
    )
