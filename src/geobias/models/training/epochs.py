"""Training loops that are seeded and can resume after any finished epoch.

An epoch depends only on the seed, its number and the weights before it: resumed or not, the weights are the same.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError
from safetensors.torch import load_model, save_model
from torch.nn.utils.rnn import pad_sequence

from geobias.errors import InputError
from geobias.files import remove_temporary_files, write_whole, writing
from geobias.progress import progress_bar

STATE = "state.json"
IGNORED = -100  # a label that adds nothing to the loss
CLIP = 1.0  # largest norm of a step's gradients

Batch = dict[str, torch.Tensor]
Tokens = Sequence[int] | np.ndarray


class Checkpoint:
    """The state of a training between epochs, on disk: weights, the optimiser's state, and the measures so far."""

    def __init__(self, folder: Path, settings: Mapping[str, Any]) -> None:
        self.folder = folder
        self.settings = json.loads(json.dumps(settings))
        self.epochs: list[dict[str, Any]] = []
        path = folder / STATE
        remove_temporary_files(folder)
        if path.is_file():
            try:
                state = json.loads(path.read_text(encoding="utf-8"))
                self.epochs, saved_settings = list(state["epochs"]), state["settings"]
            except (OSError, ValueError, KeyError, TypeError):
                raise InputError(f"{path} is damaged. Remove {folder} to train again from the start.") from None
            if saved_settings != self.settings:
                raise InputError(
                    f"{folder} has a training with other settings, data or model. Choose another --out, or remove it."
                )

    def restore(self, model: torch.nn.Module, optimiser: torch.optim.Optimizer | None = None, epoch: int = -1) -> None:
        """Load the weights (and the optimiser's state) of the last finished epoch, or of another that was kept."""
        if not self.epochs:
            return
        number = self.epochs[epoch]["epoch"]
        try:
            load_model(model, self._file(number, "safetensors"), device=str(next(model.parameters()).device))
            if optimiser is not None:
                optimiser.load_state_dict(torch.load(self._file(number, "optimiser"), weights_only=True))
        except Exception as error:  # missing, cut short, of another model
            raise InputError(
                f"Cannot read the checkpoint of epoch {number} in {self.folder}. Remove the folder to train again."
            ) from error

    def save(
        self,
        model: torch.nn.Module,
        optimiser: torch.optim.Optimizer,
        measures: Mapping[str, Any],
        keep: Sequence[int] = (),
    ) -> None:
        """Save the state after an epoch, and delete the weights of earlier epochs that are not in `keep`."""
        number = len(self.epochs) + 1
        with writing(self.folder):
            self.folder.mkdir(parents=True, exist_ok=True)
            try:
                save_model(model, str(self._file(number, "safetensors")))
                torch.save(optimiser.state_dict(), self._file(number, "optimiser"))
            except (RuntimeError, SafetensorError) as error:  # the libraries' own words for a full disk
                raise OSError(None, " ".join(str(error).split())[:200]) from error
            self.epochs.append({"epoch": number, **measures})
            state = {"settings": self.settings, "epochs": self.epochs}
            write_whole(self.folder / STATE, json.dumps(state, indent=1).encode())
            for old in range(1, number):
                self._file(old, "optimiser").unlink(missing_ok=True)
                if old not in keep:
                    self._file(old, "safetensors").unlink(missing_ok=True)

    def remove_optimiser_states(self) -> None:
        """Delete what only resuming needs: it is twice as large as the weights."""
        for file in self.folder.glob("epoch-*.optimiser"):
            file.unlink()

    def _file(self, epoch: int, kind: str) -> Path:
        return self.folder / f"epoch-{epoch:03}.{kind}"


def train_epoch(
    model: Any,
    batches: Sequence[Batch],
    optimiser: torch.optim.Optimizer,
    *,
    epoch: int,
    seed: int,
    rate: Callable[[int], float] | None = None,
    clip: float | None = CLIP,
    label: str,
    progress: bool | None = None,
) -> float:
    """Train on every batch once and return the mean loss.

    `rate` gives the share of the learning rate at each step, counted over all epochs. Gradients are clipped to the
    norm `clip`; None leaves them as they are.
    """
    torch.manual_seed(seed * 100_003 + epoch)  # dropout
    model.train()
    losses = []
    examples = sum(len(batch["input_ids"]) for batch in batches)
    with progress_bar(f"{label}, epoch {epoch}", examples, progress) as advance:
        for k, batch in enumerate(batches):
            if rate is not None:
                for group in optimiser.param_groups:
                    group["lr"] = group["initial_lr"] * rate((epoch - 1) * len(batches) + k)
            loss = model(**{name: tensor.to(model.device) for name, tensor in batch.items()}).loss
            if not torch.isfinite(loss):
                raise InputError(f"{label}: the loss is not finite after {k} steps of epoch {epoch}. Lower --rate.")
            optimiser.zero_grad()
            loss.backward()
            if clip is not None:
                torch.nn.utils.clip_grad_norm_(model.parameters(), clip)
            optimiser.step()
            losses.append(float(loss.detach()))
            advance(len(batch["input_ids"]))
    if not all(bool(torch.isfinite(parameter).all()) for parameter in model.parameters()):
        raise InputError(f"{label}: the weights are not finite after epoch {epoch}. Lower --rate.")
    model.eval()
    return float(np.mean(losses))


def shuffle_batches(count: int, size: int, *, seed: int, epoch: int) -> list[np.ndarray]:
    """The positions of the examples of each batch, in an order that depends on seed and epoch alone."""
    order = np.random.default_rng([seed, epoch]).permutation(count)
    return [order[start : start + size] for start in range(0, count, size)]


def pad_batch(tokenizer: Any, ids: Sequence[Tokens], labels: Sequence[Tokens] | None = None) -> Batch:
    """Token ids of different lengths as one batch; labels of tokens, if any, are padded with the ignored label."""

    def pad(rows: Sequence[Tokens], value: int) -> torch.Tensor:
        return pad_sequence([torch.as_tensor(row) for row in rows], batch_first=True, padding_value=value)

    batch = {
        "input_ids": pad(ids, tokenizer.pad_token_id or 0),
        "attention_mask": pad([np.ones_like(tokens) for tokens in ids], 0),
    }
    if labels is not None:
        batch["labels"] = pad(labels, IGNORED)
    return batch
