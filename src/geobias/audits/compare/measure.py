"""From finished runs of one audit to their differences, each against the first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from geobias.audits.compare.result import CompareResult, CompareSettings, Difference, LeftOut, list_pairs
from geobias.audits.pages import find_run_folder, read_run
from geobias.audits.registry import get_audit
from geobias.audits.side_by_side import differing_settings, get_setting
from geobias.audits.study import finish
from geobias.errors import InputError
from geobias.models.scorer import ModelIdentity
from geobias.report.results import AuditResult
from geobias.report.runs import FinishedRun

Runs = list[FinishedRun[Any]]


def compare_folders(runs: Sequence[str | Path | AuditResult], out: str | Path | None) -> CompareResult:
    """Read finished runs and compare their answers; no model is asked."""
    if len(runs) < 2:
        raise InputError("A comparison needs at least two runs. Pass their folders.")
    first, *others = several = [read_run(find_run_folder(run)) for run in runs]
    compare_runs = get_audit(first.result.audit).find("compare", "compare_runs")
    if compare_runs is None:
        raise InputError(f"Runs of `geobias {first.result.audit}` cannot be compared. Pass runs of another audit.")
    for other in others:
        refuse_incomparable(first, other)
    comparisons = {str(other.folder): compare_runs(first, other) for other in others}
    rows = [
        replace(row, first_run=str(first.folder), second_run=second)
        for second, comparison in comparisons.items()
        for row in comparison.rows
    ]
    result = CompareResult(
        settings=CompareSettings(first.result.audit, [str(run.folder) for run in several]),
        models=list_compared_models(several, rows),
        differences=rows,
        left_out=[
            LeftOut(str(first.folder), second, model)
            for second, comparison in comparisons.items()
            for model in comparison.left_out
        ],
        nondeterministic_models=[model for run in several for model in run.result.nondeterministic_models],
        work={"models_asked": 0},
    )
    constant = {
        (str(run.folder), model)
        for run in several
        for model, kind in run.result.constant_answers.items()
        if kind == "all texts"
    }
    constant_models = [
        pair.model
        for pair in list_pairs(result)
        if (pair.runs[1], next(iter(pair.rows.values()))[0].second_model) in constant
    ]
    return finish(replace(result, constant_answers=dict.fromkeys(constant_models, "all texts")), out)


def list_compared_models(runs: Runs, rows: Sequence[Difference]) -> list[ModelIdentity]:
    """Each model once, without those that only one of the runs has."""
    names = {(row.first_run, row.first_model) for row in rows} | {(row.second_run, row.second_model) for row in rows}
    models: list[ModelIdentity] = []
    for run in runs:
        for model in run.result.model_identities:
            if (str(run.folder), model.name) in names and model not in models:
                models.append(model)
    return models


def refuse_incomparable(first: FinishedRun[Any], second: FinishedRun[Any]) -> None:
    """Refuse runs of other audits, or of other texts, words or places; the message names the first difference."""
    folders = f"{first.folder} and {second.folder} cannot be compared"
    audits = first.result.audit, second.result.audit
    if audits[0] != audits[1]:
        raise InputError(f"{folders}: one is a run of `geobias {audits[0]}`, the other of `geobias {audits[1]}`.")
    for setting, label in differing_settings(first.result, second.result).items():
        values = [get_setting(run.result, setting) for run in (first, second)]
        is_short = not setting.endswith(("texts", "mentions", "names", "digest"))
        shows = is_short and not any(isinstance(value, list) for value in values)
        raise InputError(f"{folders}: different {label}{f' ({values[0]} and {values[1]})' if shows else ''}.")
