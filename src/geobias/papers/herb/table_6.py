"""HERB, Table 6: the words of each topic replaced (section 4.6).

ALBERT's C_w from all 112 words, then with those of one topic replaced by their nearest words (the paper's Appendix A),
which are listed with the words.
"""

from __future__ import annotations

from geobias.papers.herb.table_3 import measure_wordings
from geobias.papers.tables import Reproduction
from geobias.world.words import Word, herb_words

TITLE = "topics replaced, C_w"


def measure(
    model: str | None = None, *, cities: int | str = "all", device: str = "auto", progress: bool | None = None
) -> Reproduction:
    """C_w of one model with the words of each topic replaced; the published numbers are ALBERT's."""
    words = herb_words()
    scored = [*words, *dict.fromkeys(map(_replace, words))]
    return measure_wordings("table_6", TITLE, _replace_topic, scored, model, cities, device, progress)


def _replace_topic(topic: str) -> list[Word]:
    return [_replace(word) if word.topic == topic else word for word in herb_words()]


def _replace(word: Word) -> Word:
    return Word(word.substitute or word.word, "substitutes")
