"""The tree of regions: Earth, continents, countries, cities; or the user's tree.

Regions are those of GeoNames (CC BY 4.0). "Country" is its category, not
a statement about sovereignty.

An id names a region within its level only: "NA" is North America among the continents and Namibia among the
countries. Inside the program a region is its position in the tree.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby, islice
from operator import attrgetter
from pathlib import Path

import numpy as np

from geobias.checks import check_name, describe_choices, shorten
from geobias.errors import InputError
from geobias.files import parse_named_rows, read_text
from geobias.world.countries import (
    ANTARCTIC,
    CONTINENTS,
    DISSOLVED,
    find_continent,
    find_country,
    load_cities,
    load_entries,
)
from geobias.world.places import add_article

ROOT_LEVEL = "earth"
UNINHABITED = "{country} is not among the regions: it has no permanent population. Remove it."


@dataclass(frozen=True)
class Region:
    """One region; `parent` is the position of the region it belongs to, None for the root."""

    id: str
    name: str
    level: str
    parent: int | None
    in_sentence: str = ""  # with its article, "the United States"; by default that of the bundled places

    def __post_init__(self) -> None:
        if not self.in_sentence:
            object.__setattr__(self, "in_sentence", add_article(self.name))


@dataclass(frozen=True)
class RegionTree:
    """Regions in an order in which every region stands after its parent; the root is first."""

    regions: tuple[Region, ...]

    def __len__(self) -> int:
        return len(self.regions)

    @cached_property
    def children(self) -> list[np.ndarray]:
        """For each region, the positions of its sub-regions."""
        positions_below: list[list[int]] = [[] for _ in self.regions]
        for position, region in enumerate(self.regions):
            if region.parent is not None:
                positions_below[region.parent].append(position)
        return [np.array(positions, dtype=np.int64) for positions in positions_below]

    @property
    def digest(self) -> str:
        """A hash of ids, names as sentences have them, and parents, independent of the file or options."""
        lines = "\n".join(f"{r.level}\t{r.id}\t{r.in_sentence}\t{r.parent}" for r in self.regions)
        return hashlib.sha256(lines.encode()).hexdigest()[:16]

    def drop_articles(self) -> RegionTree:
        """The same regions, whose names stand in sentences as they are: the wording of HERB."""
        return RegionTree(tuple(replace(region, in_sentence=region.name) for region in self.regions))


def load_world(
    *,
    cities: int | None = 5,
    continents: Iterable[str] = (),
    countries: Iterable[str] = (),
    dissolved: bool = True,
) -> RegionTree:
    """The Earth, its six inhabited continents, their countries and each country's `cities` largest cities.

    `cities=None` keeps all of them, `cities=0` stops at the countries. `continents` and `countries` narrow the
    tree to those given by code or name. With `dissolved=False`, countries that no longer exist are left out unless
    `countries` names them; HERB's tree has them.
    """
    if cities is not None and cities < 0:
        raise InputError(f"The number of cities cannot be {cities}. Use 0, a positive number or 'all'.")
    all_continents = {code: name for code, name in CONTINENTS.items() if code != ANTARCTIC}
    all_countries = {code: entry for code, entry in load_entries().items() if entry.continent in all_continents}
    country_names = {code: entry.name for code, entry in all_countries.items()}
    wanted_continents = {find_continent(name, all_continents) for name in continents}
    wanted_countries = {find_country(name, country_names, UNINHABITED) for name in countries}
    if not wanted_countries and not dissolved:
        wanted_countries = all_countries.keys() - DISSOLVED.keys()
    kept = {
        code: entry
        for code, entry in all_countries.items()
        if (not wanted_countries or code in wanted_countries)
        and (not wanted_continents or entry.continent in wanted_continents)
    }
    if not kept:
        raise InputError("No country is left: none of the chosen countries is on one of the chosen continents.")
    regions = [Region("Earth", "Earth", ROOT_LEVEL, None)]
    continent_codes = sorted({entry.continent for entry in kept.values()})
    regions += [Region(code, all_continents[code], "continent", 0) for code in continent_codes]
    regions += [
        Region(code, country_names[code], "country", 1 + continent_codes.index(entry.continent))
        for code, entry in sorted(kept.items())
    ]
    country_at = {region.id: row for row, region in enumerate(regions) if region.level == "country"}
    for code, largest in groupby(load_cities(), key=attrgetter("country")):
        if code in kept:
            regions += [Region(city.id, city.name, "city", country_at[code]) for city in islice(largest, cities)]
    return RegionTree(tuple(regions))


def read_tree(path: Path) -> RegionTree:
    """Read the user's tree, of any depth: a table (commas, semicolons or tabs) with the columns id, name, parent.

    The parent of the root is empty. A column in_sentence holds names as they stand within a sentence ("the Highlands");
    where it is empty, the name itself does, or the bundled place of that name with its article.
    """
    title = f"The region file {path}"
    rows: dict[str, dict[str, str]] = {}
    for line, row in parse_named_rows(read_text(path, "region file"), title, ["id", "name", "parent"]):
        if not row["id"] or not row["name"]:
            raise InputError(f"{title} has no id or no name in line {line}. Fill in both.")
        for cell in (row["id"], row["name"], row.get("in_sentence", "")):
            check_name(cell, f"{title}, line {line}")
        if rows.setdefault(row["id"], row) is not row:
            raise InputError(f"{title} repeats the id {row['id']!r} in line {line}. Ids must be unique.")
    if not rows:
        raise InputError(f"{title} has no regions. Add one line per region.")
    children: dict[str, list[str]] = defaultdict(list)
    for key, row in rows.items():
        children[row["parent"]].append(key)
    for parent in children.keys() - rows.keys() - {""}:
        hint = describe_choices(parent, rows, "Its ids")
        raise InputError(
            f"{title}: the parent {shorten(parent)!r} of {children[parent][0]!r} is not an id in the file. {hint}"
        )
    if len(children[""]) > 1:
        raise InputError(
            f"{title} has {len(children[''])} roots ({', '.join(map(shorten, children[''][:3]))}, ...). Exactly one "
            "region may have an empty parent."
        )
    regions: list[Region] = []
    position: dict[str, int] = {}
    depth, generation = 0, children[""]
    while generation:
        level = f"level {depth}" if depth else "root"
        for key in generation:
            position[key], row = len(regions), rows[key]
            regions.append(Region(key, row["name"], level, position.get(row["parent"]), row.get("in_sentence", "")))
        depth, generation = depth + 1, [child for key in generation for child in children[key]]
    if stranded := next((key for key in rows if key not in position), None):
        raise InputError(f"{title} has a cycle through {stranded!r}. Every chain of parents must end at the root.")
    return RegionTree(tuple(regions))


def check_tree(tree: RegionTree) -> RegionTree:
    """Return a tree made in Python; refuse ids and names that cannot be written and read."""
    for number, region in enumerate(tree.regions, 1):
        for name in (region.id, region.name, region.level, region.in_sentence):
            check_name(name, f"The tree of regions, region {number}")
    return tree
