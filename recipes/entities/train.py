"""Train the finder of people and places, a small spaCy pipeline.

    python -m recipes.entities.train TWEETS DATA VECTORS OUT

TWEETS is the folder `finder/` that `tweets.py` writes; DATA holds `names_by_country.tsv.gz`; VECTORS is the
file that `vectors.py` writes; OUT becomes a folder for `spacy.load`. Trains on the train parts of the Broad
Twitter Corpus and WNUT-17; the dev parts choose the epoch; the test parts are not read.

In three of five tweets, anew in every epoch, the gold names are exchanged for names of one of 189 countries,
and half of the places for cities and countries of the world. A fifth of the names is never used, for a fair
test (`is_held_out`). Some tweets are put in lower or upper case, as people write.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import zlib
from pathlib import Path

import numpy
import spacy
from spacy.attrs import LOWER
from spacy.language import Language
from spacy.strings import hash_string
from spacy.tokens import Doc
from spacy.training import Example
from spacy.util import compile_prefix_regex, fix_random_seed, minibatch
from spacy.vectors import Vectors
from thinc.api import Adam

from recipes.entities.augment import Names, augment, read_names, read_places

LABELS = {"persons": "PERSON", "places": "PLACE"}


def model_config(width: int, rows: int) -> dict:
    """A convolutional tagger over hashed word features and the static vectors, small enough to ship."""
    embed = {
        "@architectures": "spacy.MultiHashEmbed.v2",
        "width": width,
        "attrs": ["NORM", "PREFIX", "SUFFIX", "SHAPE"],
        "rows": [rows, rows // 2, rows // 2, rows // 2],
        "include_static_vectors": True,
    }
    encode = {
        "@architectures": "spacy.MaxoutWindowEncoder.v2",
        "width": width,
        "depth": 4,
        "window_size": 1,
        "maxout_pieces": 3,
    }
    return {
        "@architectures": "spacy.TransitionBasedParser.v2",
        "state_type": "ner",
        "extra_state_tokens": False,
        "hidden_width": 64,
        "maxout_pieces": 2,
        "use_upper": True,
        "tok2vec": {"@architectures": "spacy.Tok2Vec.v2", "embed": embed, "encode": encode},
    }


def vector_table(vectors: Path, names: Names, places: list[str], leave_out: float = 0) -> Vectors:
    """The word vectors; a name or place that the encyclopedia lacks gets the mean of those of its kind.

    A kind is a country's first names, its last names, or places. For training a share of these additions is
    left out, so that the finder also learns to do without: no list has everyone's name.
    """
    stored = numpy.load(vectors)
    rows = list(stored["rows"])
    row_of = dict(zip(stored["keys"].tolist(), stored["owner"].tolist(), strict=True))
    length = float(numpy.linalg.norm(rows[0]))
    kinds = [names[country][kind] for country in sorted(names) for kind in ("first", "last")] + [places]
    for kind in kinds:
        words = {word: hash_string(word) for name in kind for word in re.split(r"[\s-]+", name.lower()) if word}
        known = [rows[row_of[key]] for key in words.values() if key in row_of]
        if known:
            mean = numpy.mean(known, axis=0)
            rows.append(mean * length / numpy.linalg.norm(mean))
            for word, key in words.items():
                if zlib.crc32(word.encode()) % 100 >= 100 * leave_out:
                    row_of.setdefault(key, len(rows) - 1)
    table = Vectors(data=numpy.array(rows, dtype="float32"), attr="LOWER", name="geobias")
    for key, row in row_of.items():
        table.add(key, row=row)
    return table


def blank_pipeline(table: Vectors, width: int, rows: int) -> Language:
    """English tokens, but a hashtag stays one, and "~Rumi" is two; vectors; an untrained finder."""
    nlp = spacy.blank("en")
    prefixes = [rule for rule in nlp.Defaults.prefixes if rule != "#"] + [r"[~–-](?=[^\W\d_])"]
    nlp.tokenizer.prefix_search = compile_prefix_regex(prefixes).search
    nlp.vocab.vectors = table
    ner = nlp.add_pipe("ner", config={"model": model_config(width, rows)})
    for label in LABELS.values():
        ner.add_label(label)
    return nlp


def read_rows(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").strip().split("\n")]


def gold_doc(nlp: Language, row: dict) -> Doc:
    """The tweet with its spans as entities; a span that cuts a token takes the whole token."""
    doc = nlp.make_doc(row["text"])
    spans = [
        doc.char_span(start, end, label=label, alignment_mode="expand")
        for kind, label in LABELS.items()
        for start, end in row[kind]
    ]
    doc.ents = spacy.util.filter_spans([span for span in spans if span is not None])
    return doc


def score(nlp: Language, rows: list[dict]) -> dict[str, dict[str, float]]:
    """Exact-span precision, recall and F1 for each label, by character offsets of the gold spans."""
    hits, predictions, gold = (dict.fromkeys(LABELS, 0) for _ in range(3))
    for row, doc in zip(rows, nlp.pipe(row["text"] for row in rows), strict=True):
        for kind, label in LABELS.items():
            guesses = {(ent.start_char, ent.end_char) for ent in doc.ents if ent.label_ == label}
            truth = {(start, end) for start, end in row[kind]}
            hits[kind] += len(guesses & truth)
            predictions[kind] += len(guesses)
            gold[kind] += len(truth)
    scores = {}
    for kind, label in LABELS.items():
        precision, recall = hits[kind] / max(predictions[kind], 1), hits[kind] / max(gold[kind], 1)
        f1 = 2 * precision * recall / max(precision + recall, 1e-9)
        figures = {"precision": precision, "recall": recall, "f1": f1}
        scores[label] = {name: round(value, 3) for name, value in figures.items()} | {"gold": gold[kind]}
    return scores


def train(nlp: Language, rows: list[dict], dev: list[list[dict]], names: Names, args: argparse.Namespace) -> float:
    """Train; leave in `nlp` the averaged weights of the epoch best at persons on `dev`; return that F1."""
    rng, places = random.Random(args.seed), read_places()
    fix_random_seed(args.seed)
    nlp.initialize(lambda: [Example(nlp.make_doc(row["text"]), gold_doc(nlp, row)) for row in rows[:100]])
    optimizer = Adam(args.learn_rate, grad_clip=1.0, L2=0.01, L2_is_weight_decay=True, use_averages=True)
    best, best_bytes = -1.0, b""
    for epoch in range(args.epochs):
        epoch_rows = [row for row in rows if row["persons"] or row["places"] or rng.random() < args.empty]
        texts = [augment(row, names, places, rng, args.share) for row in epoch_rows]
        rng.shuffle(texts)
        losses: dict[str, float] = {}
        for batch in minibatch(texts, size=args.batch):
            examples = [Example(nlp.make_doc(row["text"]), gold_doc(nlp, row)) for row in batch]
            nlp.update(examples, sgd=optimizer, drop=args.dropout, losses=losses)
        if epoch >= args.epochs // 3:
            with nlp.use_params(optimizer.averages):
                scores = [score(nlp, part) for part in dev]
                f1 = sum(entry["PERSON"]["f1"] for entry in scores) / len(dev)
                print(args.seed, epoch, round(losses["ner"]), f"{f1:.3f}", scores, flush=True)
                if f1 > best:
                    best, best_bytes = f1, nlp.get_pipe("ner").to_bytes(exclude=["vocab"])
    nlp.get_pipe("ner").from_bytes(best_bytes, exclude=["vocab"])
    return best


def save(nlp: Language, fresh: Language, out: Path) -> None:
    """Write the pipeline with an empty vocabulary, else the words of all training texts would come along."""
    fresh.initialize()
    weights = nlp.get_pipe("ner").to_bytes(exclude=["vocab"])
    fresh.get_pipe("ner").from_bytes(weights, exclude=["vocab"])
    fresh.meta |= {"name": "geobias_entities", "version": "1.0.0", "license": "CC BY-SA 4.0"}
    fresh.meta["spacy_version"] = ">=3.8.0,<3.9.0"
    fresh.meta["description"] = "Finds people and places in English tweets."
    fresh.to_disk(out)
    # spaCy reads here which form of a word the vectors are of, but (3.8) does not write it.
    settings = {"mode": "default", "attr": LOWER}
    (out / "vocab" / "vectors.cfg").write_text(json.dumps(settings) + "\n", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    for folder in ("tweets", "data", "vectors", "out"):
        parser.add_argument(folder, type=Path)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--epochs", type=int, default=14)
    parser.add_argument("--width", type=int, default=80)
    parser.add_argument("--rows", type=int, default=1700)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--dropout", type=float, default=0.3)
    parser.add_argument("--share", type=float, default=0.6, help="share of tweets given other names")
    parser.add_argument("--empty", type=float, default=0.4, help="share of tweets without names, an epoch")
    parser.add_argument("--leave-out", type=float, default=0.85, help="share of list names without a vector")
    parser.add_argument("--learn-rate", type=float, default=0.001)
    args = parser.parse_args()

    rows = read_rows(args.tweets / "btc.train.jsonl") + read_rows(args.tweets / "wnut.train.jsonl")
    dev = [read_rows(args.tweets / f"{corpus}.dev.jsonl") for corpus in ("btc", "wnut")]
    names, places = read_names(args.data), read_places()
    nlp = blank_pipeline(vector_table(args.vectors, names, places, args.leave_out), args.width, args.rows)
    best = train(nlp, rows, dev, read_names(args.data, held_out=False), args)
    fresh = blank_pipeline(vector_table(args.vectors, names, places), args.width, args.rows)
    save(nlp, fresh, args.out)
    size = sum(file.stat().st_size for file in args.out.rglob("*") if file.is_file())
    print(f"dev person F1 {best:.3f}; {size / 1e6:.2f} MB; spaCy {spacy.__version__}")


if __name__ == "__main__":
    main()
