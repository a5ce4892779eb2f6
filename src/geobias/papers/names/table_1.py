"""Barriere and Cifuentes, Table 1: names of a country in place of the names in a text (section 3.1).

Every person in every text gets 50 names of one country after another, in any script, as in the paper. What changes in
per cent is how many texts are predicted as a class; Delta is 100 x (p(positive) - p(negative)), renamed minus original.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from geobias.audits.names.result import NamesResult
from geobias.measures.change import change_by_country
from geobias.papers.names.tasks import TaskModel, load_tasks
from geobias.papers.tables import Reproduction, read_published

TITLE = "change of Δ (points) and of predicted classes (per cent)"
DRAWS, OVERALL = 50, "Overall"
TEXTS_NOTE = (
    "The paper's 8,891 English tweets and their translations are not published: these are models on other texts "
    "({about}), so signs and orders can be compared, sizes hardly."
)


def measure(
    models: Sequence[str] = (),
    *,
    texts: Any = None,
    column: str = "text",
    limit: int | None = None,
    finder: str | None = None,
    draws: int = DRAWS,
    scripts: str = "all",
    device: str = "auto",
    progress: bool | None = None,
) -> Reproduction:
    """The changes of every class by country."""
    missing: list[str] = []
    columns: dict[str, np.ndarray] = {}
    results = {}
    for model in load_tasks(models, missing, device):
        results[model] = model.rename(
            texts, draws, column=column, limit=limit, finder=finder, scripts=scripts, device=device, progress=progress
        )
        columns |= _list_changes(model, results[model])
    return compare_countries("table_1", columns, results, title=TITLE, missing=missing)


def _list_changes(model: TaskModel, result: NamesResult) -> dict[str, np.ndarray]:
    """By column of the table, a number for each country."""
    (answers,), counterfactuals = result.answers, result.counterfactuals
    assert counterfactuals is not None  # of a new run
    change = change_by_country(
        answers.original[result.named],
        answers.renamed,
        counted=np.ones(counterfactuals.shape[::2], dtype=bool),
        positive=answers.positive,
        negative=answers.negative,
        threshold=answers.threshold,
        multi_label=answers.multi_label,
    )
    columns = dict(zip(model.labels, change.change.T, strict=True))
    return columns | ({"delta": change.delta} if "positive" in columns else {})


def compare_countries(
    name: str, columns: dict[str, np.ndarray], results: dict[TaskModel, NamesResult], **about: Any
) -> Reproduction:
    """A table of countries; `columns` have a number for each country of the audit, and may have that of all."""
    table, result = read_published("names", name), next(iter(results.values()))
    texts, counterfactuals = result.texts, result.counterfactuals
    assert counterfactuals is not None and texts is not None and result.named is not None  # of a new run
    position = {code: k for k, code in enumerate((*counterfactuals.countries, OVERALL))}
    codes = {row: OVERALL if row == (OVERALL,) else counterfactuals.gazetteer.find(row[0]) for row in table.rows}
    measured = {
        row: np.array([columns[name][position[code]] if name in columns else np.nan for name in table.columns])
        for row, code in codes.items()
        if code in position
    }
    stand_ins = [model.describe() for model in results if model.classifier.name != model.task.classifier]
    left_out = "".join(f" {row[0]} has too few names." for row, code in codes.items() if code not in position)
    renamed = (
        f"{len(result.named):,} of {len(texts):,} texts name somebody; {counterfactuals.draws} renamed versions of "
        f"each for each country, names in {'all scripts' if result.settings.scripts == 'all' else 'Latin script'}."
    )
    notes = [TEXTS_NOTE.format(about=f"{len(texts):,} of {texts.source}"), renamed + left_out, *stand_ins]
    models = list({str(each): each for result in results.values() for each in result.models}.values())
    return table.compare(measured, models=models, notes=notes, **about)
