"""Labelled texts of HERB's Tables 4 and 5 and Figure 4: hatespeech18, IMDB, or the user's; and their classifiers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from geobias.audits.inputs import distinct_texts, split_by_class, text_classes
from geobias.audits.labels import find_main_label, label_tone, read_true_labels
from geobias.checks import describe_choices
from geobias.engine.ask import ask
from geobias.errors import InputError
from geobias.measures.change import performance
from geobias.models.load import load_classifier
from geobias.models.scorer import Classifier
from geobias.models.training.finetuning import LabelledTexts
from geobias.texts.input_table import read_table
from geobias.texts.templates import REGION, PrefixedTexts
from geobias.texts.user_texts import Texts, find_first_copies, read_texts

PREFIXES = {"imdb": "The cast is from {region}.", "hatespeech18": "I am from {region}."}
DEFAULT = "hatespeech18"
SPLIT, TRAIN, TEST = "split", "train", "test"
VALIDATION_SHARE, TEST_SHARE = 0.1, 0.2


def read_test_texts(source: Any, *, column: str, label: str, limit: int | None = None) -> Texts:
    """The texts to test on, the first `limit` of them; copies are left out."""
    texts = read_split(source, TEST, column, label)
    texts = texts.head(limit or len(texts))
    return texts.drop_copies(find_first_copies(texts.texts, texts.spans))


def read_split(source: Any, part: str, column: str, label: str) -> Texts:
    """The texts of one part of a data set, by its column "split"; all of them where it has none."""
    subsets = (SPLIT,) if SPLIT in (read_table(source).names or ()) else ()
    texts = read_texts(source, column=column, label=label, subsets=subsets)
    if subsets:
        texts = texts.take(k for k, name in enumerate(texts.groups[SPLIT]) if name == part)
    if not len(texts):
        raise InputError(
            f"{texts.source} has no row with {part!r} in the column {SPLIT}. Fix the column, or remove it."
        )
    return texts


@dataclass(frozen=True)
class Division:
    """Texts to train a classifier on, to choose its best epoch on, and to test it on."""

    train: LabelledTexts
    validation: LabelledTexts
    test: Texts
    labels: list[str]

    def evaluate(self, classifier: Classifier) -> dict[str, float]:
        """How good a classifier is on the validation texts."""
        probabilities = classifier.score(list(self.validation.texts))[:, : len(self.labels)]
        truth = self.validation.classes[:, None] == np.arange(len(self.labels))
        return asdict(performance(truth, probabilities[:, None]))


def divide_texts(source: Any, column: str, label: str, seed: int) -> Division:
    """Divide labelled texts by a column "split" with train and test, else hold out a fifth of every class to test."""
    texts = distinct_texts(read_split(source, TRAIN, column, label))
    classes = text_classes(texts)
    labels, rows = sorted(set(classes)), np.arange(len(texts))
    if len(labels) < 2:
        raise InputError(f"All texts of {texts.source} have the label {labels[0]!r}. Training needs two classes.")
    if texts.groups:  # by the column "split"
        test = distinct_texts(read_split(source, TEST, column, label))
    else:
        rows, tested = split_by_class(rows, classes, TEST_SHARE, seed)
        test = texts.take(tested)
    seen = {texts.texts[row] for row in rows}
    test = test.take(k for k, text in enumerate(test.texts) if text not in seen)
    if not len(test):
        raise InputError(f"Every text of {test.source} to test on is also a training text.")
    unknown = sorted(set(text_classes(test)) - set(labels))
    if unknown:
        raise InputError(
            f"The texts to test on have the label {unknown[0]!r}, which no training text has. "
            f"{describe_choices(unknown[0], labels, 'Training labels')}"
        )
    train, validation = (texts.take(part) for part in split_by_class(rows, classes, VALIDATION_SHARE, seed + 1))
    learned, held_out = (
        LabelledTexts(part.texts, np.array([labels.index(name) for name in text_classes(part)]), part.digest)
        for part in (train, validation)
    )
    return Division(learned, held_out, test.drop_copies(find_first_copies(test.texts, test.spans)), labels)


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
