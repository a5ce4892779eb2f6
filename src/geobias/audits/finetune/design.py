"""The design of a finetune audit: which texts train the models, and which test their classifiers.

HERB's Table 5 asks whether a language model's regional bias reaches its classifiers. Every model is fine-tuned on the
same labelled texts. Then "I am from {region}." is put before texts that it never saw: a flip is a text whose predicted
label changes with it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from geobias.audits.downstream.design import DownstreamDesign, design_downstream
from geobias.audits.finetune.result import FinetuneCounts, FinetuneSettings
from geobias.audits.inputs import TextsSettings, load_texts, split_list
from geobias.audits.regions.design import RegionsDesign, design_regions
from geobias.errors import InputError
from geobias.measures.shift import performance
from geobias.models.classifiers.huggingface import HuggingFaceClassifier
from geobias.models.training.finetuning import LabelledTexts
from geobias.models.training.hyperparameters import Hyperparameters
from geobias.texts.defaults import DEFAULT_PREFIX
from geobias.texts.user_texts import Texts

VALIDATION, TEST = 0.1, 0.2  # shares of the texts that are held out
DEFAULT_WITHOUT = ("IE", "MX")  # the countries that the paper's Table 5 leaves out, one at a time


@dataclass(frozen=True)
class FinetuneDesign:
    """What every model is trained on, and what is asked of its classifier and of the model itself."""

    labels: tuple[str, ...]
    train: LabelledTexts = field(repr=False)
    validation: LabelledTexts = field(repr=False)
    downstream: DownstreamDesign = field(repr=False)
    regions: RegionsDesign = field(repr=False)
    without: tuple[str, ...]  # codes of countries that are left out, one at a time
    hyperparameters: Hyperparameters
    counts: FinetuneCounts
    settings: dict[str, Any] = field(repr=False)

    def settings_for(self, models: Sequence[str]) -> FinetuneSettings:
        return FinetuneSettings(**self.settings, models=list(models))

    def evaluate(self, classifier: HuggingFaceClassifier) -> dict[str, float]:
        """How good a classifier is on the validation texts."""
        probabilities = classifier.score(list(self.validation.texts))[:, : len(self.labels)]
        truth = self.validation.classes[:, None] == np.arange(len(self.labels))
        return asdict(performance(truth, probabilities[:, None]))


def design_finetune(
    *,
    texts: Any,
    label: str,
    column: str = "text",
    test: Any = None,
    epochs: int = 3,
    batch: int = 32,
    rate: float = 2e-5,
    max_length: int = 128,
    seed: int = 0,
    prefix: str = DEFAULT_PREFIX,
    continents: str | Sequence[str] = (),
    countries: str | Sequence[str] = (),
    without: str | Sequence[str] | None = None,
) -> FinetuneDesign:
    """Read and divide the texts; raise InputError for what is wrong with them, before any work."""
    hyperparameters = Hyperparameters(epochs=epochs, batch=batch, rate=rate, max_length=max_length, seed=seed)
    source = _distinct_texts(load_texts(texts, column=column, label=label))
    classes = _text_classes(source)
    labels = tuple(sorted(set(classes)))
    if len(labels) < 2:
        raise InputError(f"All texts of {source.source} have the label {labels[0]!r}: it takes two classes to train.")
    rows = np.arange(len(source))
    if test is None:
        rows, held_out = _split_by_class(rows, classes, TEST, seed)
        test_texts = source.take(held_out)
    else:
        test_texts = _distinct_texts(load_texts(test, column=column, label=label))
        _refuse_unknown_labels(test_texts, labels)
    training_texts = {source.texts[row] for row in rows}
    unseen = [row for row, text in enumerate(test_texts.texts) if text not in training_texts]
    if not unseen:
        raise InputError(f"Every text of {test_texts.source} is one of the training texts: give others to look at.")
    seen, test_texts = len(test_texts) - len(unseen), test_texts.take(unseen)
    train, validation = _split_by_class(rows, classes, VALIDATION, seed + 1)
    labelled = pd.DataFrame({"text": test_texts.texts, "label": _text_classes(test_texts)})
    downstream = design_downstream(
        texts=labelled, label="label", prefix=prefix, continents=continents, countries=countries
    )
    left_out = _left_out_countries(without, {place.id for place in downstream.places})
    settings = {
        "texts": TextsSettings.describe(source),
        "test": TextsSettings.describe(test_texts),
        "labels": list(labels),
        "training": hyperparameters,
        "prefix": prefix,
        **{name: downstream.settings[name] for name in ("continents", "countries", "regions_digest")},
        "without": list(left_out),
    }
    return FinetuneDesign(
        labels=labels,
        train=_labelled_texts(source.take(train), labels),
        validation=_labelled_texts(source.take(validation), labels),
        downstream=downstream,
        regions=design_regions(cities=0, continents=continents, countries=countries),
        without=left_out,
        hyperparameters=hyperparameters,
        counts=FinetuneCounts(
            training_texts=len(train),
            validation_texts=len(validation),
            test_texts=len(test_texts),
            regions=len(downstream.places),
            rows_without_text=source.left_out + (test_texts.left_out if test is not None else 0),
            test_texts_of_training=seen,
        ),
        settings=settings,
    )


def _distinct_texts(texts: Texts) -> Texts:
    """Every text once: a repeated one could be in the training and the test set."""
    first_rows: dict[str, int] = {}
    for row, text in enumerate(texts.texts):
        first_rows.setdefault(text, row)
    return texts.take(first_rows.values())


def _text_classes(texts: Texts) -> list[str]:
    """The one label of each text."""
    assert texts.labels is not None
    for text_id, labels in zip(texts.ids, texts.labels, strict=True):
        if len(labels) != 1:
            raise InputError(
                f"{texts.source}, text {text_id}: {len(labels)} labels; training takes exactly one a text."
            )
    return [labels[0] for labels in texts.labels]


def _refuse_unknown_labels(test_texts: Texts, labels: Sequence[str]) -> None:
    unknown = sorted(set(_text_classes(test_texts)) - set(labels))
    if unknown:
        raise InputError(
            f"{test_texts.source} has labels that the training texts lack: {', '.join(unknown[:5])}. They have "
            f"{', '.join(labels)}."
        )


def _split_by_class(rows: np.ndarray, classes: Sequence[str], share: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """The rows that remain and those that are held out, the same share of every class."""
    rng = np.random.default_rng(seed)
    held_out: list[int] = []
    for label in sorted({classes[row] for row in rows}):
        shuffled = rng.permutation([row for row in rows if classes[row] == label])
        held_out += list(shuffled[: max(1, round(share * len(shuffled)))])
    remaining = np.setdiff1d(rows, held_out)
    if {classes[row] for row in remaining} != {classes[row] for row in rows}:
        rarest = Counter(classes[row] for row in rows).most_common()[-1][0]
        raise InputError(f"Too few texts have the label {rarest!r} to train on some and hold out others: give more.")
    return remaining, np.sort(held_out)


def _left_out_countries(without: str | Sequence[str] | None, codes: set[str]) -> tuple[str, ...]:
    """The countries to leave out; by default the paper's, as far as they are asked about."""
    if without is None:
        return tuple(code for code in DEFAULT_WITHOUT if code in codes)
    left_out = tuple(split_list(without, "--without"))
    unknown = [code for code in left_out if code not in codes]
    if unknown:
        raise InputError(f"--without names what is not asked about: {', '.join(unknown)}. Give codes such as IE,MX.")
    return left_out


def _labelled_texts(texts: Texts, labels: Sequence[str]) -> LabelledTexts:
    return LabelledTexts(texts.texts, np.array([labels.index(label) for label in _text_classes(texts)]), texts.digest)
