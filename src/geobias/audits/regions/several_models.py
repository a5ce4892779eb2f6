"""Several language models, or one by several scores: each a separate run, below one folder with an index."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from typing import Any

from geobias.audits.plan import Plan
from geobias.audits.regions.audit import RegionsStudy, connect
from geobias.audits.regions.design import RegionsDesign
from geobias.audits.regions.result import RegionsResult
from geobias.audits.served_models import Served, Workload
from geobias.audits.show_results import View, show_results
from geobias.audits.study import IndexEntry, RunIndex, RunOptions, assign_folders, save_index
from geobias.engine.ask import compute_on
from geobias.models.load import check_method, load
from geobias.report.run_folder import RESERVED
from geobias.report.runs import index_folder, slug
from geobias.report.tables import print_json

Results = dict[str, RegionsResult]  # by the folders of their runs


def list_studies(
    design: RegionsDesign, models: Sequence[str] | Served, scores: Sequence[str], options: RunOptions
) -> dict[str, RegionsStudy]:
    """A study of every model by every score (without any: its default), by their folders below that of all."""
    methods: list[str | None] = [*dict.fromkeys(check_method(score) for score in scores)] or [None]
    several = [models] if isinstance(models, Served) else models
    studies = [RegionsStudy(design, model, method, options) for model in several for method in methods]
    return dict(zip(_choose_paths([study.names() for study in studies]), studies, strict=True))


def plan_studies(studies: Mapping[str, RegionsStudy]) -> Plan:
    first, *_ = studies.values()
    if isinstance(first.model, Served):
        return Plan.of_served(_add_workloads(studies.values()))
    loaded = _load_models(studies.values(), first.options.device, first.options.dtype)
    plans = [study.plan() for study in loaded]
    return Plan(
        plans[0].about,
        [step for plan in plans for step in plan.steps],
        [effect for plan in plans for effect in plan.effects],
    )


def run_studies(studies: Mapping[str, RegionsStudy], folder: Path) -> Results:
    """Run one after the other, each model loaded once; every folder is checked before the first is loaded."""
    index = index_folder(folder, list(studies)) if len(studies) > 1 else None
    if index:
        index.check()
    assign_folders(folder, studies)
    options = next(iter(studies.values())).options
    results = {}
    with index.hold() if index else nullcontext():
        with compute_on(options.ray, options.device, options.dtype) as (device, dtype):
            for path, study in zip(studies, _load_models(studies.values(), device, dtype), strict=True):
                results[path] = study.run()
        if index:
            entries = [IndexEntry(path, result.model.name, result.model.score) for path, result in results.items()]
            save_index(index, RunIndex(entries))
    return results


def show_runs(results: Results, folder: Path, view: View) -> None:
    """One run, or all of them with their overall answers side by side."""
    runs = list(results.values())
    if view.json and len(runs) == 1:
        print_json(runs[0].to_dict())
    else:
        show_results([_name_score(run) for run in runs] if len(runs) > 1 and not view.json else runs, folder, view)


def _name_score(result: RegionsResult) -> RegionsResult:
    """With the score after the model: runs may differ by it alone."""
    name = f"{result.model.name} ({result.model.score})"
    return replace(result, findings=[replace(finding, model=name) for finding in result.findings])


def _load_models(studies: Iterable[RegionsStudy], device: str, dtype: str) -> Iterator[RegionsStudy]:
    """The same studies with their models loaded, each model once and when it is needed."""
    for name, group in groupby(studies, key=lambda study: study.model):
        same_model = list(group)
        model: Any = (
            connect(name, _add_workloads(same_model))
            if isinstance(name, Served)
            else load(name, device=device, dtype=dtype)
        )
        for study in same_model:
            yield RegionsStudy(study.design, model, study.score, replace(study.options, ray=None))


def _add_workloads(studies: Iterable[RegionsStudy]) -> Workload:
    return sum((study.workload() for study in studies), Workload(0, 0))


def _choose_paths(names: Sequence[tuple[str, str]]) -> list[str]:
    """The folder of every model and score: that of all for a single one, <model>/<score> for several."""
    if len(names) == 1:
        return ["."]
    folders: dict[str, str] = {}
    for model in dict.fromkeys(model for model, _ in names):
        stem = folder = slug(model)
        while folder in {*folders.values(), *RESERVED}:
            folder = f"{stem}-{len(folders) + 1}"
        folders[model] = folder
    return [f"{folders[model]}/{score}" for model, score in names]
