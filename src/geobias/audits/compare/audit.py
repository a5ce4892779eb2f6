"""`geobias.compare`: finished runs of one audit, each against the first, on the same texts, names or words."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from geobias.audits.compare.result import CompareResult, CompareSettings
from geobias.audits.pages import read_run
from geobias.audits.registry import audits_with, get_audit
from geobias.audits.side_by_side import differing_settings, get_setting
from geobias.audits.study import RunOptions, Study
from geobias.errors import InputError
from geobias.models.scorer import Scorer
from geobias.report.runs import FinishedRun

Runs = list[FinishedRun[Any]]


def compare(runs: Sequence[str | Path], *, out: str | Path | None = None) -> CompareResult:
    """Do models differ? Finished runs of one audit on the same texts and names, or on the same regions and words.

    `runs` are the folders of two or more runs; each is compared with the first. Every difference is the second minus
    the first, with an interval and an adjusted p-value. With `out` the comparison is saved like any run.
    """
    return CompareStudy(runs, RunOptions(out=out)).run()


class CompareStudy(Study[Scorer, Runs, CompareResult]):
    """A comparison asks no model: it reads the answers of finished runs."""

    audit = "compare"

    def __init__(self, folders: Sequence[str | Path], options: RunOptions) -> None:
        super().__init__(options)
        if len(folders) < 2:
            raise InputError("A comparison needs two runs or more: name their folders.")
        self.runs = [read_run(Path(folder), audits_with("compare", "compare_runs")) for folder in folders]
        for run in self.runs[1:]:
            refuse_incomparable(self.runs[0], run)

    def settings(self) -> CompareSettings:
        return CompareSettings(self.runs[0].result.audit, [str(run.folder) for run in self.runs])

    def load(self, device: str, dtype: str) -> list[Scorer]:
        return []

    def ask(self, scorers: Sequence[Scorer]) -> Runs:
        return self.runs

    def measure(self, answers: Runs) -> CompareResult:
        first, *others = answers
        compare_runs = get_audit(first.result.audit).load("compare", "compare_runs")
        return CompareResult(
            settings=self.settings(),
            models=[model for run in answers for model in run.result.model_identities],
            comparisons=[compare_runs(first, other) for other in others],
            work={"models_asked": 0},
        )


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
        raise InputError(f"{folders}: other {label}{f' ({values[0]} and {values[1]})' if shows else ''}.")
