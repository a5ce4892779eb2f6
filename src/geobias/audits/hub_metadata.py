"""Finished runs as metadata of the Hugging Face Hub: `model-index` for README.md, and files for `.eval_results/`.

Both are made by huggingface_hub's own classes. What a number means is in the section of the model card.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import yaml

from geobias.audits.run_numbers import RunNumber, list_summary_numbers
from geobias.errors import InputError
from geobias.report.runs import FinishedRun

TASKS = {"probabilities": "text-classification"}  # by the score of a model; all others are of language models
DATASET = "geobias"
REPOSITORY = re.compile(r"[\w.-]+/[\w.-]+", re.ASCII)
FIRST_LINE = "# Bias by place and nationality, measured by geobias."


def render_model_index(runs: Sequence[FinishedRun[Any]]) -> str:
    """The numbers that sum up each model as a `model-index`: YAML to add to the metadata of README.md."""
    from huggingface_hub import EvalResult
    from huggingface_hub.repocard_data import eval_results_to_model_index

    by_model: dict[str, list[Any]] = {}
    for run, number in _list_model_numbers(runs):
        assert number.model is not None
        settings = {"interval_95": [number.low, number.high]} if number.low is not None else None
        by_model.setdefault(number.model.name, []).append(
            EvalResult(
                task_type=TASKS.get(number.model.score, "text-generation"),
                dataset_type=DATASET,
                dataset_name=f"geobias {run.result.audit}",
                dataset_config=run.result.audit,
                dataset_args={"geobias": run.result.versions["geobias"], "date": run.description.finished[:10]},
                metric_type=".".join(part for part in number.parts if part != number.model.name),
                metric_name=number.path,
                metric_value=number.value,
                metric_args=settings,
            )
        )
    index = [entry for name, results in by_model.items() for entry in eval_results_to_model_index(name, results)]
    return f"{FIRST_LINE}\n{yaml.safe_dump({'model-index': index}, sort_keys=False, allow_unicode=True)}"


def render_eval_results(runs: Sequence[FinishedRun[Any]], benchmark: str | None) -> str:
    """The numbers of one model as entries for `.eval_results/`, each a task of `benchmark`, a dataset on the Hub."""
    from huggingface_hub import EvalResultEntry, eval_result_entries_to_yaml

    if benchmark is None:
        raise InputError("--to eval-results needs --benchmark OWNER/NAME: the dataset on the Hub that lists the tasks.")
    if not REPOSITORY.fullmatch(benchmark):
        raise InputError(f"--benchmark must be the id of a dataset, OWNER/NAME, not {benchmark!r}.")
    numbers = list(_list_model_numbers(runs))
    models = list(dict.fromkeys(number.model.name for _, number in numbers if number.model))
    if len(models) > 1:
        raise InputError(
            f"A repository holds the results of one model; the run has {len(models)}: {', '.join(models)}. Run the "
            "audit for one of them."
        )
    entries = [
        EvalResultEntry(
            dataset_id=benchmark,
            task_id=".".join(part for part in number.parts if part != models[0]),
            value=number.value,
            date=run.description.finished,
            notes=_describe_interval(run, number),
        )
        for run, number in numbers
    ]
    return f"{FIRST_LINE}\n{yaml.safe_dump(eval_result_entries_to_yaml(entries), sort_keys=False, allow_unicode=True)}"


def is_hub_metadata(text: str) -> bool:
    """Whether a file holds such metadata and may be replaced."""
    return text.startswith(FIRST_LINE)


def _describe_interval(run: FinishedRun[Any], number: RunNumber) -> str:
    version = f"geobias {run.result.versions['geobias']}"
    if number.low is None or number.high is None:
        return version
    return f"95 % interval {number.low:.6g} to {number.high:.6g}; {version}"


def _list_model_numbers(runs: Sequence[FinishedRun[Any]]) -> list[tuple[FinishedRun[Any], RunNumber]]:
    numbers = [(run, number) for run in runs for number in list_summary_numbers(run.result) if number.model]
    if not numbers:
        raise InputError("The run has no number that sums up one model. Use the card in Markdown.")
    return numbers
