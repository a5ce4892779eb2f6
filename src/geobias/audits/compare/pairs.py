"""Pairs of models in a comparison: how they are named, and which rows belong to them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from geobias.audits.compare.result import CompareResult, Comparison, Difference
from geobias.audits.labels import is_emotion
from geobias.audits.side_by_side import short_names
from geobias.measures.paired_differences import ORIGINALS


@dataclass(frozen=True)
class ModelPair:
    """Two models that were compared, and their differences by measure, the main measure first."""

    comparison: Comparison
    first: str
    """As sentences name it; with its run where several runs have a model of this name."""
    second: str
    model: str
    """The full name of the second model, told apart in the same way."""
    rows: dict[str, list[Difference]]

    @property
    def is_about_emotions(self) -> bool:
        """Whether a label is an emotion: it is neither better nor worse for the people in a text."""
        return any(is_emotion(row.label) for rows in self.rows.values() for row in rows if row.label)

    @property
    def second_key(self) -> tuple[str, str]:
        """The folder of the second run, and the model's name there."""
        row = next(iter(self.rows.values()))[0]
        return self.comparison.second, row.models[1]

    @property
    def title(self) -> str:
        return f"{self.second} minus {self.first}"


def list_pairs(result: CompareResult) -> list[ModelPair]:
    """Every pair of models of every comparison.

    Differences from the original texts are left out: they show what any renaming or prefix does, and are in the files.
    """
    runs = list(dict.fromkeys(run for each in result.comparisons for run in (each.first, each.second)))
    run_names = dict(zip(runs, short_names(list(map(Path, runs))), strict=True))
    runs_of: dict[str, set[str]] = {}
    for comparison in result.comparisons:
        for row in comparison.rows:
            for run, model in zip((comparison.first, comparison.second), row.models, strict=True):
                runs_of.setdefault(model, set()).add(run)
    model_names = {model: "/".join(Path(model).parts[-2:]) for model in runs_of}

    def name_model(run: str, model: str, name: str) -> str:
        return f"{name} ({run_names[run]})" if len(runs_of[model]) > 1 else name

    def name_shortly(run: str, model: str) -> str:
        is_unique = list(model_names.values()).count(model_names[model]) == 1
        return name_model(run, model, model_names[model] if is_unique else model)

    return [
        ModelPair(
            comparison,
            first=name_shortly(comparison.first, models[0]),
            second=name_shortly(comparison.second, models[1]),
            model=name_model(comparison.second, models[1], models[1]),
            rows=by_measure,
        )
        for comparison in result.comparisons
        for models, by_measure in _group(comparison)
    ]


def _group(comparison: Comparison) -> Iterator[tuple[list[str], dict[str, list[Difference]]]]:
    rows = [row for row in comparison.rows if row.against != ORIGINALS]
    for models, group in groupby(rows, key=lambda row: row.models):
        yield models, {measure: list(each) for measure, each in groupby(group, key=lambda row: row.measure)}
