"""Methods for classifiers and causal language models, rows of `python -m bench.speed --work classify,causal`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
import transformers
from scipy.special import softmax

from bench.speed.ways import Ready, Score, Way, load_model
from bench.speed.ways_masked import geobias
from geobias.models.load import load_classifier
from geobias.texts.templates import unmark

NAMES_LENGTH, NAMES_BATCH = 256, 32  # the first is the released code's; the second is not told, and matters little


def names_classify(folder: str, device: str, dtype: str) -> Ready:
    """Every text padded to 256 tokens."""
    model, tokenizer = load_model(transformers.AutoModelForSequenceClassification, folder, device, dtype)

    @torch.inference_mode()
    def score(texts: Sequence[str], size: int) -> np.ndarray:
        scores = []
        for start in range(0, len(texts), size):
            batch = tokenizer(
                list(texts[start : start + size]),
                padding="max_length",
                truncation=True,
                max_length=min(NAMES_LENGTH, tokenizer.model_max_length),
                return_tensors="pt",
            )
            scores.append(model(**batch.to(device)).logits.float().softmax(-1).cpu().numpy())
        return np.concatenate(scores)

    return Ready(score, model)


def pipeline(folder: str, device: str, dtype: str) -> Ready:
    pipe: Any = transformers.pipeline(
        "text-classification", model=folder, device=device, dtype=getattr(torch, dtype), top_k=None
    )
    labels = [label for _, label in sorted(pipe.model.config.id2label.items())]

    def score(texts: Sequence[str], size: int) -> np.ndarray:
        answers = pipe(list(texts), batch_size=size) if size else pipe(list(texts))
        by_label = [{entry["label"]: entry["score"] for entry in answer} for answer in answers]
        return np.array([[answer[label] for label in labels] for answer in by_label])

    return Ready(score, pipe.model)


def classify_sorted(tokenizer: Any, labels: int, compute: Callable[[Any], np.ndarray]) -> Score:
    """Sorted by length, padded to the longest of the batch; `compute` gives the logits of a batch."""

    def score(texts: Sequence[str], size: int) -> np.ndarray:
        encoded = tokenizer(list(texts), truncation=True)
        order = np.argsort([len(ids) for ids in encoded["input_ids"]], kind="stable")
        scores = np.empty((len(texts), labels))
        for batch_rows in np.split(order, range(size, len(order), size)):
            batch = tokenizer.pad(
                {key: [values[i] for i in batch_rows] for key, values in encoded.items()}, return_tensors="pt"
            )
            scores[batch_rows] = softmax(compute(batch), axis=-1)
        return scores

    return score


def plain_classify(folder: str, device: str, dtype: str) -> Ready:
    """No gradients, and no padding beyond the longest text of a batch."""
    model, tokenizer = load_model(transformers.AutoModelForSequenceClassification, folder, device, dtype)

    @torch.inference_mode()
    def compute(batch: Any) -> np.ndarray:
        logits: np.ndarray = model(**batch.to(device)).logits.float().cpu().numpy()
        return logits

    return Ready(classify_sorted(tokenizer, model.config.num_labels, compute), model)


def geobias_classify(folder: str, device: str, dtype: str) -> Ready:
    classifier: Any = load_classifier(folder, device=device, dtype=dtype)
    return Ready(lambda texts, _: classifier.score(texts)[:, :-1], classifier.model)


def plain_causal(folder: str, device: str, dtype: str) -> Ready:
    """Full sentences of equal length through the model, log-softmax where a token of the description is foretold."""
    lm, tokenizer = load_model(transformers.AutoModelForCausalLM, folder, device, dtype)

    @torch.inference_mode()
    def score(texts: Sequence[str], size: int) -> np.ndarray:
        sentences = [unmark(text) for text in texts]
        encodings = tokenizer([text for text, _, _ in sentences]).encodings
        lengths = np.array([len(encoding.ids) for encoding in encodings])
        scores = np.empty(len(texts))
        for length in np.unique(lengths):
            group = np.flatnonzero(lengths == length)
            for batch_rows in np.split(group, range(size, len(group), size)):
                ids = torch.tensor([encodings[i].ids for i in batch_rows], device=device)
                ends = np.array([encodings[i].offsets for i in batch_rows])
                bounds = np.array([sentences[i][1:] for i in batch_rows])
                is_described = (ends[..., 1] > bounds[:, :1]) & (ends[..., 0] < bounds[:, 1:])
                mask = torch.from_numpy(is_described).to(device)
                logs = lm(input_ids=ids).logits[:, :-1][mask[:, 1:]].float().log_softmax(-1)
                values = torch.zeros(mask.shape, device=device)
                values[mask] = logs.gather(-1, ids[mask][:, None])[:, 0]
                scores[batch_rows] = (values.sum(1) / mask.sum(1)).cpu().numpy()
        return scores

    return Ready(score, lm)


def minicons_causal(folder: str, device: str, dtype: str) -> Ready:
    """`conditional_score` of the description after what stands before it; what comes after it is left out."""
    from minicons.scorer import IncrementalLMScorer

    lm, tokenizer = load_model(transformers.AutoModelForCausalLM, folder, device, dtype)
    scorer = IncrementalLMScorer(lm, device, tokenizer=tokenizer)

    def score(texts: Sequence[str], size: int) -> np.ndarray:
        plain = [unmark(text) for text in texts]
        before = [text[:start].rstrip() for text, start, _ in plain]
        descriptions = [text[start:end] for text, start, end in plain]
        scores: list[float] = []
        for start in range(0, len(texts), size):
            scores += scorer.conditional_score(before[start : start + size], descriptions[start : start + size])
        return np.array(scores)

    return Ready(score, lm)


CLASSIFY = [
    Way("names paper's method", names_classify, (NAMES_BATCH,)),
    Way("pipeline, default settings", pipeline),
    Way("pipeline, best batch size", pipeline, (8, 32, 128), (32, 256, 1024)),
    Way("plain loop", plain_classify, (8, 32, 128), (64, 256, 1024), sorts=True),
    Way("geobias", geobias_classify, sorts=True),
]
CAUSAL = [
    Way("plain loop", plain_causal, (16, 64, 256), (256, 1024, 4096), reads_all=True, sorts=True),
    Way("minicons", minicons_causal, (1, 16, 64), (16, 112, 1024), reads_all=True),
    Way("geobias", geobias("conditional"), sorts=True),
]
