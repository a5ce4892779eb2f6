"""The people in a text: from spans that a finder marked to persons whose every mention can be renamed.

* A span of two people ("Mary and John") is two, and ends before a bracket or a possessive inside it.
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
from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass
from functools import cached_property, lru_cache

from geobias.world.gazetteer import Gazetteer

Span = tuple[int, int]

NEVER_NAMES = re.compile(  # as long as the standards allow: without limits, a word of 100,000 letters takes minutes
    r"(?:https?:|www\.)\S+|[@#＠＃]\w+|[\w.+-]{1,64}@[\w-]+\.\w+|"
    r"\w[\w.-]{0,252}\.(?:com|org|net|edu|gov|io|tv|co|uk|ly)\b\S*"
)
BETWEEN_PEOPLE = re.compile(r"\s+(?:and|y|und|et)\s+|\s*[&/+]\s*")
SPAN_ENDS = re.compile(r"\s*[(\[{]|['’`][sS]?\s")
POSSESSIVE = re.compile(r"['’`][sS]$")
TITLES = frozenset(
    "mr mrs ms miss mx dr doctor crown prof professor sir madam dame lord lady president vice prime minister pm "
    "mp senator sen congressman congresswoman rep governor gov mayor judge justice captain capt colonel col "
    "general gen major maj lieutenant lt sergeant sgt officer rev reverend father fr sister brother pope "
    "archbishop bishop cardinal imam sheikh shaikh rabbi king queen prince princess saint st coach chancellor "
    "secretary ambassador chief uncle aunt auntie aunty".split()
)
INITIALS = re.compile(r"\w(?:\.\w)*")
SHORT = 3  # letters
SUFFIXES = frozenset("jr sr ii iii iv phd md esq".split())


@dataclass(frozen=True)
class Mention:
    """The characters of a text that a name takes the place of, and which parts of a name they are."""

    start: int
    end: int
    parts: tuple[str, ...]  # ("first",), ("last",), ("first", "last")
    case: str  # "upper", "lower", or "" for a name as it is written

    def render(self, first: str, last: str, case: str | None = None) -> str:
        """A new name in the case of this mention, or in `case`."""
        name, case = " ".join(last if part == "last" else first for part in self.parts), case or self.case
        return name.upper() if case == "upper" else name.lower() if case == "lower" else name

    def render_all(self, firsts: list[str], lasts: list[str]) -> Iterable[str]:
        """Many new names, each as `render` gives it."""
        columns = [lasts if part == "last" else firsts for part in self.parts]
        names: Iterable[str] = columns[0] if len(columns) == 1 else map(" ".join, zip(*columns, strict=True))
        return (
            map(str.upper, names) if self.case == "upper" else map(str.lower, names) if self.case == "lower" else names
        )


@dataclass(frozen=True)
class Person:
    """Somebody (or, with places, some place) in a text. `text` is the fullest mention."""

    text: str
    gender: str | None
    mentions: tuple[Mention, ...]

    def has(self, part: str) -> bool:
        return any(part in mention.parts for mention in self.mentions)


def find_people(text: str, spans: Iterable[Span], gazetteer: Gazetteer) -> tuple[Person, ...]:
    """The persons of a text, in the order in which they are first named."""
    names = [read_name(text, span) for span in trim_spans(text, spans)]
    longer = set[str]().union(*(name.folded for name in names if len(name.words) > 1))
    names = [_drop_plural(name, longer, gazetteer) for name in names if not _is_title_alone(name, longer, gazetteer)]
    persons = []
    for group in _group_by_person(names):
        fullest = max(group, key=lambda name: len(name.words))
        mentions = tuple(_mention_person(name, fullest, gazetteer) for name in group)
        first_names = [name.words[0] for name, mention in zip(group, mentions, strict=True) if "first" in mention.parts]
        genders = [gender for word in first_names if (gender := gazetteer.gender(word))]
        whole = text[fullest.words_at[0][0] : fullest.words_at[-1][1]]
        persons.append(Person(whole, genders[0] if genders else None, mentions))
    return tuple(sorted(persons, key=lambda person: person.mentions[0].start))


def trim_spans(text: str, spans: Iterable[Span]) -> list[Span]:
    """One span for each name: without marks and possessives at its ends, and without links, handles and hashtags."""
    never = [match.span() for match in NEVER_NAMES.finditer(text)]
    usable = []
    for start, end in spans:
        links = (first for first, last in never if last > start)
        end = min(end, max(next(links, end), start))  # what stands before a link may be a name
        for piece in _pieces(text, start, end):
            closing = SPAN_ENDS.search(text, piece[0] + 1, piece[1])
            first, last = _trim(text, piece[0], closing.start() if closing else piece[1])
            if first < last:
                usable.append((first, last))
    return usable


def list_name_spans(text: str, span: Span) -> set[Span]:
    """A span without the marks and the possessive at its ends, with and without its titles and suffixes."""
    start, end = _trim(text, *span)
    if start >= end:
        return set()
    words = _words(text, (start, end))
    firsts, lasts = [0], [len(words) - 1]
    while firsts[-1] < len(words) - 1 and _is_title(text, words[firsts[-1]]):
        firsts.append(firsts[-1] + 1)
    while lasts[-1] > 0 and _fold(text, words[lasts[-1]]) in SUFFIXES:
        lasts.append(lasts[-1] - 1)
    return {(words[first][0], words[last][1]) for first in firsts for last in lasts if first <= last}


def _pieces(text: str, start: int, end: int) -> Iterable[Span]:
    for between in BETWEEN_PEOPLE.finditer(text, start, end):
        yield start, between.start()
        start = between.end()
    yield start, end


def _trim(text: str, start: int, end: int) -> Span:
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
class Name:
    """The words of one span that are a name: titles and suffixes are left away."""

    text: str
    words_at: tuple[Span, ...]
    titled: bool = False

    @property
    def words(self) -> list[str]:
        return [self.text[start:end] for start, end in self.words_at]

    @cached_property
    def folded(self) -> frozenset[str]:
        return frozenset(_fold(self.text, span) for span in self.words_at)


def _words(text: str, span: Span) -> tuple[Span, ...]:
    """Where the words of a span stand; an initial keeps its full stop, a title is parted from what it is joined to."""
    positions: list[Span] = []
    for match in re.compile(r"\S+").finditer(text, *span):
        start, end = _trim(text, *match.span())
        title = text[start:end].partition(".")[0]
        if title.casefold() in TITLES and len(title) + 1 < end - start:
            positions.append((start, start + len(title)))
            start, end = _trim(text, start + len(title), end)
        if INITIALS.fullmatch(text, start, end) and text[end : end + 1] == ".":
            end += 1
        if start < end:
            positions.append((start, end))
    return tuple(positions)


def read_name(text: str, span: Span) -> Name:
    positions = list(_words(text, span))
    while len(positions) > 1 and _is_title(text, positions[0]):
        positions.pop(0)
    while len(positions) > 1 and _fold(text, positions[-1]) in SUFFIXES:
        positions.pop()
    return Name(text, tuple(positions), titled=positions[0] != _words(text, span)[0])


def _is_title(text: str, word: Span) -> bool:
    return _fold(text, word).partition("-")[0] in TITLES


def _is_title_alone(name: Name, longer: Set[str], gazetteer: Gazetteer) -> bool:
    """ "The President" is nobody; "Mr Bishop" is somebody, and so is "Major" beside "John Major"."""
    return (
        len(name.words) == 1
        and not name.titled
        and name.folded <= TITLES
        and not name.folded <= longer
        and not gazetteer.is_first(name.words[0])
    )


def _drop_plural(name: Name, longer: Set[str], gazetteer: Gazetteer) -> Name:
    """ "the Obamas" are people called Obama: the s stays where it is."""
    word, (start, end) = name.words[0], name.words_at[0]
    is_plural = len(name.words) == 1 and word[-1:] == "s" and name.text[max(start - 4, 0) : start].casefold() == "the "
    if is_plural and (word[:-1].casefold() in longer or gazetteer.is_last(word[:-1])):
        return Name(name.text, ((start, end - 1),))
    return name


def _fold(text: str, span: Span) -> str:
    return text[slice(*span)].strip(".").casefold()


def _group_by_person(names: Sequence[Name]) -> list[list[Name]]:
    """Names put together that are one person's, each group in the order of the text.

    Longer names come first; a shorter one joins the last person before it whose words include its own, else the
    next one after it ("Barack Obama ... Michelle Obama ... Obama": the last is Michelle).
    """
    groups: list[list[Name]] = []
    for name in sorted(names, key=lambda name: (-len(name.words), name.words_at[0])):
        fitting = [group for group in groups if any(name.folded <= other.folded for other in group)]
        fitting.sort(key=lambda group: group[0].words_at[0])
        before = [group for group in fitting if group[0].words_at[0] < name.words_at[0]]
        if not fitting:
            groups.append([name])
        else:
            (before[-1] if before else fitting[0]).append(name)
    return [sorted(group, key=lambda name: name.words_at[0]) for group in groups]


def _mention_person(name: Name, fullest: Name, gazetteer: Gazetteer) -> Mention:
    if len(fullest.words) > 1:
        is_last = name.folded == {_fold(name.text, fullest.words_at[-1])}
    else:
        is_last = gazetteer.is_last(name.words[0]) and not gazetteer.is_first(name.words[0])
    parts = ("first", "last") if len(name.words) > 1 else ("last",) if is_last else ("first",)
    return Mention(name.words_at[0][0], name.words_at[-1][1], parts, _case(name))


@lru_cache(maxsize=16)  # of a text with many names, once
def _count_letters(text: str) -> tuple[int, int]:
    """How many letters a text has, and how many of them are capitals."""
    letters = [char for char in text if char.isalpha()]
    return len(letters), sum(char.isupper() for char in letters)


def _case(name: Name) -> str:
    """Whether a name is written in capitals or small letters throughout.

    Up to three capitals may be initials (JFK, U.S.): they count only in a text that is written in capitals itself.
    """
    written = name.text[name.words_at[0][0] : name.words_at[-1][1]]
    if written.isupper():
        own_letters, own_capitals = _count_letters(written)
        letters, capitals = _count_letters(name.text)
        shouting = (capitals - own_capitals) * 2 > letters - own_letters
        return "upper" if shouting or own_letters > SHORT else ""
    return "lower" if written.islower() else ""
