"""All tweets as token ids, ready for training: what recipes/classifiers/train.py learns from and chooses by."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from recipes.classifiers.shortcut import balancing_weights, word_log_odds
from recipes.classifiers.tweets import LABELS, encode, other_tweets, read_task, score, tweet_tokenizer


@dataclass
class Data:
    """All tweets as token ids: the training tweets of all tasks in one list, validation tweets by task."""

    ids: list[list[int]]
    rows: dict[str, np.ndarray]  # where each task's training tweets stand in the list
    labels: dict[str, np.ndarray]
    val_ids: dict[str, list[list[int]]]
    val_labels: dict[str, np.ndarray]
    hate_log_odds: np.ndarray  # of the hate training tweets, by words alone
    hate_val_weights: np.ndarray  # under which words alone say nothing about the hate validation tweets


def read_data(shared: Path, tokenizer_path: Path, limit: int | None) -> tuple[Data, list[list[int]]]:
    """Read and encode the tweets; also return the ids of all tweets that the adaptation may read."""
    tokenizer = tweet_tokenizer(tokenizer_path)
    tasks = {task: read_task(shared, task, limit) for task in LABELS}
    unseen = {text for splits in tasks.values() for name in ("val", "test") for text in splits[name].texts}
    texts: list[str] = []
    rows, labels = {}, {}
    for task, splits in tasks.items():
        kept = [i for i, text in enumerate(splits["train"].texts) if text not in unseen]
        rows[task] = np.arange(len(texts), len(texts) + len(kept))
        labels[task] = splits["train"].labels[kept]
        texts += [splits["train"].texts[i] for i in kept]
    hate = [texts[i] for i in rows["hate"]]
    log_odds, val_log_odds = word_log_odds(hate, labels["hate"], tasks["hate"]["val"].texts)
    val_labels = {task: splits["val"].labels for task, splits in tasks.items()}
    predictions = (val_log_odds > 0).astype(int)
    weights = balancing_weights(val_log_odds, val_labels["hate"])
    print(
        f"words alone on hate validation: {score('hate', val_labels['hate'], predictions):.1f},"
        f" balanced {score('hate', val_labels['hate'], predictions, weights):.1f}",
        flush=True,
    )
    val_ids = {task: encode(tokenizer, splits["val"].texts) for task, splits in tasks.items()}
    ids = encode(tokenizer, texts)
    others = sorted(set(other_tweets(shared)) - unseen)
    return Data(ids, rows, labels, val_ids, val_labels, log_odds, weights), ids + encode(tokenizer, others)
