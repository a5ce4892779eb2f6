"""Pretrain the embedded masked language model from scratch on the encoded Wikipedia corpus.

    python -m recipes.lm.pretrain build lm --seconds 810

reads `build/tokenizer` and `build/pieces/*.bin` (see tokenizer.py) and writes the model folder `lm`. The
seconds are those of one H200; the learning rate follows the clock, so a slower machine needs more of them for
the same result. Pieces still being encoded when training starts are picked up once they are there.

The rows are those of corpus.py. Many tokens are masked at first and fewer later (30 % to 15 %), which gives
more to learn from each row while the model is still coarse.
"""

import argparse
import copy
import json
import shutil
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor
from transformers import BertConfig, BertForMaskedLM, PreTrainedModel

from recipes.lm.corpus import PAD, ROW, Corpus, Masker, Rows, make_rows
from recipes.lm.muon import Muon

SEED = 0
ROWS_HELD_OUT = 256


@dataclass(frozen=True)
class Schedule:
    """How one training run spends its time."""

    seconds: float
    rows: int = 1024
    single_rows: float = 0.3  # share of the rows that hold single sentences
    learning_rate: float = 4e-3
    warm_up: float = 0.03
    masked_shares: tuple[float, ...] = (0.30, 0.25, 0.20, 0.15)  # one for each part of the time


class FastForward:
    """The forward pass of a BertForMaskedLM without dropout, written out so that it compiles to few kernels.

    The model object only holds the weights; what this computes is what `model(...)` computes in eval mode.
    """

    def __init__(self, model: BertForMaskedLM, device: torch.device, compiled: bool = True):
        self.model, self.device = model, device
        self.dtype = torch.bfloat16 if device.type == "cuda" else torch.float32
        compile_ = torch.compile if compiled else (lambda function, **_: function)
        self.embed = compile_(self._embed, dynamic=False)
        self.layer = compile_(self._layer, dynamic=False)
        self.head_loss = compile_(self._head_loss, dynamic=True)  # the number of targets changes

    def _embed(self, ids: Tensor, positions: Tensor) -> Tensor:
        parts = self.model.bert.embeddings
        total = parts.word_embeddings(ids) + parts.position_embeddings(positions)
        return parts.LayerNorm(total + parts.token_type_embeddings.weight[0]).to(self.dtype)

    def _layer(self, layer: torch.nn.Module, hidden: Tensor, single_mask: Tensor) -> Tensor:
        attention, heads = layer.attention.self, self.model.config.num_attention_heads
        rows, length, width = hidden.shape
        weights = torch.cat([attention.query.weight, attention.key.weight, attention.value.weight])
        biases = torch.cat([attention.query.bias, attention.key.bias, attention.value.bias])
        projected = F.linear(hidden, weights, biases).view(rows, length, 3, heads, width // heads)
        query, key, value = projected.permute(2, 0, 3, 1, 4)
        running = rows - len(single_mask)
        parts = []
        if running:
            parts.append(F.scaled_dot_product_attention(query[:running], key[:running], value[:running]))
        if running < rows:
            last = [part[running:] for part in (query, key, value)]
            parts.append(F.scaled_dot_product_attention(*last, attn_mask=single_mask))
        mixed = torch.cat(parts).transpose(1, 2).reshape(rows, length, width)
        added = hidden + layer.attention.output.dense(mixed)
        hidden = layer.attention.output.LayerNorm(added).to(self.dtype)
        widened = F.gelu(layer.intermediate.dense(hidden))
        return layer.output.LayerNorm(hidden + layer.output.dense(widened)).to(self.dtype)

    def _head_loss(self, hidden: Tensor, labels: Tensor) -> Tensor:
        return F.cross_entropy(self.model.cls(hidden).float(), labels)

    def loss(self, rows: Rows, ids: Tensor, targets: Tensor, labels: Tensor) -> Tensor:
        """Return the mean loss over the targets hidden in `ids`."""
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self.dtype == torch.bfloat16):
            hidden = self.embed(ids, rows.positions)
            mask = rows.single_mask.expand(-1, self.model.config.num_attention_heads, -1, -1)
            for layer in self.model.bert.encoder.layer:
                hidden = self.layer(layer, hidden, mask)
            return self.head_loss(hidden.flatten(0, 1)[targets], labels)


def new_model(vocabulary: int, layers: int, width: int) -> BertForMaskedLM:
    """Return an untrained model; heads are 64 wide, as in every BERT."""
    return BertForMaskedLM(
        BertConfig(
            vocab_size=vocabulary,
            hidden_size=width,
            num_hidden_layers=layers,
            num_attention_heads=width // 64,
            intermediate_size=4 * width,
            max_position_embeddings=ROW,
            pad_token_id=PAD,
        )
    )


def optimizers(model: BertForMaskedLM, cuda: bool) -> list[torch.optim.Optimizer]:
    """Return Muon for the matrices, whose updates it keeps well conditioned, and AdamW for all the rest."""
    named = list(model.named_parameters())
    matrices = [p for name, p in named if p.ndim == 2 and "embeddings" not in name]
    embeddings = [p for name, p in named if p.ndim == 2 and "embeddings" in name]
    vectors = [p for _, p in named if p.ndim == 1]
    groups = [{"params": embeddings, "weight_decay": 0.01}, {"params": vectors, "weight_decay": 0.0}]
    adam = torch.optim.AdamW(groups, betas=(0.9, 0.98), eps=1e-6, fused=cuda)
    return [Muon(matrices, weight_decay=0.05), adam]


def train(model: BertForMaskedLM, corpus: Corpus, masker: Masker, schedule: Schedule, compiled: bool) -> None:
    """Train the model in place until the schedule's seconds are spent; print the losses now and then."""
    device = corpus.device
    generator = torch.Generator(device).manual_seed(SEED)
    forward = FastForward(model, device, compiled)
    uncompiled = FastForward(model, device, compiled=False)  # compiling for held-out rows does not pay
    optimizers_ = optimizers(model, device.type == "cuda")
    single = round(schedule.rows * schedule.single_rows)

    def training_loss(share: float) -> Tensor:
        running = corpus.running.windows(schedule.rows - single, generator)
        rows = make_rows(running, corpus.single.windows(single, generator), forward.dtype)
        return forward.loss(rows, *masker(rows.ids, share, True, generator))

    @torch.no_grad()
    def held_out_loss(batches: int) -> float:
        same_draw = torch.Generator(device).manual_seed(SEED + 1)
        losses = []
        for _ in range(batches):
            windows = corpus.held_out.windows(ROWS_HELD_OUT, same_draw)
            cut = 0 if corpus.single_held_out else ROWS_HELD_OUT
            rows = make_rows(windows[:cut], windows[cut:], forward.dtype)
            losses.append(uncompiled.loss(rows, *masker(rows.ids, 0.15, False, same_draw)))
        return float(torch.stack(losses).mean())

    training_loss(schedule.masked_shares[0]).backward()  # compiles, before the clock starts
    began = reported = time.monotonic()
    step, recent = 0, []
    while (spent := (time.monotonic() - began) / schedule.seconds) < 1:
        rate = schedule.learning_rate * min(spent / schedule.warm_up, (1 - spent) / (1 - schedule.warm_up))
        for optimizer in optimizers_:
            for group in optimizer.param_groups:
                group["lr"] = rate
        share = schedule.masked_shares[int(spent * len(schedule.masked_shares))]
        model.zero_grad(set_to_none=True)
        loss = training_loss(share)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        for optimizer in optimizers_:
            optimizer.step()
        step += 1
        if step % 20 == 0:
            recent = [*recent[-19:], loss.item()]  # reading the loss also keeps the clock honest
            corpus.refresh()
        if time.monotonic() - reported > schedule.seconds / 40:
            reported = time.monotonic()
            tokens = step * schedule.rows * ROW / 1e6
            speed = tokens / (reported - began)
            losses = f"loss {np.mean(recent):.3f} held-out {held_out_loss(4):.3f}"
            progress = f"{reported - began:.0f} s, {step} steps, {tokens:.0f} M tokens, {speed:.2f} M/s"
            print(f"{progress}, {losses}", flush=True)
    tokens = step * schedule.rows * ROW
    print(f"end: {step} steps, {tokens:,} tokens, held-out loss {held_out_loss(32):.4f}", flush=True)


def save(model: PreTrainedModel, tokenizer: Path, folder: Path) -> None:
    """Write the model in half precision, to be loaded in single precision, with its tokenizer beside it."""
    half = copy.deepcopy(model).half()
    half.save_pretrained(folder)
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    config["dtype"] = "float32"
    (folder / "config.json").write_text(json.dumps(config, indent=1) + "\n", encoding="utf-8")
    shutil.copy(tokenizer / "tokenizer_config.json", folder / "tokenizer_config.json")
    vocabulary = json.loads((tokenizer / "tokenizer.json").read_text(encoding="utf-8"))
    compact = json.dumps(vocabulary, ensure_ascii=False, separators=(",", ":"))
    (folder / "tokenizer.json").write_text(compact + "\n", encoding="utf-8")


def main() -> None:
    """Train a new model on the corpus and save it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=Path, help="folder that tokenizer.py wrote")
    parser.add_argument("out", type=Path)
    parser.add_argument("--seconds", type=float, default=810)
    parser.add_argument("--pieces", type=int, default=5, help="how many pieces the corpus has in the end")
    parser.add_argument("--layers", type=int, default=9)
    parser.add_argument("--width", type=int, default=256)
    parser.add_argument("--rows", type=int, default=1024, help="rows in a batch")
    parser.add_argument("--no-compile", action="store_true", help="for a quick try on a CPU")
    arguments = parser.parse_args()
    torch.manual_seed(SEED)
    torch.set_float32_matmul_precision("high")
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    tokenizer = arguments.build / "tokenizer"
    vocabulary = json.loads((tokenizer / "tokenizer.json").read_text(encoding="utf-8"))["model"]["vocab"]
    model = new_model(len(vocabulary), arguments.layers, arguments.width).to(device)
    print(f"{model.num_parameters() / 1e6:.2f} M parameters on {device}", flush=True)
    corpus = Corpus(arguments.build / "pieces", arguments.pieces, device)
    schedule = Schedule(arguments.seconds, arguments.rows)
    train(model, corpus, Masker(vocabulary, device), schedule, not arguments.no_compile)
    save(model, tokenizer, arguments.out)


if __name__ == "__main__":
    main()
