"""Measure the finder on texts marked by hand, with doubtful spans kept and dropped; its card has these tables.

    python -m recipes.entities.evaluate_spans [--part dev] [--tweets TWEETS --data DATA]

The texts are those of `marked_people.jsonl.gz` (`marked_people.md` says how they were marked); the rules of
`geobias.texts.doubtful_spans` were written with the dev part only. With TWEETS, the folder `finder/` that
`tweets.py` writes, and DATA, which holds `names_by_country.tsv.gz`, also the recall by country of `evaluate.py`.

A mention is what the names audit would rename. It is right if it overlaps a marked person, and exact if both
ends agree.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from geobias.models.finders import load_finder
from geobias.texts.doubtful_spans import sort_spans
from geobias.texts.people import Span, find_people
from geobias.world.gazetteer import Gazetteer, load_gazetteer
from recipes.entities.augment import other_person, read_names, replace
from recipes.entities.evaluate import COUNTRIES
from recipes.entities.train import read_rows

MARKED = Path(__file__).with_name("marked_people.jsonl.gz")
KINDS = {"film": "film reviews", "product": "product reviews", "editorial": "editorials", "tweet": "tweets"}

Mentions = list[list[Span]]
Find = Callable[[Sequence[str]], list[list[Span]]]


@dataclass(frozen=True)
class SpanScores:
    """Counts of mentions and of marked persons, and which of them agree."""

    mentions: int
    right: int
    exact: int
    eponyms: int  # wrong ones that are a person's name in the name of something else
    persons: int
    persons_found: int

    @property
    def precision(self) -> float:
        return self.right / max(self.mentions, 1)

    @property
    def exact_precision(self) -> float:
        return self.exact / max(self.mentions, 1)

    @property
    def recall(self) -> float:
        return self.persons_found / max(self.persons, 1)


def read_marked(part: str | None = None) -> list[dict]:
    """The marked texts of a part ("dev" or "test"), or all."""
    rows = [json.loads(line) for line in gzip.decompress(MARKED.read_bytes()).decode().splitlines()]
    return [row for row in rows if part in (None, row["part"])]


def find_mentions(find: Find, gazetteer: Gazetteer, texts: Sequence[str]) -> tuple[Mentions, Mentions]:
    """What would be renamed in each text, with doubtful spans kept and with doubtful spans dropped."""
    kept, dropped = [], []
    for text, spans in zip(texts, find(texts), strict=True):
        for mentions, text_spans in ((kept, spans), (dropped, sort_spans(text, spans, gazetteer)[0])):
            people = find_people(text, text_spans, gazetteer)
            mentions.append([(mention.start, mention.end) for person in people for mention in person.mentions])
    return kept, dropped


def overlaps(span: Sequence[int], others: Sequence[Sequence[int]]) -> bool:
    return any(start < span[1] and span[0] < end for start, end in others)


def score_mentions(rows: Sequence[dict], mentions: Mentions) -> SpanScores:
    pairs = [(span, row) for row, spans in zip(rows, mentions, strict=True) for span in spans]
    wrong = [(span, row) for span, row in pairs if not overlaps(span, row["persons"])]
    return SpanScores(
        mentions=len(pairs),
        right=len(pairs) - len(wrong),
        exact=sum(list(span) in row["persons"] for span, row in pairs),
        eponyms=sum(overlaps(span, row.get("eponyms", ())) for span, row in wrong),
        persons=sum(len(row["persons"]) for row in rows),
        persons_found=sum(
            overlaps(person, spans) for row, spans in zip(rows, mentions, strict=True) for person in row["persons"]
        ),
    )


def show_table(rows: list[dict], find: Find, gazetteer: Gazetteer) -> None:
    print("| texts | doubtful spans | mentions | precision | exact | eponyms | persons | recall |")
    print("|---|---|---|---|---|---|---|---|")
    kept, dropped = find_mentions(find, gazetteer, [row["text"] for row in rows])
    for kind, title in (*KINDS.items(), (None, "all")):
        positions = [n for n, row in enumerate(rows) if kind in (None, row["kind"])]
        for treatment, mentions in (("kept", kept), ("dropped", dropped)):
            scores = score_mentions([rows[n] for n in positions], [mentions[n] for n in positions])
            print(
                f"| {title} | {treatment} | {scores.mentions} | {scores.precision:.3f} | "
                f"{scores.exact_precision:.3f} | {scores.eponyms} | {scores.persons} | {scores.recall:.3f} |"
            )


def show_corpus_tables(tweets: Path, data: Path, find: Find, gazetteer: Gazetteer, seed: int) -> None:
    """The test parts by the corpora's own marks, then the recall by country (exact spans, as in `evaluate.py`)."""
    print("\n| corpus, its own marks | doubtful spans | mentions | precision | exact | persons | recall |")
    print("|---|---|---|---|---|---|---|")
    for part in ("btc.test", "wnut.test"):
        rows = read_rows(tweets / f"{part}.jsonl")
        both = find_mentions(find, gazetteer, [row["text"] for row in rows])
        for treatment, mentions in zip(("kept", "dropped"), both, strict=True):
            scores = score_mentions(rows, mentions)
            print(
                f"| {part} | {treatment} | {scores.mentions} | {scores.precision:.3f} | "
                f"{scores.exact_precision:.3f} | {scores.persons} | {scores.recall:.3f} |"
            )
    dev = read_rows(tweets / "btc.dev.jsonl") + read_rows(tweets / "wnut.dev.jsonl")
    named = [row for row in dev if row["persons"]][:500]
    names = read_names(data, held_out=True)
    print("\n| country | recall, kept | recall, dropped |\n|---|---|---|")
    gaps = []
    for country in COUNTRIES:
        rng = random.Random(seed)  # the same draws of first, last or both for every country
        rows = [
            replace(row, {(s, e): other_person(row["text"][s:e], names[country], rng) for s, e in row["persons"]})
            for row in named
        ]
        rows = [{**row, "persons": [list(span) for span in row["persons"]]} for row in rows]
        both = find_mentions(find, gazetteer, [row["text"] for row in rows])
        recalls = [score_mentions(rows, mentions).exact / sum(len(row["persons"]) for row in rows) for mentions in both]
        gaps.append(recalls)
        print(f"| {country.replace('_', ' ')} | {recalls[0]:.3f} | {recalls[1]:.3f} |")
    widths = [max(column) - min(column) for column in zip(*gaps, strict=True)]
    print(f"| largest difference between countries | {widths[0]:.3f} | {widths[1]:.3f} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--part", choices=("dev", "test"), default="test")
    parser.add_argument("--tweets", type=Path)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    find, gazetteer = load_finder(), load_gazetteer()
    show_table(read_marked(args.part), find, gazetteer)
    if args.tweets and args.data:
        show_corpus_tables(args.tweets, args.data, find, gazetteer, args.seed)


if __name__ == "__main__":
    main()
