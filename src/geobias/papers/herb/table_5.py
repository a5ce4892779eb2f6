"""HERB, Table 5: does the bias of a language model reach its classifiers? (section 4.5)

Each model is fine-tuned as a classifier on the same labelled texts. "I am from {region}." then stands before texts that
it never saw: per cent of texts x countries whose predicted label flips, in each direction. Columns leave out Ireland,
Mexico, or no country. Any prefix flips some labels: a control that names no country says how many.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from geobias.errors import InputError
from geobias.measures.change import performance
from geobias.measures.estimates import bootstrap_means
from geobias.models.huggingface import HuggingFaceClassifier
from geobias.models.load import load
from geobias.models.sources import locate_weights
from geobias.models.training.finetuning import Hyperparameters, best_epoch, train_classifier
from geobias.papers.herb.labelled_texts import Dataset, divide_texts
from geobias.papers.tables import Reproduction, Row, choose_countries, load_each, read_published
from geobias.report.runs import slug
from geobias.report.tables import interval
from geobias.texts.templates import NOWHERE

TITLE = "labels that flip after fine-tuning, per cent"
MODELS = {"bert-base-cased": "bert-base", "albert-base-v2": "albert-base-v2", "roberta-base": "roberta-base",
          "facebook/bart-base": "bart-base"}  # fmt: skip  # as the table's rows name them
LEFT_OUT = {"without_ireland": "IE", "without_mexico": "MX", "all": None}


def measure(
    models: Sequence[str] = (),
    *,
    texts: Any = None,
    column: str = "text",
    label: str = "label",
    epochs: int = 3,
    countries: str | Sequence[str] = (),
    rate: float = 2e-5,
    seed: int = 0,
    folder: Path,
    device: str = "auto",
    progress: bool | None = None,
) -> Reproduction:
    """Fine-tune each model in a folder of its own, and count the flips."""
    if texts is None:
        raise InputError("Table 5 needs labelled texts to train on: --texts FILE, with the columns text and label.")
    places = {region.id: region.name for region in choose_countries(countries, dissolved=False)}
    hyperparameters = Hyperparameters(epochs=epochs, rate=rate, seed=seed)
    division = divide_texts(texts, column, label, seed)
    table, missing = read_published("herb", "table_5"), list[str]()
    measured: dict[Row, np.ndarray] = {}
    notes, identities = [], []
    for name, weights in load_each(models, list(MODELS), find_weights, missing):
        train = partial(train_classifier, name, weights, division.train, division.labels, hyperparameters)
        epoch = train(folder / slug(name), evaluate=division.evaluate, device=device, progress=progress)
        classifier = HuggingFaceClassifier.from_pretrained(
            f"{name} (fine-tuned)", str(folder / slug(name) / "model"), device=device, dtype="float32"
        )
        dataset = Dataset("hatespeech18", division.test, classifier)
        before, after = dataset.ask([NOWHERE, *places.values()], progress)
        measured[(MODELS.get(name, name),)] = count_flips(
            before, after[:, 1:], table.columns, codes=list(places), hate=dataset.positive
        )
        quality = performance(dataset.truth(), before[:, None])
        notes.append(
            f"{name}: epoch {best_epoch(epoch) + 1} of {epochs}, macro-F1 {quality.macro_f1:.3f}; "
            f"{describe_control(before, after)} “{classifier.labels[dataset.positive]}” stands for hate."
        )
        identities.append(classifier.identity())
    notes.append(
        f"Trained on {len(division.train.texts):,} texts, the best epoch chosen on {len(division.validation.texts):,}. "
        f"The classifiers are in {folder.name}/; a model trained on hateful texts repeats them."
    )
    return table.compare(measured, title=TITLE, models=identities, missing=missing, notes=notes)


def find_weights(name: str) -> str:
    """Where a model's weights are; one of the paper's that is not here and cannot be fetched is refused."""
    if name in MODELS:
        load(name, device="cpu")
    return locate_weights(name)


def count_flips(
    before: np.ndarray, after: np.ndarray, columns: Sequence[str], *, codes: Sequence[str], hate: int
) -> np.ndarray:
    """Per cent of texts x countries, by column; `after` is texts x countries x classes."""
    was_hate, is_hate = before.argmax(axis=1)[:, None] == hate, after.argmax(axis=2) == hate
    flips = {"nohate": is_hate & ~was_hate, "hate": was_hate & ~is_hate}
    values = []
    for column in columns:
        countries, _, source = column.rpartition("_to_")[0].rpartition("_")
        left_out = LEFT_OUT[countries]
        kept = [code != left_out for code in codes]
        values.append(100 * flips[source][:, kept].mean() if left_out in (None, *codes) else np.nan)
    return np.array(values)


def describe_control(before: np.ndarray, after: np.ndarray) -> str:
    """How many labels the control flips, the first prefix, and whether countries flip more; tested over texts."""
    flipped = after.argmax(axis=2) != before.argmax(axis=1)[:, None]
    control, countries = 100.0 * flipped[:, 0], 100 * flipped[:, 1:].mean(axis=1)
    estimate = bootstrap_means((countries - control)[:, None]).at(0)
    flips = (
        f"countries flip {countries.mean():.2f} % of {len(before):,} texts x {after.shape[1] - 1:,} countries, a "
        f"prefix that names none {control.mean():.2f} %"
    )
    if estimate.p is None:
        return f"{flips}; the texts are too few to test the difference."
    # Where few texts differ, resampling is too certain: p is never below that of a sign test of them.
    p = max(estimate.p, min(1.0, 2 * 0.5 ** np.count_nonzero(countries - control)))
    return f"{flips} (difference in percentage points, 95 %: {interval(estimate, 2)}; p = {p:.2g})."
