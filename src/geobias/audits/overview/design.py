"""What `geobias audit` asks of which model: the audits that fit its kind, each cut to what a first look needs.

The sample sizes are fixed, not fitted to the machine: the same command gives the same numbers everywhere.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from geobias.audits.downstream.audit import DownstreamStudy
from geobias.audits.downstream.design import DownstreamOptions, design_downstream
from geobias.audits.inputs import describe_copies
from geobias.audits.names.audit import audit_names
from geobias.audits.names.design import NamesDesign
from geobias.audits.names.study import NamesStudy
from geobias.audits.regions.audit import RegionsStudy
from geobias.audits.regions.design import RegionsOptions, design_regions
from geobias.audits.renaming import NobodyNamedError
from geobias.audits.study import RunOptions, prepare
from geobias.errors import InputError
from geobias.models.kinds import Task, find_tasks
from geobias.models.scorer import EMBEDDED_CLASSIFIERS, EMBEDDED_LM
from geobias.models.sources import is_function_name
from geobias.report.runs import slug
from geobias.texts.user_texts import Texts

# The options of each audit; all others have their defaults.
REGIONS: dict[str, Any] = {"cities": 0}  # a first look
NAMES: dict[str, Any] = {"draws": 8}
DOWNSTREAM: dict[str, Any] = {"limit": 40}
NAMED_TWEETS = 36  # bundled tweets whose people are renamed
TEXTS_READ, NAMED_TEXTS = 1000, 100  # of the user's: how many are searched for people, and how many are renamed
AnyStudy = RegionsStudy | NamesStudy | DownstreamStudy


@dataclass(frozen=True)
class OverviewOptions:
    """The options of `geobias.audit`, as the user gives them."""

    models: Any = None
    texts: Any = None
    column: str = "text"
    labels: str | None = None


@dataclass(frozen=True)
class OverviewDesign:
    """The studies to run, and what they ask."""

    studies: dict[str, AnyStudy]
    """By the folders of their runs, below that of all."""
    scope: list[str]
    """What is audited, one sentence for each audit; and why one is left out."""
    may_take_long: bool
    """Whether to time a few texts first: the bundled models take a few minutes, functions may cost money."""


def design_overview(options: OverviewOptions, run_options: RunOptions) -> OverviewDesign:
    """Find out what every model is, and design the audits that fit; raise InputError before any work is done."""
    if isinstance(options.texts, Mapping):
        raise InputError("This audit takes texts of one language. Use audit_names for several.")
    models = _list_models(options.models)
    language_models, classifiers = _sort_models(models, options)
    studies: dict[str, AnyStudy] = {}
    scope = []
    if language_models:
        design = design_regions(RegionsOptions(**REGIONS))
        paths = _choose_paths("regions", [str(getattr(model, "name", model)) for model in language_models])
        for path, model in zip(paths, language_models, strict=True):
            studies[path] = RegionsStudy(design, model, None, run_options)
        scope.append(f"Regions: {len(design.tree) - 1:,} regions (without cities), {len(design.words)} words.")
    if classifiers:
        try:
            names = _prepare_names(options, classifiers, run_options)
            studies["names"] = names
            scope.append(_describe_names(names.design))
        except NobodyNamedError as error:
            scope.append(f"Names: skipped. {error}")
        placed = design_downstream(
            DownstreamOptions(texts=options.texts, column=options.column, labels=options.labels, **DOWNSTREAM)
        )
        # Of the bundled classifiers only the first: all four together would take longer than a first look should.
        studies["downstream"] = DownstreamStudy(placed, classifiers if models else classifiers[:1], run_options)
        scope.append(
            f"Downstream: the first {len(placed.texts)} texts{_describe_copies(placed.texts)}, each with a prefix for "
            f"{len(placed.places)} countries."
        )
    may_take_long = any(not str(model).startswith("embedded/") for model in models)
    return OverviewDesign(studies, scope, may_take_long and not any(map(_is_function, models)))


def _list_models(models: Any) -> list[Any]:
    """Each model once; an empty list stands for the bundled ones."""
    several = list(models) if isinstance(models, list | tuple) else [] if models is None else [models]
    names = [str(model) if isinstance(model, Path) else model for model in several]
    return list({model if isinstance(model, str) else id(model): model for model in names}.values())


def _sort_models(models: Sequence[Any], options: OverviewOptions) -> tuple[list[Any], list[Any]]:
    """The language models and the classifiers among the models, or the bundled ones."""
    if not models:
        tasks: list[tuple[Task, ...]] = []
        language_models, classifiers = [EMBEDDED_LM], list(EMBEDDED_CLASSIFIERS)
    else:
        tasks = [find_tasks(model, has_labels=options.labels is not None) for model in models]
        language_models = [model for model, task in zip(models, tasks, strict=True) if "language model" in task]
        classifiers = [model for model, task in zip(models, tasks, strict=True) if "classifier" in task]
    takes_labels = any(len(task) > 1 for task in tasks) or any(map(_is_function, classifiers))
    if options.labels is not None and not takes_labels:
        raise InputError("--labels is only for generative language models and functions. Remove it.")
    if options.texts is not None and not classifiers:
        raise InputError(
            f"--texts is only for classifiers, and {_list_names(models)} is none. Remove it. To use a generative "
            "language model as a classifier, add --labels."
        )
    return language_models, classifiers


def _is_function(model: Any) -> bool:
    return is_function_name(model) if isinstance(model, str) else callable(model)


def _list_names(models: Sequence[Any]) -> str:
    return ", ".join(str(getattr(model, "name", model)) for model in models)


def _prepare_names(options: OverviewOptions, classifiers: Sequence[Any], run_options: RunOptions) -> NamesStudy:
    """Of the user's texts the first that name somebody, wherever they stand; of the bundled tweets the first."""

    def prepare_first(limit: int) -> NamesStudy:
        more: dict[str, Any] = {**NAMES, **vars(run_options)}
        texts = {"texts": options.texts, "column": options.column, "labels": options.labels, "limit": limit}
        study: NamesStudy = prepare(audit_names, classifiers, **texts, **more)
        return study

    if options.texts is None:
        return prepare_first(NAMED_TWEETS)
    study = prepare_first(TEXTS_READ)
    rows, named = study.design.rows, study.design.named
    return study if len(named) <= NAMED_TEXTS else prepare_first(rows[named[NAMED_TEXTS - 1]] + 1)


def _describe_names(names: NamesDesign) -> str:
    texts, countries, draws = names.counterfactuals.shape
    return (
        f"Names: {texts} of the first {len(names.texts):,} texts{_describe_copies(names.texts)} name people; "
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
