"""The people in a text: from spans that a finder marked to persons whose every mention can be renamed.

* A span's title stays ("President Obama"), and so does what follows a name ("Jr."); marks and a possessive 's
  around it stay. Handles, hashtags, links and e-mail addresses are never names.
* Two words or more are a first and a last name; middle names and initials go. A lone word that the gazetteer knows
  as a last name only is a last name, any other a first name.
* Mentions are one person when the words of one are among the other's ("Barack Obama ... Obama"); a lone word is
  then the part that it is of the longer mention.
* A person's gender is that of the first name in the gazetteer; where that does not tell, it is None.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from geobias.world.names import Gazetteer

Span = tuple[int, int]

NEVER_NAMES = re.compile(r"(?:https?:|www\.)\S+|[@#＠＃]\w+|[\w.+-]+@[\w-]+\.\w+")
POSSESSIVE = re.compile(r"['’`][sS]$")
TITLES = frozenset(
    "mr mrs ms miss mx dr doctor prof professor sir madam dame lord lady president vice prime minister pm mp senator "
    "sen congressman congresswoman rep governor gov mayor judge justice captain capt colonel col general gen major maj "
    "lieutenant lt sergeant sgt officer rev reverend father fr sister brother pope archbishop bishop cardinal imam "
    "sheikh shaikh rabbi king queen prince princess saint st coach chancellor secretary ambassador chief uncle aunt "
    "auntie aunty".split()
)
SUFFIXES = frozenset("jr sr ii iii iv phd md esq".split())


@dataclass(frozen=True)
class Mention:
    """The characters of a text that a name takes the place of, and which parts of a name they are."""

    start: int
    end: int
    parts: tuple[str, ...]  # ("first",), ("last",), ("first", "last"); for a place ("city",)
    case: str  # "upper", "lower", or "" for a name as it is written

    def written(self, first: str, last: str) -> str:
        name = " ".join(last if part == "last" else first for part in self.parts)
        return name.upper() if self.case == "upper" else name.lower() if self.case == "lower" else name


@dataclass(frozen=True)
class Person:
    """Somebody (or, with places, some place) in a text. `text` is the fullest mention."""

    text: str
    gender: str | None
    mentions: tuple[Mention, ...]

    def has(self, part: str) -> bool:
        return any(part in mention.parts for mention in self.mentions)


def people(text: str, spans: Iterable[Span], gazetteer: Gazetteer) -> tuple[Person, ...]:
    """The persons of a text, in the order in which they are first named."""
    names = [name for span in spans if (name := _name_words(text, span, gazetteer))]
    persons = []
    for group in _one_person_each(names):
        fullest = max(group, key=lambda name: len(name.words))
        mentions = tuple(_mention(text, name, fullest, gazetteer) for name in group)
        first_names = [name.words[0] for name, mention in zip(group, mentions, strict=True) if "first" in mention.parts]
        genders = [gender for word in first_names if (gender := gazetteer.gender(word))]
        whole = text[fullest.words_at[0][0] : fullest.words_at[-1][1]]
        persons.append(Person(whole, genders[0] if genders else None, mentions))
    return tuple(sorted(persons, key=lambda person: person.mentions[0].start))


def places(text: str, spans: Iterable[Span]) -> tuple[Person, ...]:
    """The places of a text; mentions of one change together as those of a person do."""
    names = [_Name(text, _words(text, span)) for span in usable_spans(text, spans)]
    found = []
    for group in _one_person_each([name for name in names if name.words]):
        fullest = max(group, key=lambda name: len(name.words))
        mentions = tuple(
            Mention(name.words_at[0][0], name.words_at[-1][1], ("city",), _case(text, name)) for name in group
        )
        found.append(Person(text[fullest.words_at[0][0] : fullest.words_at[-1][1]], None, mentions))
    return tuple(sorted(found, key=lambda place: place.mentions[0].start))


def usable_spans(text: str, spans: Iterable[Span]) -> list[Span]:
    """Spans without the marks and possessives at their ends; none that lies in a link, a handle or a hashtag."""
    never = [match.span() for match in NEVER_NAMES.finditer(text)]
    usable = []
    for start, end in spans:
        if any(start < stop and begin < end for begin, stop in never):
            continue
        start, end = _trimmed(text, start, end)
        if start < end:
            usable.append((start, end))
    return usable


def _trimmed(text: str, start: int, end: int) -> Span:
    possessive = POSSESSIVE.search(text, start, end) if end - start > 2 else None
    end = possessive.start() if possessive else end
    while start < end and not _in_word(text[start]):
        start += 1
    while start < end and not _in_word(text[end - 1]):
        end -= 1
    return start, end


def _in_word(char: str) -> bool:
    """Letters, digits, and the vowel signs of scripts that write them as marks."""
    return char.isalnum() or unicodedata.category(char).startswith("M")


@dataclass(frozen=True)
class _Name:
    """The words of one span that are a name: titles and suffixes are left away."""

    text: str
    words_at: tuple[Span, ...]

    @property
    def words(self) -> list[str]:
        return [self.text[start:end] for start, end in self.words_at]

    @property
    def folded(self) -> frozenset[str]:
        return frozenset(word.casefold() for word in self.words)


def _words(text: str, span: Span) -> tuple[Span, ...]:
    found = (_trimmed(text, *match.span()) for match in re.compile(r"\S+").finditer(text, *span))
    return tuple((start, end) for start, end in found if start < end)


def _name_words(text: str, span: Span, gazetteer: Gazetteer) -> _Name | None:
    usable = usable_spans(text, [span])
    if not usable:
        return None
    at = list(_words(text, usable[0]))
    while len(at) > 1 and _folded(text, at[0]) in TITLES:
        at.pop(0)
    while len(at) > 1 and _folded(text, at[-1]) in SUFFIXES:
        at.pop()
    is_title_alone = len(at) == 1 and _folded(text, at[0]) in TITLES and not gazetteer.is_first(text[slice(*at[0])])
    return None if not at or is_title_alone else _Name(text, tuple(at))


def _folded(text: str, span: Span) -> str:
    return text[slice(*span)].casefold()


def _one_person_each(names: Sequence[_Name]) -> list[list[_Name]]:
    """Names put together that are one person's, each group in the order of the text.

    Longer names come first; a shorter one joins the last person before it whose words include its own, else the
    next one after it ("Barack Obama ... Michelle Obama ... Obama": the last is Michelle).
    """
    groups: list[list[_Name]] = []
    for name in sorted(names, key=lambda name: (-len(name.words), name.words_at[0])):
        start = name.words_at[0][0]
        mine = [group for group in groups if any(name.folded <= other.folded for other in group)]
        before = [group for group in mine if group[0].words_at[0][0] < start]
        if before:
            max(before, key=lambda group: group[0].words_at[0][0]).append(name)
        elif mine:
            min(mine, key=lambda group: group[0].words_at[0][0]).append(name)
        else:
            groups.append([name])
    return [sorted(group, key=lambda name: name.words_at[0]) for group in groups]


def _mention(text: str, name: _Name, fullest: _Name, gazetteer: Gazetteer) -> Mention:
    start, end = name.words_at[0][0], name.words_at[-1][1]
    if len(name.words) > 1:
        parts: tuple[str, ...] = ("first", "last")
    elif len(fullest.words) > 1:
        parts = ("last",) if name.words[0].casefold() == fullest.words[-1].casefold() else ("first",)
    else:
        only_last = gazetteer.is_last(name.words[0]) and not gazetteer.is_first(name.words[0])
        parts = ("last",) if only_last else ("first",)
    return Mention(start, end, parts, _case(text, name))


def _case(text: str, name: _Name) -> str:
    """Whether a name is written in capitals or small letters throughout; an initial tells nothing."""
    written = text[name.words_at[0][0] : name.words_at[-1][1]]
    letters = sum(char.isalpha() for char in written)
    return "upper" if written.isupper() and letters > 1 else "lower" if written.islower() else ""
