"""A finished run in MLflow: its numbers as metrics, its settings as parameters, its tables and page as artifacts.

Several runs may share a run of MLflow, which never changes a parameter: parameters and artifacts are below
`geobias/NAME`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from geobias.audits.evidence.bundle import copy_run
from geobias.audits.pages import find_run_folder, read_runs
from geobias.audits.reports import RunNumber, list_numbers, list_summary_numbers
from geobias.checks import need
from geobias.report.runs import FinishedRun, slug

if TYPE_CHECKING:
    from geobias.audits.finished_runs import Run

LONGEST_PARAMETER = 500  # characters that every version of MLflow takes
FORBIDDEN = re.compile(r"[^\w./:\- ]", re.ASCII)  # in the name of a metric


def log_run(run: Run, *, every_number: bool = False) -> str:
    """Log a finished run to MLflow: metrics with their intervals, parameters, tables and the page.

    Logs to the active run of MLflow, or to a new one. No text that was scored is logged: files with a row for each text
    are left out, and the results and the page are logged without examples, as `write_evidence` has them.

    Parameters
    ----------
    run : str, Path or result
        A finished run: its folder (also one of several runs), or the result of an audit that was saved (`out`).
    every_number : bool, default False
        Whether to log the numbers of every country and region too, not only those that sum up a model.

    Returns
    -------
    str
        The id of the run in MLflow.

    Raises
    ------
    InputError
        If MLflow is not installed, or if the run was not saved or is not finished.

    Examples
    --------
    >>> from geobias.integrations.mlflow import log_run
    >>> log_run("runs/names")  # doctest: +SKIP
    """
    need("mlflow", extra="mlflow", user="Logging to MLflow")
    import mlflow

    runs = read_runs(find_run_folder(run))
    active = mlflow.active_run()
    if active is not None:
        _log(mlflow, runs, every_number)
        return str(active.info.run_id)
    with mlflow.start_run(run_name=find_run_folder(run).name) as new_run:
        _log(mlflow, runs, every_number)
    return str(new_run.info.run_id)


def _log(mlflow: Any, runs: list[FinishedRun[Any]], every_number: bool) -> None:
    for run in runs:
        result = run.result
        numbers = list_numbers(result) if every_number else list_summary_numbers(result)
        mlflow.log_metrics(dict(metric for number in numbers for metric in list_metrics(number)))
        clear = sum(finding.evidence == "clear" for finding in result.findings)
        mlflow.log_metric(f"{result.audit}.findings.clear", clear)
        parameters = {
            "geobias": result.versions["geobias"],
            "audit": result.audit,
            "models": ", ".join(model.name for model in result.model_identities),
            "command": run.description.command or "Python",
        }
        place = f"geobias/{slug(run.folder.name)}"
        mlflow.log_params({f"{place}/{name}": value[:LONGEST_PARAMETER] for name, value in parameters.items()})
        with TemporaryDirectory() as folder:
            copy_run(run, Path(folder, "run"), with_texts=False)
            mlflow.log_artifacts(str(Path(folder, "run")), place)


def list_metrics(number: RunNumber) -> Iterator[tuple[str, float]]:
    """A number and the ends of its interval, by names that MLflow takes."""
    parts = FORBIDDEN.sub("_", number.path).split("/")
    name = "/".join(part for part in parts if part not in ("", ".", ".."))  # as in a path, which MLflow makes of it
    yield name, number.value
    if number.low is not None and number.high is not None:
        yield f"{name}.low", number.low
        yield f"{name}.high", number.high
