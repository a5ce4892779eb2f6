"""`geobias.write_report` and `geobias.card`: finished runs as a page, and as a section of a model card."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml

from geobias.audits.model_card import is_card, render_card
from geobias.audits.pages import find_run_folder, read_runs, reads_runs, save_figures, write_page
from geobias.audits.reports import list_audits_with_card
from geobias.audits.run_numbers import RunNumber, list_summary_numbers
from geobias.checks import describe_choices
from geobias.errors import InputError
from geobias.files import check_replaceable, save_file
from geobias.report.page.build import is_page
from geobias.report.results import AuditResult
from geobias.report.run_folder import PAGE, add_to_run, holds_run, write_folder
from geobias.report.runs import FinishedRun, new_folder

Run = str | Path | AuditResult
CARD_FORMATS = ("markdown", "model-index", "eval-results")


def write_report(runs: Run | Sequence[Run], *, out: str | Path | None = None) -> Path:
    """Write one page for finished runs: findings, maps, charts, texts and limits.

    No model is needed. The page is a single file that works without a network. Its charts are also saved as SVG and PNG
    in a folder next to it.

    Parameters
    ----------
    runs : str, Path, result or sequence of them
        Finished runs: their folders, or results of audits that were saved (`out`).
    out : str or Path, optional
        Page to write, such as "page.html". Default: RUN/report.html for one run, a new folder under runs/ for several.

    Returns
    -------
    Path
        The page.

    Raises
    ------
    InputError
        If a run was not saved or is not finished, or if `out` is not a page or would replace a file of yours.

    Examples
    --------
    >>> import geobias
    >>> geobias.write_report(["runs/v1", "runs/v2"], out="versions.html")  # doctest: +SKIP
    PosixPath('versions.html')
    """
    several = [runs] if isinstance(runs, str | Path | AuditResult) else runs
    return write_page_and_figures(several, None if out is None else Path(out))[0]


@reads_runs
def write_page_and_figures(runs: Sequence[Run], page: Path | None) -> tuple[Path, list[str]]:
    """The page of these runs, and the names of its charts."""
    folders = list(dict.fromkeys(map(find_run_folder, runs)))
    finished = [run for folder in folders for run in read_runs(folder)]
    if not finished:
        raise InputError(f"{folders[0]} has no runs. Run the audit again." if folders else "Pass at least one run.")
    if page is not None and page.suffix.lower() not in (".html", ".htm"):
        raise InputError(f"--out must be an HTML file, such as {page / PAGE}.")
    if len(folders) == 1 and (page is None or page.resolve() == (folders[0] / PAGE).resolve()):
        with add_to_run(folders[0]) as staging:
            write_page(staging / PAGE, finished)
            figures = save_figures(staging / "figures", finished)
        return folders[0] / PAGE, figures
    page = page or new_folder("report") / PAGE
    if holds_run(page.parent):
        raise InputError(f"{page.parent} is the folder of another run. Choose another --out.")
    check_replaceable(page, is_page)
    with write_folder(figures_folder(page), "figures of a report") as staging:
        figures = save_figures(staging, finished)
    write_page(page, finished)
    return page, figures


def figures_folder(page: Path) -> Path:
    """The folder of a page's charts, as SVG and PNG."""
    return page.parent / ("figures" if page.name == PAGE else f"{page.stem}-figures")


@reads_runs
def card(run: Run, *, out: str | Path | None = None, format: str = "markdown", benchmark: str | None = None) -> str:
    """Describe a finished run for a model card: what was audited, the numbers and their limits.

    Parameters
    ----------
    run : str, Path or result
        A finished run: its folder (also one of several runs), or the result of an audit that was saved (`out`).
    out : str or Path, optional
        File to write it to. Default: none.
    format : {"markdown", "model-index", "eval-results"}, default "markdown"
        What to write:

        - "markdown": a section for README.md;
        - "model-index": the numbers as metadata of README.md on the Hugging Face Hub, in YAML;
        - "eval-results": the numbers as a file for the folder .eval_results of a repository on the Hub.
    benchmark : str, optional
        The dataset on the Hub that lists the tasks, as "owner/name". Needed for "eval-results" only.

    Returns
    -------
    str
        The section, as Markdown, or the metadata, as YAML.

    Raises
    ------
    InputError
        If the run was not saved, is not finished, or has no section; if `format` is unknown or lacks its `benchmark`;
        or if `out` would replace a file of yours.

    Examples
    --------
    >>> import geobias
    >>> print(geobias.card("runs/names"))  # doctest: +SKIP
    """
    if format not in CARD_FORMATS:
        raise InputError(f"Unknown format {format!r}. {describe_choices(format, CARD_FORMATS)}")
    if benchmark is not None and format != "eval-results":
        raise InputError("--benchmark needs --to eval-results. Use both, or neither.")
    runs = read_runs(find_run_folder(run), list_audits_with_card())
    if format == "model-index":
        text = render_model_index(runs)
    elif format == "eval-results":
        text = render_eval_results(runs, benchmark)
    else:
        text = render_card(runs)
    if out is not None:
        check_replaceable(Path(out), is_card if format == "markdown" else is_hub_metadata)
        save_file(Path(out), text.encode())
    return text


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
