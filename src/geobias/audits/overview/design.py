"""What `geobias.audit` asks of which model: the audits that fit its kind, each cut to what a first look needs.

The sample sizes are fixed, not fitted to the machine: the same command gives the same numbers everywhere.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from geobias.audits.downstream.audit import audit_downstream
from geobias.audits.inputs import NobodyNamedError, describe_copies
from geobias.audits.names.audit import audit_names
from geobias.audits.overview.result import Overview
from geobias.audits.plan import Plan, join_plans
from geobias.audits.regions.audit import audit_regions
from geobias.audits.study import IndexEntry, RunIndex, RunOptions, assign_folders, prepare, save_index
from geobias.engine.ask import compute_on
from geobias.errors import InputError
from geobias.models.kinds import Task, find_tasks
from geobias.models.scorer import EMBEDDED_CLASSIFIERS, EMBEDDED_LM
from geobias.models.sources import is_function_name
from geobias.report.results import AuditResult
from geobias.report.runs import index_folder, place_for, slug
from geobias.texts.user_texts import Texts

# The options of each audit; all others have their defaults.
REGIONS: dict[str, Any] = {"cities": 0}  # a first look
NAMES: dict[str, Any] = {"draws": 8}
DOWNSTREAM: dict[str, Any] = {"limit": 40}
NAMED_TWEETS = 36  # bundled tweets whose people are renamed
TEXTS_READ, NAMED_TEXTS = 1000, 100  # of the user's: how many are searched for people, and how many are renamed


@dataclass(frozen=True)
class OverviewDesign:
    """The studies to run, and what they ask."""

    studies: dict[str, Any]
    """By the folders of their runs, below that of all."""
    scope: list[str]
    """What is audited, one sentence for each audit; and why one is left out."""


def design_overview(
    models: Any, texts: Any, *, column: str, labels: str | None, run: Mapping[str, Any]
) -> OverviewDesign:
    """Find out what every model is, and design the audits that fit; raise InputError before any work is done.

    `run` has the options that go to all audits as they are.
    """
    if isinstance(texts, Mapping):
        raise InputError("This audit takes texts of one language. Use audit_names for several.")
    several = _list_models(models)
    language_models, classifiers = _sort_models(several, has_texts=texts is not None, has_labels=labels is not None)
    classified = {"texts": texts, "column": column, "labels": labels, **run}
    studies: dict[str, Any] = {}
    scope = []
    if language_models:
        paths = _choose_paths("regions", [str(getattr(model, "name", model)) for model in language_models])
        without_files = {name: value for name, value in run.items() if name != "allow"}
        for path, model in zip(paths, language_models, strict=True):
            studies[path] = prepare(audit_regions, model, **REGIONS, **without_files)
        design = studies[paths[0]].design
        scope.append(f"Regions: {len(design.tree) - 1:,} regions (without cities), {len(design.words)} words.")
    if classifiers:
        try:
            studies["names"] = _prepare_names(classifiers, classified)
            scope.append(_describe_names(studies["names"].design))
        except NobodyNamedError as error:
            scope.append(f"Names: skipped. {error}")
        # Of the bundled classifiers only the first: all four together would take longer than a first look should.
        studies["downstream"] = prepare(
            audit_downstream, classifiers if several else classifiers[:1], **classified, **DOWNSTREAM
        )
        placed = studies["downstream"].design
        scope.append(
            f"Downstream: the first {len(placed.texts)} texts{_describe_copies(placed.texts)}, each with a prefix for "
            f"{len(placed.places)} countries."
        )
    return OverviewDesign(studies, scope)


@dataclass(frozen=True)
class OverviewStudy:
    """The studies one after the other; every folder is checked before the first model is loaded."""

    design: OverviewDesign
    options: RunOptions

    def run(self) -> Overview:
        design, options = self.design, self.options
        folder = None if options.out is None else place_for(options.out)
        index = None if folder is None else index_folder(folder, list(design.studies))
        if index and folder:
            index.check()
            assign_folders(folder, design.studies)
        results: dict[str, AuditResult] = {}
        with index.hold() if index else nullcontext():
            with compute_on(options.ray, options.device, options.dtype) as (device, dtype):
                for path, study in design.studies.items():
                    study.options = replace(study.options, device=device, dtype=dtype, ray=None)
                    results[path] = study.run()
            if index:
                save_index(index, RunIndex([IndexEntry(path) for path in results]))
        return Overview(results, design.scope, folder)

    def plan(self) -> Plan:
        """How long all studies together take, and how small an effect they can find."""
        studies = self.design.studies.values()
        return join_plans([(study.audit, study.plan()) for study in studies], self.design.scope)


def _list_models(models: Any) -> list[Any]:
    """Each model once; an empty list stands for the bundled ones."""
    several = list(models) if isinstance(models, list | tuple) else [] if models is None else [models]
    names = [str(model) if isinstance(model, Path) else model for model in several]
    return list({model if isinstance(model, str) else id(model): model for model in names}.values())


def _sort_models(models: Sequence[Any], *, has_texts: bool, has_labels: bool) -> tuple[list[Any], list[Any]]:
    """The language models and the classifiers among the models, or the bundled ones."""
    if not models:
        tasks: list[tuple[Task, ...]] = []
        language_models, classifiers = [EMBEDDED_LM], list(EMBEDDED_CLASSIFIERS)
    else:
        tasks = [find_tasks(model, has_labels=has_labels) for model in models]
        language_models = [model for model, task in zip(models, tasks, strict=True) if "language model" in task]
        classifiers = [model for model, task in zip(models, tasks, strict=True) if "classifier" in task]
    takes_labels = any(len(task) > 1 for task in tasks) or any(map(_is_function, classifiers))
    if has_labels and not takes_labels:
        raise InputError("--labels is only for generative language models and functions. Remove it.")
    if has_texts and not classifiers:
        raise InputError(
            f"--texts is only for classifiers, and {_list_names(models)} is none. Remove it. To use a generative "
            "language model as a classifier, add --labels."
        )
    return language_models, classifiers


def _is_function(model: Any) -> bool:
    return is_function_name(model) if isinstance(model, str) else callable(model)


def _list_names(models: Sequence[Any]) -> str:
    return ", ".join(str(getattr(model, "name", model)) for model in models)


def _prepare_names(classifiers: Sequence[Any], options: Mapping[str, Any]) -> Any:
    """Of the user's texts the first that name somebody, wherever they stand; of the bundled tweets the first."""

    def prepare_first(limit: int) -> Any:
        return prepare(audit_names, classifiers, limit=limit, **options, **NAMES)

    if options["texts"] is None:
        return prepare_first(NAMED_TWEETS)
    study = prepare_first(TEXTS_READ)
    named = study.design.named
    return study if len(named) <= NAMED_TEXTS else prepare_first(study.design.rows[named[NAMED_TEXTS - 1]] + 1)


def _describe_names(design: Any) -> str:
    texts, countries, draws = design.counterfactuals.shape
    return (
        f"Names: {texts} of the first {len(design.texts):,} texts{_describe_copies(design.texts)} name people; "
        f"{countries} countries, {draws} draws."
    )


def _describe_copies(texts: Texts) -> str:
    return describe_copies(len(texts), texts.copies)


def _choose_paths(folder: str, names: Sequence[str]) -> list[str]:
    """The folder itself for a single model, one below it for each of several."""
    if len(names) == 1:
        return [folder]
    paths: list[str] = []
    for name in names:
        path = stem = f"{folder}/{slug(name)}"
        while path in paths:
            path = f"{stem}-{len(paths) + 1}"
        paths.append(path)
    return paths
