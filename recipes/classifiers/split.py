"""Divide the texts into train, dev and test, near-duplicates on one side, and write `splits.tsv.xz`.

    python -m recipes.classifiers.split ../shared

Two texts are near-duplicates if they have the same letters, or four fifths of their words in common. They form
clusters, as do the sentences of a forum post. A cluster with comments of GoEmotions belongs to the part in which these
were published, test before dev before train, and those published in another part are left out. Any other goes to dev
(a tenth), test (two tenths) or train by a hash. Clusters with a bundled tweet are left out: the audits use those.
"""

from __future__ import annotations

import argparse
import hashlib
import lzma
import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

from geobias.texts.user_texts import sample_texts
from recipes.classifiers.encoded import PARTS
from recipes.classifiers.texts import SPLITS, Row, read_sources

ALIKE = 0.8  # share of the words of both that near-duplicates have in common
FEWEST_WORDS = 5  # for shorter texts only the same letters count
NOT_WORDS = re.compile(r"https?(?:://\S+)?|@\w+|\brt\b|\[name\]")
LEFT_OUT = "left out"


def list_words(text: str) -> list[str]:
    """The words in lower case, without handles, links and masks."""
    return re.findall(r"\w+", NOT_WORDS.sub(" ", text.lower()))


def find_pairs(texts: list[str]) -> Iterator[tuple[int, int]]:
    """Yield pairs of near-duplicates, enough of them to link each cluster.

    Texts that have so many words in common share one of their rarest words, so only texts that do are compared.
    """
    words = [list_words(text) for text in texts]
    first: dict[str, int] = {}
    for number, each in enumerate(words):
        yield number, first.setdefault("".join(each) or texts[number], number)
    counts = Counter(word for each in words for word in set(each))
    sharing: dict[str, list[int]] = defaultdict(list)
    sets = [set(each) for each in words]
    for number in first.values():
        own = sets[number]
        if len(own) < FEWEST_WORDS:
            continue
        rarest = sorted(own, key=lambda word: (counts[word], word))[: len(own) - math.ceil(ALIKE * len(own)) + 1]
        for other in {other for word in rarest for other in sharing[word]}:
            if len(own & sets[other]) >= ALIKE * len(own | sets[other]):
                yield number, other
        for word in rarest:
            sharing[word].append(number)


def find_clusters(texts: list[str], groups: list[str]) -> list[int]:
    """The cluster of each text: the number of the first text in it."""
    parent = list(range(len(texts)))

    def root(number: int) -> int:
        while parent[number] != number:
            parent[number] = parent[parent[number]]
            number = parent[number]
        return number

    first_of_group: dict[str, int] = {}
    links = [(number, first_of_group.setdefault(group, number)) for number, group in enumerate(groups) if group]
    for pair in (*find_pairs(texts), *links):
        low, high = sorted(map(root, pair))
        parent[high] = low
    return [root(number) for number in range(len(texts))]


def choose_part(rows: list[Row]) -> str:
    """The part of a cluster."""
    published = {row.part for row in rows} & set(PARTS)
    if published:
        return max(published, key=PARTS.index)
    key = min(f"{row.source} {row.group or row.key}" for row in rows)
    tenth = hashlib.sha256(key.encode()).digest()[0] * 10 // 256
    return "dev" if tenth == 0 else "test" if tenth < 3 else "train"


def split_rows(rows: list[Row], bundled_texts: list[str], bundled_keys: set[str]) -> list[str]:
    """The part of each row, or "left out"."""
    numbers = find_clusters(
        [row.text for row in rows] + bundled_texts, [row.group for row in rows] + [""] * len(bundled_texts)
    )
    clusters: dict[int, list[Row]] = defaultdict(list)
    for row, number in zip(rows, numbers, strict=False):
        clusters[number].append(row)
    parts = {number: choose_part(members) for number, members in clusters.items()}
    for number in numbers[len(rows) :]:
        parts[number] = LEFT_OUT
    return [
        LEFT_OUT if row.part not in ("", parts[number]) or row.key in bundled_keys else parts[number]
        for row, number in zip(rows, numbers, strict=False)
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("shared", type=Path)
    rows = read_sources(parser.parse_args().shared / "data")
    bundled = sample_texts()
    parts = split_rows(rows, list(bundled.texts), set(bundled.ids))
    for (source, part), count in sorted(
        Counter((row.source, part) for row, part in zip(rows, parts, strict=True)).items()
    ):
        print(source, part, count)
    lines = [
        f"{row.source}\t{row.key}\t{part}\n"
        for row, part in zip(rows, parts, strict=True)
        if part != (row.part or "train")  # the others are where they were published, or in train
    ]
    SPLITS.write_bytes(lzma.compress("".join(lines).encode(), preset=9 | lzma.PRESET_EXTREME))


if __name__ == "__main__":
    main()
