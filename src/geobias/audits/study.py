"""The one path of every audit: resolve the design, ask, measure, save; the command then shows the result.

The public function of an audit (`audit_names`) resolves its options into a design and runs a `Study` of it.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, ClassVar, Generic, Protocol, TypeVar, cast

from geobias.audits.labels import read_true_labels
from geobias.audits.pages import add_findings, read_runs, write_run_page
from geobias.audits.plan import Plan, Served, Step, Workload, agree, classification, served_classifier, timed
from geobias.audits.reports import write_files
from geobias.engine.answer_checks import check_answers
from geobias.engine.ask import compute_on
from geobias.files import hash_file
from geobias.models.answers import Prompt, refuse_unused_prompt, require_prompt
from geobias.models.load import load_classifier
from geobias.models.saved_wrappers import Allowed
from geobias.models.scorer import Classifier, ModelIdentity
from geobias.report.results import SCHEMA_VERSION, AuditResult, to_json
from geobias.report.run_folder import PAGE, RESULTS, RunFolder, write_json
from geobias.report.runs import FinishedRun, RunDescription, place_for, typed_command


class AuditedModel(Protocol):
    """What a study needs of the models that it asks."""

    @property
    def fast_parts(self) -> tuple[str, ...]: ...

    def identity(self) -> ModelIdentity: ...


Models = TypeVar("Models", bound=AuditedModel)
Result = TypeVar("Result", bound=AuditResult)
Answers = TypeVar("Answers")
Outcome = TypeVar("Outcome", covariant=True)


@dataclass(frozen=True)
class RunOptions:
    """The options that every audit has: where it computes, where it saves, and whether it shows its progress.

    `allow` has the names in files of mitigated classifiers that may be imported or downloaded.
    """

    device: str = "auto"
    dtype: str = "auto"
    ray: str | None = None
    out: str | Path | None = None
    progress: bool | None = None
    allow: Allowed = ()


class Runnable(Protocol[Outcome]):
    """A study, or several that share a folder."""

    def run(self) -> Outcome: ...


_is_preparing: ContextVar[bool] = ContextVar("is_preparing", default=False)


def execute(study: Runnable[Outcome]) -> Outcome:
    """Run the study that a public function has made; within `prepare` hand it back."""
    return cast(Outcome, study) if _is_preparing.get() else study.run()


def prepare(audit: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
    """The study that a public function would run with these arguments: to plan it, or to run it as one of several."""
    token = _is_preparing.set(True)
    try:
        return audit(*arguments, **options)
    finally:
        _is_preparing.reset(token)


@dataclass(frozen=True)
class IndexEntry:
    """One of several runs below a folder."""

    path: str
    model: str | None = None
    score: str | None = None


@dataclass(frozen=True)
class RunIndex:
    """What index.json holds: the runs below a folder."""

    runs: list[IndexEntry]
    schema_version: int = SCHEMA_VERSION


class Study(ABC, Generic[Models, Answers, Result]):
    """One design, put to some models. `run` reads top to bottom; the parts that differ are the abstract methods."""

    audit: ClassVar[str]  # its row in the registry

    def __init__(self, options: RunOptions, design: Any = None) -> None:
        self.options, self.design = options, design
        self.used_parts: dict[str, list[str]] = {}  # of the fast path, by models that are loaded one by one in `ask`

    def run(self) -> Result:
        with self.open_folder() as folder:
            began = time.perf_counter()
            with (
                compute_on(self.options.ray, self.options.device, self.options.dtype) as (device, dtype),
                check_answers(getattr(self.settings(), "seed", 0)) as checks,
            ):
                scorers = self.load(device, dtype)
                answers = self.ask(scorers)
                nondeterministic = checks.list_nondeterministic()
            result = self.measure(answers)
            nondeterministic = [*result.nondeterministic_models, *nondeterministic]
            result = add_findings(replace(result, nondeterministic_models=nondeterministic))
            if folder is not None:
                save(folder, result, seconds=time.perf_counter() - began, fast=self.fast_parts(scorers))
                result = replace(result, folder=folder.path)
        return result

    def settings(self) -> Any:
        """Settings that identify a run, compared before a folder is written again: the design, if it is no more."""
        return self.design

    def load(self, device: str, dtype: str) -> Sequence[Models]:
        """The models, ready to score; none, where an audit asks none."""
        return []

    @abstractmethod
    def ask(self, scorers: Sequence[Models]) -> Answers:
        """What the models answer, as arrays."""

    @abstractmethod
    def measure(self, answers: Answers) -> Result:
        """Every number of the result."""

    def fast_parts(self, scorers: Sequence[Models]) -> dict[str, list[str]]:
        """The parts of the fast path that each model uses, for run.json."""
        return self.used_parts | {scorer.identity().name: list(scorer.fast_parts) for scorer in scorers}

    @contextmanager
    def open_folder(self) -> Iterator[RunFolder | None]:
        """The folder of the run, refused before any model is loaded if it holds something else; None without one."""
        if self.options.out is None:
            yield None
            return
        folder = RunFolder(place_for(self.options.out), to_json(self.settings()))
        folder.check()
        yield folder


class ClassifierStudy(Study[Classifier, tuple[Answers, ...], Result]):
    """The same texts, put to classifiers: names, folders, functions, loaded ones, or one behind a server.

    Its design has the `texts`, the `threshold` and the `prompt`, and `settings_for(classifiers)`.
    """

    def __init__(self, design: Any, classifiers: Any, options: RunOptions) -> None:
        super().__init__(options, design)
        self.prompt: Prompt | None = design.prompt
        self.served = classifiers if isinstance(classifiers, Served) else None
        if self.served:
            require_prompt(self.prompt, self.served.model)
        several = classifiers if isinstance(classifiers, list | tuple) else [classifiers]
        # What is no name is wrapped at once, which costs nothing; a name is loaded when the study runs.
        self.classifiers = [
            classifier if isinstance(classifier, str | Served) else load_classifier(classifier, prompt=self.prompt)
            for classifier in (str(each) if isinstance(each, Path) else each for each in several)
        ]

    @property
    def classifier_names(self) -> list[str]:
        if self.served:
            return [self.served.model]
        return [str(getattr(classifier, "name", classifier)) for classifier in self.classifiers]

    def settings(self) -> Any:
        return self.design.settings_for(self.classifier_names)

    def load(self, device: str, dtype: str) -> list[Classifier]:
        if self.served:
            agree(self.served, self.workload(self.served))
            return [served_classifier(self.served, require_prompt(self.prompt, self.served.model))]
        classifiers = [
            load_classifier(classifier, prompt=self.prompt, allow=self.options.allow, device=device, dtype=dtype)
            for classifier in self.classifiers
        ]
        for classifier in classifiers:
            classifier.learn_labels(self.texts_to_classify()[0])
        return classifiers

    @abstractmethod
    def texts_to_classify(self) -> list[Sequence[str]]:
        """The original texts, then the changed ones."""

    def ask(self, scorers: Sequence[Classifier]) -> tuple[Answers, ...]:
        refuse_unused_prompt(self.prompt, scorers)
        # Before the first is scored: a label that the last does not have must not cost an hour.
        readings = [self.read_labels(classifier) for classifier in scorers]
        return tuple(map(self.ask_classifier, scorers, readings))

    def read_labels(self, classifier: Classifier) -> dict[str, Any]:
        """How the answers of a classifier are read, by the fields that hold its answers."""
        design, name, labels = self.design, classifier.name, tuple(classifier.labels)
        several_fit = classifier.multi_label or design.threshold is not None
        truth, notes = read_true_labels(design.texts, name, labels, several_fit=several_fit)
        default_threshold = 0.5 if classifier.multi_label else None
        return {
            "labels": labels,
            "multi_label": classifier.multi_label,
            "threshold": default_threshold if design.threshold is None else design.threshold,
            "truth": truth,
            "notes": classifier.notes + notes,
        }

    @abstractmethod
    def ask_classifier(self, classifier: Classifier, reading: dict[str, Any]) -> Answers:
        """What one classifier answers; `reading` is from `read_labels`."""

    def plan(self) -> Plan:
        """How long the study takes, and how small an effect it can find; for a served model, what would be sent."""
        if self.served:
            return Plan.of_served(self.workload(self.served))
        classifiers = self.load(self.options.device, self.options.dtype)
        _, changed = self.texts_to_classify()
        steps = [timed(classifier.name, classifier, changed) for classifier in classifiers]
        return Plan(
            self.describe_size(), [*steps, *self.time_other_models()], list(map(self.find_smallest_effect, classifiers))
        )

    @abstractmethod
    def describe_size(self) -> str:
        """How many texts are classified, and what they are made of."""

    def time_other_models(self) -> list[Step]:
        """The steps of models that are no classifiers."""
        return []

    @abstractmethod
    def find_smallest_effect(self, classifier: Classifier) -> str:
        """In words, from a pilot."""

    def workload(self, served: Served) -> Workload:
        """What would be sent to a server."""
        return classification(served, require_prompt(self.prompt, served.model), *self.texts_to_classify())


def save(folder: RunFolder, result: AuditResult, *, seconds: float, fast: dict[str, list[str]]) -> None:
    """Write the run's files and its page aside and move them into place, run.json last."""
    results = result.to_dict()
    folder.check([model.fingerprint for model in result.model_identities])
    with folder.stage() as staging:
        (staging / "tables").mkdir()
        write_json(staging / RESULTS, results)
        description = RunDescription(
            finished=f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}",
            seconds=round(seconds, 1),
            work=result.work,
            fast=fast,
            command=typed_command(),
            results_sha256=hash_file(staging / RESULTS),
        )
        write_files(staging, result)
        folder.move_in(staging)
        finished = FinishedRun(folder.path, replace(result, folder=folder.path), description)
        write_run_page(staging / PAGE, folder.path, [finished])
        folder.move_in(staging)
        identity = ("schema_version", "audit", "settings", "model", "models", "versions")
        folder.finish({key: results[key] for key in identity if key in results} | to_json(description))


def finish(result: Result, out: str | Path | None) -> Result:
    """The end of an audit that asks no model: the result with its findings, saved where there is a folder."""
    result = add_findings(result)
    if out is None:
        return result
    folder = RunFolder(place_for(out), to_json(result.settings))
    save(folder, result, seconds=0.0, fast={})
    return replace(result, folder=folder.path)


def assign_folders(folder: Path, studies: Mapping[str, Study[Any, Any, Any]]) -> None:
    """Every study gets its folder below that of all; one that holds something else is refused before any work."""
    for path, study in studies.items():
        study.options = replace(study.options, out=folder / path)
        with study.open_folder():
            pass


def save_index(folder: RunFolder, index: RunIndex) -> None:
    """Write what ties several finished runs together, and the page of them all."""
    runs = [run for entry in index.runs for run in read_runs(folder.path / entry.path)]
    with folder.stage() as staging:
        write_run_page(staging / PAGE, folder.path, runs)
        folder.move_in(staging)
        folder.finish(to_json(index))
