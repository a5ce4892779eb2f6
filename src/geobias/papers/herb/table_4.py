"""HERB, Table 4: a classifier whose texts begin with a region (section 4.5).

"The cast is from {region}." stands before reviews (IMDB), "I am from {region}." before posts (hatespeech18). Of how
many texts does the probability of the positive class rise and fall, and by how much on average?
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from geobias.audits.labels import find_main_label, label_tone, read_true_labels
from geobias.engine.ask import ask
from geobias.errors import InputError
from geobias.measures.change import shift
from geobias.models.load import load_classifier
from geobias.models.scorer import Classifier
from geobias.papers.herb.labelled_texts import read_test_texts
from geobias.papers.tables import Reproduction, read_published
from geobias.texts.templates import REGION, PrefixedTexts
from geobias.texts.user_texts import Texts

TITLE = "texts whose probability rose and fell, and by how much"
PREFIXES = {"imdb": "The cast is from {region}.", "hatespeech18": "I am from {region}."}
DEFAULT = "hatespeech18"


def measure(
    models: Sequence[str] = (),
    *,
    texts: Any = None,
    column: str = "text",
    label: str = "label",
    limit: int | None = None,
    device: str = "auto",
    progress: bool | None = None,
) -> Reproduction:
    """Rises and falls for the paper's twelve regions."""
    regions = [row[0].replace("-", " ") for row in read_published("herb", "table_4").rows]
    measured = {}
    datasets = load_datasets(models, texts, column=column, label=label, limit=limit, device=device)
    for dataset in datasets:
        shifts = shift(*dataset.ask(regions, progress), dataset.threshold)
        values = (shifts.rose, shifts.mean_rise, shifts.fell, shifts.mean_fall)
        measured[dataset.name] = np.column_stack([value[:, dataset.positive] for value in values])
    return compare_datasets("table_4", measured, datasets, title=TITLE)


@dataclass(frozen=True)
class Dataset:
    """Labelled texts, and the classifier that scores them."""

    name: str
    texts: Texts = field(repr=False)
    classifier: Classifier = field(repr=False)

    @property
    def positive(self) -> int:
        """The class whose probability the table shows: of reviews the positive one, else hate."""
        labels = self.classifier.labels
        if self.name == "imdb":
            return next((k for k, label in enumerate(labels) if label_tone(label) > 0), len(labels) - 1)
        return find_main_label(self.classifier.name, labels, None)

    @property
    def threshold(self) -> float | None:
        return 0.5 if self.classifier.multi_label else None

    def truth(self) -> np.ndarray:
        """texts x labels."""
        labels, several_fit = self.classifier.labels, self.classifier.multi_label
        truth, _ = read_true_labels(self.texts, self.classifier.name, labels, several_fit=several_fit)
        assert truth is not None  # the texts are labelled
        return truth

    def ask(self, regions: Sequence[str], progress: bool | None = None) -> tuple[np.ndarray, np.ndarray]:
        """The probabilities without a prefix (texts x labels), and with each region's (texts x regions x labels)."""
        prefixes = [PREFIXES[self.name].replace(REGION, region) for region in regions]
        texts, count = self.texts.texts, len(self.classifier.labels)
        before, after = (
            ask(self.classifier, each, label=self.classifier.name, progress=progress).scores[:, :count]
            for each in (texts, PrefixedTexts(texts, prefixes))
        )
        return before.astype(np.float32), after.astype(np.float32).reshape(len(texts), len(regions), count)


def load_datasets(models: Sequence[str], texts: Any, *, device: str, **options: Any) -> list[Dataset]:
    """Labelled texts with a classifier each: imdb=FILE and imdb=MODEL; those without a name stand for hatespeech18."""
    named_texts = texts if isinstance(texts, Mapping) else {} if texts is None else {"": texts}
    files = {name or DEFAULT: file for name, file in named_texts.items()}
    named_models = [model.partition("=") for model in models]
    classifiers = {
        name if name in PREFIXES else DEFAULT: model if name in PREFIXES else name + equals + model
        for name, equals, model in named_models
    }
    for name in files.keys() ^ classifiers.keys() or ([] if files else [DEFAULT]):
        if name not in PREFIXES:
            raise InputError(f"The paper has no texts {name!r}. Use --texts imdb=FILE or --texts hatespeech18=FILE.")
        raise InputError(
            f"This table needs labelled texts and a classifier of them: --texts {name}=FILE --model {name}=MODEL."
        )
    loaded = {name: load_classifier(model, device=device, dtype="float32") for name, model in classifiers.items()}
    return [Dataset(name, read_test_texts(files[name], **options), classifier) for name, classifier in loaded.items()]


def compare_datasets(
    name: str, measured: Mapping[str, np.ndarray], datasets: Sequence[Dataset], **about: Any
) -> Reproduction:
    """Either part of Table 4 from rows x columns of each data set; the columns of one that was not given stay empty."""
    table = read_published("herb", name)
    values = np.full(table.values.shape, np.nan)
    for dataset, numbers in measured.items():
        values[:, [column.startswith(f"{dataset}_") for column in table.columns]] = numbers
    notes = [
        f"The columns of {each} have no measured number: --texts {each}=FILE --model {each}=MODEL."
        for each in PREFIXES.keys() - measured.keys()
    ]
    notes += [
        f"{each.classifier.name} on {len(each.texts):,} of {each.texts.source}, in the place of {each.name}; the "
        f"probability is that of “{each.classifier.labels[each.positive]}”."
        for each in datasets
    ]
    models = [each.classifier.identity() for each in datasets]
    return table.compare(dict(zip(table.rows, values, strict=True)), models=models, notes=notes, **about)
