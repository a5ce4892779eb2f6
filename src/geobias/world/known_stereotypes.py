"""Stereotypes of nationalities that people know of: SeeGULL (Jha et al. 2023), with the votes of its annotators.

The attributes are offensive. Nothing here prints them, and a caller shows them only if the user asks for it.
"""

from __future__ import annotations

import lzma
from dataclasses import dataclass, field
from functools import cache
from importlib import resources

# Annotators of North America are these countries' own region: SeeGULL repeats the same votes as North America's.
OWN_REGION_IS_NORTH_AMERICA = frozenset({"BM", "CA", "US"})


@dataclass(frozen=True)
class KnownStereotype:
    """A country, an attribute, and how many annotators know it as a stereotype of the country's people."""

    code: str
    attribute: str = field(repr=False)
    region_stereotype: int
    """Annotators of the country's region who call it a stereotype."""
    region_other: int
    """Annotators of the country's region who call it none."""
    north_america_stereotype: int
    """Annotators in North America, with roots in the region, who call it a stereotype."""
    north_america_other: int
    """Annotators in North America, with roots in the region, who call it none."""
    offensiveness: float | None
    """Mean rating of the attribute, from -1 (not offensive) to 4; None if nobody rated it."""


@cache
def load_known_stereotypes() -> tuple[KnownStereotype, ...]:
    """SeeGULL's pairs of a country and an attribute, in the order of attributes."""
    content = resources.files("geobias.world").joinpath("data/seegull.tsv.xz").read_bytes()
    rows = (line.split("\t") for line in lzma.decompress(content).decode("utf-8").splitlines()[1:])
    return tuple(_parse_row(*row) for row in rows)


def _parse_row(attribute: str, code: str, *cells: str) -> KnownStereotype:
    region_stereotype, region_other, north_america_stereotype, north_america_other = map(int, cells[:4])
    return KnownStereotype(
        code,
        attribute,
        region_stereotype,
        region_other,
        north_america_stereotype,
        north_america_other,
        float(cells[4]) if cells[4] else None,
    )
