"""Barriere and Cifuentes, Table 5: does a name that is strange to the language model change the class? (appendix E)

For every renamed text, how much its log-perplexity and the probability of a class differ from the original's; the
correlation over all texts and draws of a country, and over all countries (x 100).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from geobias.audits.names.result import NamesResult
from geobias.errors import InputError
from geobias.models.load import load_perplexity_scorer
from geobias.models.scorer import Scorer
from geobias.papers.names.table_1 import DRAWS, compare_countries
from geobias.papers.names.tasks import TASKS, Task, TaskModel, load_tasks
from geobias.papers.tables import Reproduction

TITLE = "local correlations with perplexity, pooled (x 100)"


def measure(
    models: Sequence[str] = (),
    *,
    perplexity: str | None = None,
    texts: Any = None,
    column: str = "text",
    limit: int | None = None,
    finder: str | None = None,
    draws: int = DRAWS,
    scripts: str = "all",
    device: str = "auto",
    progress: bool | None = None,
) -> Reproduction:
    """The correlations of all tasks."""
    options = {"texts": texts, "column": column, "limit": limit, "finder": finder, "draws": draws, "scripts": scripts}
    return measure_local("table_5", models, TASKS, perplexity, device, title=TITLE, progress=progress, **options)


def measure_local(
    name: str,
    models: Sequence[str],
    tasks: Sequence[Task],
    perplexity: str | None,
    device: str,
    *,
    title: str,
    texts: Any,
    draws: int,
    **options: Any,
) -> Reproduction:
    """A table of local correlations, by classifiers of these tasks."""
    missing: list[str] = []
    columns: dict[str, np.ndarray] = {}
    results = {}
    for model in load_tasks(models, missing, device, tasks):
        lm = load_perplexity(model, perplexity, missing, device)
        if lm is None:
            continue
        results[model] = model.rename(texts, draws, perplexity=lm, perplexity_draws=draws, device=device, **options)
        columns |= _correlate(model, results[model])
    if not results:
        raise InputError(
            f"No language model for perplexities is available here: {', '.join(missing)}. Add --perplexity."
        )
    table = compare_countries(name, columns, results, title=title, missing=missing)
    table.notes.extend(describe_perplexities(results, perplexity))
    return table


def load_perplexity(model: TaskModel, perplexity: str | None, missing: list[str], device: str) -> Scorer | None:
    """The user's language model, or the one that the task's classifier was made from; None where it is not here."""
    try:
        return load_perplexity_scorer(perplexity or model.task.lm, None, device=device, dtype="float32")
    except InputError:
        if perplexity is not None:
            raise
        if model.task.lm not in missing:
            missing.append(model.task.lm)
        return None


def describe_perplexities(models: Any, perplexity: str | None) -> list[str]:
    lms = [perplexity] if perplexity else dict.fromkeys(model.task.lm for model in models)
    return [
        f"Perplexities by {', '.join(lms)}, one token masked at a time. The paper does not name its language model: by "
        "default each classifier's own base."
    ]


def _correlate(model: TaskModel, result: NamesResult) -> dict[str, np.ndarray]:
    """By column of the table, a number for each country, then that of all."""
    pooled = {(row.label, row.code): row.correlation.value for row in result.correlations if row.over == "pooled"}
    assert result.counterfactuals is not None  # of a new run
    codes = (*result.counterfactuals.countries, None)
    own_labels = zip(model.labels, model.classifier.labels, strict=True)
    return {name: 100 * np.array([pooled[label, code] for code in codes], dtype=float) for name, label in own_labels}
