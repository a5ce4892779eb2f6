"""Token ids of template sentences, put together from the ids of their parts instead of tokenising every sentence.

"People in Chad are kind." is what stands before the word, which depends on the region, the word, and what stands after
it. Each region and each word is tokenised once, in a real sentence; 34,000 regions and 112 words make 3.8 million
sentences. Not every tokenizer cuts a part alike in every company: a sample of sentences is tokenised as a whole, and if
one differs, nothing is composed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import numpy as np
import torch

from geobias.models.fast.gpu_queue import sent
from geobias.models.token_arrays import Ragged, Tokens
from geobias.texts.templates import Sentences, unmark

SAMPLED = 256  # sentences compared with the tokenizer's own; all of them where there are no more

Tokenise = Callable[[Sequence[str]], list[Any]]


@dataclass(frozen=True)
class Part:
    """Pieces of sentences as rows of token ids, filled up to one width, and how long each really is."""

    ids: np.ndarray
    lengths: np.ndarray

    def row(self, at: int) -> list[int]:
        found: list[int] = self.ids[at, : self.lengths[at]].tolist()
        return found

    def is_always(self, row: Sequence[int]) -> bool:
        """Whether every row is this one."""
        return bool((self.lengths == len(row)).all() and (self.ids[:, : len(row)] == row).all())


@dataclass(frozen=True)
class Composed:
    """Sentences of one template: before[region] + words[word] + after[region]; the ends that a tokenizer adds.

    `blanks` says how many tokens of each word are the blank before it.
    """

    before: Part
    words: Part
    after: Part
    blanks: np.ndarray
    added_before: int
    added_after: int

    def lengths(self, regions: np.ndarray, words: np.ndarray) -> np.ndarray:
        return self.before.lengths[regions] + self.words.lengths[words] + self.after.lengths[regions]


@dataclass(frozen=True)
class OfTemplate:
    """Some sentences of one template: where they stand among those asked, their regions and their words."""

    parts: Composed
    at: np.ndarray
    regions: np.ndarray
    words: np.ndarray


class ComposedRows:
    """Some sentences of one template, on the device where they are read: a batch is looked up there, not sent."""

    def __init__(self, parts: Composed, regions: np.ndarray, words: np.ndarray, device: torch.device) -> None:
        self.parts, self.regions, self.words, self.device = parts, regions, words, device
        self.lengths = parts.lengths(regions, words)
        self.before, self.word, self.after = (
            torch.from_numpy(one.ids).to(device) for one in (parts.before, parts.words, parts.after)
        )
        self.before_length, self.word_length = (
            torch.from_numpy(one.lengths).to(device) for one in (parts.before, parts.words)
        )

    def ids(self, batch: np.ndarray) -> tuple[torch.Tensor, slice]:
        """The token ids of sentences of one length, and which of them are the sentences' own."""
        length = int(self.lengths[batch[0]])
        region, word = (sent(of[batch], self.device) for of in (self.regions, self.words))
        place = torch.arange(length, device=self.device).expand(len(batch), length)
        word_starts = self.before_length[region][:, None]
        word_ends = word_starts + self.word_length[word][:, None]
        ids = torch.where(
            place < word_ends, _at(self.word[word], place - word_starts), _at(self.after[region], place - word_ends)
        )
        ids = torch.where(place < word_starts, _at(self.before[region], place), ids)
        return ids, slice(self.parts.added_before, length - self.parts.added_after)


def _at(rows: torch.Tensor, places: torch.Tensor) -> torch.Tensor:
    """The numbers at these places of each row; any number where a place lies outside."""
    return rows.gather(1, places.clamp(0, rows.shape[1] - 1))


def composed(tokenise: Tokenise, sentences: Sentences, template: int, *, longest: int) -> Composed | None:
    """The parts of one template's sentences; None where they do not make up the sentences, or one is too long."""
    _, regions, words = sentences.shape
    sentences = replace(sentences, marked=True)  # the mark says where the word stands
    by_region = _cut_at_word(tokenise, [sentences.at(template, region, 0) for region in range(regions)])
    by_word = _cut_at_word(tokenise, [sentences.at(template, 0, word) for word in range(words)])
    if by_region is None or by_word is None:
        return None
    # A word may be cut otherwise beside a certain region, or what stands around it beside a certain word.
    same_around = by_word.before.is_always(by_region.before.row(0)) and by_word.after.is_always(by_region.after.row(0))
    if not (same_around and by_region.word.is_always(by_word.word.row(0))):
        return None
    added = _added(tokenise([unmark(sentences.at(template, 0, 0))[0]])[0])
    found = Composed(by_region.before, by_word.word, by_region.after, by_word.blanks, *added)
    if (found.before.lengths + found.after.lengths).max() + found.words.lengths.max() > longest:
        return None
    rng = np.random.default_rng(0)
    count = regions * words
    sample = np.arange(count) if count <= SAMPLED else rng.choice(count, SAMPLED, replace=False)
    pairs = [divmod(int(at), words) for at in sample]
    plain = tokenise([unmark(sentences.at(template, region, word))[0] for region, word in pairs])
    for (region, word), encoding in zip(pairs, plain, strict=True):
        if encoding.ids != [*found.before.row(region), *found.words.row(word), *found.after.row(region)]:
            return None
    return found


@dataclass(frozen=True)
class _Cut:
    """Sentences cut at their marked word, and how many tokens of it are the blank before it."""

    before: Part
    word: Part
    after: Part
    blanks: np.ndarray


def _cut_at_word(tokenise: Tokenise, marked: Sequence[str]) -> _Cut | None:
    """None if a sentence is too long for the model, or its word has no token."""
    plain, start, end = zip(*map(unmark, marked), strict=True)
    encodings = tokenise(plain)
    if any(encoding.overflowing for encoding in encodings):
        return None
    # The blank before a word is a part of its first token, or one of its own.
    blank = [len(text[:at].rstrip()) for text, at in zip(plain, start, strict=True)]
    tokens = Tokens(encodings)
    ids = tokens.ids
    inside = tokens.inside(blank, end)
    if not ids.count(inside).all():
        return None
    first, last = np.zeros((2, len(ids)), dtype=np.int64)
    row, place = ids.row[inside], ids.place[inside]
    first[row[::-1]], last[row] = place[::-1], place + 1  # of several the last one stays
    return _Cut(
        _part(ids, np.zeros_like(first), first),
        _part(ids, first, last),
        _part(ids, last, ids.lengths),
        ids.count(inside & (tokens.spans[:, 1] <= np.array(start)[ids.row])),
    )


def _added(encoding: Any) -> tuple[int, int]:
    """How many tokens a tokenizer puts before and after a text."""
    own = np.flatnonzero(np.array(encoding.special_tokens_mask) == 0)
    return int(own[0]), len(encoding.ids) - int(own[-1]) - 1


def part(rows: Sequence[Sequence[int]]) -> Part:
    """Rows of ids, filled up."""
    ids = Ragged(np.fromiter(chain.from_iterable(rows), dtype=np.int64), np.array([len(row) for row in rows], np.int64))
    return _part(ids, np.zeros_like(ids.lengths), ids.lengths)


def _part(ids: Ragged, start: np.ndarray, stop: np.ndarray) -> Part:
    """A piece of each row."""
    lengths = stop - start
    place = np.arange(lengths.max(initial=1))
    taken = place < lengths[:, None]
    filled = np.zeros(taken.shape, dtype=np.int64)
    filled[taken] = ids.numbers[((ids.starts + start)[:, None] + place)[taken]]
    return Part(filled, lengths)
