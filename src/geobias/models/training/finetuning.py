"""Fine-tune a pre-trained model as a classifier, with the usual settings, and keep its best epoch.

After every epoch the classifier is evaluated on held-out texts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers

from geobias.checks import HIGHEST_SEED, MOST_EPOCHS, check_number
from geobias.errors import InputError
from geobias.files import writing
from geobias.models.huggingface import HuggingFaceClassifier
from geobias.models.model_files import compute_fingerprint, load_pretrained, quiet_transformers
from geobias.models.pretrained import longest_input, resolve_device
from geobias.models.training.epochs import (
    Checkpoint,
    build_optimiser,
    pad_batch,
    set_padding,
    shuffle_batches,
    train_epoch,
)


@dataclass(frozen=True)
class Hyperparameters:
    """How a classifier is trained; the defaults are the usual ones."""

    epochs: int = 3
    batch: int = 32
    rate: float = 2e-5
    """The highest learning rate."""
    max_length: int = 128
    """Tokens of a text that are read in training."""
    seed: int = 0

    def __post_init__(self) -> None:
        check_number("--epochs", self.epochs, 1, MOST_EPOCHS)
        check_number("--seed", self.seed, 0, HIGHEST_SEED)
        if not 0 < self.rate < 1:
            raise InputError(f"--rate must be between 0 and 1, not {self.rate}.")


@dataclass(frozen=True)
class LabelledTexts:
    """Texts with the index of the class of each; `digest` tells them from others."""

    texts: Sequence[str]
    classes: np.ndarray
    digest: str


Evaluate = Callable[[HuggingFaceClassifier], Mapping[str, float]]
"""How good a classifier is on held-out texts; "macro_f1" decides which epoch is the best."""


def train_classifier(
    name: str,
    source: str,
    train: LabelledTexts,
    labels: Sequence[str],
    hyperparameters: Hyperparameters,
    folder: Path,
    *,
    evaluate: Evaluate,
    device: str = "auto",
    progress: bool | None = None,
) -> list[dict[str, Any]]:
    """Train, or resume after the last finished epoch, and save the best epoch's model in folder/model.

    Returns the loss and the evaluation of every epoch.
    """
    torch.manual_seed(hyperparameters.seed)  # the new head
    model, tokenizer = load_pretrained(
        transformers.AutoModelForSequenceClassification,
        name,
        source,
        dtype=torch.float32,
        kind="model with a classifier's form",
        new_head={
            "num_labels": len(labels),
            "id2label": dict(enumerate(labels)),
            "label2id": {label: k for k, label in enumerate(labels)},
        },
    )
    body = compute_fingerprint(model.base_model, tokenizer)  # the head is new, and random
    settings = asdict(hyperparameters) | {"model": body, "labels": list(labels), "train": train.digest}
    checkpoint = Checkpoint(folder / "training", settings)
    with writing(folder):  # fails now, not after an epoch
        folder.mkdir(parents=True, exist_ok=True)
    set_padding(model, tokenizer)
    model.config.problem_type = "single_label_classification"
    model.to(resolve_device(device))
    optimiser = build_optimiser(model, hyperparameters.rate)
    if len(checkpoint.epochs) < hyperparameters.epochs:
        checkpoint.restore(model, optimiser)
    longest = min(hyperparameters.max_length, longest_input(model, tokenizer))
    ids = tokenizer(list(train.texts), truncation=True, max_length=longest)["input_ids"]
    while len(checkpoint.epochs) < hyperparameters.epochs:
        epoch = len(checkpoint.epochs) + 1
        batches = [
            pad_batch(tokenizer, [ids[k] for k in positions]) | {"labels": torch.from_numpy(train.classes[positions])}
            for positions in shuffle_batches(len(ids), hyperparameters.batch, seed=hyperparameters.seed, epoch=epoch)
        ]
        loss = train_epoch(
            model,
            batches,
            optimiser,
            epoch=epoch,
            seed=hyperparameters.seed,
            epochs=hyperparameters.epochs,
            label=name,
            progress=progress,
        )
        measures = {"loss": loss, **evaluate(HuggingFaceClassifier(name, model, tokenizer, fingerprint="in training"))}
        best = best_epoch([*checkpoint.epochs, measures])
        checkpoint.save(model, optimiser, measures, keep=[best + 1])
    checkpoint.restore(model, epoch=best_epoch(checkpoint.epochs))
    checkpoint.remove_optimiser_states()
    with writing(folder / "model"), quiet_transformers():
        model.cpu().save_pretrained(folder / "model")
        tokenizer.save_pretrained(folder / "model")
    return checkpoint.epochs


def best_epoch(epochs: Sequence[Mapping[str, Any]]) -> int:
    """The position of the first epoch with the highest macro-F1 on the held-out texts."""
    return max(range(len(epochs)), key=lambda k: epochs[k]["macro_f1"])
