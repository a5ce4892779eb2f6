"""Turn two hand-tagged Twitter corpora into natural text with character spans.

    python -m recipes.entities.tweets DATA OUT

DATA holds `broad_twitter_corpus/` and `wnut17/` (CoNLL: a token, a tab, a tag; a blank line between tweets).
OUT receives

* `tweets.jsonl` (and packed, `tweets.jsonl.xz`): 800 tweets of the Broad Twitter Corpus that name a person, curated and
  drawn at random (`sample.py`; needs better-profanity);
* `finder/{btc,wnut}.{train,dev,test}.jsonl`: everything, for training and testing the finder.

One JSON object a line: `id`, `text`, `persons` and `places`, the last two lists of [start, end) offsets.

Why: the corpora come as tokens ("do n't", "@ someone", "' quoted '"), and no model meets text like that. The
rules below put the spaces back where people write them. Handles become @user and links become http. A
handle, hashtag or link is not a name, whatever its tag says.
"""

from __future__ import annotations

import argparse
import json
import lzma
import re
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from recipes.entities.detokenise import Token, join, merge
from recipes.entities.sample import curate_sample, draw_bundled

FILES = {
    "btc.train": "broad_twitter_corpus/btc.train",
    "btc.dev": "broad_twitter_corpus/btc.dev",
    "btc.test": "broad_twitter_corpus/btc.test",
    "wnut.train": "wnut17/wnut17train.conll",
    "wnut.dev": "wnut17/emerging.dev.conll",
    "wnut.test": "wnut17/emerging.test.annotated",
}
KINDS = {"PER": "persons", "person": "persons", "LOC": "places", "location": "places"}
TITLES = set("mr mrs ms miss dr sir lord lady prof rev king queen prince president".split())


def read_conll(path: Path) -> list[tuple[list[str], list[str]]]:
    """Tokens and tags of each tweet."""
    tweets: list[tuple[list[str], list[str]]] = [([], [])]
    for line in path.read_text(encoding="utf-8").split("\n"):
        word, _, tag = line.rpartition("\t")
        if word.strip():
            tweets[-1][0].append(word.strip())
            tweets[-1][1].append(tag.strip())
        elif tweets[-1][0] and not line.strip():
            tweets.append(([], []))
    return [tweet for tweet in tweets if tweet[0]]


def number_entities(words: list[str], tags: list[str], kept: Mapping[str, str]) -> tuple[list[Token], list[str]]:
    """Give each token the number of its entity, and list the entities' kinds ("" for kinds not kept)."""
    tokens: list[Token] = []
    kinds: list[str] = []
    last = ""
    for word, tag in zip(words, tags, strict=True):
        begin, _, kind = tag.partition("-")
        handle = bool(tokens) and tokens[-1][0] == "@" and kind == last  # "@" and its name, each tagged B
        if kind and (begin == "B" or kind != last) and not handle:
            kinds.append(kept.get(kind, ""))
        last = kind
        tokens.append((word, len(kinds) - 1 if kind else None))
    return tokens, kinds


def tidy(text: str, start: int, end: int) -> tuple[int, int]:
    """Trim a possessive, quotes and marks off the ends of a span; an initial or "Jr" keeps its full stop."""
    if match := re.search(r"['’][sS]?$", text[start:end]):
        end = start + match.start()
    while start < end and not text[start].isalnum():
        start += 1
    while start < end and not text[end - 1].isalnum():
        if text[end - 1] == "." and re.search(r"(?:\b[A-Z]|\b[JS]r)\.$", text[start:end]):
            break
        end -= 1
    return start, end


def is_absurd(name: str) -> bool:
    """No letters, a title alone, or a list of many words: nothing that could be one person's name."""
    letters = any(letter.isalpha() for letter in name)
    return not letters or name.lower().strip(".") in TITLES or len(name.split()) > 5


def convert(words: list[str], tags: list[str], counts: Counter[str], kept: Mapping[str, str] = KINDS) -> dict:
    """One tweet as natural text with spans of the kinds kept; `counts` notes what was dropped and why."""
    raw, kinds = number_entities(words, tags, kept)
    tokens = merge(raw)
    text, starts = join([word for word, _ in tokens])
    spans: dict[str, list[list[int]]] = {kind: [] for kind in kept.values()}
    for number, kind in enumerate(kinds):
        if not kind:
            continue
        inside = [i for i, (_, entity) in enumerate(tokens) if entity == number]
        lost = next(word for word, entity in raw if entity == number).startswith(("@", "#", "http"))
        if not inside or lost or inside[-1] - inside[0] + 1 != len(inside):
            counts[f"{kind}: handle, hashtag or link"] += 1
            continue
        start, end = tidy(text, starts[inside[0]], starts[inside[-1]] + len(tokens[inside[-1]][0]))
        if is_absurd(text[start:end]):
            counts[f"{kind}: not a name"] += 1
            continue
        letters = re.sub(r"\W", "", "".join(tokens[i][0] for i in inside))
        assert re.sub(r"\W", "", text[start:end]) in letters, (text, text[start:end], letters)
        spans[kind].append([start, end])
        counts[kind] += 1
    return {"text": text, **spans}


def fingerprint(text: str) -> str:
    """What two copies of a tweet share: letters and digits, without case, handles and links."""
    return re.sub(r"[\W_]", "", re.sub(r"@user|http|\bRT\b", "", text).lower())


def write(path: Path, rows: list[dict]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("out", type=Path)
    args = parser.parse_args()

    seen: set[str] = set()
    splits: dict[str, list[dict]] = {}
    # Test first, train last: of two copies the one in the test set stays, and no test tweet is trained on.
    for split in sorted(FILES, key=lambda name: ("test", "dev", "train").index(name.split(".")[1])):
        counts: Counter[str] = Counter()
        rows = []
        for number, (words, tags) in enumerate(read_conll(args.data / FILES[split])):
            row = {"id": f"{split}.{number:04d}", **convert(words, tags, counts)}
            mark = fingerprint(row["text"])
            if mark in seen:
                counts["copies left out"] += 1
                continue
            seen.add(mark)
            rows.append(row)
        splits[split] = rows
        write(args.out / "finder" / f"{split}.jsonl", rows)
        print(split, len(rows), dict(sorted(counts.items())))
    corpus = splits["btc.dev"] + splits["btc.test"] + splits["btc.train"]
    email = re.compile(r"@user\.\w|\w+ at \w+ dot ")
    persons = [row for row in corpus if row["persons"] and not email.search(row["text"])]
    sample = draw_bundled(curate_sample(persons))
    write(args.out / "tweets.jsonl", sample)
    packed = lzma.compress((args.out / "tweets.jsonl").read_bytes(), preset=9 | lzma.PRESET_EXTREME)
    (args.out / "tweets.jsonl.xz").write_bytes(packed)
    print("sample:", len(sample), "tweets,", sum(len(row["persons"]) for row in sample), "persons")


if __name__ == "__main__":
    main()
