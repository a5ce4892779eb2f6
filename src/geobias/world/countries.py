"""Countries as users write them: ISO codes, English names and common other names, turned into ISO 3166 alpha-2 codes.

Every audit resolves countries here, so that "USA", "us" and "United States of America" mean the same everywhere. The
countries are those of GeoNames (CC BY 4.0), in data/countries.tsv, without a statement about sovereignty; the other
names are in data/country_aliases.tsv.

**Shapes** of the countries, and where to put a mark for those too small to have one: Natural Earth's at 1:50 million
(public domain), as the TopoJSON file of world-atlas. Its borders are those of the source, not a statement about
sovereignty. Antarctica and the islands around it are left out: the tree of regions has no people there to ask about.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from geobias.checks import describe_choices, shorten, suggest
from geobias.errors import InputError
from geobias.world import read_data, read_rows

HELP = "Use a code (FR, FRA) or an English name (France)."
CONTINENTS = {"AF": "Africa", "AS": "Asia", "EU": "Europe", "NA": "North America", "OC": "Oceania"}
CONTINENTS |= {"SA": "South America", "AN": "Antarctica"}
ANTARCTIC = "AN"  # where nobody lives
MOST_SUGGESTIONS = 3

# Countries of GeoNames that no longer exist, with the year they ended. They are in the tree of regions, as in HERB's,
# but no audit names one in its headline unless the user asks for it.
DISSOLVED = {"AN": 2010, "CS": 2006}  # Netherlands Antilles; Serbia and Montenegro

# The 193 members of the United Nations and its two observer states (un.org, "Member States" and "Non-member States").
# Findings name these first: other entries of GeoNames are mostly territories, and small islands lead many rankings.
UN_STATES = frozenset(
    (
        "AD AE AF AG AL AM AO AR AT AU AZ BA BB BD BE BF BG BH BI BJ BN BO BR BS BT BW BY BZ CA CD CF CG CH "
        "CI CL CM CN CO CR CU CV CY CZ DE DJ DK DM DO DZ EC EE EG ER ES ET FI FJ FM FR GA GB GD GE GH GM GN "
        "GQ GR GT GW GY HN HR HT HU ID IE IL IN IQ IR IS IT JM JO JP KE KG KH KI KM KN KP KR KW KZ LA LB LC "
        "LI LK LR LS LT LU LV LY MA MC MD ME MG MH MK ML MM MN MR MT MU MV MW MX MY MZ NA NE NG NI NL NO NP "
        "NR NZ OM PA PE PG PH PK PL PS PT PW PY QA RO RS RU RW SA SB SC SD SE SG SI SK SL SM SN SO SR SS ST "
        "SV SY SZ TD TG TH TJ TL TM TN TO TR TT TV TZ UA UG US UY UZ VA VC VE VN VU WS YE ZA ZM ZW"
    ).split()
)

# Names that several countries share.
AMBIGUOUS = {"congo": ("CD", "CG"), "korea": ("KP", "KR"), "virgin islands": ("VG", "VI")}

# Names that are not countries of GeoNames, with the country to suggest instead.
PARTS = dict.fromkeys(("england", "scotland", "wales", "northern ireland"), "GB")
FORMER = {
    "czechoslovakia": ("CZ", "SK"),
    "east germany": ("DE",),
    "soviet union": ("RU", "UA", "KZ"),
    "ussr": ("RU", "UA", "KZ"),
    "yugoslavia": ("RS", "HR", "BA"),
}

# "Republic of ...", "Islamic Republic of ...", "Kingdom of ...". Not "State of ...": Georgia is one of the US, too.
_TITLE = re.compile(
    r"(?:\w+ )*(?:republic|kingdom|sultanate|principality|commonwealth|union|grand duchy) of "
    r"|(?:plurinational|independent) state of |federated states of "
)
_INVERTED = re.compile(r"(?P<name>[^,(]+)[,(](?P<title>[^,()]+)\)?\s*")


class CountryEntry(NamedTuple):
    """A country as GeoNames lists it; the number is ISO 3166's, empty for two that have none."""

    iso3: str
    number: str
    name: str
    continent: str
    capital: str
    population: int
    point: tuple[float, float] | None  # longitude and latitude of its largest city


class City(NamedTuple):
    id: str
    name: str
    country: str


@cache
def load_entries() -> dict[str, CountryEntry]:
    """The countries of GeoNames by code."""
    entries = {}
    for code, iso3, number, name, continent, capital, population, *place in read_rows("countries.tsv"):
        point = (float(place[0]), float(place[1])) if place[0] else None
        entries[code] = CountryEntry(iso3, number, name, continent, capital, int(population), point)
    return entries


@cache
def load_cities() -> tuple[City, ...]:
    """Cities of 15,000 people or more, by country, the largest of each first."""
    return tuple(City(*row) for row in read_rows("cities.tsv.xz"))


@cache
def load_country_names() -> dict[str, str]:
    """The names of all countries of GeoNames by code."""
    return {code: entry.name for code, entry in load_entries().items()}


def match_country(text: str) -> str | None:
    """Return the code of a country given by code (two or three letters) or name; None if it is none, or ambiguous.

    Case, accents, punctuation, "the" and titles such as "Republic of" do not matter.
    """
    code = _load_codes().get(re.sub(r"[\s.]", "", text).casefold())
    return code or next(filter(None, map(_load_names().get, _list_forms(text))), None)


def find_country(text: str, available: Mapping[str, str], absence: str) -> str:
    """Return the code of the country that a user names, if it is one of those that an audit has.

    `available` has the audit's countries, names by code: a list of the user's may have entries that are no countries of
    GeoNames. `absence` is the error for a country that the audit lacks: what to do, with {country} for its name and
    code. An unknown or ambiguous name is refused, with suggestions where there are any.
    """
    if code := _match_available(text, available):
        return code
    candidates = [code] if (code := match_country(text)) else _list_candidates(text)
    matches = [code for code in candidates if code in available]
    if len(matches) == 1:
        return matches[0]
    if matches:
        raise InputError(f"The country {text!r} is ambiguous. Use {_join(_label(matches, available))}.")
    if candidates:
        raise InputError(absence.replace("{country}", _join(_label(candidates, load_country_names()))))
    hint = explain_unknown(text, available) or HELP
    raise InputError(f"Unknown country {shorten(text)!r}. {hint}")


def explain_unknown(text: str, available: Mapping[str, str]) -> str:
    """Say what a user could mean by an unknown country; empty if nothing is near."""
    for form in _list_forms(text):
        if PARTS.get(form) in available:
            return f"It is part of {_join(_label([PARTS[form]], available))}. Use {PARTS[form]}."
        if successors := [code for code in FORMER.get(form, ()) if code in available]:
            return f"It no longer exists. Use a country of today, such as {_join(_label(successors, available))}."
    names = {name: code for name, code in _load_names().items() if code in available}
    names |= {fold_country(name): code for code, name in available.items()}
    near = dict.fromkeys(names[name] for name in suggest(fold_country(text), names, most=MOST_SUGGESTIONS))
    return f"Did you mean {_join(_label(near, available))}?" if near else ""


def find_continent(text: str, available: Mapping[str, str]) -> str:
    """Return the code of a continent given by code or name; raise InputError for another text."""
    if code := _match_available(text, available):
        return code
    raise InputError(f"Unknown continent {shorten(text)!r}. {describe_choices(text, _label(available, available))}")


def fold_country(text: str) -> str:
    """A name as it is compared: without case, accents, punctuation and "the", and with "Saint" for "St."."""
    letters = "".join(char for char in unicodedata.normalize("NFKD", text) if not unicodedata.combining(char))
    letters = re.sub(r"['’`ʻ.]", "", letters.casefold()).replace("&", " and ")
    words = re.sub(r"[\W_]+", " ", letters).split()
    return " ".join("saint" if word == "st" else word for word in words if word != "the")


def _match_available(text: str, available: Mapping[str, str]) -> str | None:
    """The code of an audit's country by its own code or name; the exact spelling comes first."""
    exact, folded = text.strip().casefold(), fold_country(text)
    for code, name in available.items():
        if exact in (code.casefold(), name.casefold()):
            return code
    return next((code for code, name in available.items() if folded and folded == fold_country(name)), None)


def _list_candidates(text: str) -> list[str]:
    """The codes of the countries that share a name."""
    return next((list(AMBIGUOUS[form]) for form in _list_forms(text) if form in AMBIGUOUS), [])


def _list_forms(text: str) -> list[str]:
    """The folded forms of a name: as written, the right way round ("Iran, Islamic Republic of"), without its title."""
    forms = [fold_country(text)]
    if inverted := _INVERTED.fullmatch(text):
        forms.append(fold_country(f"{inverted['title']} {inverted['name']}"))
    return [*forms, *(_TITLE.sub("", form, count=1) for form in forms if _TITLE.match(form))]


@cache
def _load_codes() -> dict[str, str]:
    return {code.casefold(): alpha2 for alpha2, entry in load_entries().items() for code in (alpha2, entry.iso3)}


@cache
def _load_names() -> dict[str, str]:
    """Codes by every folded name: the other names, then GeoNames' own, which take precedence."""
    aliases = {
        fold_country(name): code for code, names in read_rows("country_aliases.tsv") for name in names.split(";")
    }
    return aliases | {fold_country(name): code for code, name in load_country_names().items()}


def _label(codes: Iterable[str], names: Mapping[str, str]) -> list[str]:
    return [f"{names[code].strip()} ({code})" for code in sorted(codes)]


def _join(labels: list[str]) -> str:
    return " or ".join([", ".join(labels[:-1]), labels[-1]]) if len(labels) > 1 else labels[0]


WITHOUT_NUMBER = {"Kosovo": "XK"}  # the source has no ISO number for it


@dataclass(frozen=True)
class CountryShape:
    """One shape of the map: its outlines in degrees (longitude, latitude), and the country's code where it has one."""

    code: str | None
    name: str
    rings: list[np.ndarray] = field(repr=False)

    @property
    def area(self) -> float:
        """Roughly, in square degrees at the equator; holes count against it, since they run the other way."""
        return abs(sum(_signed_area(ring) for ring in self.rings))


@dataclass(frozen=True)
class Country:
    """A country of GeoNames: where it lies, and a point that stands for it (its largest city, else its middle)."""

    code: str
    name: str
    continent: str
    continent_name: str
    area: float  # of its shapes; 0 for a country without one
    point: tuple[float, float] | None  # longitude, latitude


@cache
def load_topology() -> dict[str, Any]:
    """The TopoJSON file: arcs that neighbours share, and for each country which arcs are its outline."""
    return dict(json.loads(read_data("countries-50m.topo.json.xz")))


@cache
def load_shapes() -> tuple[CountryShape, ...]:
    """Every shape of the map; those of disputed places (Somaliland, Northern Cyprus, ...) have no code."""
    known = load_entries()
    by_number = {entry.number: code for code, entry in known.items() if entry.number}
    arcs = _decode_arcs(load_topology())
    shapes = []
    for geometry in load_topology()["objects"]["countries"]["geometries"]:
        name = geometry["properties"]["name"]
        code = by_number.get(geometry.get("id", "")) or WITHOUT_NUMBER.get(name)
        if code is None or known[code].continent != ANTARCTIC:
            shapes.append(CountryShape(code, name, _rings(geometry, arcs)))
    return tuple(shapes)


@cache
def load_countries() -> dict[str, Country]:
    """The countries of GeoNames by their ISO codes, Antarctica aside."""
    areas: dict[str, float] = defaultdict(float)
    points: dict[str, tuple[float, float]] = {}
    for shape in load_shapes():
        if shape.code is not None:
            areas[shape.code] += shape.area
            middle = max(shape.rings, key=lambda ring: abs(_signed_area(ring))).mean(axis=0)
            points.setdefault(shape.code, (float(middle[0]), float(middle[1])))
    return {
        code: Country(
            code, entry.name, entry.continent, CONTINENTS[entry.continent], areas[code], entry.point or points.get(code)
        )
        for code, entry in load_entries().items()
        if entry.continent != ANTARCTIC
    }


def _decode_arcs(content: dict[str, Any]) -> list[np.ndarray]:
    """TopoJSON stores each point as its distance from the one before, in whole steps of a grid."""
    scale, start = (np.array(content["transform"][key]) for key in ("scale", "translate"))
    return [np.cumsum(np.array(arc), axis=0) * scale + start for arc in content["arcs"]]


def _rings(geometry: dict[str, Any], arcs: list[np.ndarray]) -> list[np.ndarray]:
    """The closed outlines of a shape: arcs put end to end, those with a negative number (~i) run backwards.

    An outline that crosses 180 degrees goes on beyond it (Russia ends at 190), so that it stays one closed line.
    """
    polygons = [geometry["arcs"]] if geometry["type"] == "Polygon" else geometry["arcs"]
    rings = []
    for outline in (outline for polygon in polygons for outline in polygon):
        parts = [arcs[i] if i >= 0 else arcs[~i][::-1] for i in outline]
        ring = np.concatenate([parts[0], *(part[1:] for part in parts[1:])])
        ring[:, 0] = np.unwrap(ring[:, 0], period=360)
        rings.append(ring)
    return rings


def _signed_area(ring: np.ndarray) -> float:
    """The area inside a closed line (the shoelace formula), with degrees of longitude as short as they are there."""
    x, y = ring.T
    flat = (x[:-1] * y[1:] - x[1:] * y[:-1]).sum() / 2
    return float(flat * np.cos(np.radians(y.mean())))
