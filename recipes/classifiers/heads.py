"""Fit the heads of hate and offensive again, and write the four classifiers as they ship.

    python -m recipes.classifiers.heads ../shared student OUT

reads `student`, which train.py wrote, and fits two of its heads by logistic regression on the frozen encoder's
features. Minutes on a CPU.

Why: the hate tweets were collected by keywords, so the student calls whatever holds such a word hateful. Its head is
fitted again on three sources: the hate tweets; the tweets of the offensive task that nobody found offensive, which
are not hateful either; and forum sentences (de Gibert et al. 2018) in which the same words stand with and without
hate. It is chosen where all three agree: the mean of macro F1 on the validation tweets, of the share of inoffensive
validation tweets called not hateful, and of macro F1 on the held-out forum sentences. Test tweets are read
only to drop them from what is fitted.

OUT receives `tweets/encoder.safetensors` and a folder for each task whose weights are the shared encoder and a small
head, so that `AutoModelForSequenceClassification.from_pretrained(OUT / "hate")` works as for any model.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import json
from itertools import product
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from safetensors.torch import save_file
from torch import Tensor
from transformers import AutoModelForSequenceClassification, AutoTokenizer

from recipes.classifiers.finetune import pad
from recipes.classifiers.tweets import LABELS, LONGEST, block, read_task, score

PENALTIES = (1e-4, 1e-3, 1e-2)
NEGATIVES = (0.0, 1.0, 2.0)  # weight of the inoffensive tweets, against half the hate tweets
FORUM = (0.0, 1.0)  # weight of the forum sentences, likewise
RARE_FIRST = (0.0, 0.5, 1.0)  # how far the rarer label of the offensive task is weighed up


class Student:
    """The encoder's features of texts: what a head sees."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.tokenizer = AutoTokenizer.from_pretrained(folder)
        self.model = AutoModelForSequenceClassification.from_pretrained(folder).eval()

    @torch.no_grad()
    def features(self, texts: list[str], batch: int = 64) -> Tensor:
        ids = self.tokenizer(texts, truncation=True, max_length=LONGEST)["input_ids"]
        order = sorted(range(len(ids)), key=lambda i: -len(ids[i]))
        features = torch.zeros(len(ids), self.model.config.hidden_size)
        for start in range(0, len(ids), batch):
            rows = order[start : start + batch]
            features[rows] = self.model.bert(**pad([ids[i] for i in rows], self.model.device)).pooler_output
        return features


def read_forum(path: Path) -> dict[str, tuple[list[str], Tensor]]:
    """Forum sentences and whether they are hateful; the published test sentences are held out."""
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        rows = [
            r for r in csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE) if r["label"] in ("hate", "noHate")
        ]
    parts = {"train": [r for r in rows if r["split"] != "test"], "test": [r for r in rows if r["split"] == "test"]}
    return {
        name: ([row["text"] for row in part], torch.tensor([float(row["label"] == "hate") for row in part]))
        for name, part in parts.items()
    }


def fit(features: Tensor, labels: Tensor, weights: Tensor, penalty: float) -> Tensor:
    """Penalised logistic regression on standardised features; returns the weights of the raw ones and a bias."""
    mean, deviation = features.mean(0), features.std(0) + 1e-3
    standard = (features - mean) / deviation
    solution = torch.zeros(features.shape[1] + 1, requires_grad=True)
    optimizer = torch.optim.LBFGS([solution], max_iter=100, line_search_fn="strong_wolfe")

    def loss() -> Tensor:
        optimizer.zero_grad()
        logits = standard @ solution[:-1] + solution[-1]
        misfit = F.binary_cross_entropy_with_logits(logits, labels, weight=weights, reduction="sum") / weights.sum()
        total = misfit + penalty * solution[:-1].square().sum()
        total.backward()
        return total

    optimizer.step(loss)
    slope = solution.detach()[:-1] / deviation
    return torch.cat([slope, (solution.detach()[-1] - slope @ mean)[None]])


def says(head: Tensor, features: Tensor) -> np.ndarray:
    return (features @ head[:-1] + head[-1] > 0).long().numpy()


def balanced(labels: Tensor) -> Tensor:
    """Weights under which both labels count alike; together they weigh 1."""
    return torch.where(labels > 0, 0.5 / labels.sum(), 0.5 / (1 - labels).sum())


def fit_hate(student: Student, shared: Path) -> Tensor:
    hate, offensive, forum = (
        read_task(shared, "hate"),
        read_task(shared, "offensive"),
        read_forum(shared / "data" / "hatespeech18.tsv.gz"),
    )
    inoffensive = {
        name: student.features([t for t, y in zip(part.texts, part.labels, strict=True) if y == 0])
        for name, part in offensive.items()
        if name != "test"
    }
    tweets = {name: student.features(hate[name].texts) for name in ("train", "val")}
    sentences = {name: student.features(texts) for name, (texts, _) in forum.items()}
    labels = torch.tensor(hate["train"].labels).float()
    half = len(labels) / 2
    best, best_head = -1.0, torch.empty(0)
    for negatives, sources, penalty in product(NEGATIVES, FORUM, PENALTIES):
        count = len(inoffensive["train"])
        head = fit(
            torch.cat([tweets["train"], inoffensive["train"], sentences["train"]]),
            torch.cat([labels, torch.zeros(count), forum["train"][1]]),
            torch.cat(
                [
                    torch.ones(len(labels)),
                    torch.full((count,), negatives * half / count),
                    balanced(forum["train"][1]) * sources * half,
                ]
            ),
            penalty,
        )
        value = [
            score("hate", hate["val"].labels, says(head, tweets["val"])),
            100 * float((says(head, inoffensive["val"]) == 0).mean()),
            score("hate", forum["test"][1].long().numpy(), says(head, sentences["test"])),
        ]
        print(
            f"hate, inoffensive {negatives}, forum {sources}, penalty {penalty}: tweets {value[0]:.1f}, "
            f"inoffensive {value[1]:.1f}, forum {value[2]:.1f}, mean {np.mean(value):.1f}"
        )
        if np.mean(value) > best:
            best, best_head = float(np.mean(value)), head
    print(f"hate: chosen at {best:.1f}")
    return best_head


def fit_offensive(student: Student, shared: Path) -> Tensor:
    splits = read_task(shared, "offensive")
    train, val = (student.features(splits[name].texts) for name in ("train", "val"))
    labels = torch.tensor(splits["train"].labels).float()
    odds = (1 - labels).sum() / labels.sum()
    best, best_head = -1.0, torch.empty(0)
    for power, penalty in product(RARE_FIRST, PENALTIES):
        head = fit(train, labels, torch.where(labels > 0, odds**power, 1.0), penalty)
        value = score("offensive", splits["val"].labels, says(head, val))
        print(f"offensive, rare label to the power {power}, penalty {penalty}: {value:.1f}")
        if value > best:
            best, best_head = value, head
    print(f"offensive: chosen at {best:.1f}")
    return best_head


def write(student: Student, heads: dict[str, Tensor], out: Path) -> None:
    """One encoder and tokenizer for all, and for each task a folder with its head and labels."""
    weights = {name: weight.half().contiguous() for name, weight in student.model.state_dict().items()}
    encoder = {name: weight for name, weight in weights.items() if name.startswith("bert.")}
    (out / "tweets").mkdir(parents=True, exist_ok=True)
    save_file(encoder, out / "tweets" / "encoder.safetensors", metadata={"format": "pt"})
    # The vocabulary is the language model's, in ../lm; only the normalizer is another.
    tokenizer = json.loads((student.folder / "tokenizer.json").read_text(encoding="utf-8"))
    normalizer = json.dumps(tokenizer["normalizer"], ensure_ascii=False, indent=1)
    (out / "tweets" / "normalizer.json").write_text(normalizer + "\n", encoding="utf-8")
    for task, labels in LABELS.items():
        folder = out / task
        folder.mkdir(parents=True, exist_ok=True)
        head = {name: weights[name][block(task)].contiguous() for name in ("classifier.weight", "classifier.bias")}
        if task in heads:  # one number decides between two labels: half of it for one, half against the other
            slope, bias = heads[task][:-1].half() / 2, heads[task][-1].half() / 2
            head = {"classifier.weight": torch.stack([-slope, slope]), "classifier.bias": torch.stack([-bias, bias])}
        save_file(head, folder / "head.safetensors", metadata={"format": "pt"})
        where = dict.fromkeys(encoder, "../tweets/encoder.safetensors") | dict.fromkeys(head, "head.safetensors")
        size = sum(tensor.nbytes for tensor in (encoder | head).values())
        index = {"metadata": {"total_size": size}, "weight_map": where}
        (folder / "model.safetensors.index.json").write_text(json.dumps(index, indent=1) + "\n")
        config = student.model.config
        config.id2label, config.label2id = dict(enumerate(labels)), {label: i for i, label in enumerate(labels)}
        config.tokenizer_folder, config.tokenizer_normalizer = "../lm", "../tweets/normalizer.json"
        config.save_pretrained(folder)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name in ("shared", "student", "out"):
        parser.add_argument(name, type=Path)
    arguments = parser.parse_args()
    student = Student(arguments.student)
    heads = {
        "hate": fit_hate(student, arguments.shared),
        "offensive": fit_offensive(student, arguments.shared),
    }
    write(student, heads, arguments.out)


if __name__ == "__main__":
    main()
