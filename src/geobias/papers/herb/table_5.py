"""HERB, Table 5: does the bias of a language model reach its classifiers? (section 4.5)

Each model is fine-tuned as a classifier on the same labelled texts. "I am from {region}." then stands before texts that
it never saw: per cent of texts x countries whose predicted label flips, in each direction. Columns leave out Ireland,
Mexico, or no country. Any prefix flips some labels: a control that names no country says how many.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from geobias.audits.downstream.audit import audit_downstream
from geobias.audits.downstream.result import DownstreamResult, Predictions
from geobias.audits.inputs import split_list
from geobias.audits.labels import find_main_label
from geobias.errors import InputError
from geobias.measures.bootstrap import bootstrap_means
from geobias.measures.shift import flip_shares, performance
from geobias.models.classifiers.huggingface import HuggingFaceClassifier
from geobias.models.load import load
from geobias.models.sources import locate_weights
from geobias.models.training.finetuning import LabelledTexts, best_epoch, train_classifier
from geobias.models.training.hyperparameters import Hyperparameters
from geobias.papers.herb.labelled_texts import divide_texts
from geobias.papers.herb.table_4 import PREFIXES
from geobias.papers.tables import Reproduction, Row, load_each, read_published
from geobias.report.runs import slug
from geobias.report.tables import interval
from geobias.world.regions import load_world

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
    names = split_list(countries, "--countries") if countries else []
    load_world(cities=0, countries=names)  # a wrong name is refused before the training
    hyperparameters = Hyperparameters(epochs=epochs, rate=rate, seed=seed)
    train, validation, test, labels = divide_texts(texts, column, label, seed)
    table, missing = read_published("herb", "table_5"), list[str]()
    measured: dict[Row, np.ndarray] = {}
    notes, identities = [], []
    for name, weights in load_each(models, list(MODELS), find_weights, missing):
        classifier, kept = fine_tune(
            name, weights, train, validation, labels, hyperparameters, folder / slug(name), device, progress
        )
        result = audit_downstream(
            classifier, test, label="label", prefix=PREFIXES["hatespeech18"], countries=names, device=device,
            progress=progress,
        )  # fmt: skip
        measured[(MODELS.get(name, name),)] = count_flips(result, table.columns)
        quality = result.classifiers[0].performance
        assert quality is not None  # the texts are labelled
        notes.append(f"{name}: {kept}, macro-F1 {quality.original.macro_f1:.3f}; {describe_control(result)}")
        identities.append(result.models[0])
    main = labels[find_main_label("", labels, None)]
    notes.append(
        f"Trained on {len(train.texts):,} texts, the best epoch chosen on {len(validation.texts):,}. “{main}” stands "
        f"for hate. The trained classifiers are in {folder.name}/; what is trained on hateful texts repeats them."
    )
    return table.compare(measured, title=TITLE, models=identities, missing=missing, notes=notes)


def find_weights(name: str) -> str:
    """Where a model's weights are; one of the paper's that is not here and cannot be fetched is refused."""
    if name in MODELS:
        load(name, device="cpu")
    return locate_weights(name)


def fine_tune(
    name: str,
    weights: str,
    train: LabelledTexts,
    validation: LabelledTexts,
    labels: list[str],
    hyperparameters: Hyperparameters,
    folder: Path,
    device: str,
    progress: bool | None,
) -> tuple[HuggingFaceClassifier, str]:
    """The classifier of the epoch with the highest macro-F1 on held-out texts; a training resumes in `folder`."""
    truth = validation.classes[:, None] == np.arange(len(labels))

    def evaluate(classifier: HuggingFaceClassifier) -> dict[str, float]:
        probabilities = classifier.score(list(validation.texts))[:, : len(labels)]
        return asdict(performance(truth, probabilities[:, None]))

    epochs = train_classifier(
        name, weights, train, labels, hyperparameters, folder, evaluate=evaluate, device=device, progress=progress
    )
    classifier = HuggingFaceClassifier.from_pretrained(
        f"{name} (fine-tuned)", str(folder / "model"), device=device, dtype="float32"
    )
    return classifier, f"epoch {best_epoch(epochs) + 1} of {len(epochs)}"


def count_flips(result: DownstreamResult, columns: Sequence[str]) -> np.ndarray:
    """Per cent of texts x countries, by column; "hate" is the class that the downstream audit shows."""
    (answers,), codes = result.predictions, [place.id for place in result.places]
    values = []
    for column in columns:
        countries, _, direction = column.rpartition("_to_")[0].rpartition("_")
        left_out = LEFT_OUT[countries]
        kept = answers.prefixed[:, 1:]  # without the control
        if left_out is not None:
            kept = np.delete(kept, codes.index(left_out), axis=1) if left_out in codes else kept[:, :0]
        values.append(_share(answers, kept, towards_hate=direction == "nohate"))
    return np.array(values)


def _share(answers: Predictions, after: np.ndarray, *, towards_hate: bool) -> float:
    if not after.shape[1]:
        return float("nan")
    hate = answers.shown
    shares = flip_shares(answers.original, after)  # texts x classes x classes, nothing on the diagonal
    flips = shares[:, :, hate] if towards_hate else shares[:, hate, :]
    return float(100 * flips.sum(axis=1).mean())


def describe_control(result: DownstreamResult) -> str:
    """How many labels flip by a prefix that names no country, and whether countries flip more; tested over texts."""
    (answers,) = result.predictions
    parts = (answers.prefixed[:, :1], answers.prefixed[:, 1:])
    control, countries = (100 * flip_shares(answers.original, part).sum(axis=(1, 2)) for part in parts)
    estimate = bootstrap_means((countries - control)[:, None]).at(0)
    flips = (
        f"countries flip {countries.mean():.2f} % of {len(control):,} texts x {answers.prefixed.shape[1] - 1:,} "
        f"countries, a prefix that names none {control.mean():.2f} %"
    )
    if estimate.p is None:
        return f"{flips}; the texts are too few to test the difference."
    # Where few texts differ, resampling is too certain: p is never below that of a sign test of them.
    p = max(estimate.p, min(1.0, 2 * 0.5 ** np.count_nonzero(countries - control)))
    return f"{flips} (difference in points, 95 %: {interval(estimate, 2)}; p = {p:.2g})."
