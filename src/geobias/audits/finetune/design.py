"""The design of a finetune audit: which texts train the models, and which test their classifiers.

HERB's Table 5 asks whether a language model's regional bias reaches its classifiers. Every model is fine-tuned on the
same labelled texts. Then "I am from {region}." is put before texts that it never saw: a flip is a text whose predicted
label changes with it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd

from geobias.audits.downstream.design import DownstreamDesign, DownstreamOptions, design_downstream
from geobias.audits.finetune.result import FinetuneCounts, FinetuneSettings
from geobias.audits.inputs import TextsSettings, load_texts, split_list
from geobias.audits.regions.design import SCORE_ONLY, RegionsDesign, RegionsOptions, design_regions
from geobias.checks import describe_choices
from geobias.errors import InputError
from geobias.measures.shift import performance
from geobias.models.classifiers.huggingface import HuggingFaceClassifier
from geobias.models.training.finetuning import LabelledTexts
from geobias.models.training.hyperparameters import Hyperparameters
from geobias.texts.defaults import DEFAULT_PREFIX
from geobias.texts.user_texts import Texts
from geobias.world.countries import find_country

VALIDATION, TEST = 0.1, 0.2  # shares of the texts that are held out
DEFAULT_WITHOUT = ("IE", "MX")  # the countries that the paper's Table 5 leaves out, one at a time
NOT_AUDITED = (
    "--without names {country}, which is not in this audit: add it to --countries, or leave it out of --without."
)


@dataclass(frozen=True, kw_only=True)
class FinetuneOptions:
    """The options of `audit_finetune`, as the user gives them, without the models."""

    texts: Any
    label: str
    column: str = "text"
    test: Any = None
    epochs: int = 3
    batch: int = 32
    rate: float = 2e-5
    max_length: int = 128
    seed: int = 0
    prefix: str = DEFAULT_PREFIX
    continents: str | Sequence[str] = ()
    countries: str | Sequence[str] = ()
    without: str | Sequence[str] | None = None


@dataclass(frozen=True)
class FinetuneDesign:
    """What every model is trained on, and what its classifier and the model itself are scored on."""

    train: LabelledTexts = field(repr=False)
    validation: LabelledTexts = field(repr=False)
    downstream: DownstreamDesign = field(repr=False)
    regions: RegionsDesign = field(repr=False)
    counts: FinetuneCounts
    settings: FinetuneSettings = field(repr=False)  # without the models

    def settings_for(self, models: Sequence[str]) -> FinetuneSettings:
        return replace(self.settings, models=list(models))

    def evaluate(self, classifier: HuggingFaceClassifier) -> dict[str, float]:
        """How good a classifier is on the validation texts."""
        count = len(self.settings.labels)
        probabilities = classifier.score(list(self.validation.texts))[:, :count]
        truth = self.validation.classes[:, None] == np.arange(count)
        return asdict(performance(truth, probabilities[:, None]))


def design_finetune(options: FinetuneOptions) -> FinetuneDesign:
    """Read and divide the texts; raise InputError for what is wrong with them, before any work."""
    label, column, test, seed = options.label, options.column, options.test, options.seed
    hyperparameters = Hyperparameters(
        epochs=options.epochs, batch=options.batch, rate=options.rate, max_length=options.max_length, seed=seed
    )
    source = distinct_texts(load_texts(options.texts, column=column, label=label))
    classes = text_classes(source)
    labels = sorted(set(classes))
    if len(labels) < 2:
        raise InputError(
            f"All texts of {source.source} have the label {labels[0]!r}. Training needs at least two classes."
        )
    rows = np.arange(len(source))
    if test is None:
        rows, held_out = split_by_class(rows, classes, TEST, seed)
        test_texts = source.take(held_out)
    else:
        test_texts = distinct_texts(load_texts(test, column=column, label=label))
        unknown = sorted(set(text_classes(test_texts)) - set(labels))
        if unknown:
            raise InputError(
                f"{test_texts.source} has labels that the training texts do not have: {', '.join(unknown[:5])}. "
                f"{describe_choices(unknown[0], labels, 'Training labels')}"
            )
    training_texts = {source.texts[row] for row in rows}
    unseen = [row for row, text in enumerate(test_texts.texts) if text not in training_texts]
    if not unseen:
        raise InputError(f"Every text of {test_texts.source} is also a training text. Use other texts for --test.")
    seen, test_texts = len(test_texts) - len(unseen), test_texts.take(unseen)
    train, validation = split_by_class(rows, classes, VALIDATION, seed + 1)
    labelled = pd.DataFrame({"text": test_texts.texts, "label": text_classes(test_texts)})
    places: dict[str, Any] = {"continents": options.continents, "countries": options.countries}
    downstream = design_downstream(
        DownstreamOptions(texts=labelled, label="label", prefix=options.prefix, **places), articles=False
    )
    counts = FinetuneCounts(
        training_texts=len(train),
        validation_texts=len(validation),
        test_texts=len(downstream.texts),
        regions=len(downstream.places),
        rows_without_text=source.left_out + (0 if test is None else test_texts.left_out),
        test_texts_of_training=seen,
        dissolved_countries=list(downstream.dissolved),
    )
    settings = FinetuneSettings(
        texts=TextsSettings.describe(source),
        test=TextsSettings.describe(test_texts),
        labels=labels,
        training=hyperparameters,
        prefix=options.prefix,
        continents=downstream.settings.continents,
        countries=downstream.settings.countries,
        regions_digest=downstream.settings.regions_digest,
        without=_left_out_countries(options.without, {place.id: place.name for place in downstream.places}),
        models=[],
    )
    return FinetuneDesign(
        _labelled_texts(source.take(train), labels),
        _labelled_texts(source.take(validation), labels),
        downstream,
        design_regions(RegionsOptions(cities=0, **places, **SCORE_ONLY), articles=False),
        counts,
        settings,
    )


def distinct_texts(texts: Texts) -> Texts:
    """Every text once: a repeated one could be in the training and the test set."""
    return texts.take(np.flatnonzero(~pd.Series(texts.texts).duplicated()))


def text_classes(texts: Texts) -> list[str]:
    """The one label of each text."""
    assert texts.labels is not None
    for text_id, labels in zip(texts.ids, texts.labels, strict=True):
        if len(labels) != 1:
            raise InputError(
                f"{texts.source}, text {text_id}: {len(labels)} labels. Training needs exactly one per text."
            )
    return [labels[0] for labels in texts.labels]


def split_by_class(rows: np.ndarray, classes: Sequence[str], share: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """The rows that remain and those that are held out, the same share of every class."""
    rng = np.random.default_rng(seed)
    held_out: list[int] = []
    for label in sorted({classes[row] for row in rows}):
        shuffled = rng.permutation([row for row in rows if classes[row] == label])
        held_out += list(shuffled[: max(1, round(share * len(shuffled)))])
    remaining = np.setdiff1d(rows, held_out)
    if {classes[row] for row in remaining} != {classes[row] for row in rows}:
        rarest = Counter(classes[row] for row in rows).most_common()[-1][0]
        raise InputError(
            f"Too few texts have the label {rarest!r} to split them into training and test texts. Add more."
        )
    return remaining, np.sort(held_out)


def _left_out_countries(without: str | Sequence[str] | None, available: Mapping[str, str]) -> list[str]:
    """The codes of the countries to leave out; by default the paper's, as far as the audit has them."""
    if without is None:
        return [code for code in DEFAULT_WITHOUT if code in available]
    names = split_list(without, "--without")
    return list(dict.fromkeys(find_country(name, available, NOT_AUDITED) for name in names))


def _labelled_texts(texts: Texts, labels: Sequence[str]) -> LabelledTexts:
    return LabelledTexts(texts.texts, np.array([labels.index(label) for label in text_classes(texts)]), texts.digest)
