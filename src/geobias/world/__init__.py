"""Regions of the world, names of people by country, and words that describe people."""

from __future__ import annotations

import lzma
from importlib import resources


def read_rows(name: str) -> list[list[str]]:
    """The rows of a bundled table with tabs, packed or not, without its header."""
    content = resources.files("geobias.world").joinpath("data", name).read_bytes()
    text = (lzma.decompress(content) if name.endswith(".xz") else content).decode("utf-8")
    return [line.split("\t") for line in text.splitlines()[1:]]
