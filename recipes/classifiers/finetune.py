"""Fine-tuning small BERT classifiers: making one from a language model, batches, training loop, logits."""

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import torch
from torch import Tensor
from transformers import BertConfig, BertForSequenceClassification

LEARNING_RATE = 2e-4


def classifier_from(
    lm: Path, weights: dict[str, Tensor], labels: int, layers: int, device: torch.device
) -> BertForSequenceClassification:
    """Return a classifier with the first layers of a language model's encoder; pooler and head are new."""
    config = BertConfig.from_pretrained(lm, num_labels=labels, num_hidden_layers=layers)
    model = BertForSequenceClassification(config)
    encoder = {name: weight for name, weight in weights.items() if name in model.state_dict()}
    missing = model.load_state_dict(encoder, strict=False).missing_keys
    if any("pooler" not in name and "classifier" not in name for name in missing):
        raise ValueError(f"the language model lacks {missing}")
    return model.to(device)


def pad(ids: list[list[int]], device: torch.device) -> dict[str, Tensor]:
    """Return a padded batch and its attention mask."""
    length = -(-max(map(len, ids)) // 8) * 8
    padded = torch.zeros(len(ids), length, dtype=torch.long)
    for row, tokens in enumerate(ids):
        padded[row, : len(tokens)] = torch.tensor(tokens)
    padded = padded.to(device)
    return {"input_ids": padded, "attention_mask": (padded != 0).long()}


@torch.no_grad()
def logits_of(model: BertForSequenceClassification, ids: list[list[int]], batch: int = 512) -> np.ndarray:
    """Return the logits of texts in eval mode; texts of like length go together, to save padding."""
    model.eval()
    order = sorted(range(len(ids)), key=lambda i: -len(ids[i]))
    out = torch.zeros(len(ids), model.config.num_labels)
    for start in range(0, len(ids), batch):
        rows = order[start : start + batch]
        out[rows] = model(**pad([ids[i] for i in rows], model.device)).logits.float().cpu()
    model.train()
    return out.numpy()


def descend(
    model: BertForSequenceClassification,
    loss_of: Callable[[np.ndarray], Tensor],
    count: int,
    batch: int,
    epochs: int,
    seed: int,
    learning_rate: float = LEARNING_RATE,
) -> Iterator[int]:
    """Train with AdamW, warm-up and linear decay on the losses of batches of rows; yield after each epoch."""
    steps = epochs * -(-count // batch)
    cuda = model.device.type == "cuda"
    optimizer = torch.optim.AdamW(model.parameters(), learning_rate, betas=(0.9, 0.98), weight_decay=0.01, fused=cuda)
    rate = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min((step + 1) / (0.1 * steps), (steps - step) / (0.9 * steps))
    )
    shuffle = np.random.default_rng(seed)
    model.train()
    for epoch in range(epochs):
        order = shuffle.permutation(count)
        for start in range(0, count, batch):
            loss = loss_of(order[start : start + batch])
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            rate.step()
        yield epoch + 1
