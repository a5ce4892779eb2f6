"""The people in texts, as a mitigated classifier finds them, and whether the finder can read the text at all."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from geobias.models.entity_finders import EMBEDDED_FINDER, PERSON, EntityFinder, load_entity_finder
from geobias.texts.doubtful_spans import is_english, sort_spans
from geobias.texts.people import Person, find_people
from geobias.world.gazetteer import is_latin, load_gazetteer

ENGLISH = "en"
TEXTS_AT_ONCE = 2000
MOST_REMEMBERED = 500_000  # texts; several wrappers of one model read the same ones


class ReadText(NamedTuple):
    """The people of a text, and whether the finder reads the language of the text."""

    people: tuple[Person, ...]
    is_readable: bool


class PeopleReader:
    """Finds people in texts: a finder, and the rules that drop what is probably no person (as in the names audit).

    Texts are remembered, so that wrappers that share a reader find the people of a text once.
    """

    def __init__(self, finder: Any = EMBEDDED_FINDER, *, device: str = "auto") -> None:
        self.finder: EntityFinder = load_entity_finder(finder, device=device)
        self.finder.require(PERSON)
        self.gazetteer = load_gazetteer("all")
        self._texts: dict[str, ReadText] = {}

    def read(self, texts: Sequence[str]) -> list[ReadText]:
        """The people of every text, each distinct text read once."""
        missing = [text for text in dict.fromkeys(texts) if text not in self._texts]
        if len(self._texts) + len(missing) > MOST_REMEMBERED:
            self._texts.clear()
            missing = list(dict.fromkeys(texts))
        for start in range(0, len(missing), TEXTS_AT_ONCE):
            part = missing[start : start + TEXTS_AT_ONCE]
            for text, entities in zip(part, self.finder.find(part), strict=True):
                spans = [entity.span for entity in entities if entity.label == PERSON]
                people = find_people(text, sort_spans(text, spans, self.gazetteer)[0], self.gazetteer)
                self._texts[text] = ReadText(people, self.is_readable(text))
        return [self._texts[text] for text in texts]

    def forget(self) -> None:
        """Forget all texts, for example to measure the time that reading takes."""
        self._texts.clear()

    def is_readable(self, text: str) -> bool:
        """Whether the finder reads the language of a text, by script and by common words; true if that is unknown.

        Only for finders of English is there a list of common words. Short texts count as readable.
        """
        if self.finder.language != ENGLISH:
            return True
        letters = [char for char in text if char.isalpha()]
        latin = sum(map(is_latin, letters))
        return 2 * latin >= len(letters) and is_english(text)

    @property
    def checks_language(self) -> bool:
        """Whether the language of the finder is known, so that texts in other languages can be counted."""
        return self.finder.language == ENGLISH
