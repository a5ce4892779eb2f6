"""Measure the embedded tweet classifiers on TweetEval's test tweets: every figure of their cards. CPU, a few minutes.

    python -m recipes.classifiers.evaluate ../shared EMBEDDED

EMBEDDED is the folder that heads.py wrote; each task's folder in it receives `evaluation.json`.
"""

from __future__ import annotations

import argparse
import json
from importlib.metadata import version
from pathlib import Path

import numpy as np
import torch
from transformers import AutoModelForSequenceClassification

from geobias.models.model_files import load_pretrained
from recipes.classifiers.finetune import logits_of
from recipes.classifiers.tweets import LABELS, LONGEST, read_task, score

TO_BEAT = {"sentiment": 62.9, "emotion": 65.2, "hate": 50.6, "offensive": 73.4}  # FastText, as TweetEval published it


def area_under_curve(labels: np.ndarray, scores: np.ndarray) -> float:
    """Return how often a tweet of label 1 scores above one of label 0."""
    ones, zeros = scores[labels == 1], np.sort(scores[labels == 0])
    below = np.searchsorted(zeros, ones, "left") + np.searchsorted(zeros, ones, "right")
    return float(below.mean() / 2 / len(zeros))


def figures_of(task: str, shared: Path, folder: Path) -> dict:
    """TweetEval's score of a task on validation and test tweets, and which labels the classifier gives."""
    model, tokenizer = load_pretrained(
        AutoModelForSequenceClassification, str(folder), str(folder), dtype=torch.float32, kind="classifier"
    )
    labels = [model.config.id2label[i] for i in range(model.config.num_labels)]
    splits, logits = read_task(shared, task), {}
    for name in ("val", "test"):
        ids = tokenizer(splits[name].texts, truncation=True, max_length=LONGEST)["input_ids"]
        logits[name] = logits_of(model, ids, batch=64)
    test, predictions = splits["test"], logits["test"].argmax(1)
    figures = {
        "parameters": model.num_parameters(),
        "test tweets": len(predictions),
        "score on test": round(score(task, test.labels, predictions), 1),
        "score on validation": round(score(task, splits["val"].labels, logits["val"].argmax(1)), 1),
        "accuracy %": round(100 * float((predictions == test.labels).mean()), 1),
        "% given": shares(predictions, labels),
        "% true": shares(test.labels, labels),
    }
    if len(labels) == 2:
        area = area_under_curve(test.labels, logits["test"][:, 1] - logits["test"][:, 0])
        figures["area under ROC curve"] = round(area, 3)
    return figures


def shares(numbers: np.ndarray, labels: list[str]) -> dict[str, float]:
    """Return the share of each label in percent."""
    return {label: round(100 * float((numbers == number).mean()), 1) for number, label in enumerate(labels)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("shared", type=Path)
    parser.add_argument("embedded", type=Path)
    arguments = parser.parse_args()
    for task in LABELS:
        details = figures_of(task, arguments.shared, arguments.embedded / task)
        measure = "macro recall" if task == "sentiment" else "macro F1"
        evaluation = {
            "task": f"{task} of tweets: {', '.join(LABELS[task])}",
            "licence": "research use",
            "figures": [
                {"measure": f"{measure}, TweetEval test", "value": details["score on test"], "required": TO_BEAT[task]}
            ],
            "details": details,
            "versions": {name: version(name) for name in ("torch", "transformers")},
        }
        text = json.dumps(evaluation, indent=1, ensure_ascii=False)
        (arguments.embedded / task / "evaluation.json").write_text(text + "\n", encoding="utf-8")
        print(text, flush=True)


if __name__ == "__main__":
    main()
