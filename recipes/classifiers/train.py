"""Train the bundled classifiers: sentiment, emotion, offensive language and hate, four heads on one encoder.

    python -m recipes.classifiers.train build/classifiers OUT

reads what prepare.py wrote and the bundled language model. Minutes on one H200; needs torch and transformers only.

1. Adapt: the language model learns to fill gaps in the training texts.
2. Teach: several models are fine-tuned from it for all four tasks at once, each text for the tasks it has a label in.
3. Distil: one smaller model learns what the teachers say together about every training text, in every task.
4. Shift: one number a task moves its decisions between rare and frequent labels, and is folded into the bias.

Settings, epochs and shifts were chosen on the dev part. OUT receives `encoder/` with the encoder, a folder with the
head of each task, and `answers.npz`: what the classifiers, as they ship, say about the dev and test parts and
outside.npz.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from safetensors.torch import save_file
from torch import Tensor
from transformers import AutoModelForSequenceClassification, BertConfig, BertForMaskedLM, BertForSequenceClassification

from recipes.classifiers.encoded import LABELS, LM, Encoded, load
from recipes.classifiers.scores import best_shift, shift_direction

ADAPTATION_EPOCHS, ADAPTATION_RATE, ADAPTATION_BATCH, MASKED = 15, 5e-4, 256, 0.2
TEACHER_EPOCHS, TEACHER_RATES, TEACHER_LAYERS = 5, (1e-4, 1e-4, 2e-4, 2e-4, 4e-4, 4e-4), 9
STUDENT_EPOCHS, STUDENT_RATE, STUDENT_LAYERS = 8, 4e-4, 8  # the last layer is about single tokens
BATCH = 128
TEMPERATURE = 2.0
OWN_TASK_WEIGHT = 2.0  # of a text that has a label in the task, when the student learns
MASK, FIRST_WORD = 4, 5  # numbers in the vocabulary
WIDTHS = [len(names) for names in LABELS.values()]
BLOCKS = dict(
    zip(LABELS, (slice(end - width, end) for width, end in zip(WIDTHS, np.cumsum(WIDTHS), strict=True)), strict=True)
)


def pad(ids: list[np.ndarray], device: torch.device) -> dict[str, Tensor]:
    """Return a padded batch and its attention mask."""
    padded = torch.zeros(len(ids), -(-max(map(len, ids)) // 8) * 8, dtype=torch.long)
    for row, tokens in enumerate(ids):
        padded[row, : len(tokens)] = torch.from_numpy(tokens)
    padded = padded.to(device)
    return {"input_ids": padded, "attention_mask": (padded != 0).long()}


@torch.no_grad()
def logits_of(model: BertForSequenceClassification, ids: list[np.ndarray], batch: int = 512) -> np.ndarray:
    """Return the logits of texts without dropout; texts of similar length go together, to save padding."""
    model.eval()
    order = sorted(range(len(ids)), key=lambda row: -len(ids[row]))
    out = torch.zeros(len(ids), model.config.num_labels)
    for start in range(0, len(ids), batch):
        rows = order[start : start + batch]
        out[rows] = model(**pad([ids[row] for row in rows], model.device)).logits.float().cpu()
    model.train()
    return out.numpy()


def descend(
    model: torch.nn.Module,
    loss_of: Callable[[np.ndarray], Tensor],
    count: int,
    batch: int,
    epochs: int,
    learning_rate: float,
    seed: int,
    after_epoch: Callable[[int], None] = lambda _: None,
) -> None:
    """Train with AdamW, warm-up and linear decay on the losses of batches of rows."""
    device = next(model.parameters()).device
    steps = epochs * -(-count // batch)
    optimizer = torch.optim.AdamW(
        model.parameters(), learning_rate, betas=(0.9, 0.98), weight_decay=0.01, fused=device.type == "cuda"
    )
    rate = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min((step + 1) / (0.1 * steps), (steps - step) / (0.9 * steps))
    )
    shuffle = np.random.default_rng(seed)
    model.train()
    for epoch in range(epochs):
        order = shuffle.permutation(count)
        for start in range(0, count, batch):
            with torch.autocast(device.type, torch.bfloat16, enabled=device.type == "cuda"):
                loss = loss_of(order[start : start + batch])
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            rate.step()
        after_epoch(epoch + 1)


def adapt(texts: Encoded, device: torch.device, seed: int = 0) -> dict[str, Tensor]:
    """Continue the language model's training on the texts; return its weights."""
    torch.manual_seed(seed)
    model = BertForMaskedLM.from_pretrained(LM, dtype=torch.float32).to(device)

    def loss_of(rows: np.ndarray) -> Tensor:
        batch = pad([texts.tokens[row] for row in rows], device)
        ids = batch["input_ids"]
        chance = torch.rand(ids.shape, device=device)
        is_target = (chance < MASKED) & (ids >= FIRST_WORD)
        gaps = ids.masked_fill(is_target & (chance < 0.9 * MASKED), MASK)  # one in ten stays as it is
        labels = ids.masked_fill(~is_target, -100)
        logits = model(gaps, attention_mask=batch["attention_mask"]).logits
        return F.cross_entropy(logits.flatten(0, 1), labels.flatten())

    descend(model, loss_of, len(texts.tokens), ADAPTATION_BATCH, ADAPTATION_EPOCHS, ADAPTATION_RATE, seed)
    return {name: weight.cpu() for name, weight in model.state_dict().items()}


def make_classifier(weights: dict[str, Tensor], layers: int, device: torch.device) -> BertForSequenceClassification:
    """Return a classifier on the first layers of a language model; pooler and heads are new."""
    model = BertForSequenceClassification(
        BertConfig.from_pretrained(LM, num_labels=sum(WIDTHS), num_hidden_layers=layers)
    )
    missing = model.load_state_dict(weights, strict=False).missing_keys
    if any("pooler" not in name and "classifier" not in name for name in missing):
        raise ValueError(f"the language model lacks {missing}")
    return model.to(device)


def make_targets(texts: Encoded, device: torch.device) -> tuple[Tensor, Tensor]:
    """The labels as probabilities, and how much each text counts in each task: rare labels more, no label nothing."""
    targets = torch.zeros(len(texts.tokens), sum(WIDTHS))
    weights = torch.zeros(len(texts.tokens), len(LABELS))
    for number, (task, labels) in enumerate(texts.labels.items()):
        rows = np.flatnonzero(labels >= 0)
        counts = np.bincount(labels[rows], minlength=WIDTHS[number])
        targets[rows, BLOCKS[task].start + torch.from_numpy(labels[rows])] = 1
        scale = np.sqrt(len(rows) / (len(counts) * np.maximum(counts, 1)))
        weights[rows, number] = torch.from_numpy(scale[labels[rows]]).float()
    return targets.to(device), weights.to(device)


@dataclass(frozen=True)
class Job:
    """A model to train; the same class for teachers and students."""

    folder: Path
    texts: str
    opinions: str  # the file with the teachers' probabilities, "" for a teacher
    seed: int
    layers: int
    epochs: int
    learning_rate: float


def train_classifier(job: Job) -> dict:
    """Train one model; return what it says about the dev part and all training texts, and its weights."""
    torch.set_num_threads(1)
    torch.set_float32_matmul_precision("high")
    torch.manual_seed(job.seed)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    texts = load(job.folder / job.texts)
    train, dev = texts.select(texts.part == "train"), texts.select(texts.part == "dev")
    model = make_classifier(torch.load(job.folder / "adapted.pt"), job.layers, device)
    targets, weights = make_targets(train, device)
    temperature = 1.0
    if job.opinions:
        targets = torch.load(job.folder / job.opinions).to(device)
        weights = 1 + (OWN_TASK_WEIGHT - 1) * (weights > 0)
        temperature = TEMPERATURE

    def loss_of(rows: np.ndarray) -> Tensor:
        logits = model(**pad([train.tokens[row] for row in rows], device)).logits.float() / temperature
        chosen = torch.from_numpy(rows).to(device)
        losses = [
            weights[chosen, number] * F.cross_entropy(logits[:, block], targets[chosen, block], reduction="none")
            for number, block in enumerate(BLOCKS.values())
        ]
        return torch.stack(losses).sum() / len(rows)

    def after_epoch(epoch: int) -> None:
        if epoch % 2 and epoch < job.epochs:
            return
        scores = score_dev(dev, logits_of(model, dev.tokens))
        print(
            f"{job.seed} {job.layers} layers, rate {job.learning_rate}, epoch {epoch} of {job.epochs}: {scores}",
            flush=True,
        )

    descend(model, loss_of, len(train.tokens), BATCH, job.epochs, job.learning_rate, job.seed, after_epoch)
    return {
        "dev": logits_of(model, dev.tokens),
        "train": logits_of(model, train.tokens) if not job.opinions else None,
        "weights": {name: weight.cpu().numpy() for name, weight in model.state_dict().items()},
    }


def score_dev(dev: Encoded, logits: np.ndarray) -> dict[str, float]:
    """Macro F1 of each task on the dev part, at its best shift."""
    return {task: round(best_shift(dev.labels[task], logits[:, block])[1], 1) for task, block in BLOCKS.items()}


def train_all(jobs: list[Job]) -> list[dict]:
    """Train models side by side: each is too small to fill a GPU."""
    processes = min(len(jobs), 8 if torch.cuda.is_available() else 1)
    with multiprocessing.get_context("spawn").Pool(processes) as pool:
        return pool.map(train_classifier, jobs, chunksize=1)


def mean_opinions(results: list[dict], of: str) -> Tensor:
    """The geometric mean of the teachers' probabilities, made softer, for each task."""
    out = []
    for block in BLOCKS.values():
        together = np.mean([torch.tensor(result[of][:, block]).log_softmax(1).numpy() for result in results], axis=0)
        out.append((torch.tensor(together) / TEMPERATURE).softmax(1))
    return torch.cat(out, 1)


def shift_heads(weights: dict[str, Tensor], dev: Encoded, logits: np.ndarray) -> None:
    """Fold the best shift of each task into the bias of its head."""
    for task, block in BLOCKS.items():
        shift, score = best_shift(dev.labels[task], logits[:, block])
        print(f"{task}: dev {score:.1f} at shift {shift:.1f}", flush=True)
        direction = shift_direction(dev.labels[task], WIDTHS[list(BLOCKS).index(task)])
        weights["classifier.bias"][block] += torch.tensor(shift * direction).float()


def write_classifiers(weights: dict[str, Tensor], out: Path, normalizer: str) -> None:
    """One encoder in half precision for all tasks, and for each a folder with its head and labels."""
    half = {name: weight.half().contiguous() for name, weight in weights.items()}
    encoder = {name: weight for name, weight in half.items() if name.startswith("bert.")}
    (out / "encoder").mkdir(parents=True, exist_ok=True)
    save_file(encoder, out / "encoder" / "encoder.safetensors", metadata={"format": "pt"})
    (out / "encoder" / "normalizer.json").write_text(normalizer, encoding="utf-8")
    for task, labels in LABELS.items():
        folder = out / task
        folder.mkdir(exist_ok=True)
        head = {name: half[name][BLOCKS[task]].clone() for name in ("classifier.weight", "classifier.bias")}
        save_file(head, folder / "head.safetensors", metadata={"format": "pt"})
        where = dict.fromkeys(encoder, "../encoder/encoder.safetensors") | dict.fromkeys(head, "head.safetensors")
        size = sum(tensor.nbytes for tensor in (encoder | head).values())
        index = json.dumps({"metadata": {"total_size": size}, "weight_map": where}, indent=1)
        (folder / "model.safetensors.index.json").write_text(index + "\n")
        config = BertConfig.from_pretrained(LM, num_labels=len(labels), num_hidden_layers=STUDENT_LAYERS)
        config.architectures = ["BertForSequenceClassification"]
        config.id2label, config.label2id = dict(enumerate(labels)), {label: i for i, label in enumerate(labels)}
        config.tokenizer_folder, config.tokenizer_normalizer = "../lm", "../encoder/normalizer.json"
        config.save_pretrained(folder)


def write_answers(folder: Path, out: Path, texts: str, device: torch.device) -> None:
    """What the classifiers, loaded as users load them, say about the dev and test parts and the outside texts."""
    encoded, outside = load(folder / texts), load(folder / "outside.npz")
    answers = {}
    for task in LABELS:
        model = AutoModelForSequenceClassification.from_pretrained(out / task, dtype=torch.float32).to(device)
        for part in ("dev", "test"):
            answers[f"{task}.{part}"] = logits_of(model, encoded.select(encoded.part == part).tokens).astype(np.float16)
        answers[f"{task}.outside"] = logits_of(model, outside.tokens).astype(np.float16)
    np.savez_compressed(out / "answers.npz", **answers)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("prepared", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--texts", default="texts.npz", help="balanced.npz, to measure what that changes")
    parser.add_argument("--quick", action="store_true", help="one epoch of each, to try the recipe")
    arguments = parser.parse_args()
    folder, out = arguments.prepared, arguments.out
    out.mkdir(parents=True, exist_ok=True)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    torch.set_float32_matmul_precision("high")
    began = time.monotonic()

    def step_done(name: str) -> None:
        print(f"[{time.monotonic() - began:.0f} s] {name}", flush=True)

    if arguments.quick:
        global ADAPTATION_EPOCHS, TEACHER_EPOCHS, STUDENT_EPOCHS
        ADAPTATION_EPOCHS, TEACHER_EPOCHS, STUDENT_EPOCHS = 1, 1, 1
    texts = load(folder / arguments.texts)
    train, dev = texts.select(texts.part == "train"), texts.select(texts.part == "dev")
    torch.save(adapt(train, device), folder / "adapted.pt")
    step_done("adapted")

    def job(seed: int, layers: int, epochs: int, rate: float, opinions: str = "") -> Job:
        return Job(folder, arguments.texts, opinions, seed, layers, epochs, rate)

    teachers = train_all([job(seed, TEACHER_LAYERS, TEACHER_EPOCHS, rate) for seed, rate in enumerate(TEACHER_RATES)])
    print("together", score_dev(dev, np.log(mean_opinions(teachers, "dev").numpy())), flush=True)
    torch.save(mean_opinions(teachers, "train"), folder / "opinions.pt")
    step_done("taught")
    [student] = train_all([job(100, STUDENT_LAYERS, STUDENT_EPOCHS, STUDENT_RATE, "opinions.pt")])
    step_done("distilled")
    weights = {name: torch.from_numpy(weight) for name, weight in student["weights"].items()}
    shift_heads(weights, dev, student["dev"])
    write_classifiers(weights, out, (folder / "normalizer.json").read_text(encoding="utf-8"))
    write_answers(folder, out, arguments.texts, device)
    step_done("written")


if __name__ == "__main__":
    main()
