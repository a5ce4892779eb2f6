"""Regions of the world, names of people by country, and words that describe people."""

from __future__ import annotations

import lzma
from importlib import resources


def read_data(name: str) -> str:
    """The content of a bundled file, packed or not."""
    content = resources.files("geobias.world").joinpath("data", name).read_bytes()
    return (lzma.decompress(content) if name.endswith(".xz") else content).decode("utf-8")


def read_rows(name: str) -> list[list[str]]:
    """The rows of a bundled table with tabs, without its header."""
    return [line.split("\t") for line in read_data(name).splitlines()[1:]]
