"""The base of wrappers that keep the names of people from a classifier: what it reads, and how answers are averaged.

What the classifier reads depends on a text without its names: two texts that differ only in names are the same text to
it, provided that the finder finds the names in both. Equal texts are scored once.
"""

from __future__ import annotations

import hashlib
import warnings
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np

from geobias.errors import InputError
from geobias.models.finders import EMBEDDED_FINDER, PERSON, EntityFinder, FunctionFinder, load_entity_finder
from geobias.models.kinds import make_classifier
from geobias.models.scorer import (
    UNREADABLE,
    Classifier,
    ModelIdentity,
    ScoreBlock,
    ScoreTexts,
    StreamingScorer,
    probability_columns,
)
from geobias.texts.doubtful_spans import is_english, sort_spans
from geobias.texts.people import Person, find_people
from geobias.world.gazetteer import is_latin, load_gazetteer


class UnreadableTextWarning(UserWarning):
    """Texts are in a language that the finder does not read, so that names may have reached the classifier."""


class MitigatedClassifier(StreamingScorer, Classifier):
    """A classifier that reads texts without the names of people. It is itself a classifier.

    Parameters
    ----------
    classifier : str, Path, callable or object
        The classifier to wrap, in any form that `load_classifier` takes.
    finder : str, callable, spacy.Language or PeopleReader, default "embedded/entities"
        What finds the people in texts, in any form that `audit_finders` takes.
    name : str, optional
        Name in results. Default: the name of the classifier and the method.
    device : str, default "auto"
        Where to run models that are loaded here.
    """

    method: ClassVar[str]
    version: ClassVar[int] = 1  # raised whenever a change of the code changes what the classifier reads
    takes_everything = True

    def __init__(
        self, classifier: Any, finder: Any = EMBEDDED_FINDER, *, name: str | None = None, device: str = "auto"
    ) -> None:
        self.source = str(classifier) if isinstance(classifier, str | Path) else None
        self.classifier = make_classifier(classifier, device=device)
        if isinstance(self.classifier, MitigatedClassifier):
            raise InputError(f"{self.classifier.name} is mitigated already. Wrap the model inside it.")
        self.reader = finder if isinstance(finder, PeopleReader) else PeopleReader(finder, device=device)
        self.name = name or f"{self.classifier.name} ({self.label})"
        self.multi_label, self.tokenizer = self.classifier.multi_label, self.classifier.tokenizer
        self.paid, self.is_prompted = self.classifier.paid, self.classifier.is_prompted
        self.has_digest = self.classifier.has_digest and not isinstance(self.reader.finder, FunctionFinder)
        self.notes = (*self.classifier.notes, *self._describe_finder())
        self._read_labels()

    @property
    @abstractmethod
    def label(self) -> str:
        """The method and its strength, such as "average:8"."""

    @property
    def settings(self) -> dict[str, Any]:
        """What tells two wrappers of one classifier apart, besides the finder."""
        return {"method": self.label}

    @property
    def fingerprint(self) -> str | None:
        parts = (self.classifier.fingerprint, self.reader.finder.fingerprint)
        if None in parts:
            return None
        content = repr((parts, sorted(self.settings.items()), self.version))
        return f"mitigated:{hashlib.blake2b(content.encode(), digest_size=16).hexdigest()}"

    @property
    def fast_parts(self) -> tuple[str, ...]:
        return self.classifier.fast_parts

    def __call__(self, texts: Sequence[str]) -> np.ndarray:
        """Return probabilities, texts x `labels`, as a function that is used as a classifier does.

        Texts in a language that the finder does not read are scored too, with a warning: their names may remain.
        """
        rows = self.score(list(texts))
        unreadable = int(rows[:, -1].sum())
        if unreadable:
            warnings.warn(
                f"{unreadable} of {len(rows)} texts are in a language that {self.reader.finder.name} does not read: "
                "their names may have reached the classifier.",
                UnreadableTextWarning,
                stacklevel=2,
            )
        return rows[:, : len(self.labels)]

    def predict(self, texts: Sequence[str]) -> list[str]:
        """Return the likeliest label of every text.

        Parameters
        ----------
        texts : sequence of str
            The texts.

        Returns
        -------
        list of str
            One of `labels` for each text.
        """
        return [self.labels[k] for k in self(texts).argmax(axis=1)]

    def identity(self) -> ModelIdentity:
        wrapped_model, finder = self.classifier.identity().name, self.reader.finder.name
        return replace(super().identity(), wrapped_model=wrapped_model, finder=finder)

    def learn_labels(self, texts: Sequence[str]) -> None:
        self.classifier.learn_labels(texts)
        self._read_labels()

    def to(self, device: str) -> None:
        self.classifier.to(device)

    def prepare(self, score_texts: ScoreTexts) -> None:
        self.classifier.prepare(score_texts)

    def batches(self, texts: Sequence[str]) -> Iterator[ScoreBlock]:
        """Yield the mean over the versions of each text, as soon as all its versions are scored.

        Parameters
        ----------
        texts : sequence of str
            The texts.

        Yields
        ------
        tuple of numpy.ndarray
            Positions of some texts, and their rows of scores.
        """
        reading = self.reader.read(texts)
        numbers: dict[str, int] = {}  # of distinct versions
        version_lists: dict[str, list[int]] = {}
        rows = []
        for text, (people, _) in zip(texts, reading, strict=True):
            if text not in version_lists:
                versions = self.list_versions(text, people) if people else [text]
                version_lists[text] = [numbers.setdefault(version, len(numbers)) for version in versions]
            rows.append(version_lists[text])
        version_numbers = np.array([number for row in rows for number in row], dtype=int)
        counts = np.array([len(row) for row in rows], dtype=int)
        starts = np.concatenate([[0], np.cumsum(counts)[:-1]]).astype(int)
        unreadable = np.array([not each.is_readable for each in reading], dtype=float)
        scores = np.full((len(numbers), len(self.classifier.columns)), np.nan)
        is_scored, is_done = np.zeros(len(numbers), dtype=bool), np.zeros(len(rows), dtype=bool)
        for positions, block in self.classifier.batches(list(numbers)):
            scores[positions], is_scored[positions] = block, True
            ready = np.flatnonzero(~is_done & np.logical_and.reduceat(is_scored[version_numbers], starts))
            if len(ready):
                is_done[ready] = True
                yield ready, self._average(scores, [rows[i] for i in ready], unreadable[ready])

    @abstractmethod
    def list_versions(self, text: str, people: Sequence[Person]) -> list[str]:
        """Return the texts that the classifier reads in place of a text that names these people.

        Parameters
        ----------
        text : str
            The text.
        people : sequence of Person
            The people in it.

        Returns
        -------
        list of str
            One text for `blind`, K texts for `average:K`.
        """

    def _average(self, scores: np.ndarray, rows: Sequence[Sequence[int]], unreadable: np.ndarray) -> np.ndarray:
        """The mean probabilities of each text, the most tokens cut off, and whether the finder could not read it."""
        labels = len(self.labels)
        means = np.stack([scores[row, :labels].mean(axis=0) for row in rows])
        cut = np.array([scores[row, labels].max() for row in rows])
        return np.column_stack([means, cut, unreadable])

    def _read_labels(self) -> None:
        self.labels = tuple(self.classifier.labels)
        self.columns = (*probability_columns(self.labels), UNREADABLE)

    def _describe_finder(self) -> Iterator[str]:
        if not self.reader.checks_language:
            yield (f"the language of {self.reader.finder.name} is unknown: texts in other languages are not counted.")


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
