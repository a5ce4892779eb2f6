"""Token ids of template sentences, put together from the ids of their parts instead of tokenising every sentence.

"People in Chad are kind." is what stands before the word, which depends on the region, the word, and what stands after
it. Each region and each word is tokenised once, in a real sentence; 34,000 regions and 112 words make 3.8 million
sentences. Not every tokenizer cuts a part alike in every company: a sample of sentences is tokenised as a whole, and if
one differs, nothing is composed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch

from geobias.prompts.templates import Sentences, unmark

SAMPLED = 256  # sentences compared with the tokenizer's own; all of them where there are no more

Tokenise = Callable[[Sequence[str]], list[Any]]


@dataclass(frozen=True)
class Part:
    """Pieces of sentences as rows of token ids, filled up to one width, and how long each really is."""

    ids: np.ndarray
    lengths: np.ndarray


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
        region, word = self._there(self.regions[batch]), self._there(self.words[batch])
        place = torch.arange(length, device=self.device).expand(len(batch), length)
        word_starts = self.before_length[region][:, None]
        word_ends = word_starts + self.word_length[word][:, None]
        ids = torch.where(
            place < word_ends, _at(self.word[word], place - word_starts), _at(self.after[region], place - word_ends)
        )
        ids = torch.where(place < word_starts, _at(self.before[region], place), ids)
        return ids, slice(self.parts.added_before, length - self.parts.added_after)

    def _there(self, rows: np.ndarray) -> torch.Tensor:
        """On a GPU copied while it computes."""
        found = torch.from_numpy(rows)
        if self.device.type != "cuda":
            return found
        return found.pin_memory().to(self.device, non_blocking=True)


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
    around, inside = (by_region[0][0], by_region[0][2]), by_word[0][1]
    same_around = all((before, after) == around for before, _, after, _ in by_word)
    if not (same_around and all(ids == inside for _, ids, *_ in by_region)):
        return None
    found = Composed(
        part([before for before, *_ in by_region]),
        part([word for _, word, *_ in by_word]),
        part([after for _, _, after, _ in by_region]),
        np.array([blanks for *_, blanks in by_word]),
        *_added(tokenise([unmark(sentences.at(template, 0, 0))[0]])[0]),
    )
    if (found.before.lengths + found.after.lengths).max() + found.words.lengths.max() > longest:
        return None
    rng = np.random.default_rng(0)
    count = regions * words
    sample = np.arange(count) if count <= SAMPLED else rng.choice(count, SAMPLED, replace=False)
    pairs = [divmod(int(at), words) for at in sample]
    plain = tokenise([unmark(sentences.at(template, region, word))[0] for region, word in pairs])
    for (region, word), encoding in zip(pairs, plain, strict=True):
        before, _, after, _ = by_region[region]
        if encoding.ids != [*before, *by_word[word][1], *after]:
            return None
    return found


def _cut_at_word(tokenise: Tokenise, marked: Sequence[str]) -> list[tuple[list[int], list[int], list[int], int]] | None:
    """Each sentence's ids before, in and after its marked word, and how many of the second are the blank before it.

    None if one is too long for the model.
    """
    plain = [unmark(text) for text in marked]
    found = []
    for encoding, (text, start, end) in zip(tokenise([text for text, _, _ in plain]), plain, strict=True):
        blank = len(text[:start].rstrip())  # the blank before a word is a part of its first token, or one of its own
        ids, offsets, special = encoding.ids, encoding.offsets, encoding.special_tokens_mask
        inside = [i for i, (a, b) in enumerate(offsets) if b > blank and a < end and not special[i]]
        if encoding.overflowing or not inside:
            return None
        first, last = inside[0], inside[-1] + 1
        blanks = sum(offsets[i][1] <= start for i in inside)
        found.append((ids[:first], ids[first:last], ids[last:], blanks))
    return found


def _added(encoding: Any) -> tuple[int, int]:
    """How many tokens a tokenizer puts before and after a text."""
    own = np.flatnonzero(np.array(encoding.special_tokens_mask) == 0)
    return int(own[0]), len(encoding.ids) - int(own[-1]) - 1


def part(rows: Sequence[Sequence[int]]) -> Part:
    """Rows of ids, filled up."""
    lengths = np.array([len(row) for row in rows])
    ids = np.zeros((len(rows), int(lengths.max(initial=1))), dtype=np.int64)
    for at, row in enumerate(rows):
        ids[at, : len(row)] = row
    return Part(ids, lengths)
