"""Training loops that are seeded and can resume after any finished epoch.

An epoch depends only on the seed, its number and the weights before it: resumed or not, the weights are the same.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError
from safetensors.torch import load_model, save_model
from torch.nn.utils.rnn import pad_sequence

from geobias.errors import InputError
from geobias.files import remove_temporary_files, write_whole, writing
from geobias.models.causal import CausalLM
from geobias.models.language_model import LanguageModel
from geobias.models.masked import MaskedLM
from geobias.progress import progress_bar

STATE = "state.json"
IGNORED = -100  # a label that adds nothing to the loss
CLIP = 1.0  # largest norm of a step's gradients
WARM_UP, WEIGHT_DECAY = 0.1, 0.01

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
    epochs: int | None = None,
    label: str,
    progress: bool | None = None,
) -> float:
    """Train on every batch once and return the mean loss.

    Over so many `epochs` the learning rate rises and falls, and gradients are clipped. None leaves both as they are.
    """
    torch.manual_seed(seed * 100_003 + epoch)  # dropout
    model.train()
    losses = []
    examples = sum(len(batch["input_ids"]) for batch in batches)
    with progress_bar(f"{label}, epoch {epoch}", examples, progress) as advance:
        for k, batch in enumerate(batches):
            if epochs is not None:
                factor = rate_factor((epoch - 1) * len(batches) + k, epochs * len(batches))
                for group in optimiser.param_groups:
                    group["lr"] = group["initial_lr"] * factor
            loss = model(**{name: tensor.to(model.device) for name, tensor in batch.items()}).loss
            if not torch.isfinite(loss):
                raise InputError(f"{label}: the loss is not finite after {k} steps of epoch {epoch}. Lower --rate.")
            optimiser.zero_grad()
            loss.backward()
            if epochs is not None:
                torch.nn.utils.clip_grad_norm_(model.parameters(), CLIP)
            optimiser.step()
            losses.append(float(loss.detach()))
            advance(len(batch["input_ids"]))
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


def set_padding(model: Any, tokenizer: Any) -> None:
    """Let model and tokenizer agree on a padding token. Causal models have none: their end of text serves."""
    if tokenizer.pad_token_id is None:
        tokenizer.pad_token = tokenizer.eos_token
    model.config.pad_token_id = tokenizer.pad_token_id


def build_optimiser(model: Any, rate: float) -> torch.optim.Optimizer:
    """AdamW with a highest learning rate that `train_epoch` can scale."""
    optimiser = torch.optim.AdamW(model.parameters(), lr=rate, weight_decay=WEIGHT_DECAY)
    for group in optimiser.param_groups:
        group["initial_lr"] = rate
    return optimiser


def rate_factor(step: int, steps: int) -> float:
    """The share of the highest learning rate at a step: linear warm-up, then linear decay."""
    warm_up = max(1, round(WARM_UP * steps))
    return (step + 1) / warm_up if step < warm_up else max(0.0, (steps - step) / max(1, steps - warm_up))


# BERT's rule: the share of tokens to predict; of these the shares that become the mask and any other token.
PREDICTED, MASKED, REPLACED = 0.15, 0.8, 0.1
LONGEST_PART = 512  # tokens, where the model could read more

Example = tuple[np.ndarray, np.ndarray]  # token ids as the model sees them, and labels
Span = tuple[int, int]


def refuse_untrainable(lm: LanguageModel) -> None:
    """Refuse what can be scored, but not trained: encoder-decoders, masked models without a mask, quantized weights."""
    if not isinstance(lm, MaskedLM | CausalLM):
        raise InputError(f"{lm.name} is a {lm.kind}. Use a masked or a causal language model.")
    if isinstance(lm, MaskedLM) and lm.tokenizer.mask_token_id is None:
        raise InputError(f"{lm.name} has no mask token, so it cannot be trained by masking. Use a masked LM.")
    if any(parameter.is_meta or not parameter.is_floating_point() for parameter in lm.model.parameters()):
        raise InputError(f"{lm.name} cannot be trained: its weights are not loaded, or are quantized.")


def mask_spans(lm: MaskedLM, texts: Sequence[str], spans: Sequence[Sequence[Span]]) -> list[Example | None]:
    """Mask every token that overlaps a span of its text; None for a text that was cut before its spans."""
    encodings, _ = lm.encode(texts)
    examples: list[Example | None] = []
    for encoding, text_spans in zip(encodings, spans, strict=True):
        ids, offsets = np.array(encoding.ids), np.array(encoding.offsets)
        masked = np.zeros(len(ids), dtype=bool)
        for start, end in text_spans:
            masked |= (offsets[:, 1] > start) & (offsets[:, 0] < end)
        masked &= np.array(encoding.special_tokens_mask) == 0
        inputs = np.where(masked, lm.tokenizer.mask_token_id, ids)
        examples.append((inputs, np.where(masked, ids, IGNORED)) if masked.any() else None)
    return examples


def split_texts(lm: LanguageModel, texts: Sequence[str]) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """The texts in parts as long as the model reads: token ids, and the positions of those that are not special."""
    longest = min(lm.max_length, LONGEST_PART)
    for encoding in lm.tokenizer(list(texts), truncation=True, max_length=longest).encodings:
        for part in (encoding, *encoding.overflowing):
            positions = np.flatnonzero(np.array(part.special_tokens_mask) == 0)
            if len(positions):
                yield np.array(part.ids), positions


def mask_randomly(tokenizer: Any, ids: np.ndarray, positions: np.ndarray, rng: np.random.Generator) -> Example:
    """BERT's rule: 15 % of the tokens (at least one) are predicted; 80 % of these are masked, 10 % become any other."""
    drawn = rng.random(len(positions)) < PREDICTED
    if not drawn.any():
        drawn[rng.integers(len(positions))] = True
    predicted, fate = positions[drawn], rng.random(drawn.sum())
    inputs, labels = ids.copy(), np.full(len(ids), IGNORED)
    labels[predicted] = ids[predicted]
    inputs[predicted[fate < MASKED]] = tokenizer.mask_token_id
    replaced = predicted[(fate >= MASKED) & (fate < MASKED + REPLACED)]
    inputs[replaced] = rng.integers(len(tokenizer), size=len(replaced))
    return inputs, labels
