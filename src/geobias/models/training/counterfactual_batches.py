"""Batches of labelled texts with their renamed versions, and the loss of counterfactual logit pairing."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, Self

import numpy as np
import torch

from geobias.errors import InputError
from geobias.models.training.epochs import IGNORED, Batch, pad_batch, shuffle_batches
from geobias.models.training.hyperparameters import Hyperparameters
from geobias.texts.counterfactuals import Counterfactuals


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
