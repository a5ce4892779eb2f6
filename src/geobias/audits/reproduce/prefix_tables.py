"""HERB's Table 4: classifiers and labelled texts of two datasets, both of which the user has to give."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from geobias.audits.downstream.audit import DownstreamStudy
from geobias.audits.downstream.design import DownstreamDesign, DownstreamOptions, design_downstream
from geobias.audits.downstream.result import Place, Predictions
from geobias.audits.labels import find_main_label, label_tone
from geobias.audits.reproduce.published import PublishedTable, build_table
from geobias.audits.reproduce.result import DatasetSettings, ReproducedTable
from geobias.audits.study import RunOptions
from geobias.errors import InputError
from geobias.measures.shift import performance, shift
from geobias.models.load import load_classifier
from geobias.models.scorer import Classifier
from geobias.texts.input_table import read_table
from geobias.texts.templates import REGION, PrefixedTexts
from geobias.texts.user_texts import read_texts

PREFIXES = {"imdb": "The cast is from {region}.", "hatespeech18": "I am from {region}."}
SPLIT, TEST = "split", "test"
PrefixAnswers = dict[tuple[str, str], Predictions]  # by dataset and number of the table


@dataclass(frozen=True)
class Dataset:
    """Labelled texts, the classifier that scores them, and the prefixes of all countries."""

    name: str
    file: Path
    classifier: str
    design: DownstreamDesign = field(repr=False)

    @property
    def settings(self) -> DatasetSettings:
        texts = self.design.texts
        return DatasetSettings(str(self.file), len(texts), texts.digest, classifier=self.classifier)

    def design_for(self, table: PublishedTable) -> DownstreamDesign:
        """Table 4 has its own regions instead of all countries."""
        if table.number != "4":
            return self.design
        regions = [row[0].replace("-", " ") for row in table.rows]
        prefixes = [self.design.control, *(PREFIXES[self.name].replace(REGION, region) for region in regions)]
        return replace(
            self.design,
            places=tuple(Place(region, region, "", region) for region in regions),
            prefixed=PrefixedTexts(self.design.texts.texts, prefixes),
        )


def design_datasets(
    files: Mapping[str, str | Path], classifiers: Mapping[str, str], limit: int | None
) -> dict[str, Dataset]:
    """The datasets; InputError where a file is given without a classifier, or a classifier without a file."""
    for name in files:
        if name not in classifiers:
            raise InputError(f"--{name} needs a classifier. Add --classifier {name}=MODEL.")
    for name in classifiers:
        if name not in files:
            raise InputError(f"--classifier {name} needs labelled texts. Add --{name} FILE.")
    datasets = {}
    for name, file in files.items():
        path = Path(file)
        options = DownstreamOptions(texts=_test_rows(path), label="label", limit=limit, prefix=PREFIXES[name])
        design = design_downstream(options, dissolved=True, articles=False)
        datasets[name] = Dataset(name, path, classifiers[name], design)
    return datasets


def _test_rows(path: Path) -> list[dict[str, Any]]:
    """The rows of the test split; all of them where the file has no column for it."""
    has_split = SPLIT in (read_table(path).names or ())
    texts = read_texts(path, label="label", subsets=(SPLIT,) if has_split else ())
    rows = [i for i in range(len(texts)) if not has_split or texts.groups[SPLIT][i] == TEST]
    if not rows:
        raise InputError(f"{path} has no row with {TEST!r} in the column {SPLIT}. Fix the column, or remove it.")
    assert texts.labels is not None
    return [{"text": texts.texts[i], "label": list(texts.labels[i])} for i in rows]


def ask_datasets(
    tables: Sequence[PublishedTable], datasets: Mapping[str, Dataset], options: RunOptions, record: Callable[..., None]
) -> PrefixAnswers:
    """The scores of each dataset's classifier on its texts with each table's prefixes; `record` notes each model."""
    answers: PrefixAnswers = {}
    for dataset in datasets.values() if tables else ():
        classifier = load_classifier(dataset.classifier, device=options.device, dtype=options.dtype)
        positive = _positive_label(dataset.name, classifier)
        for table in tables:
            design = replace(dataset.design_for(table), positive=positive)
            (predictions,) = DownstreamStudy(design, classifier, options).ask([classifier])
            record(dataset.name, classifier, predictions.work)
            answers[dataset.name, table.number] = predictions
    return answers


def _positive_label(dataset: str, classifier: Classifier) -> str:
    """The class whose probability the table shows: hate of hatespeech18, of reviews the positive one."""
    if dataset == "imdb":
        return next((label for label in classifier.labels if label_tone(label) > 0), classifier.labels[-1])
    return classifier.labels[find_main_label(classifier.name, classifier.labels, None)]


def measure_prefix_table(table: PublishedTable, answers: PrefixAnswers) -> ReproducedTable:
    """Either part of Table 4; the columns of a dataset that was not given stay empty."""
    measured = np.full(table.values.shape, np.nan)
    notes = []
    for name in PREFIXES:
        predictions = answers.get((name, table.number))
        if predictions is None:
            notes.append(
                f"The columns of {name} need its labelled texts and a classifier: --{name} FILE (columns text, label, "
                f"{SPLIT}) --classifier {name}=MODEL."
            )
        else:
            columns = [k for k, column in enumerate(table.columns) if column.startswith(f"{name}_")]
            measured[:, columns] = _shifts(predictions) if table.number == "4" else _performance(predictions)
    return build_table(table, measured, notes=notes)


def _shifts(predictions: Predictions) -> np.ndarray:
    """regions x (rose, by, fell, by); the control's row is left out."""
    shifts = shift(predictions.original, predictions.prefixed, predictions.threshold)
    values = (shifts.rose, shifts.mean_rise, shifts.fell, shifts.mean_fall)
    return np.column_stack([value[1:, predictions.shown] for value in values])


def _performance(predictions: Predictions) -> np.ndarray:
    """(without prefix, with all countries' prefixes) x (accuracy, macro-F1)."""
    assert predictions.truth is not None
    probabilities = (predictions.original[:, None], predictions.prefixed[:, 1:])
    rows = [performance(predictions.truth, values, predictions.threshold) for values in probabilities]
    return np.array([[row.accuracy, row.macro_f1] for row in rows])
