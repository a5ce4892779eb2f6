"""Finished runs in the format of Every Eval Ever (evalevalai.com): one JSON file for each run and model.

The fields are those of its schema 0.3; `make test-integrations` validates a file with the project's own validator.
"""

from __future__ import annotations

import hashlib
import json
import time
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from geobias.audits.pages import find_run_folder, read_runs
from geobias.audits.reports import RunNumber, describe, list_summary_numbers
from geobias.errors import InputError
from geobias.files import save_file
from geobias.models.scorer import ModelIdentity
from geobias.report.run_folder import RESULTS
from geobias.report.runs import FinishedRun, slug

if TYPE_CHECKING:
    from geobias.audits.finished_runs import Run

SCHEMA_VERSION = "0.3.0"
SOURCE = {  # who ran an audit, and how they are related to the developer, only they know: they may edit the file
    "source_name": "geobias",
    "source_type": "evaluation_run",
    "source_organization_name": "unknown",
    "evaluator_relationship": "other",
}
SHARES = ("recall", "precision", "gap", "auc", "impact_ratio")  # parts of paths whose numbers lie between 0 and 1
CONFIDENCE = 0.95


def export_run(run: Run, out: str | Path, *, developer: str | None = None) -> list[Path]:
    """Write a finished run in the format of Every Eval Ever: scores with confidence intervals.

    Parameters
    ----------
    run : str, Path or result
        A finished run: its folder (also one of several runs), or the result of an audit that was saved (`out`).
    out : str or Path
        Folder to write to. The files are OUT/geobias-AUDIT/DEVELOPER/MODEL/UUID.json, as the project arranges them.
    developer : str, optional
        Developer of the model. Default: the first part of its name, or "unknown" for a folder or a function.

    Returns
    -------
    list of Path
        The files, one for each run and model.

    Raises
    ------
    InputError
        If the run was not saved, is not finished or has no number that sums up a model.

    Examples
    --------
    >>> from geobias.integrations.every_eval_ever import export_run
    >>> export_run("runs/names", "data")  # doctest: +SKIP
    """
    runs = read_runs(find_run_folder(run))
    contents: dict[Path, bytes] = {}
    for finished in runs:
        by_model: dict[str, list[RunNumber]] = {}
        for number in list_summary_numbers(finished.result):
            if number.model is not None:
                by_model.setdefault(number.model.name, []).append(number)
        for name, numbers in by_model.items():
            record = make_record(finished, numbers, developer)
            folder = Path(out) / f"geobias-{finished.result.audit}" / record["model_info"]["id"]
            contents[folder / f"{_make_id(finished, name)}.json"] = json.dumps(record, indent=2).encode() + b"\n"
    if not contents:
        raise InputError("The run has no number that sums up one model. Pass a run of another audit.")
    for path, content in contents.items():
        save_file(path, content)
    return list(contents)


def make_record(run: FinishedRun[Any], numbers: Sequence[RunNumber], developer: str | None = None) -> dict[str, Any]:
    """The numbers of one model as a record of Every Eval Ever."""
    model = numbers[0].model
    assert model is not None
    created = f"{time.time():.3f}"
    described_model = _describe_model(model, run.result.versions, developer)
    return {
        "schema_version": SCHEMA_VERSION,
        "evaluation_id": f"geobias-{run.result.audit}/{described_model['id']}/{created}",
        "evaluation_timestamp": run.description.finished,
        "retrieved_timestamp": created,
        "source_metadata": SOURCE,
        "eval_library": {"name": "geobias", "version": run.result.versions["geobias"]},
        "model_info": described_model,
        "evaluation_results": [_describe_number(run, number) for number in numbers],
    }


def _describe_model(model: ModelIdentity, versions: dict[str, str], developer: str | None) -> dict[str, Any]:
    owner, name = _split_name(model.name)
    developer = slug(developer) if developer else owner
    details = {
        "deployment_type": "self_deployed" if model.endpoint is None else "unknown",
        "model_availability": "unknown",
        "score": model.score,
        "fingerprint": model.fingerprint,
        "dtype": model.dtype,
    }
    described: dict[str, Any] = {
        "name": name,
        "id": f"{developer}/{name}",
        "developer": developer,
        "additional_details": {key: value for key, value in details.items() if value is not None},
    }
    if model.endpoint is not None:
        described["inference_platform"] = "OpenAI-compatible server"
    elif "transformers" in versions and model.architecture is not None:
        described["inference_engine"] = {"name": "transformers", "version": versions["transformers"]}
    return described


def _describe_number(run: FinishedRun[Any], number: RunNumber) -> dict[str, Any]:
    assert number.model is not None
    name = ".".join(part for part in number.parts if part != number.model.name)
    details: dict[str, Any] = {"score": number.value}
    if number.low is not None and number.high is not None:
        details["uncertainty"] = {
            "confidence_interval": {"lower": number.low, "upper": number.high, "confidence_level": CONFIDENCE}
        }
    is_share = any(part in SHARES for part in number.parts)
    settings = run.result.settings
    texts = getattr(settings, "texts", None)
    return {
        "evaluation_name": f"geobias {run.result.audit}",
        "evaluation_result_id": name,
        "source_data": {
            "dataset_name": "geobias sentences" if texts is None else "texts of the audit",
            "source_type": "other",
        },
        "metric_config": {
            "evaluation_description": describe(run.result),
            "metric_id": name,
            "metric_name": name,
            "lower_is_better": number.lower_is_better,
            "score_type": "continuous",
            "min_score": 0.0,
            "max_score": 1.0 if is_share else "Infinity",
        },
        "score_details": details,
    }


def _split_name(name: str) -> tuple[str, str]:
    """Developer and model, as on the Hugging Face Hub; the path of a folder is left out."""
    developer, _, model = name.rpartition("/")
    return (slug(developer) if developer.count("/") == 0 and developer else "unknown"), slug(model)


def _make_id(run: FinishedRun[Any], name: str) -> uuid.UUID:
    """The same for the same results, so that a second export replaces the first."""
    content = (run.folder / RESULTS).read_bytes() + name.encode()
    return uuid.UUID(bytes=hashlib.sha256(content).digest()[:16], version=4)
