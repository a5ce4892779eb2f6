"""How language models are asked and measured: one, or several that share a folder, each a separate run in it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from typing import Any

from geobias.audits.plan import LETTERS_A_TOKEN, Plan, Served, Workload, agree, timed, workload
from geobias.audits.regions.answers import RegionsAnswers, ask_regions, mark_names
from geobias.audits.regions.audit import audit_regions
from geobias.audits.regions.design import RegionsDesign
from geobias.audits.regions.measure import measure_regions
from geobias.audits.regions.result import RegionsResult, RegionsSettings
from geobias.audits.show_results import View, show_result, show_results
from geobias.audits.study import IndexEntry, RunIndex, RunOptions, Study, assign_folders, prepare, save_index
from geobias.engine.ask import compute_on
from geobias.errors import InputError
from geobias.models.kinds import read_model_object
from geobias.models.load import check_method, find_default_score, load, load_scorer
from geobias.models.scorer import EMBEDDED_LM, Scorer
from geobias.models.served_lm import ServedLM
from geobias.models.sources import is_function_name
from geobias.report.run_folder import RESERVED, RunFolder
from geobias.report.runs import index_folder, slug


class RegionsStudy(Study[Scorer, RegionsAnswers, RegionsResult]):
    """The same sentences, put to one language model by one score."""

    audit = "regions"

    def __init__(self, design: RegionsDesign, model: Any, score: str | None, options: RunOptions) -> None:
        super().__init__(options)
        self.design = design
        is_name = model is None or isinstance(model, str | Path)
        self.model = str(model or EMBEDDED_LM) if is_name else read_model_object(model)
        self.score = score
        self.folder: RunFolder | None = None

    def settings(self) -> RegionsSettings:
        return self.design.settings_for(*self.names())

    def names(self) -> tuple[str, str]:
        """The names of the model and of the score; a model given by its name is not loaded for it."""
        if isinstance(self.model, Served):
            return self.model.model, self.score or ServedLM.default_method
        if not isinstance(self.model, str):
            identity = load_scorer(self.model, self.score).identity()
            return identity.name, identity.score
        if self.score and is_function_name(self.model):
            raise InputError(f"The function {self.model} returns its own score. Remove --score {self.score}.")
        return self.model, self.score or find_default_score(self.model)

    @contextmanager
    def open_folder(self) -> Iterator[RunFolder | None]:
        with super().open_folder() as self.folder:
            yield self.folder

    def load(self, device: str, dtype: str) -> list[Scorer]:
        if isinstance(self.model, Served):
            self.model = connect(self.model, self.workload())
        scorer = load_scorer(self.model, self.score, device=device, dtype=dtype)
        if self.folder is not None:  # before hours of work, not after
            self.folder.check([scorer.fingerprint])
        return [scorer]

    def ask(self, scorers: Sequence[Scorer]) -> RegionsAnswers:
        return ask_regions(self.design, scorers[0], progress=self.options.progress)

    def measure(self, answers: RegionsAnswers) -> RegionsResult:
        return measure_regions(self.design, answers)

    def plan(self) -> Plan:
        """How long the study takes; for a served model, what would be sent."""
        if isinstance(self.model, Served):
            return Plan.of_served(self.workload())
        (scorer,) = self.load(self.options.device, self.options.dtype)
        design = self.design
        sentences = design.sentences(marked=scorer.needs_mark)
        besides = len(design.region_names) + design.added_texts + design.subset_texts
        step = timed(" ".join(self.names()), scorer, sentences, besides=besides)
        about = f"{len(design.tree):,} regions, {len(design.words)} words, {len(design.templates)} template(s)."
        return Plan(about, [step])

    def workload(self) -> Workload:
        """What would be sent to a server; texts of a placebo are about as long as its sentences."""
        assert isinstance(self.model, Served)
        lm = ServedLM(self.model.endpoint(), begin=self.model.begin)
        scorer, design = lm.scorer(self.score), self.design
        sentences = design.sentences(marked=scorer.needs_mark)
        known = lm.known_fingerprints(scorer.method)[:1]  # the model that answered last most likely answers again
        total = Workload(design.added_texts, design.added_texts * len(sentences[0]) // LETTERS_A_TOKEN)
        for texts in (sentences, mark_names(design.region_names, scorer)):
            total += workload(texts, scorer.columns, known, name=f"{lm.name} {scorer.method}")
        return total.add_checks()


def connect(served: Served, total: Workload) -> ServedLM:
    """The served model, once the user has agreed to what is sent to it."""
    lm = ServedLM(served.endpoint(), begin=served.begin)
    agree(served, total)
    if not lm.source.scores_first_token:
        raise InputError(
            "The server returns no score for the first token of a text. Set --server begin= to the token that starts "
            f"texts for {lm.name}, such as '<s>' or '<|endoftext|>'."
        )
    return lm


# Several language models, or one by several scores

Results = dict[str, RegionsResult]  # by the folders of their runs


def list_studies(
    models: Sequence[str] | Served, scores: Sequence[str], options: Mapping[str, Any]
) -> dict[str, RegionsStudy]:
    """A study of every model by every score (without any: its default), by their folders below that of all."""
    methods: list[str | None] = [*dict.fromkeys(check_method(score) for score in scores)] or [None]
    several = [models] if isinstance(models, Served) else models
    studies = [prepare(audit_regions, model, score=method, **options) for model in several for method in methods]
    return dict(zip(_choose_paths([study.names() for study in studies]), studies, strict=True))


def plan_studies(studies: Mapping[str, RegionsStudy]) -> Plan:
    first, *_ = studies.values()
    if isinstance(first.model, Served):
        return Plan.of_served(_add_workloads(studies.values()))
    loaded = _load_models(studies.values(), first.options.device, first.options.dtype)
    plans = [study.plan() for study in loaded]
    return Plan(plans[0].about, [step for plan in plans for step in plan.steps])


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
    if len(runs) == 1:
        show_result(runs[0], folder, view)
    else:
        show_results(runs if view.json else [_name_score(run) for run in runs], folder, view)


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
