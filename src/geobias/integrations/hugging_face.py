"""A run for the Hugging Face Hub: a section of the model card, and metadata of README.md.

A card says what was scored, the numbers with their intervals, and what they do not say. Example texts are left out:
a card is public, and they may offend or be private.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from geobias.audits.pages import find_run_folder, read_runs
from geobias.audits.reports import RunNumber, describe, list_card_rows, list_summary_numbers
from geobias.errors import InputError
from geobias.files import check_replaceable, save_file
from geobias.report.findings import state_verdict, with_role
from geobias.report.runs import FinishedRun
from geobias.report.sentences import format_list, to_markdown

if TYPE_CHECKING:
    from geobias.audits.finished_runs import Run

CARD, MODEL_INDEX = CARDS = ("card", "model-index")
HEADING = "## Bias by place and nationality"
NULL_LIMIT = "No clear difference does not mean no bias: other words, names or texts may show one."
CLOSING = "These results describe the model on these words, names or texts, not the people of a place."
TASKS = {"probabilities": "text-classification"}  # by the score of a model; all others are of language models
DATASET = "geobias"
FIRST_LINE = "# Bias by place and nationality, measured by geobias."


def write_card(run: Run, *, to: str = CARD, out: str | Path | None = None) -> str:
    """A finished run as a section in Markdown, or its numbers as metadata in YAML; also into a file."""
    runs = read_runs(find_run_folder(run))
    text = render_card(runs) if to == CARD else render_model_index(runs)
    if out is not None:
        check_replaceable(Path(out), is_card if to == CARD else is_hub_metadata)
        save_file(Path(out), text.encode())
    return text


def render_card(runs: Sequence[FinishedRun[Any]]) -> str:
    """All runs under one heading, as Markdown: findings, a table of numbers, and limits.

    Example texts are left out: a card is public, and they may offend or be private.
    """
    findings = [finding for run in runs for finding in run.result.findings]
    limits = [*dict.fromkeys(to_markdown(finding.limit) for finding in findings)]
    if any(answer.evidence != "clear" for answer in with_role(findings, "overall")):
        limits.append(NULL_LIMIT)
    parts = [
        HEADING,
        *(part for run in runs for part in _describe_run(run)),
        *(["Limits:", format_list(limits)] if limits else []),
        CLOSING,
    ]
    return "\n\n".join(parts) + "\n"


def is_card(text: str) -> bool:
    """Whether a text is a card and nothing else: a README that a card was pasted into has more around it."""
    return text.startswith(HEADING) and text.rstrip().endswith(CLOSING)


def _describe_run(run: FinishedRun[Any]) -> Iterator[str]:
    findings = run.result.findings
    if findings:
        yield f"**{to_markdown(state_verdict(findings))}**"
    yield to_markdown(describe(run.result))
    if findings:
        yield format_list([f"*{finding.label_with_size}*: {to_markdown(finding.sentence)}" for finding in findings])
    rows = list_card_rows(run.result)
    if rows:
        yield _format_table(rows)
    measured = f"Measured by geobias {to_markdown(run.result.versions['geobias'])} on {run.description.finished[:10]}."
    if run.description.command:
        yield f"{measured} To repeat it:"
        yield _format_command(run.description.command)
    else:
        yield f"{measured} The settings are in the run's run.json."


def _format_table(rows: Sequence[dict[str, str]]) -> str:
    head, *lines = [
        "| " + " | ".join(map(to_markdown, line)) + " |" for line in (rows[0], *(row.values() for row in rows))
    ]
    return "\n".join([head, "|" + "---|" * len(rows[0]), *lines])


def _format_command(command: str) -> str:
    """A block of code whose fence is longer than any in it. Where the results went is nobody else's matter."""
    words = shlex.split(command)
    text = shlex.join(
        word
        for before, word in zip(["", *words], words, strict=False)
        if "--out" not in (word, before) and not word.startswith("--out=")
    )
    fence = "`" * max(3, 1 + max(map(len, re.findall("`+", text)), default=0))
    return f"{fence}\n{text}\n{fence}"


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


def is_hub_metadata(text: str) -> bool:
    """Whether a file holds such metadata and may be replaced."""
    return text.startswith(FIRST_LINE)


def _list_model_numbers(runs: Sequence[FinishedRun[Any]]) -> list[tuple[FinishedRun[Any], RunNumber]]:
    numbers = [(run, number) for run in runs for number in list_summary_numbers(run.result) if number.model]
    if not numbers:
        raise InputError("The run has no number that sums up one model. Use the card in Markdown.")
    return numbers
