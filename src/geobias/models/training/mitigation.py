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
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Self

import numpy as np
import torch
import transformers

from geobias.errors import InputError
from geobias.files import save_file, writing
from geobias.models.model_files import compute_fingerprint, load_pretrained, quiet_transformers
from geobias.models.pretrained import longest_input, resolve_device
from geobias.models.sources import locate_weights
from geobias.models.training.epochs import (
    IGNORED,
    Batch,
    Checkpoint,
    build_optimiser,
    pad_batch,
    set_padding,
    shuffle_batches,
    train_epoch,
)
from geobias.models.training.finetuning import Hyperparameters
from geobias.texts.counterfactuals import Counterfactuals

DEFAULT_STRENGTHS = {"augment": 1, "pair": 3.0}
RATE, BATCH = 5e-5, 32
VERSIONS = 1  # renamed versions of a text in each epoch of `pair`
RECORD = "mitigation.json"
PIPELINES = {"classifier": "text-classification", "masked-LM": "fill-mask", "causal LM": "text-generation"}
BORROWED_TOKENIZER = ("tokenizer_folder", "tokenizer_normalizer")  # fields of a bundled classifier's configuration


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
    strength = DEFAULT_STRENGTHS[method] if strength is None else strength
    hyperparameters = Hyperparameters(epochs=epochs, batch=BATCH, rate=rate, seed=seed)
    name, source = str(model), locate_weights(str(model))
    network, tokenizer = load_pretrained(
        transformers.AutoModelForSequenceClassification, name, source, dtype=torch.float32, kind="classifier"
    )
    settings: dict[str, Any] = {"method": method, "strength": strength}
    settings["model"] = compute_fingerprint(network, tokenizer)
    set_padding(network, tokenizer)
    classes = match_labels(name, network.config, labels, label_names)
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
    facts = {
        "method": method,
        "strength": strength,
        "model": name,
        "labelled_texts": len(texts),
        "texts_with_names": batches.texts_with_names,
        "renamed_versions_per_epoch": batches.versions,
        "countries": len(counterfactuals.countries),
        "epochs": epochs,
        "learning_rate": rate,
        "seed": seed,
        "loss_by_epoch": losses,
    }
    folder.publish(network, tokenizer, facts)
    return folder.path


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
    return np.array([own_labels.index(label) for label in label_names], dtype=np.int64)[np.asarray(labels)]


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
    while len(checkpoint.epochs) < options.epochs:
        epoch = len(checkpoint.epochs) + 1
        loss = train_epoch(
            PairedLoss(network, weight),
            batches.build(epoch, tokenizer, longest),
            optimiser,
            epoch=epoch,
            seed=options.seed,
            epochs=options.epochs,
            label=name,
            progress=progress,
        )
        checkpoint.save(network, optimiser, {"loss": loss})
    return [float(epoch["loss"]) for epoch in checkpoint.epochs]


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
    def device(self) -> Any:
        return self.model.device

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


class MitigatedFolder:
    """Where a mitigated model is written: never half, and never over another model or one with other settings.

    It is made in a folder beside it, OUT.training, and moved to OUT when it is finished.
    """

    def __init__(self, path: Path, settings: Mapping[str, Any]) -> None:
        self.path, self.settings = path, json.loads(json.dumps(settings))
        self.training = path.with_name(f"{path.name}.training")
        self.is_finished = False
        if path.is_dir() and any(path.iterdir()):
            if _read_settings(path) != self.settings:
                raise InputError(
                    f"{path} exists and is not a model of this training: method, strength, data, model or seed differ. "
                    "Choose another folder, or remove it."
                )
            self.is_finished = True

    def prepare(self) -> None:
        """Make the folder of the training: what cannot be written fails now, not after an epoch."""
        with writing(self.path):
            self.training.mkdir(parents=True, exist_ok=True)

    def publish(self, model: Any, tokenizer: Any, facts: Mapping[str, Any], kind: str = "classifier") -> None:
        """Save the model with its tokenizer and card, and move it to its place."""
        for field in BORROWED_TOKENIZER:
            if hasattr(model.config, field):
                delattr(model.config, field)
        staging = self.training / "model"
        with writing(self.path), quiet_transformers():
            shutil.rmtree(staging, ignore_errors=True)
            model.cpu().save_pretrained(staging)
            tokenizer.save_pretrained(staging)
            save_file(staging / "README.md", write_card(facts, kind).encode())
            record = {"settings": self.settings, "facts": facts}
            save_file(staging / RECORD, json.dumps(record, indent=1).encode())
            if self.path.is_dir():  # and empty
                self.path.rmdir()
            staging.replace(self.path)
            shutil.rmtree(self.training)
        self.is_finished = True


def write_card(facts: Mapping[str, Any], kind: str) -> str:
    """The model card: which model was changed, how and with what."""
    name = facts["model"]
    lines = ["---", "library_name: transformers", f"pipeline_tag: {PIPELINES[kind]}", f"base_model: {json.dumps(name)}"]
    lines += ["tags: [geobias, mitigation]", "---", "", f"# {name}, mitigated with `{facts['method']}`", ""]
    change = (
        f"geobias changed the classifier `{name}` so that its answers depend less on the country that people's names "
        "come from. Labels and speed are unchanged."
        if kind == "classifier"
        else f"geobias changed the {kind} `{name}` so that its descriptions of people depend less on their region."
    )
    unseen = "names" if kind == "classifier" else "regions, words and templates"
    lines += [
        change,
        "",
        "| | |",
        "|---|---|",
        *(f"| {key.replace('_', ' ')} | {_format(value)} |" for key, value in facts.items()),
        "",
        f"Audit it on {unseen} that were not used here. The licences of the original model and of the texts apply.",
    ]
    return "\n".join(lines) + "\n"


def _format(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(_format, value))
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _read_settings(folder: Path) -> Any:
    try:
        return json.loads((folder / RECORD).read_text(encoding="utf-8"))["settings"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
