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

**Split** into names to mitigate with, and names to test a mitigation with. The split depends on the spelling alone, so
that a saved model and a later audit agree on it:

* The bundled finder was trained on tweets with names of the bundled lists, except a fixed fifth of them (`is_held_out`
  in recipes/entities/augment.py). The same rule, applied here, separates the two; no list is needed. This fifth is
  never used to mitigate: a model that relies on the finder is tested with names that the finder has not seen.
* Of all other names, a random half is used to mitigate.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
import zlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache, cached_property
from pathlib import Path
from typing import ClassVar

from geobias.checks import check_name, describe_choices, shorten
from geobias.errors import InputError
from geobias.files import parse_named_rows, read_text
from geobias.world import read_rows
from geobias.world.countries import find_country, fold_country, load_country_names, match_country

KINDS = ("male", "female", "last")
ENOUGH = 15  # names of a kind; with fewer, a few names would stand for a country
NO_NAMES = "geobias has no names for {country}. Remove it, or add your own names with --gazetteer."
PAPER_COUNTRIES = tuple("GB IE US CA AU NZ ZA IN DE FR ES IT PT HU PL TR MA".split())

# Entries of the lists that are not names.
NOT_NAMES = frozenset(("Ankita yadav mean", "Secretary", "Lauw-Sim-Zecha family", "นามสกุล"))

Lists = Mapping[tuple[str, str], tuple[str, ...]]


@dataclass(frozen=True, eq=False)
class Gazetteer:
    """Names by country and kind, most common first. A country is its ISO code, or its name where it has none."""

    kinds: ClassVar[tuple[str, ...]] = KINDS
    scripts: str
    display: Mapping[str, str]  # names of the countries by code
    lists: Lists  # by (code, kind), cleaned, in all scripts
    absence: str = NO_NAMES  # the error for a country that is not in the lists

    def __post_init__(self) -> None:
        if self.scripts not in ("latin", "all"):
            raise InputError(f"Unknown --scripts {self.scripts!r}. {describe_choices(self.scripts, ('latin', 'all'))}")

    @cached_property
    def codes(self) -> tuple[str, ...]:
        """The codes of all countries, in the alphabetical order of their names."""
        return tuple(sorted(self.display, key=lambda code: fold_country(self.display[code])))

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
        return find_country(text, self.display, self.absence)

    def names(self, code: str, kind: str) -> tuple[str, ...]:
        """The country's names of that kind in the selected scripts."""
        return self._available[code, kind]

    def find_short_lists(self, code: str, fewest: int = ENOUGH) -> list[tuple[str, int]]:
        """The kinds of which the country has fewer than `fewest` names left, and how many it has."""
        return [(kind, count) for kind in self.kinds if (count := len(self.names(code, kind))) < fewest]

    def select(self, keep: Callable[[str], bool]) -> Gazetteer:
        """The same countries with only the names that `keep` accepts."""
        return replace(self, lists={key: tuple(filter(keep, names)) for key, names in self.lists.items()})

    def gender(self, first: str) -> str | None:
        """Whether a first name is "male" or "female"; of a name that is both, the kind in which it ranks better.

        The rank is the best over all countries. None where the ranks are equal, or the name is unknown.
        """
        male, female = (self._ranks[kind].get(_fold_name(first), float("inf")) for kind in ("male", "female"))
        return "male" if male < female else "female" if female < male else None

    def is_first(self, word: str) -> bool:
        """Whether the word is a first name anywhere."""
        return _fold_name(word) in self._ranks["male"] or _fold_name(word) in self._ranks["female"]

    def is_last(self, word: str) -> bool:
        """Whether the word is a last name anywhere."""
        return _fold_name(word) in self._ranks["last"]

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


@cache
def load_gazetteer(scripts: str = "latin") -> Gazetteer:
    """The bundled names, in Latin script or in all scripts."""
    return Gazetteer(scripts, *_bundled_names())


def read_gazetteer(path: Path, scripts: str = "latin") -> Gazetteer:
    """The user's names: a table (commas, semicolons or tabs) with the columns country, kind and name, in order of rank.

    A country is a code or a name of a country of GeoNames, or anything else, which then stands for itself.
    """
    known, other_codes = load_country_names(), dict[str, str]()
    display: dict[str, str] = {}
    names: dict[tuple[str, str], list[str]] = defaultdict(list)
    title = f"The name file {path}"
    for line, row in parse_named_rows(read_text(path, "name file"), title, ["country", "kind", "name"]):
        country, kind, name = row["country"], row["kind"].lower(), row["name"]
        if kind not in KINDS:
            raise InputError(f"{title} has the kind {shorten(kind)!r} in line {line}. Use male, female or last.")
        for cell in (country, name):
            check_name(cell, f"{title}, line {line}")
        if not country or not any(map(str.isalpha, clean_name(name, kind))):
            raise InputError(f"{title} has no country or no name in line {line}. Fill in both.")
        code = match_country(country) or other_codes.setdefault(country.casefold(), country)
        display[code] = known.get(code, code)
        names[code, kind].append(name)
    if not names:
        raise InputError(f"{title} has no names. Add one line per name.")
    absence = f"{title} has no names for {{country}}. Add one line per name, or remove the country."
    return Gazetteer(scripts, display, _clean_lists(display, names), absence=absence)


@cache
def _bundled_names() -> tuple[Mapping[str, str], Lists]:
    display, names, _ = _read_bundled_names()
    return display, _clean_lists(display, names)


@cache
def load_name_counts() -> Mapping[str, int]:
    """How often 24,000 articles of the English Wikipedia have each bundled name, cleaned; 0 for those that none has."""
    _, names, counts = _read_bundled_names()
    return {
        clean_name(name, kind): int(count)
        for (code, kind), listed in names.items()
        for name, count in zip(listed, counts[code, kind].split("|"), strict=True)
    }


def list_spellings() -> Iterator[tuple[str, str]]:
    """Every name of the bundled lists: cleaned, and as the source writes it."""
    for (_, kind), names in _read_bundled_names()[1].items():
        yield from ((clean_name(name, kind), name) for name in names)


@cache
def _read_bundled_names() -> tuple[
    Mapping[str, str], Mapping[tuple[str, str], list[str]], Mapping[tuple[str, str], str]
]:
    """Names of countries by code, the names of their people as the source writes them, and their counts, packed."""
    display: dict[str, str] = {}
    names: dict[tuple[str, str], list[str]] = {}
    counts: dict[tuple[str, str], str] = {}
    for code, country, kind, listed, counted in read_rows("names.tsv.xz"):
        display[code or country] = country
        names[code or country, kind], counts[code or country, kind] = listed.split("|"), counted
    return display, names, counts


def _clean_lists(codes: Iterable[str], names: Mapping[tuple[str, str], list[str]]) -> Lists:
    """Cleaned names of every country and kind, in their order and each once; a kind may have none."""
    return {
        (code, kind): tuple(
            name
            for name in dict.fromkeys(clean_name(name, kind) for name in names.get((code, kind), ()))
            if name not in NOT_NAMES
        )
        for code in codes
        for kind in KINDS
    }


def clean_name(name: str, kind: str) -> str:
    form = re.split("[(/,]", name, maxsplit=1)[0].strip()
    if form.isupper() and len(form) > 2 and is_latin(form):
        form = form.title()
    return form if kind == "last" else form[:1].title() + form[1:]


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


FEWEST_NAMES = 5  # of a kind: of 15 names, which is all that some countries have, a fifth is 3
WORD = re.compile(r"[^\W_]+")
STROKES = str.maketrans("øłđı", "oldi")  # letters that Unicode does not decompose
LAST_LATIN = 0x250  # the recipe took names of Basic Latin to Latin Extended-B only


def select_unseen(gazetteer: Gazetteer) -> Gazetteer:
    """The same countries with only those names that the training of the bundled finder did not use."""
    return gazetteer.select(lambda name: name.casefold() not in _list_training_names())


def select_for_mitigation(gazetteer: Gazetteer) -> Gazetteer:
    """The same countries with only those names that mitigation may use."""
    return gazetteer.select(is_for_mitigation)


def select_held_out(gazetteer: Gazetteer) -> Gazetteer:
    """The same countries with only those names that mitigation never uses."""
    return gazetteer.select(lambda name: not is_for_mitigation(name))


@cache
def is_for_mitigation(name: str) -> bool:
    """Whether mitigation may use a name. Spellings that differ in case or accents are on the same side."""
    folded = _fold(name)
    is_in_half = hashlib.blake2b(folded.encode(), digest_size=1).digest()[0] % 2 == 0
    return is_in_half and folded not in _list_unseen_spellings()


def drop_names_in_texts(gazetteer: Gazetteer, texts: Iterable[str]) -> Gazetteer:
    """The same countries without the names all of whose words occur in the texts, regardless of case and accents."""
    used_words = {word for text in texts for word in list_words(text)}
    return gazetteer.select(lambda name: not used_words.issuperset(list_words(name)))


def list_words(text: str) -> list[str]:
    """The words of a text or a name, without regard to case and accents."""
    return WORD.findall(_fold(text))


def _fold(name: str) -> str:
    decomposed = unicodedata.normalize("NFKD", name.casefold().replace("’", "'").translate(STROKES))
    return "".join(char for char in decomposed if not unicodedata.combining(char))


@cache
def _list_unseen_spellings() -> frozenset[str]:
    return frozenset(_fold(name) for name, _ in list_spellings() if name.casefold() not in _list_training_names())


@cache
def _list_training_names() -> frozenset[str]:
    """A name that the source spells in several ways was used if one of the spellings was."""
    return frozenset(name.casefold() for name, spelling in list_spellings() if _was_in_training(spelling))


def _was_in_training(spelling: str) -> bool:
    is_latin = all(ord(letter) < LAST_LATIN or not letter.isalpha() for letter in spelling)
    return is_latin and zlib.crc32(spelling.lower().encode()) % 5 != 0
