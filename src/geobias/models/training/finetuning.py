"""Fine-tune a pretrained model to a classifier with the usual settings; the best epoch is kept.

AdamW, a learning rate with a linear warm-up over the first tenth of the steps and a linear decay, and an evaluation on
the validation texts after every epoch.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers

from geobias.checks import HIGHEST_SEED, LARGEST_BATCH, MOST_EPOCHS, check_number
from geobias.errors import InputError
from geobias.files import writing
from geobias.models.classifiers.huggingface import HuggingFaceClassifier
from geobias.models.fingerprint import compute_fingerprint
from geobias.models.model_files import load_pretrained, quiet_transformers, read_config_fields
from geobias.models.pretrained import longest_input, resolve_device
from geobias.models.training.epochs import Batch, Checkpoint, pad_batch, shuffle_batches, train_epoch

WARM_UP, WEIGHT_DECAY = 0.1, 0.01
LONGEST_INPUT = 1_000_000  # tokens


@dataclass(frozen=True)
class TrainingSettings:
    """The settings of a fine-tuning."""

    epochs: int = 3
    batch: int = 32
    rate: float = 2e-5
    max_length: int = 128
    seed: int = 0

    def __post_init__(self) -> None:
        check_number("--epochs", self.epochs, 1, MOST_EPOCHS)
        check_number("--batch", self.batch, 1, LARGEST_BATCH)
        check_number("--max-length", self.max_length, 8, LONGEST_INPUT)
        check_number("--seed", self.seed, 0, HIGHEST_SEED)
        if not 0 < self.rate < 1:
            raise InputError(f"--rate is a learning rate between 0 and 1, not {self.rate}.")


@dataclass(frozen=True)
class LabelledTexts:
    """Texts with the number of each one's class; `digest` identifies them."""

    texts: Sequence[str]
    classes: np.ndarray
    digest: str


Measure = Callable[[HuggingFaceClassifier], Mapping[str, float]]
"""Evaluates a classifier on validation texts; its "macro_f1" decides which epoch is the best."""


def finetune(
    name: str,
    source: str,
    train: LabelledTexts,
    labels: Sequence[str],
    how: TrainingSettings,
    folder: Path,
    *,
    measure: Measure,
    device: str = "auto",
    progress: bool | None = None,
) -> list[dict[str, Any]]:
    """Train, or resume after the last finished epoch, and save the best epoch's model in folder/model.

    Return the measurements of each epoch.
    """
    torch.manual_seed(how.seed)  # the new head
    head = {
        "num_labels": len(labels),
        "id2label": dict(enumerate(labels)),
        "label2id": {label: k for k, label in enumerate(labels)},
    }
    model, tokenizer = load_pretrained(
        transformers.AutoModelForSequenceClassification,
        name,
        source,
        dtype=torch.float32,
        kind="model with a classifier's form",
        new_head=head,
    )
    body = compute_fingerprint(model.base_model, tokenizer, read_config_fields(source))  # the head is new, and random
    settings = asdict(how) | {"model": body, "labels": list(labels), "train": train.digest}
    checkpoint = Checkpoint(folder / "training", settings)
    with writing(folder):  # fails now rather than after an epoch
        folder.mkdir(parents=True, exist_ok=True)
    if tokenizer.pad_token_id is None:  # causal models have none: their end of text serves
        tokenizer.pad_token = tokenizer.eos_token
    model.config.pad_token_id = tokenizer.pad_token_id
    model.config.problem_type = "single_label_classification"
    model.to(resolve_device(device))
    optimiser = torch.optim.AdamW(model.parameters(), lr=how.rate, weight_decay=WEIGHT_DECAY)
    for group in optimiser.param_groups:
        group["initial_lr"] = how.rate
    if len(checkpoint.epochs) < how.epochs:
        checkpoint.restore(model, optimiser)
    longest = min(how.max_length, longest_input(model, tokenizer))
    ids = tokenizer(list(train.texts), truncation=True, max_length=longest)["input_ids"]
    steps = how.epochs * -(-len(ids) // how.batch)
    while len(checkpoint.epochs) < how.epochs:
        epoch = len(checkpoint.epochs) + 1
        order = shuffle_batches(len(ids), how.batch, seed=how.seed, epoch=epoch)
        batches = [_batch(tokenizer, ids, train.classes, positions) for positions in order]
        loss = train_epoch(
            model,
            batches,
            optimiser,
            epoch=epoch,
            seed=how.seed,
            rate=lambda step: _rate(step, steps),
            label=name,
            progress=progress,
        )
        measurements = {
            "loss": loss,
            **measure(HuggingFaceClassifier(name, model, tokenizer, fingerprint="in training")),
        }
        best = find_best_epoch([*checkpoint.epochs, measurements])
        checkpoint.keep(model, optimiser, measurements, keep=[best + 1])
    checkpoint.restore(model, epoch=find_best_epoch(checkpoint.epochs))
    checkpoint.discard_optimiser()
    with writing(folder / "model"), quiet_transformers():
        model.cpu().save_pretrained(folder / "model")
        tokenizer.save_pretrained(folder / "model")
    return checkpoint.epochs


def find_best_epoch(epochs: Sequence[Mapping[str, Any]]) -> int:
    """Return the index of the first epoch with the highest macro-F1 on the validation texts."""
    return max(range(len(epochs)), key=lambda k: (epochs[k]["macro_f1"], -k))


def _batch(tokenizer: Any, ids: Sequence[Sequence[int]], classes: np.ndarray, positions: np.ndarray) -> Batch:
    batch = pad_batch(tokenizer, [ids[k] for k in positions])
    batch["labels"] = torch.from_numpy(classes[positions])
    return batch


def _rate(step: int, steps: int) -> float:
    warm = max(1, round(WARM_UP * steps))
    return (step + 1) / warm if step < warm else max(0.0, (steps - step) / max(1, steps - warm))
