"""Stereotypes of nationalities that people know of: SeeGULL's (Jha et al. 2023), with the votes of its annotators.

The attributes are offensive. Nothing here prints them, and a caller shows them only if the user asks for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import zip_longest

import numpy as np

from geobias.world import read_rows
from geobias.world.countries import load_entries
from geobias.world.places import plural_demonym

# Annotators of North America are these countries' own region: SeeGULL repeats the same votes as North America's.
OWN_REGION_IS_NORTH_AMERICA = frozenset({"BM", "CA", "US"})
OFFENSIVE, NOT_OFFENSIVE = 2.0, -1.0  # mean ratings: from here on offensive; by nobody called offensive
PANEL_COUNTRIES, PANEL_ATTRIBUTES = 30, 60
SEED = 0  # of the panels, and of the subset


@dataclass(frozen=True)
class KnownStereotype:
    """A country, an attribute, and how many annotators know it as a stereotype of the country's people."""

    code: str
    attribute: str = field(repr=False)
    # Annotators of its region who call it a stereotype, and none; then those in North America with roots in the region.
    region_stereotype: int
    region_other: int
    north_america_stereotype: int
    north_america_other: int
    offensiveness: float | None  # mean rating of the attribute, from -1 (not offensive) to 4; None if nobody rated it

    @property
    def is_called_stereotype(self) -> bool:
        """Whether more annotators call it a stereotype than not; a tie is no majority."""
        return self.region_stereotype + self.north_america_stereotype > self.region_other + self.north_america_other

    @property
    def has_both_votes(self) -> bool:
        """Whether annotators of its region and others in North America voted."""
        return (
            self.code not in OWN_REGION_IS_NORTH_AMERICA
            and self.region_stereotype + self.region_other > 0
            and self.north_america_stereotype + self.north_america_other > 0
        )

    @property
    def is_offensive(self) -> bool:
        return self.offensiveness is not None and self.offensiveness >= OFFENSIVE


@cache
def load_known_stereotypes() -> tuple[KnownStereotype, ...]:
    """SeeGULL's pairs of a country and an attribute, in the order of attributes."""
    return tuple(
        KnownStereotype(
            code, attribute, int(yes), int(no), int(others_yes), int(others_no), float(rate) if rate else None
        )
        for attribute, code, yes, no, others_yes, others_no, rate in read_rows("seegull.tsv.xz")
    )


def draw_panels(pairs: Sequence[KnownStereotype]) -> tuple[list[str], list[str]]:
    """Countries, as many of each continent as there are, and attributes, as many of each degree of offensiveness."""
    entries = load_entries()
    codes = sorted({pair.code for pair in pairs if plural_demonym(pair.code) is not None})
    ratings = {pair.attribute: pair.offensiveness for pair in pairs}
    attributes = sorted(ratings)
    return (
        draw_balanced(codes, [entries[code].continent for code in codes], PANEL_COUNTRIES),
        draw_balanced(attributes, [_grade_rating(ratings[each]) for each in attributes], PANEL_ATTRIBUTES),
    )


def _grade_rating(offensiveness: float | None) -> str:
    if offensiveness is None:
        return "not rated"
    if offensiveness >= OFFENSIVE:
        return "offensive"
    return "not offensive" if offensiveness == NOT_OFFENSIVE else "between"


def draw_balanced(items: Sequence[str], strata: Sequence[str], count: int) -> list[str]:
    """So many items at random, in turn from each stratum that has any left."""
    shuffled: dict[str, list[str]] = {stratum: [] for stratum in sorted(set(strata))}
    for position in np.random.default_rng(SEED).permutation(len(items)):
        shuffled[strata[position]].append(items[position])
    in_turn = [item for rank in zip_longest(*shuffled.values()) for item in rank if item is not None]
    return in_turn[:count]
