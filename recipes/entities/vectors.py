"""Train the small word vectors that the finder of people and places starts from.

    pip install floret spacy
    python -m recipes.entities.vectors CORPORA OUT/vectors.npz

CORPORA holds `wikipedia-{1..5}.txt.xz`, plain English text. The tweet corpora are small; an encyclopedia
shows the finder many more names of the world, and the company they keep.

Why clusters: a vector for each of 100,000 words would weigh 25 MB. The most frequent words keep their own
row; the others share rows by k-means, which puts Giuseppe with Lorenzo and Lagos with Dakar. Words are
lower-cased: people type names without capitals, and the finder sees the case elsewhere.

Two threads update the same vectors, so that two runs differ a little.
"""

from __future__ import annotations

import argparse
import lzma
import re
import tempfile
from pathlib import Path

import floret
import numpy
from spacy.strings import hash_string

WORD = re.compile(r"n't|'(?:s|m|re|ve|ll|d)\b|\w+?(?=n't\b)|\w+|[^\w\s]")
SCALE = 0.5  # of each number in a row, about: what the finder's layers expect


def write_words(files: list[Path], out: Path) -> None:
    """One paragraph a line, words and marks apart, as spaCy's tokeniser would split them."""
    with out.open("w", encoding="utf-8") as text:
        for file in files:
            with lzma.open(file, "rt", encoding="utf-8") as lines:
                for line in lines:
                    if line.strip():
                        text.write(" ".join(WORD.findall(line.strip().lower())) + "\n")


def train(text: Path, width: int, epochs: int) -> tuple[list[str], numpy.ndarray]:
    """Skip-gram vectors, of length one, of every word seen eight times; the most frequent come first."""
    settings = {"dim": width, "ws": 3, "epoch": epochs, "minCount": 8, "lr": 0.05, "thread": 2}
    model = floret.train_unsupervised(str(text), model="skipgram", minn=0, maxn=0, bucket=1, **settings)
    words = [word for word in model.get_words() if word != "</s>"]
    vectors = numpy.array([model.get_word_vector(word) for word in words], dtype="float32")
    return words, vectors / numpy.linalg.norm(vectors, axis=1, keepdims=True)


def nearest(vectors: numpy.ndarray, centres: numpy.ndarray) -> numpy.ndarray:
    """The number of the centre nearest to each vector, in pieces that fit in memory."""
    pieces = [vectors[start : start + 2000] for start in range(0, len(vectors), 2000)]
    return numpy.concatenate([(piece @ centres.T).argmax(axis=1) for piece in pieces])


def cluster(vectors: numpy.ndarray, count: int, rounds: int = 12, seed: int = 1) -> numpy.ndarray:
    """Spherical k-means; a cluster that lost all its words starts again from a random one."""
    rng = numpy.random.default_rng(seed)
    centres = vectors[rng.choice(len(vectors), count, replace=False)].copy()
    for _ in range(rounds):
        sums = numpy.zeros_like(centres)
        numpy.add.at(sums, nearest(vectors, centres), vectors)
        length = numpy.linalg.norm(sums, axis=1, keepdims=True)
        fresh = vectors[rng.choice(len(vectors), count)]
        centres = numpy.where(length > 0, sums / length.clip(1e-9), fresh)
    return centres


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("corpora", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--files", type=int, default=4, help="how many of the corpus files to read")
    parser.add_argument("--width", type=int, default=64)
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--words", type=int, default=100_000)
    parser.add_argument("--rows", type=int, default=6000)
    parser.add_argument("--own", type=int, default=1500, help="how many words keep a row of their own")
    args = parser.parse_args()

    with tempfile.TemporaryDirectory() as folder:
        text = Path(folder) / "text.txt"
        write_words(sorted(args.corpora.glob("wikipedia-*.txt.xz"))[: args.files], text)
        words, vectors = train(text, args.width, args.epochs)
    words, vectors = words[: args.words], vectors[: args.words]
    centres = cluster(vectors[args.own :], args.rows - args.own)
    owner = numpy.concatenate([numpy.arange(args.own), args.own + nearest(vectors[args.own :], centres)])
    rows = numpy.concatenate([vectors[: args.own], centres]) * SCALE * args.width**0.5
    keys = numpy.array([hash_string(word) for word in words], dtype="uint64")
    args.out.parent.mkdir(parents=True, exist_ok=True)
    numpy.savez(args.out, rows=rows.astype("float32"), keys=keys, owner=owner.astype("int32"))
    print(len(words), "words in", len(rows), "rows")


if __name__ == "__main__":
    main()
