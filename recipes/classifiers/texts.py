"""The texts that the bundled classifiers learn from, with their labels, and the sides on which they stand.

Four sources, none of them for research only:

* GoEmotions (CC BY 4.0): Reddit comments. Sentiment and emotion, where a comment has exactly one label in that
  grouping; ambiguous comments have no sentiment. Comments with a masked religion are left out.
* Davidson et al. 2017 (MIT): tweets with words of a hate lexicon. Hateful ones count as offensive, too.
* hatespeech18 (CC BY-SA 3.0 ES): sentences of a white supremacist forum, hateful or not.
* Broad Twitter Corpus (CC BY 4.0): ordinary tweets, without those that geobias bundles. Like GoEmotions' neutral
  comments they count as neither offensive nor hateful: without them, the words of the lexicon decide everything.

GoEmotions masks people as [NAME]. `Names` puts English names back, about as often as they occur.
"""

from __future__ import annotations

import csv
import gzip
import html
import json
import lzma
import random
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import accumulate
from pathlib import Path

from recipes.classifiers.encoded import LABELS, PARTS
from recipes.entities.detokenise import join, merge
from recipes.entities.tweets import convert, read_conll

SPLITS = Path(__file__).with_name("splits.tsv.xz")
NAME_FORMS = ("first",) * 2 + ("last", "full")  # half of the people by their first name alone
COMMON = 20  # a name of rank r is drawn with the weight 1 / (COMMON + r): the first one is then 0.9 % of all


@dataclass(frozen=True)
class Row:
    """A text, the labels that it has, and the part it belongs to ("" before the split)."""

    source: str
    key: str
    text: str
    labels: dict[str, str]
    part: str = ""
    group: str = ""  # rows of one group, such as the sentences of a post, stay together

    @property
    def is_ordinary(self) -> bool:
        """Whether it was not collected for its words, and counts as neither offensive nor hateful."""
        return self.source in ("goemotions", "broad_twitter") and "hate" in self.labels


def read_goemotions(data: Path) -> Iterator[Row]:
    """Comments by their published parts; those without a single label in either grouping are left out."""
    for part in PARTS:
        rows: dict[str, dict[str, str]] = {}
        texts: dict[str, str] = {}
        for task, grouping in (("sentiment", "group"), ("emotion", "ekman")):
            names = (data / "goemotions" / grouping / "labels.txt").read_text().split()
            with gzip.open(data / "goemotions" / grouping / f"{part}.tsv.gz", "rt", encoding="utf-8") as lines:
                for line in lines:
                    text, numbers, key = line.rstrip("\n").split("\t")
                    texts[key] = text
                    if numbers.isdigit() and names[int(numbers)] in LABELS[task]:
                        rows.setdefault(key, {})[task] = names[int(numbers)]
        for key, labels in rows.items():
            if labels.get("sentiment") == labels.get("emotion") == "neutral":
                labels |= {"offensive": "not-offensive", "hate": "not-hate"}
            if "[RELIGION]" not in texts[key]:
                yield Row("goemotions", key, texts[key].strip(), labels, part)


def read_davidson(data: Path) -> Iterator[Row]:
    with gzip.open(data / "davidson" / "labeled_data.csv.gz", "rt", encoding="utf-8", newline="") as lines:
        for line in csv.DictReader(lines):
            is_hateful, is_offensive = line["class"] == "0", line["class"] in ("0", "1")
            labels = {"offensive": LABELS["offensive"][is_offensive], "hate": LABELS["hate"][is_hateful]}
            text = " ".join(html.unescape(line["tweet"]).split())
            yield Row("davidson", line[""], text, labels)


def read_forum(data: Path) -> Iterator[Row]:
    with gzip.open(data / "hatespeech18.tsv.gz", "rt", encoding="utf-8", newline="") as lines:
        for line in csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE):
            if line["label"] in ("hate", "noHate"):
                words = line["text"].replace("``", '"').replace("''", '"').split()
                text, _ = join([word for word, _ in merge([(word, None) for word in words])])
                labels = {"hate": LABELS["hate"][line["label"] == "hate"]}
                yield Row("hatespeech18", line["id"], text, labels, group=line["id"].split("_")[0])


def read_broad_twitter(data: Path) -> Iterator[Row]:
    for part in PARTS:
        for number, (words, tags) in enumerate(read_conll(data / "broad_twitter_corpus" / f"btc.{part}")):
            text = convert(words, tags, Counter())["text"]
            key = f"btc.{part}.{number:04d}"
            yield Row("broad_twitter", key, text, {"offensive": "not-offensive", "hate": "not-hate"})


def read_sources(data: Path) -> list[Row]:
    """All rows, before the split."""
    readers = (read_goemotions, read_davidson, read_forum, read_broad_twitter)
    return [row for reader in readers for row in reader(data) if len(row.text.split()) > 1]


def read_rows(data: Path) -> list[Row]:
    """The rows of the three parts, as splits.tsv.xz has them; what it leaves out is left out."""
    with lzma.open(SPLITS, "rt", encoding="utf-8") as lines:
        parts = {(source, key): part for source, key, part in (line.rstrip("\n").split("\t") for line in lines)}
    rows = [replace(row, part=parts.get((row.source, row.key), row.part or "train")) for row in read_sources(data)]
    return [row for row in rows if row.part in PARTS]


class Names:
    """Names to draw from: lists of male, female and last names, of one place or of several that count alike."""

    def __init__(self, places: list[dict[str, list[str]]], *, common_first: bool) -> None:
        self.places = places
        self.common_first = common_first

    @classmethod
    def english(cls, data: Path) -> Names:
        """Names as English comments have them: the common ones more often."""
        lists = json.loads((data / "common_names_english.json").read_text(encoding="utf-8"))
        return cls([{"male": lists["men"], "female": lists["women"], "last": lists["last"]}], common_first=True)

    @classmethod
    def balanced(cls) -> Names:
        """The names of every country alike, from geobias's own lists: only to measure what this would change."""
        from geobias.world.gazetteer import KINDS, load_gazetteer

        gazetteer = load_gazetteer()
        places = [{kind: list(gazetteer.names(code, kind)) for kind in KINDS} for code in gazetteer.codes]
        return cls([place for place in places if all(place.values())], common_first=False)

    def draw(self, chance: random.Random) -> str:
        place, form = chance.choice(self.places), chance.choice(NAME_FORMS)
        first = chance.choice(("male", "female"))
        kinds = {"first": [first], "last": ["last"], "full": [first, "last"]}[form]
        return " ".join(self.pick(place[kind], chance) for kind in kinds)

    def pick(self, names: list[str], chance: random.Random) -> str:
        if not self.common_first:
            return chance.choice(names)
        return chance.choices(names, cum_weights=list(accumulate(1 / (COMMON + rank) for rank in range(len(names)))))[0]

    def fill(self, row: Row) -> Row:
        """Put a name in the place of each [NAME]; the same ones whenever the row is filled."""
        chance = random.Random(row.key)
        return replace(row, text=re.sub(r"\[NAME\]", lambda _: self.draw(chance), row.text))
