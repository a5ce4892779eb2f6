"""HERB's Table 4 again: a classifier and labelled texts of each dataset, both of which the user has to bring."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from geobias.audits.downstream.design import DownstreamQuestion, answer, question
from geobias.audits.downstream.result import Judgement, Place
from geobias.audits.labels import find_main_label, label_tone
from geobias.audits.reproduce.published import Published
from geobias.audits.reproduce.result import Models, Reproduced, one_form
from geobias.errors import InputError
from geobias.measures.shift import performance, shift
from geobias.models.load import load_classifier
from geobias.models.scorer import Classifier
from geobias.texts.input_table import read_table
from geobias.texts.prefixes import PrefixedTexts
from geobias.texts.templates import REGION
from geobias.texts.user_texts import read_texts

DATASETS = {"imdb": "The cast is from {region}.", "hatespeech18": "I am from {region}."}
SPLIT, TEST = "split", "test"


@dataclass(frozen=True)
class Dataset:
    """Labelled texts, with the classifier that is asked about them."""

    name: str
    file: Path
    classifier: str
    question: DownstreamQuestion = field(repr=False)  # the prefix of every country

    @property
    def settings(self) -> dict[str, Any]:
        texts = self.question.settings["texts"]
        return {"classifier": self.classifier, **texts, "source": str(self.file)}


def checked_datasets(
    texts: Mapping[str, Path], classifiers: Mapping[str, str], limit: int | None
) -> dict[str, Dataset]:
    """Datasets of which both are given; one without the other is a slip."""
    for name in texts:
        if name not in classifiers:
            raise InputError(f"--{name} needs a classifier too: --classifier {name}=MODEL.")
    for name in classifiers:
        if name not in texts:
            raise InputError(f"--classifier {name} needs its labelled texts too: --{name} FILE.")
    found = {}
    for name, path in texts.items():
        asked = question(texts=_test_rows(path), label="label", limit=limit, prefix=DATASETS[name])
        found[name] = Dataset(name, path, classifiers[name], asked)
    return found


def _test_rows(path: Path) -> list[dict[str, Any]]:
    """The rows of the test split; all of them where the file has no column for it."""
    has_split = SPLIT in (read_table(path).names or ())
    texts = read_texts(path, label="label", subsets=(SPLIT,) if has_split else ())
    kept = [i for i in range(len(texts)) if not has_split or texts.groups[SPLIT][i] == TEST]
    if not kept:
        raise InputError(f"{path} has no row whose {SPLIT} is {TEST!r}: mend the column, or leave it out.")
    assert texts.labels is not None
    return [{"text": texts.texts[i], "label": list(texts.labels[i])} for i in kept]


def reproduce_prefixes(
    tables: Sequence[Published], datasets: Mapping[str, Dataset], models: Models, progress: bool | None
) -> dict[str, Reproduced]:
    """Both parts of Table 4; columns of a dataset that is not there stay empty."""
    measured = {table.number: np.full(table.values.shape, np.nan) for table in tables}
    for dataset in datasets.values() if tables else ():
        classifier = load_classifier(dataset.classifier, device=models.device, dtype=models.dtype)
        for table in tables:
            asked = _with_places(dataset, table) if table.number == "4" else dataset.question
            asked = replace(asked, positive=_positive(dataset.name, classifier))
            said = answer(asked, [classifier], progress=progress)
            models.note(dataset.name, classifier, said.work)
            found = _moved(said.judgements[0]) if table.number == "4" else _right(said.judgements[0])
            columns = [k for k, column in enumerate(table.columns) if column.startswith(f"{dataset.name}_")]
            measured[table.number][:, columns] = found
    notes = tuple(_needed(name) for name in DATASETS if name not in datasets)
    return {t.number: Reproduced(t, (one_form(t, measured[t.number]),), notes=notes) for t in tables}


def _needed(name: str) -> str:
    return (
        f"The columns of {name} need its labelled texts and a classifier: --{name} FILE (columns text, label, {SPLIT}) "
        f"--classifier {name}=MODEL."
    )


def _with_places(dataset: Dataset, table: Published) -> DownstreamQuestion:
    """The table's own regions in place of all countries."""
    asked = dataset.question
    names = [row[0].replace("-", " ") for row in table.rows]
    prefixes = [asked.prefixed.prefixes[0], *(DATASETS[dataset.name].replace(REGION, name) for name in names)]
    return replace(
        asked,
        places=tuple(Place(name, name, "") for name in names),
        prefixed=PrefixedTexts(asked.texts.texts, prefixes),
    )


def _positive(dataset: str, classifier: Classifier) -> str:
    """The class whose probability the table tells: hate of hatespeech18, of reviews the positive one."""
    if dataset == "imdb":
        return next((label for label in classifier.labels if label_tone(label) > 0), classifier.labels[-1])
    return classifier.labels[find_main_label(classifier.name, classifier.labels, None)]


def _moved(judged: Judgement) -> np.ndarray:
    """regions x (rose, by, fell, by); the control's row is left out."""
    moved = shift(judged.original, judged.prefixed, judged.threshold)
    values = (moved.rose, moved.mean_rise, moved.fell, moved.mean_fall)
    return np.column_stack([value[1:, judged.shown] for value in values])


def _right(judged: Judgement) -> np.ndarray:
    """(as they were, all countries) x (accuracy, macro-F1)."""
    assert judged.truth is not None
    tested = (judged.original[:, None], judged.prefixed[:, 1:])
    found = [performance(judged.truth, said, judged.threshold) for said in tested]
    return np.array([[one.accuracy, one.macro_f1] for one in found])
