"""How favourable words are: people's ratings from the VADER lexicon (Hutto and Gilbert 2014)."""

from __future__ import annotations

import lzma
from functools import cache
from importlib import resources

HIGHEST_VALENCE = 4


@cache
def load_valence() -> dict[str, float]:
    """The mean rating of each word in lower case, from -4 (most unfavourable) to 4 (most favourable)."""
    content = resources.files("geobias.world").joinpath("data/valence.tsv.xz").read_bytes()
    lines = lzma.decompress(content).decode("utf-8").splitlines()[1:]
    return {word: float(rating) for word, rating in (line.split("\t") for line in lines)}
