"""Doubtful spans: what a finder marks as a person although the words themselves speak against it.

A finder marks "Stupidly", "Parisian" or "blah", and renaming them makes nonsense. The rules look at the words of a
span and at their neighbours. They use names (the gazetteer), common English words and nationalities. A word that the
gazetteer has as a name is doubtful only where the context does not support the name. Titles of films, brands and
places look like names, and no rule tells them.
"""

from __future__ import annotations

import lzma
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources

from geobias.texts.people import NEVER_NAMES, SHORT, SUFFIXES, TITLES, Span, read_name, trim_spans
from geobias.world.gazetteer import Gazetteer

NO_LETTER = "no letter in it"
TITLE = "a title without a name"
STRETCHED = "stretched or repeated letters"
INTERJECTION = "an interjection or a form of address"
NATIONALITY = "a nationality, religion or party"
ORGANISATION = "part of the name of an organisation or a place"
LOWER_CASE = "in lower case, more likely a word"
COMMON_WORD = "a common English word"
REASONS = (NO_LETTER, TITLE, STRETCHED, INTERJECTION, NATIONALITY, ORGANISATION, LOWER_CASE, COMMON_WORD)

ARTICLES = frozenset("a an the no this these some".split())
INTERJECTIONS = frozenset(
    "ahh amen aww babe bae blah brah bro bros bruh coulda dad daddy damn dude god gods gonna gotta haha hello hey hi "
    "hmm lmao lol mama mom mommy mum mummy nope ok okay omg papa please sis thanx thx ugh wanna woulda wow yeah yep "
    "yes".split()
)
ORGANISATIONS = frozenset(  # as the last word of a name
    "academy airport association avenue award awards bridge building castle cathedral center centre championship "
    "championships church city club college company corp council county court cup department distr district estate "
    "festival foundation gardens group hall hospital hotel inc institute interchange library ltd mall market memorial "
    "museum party plc prize rebellion records republic restaurant road school square stadium station store street "
    "studios theater theatre tower trophy united university valley village".split()
)
REPEATED_SYLLABLE = re.compile(r"^(\w{2,}?)\1{2}|(\w{2,}?)\2{3}", re.IGNORECASE)
LETTER_RUN = re.compile(r"([^\W\d_])\1{2,}", re.IGNORECASE)
BEFORE_SENTENCE = re.compile(r"(?:^|[.!?:;…\n]|[@#]\w+|\bRT)[\s\"'“‘(*]*$")
PREVIOUS_WORD = re.compile(r"([^\W\d_]+)\s+$")
NEXT_WORD = re.compile(r"\s+([^\W\d_]+)")
LOWER_CASE_WORD = re.compile(r"(?<![\w'’])[^\W\d_A-Z]{3,}(?![\w'’])")  # the list has no shorter ones
ENOUGH_WORDS = 4
NEIGHBOURHOOD = 40  # characters before and after a span that may hold the neighbouring word
ENDINGS = (  # of a word that is derived from another, and what that other has in their place
    ("ies", "y"), ("es", ""), ("es", "e"), ("s", ""), ("ied", "y"), ("ed", ""), ("ed", "e"), ("ing", ""), ("ing", "e"),
    ("ily", "y"), ("ly", ""), ("ly", "le"), ("ness", ""),
)  # fmt: skip
SHORTEST_STEM = 3


@dataclass(frozen=True)
class DoubtfulSpan:
    """A span that is probably no person, and why."""

    start: int
    end: int
    reason: str


def sort_spans(text: str, spans: Iterable[Span], gazetteer: Gazetteer) -> tuple[list[Span], list[DoubtfulSpan]]:
    """Split a finder's spans into clear and doubtful ones, one span for each name.

    A word of a clear longer name in the same text is clear too ("Will Young ... Young").
    """
    reasons = {span: find_doubt(text, span, gazetteer) for span in trim_spans(text, spans)}
    clear_names = [read_name(text, span) for span, reason in reasons.items() if reason is None]
    longer = frozenset[str]().union(*(name.folded for name in clear_names if len(name.words) > 1))
    doubtful = [
        DoubtfulSpan(*span, reason)
        for span, reason in reasons.items()
        if reason is not None and not read_name(text, span).folded <= longer
    ]
    doubtful_ends = {(span.start, span.end) for span in doubtful}
    return [span for span in reasons if span not in doubtful_ends], doubtful


def find_doubt(text: str, span: Span, gazetteer: Gazetteer) -> str | None:
    """Return why a trimmed span is doubtful, one of `REASONS`, or None."""
    name = read_name(text, span)
    words = [word.strip(".") for word in name.words]
    is_known = [_is_name(word, gazetteer) for word in words]
    folded = [word.casefold() for word in words]
    if not any(char.isalpha() for word in words for char in word):
        return NO_LETTER
    if name.folded <= TITLES and not any(is_known):
        return TITLE
    if all(_is_stretched(word, gazetteer) for word in words):
        return STRETCHED
    if _is_in_organisation(text, span, words, gazetteer):
        return ORGANISATION
    if name.titled:
        return None  # "Mr. Brown"
    if all(word in INTERJECTIONS for word in folded):
        return INTERJECTION
    follows_article = _previous_word(text, span).casefold() in ARTICLES
    if all(word in _nationalities() or word.removesuffix("s") in _nationalities() for word in folded):
        return None if any(is_known) and not follows_article else NATIONALITY  # "Christian", but not "a Christian"
    if all(map(str.islower, words)):
        is_noun = follows_article and len(words) == 1 and not gazetteer.is_first(words[0])
        return LOWER_CASE if is_noun or _is_lower_case_word(text, words, is_known) else None
    if len(words) > 1:
        is_name = gazetteer.is_first(words[0]) or gazetteer.is_last(words[-1])
        return COMMON_WORD if not is_name and all(_is_common(word) or _is_starred(word) for word in folded) else None
    if is_known[0]:
        return COMMON_WORD if folded[0] in _common_words() and not _has_own_capital(text, span) else None
    return COMMON_WORD if _is_common(folded[0]) else None


def _is_name(word: str, gazetteer: Gazetteer) -> bool:
    return gazetteer.is_first(word) or gazetteer.is_last(word)


def _is_stretched(word: str, gazetteer: Gazetteer) -> bool:
    """ "Pleaseee", "hahaha"; but not "III", and not "Marioooo"."""
    plain_forms = [LETTER_RUN.sub(run, word) for run in (r"\1", r"\1\1")]
    if word.casefold() in SUFFIXES or any(len(form) > SHORT and _is_name(form, gazetteer) for form in plain_forms):
        return False
    return bool(LETTER_RUN.search(word) or REPEATED_SYLLABLE.search(word))


def _is_in_organisation(text: str, span: Span, words: Sequence[str], gazetteer: Gazetteer) -> bool:
    """ "Harvey Mudd College", "Fred Hollows" before "Foundation"; but not "Peter Hall"."""
    last, following = words[-1], _next_word(text, span)
    ends_so = len(words) > 1 and last.casefold() in ORGANISATIONS and not gazetteer.is_last(last)
    return ends_so or (following[:1].isupper() and following.casefold() in ORGANISATIONS)


def _is_lower_case_word(text: str, words: Sequence[str], is_known: Sequence[bool]) -> bool:
    """Whether words in lower case are more likely words than names.

    People who type carelessly write names in lower case too. A word that no list has is therefore doubtful only in a
    text that begins with a capital and ends with a mark, or that is not in English.
    """
    if any(char.isdigit() for word in words for char in word):
        return True
    if any(is_known):  # by the list only: "Sayed" is no form of "say"
        return all(word in _common_words() or f"{word}*" in _common_words() for word in words)
    is_word = any(_is_common(word) or _is_starred(word) for word in words) or words[-1].endswith("ly")
    return is_word or _is_careful(text) or not is_english(text)


def _is_careful(text: str) -> bool:
    """Whether a text begins with a capital and ends with a mark, handles and links aside."""
    plain = NEVER_NAMES.sub("", text).strip(" \"'“”‘’:")
    return plain[:1].isupper() and plain[-1] in ".!?"


def is_english(text: str) -> bool:
    """Whether half of a text's words in lower case are on the list; true of texts with too few to tell."""
    common, words = count_common_words(text)
    return words < ENOUGH_WORDS or 2 * common >= words


def count_common_words(text: str) -> tuple[int, int]:
    """How many of a text's words in lower case are on the list, and how many there are; handles and links aside."""
    words = LOWER_CASE_WORD.findall(NEVER_NAMES.sub("", text))
    return sum(map(_is_common, words)), len(words)


def _has_own_capital(text: str, span: Span) -> bool:
    """Whether the capital of a word is not just the sentence's: "met Young", "Young Smith", but not "Young and old"."""
    before = text[max(span[0] - NEIGHBOURHOOD, 0) : span[0]]
    return _next_word(text, span)[:1].isupper() or not BEFORE_SENTENCE.search(before)


def _previous_word(text: str, span: Span) -> str:
    previous = PREVIOUS_WORD.search(text[max(span[0] - NEIGHBOURHOOD, 0) : span[0]])
    return previous[1] if previous else ""


def _next_word(text: str, span: Span) -> str:
    following = NEXT_WORD.match(text, span[1], span[1] + NEIGHBOURHOOD)
    return following[1] if following else ""


def stems(word: str) -> Iterator[str]:
    """The word, and words that it may be derived from."""
    yield word
    for ending, original in ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= SHORTEST_STEM:
            yield word.removesuffix(ending) + original


def _is_common(word: str) -> bool:
    return any(stem in _common_words() for stem in stems(word))


def _is_starred(word: str) -> bool:
    """Whether it is a word where it is written in lower case, and often a name where it is not."""
    return any(f"{stem}*" in _common_words() for stem in stems(word))


@cache
def _common_words() -> frozenset[str]:
    packed = resources.files("geobias.texts").joinpath("data/common_words.txt.xz").read_bytes()
    return frozenset(lzma.decompress(packed).decode().split())


@cache
def _nationalities() -> frozenset[str]:
    listed = resources.files("geobias.texts").joinpath("data/nationalities.txt").read_text(encoding="utf-8")
    return frozenset(listed.casefold().split())
