"""Make the list of common English words by which doubtful spans are told from names.

    python -m recipes.entities.common_words CORPORA TWEETS src/geobias/texts/data/common_words.txt.xz

CORPORA holds the pieces of Wikipedia; TWEETS is the folder `finder/` that `tweets.py` writes. Of the tweets only the
train parts are read. They add informal words, which an encyclopedia does not have.

A word is common if writers rarely give it a capital inside a sentence. Names that are words too ("jack", "rose") are
listed with a star: they are common words only where they are written in lower case. Forms that `stems` derives from a
listed word are left out.
"""

from __future__ import annotations

import argparse
import json
import lzma
import re
from collections import Counter
from collections.abc import Callable, Iterable, Set
from pathlib import Path

from geobias.texts.doubtful_spans import stems
from geobias.world.gazetteer import Gazetteer, load_gazetteer

INSIDE_SENTENCE = re.compile(r"(?<=[a-z,;] )[A-Za-z][a-z]+\b(?!['-])")
IN_TWEET = re.compile(r"(?<![\w#@'’/.])[A-Za-z][a-z]+(?![\w@'’/])")
FEWEST = 120  # occurrences in lower case in the encyclopedia: about 47 million words
FEWEST_IN_TWEETS = 5  # of about 130,000
COMMON_SHARE = 0.8  # of the occurrences that are in lower case
STARRED_SHARE, STARRED_NAME_SHARE = 0.25, 0.05
TWEET_SHARE = 0.6  # lower: tweets capitalise at will
SHORTEST = 3  # letters


class CaseCounts:
    """How often each word is written in lower case, and how often with a capital."""

    def __init__(self, words: Iterable[str]) -> None:
        self.lower: Counter[str] = Counter()
        self.capital: Counter[str] = Counter()
        for word in words:
            (self.lower if word[0].islower() else self.capital)[word.lower()] += 1

    def share(self, word: str) -> float:
        return self.lower[word] / (self.lower[word] + self.capital[word])

    def select(self, fewest: int, is_listed: Callable[[str], bool]) -> set[str]:
        return {w for w, count in self.lower.items() if count >= fewest and len(w) >= SHORTEST and is_listed(w)}


def read_corpora(folder: Path) -> Iterable[str]:
    for file in sorted(folder.glob("wikipedia-*.txt.xz")):
        with lzma.open(file, "rt", encoding="utf-8") as lines:
            for line in lines:
                yield from INSIDE_SENTENCE.findall(line)


def read_tweets(folder: Path) -> Iterable[str]:
    for part in ("btc.train", "wnut.train"):
        for line in (folder / f"{part}.jsonl").read_text(encoding="utf-8").splitlines():
            yield from IN_TWEET.findall(json.loads(line)["text"])


def list_words(articles: CaseCounts, tweets: CaseCounts, gazetteer: Gazetteer) -> tuple[set[str], set[str]]:
    """The common words, and the starred ones."""

    def is_informal(word: str) -> bool:
        is_capitalised = articles.capital[word] > articles.lower[word]
        return tweets.share(word) >= TWEET_SHARE and not is_capitalised and not gazetteer.is_first(word)

    common = articles.select(FEWEST, lambda word: articles.share(word) >= COMMON_SHARE)
    common |= tweets.select(FEWEST_IN_TWEETS, is_informal)
    starred = articles.select(
        FEWEST, lambda word: articles.share(word) >= (STARRED_NAME_SHARE if gazetteer.is_first(word) else STARRED_SHARE)
    )
    return drop_derived(common), drop_derived(starred - common)


def drop_derived(words: Set[str]) -> set[str]:
    return {word for word in words if not any(stem in words for stem in stems(word) if stem != word)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    for path in ("corpora", "tweets", "out"):
        parser.add_argument(path, type=Path)
    args = parser.parse_args()
    articles, tweets = CaseCounts(read_corpora(args.corpora)), CaseCounts(read_tweets(args.tweets))
    common, starred = list_words(articles, tweets, load_gazetteer())
    lines = sorted(common | {f"{word}*" for word in starred})
    args.out.write_bytes(lzma.compress("\n".join(lines).encode(), preset=9 | lzma.PRESET_EXTREME))
    print(f"{len(common)} common words, {len(starred)} with a star, {args.out.stat().st_size} bytes")


if __name__ == "__main__":
    main()
