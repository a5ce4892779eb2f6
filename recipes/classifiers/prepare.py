"""Encode the texts for training: token ids and labels, without the texts themselves.

    python -m recipes.classifiers.prepare ../shared build/classifiers

writes `texts.npz` (all parts), `balanced.npz` (the same with names of all countries alike) and `outside.npz`
(the public test tweets of TweetEval, an outside evaluation from which nothing is learned or chosen). CPU, a minute.
"""

from __future__ import annotations

import argparse
import html
import json
import re
from collections import Counter
from pathlib import Path

import numpy as np
from tokenizers import Regex, Tokenizer, normalizers

from recipes.classifiers.encoded import LABELS, LM, Encoded, save
from recipes.classifiers.texts import Names, Row, read_rows

LONGEST = 96  # tokens
SENTENCES = Path(__file__).with_name("sentences.tsv")
OUTSIDE_LABELS = {  # TweetEval's, as ours; None where we have no such label
    "sentiment": ["negative", "neutral", "positive"],
    "emotion": ["anger", "joy", None, "sadness"],
    "offensive": ["not-offensive", "offensive"],
    "hate": ["not-hate", "hate"],
}


def make_tokenizer() -> Tokenizer:
    """Return the language model's tokenizer, which here also cleans tweets: HTML entities, links and handles."""
    tokenizer = Tokenizer.from_file(str(LM / "tokenizer.json"))
    entities = {"&amp;": "&", "&lt;": "<", "&gt;": ">", "&quot;": '"', "&#39;": "'"}
    tokenizer.normalizer = normalizers.Sequence(
        [
            *(normalizers.Replace(entity, char) for entity, char in entities.items()),
            normalizers.Replace(Regex(r"https?://\S+|www\.\S+"), "http"),
            normalizers.Replace(Regex(r"@\w+"), "@user"),
            tokenizer.normalizer,
        ]
    )
    tokenizer.enable_truncation(LONGEST)
    return tokenizer


def read_outside(data: Path) -> list[Row]:
    """The test tweets of TweetEval, in its own layout: a tweet a line, a label a line."""
    rows = []
    for task, names in OUTSIDE_LABELS.items():
        folder = data / "tweeteval" / task
        texts = (folder / "test_text.txt").read_text(encoding="utf-8").split("\n")
        for number, label in enumerate((folder / "test_labels.txt").read_text().split()):
            if (name := names[int(label)]) is not None:
                rows.append(Row("tweeteval", f"{task}.{number}", texts[number].strip(), {task: name}, "test"))
    return rows


def read_sentences() -> list[Row]:
    """Sentences written for this recipe: what they are, and whether they are offensive and hateful."""
    rows = []
    for number, line in enumerate(SENTENCES.read_text(encoding="utf-8").splitlines()[1:]):
        kind, offensive, hate, text = line.split("\t")
        labels = {"offensive": LABELS["offensive"][int(offensive)], "hate": LABELS["hate"][int(hate)]}
        rows.append(Row(kind, str(number), text, labels, "test"))
    return rows


def split_words(text: str) -> list[str]:
    """Words, numbers and marks in lower case; handles and links are all alike."""
    text = re.sub(r"https?://\S+|www\.\S+", "http", re.sub(r"@\w+", "@user", html.unescape(text).lower()))
    return re.findall(r"[@#]?\w+(?:['’]\w+)?|[^\w\s]", text)


def number_words(rows: list[Row]) -> dict[str, int]:
    """The numbers of the words of the training texts that stand in two of them; 0 is any other word."""
    counts = Counter(word for row in rows if row.part == "train" for word in set(split_words(row.text)))
    return {word: number for number, word in enumerate(sorted(w for w, n in counts.items() if n > 1), start=1)}


def encode(rows: list[Row], tokenizer: Tokenizer, vocabulary: dict[str, int]) -> Encoded:
    labels = {
        task: np.array([names.index(row.labels[task]) if task in row.labels else -1 for row in rows])
        for task, names in LABELS.items()
    }
    return Encoded(
        [np.array(encoding.ids) for encoding in tokenizer.encode_batch([row.text for row in rows])],
        [np.array([vocabulary.get(word, 0) for word in split_words(row.text)]) for row in rows],
        labels,
        np.array([row.part for row in rows]),
        np.array([row.source for row in rows]),
        np.array([row.is_ordinary for row in rows]),
        np.array([row.key for row in rows]),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("shared", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--every", type=int, default=1, help="take only every Nth row, to try the recipe")
    arguments = parser.parse_args()
    data, tokenizer = arguments.shared / "data", make_tokenizer()
    arguments.out.mkdir(parents=True, exist_ok=True)
    rows = read_rows(data)[:: arguments.every]
    names, balanced = Names.english(data), Names.balanced()
    english = [names.fill(row) for row in rows]
    vocabulary = number_words(english)
    outside = read_outside(data)[:: arguments.every] + read_sentences()
    for name, part in (
        ("texts", english),
        ("balanced", [balanced.fill(row) for row in rows]),
        ("outside", outside),
    ):
        save(arguments.out / f"{name}.npz", encode(part, tokenizer, vocabulary))
    normalizer = json.loads(tokenizer.to_str())["normalizer"]
    (arguments.out / "normalizer.json").write_text(json.dumps(normalizer, ensure_ascii=False, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
