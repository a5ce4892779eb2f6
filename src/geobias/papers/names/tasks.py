"""The classifiers of the names paper, and the user's in their place."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from geobias.audits.names.audit import audit_names
from geobias.audits.names.result import NamesResult
from geobias.errors import InputError
from geobias.models.load import load_classifier
from geobias.models.scorer import Classifier
from geobias.papers.tables import load_each


@dataclass(frozen=True)
class Task:
    """A classifier of the paper, the language model that it was made from, and its labels in their order."""

    name: str
    classifier: str
    lm: str
    labels: tuple[str, ...]


MULTILINGUAL, ENGLISH = "cardiffnlp/twitter-xlm-roberta-base", "cardiffnlp/twitter-roberta-base"
TASKS = (
    Task("sentiment", f"{MULTILINGUAL}-sentiment", MULTILINGUAL, ("negative", "neutral", "positive")),
    Task("emotion", f"{ENGLISH}-emotion", ENGLISH, ("anger", "joy", "optimism", "sadness")),
    Task("hate", f"{ENGLISH}-hate", ENGLISH, ("non_hate", "hate")),
    Task("offensive", f"{ENGLISH}-offensive", ENGLISH, ("non_offensive", "offensive")),
)


@dataclass(frozen=True)
class TaskModel:
    """A classifier in the place of one of the paper's."""

    task: Task
    classifier: Classifier
    labels: tuple[str, ...]  # as the tables name them

    def describe(self) -> str:
        """That it stands in for the paper's, and which column it leaves empty."""
        lacking = [label for label in self.task.labels if label not in self.labels]
        empty = f" It has no label {lacking[0]}, so that column is empty." if lacking else ""
        place = f"{self.classifier.name} stands in the columns of {self.task.classifier}"
        return f"{place}: its numbers need not agree.{empty}"

    def rename(self, texts: Any, draws: int, **options: Any) -> NamesResult:
        """Its answers to renamed texts; the paper renamed whatever its finder marked."""
        if "positive" in self.labels:  # whatever the classifier calls them, Delta is the difference of these two
            own_labels = dict(zip(self.labels, self.classifier.labels, strict=True))
            options |= {tone: [own_labels[tone]] for tone in ("positive", "negative")}
        return audit_names(self.classifier, texts, draws=draws, doubtful="keep", **options)


def load_tasks(
    models: Sequence[str], missing: list[str], device: str, tasks: Sequence[Task] = TASKS
) -> Iterator[TaskModel]:
    """The classifiers one after the other, each for the task that its labels are of."""
    published = {task.classifier: task for task in tasks}
    load_one = lambda name: load_classifier(name, device=device, dtype="float32")  # noqa: E731
    for name, classifier in load_each(models, list(published), load_one, missing):
        yield find_task(classifier, [published[name]] if name in published else tasks)


def find_task(classifier: Classifier, tasks: Sequence[Task] = TASKS) -> TaskModel:
    """The task with the classifier's labels: by name, or LABEL_0, LABEL_1, ... by their order."""
    names = tuple(re.sub(r"^no[nt]?[\s_-]", "non_", label.casefold()) for label in classifier.labels)
    numbered = tuple(f"label_{k}" for k in range(len(names)))
    for task in tasks:
        if sorted(names) == sorted(task.labels) or (names == numbered and len(names) == len(task.labels)):
            return TaskModel(task, classifier, task.labels if names == numbered else names)
    for task in tasks:  # such as Ekman's emotions, which lack one of the paper's and have others
        if len(set(names) & set(task.labels)) >= max(3, len(task.labels) - 1):
            return TaskModel(task, classifier, names)
    raise InputError(
        f"{classifier.name} has the labels {', '.join(classifier.labels)}, which are those of no task of this table: "
        f"{'; '.join(', '.join(task.labels) for task in tasks)}."
    )
