"""A place within a sentence: with its article ("the United States"), and with a capital letter where it opens one.

A model takes "People in United States" for a mistake, so the sentence measures the missing article, too. Every audit
puts places into sentences here. `geobias reproduce` keeps the wording of HERB, which has no articles.
"""

from __future__ import annotations

import re
from functools import cache
from importlib import resources

ARTICLE = "the "
_REGION = re.compile(r"(?P<opening>(?:^|[.!?][\"'”’)]*\s+)[\"'“‘(]*)?\{region\}")


def add_article(name: str) -> str:
    """The name of a place within a sentence: "Kenya", "the United States", "the Netherlands" of "The Netherlands".

    Names that are not in data/places_in_sentence.tsv stay as they are; case counts, since Us is a town in France.
    """
    return _load_names().get(name.removeprefix("The "), name)


def drop_article(name: str) -> str:
    """The name of a place that stood within a sentence, on its own: "United States" of "the United States"."""
    return name.removeprefix(ARTICLE)


def put_place(sentence: str, place: str) -> str:
    """Replace {region} in a sentence by a place as it stands within one; where it opens one, its article by "The"."""
    opening = place[:1].upper() + place[1:] if place.startswith(ARTICLE) else place
    return _REGION.sub(lambda m: place if m["opening"] is None else m["opening"] + opening, sentence)


@cache
def _load_names() -> dict[str, str]:
    text = resources.files("geobias.world").joinpath("data/places_in_sentence.tsv").read_text(encoding="utf-8")
    rows = (line.split("\t") for line in text.splitlines()[1:])
    return {name: in_sentence for _, name, in_sentence in rows}
