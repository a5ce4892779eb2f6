"""How the names of the gazetteer are split: names to mitigate with, and names to test a mitigation with.

The split depends on the spelling alone, so that a saved model and a later audit agree on it:

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
from collections.abc import Iterable
from functools import cache

from geobias.world.gazetteer import Gazetteer, list_spellings

FEWEST_NAMES = 5  # of a kind: of 15 names, which is all that some countries have, a fifth is 3
WORD = re.compile(r"[^\W_]+")
STROKES = str.maketrans("øłđı", "oldi")  # letters that Unicode does not decompose
LAST_LATIN = 0x250  # the recipe took names of Basic Latin to Latin Extended-B only


def select_unseen(gazetteer: Gazetteer) -> Gazetteer:
    """The same countries with only those names that the training of the bundled finder did not use."""
    training_names = _list_training_names()
    return gazetteer.select(lambda name: name.casefold() not in training_names)


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
    if folded in _list_unseen_spellings():
        return False
    return hashlib.blake2b(folded.encode(), digest_size=1).digest()[0] % 2 == 0


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
    training_names = _list_training_names()
    return frozenset(_fold(name) for name, _ in list_spellings() if name.casefold() not in training_names)


@cache
def _list_training_names() -> frozenset[str]:
    """A name that the source spells in several ways was used if one of the spellings was."""
    return frozenset(name.casefold() for name, spelling in list_spellings() if _was_in_training(spelling))


def _was_in_training(spelling: str) -> bool:
    is_latin = all(ord(letter) < LAST_LATIN or not letter.isalpha() for letter in spelling)
    return is_latin and zlib.crc32(spelling.lower().encode()) % 5 != 0
