"""Sentences from templates such as "People in {region} are {description}.", and texts with a prefix before them.

Some scores count a part of the sentence only (the description). That part is then marked inside the text itself by two
control characters, so that a marked sentence is still one string: it is deduplicated, stored and sent to
workers like any other.

Such texts are sequences that are made on demand: the world is millions of sentences.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from math import prod
from typing import Any

import numpy as np

from geobias.checks import check_characters, shorten
from geobias.errors import InputError
from geobias.texts import DEFAULT_PREFIX, DEFAULT_TEMPLATE
from geobias.world.places import put_place

BlockShape = tuple[int, int, int]
TEXTS_AT_ONCE = 2**16  # whose indices are held while they are iterated over


class LazyTexts(Sequence[str]):
    """A block of texts with three dimensions, in C order: the last index changes fastest."""

    @property
    @abstractmethod
    def shape(self) -> BlockShape: ...

    @abstractmethod
    def at(self, first: int, second: int, third: int) -> str:
        """The text at an index of each dimension."""

    def find_distinct(self) -> tuple[np.ndarray, np.ndarray] | None:
        """Positions of the distinct texts, and for each text which of them it equals; None if it must be compared."""
        return None

    def __len__(self) -> int:
        return prod(self.shape)

    def __iter__(self) -> Iterator[str]:
        first_count, second_count, third_count = self.shape
        second = np.repeat(np.arange(second_count), third_count).tolist()
        third = list(range(third_count)) * second_count
        for first in range(first_count):
            yield from map(self.at, [first] * len(second), second, third)

    def __getitem__(self, index: Any) -> Any:  # a text, or a list of texts of a slice
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        if not 0 <= index < len(self):
            raise IndexError(index)
        _, second_count, third_count = self.shape
        rest, third = divmod(index, third_count)
        first, second = divmod(rest, second_count)
        return self.at(first, second, third)


@dataclass(frozen=True)
class TextSelection(Sequence[str]):
    """Texts at given positions of a block, made on demand."""

    block: Any = field(repr=False)
    positions: np.ndarray = field(repr=False)

    @property
    def coordinates(self) -> tuple[np.ndarray, ...]:
        """Their indices in the block's three dimensions."""
        return np.unravel_index(self.positions, self.block.shape)

    def __len__(self) -> int:
        return len(self.positions)

    def __iter__(self) -> Iterator[str]:
        for start in range(0, len(self), TEXTS_AT_ONCE):
            share = TextSelection(self.block, self.positions[start : start + TEXTS_AT_ONCE])
            yield from map(self.block.at, *(indices.tolist() for indices in share.coordinates))

    def __getitem__(self, index: Any) -> Any:
        positions = self.positions[index]
        return self.block[int(positions)] if np.ndim(positions) == 0 else [self.block[int(i)] for i in positions]


def select_texts(texts: Sequence[str], positions: np.ndarray) -> Sequence[str]:
    """The texts at these positions: a `TextSelection` of a block, otherwise a list."""
    if isinstance(texts, TextSelection):
        return TextSelection(texts.block, texts.positions[positions])
    return TextSelection(texts, positions) if isinstance(texts, LazyTexts) else [texts[int(i)] for i in positions]


REGION, DESCRIPTION = "{region}", "{description}"
NOWHERE = "here"  # replaces the region in the control prefix
MARK_START, MARK_END = "\x02", "\x03"


def mark(text: str) -> str:
    """Mark the whole text as the part that is scored."""
    return f"{MARK_START}{text}{MARK_END}"


def unmark(text: str) -> tuple[str, int, int]:
    """The plain text, and start and end of the marked part; the whole text if nothing is marked."""
    before, start_mark, rest = text.partition(MARK_START)
    if not start_mark:
        return text, 0, len(text)
    inside, _, after = rest.partition(MARK_END)
    return before + inside + after, len(before), len(before) + len(inside)


def check_template(template: str) -> str:
    """Return the template; refuse one without its placeholders."""
    check_characters(template, f"The template {shorten(template)!r}")
    if template.count(DESCRIPTION) != 1 or REGION not in template:
        raise InputError(
            f"The template {template!r} must contain {REGION}, and {DESCRIPTION} once. Example: {DEFAULT_TEMPLATE!r}."
        )
    return template


def refuse_region_after_description(template: str) -> None:
    """Refuse a template whose description precedes the region: a causal model would score it without the region."""
    if REGION not in template.partition(DESCRIPTION)[0]:
        raise InputError(
            f"In {template!r} the description comes before {REGION}. A causal model would give all regions the same "
            "score. Put the region first, or use --score mean."
        )


def check_prefix(prefix: str) -> str:
    """Return the prefix without surrounding spaces; refuse one without {region}."""
    check_characters(prefix, f"The prefix {shorten(prefix)!r}")
    if REGION not in prefix:
        raise InputError(f"The prefix {prefix!r} must contain {REGION}. Example: {DEFAULT_PREFIX!r}.")
    return prefix.strip()


def make_control_prefix(prefix: str, control: str | None) -> str:
    """The control prefix, which names no region: the user's, otherwise the prefix with "here" for the region."""
    if control is None:
        return prefix.replace(REGION, NOWHERE)
    check_characters(control, f"The control {shorten(control)!r}")
    if REGION in control or not control.strip():
        raise InputError(
            f"The control {control!r} must not contain {REGION}: it is a prefix that names no region. Example: "
            f"{prefix.replace(REGION, NOWHERE)!r}."
        )
    return control.strip()


@dataclass(frozen=True)
class Sentences(LazyTexts):
    """Every template with every region, as it stands within a sentence, and every word: templates x regions x words."""

    templates: Sequence[str]
    regions: Sequence[str]
    words: Sequence[str]
    marked: bool = False

    @property
    def shape(self) -> BlockShape:
        return len(self.templates), len(self.regions), len(self.words)

    def at(self, template: int, region: int, word: int) -> str:
        description = mark(self.words[word]) if self.marked else self.words[word]
        before, after = _put_region(self.templates[template], self.regions[region])
        return before + description + after

    def find_distinct(self) -> tuple[np.ndarray, np.ndarray]:
        """Cities share names, and words may be given twice; other equal sentences are rare, and scored twice."""
        templates, regions, words = self.shape
        (first_region, region_ids), (first_word, word_ids) = (
            _first_of_equal(part) for part in (self.regions, self.words)
        )
        first = (np.arange(templates)[:, None] * regions + first_region)[..., None] * words + first_word
        which = (np.arange(templates)[:, None] * len(first_region) + region_ids)[..., None] * len(first_word) + word_ids
        return first.ravel(), which.ravel()


@dataclass(frozen=True)
class PrefixedTexts(LazyTexts):
    """Every text with every prefix before it: texts x prefixes x 1.

    A prefix may have several wordings, as a tuple: each text then has one of them, as `rotation` says.
    """

    texts: Sequence[str]
    prefixes: Sequence[str | tuple[str, ...]]

    @property
    def shape(self) -> BlockShape:
        return len(self.texts), len(self.prefixes), 1

    @cached_property
    def rotation(self) -> np.ndarray:
        """texts x prefixes: the position of the wording."""
        most = max((len(prefix) for prefix in self.prefixes if isinstance(prefix, tuple)), default=1)
        return rotate_wordings(len(self.texts), len(self.prefixes), most)

    def at(self, text: int, prefix: int, _: int) -> str:
        words = self.prefixes[prefix]
        chosen = words if isinstance(words, str) else words[self.rotation[text, prefix]]
        return f"{chosen} {self.texts[text]}"


def rotate_wordings(texts: int, columns: int, wordings: int, *, seed: int = 0) -> np.ndarray:
    """texts x columns: the wording with which a text meets a column.

    Of any `wordings` texts in a row each meets a column with another wording; which one comes first is random, so that
    no two columns share all of theirs.
    """
    if wordings == 1:
        return np.zeros((texts, columns), dtype=np.int8)
    blocks = -(-texts // wordings)
    first = np.random.default_rng(seed).integers(wordings, size=(blocks, columns), dtype=np.int8)
    turns = np.arange(texts) % wordings
    return ((first.repeat(wordings, axis=0)[:texts] + turns[:, None]) % wordings).astype(np.int8)


@lru_cache(maxsize=16)  # neighbours share it
def _put_region(template: str, region: str) -> tuple[str, str]:
    """What stands before and after the description, which goes in last: a region may be named "{description}"."""
    before, _, after = put_place(template.replace(DESCRIPTION, MARK_START), region).partition(MARK_START)
    return before, after


def _first_of_equal(names: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """Positions of the distinct names, and for every name which of these it equals."""
    seen: dict[str, int] = {}
    ids = np.array([seen.setdefault(name, len(seen)) for name in names], dtype=np.int64)
    return np.unique(ids, return_index=True)[1], ids
