"""The tweets the classifiers learn from: reading, cleaning, splitting and scoring as TweetEval does.

TweetEval (Barbieri et al., 2020) scores sentiment by macro-averaged recall and the other tasks by
macro-averaged F1. Its hate and offensive training sets hold some of their test tweets; those are dropped.
"""

import csv
import gzip
import random
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from tokenizers import Regex, Tokenizer, normalizers

LABELS = {
    "sentiment": ["negative", "neutral", "positive"],
    "emotion": ["anger", "joy", "optimism", "sadness"],
    "hate": ["not-hate", "hate"],
    "offensive": ["not-offensive", "offensive"],
}
LABEL_NAMES = [f"{task}:{label}" for task, labels in LABELS.items() for label in labels]
SENTIMENT_VALIDATION = 2_000
LONGEST = 96  # tokens; a tweet has 30 on average


def block(task: str) -> slice:
    """Return where the logits of a task stand among those of all tasks."""
    first = LABEL_NAMES.index(f"{task}:{LABELS[task][0]}")
    return slice(first, first + len(LABELS[task]))


@dataclass
class Split:
    """Texts and the numbers of their labels."""

    texts: list[str]
    labels: np.ndarray


def read_split(folder: Path, name: str) -> Split:
    """Read one split of a task in TweetEval's own layout: a tweet a line, a label a line."""
    with open(folder / f"{name}_text.txt", encoding="utf-8", newline="\n") as lines:
        texts = [line.strip() for line in lines]
    labels = np.array((folder / f"{name}_labels.txt").read_text().split(), dtype=int)
    if len(texts) != len(labels):
        raise ValueError(f"{folder}: {len(texts)} texts but {len(labels)} labels in {name}")
    return Split(texts, labels)


def read_sentiment_training(path: Path) -> tuple[Split, Split]:
    """Read the SemEval-2017 sentiment tweets and set some aside for validation."""
    with gzip.open(path, "rt", encoding="utf-8", newline="\n") as lines:
        rows = list(csv.reader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))[1:]
    random.Random(0).shuffle(rows)
    texts = [text.strip() for _, text in rows]
    labels = np.array([LABELS["sentiment"].index(label) for label, _ in rows])
    cut = SENTIMENT_VALIDATION
    return Split(texts[cut:], labels[cut:]), Split(texts[:cut], labels[:cut])


def read_task(shared: Path, task: str, limit: int | None = None) -> dict[str, Split]:
    """Return the train, val and test splits of a task, none of the training tweets standing in the test.

    A limit takes that many training and validation tweets only.
    """
    folder = shared / "data" / "tweeteval" / task
    test = read_split(folder, "test")
    if task == "sentiment":
        train, val = read_sentiment_training(folder / "train_semeval2017.tsv.gz")
    else:
        train, val = read_split(folder, "train"), read_split(folder, "val")
    tested = {text.lower() for text in test.texts}
    kept = [i for i, text in enumerate(train.texts) if text.lower() not in tested]
    dropped = len(train.texts) - len(kept)
    print(f"{task}: {len(kept)} training tweets, {dropped} dropped as they stand in the test", flush=True)
    train = Split([train.texts[i] for i in kept[:limit]], train.labels[kept[:limit]])
    val = Split(val.texts[:limit], val.labels[:limit])
    return {"train": train, "val": val, "test": test}


def other_tweets(shared: Path) -> list[str]:
    """Return the tweets of the two named-entity corpora, as text without labels."""
    texts = []
    data = shared / "data"
    for path in sorted([*data.glob("broad_twitter_corpus/btc.*"), *data.glob("wnut17/*.conll")]):
        words: list[str] = []
        for line in [*path.read_text(encoding="utf-8").splitlines(), ""]:
            if line.strip():
                words.append(line.split("\t")[0])
            elif words:
                texts.append(" ".join(words))
                words = []
    return texts


def tweet_tokenizer(path: Path) -> Tokenizer:
    """Return the language model's tokenizer with the cleaning of tweets built in.

    TweetEval's tweets come with "@user" for every handle and "http" for every link. With the cleaning in the
    tokenizer, raw tweets are read the same way by whoever loads the classifier.
    """
    tokenizer = Tokenizer.from_file(str(path))
    entities = {"&amp;": "&", "&lt;": "<", "&gt;": ">", "&quot;": '"', "&#39;": "'"}
    tokenizer.normalizer = normalizers.Sequence(
        [
            *(normalizers.Replace(entity, char) for entity, char in entities.items()),
            normalizers.Replace(Regex(r"https?://\S+|www\.\S+"), "http"),
            normalizers.Replace(Regex(r"@\w+"), "@user"),
            tokenizer.normalizer,
        ]
    )
    return tokenizer


def encode(tokenizer: Tokenizer, texts: list[str]) -> list[list[int]]:
    """Return token ids with [CLS] and [SEP], cut to LONGEST."""
    tokenizer.enable_truncation(LONGEST)
    return [encoding.ids for encoding in tokenizer.encode_batch(texts)]


def score(task: str, labels: np.ndarray, predictions: np.ndarray, weights: np.ndarray | None = None) -> float:
    """Return TweetEval's score of a task in percent, the tweets weighted if weights are given."""
    weights = np.ones(len(labels)) if weights is None else weights
    parts = []
    for number in range(len(LABELS[task])):
        is_class, is_predicted = labels == number, predictions == number
        both = weights[is_class & is_predicted].sum()
        in_class, in_predictions = weights[is_class].sum(), weights[is_predicted].sum()
        recall, f1 = both / max(in_class, 1e-9), 2 * both / max(in_class + in_predictions, 1e-9)
        parts.append(recall if task == "sentiment" else f1)
    return 100 * float(np.mean(parts))
