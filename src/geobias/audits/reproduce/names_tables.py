"""The tables of Barriere and Cifuentes: change and Delta by country, correlations with perplexity.

Their tweets are not published, so what is compared is their models on other texts.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from geobias.audits.names.answers import ClassifierAnswers
from geobias.audits.names.design import NamesDesign
from geobias.audits.names.perplexity import score_originals
from geobias.audits.names.study import NamesStudy
from geobias.audits.reproduce.design import ENGLISH, LANGUAGES, MULTILINGUAL, TASKS, NamesTablesDesign, Task
from geobias.audits.reproduce.paper_study import PaperStudy
from geobias.audits.reproduce.published import PublishedTable, build_table
from geobias.audits.reproduce.result import ReproducedTable
from geobias.engine.ask import ask
from geobias.errors import InputError
from geobias.measures.change import change_by_country
from geobias.measures.correlation import pearson, pooled_correlation
from geobias.models.load import load, load_classifier
from geobias.models.scorer import Classifier, Scorer
from geobias.texts.user_texts import Texts

TEXTS_NOTE = (
    "The paper's 8,891 English tweets and their translations are not published: these are its models on other texts "
    "({about}), so signs and orders can be compared, sizes hardly."
)
LM_NOTE = (
    "The paper does not name the language model behind its perplexities: here the one that each classifier was made "
    f"from, {MULTILINGUAL} for sentiment, {ENGLISH} for the others, one token masked at a time."
)


@dataclass(frozen=True)
class OriginalAnswers:
    """Texts of one language: probabilities, and log-perplexities (NaN where the model does not know the language)."""

    probabilities: np.ndarray = field(repr=False)  # texts x labels
    log_perplexity: np.ndarray = field(repr=False)

    def correlations(self) -> np.ndarray:
        """Of perplexity with each probability, over the texts."""
        known = ~np.isnan(self.log_perplexity)
        return pearson(self.log_perplexity[known], self.probabilities[known])


@dataclass(frozen=True)
class TaskAnswers:
    """The answers of one classifier and its language model."""

    labels: tuple[str, ...]  # as the tables name them
    renaming: ClassifierAnswers | None
    originals: dict[str, OriginalAnswers]  # by language


TasksAnswers = dict[str, TaskAnswers]  # by task


class NamesTablesStudy(PaperStudy[NamesTablesDesign, TasksAnswers]):
    def ask(self, scorers: Sequence[Scorer]) -> TasksAnswers:
        if self.design.has("1", "5"):
            names = list(TASKS)
        else:
            names = ["sentiment", "hate"] if self.design.has("2") else ["sentiment"]
        answers = {name: self._ask_task(name) for name in names}
        return {name: task for name, task in answers.items() if task is not None}

    def measure_tables(self, answers: TasksAnswers) -> list[ReproducedTable]:
        return [_measure_table(table, self.design, answers) for table in self.design.tables]

    def notes(self) -> list[str]:
        about = (f"{language}: {len(texts):,} of {texts.source}" for language, texts in self.design.texts.items())
        return [TEXTS_NOTE.format(about=", ".join(about)), *([LM_NOTE] if self.design.has("2", "4", "5") else [])]

    def _ask_task(self, name: str) -> TaskAnswers | None:
        """None where the classifier is not available."""
        task = TASKS[name]
        classifier = self.load_model(task.classifier, load_classifier)
        lm = self.load_model(task.lm, load) if self.design.has("2", "4", "5") else None
        if classifier is None:
            return None
        labels = rename_labels(classifier, task)
        lm_scorer = None if lm is None else lm.scorer(lm.perplexity_method)
        renaming = None
        if self.design.renaming is not None:
            renaming = self._ask_renamed(self.design.renaming, classifier, labels, lm_scorer)
            self.record(task.classifier, classifier, renaming.work)
        originals = {}
        if lm_scorer is not None:
            self.record(task.lm, lm_scorer)
            if self.design.has("2", "4") and name in ("sentiment", "hate"):
                originals = {
                    language: self._ask_originals(classifier, lm_scorer, texts)
                    for language, texts in self.design.texts.items()
                }
                self.record(task.classifier, classifier)
        return TaskAnswers(labels, renaming, originals)

    def _ask_renamed(
        self, design: NamesDesign, classifier: Classifier, labels: tuple[str, ...], lm_scorer: Scorer | None
    ) -> ClassifierAnswers:
        perplexity_draws = design.options.perplexity_draws if lm_scorer else 0
        design = replace(design, options=replace(design.options, lm=lm_scorer, perplexity_draws=perplexity_draws))
        if "positive" in labels:  # whatever the classifier calls them, Delta is the difference of these two
            positive, negative = (classifier.labels[labels.index(tone)] for tone in ("positive", "negative"))
            design = replace(design, positive=[positive], negative=[negative])
        study = NamesStudy(design, classifier, self.options)
        (answers,) = study.ask(study.load(self.options.device, self.options.dtype))
        return answers

    def _ask_originals(self, classifier: Classifier, lm_scorer: Scorer, texts: Texts) -> OriginalAnswers:
        answers = ask(classifier, texts.texts, label=classifier.name, progress=self.options.progress)
        perplexities = score_originals(lm_scorer, texts, "mean", self.options.progress)
        return OriginalAnswers(answers.scores[:, : len(classifier.labels)], perplexities.log_perplexity)


def rename_labels(classifier: Classifier, task: Task) -> tuple[str, ...]:
    """The classifier's labels as the tables name them: by name, or LABEL_0, LABEL_1, ... by their order."""
    names = tuple(re.sub(r"^no[nt]?[\s_-]", "non_", label.casefold()) for label in classifier.labels)
    if sorted(names) == sorted(task.labels):
        return names
    if names == tuple(f"label_{k}" for k in range(len(task.labels))):
        return task.labels
    raise InputError(
        f"{classifier.name} cannot replace {task.classifier}: its labels are {', '.join(classifier.labels)}, not "
        f"{', '.join(task.labels)}."
    )


def _measure_table(table: PublishedTable, design: NamesTablesDesign, tasks: TasksAnswers) -> ReproducedTable:
    if table.number in ("2", "4"):
        return _measure_global_correlations(table, design, tasks)
    renaming = design.renaming
    if renaming is None:
        return build_table(table, notes=["This table needs English texts: --texts en=FILE."])
    columns: dict[str, np.ndarray] = {}
    for task in tasks.values():
        columns |= _changes(task, renaming) if table.number == "1" else _local_correlations(task, renaming)
    gazetteer, countries = renaming.counterfactuals.gazetteer, renaming.counterfactuals.countries
    positions = [
        len(countries) if name == "Overall" else countries.index(gazetteer.find(name)) for (name,) in table.rows
    ]
    unknown = np.full(len(countries) + 1, np.nan)
    measured = np.column_stack([columns.get(name, unknown)[positions] for name in table.columns])
    note = (
        f"{len(renaming.named):,} of {len(renaming.texts):,} texts name somebody; {renaming.counterfactuals.draws} "
        "renamed versions of each for each country."
    )
    return build_table(table, measured, notes=[note])


def _measure_global_correlations(
    table: PublishedTable, design: NamesTablesDesign, tasks: TasksAnswers
) -> ReproducedTable:
    """Tables 2 and 4: over all texts of a language, for each class."""
    correlations: dict[tuple[str, ...], float] = {
        (name, label, language): 100 * value
        for name, task in tasks.items()
        for language, answers in task.originals.items()
        for label, value in zip(task.labels, answers.correlations(), strict=True)
    }
    rows = table.rows if table.number == "2" else [("sentiment", *row) for row in table.rows]
    cells = [[correlations.get((*row, LANGUAGES[column]), np.nan) for column in table.columns] for row in rows]
    lacking = [f"{name} ({LANGUAGES[name]}=FILE)" for name in table.columns if LANGUAGES[name] not in design.texts]
    notes = [f"Without texts, so without a measured number: {', '.join(lacking)}; give --texts."] if lacking else []
    return build_table(table, np.array(cells), ranked=table.columns, notes=notes)


def _changes(task: TaskAnswers, design: NamesDesign) -> dict[str, np.ndarray]:
    """By column of Table 1, a number for each country."""
    answers = task.renaming
    assert answers is not None
    change = change_by_country(
        answers.original[design.named],
        answers.renamed,
        counted=np.ones(design.counterfactuals.shape[::2], dtype=bool),
        positive=answers.positive,
        negative=answers.negative,
        threshold=answers.threshold,
        multi_label=answers.multi_label,
    )
    columns = dict(zip(task.labels, change.change.T, strict=True))
    return columns | ({"delta": change.delta} if "positive" in columns else {})


def _local_correlations(task: TaskAnswers, design: NamesDesign) -> dict[str, np.ndarray]:
    """By column of Table 5, a number for each country, then that of all; none without a language model."""
    answers = task.renaming
    assert answers is not None
    if answers.perplexities is None:
        return {}
    log_perplexity = answers.perplexities.renamed
    correlation = pooled_correlation(
        log_perplexity,
        answers.renamed[:, :, : log_perplexity.shape[2]],
        answers.perplexities.original[design.named],
        answers.original[design.named],
    )
    values = 100 * np.vstack([correlation.by_country, correlation.overall])
    return dict(zip(task.labels, values.T, strict=True))
