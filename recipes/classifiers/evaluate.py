"""Measure the classifiers on the test part, beside a baseline, and outside: every figure of their cards.

    python -m recipes.classifiers.evaluate build/classifiers OUT

reads what prepare.py and train.py wrote; each task's folder in OUT receives `evaluation.json`. Two minutes on a GPU.
The test part is read here only. The baseline is fitted on the same texts and tuned on the same dev part.
"""

from __future__ import annotations

import argparse
import json
from importlib.metadata import version
from pathlib import Path

import numpy as np
import torch

from recipes.classifiers.baseline import predict_baseline
from recipes.classifiers.encoded import LABELS, Encoded, load
from recipes.classifiers.scores import bootstrap_difference, count_cells, macro_f1, wilson_interval

WHAT = {
    "sentiment": "sentiment of comments",
    "emotion": "emotion in comments",
    "offensive": "offensive language",
    "hate": "hate speech",
}


def rounded(values: np.ndarray | tuple[float, ...]) -> list[float]:
    return [round(float(value), 1) for value in values]


def shares(numbers: np.ndarray, names: list[str]) -> dict[str, float]:
    """The share of each label in percent."""
    return {name: round(100 * float((numbers == number).mean()), 1) for number, name in enumerate(names)}


def compare(labels: np.ndarray, ours: np.ndarray, theirs: np.ndarray, width: int) -> dict:
    """Both scores, and the interval of their difference."""
    interval, difference = bootstrap_difference(labels, ours, theirs, width)
    scores = [macro_f1(labels, each, width) for each in (ours, theirs)]
    return {
        "texts": len(labels),
        "macro F1": round(scores[0], 1),
        "95 % interval": rounded(interval),
        "baseline": round(scores[1], 1),
        "difference": round(scores[0] - scores[1], 1),
        "95 % interval of the difference": rounded(difference),
    }


def share_called(texts: Encoded, ours: np.ndarray, theirs: np.ndarray) -> dict:
    """How many of the ordinary texts get the label 1."""
    out = {}
    for source in ("all", *sorted(set(texts.source[texts.is_ordinary]))):
        rows = texts.is_ordinary & ((texts.source == source) | (source == "all"))
        hits, count = int(ours[rows].sum()), int(rows.sum())
        out[source] = {
            "texts": count,
            "%": round(100 * hits / count, 1),
            "95 % interval": rounded(wilson_interval(hits, count)),
            "baseline %": round(100 * float(theirs[rows].mean()), 1),
        }
    return out


def measure_outside(task: str, outside: Encoded, logits: np.ndarray) -> dict:
    """TweetEval's test tweets, of the labels that we have; the answer is the likeliest of these."""
    rows = (outside.labels[task] >= 0) & (outside.source == "tweeteval")
    labels = np.unique(outside.labels[task][rows])
    truth = np.searchsorted(labels, outside.labels[task][rows])
    answers = logits[rows][:, labels].argmax(1)
    return {
        "texts": int(rows.sum()),
        "labels": [LABELS[task][label] for label in labels],
        "macro F1": round(macro_f1(truth, answers, len(labels)), 1),
        "accuracy %": round(100 * float((truth == answers).mean()), 1),
    }


def measure_sentences(task: str, outside: Encoded, answers: np.ndarray, theirs: np.ndarray) -> dict:
    """The sentences written for this recipe: how many of each kind get the right label."""
    out = {}
    for kind in dict.fromkeys(outside.source[outside.source != "tweeteval"]):
        rows = outside.source == kind
        right = [int((each[rows] == outside.labels[task][rows]).sum()) for each in (answers, theirs)]
        out[str(kind)] = {"sentences": int(rows.sum()), "right": right[0], "baseline right": right[1]}
    return out


def measure(task: str, texts: Encoded, outside: Encoded, answers: dict[str, np.ndarray], device: torch.device) -> dict:
    names = LABELS[task]
    train, dev, test = (texts.select(texts.part == part) for part in ("train", "dev", "test"))
    (theirs, theirs_outside), settings = predict_baseline(train, dev, [test, outside], task, len(names), device)
    ours = answers[f"{task}.test"].argmax(1)
    rows = test.labels[task] >= 0
    labels = test.labels[task]
    dev_rows = dev.labels[task] >= 0
    dev_score = macro_f1(dev.labels[task][dev_rows], answers[f"{task}.dev"].argmax(1)[dev_rows], len(names))
    of_labels = [
        [float(2 * table[i, i] / max(table[i].sum() + table[:, i].sum(), 1)) for i in range(len(names))]
        for table in (
            count_cells(labels[rows], each[rows], len(names)).sum(0).reshape(len(names), -1) for each in (ours, theirs)
        )
    ]
    details: dict = {
        "training texts": int((train.labels[task] >= 0).sum()),
        "test": compare(labels[rows], ours[rows], theirs[rows], len(names)),
        "macro F1 on dev": round(dev_score, 1),
        "accuracy %": round(100 * float((labels[rows] == ours[rows]).mean()), 1),
        "% predicted": shares(ours[rows], names),
        "% true": shares(labels[rows], names),
        "F1 of each label": dict(zip(names, rounded(100 * np.array(of_labels[0])), strict=True)),
        "F1 of each label, baseline": dict(zip(names, rounded(100 * np.array(of_labels[1])), strict=True)),
        "baseline settings": settings,
        "TweetEval test": measure_outside(task, outside, answers[f"{task}.outside"]),
    }
    if len(names) == 2:
        sources = [
            source for source in np.unique(test.source[rows]) if len(set(labels[rows & (test.source == source)])) > 1
        ]
        chosen = {str(source): rows & (test.source == source) for source in sources}
        details["test by source"] = {
            source: compare(labels[own], ours[own], theirs[own], 2) for source, own in chosen.items()
        }
        details["ordinary texts called so"] = share_called(test, ours, theirs)
        outside_answers = answers[f"{task}.outside"].argmax(1)
        details["sentences"] = measure_sentences(task, outside, outside_answers, theirs_outside)
    return details


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("prepared", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--texts", default="texts.npz")
    arguments = parser.parse_args()
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    texts, outside = load(arguments.prepared / arguments.texts), load(arguments.prepared / "outside.npz")
    with np.load(arguments.out / "answers.npz") as stored:
        answers = {name: stored[name].astype(np.float32) for name in stored.files}
    for task, names in LABELS.items():
        details = measure(task, texts, outside, answers, device)
        test = details["test"]
        evaluation = {
            "task": f"{WHAT[task]}: {', '.join(names)}",
            "licence": "CC BY-SA 4.0",
            "figures": [
                {"measure": "macro F1, held-out texts", "value": test["macro F1"], "required": test["baseline"]}
            ],
            "details": details,
            "versions": {name: version(name) for name in ("torch", "transformers")},
        }
        text = json.dumps(evaluation, indent=1, ensure_ascii=False)
        (arguments.out / task / "evaluation.json").write_text(text + "\n", encoding="utf-8")
        print(text, flush=True)


if __name__ == "__main__":
    main()
