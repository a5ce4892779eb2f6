"""Train a classifier so that its answers depend less on the country that people's names come from.

* `augment`: counterfactual data augmentation. Each labelled text that names people is also read with names of other
  countries, under the same label.
* `pair`: counterfactual logit pairing (Garg et al. 2019). The loss has a second term, the mean absolute difference of
  the logits of a text and of its renamed version. Absolute, as in the paper: the gradient of a squared difference
  fades where differences are small. Logits that all shrink towards each other also lower this term, so a smaller
  spread is no proof of less bias: compare flips, and the spread relative to that of the texts.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Self

import numpy as np
import torch
import transformers

from geobias.checks import check_number, describe_choices
from geobias.errors import InputError
from geobias.models.model_files import compute_fingerprint, load_pretrained
from geobias.models.pretrained import longest_input, resolve_device
from geobias.models.sources import PICKLES, SKOPS, is_function_name, locate_weights
from geobias.models.training.epochs import IGNORED, Batch, Checkpoint, pad_batch, shuffle_batches, train_epoch
from geobias.models.training.finetuning import build_optimiser, rate_factor, set_padding
from geobias.models.training.hyperparameters import MOST_VERSIONS, Hyperparameters
from geobias.models.training.mitigated_folder import MitigatedFolder
from geobias.texts.counterfactuals import Counterfactuals

METHODS = ("augment", "pair")
DEFAULT_STRENGTHS = {"augment": 1, "pair": 3.0}
RATE, BATCH = 5e-5, 32
VERSIONS = 1  # renamed versions of a text in each epoch of `pair`
HIGHEST_LAMBDA = 1000


def train_mitigated(
    method: str,
    strength: float | None,
    model: str | Path,
    texts: Sequence[str],
    labels: Sequence[int] | np.ndarray,
    label_names: Sequence[str],
    counterfactuals: Counterfactuals,
    out: Path,
    *,
    epochs: int = 1,
    rate: float = RATE,
    seed: int = 0,
    device: str = "auto",
    progress: bool | None = None,
) -> Path:
    """Train a Hugging Face classifier with a mitigation, and save it as an ordinary model folder with a card.

    `strength` is the number of renamed versions of a text in each epoch for "augment", the weight LAMBDA of the
    difference of logits for "pair"; None for the default. `labels` are positions in `label_names`. The names of
    `counterfactuals` must not be those that the result is audited with. A training that was interrupted resumes after
    its last finished epoch; the same settings and data give the same weights.
    """
    strength = check_strength(method, strength)
    hyperparameters = Hyperparameters(epochs=epochs, batch=BATCH, rate=rate, seed=seed)
    name, source = str(model), _locate_trainable(model)
    network, tokenizer = load_pretrained(
        transformers.AutoModelForSequenceClassification, name, source, dtype=torch.float32, kind="classifier"
    )
    settings: dict[str, Any] = {
        "method": method,
        "strength": strength,
        "model": compute_fingerprint(network, tokenizer),
    }
    facts: dict[str, Any] = {"method": method, "strength": strength, "model": name}
    set_padding(network, tokenizer)
    classes = match_labels(name, network.config, labels, label_names)
    if len(classes) != len(texts):
        raise InputError(f"There are {len(texts)} texts and {len(classes)} labels. Give each text a label.")
    batches = CounterfactualBatches(
        texts,
        classes,
        counterfactuals,
        versions=int(strength) if method == "augment" else VERSIONS,
        has_labels=method == "augment",
        hyperparameters=hyperparameters,
    )
    settings |= asdict(hyperparameters) | {"data": batches.digest}
    folder = MitigatedFolder(out, settings)
    if folder.is_finished:
        return folder.path
    checkpoint = Checkpoint(folder.training, settings)
    folder.prepare()
    network.to(resolve_device(device))
    weight = strength if method == "pair" else 0.0
    losses = _train(name, network, tokenizer, batches, weight, checkpoint, progress)
    facts |= {
        "labelled_texts": len(texts),
        "texts_with_names": batches.texts_with_names,
        "renamed_versions_per_epoch": batches.versions,
        "countries": len(counterfactuals.countries),
        "epochs": epochs,
        "learning_rate": rate,
        "seed": seed,
        "loss_by_epoch": losses,
    }
    folder.publish(network, tokenizer, name, source, facts)
    return folder.path


def check_strength(method: str, strength: float | None) -> float:
    """The strength of a method, or its default; refuse one that the method does not have."""
    if method not in METHODS:
        raise InputError(f"Unknown training method {method!r}. {describe_choices(method, METHODS)}")
    if strength is None:
        return DEFAULT_STRENGTHS[method]
    try:
        number = float(strength)
    except ValueError:
        raise InputError(f"The strength of {method} must be a number, not {strength!r}.") from None
    if method == "augment":
        check_number("The strength of augment", number, 1, MOST_VERSIONS)
        if number != int(number):
            raise InputError(f"The strength of augment must be a whole number of versions, not {number}.")
    else:
        check_number("The strength of pair (LAMBDA)", number, 0, HIGHEST_LAMBDA)
    return number


def match_labels(name: str, config: Any, labels: Sequence[int] | np.ndarray, label_names: Sequence[str]) -> np.ndarray:
    """The class of each text in the order of the model's own labels; refuse labels that the model does not have."""
    own_labels = [str(label) for _, label in sorted(config.id2label.items())]
    if config.problem_type in ("regression", "multi_label_classification") or len(own_labels) == 1:
        raise InputError(
            f"{name} cannot be trained with one label for each text: its labels are independent. Use blind or "
            "average:8."
        )
    unknown = [label for label in label_names if label not in own_labels]
    if unknown:
        raise InputError(
            f"{name} has no label {unknown[0]!r}. Its labels: {', '.join(own_labels)}. Rename those of your texts."
        )
    classes = np.asarray(labels, dtype=np.int64)
    if outside := [int(k) for k in classes if not 0 <= k < len(label_names)]:
        raise InputError(f"A text has the label {outside[0]}; there are {len(label_names)} label names, from 0.")
    return np.array([own_labels.index(label) for label in label_names], dtype=np.int64)[classes]


def _train(
    name: str,
    network: Any,
    tokenizer: Any,
    batches: CounterfactualBatches,
    weight: float,
    checkpoint: Checkpoint,
    progress: bool | None,
) -> list[float]:
    """Train, or resume after the last finished epoch; return the loss of each epoch."""
    options = batches.hyperparameters
    optimiser = build_optimiser(network, options.rate)
    checkpoint.restore(network, optimiser)
    longest = min(options.max_length, longest_input(network, tokenizer))
    steps = options.epochs * -(-len(batches.texts) // options.batch)
    while len(checkpoint.epochs) < options.epochs:
        epoch = len(checkpoint.epochs) + 1
        loss = train_epoch(
            PairedLoss(network, weight),
            batches.build(epoch, tokenizer, longest),
            optimiser,
            epoch=epoch,
            seed=options.seed,
            rate=lambda step: rate_factor(step, steps),
            label=name,
            progress=progress,
        )
        checkpoint.save(network, optimiser, {"loss": loss})
    return [float(epoch["loss"]) for epoch in checkpoint.epochs]


def _locate_trainable(model: str | Path) -> str:
    """Where the weights are; refuse what has none to train."""
    if not isinstance(model, str | Path):
        raise InputError(f"A {type(model).__name__} cannot be trained. Pass a Hugging Face id or a folder.")
    name = str(model)
    if is_function_name(name) or name.lower().endswith((SKOPS, *PICKLES)) or "://" in name:
        raise InputError(f"{name} cannot be trained: it is no Hugging Face classifier. Use blind or average.")
    return locate_weights(name)


class CounterfactualBatches:
    """Labelled texts, each followed in its batch by renamed versions of it, if it names anybody.

    Countries and draws are random, new in each epoch; within an epoch the versions of a text have different countries.
    """

    def __init__(
        self,
        texts: Sequence[str],
        classes: np.ndarray,
        counterfactuals: Counterfactuals,
        *,
        versions: int,
        has_labels: bool,
        hyperparameters: Hyperparameters,
    ) -> None:
        self.texts, self.classes, self.counterfactuals = texts, classes, counterfactuals
        self.versions, self.has_labels, self.hyperparameters = versions, has_labels, hyperparameters
        row_by_text = {text: row for row, text in enumerate(counterfactuals.texts)}
        self.rows = [row_by_text.get(text) for text in texts]
        self.texts_with_names = sum(row is not None for row in self.rows)
        if not self.texts_with_names:
            raise InputError(f"None of the {len(texts)} labelled texts names a person. Add texts that do.")

    @property
    def digest(self) -> str:
        """What tells these texts, labels and renamed versions from others."""
        epochs = range(1, self.hyperparameters.epochs + 1)
        return digest_data(list(self.texts), self.classes.tolist(), self.has_labels, [*map(self.draw_versions, epochs)])

    def draw_versions(self, epoch: int) -> list[list[str]]:
        """The renamed versions of every text in an epoch; none for a text that names nobody."""
        _, countries, draws = self.counterfactuals.shape
        rng = np.random.default_rng([self.hyperparameters.seed, epoch, self.versions])
        versions: list[list[str]] = []
        for row in self.rows:
            codes = np.resize(rng.permutation(countries), self.versions)
            picks = rng.integers(draws, size=self.versions)
            versions.append(
                []
                if row is None
                else [self.counterfactuals.at(row, int(c), int(k)) for c, k in zip(codes, picks, strict=True)]
            )
        return versions

    def build(self, epoch: int, tokenizer: Any, longest: int) -> list[Batch]:
        """The batches of an epoch, with the position of each row's original text in its batch."""
        versions, options = self.draw_versions(epoch), self.hyperparameters
        batches = []
        for positions in shuffle_batches(len(self.texts), options.batch, seed=options.seed, epoch=epoch):
            rows = [(self.texts[k], int(self.classes[k]), place) for place, k in enumerate(positions)]
            for place, k in enumerate(positions):
                label = int(self.classes[k]) if self.has_labels else IGNORED
                rows += [(version, label, place) for version in versions[k]]
            contents, labels, originals = zip(*rows, strict=True)
            ids = tokenizer(list(contents), truncation=True, max_length=longest)["input_ids"]
            batches.append(
                pad_batch(tokenizer, ids) | {"labels": torch.tensor(labels), "originals": torch.tensor(originals)}
            )
        return batches


class PairedLoss(torch.nn.Module):
    """A classifier with the loss of counterfactual logit pairing; with a weight of 0 the cross-entropy alone.

    loss = cross-entropy + weight * mean |logits of a renamed text - logits of its original|. Logits are centred over
    the labels before: a constant that is added to all of them changes no probability. Pairing goes without dropout,
    which would add differences that do not come from names.
    """

    def __init__(self, model: Any, weight: float) -> None:
        super().__init__()
        self.model, self.weight = model, weight

    @property
    def device(self) -> torch.device:
        device: torch.device = self.model.device
        return device

    def train(self, mode: bool = True) -> Self:
        return super().train(mode and not self.weight)

    def forward(
        self, input_ids: torch.Tensor, attention_mask: torch.Tensor, labels: torch.Tensor, originals: torch.Tensor
    ) -> SimpleNamespace:
        logits = self.model(input_ids=input_ids, attention_mask=attention_mask).logits
        loss = torch.nn.functional.cross_entropy(logits, labels, ignore_index=IGNORED)
        renamed = torch.arange(len(originals), device=originals.device) != originals
        if self.weight and bool(renamed.any()):
            centred = logits - logits.mean(dim=1, keepdim=True)
            loss = loss + self.weight * (centred[renamed] - centred[originals[renamed]]).abs().mean()
        return SimpleNamespace(loss=loss)


def digest_data(*parts: Any) -> str:
    """What tells texts, labels and other data of a training from others."""
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:32]
