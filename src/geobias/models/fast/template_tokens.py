"""Token ids of template sentences, put together from the ids of their parts instead of tokenising every sentence.

"People in Chad are kind." is the text before the word, which depends on the region, the word, and the text after
it. Each region and each word is tokenised once, in a real sentence; 34,000 regions and 112 words make 3.8 million
sentences. A tokenizer may split a word differently next to different neighbours, so a sample of sentences is tokenised
as a whole; if one differs, nothing is composed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch

from geobias.models.batching import Ragged, Tokens
from geobias.texts.templates import Sentences, unmark

SAMPLE_SIZE = 256  # sentences compared with the tokenizer's own ids; all of them where there are no more

Tokenise = Callable[[Sequence[str]], list[Any]]
ToDevice = Callable[[np.ndarray], torch.Tensor]


@dataclass(frozen=True)
class TokenRows:
    """Pieces of sentences as rows of token ids, filled up to one width, and how long each really is."""

    ids: np.ndarray
    lengths: np.ndarray

    def row(self, index: int) -> list[int]:
        ids: list[int] = self.ids[index, : self.lengths[index]].tolist()
        return ids

    def rows(self) -> list[list[int]]:
        return [self.row(index) for index in range(len(self.ids))]

    def is_always(self, row: Sequence[int]) -> bool:
        """Whether every row is this one."""
        return bool((self.lengths == len(row)).all() and (self.ids[:, : len(row)] == row).all())


@dataclass(frozen=True)
class TemplateTokens:
    """Sentences of one template: before[region] + words[word] + after[region]; the ends that a tokenizer adds.

    `blanks` says how many tokens of each word are the blank before it.
    """

    before: TokenRows
    words: TokenRows
    after: TokenRows
    blanks: np.ndarray
    added_before: int
    added_after: int


@dataclass(frozen=True)
class TemplateSentences:
    """Some sentences of one template: their positions among the texts to score, their regions and their words."""

    positions: np.ndarray
    regions: np.ndarray
    words: np.ndarray


class ComposedSentences:
    """Sentences of one template on the device where they are read: batches are looked up there, not copied to it."""

    def __init__(self, tokens: TemplateTokens, regions: np.ndarray, words: np.ndarray, to_device: ToDevice) -> None:
        self.tokens, self.regions, self.words, self.to_device = tokens, regions, words, to_device
        before, after = tokens.before.lengths[regions], tokens.after.lengths[regions]
        self.lengths = before + tokens.words.lengths[words] + after
        self.before, self.word, self.after = (
            to_device(part.ids) for part in (tokens.before, tokens.words, tokens.after)
        )
        self.before_length, self.word_length = to_device(tokens.before.lengths), to_device(tokens.words.lengths)

    def ids(self, batch: np.ndarray) -> tuple[torch.Tensor, slice]:
        """The token ids of sentences of one length, and where their own tokens are (not the tokenizer's)."""
        length = int(self.lengths[batch[0]])
        region, word = self.to_device(self.regions[batch]), self.to_device(self.words[batch])
        place = torch.arange(length, device=region.device).expand(len(batch), length)
        word_starts = self.before_length[region][:, None]
        word_ends = word_starts + self.word_length[word][:, None]
        ids = torch.where(
            place < word_ends,
            _gather(self.word[word], place - word_starts),
            _gather(self.after[region], place - word_ends),
        )
        ids = torch.where(place < word_starts, _gather(self.before[region], place), ids)
        return ids, slice(self.tokens.added_before, length - self.tokens.added_after)


def _gather(rows: torch.Tensor, places: torch.Tensor) -> torch.Tensor:
    """The numbers at these places of each row; any number where a place lies outside."""
    return rows.gather(1, places.clamp(0, rows.shape[1] - 1))


def compose_template(
    tokenise: Tokenise, sentences: Sentences, template: int, *, max_length: int
) -> TemplateTokens | None:
    """The parts of one template's sentences; None where they do not make up the sentences, or one is too long."""
    _, regions, words = sentences.shape
    sentences = replace(sentences, marked=True)  # the mark says where the word stands
    by_region = _split_at_word(tokenise, [sentences.at(template, region, 0) for region in range(regions)])
    by_word = _split_at_word(tokenise, [sentences.at(template, 0, word) for word in range(words)])
    if by_region is None or by_word is None:
        return None
    # A word may be split differently next to a certain region, or the text around it next to a certain word.
    same_around = by_word.before.is_always(by_region.before.row(0)) and by_word.after.is_always(by_region.after.row(0))
    if not (same_around and by_region.words.is_always(by_word.words.row(0))):
        return None
    tokens = replace(by_region, words=by_word.words, blanks=by_word.blanks)
    if (tokens.before.lengths + tokens.after.lengths).max() + tokens.words.lengths.max() > max_length:
        return None
    count = regions * words
    rng = np.random.default_rng(0)
    sample = np.arange(count) if count <= SAMPLE_SIZE else rng.choice(count, SAMPLE_SIZE, replace=False)
    pairs = [divmod(int(index), words) for index in sample]
    encodings = tokenise([unmark(sentences.at(template, region, word))[0] for region, word in pairs])
    before, after = tokens.before, tokens.after
    composed = [[*before.row(region), *tokens.words.row(word), *after.row(region)] for region, word in pairs]
    return tokens if composed == [encoding.ids for encoding in encodings] else None


def _split_at_word(tokenise: Tokenise, marked: Sequence[str]) -> TemplateTokens | None:
    """Sentences split at their marked word; None if one is too long for the model, or its word has no token."""
    plain, start, end = zip(*map(unmark, marked), strict=True)
    encodings = tokenise(plain)
    if any(encoding.overflowing for encoding in encodings):
        return None
    # The blank before a word is a part of its first token, or one of its own.
    blank = [len(text[:begin].rstrip()) for text, begin in zip(plain, start, strict=True)]
    tokens = Tokens(encodings)
    ids = tokens.ids
    inside = tokens.inside(blank, end)
    if not ids.count(inside).all():
        return None
    first, stop = find_spans(ids, inside)
    text_first, text_stop = find_spans(ids, tokens.is_text)
    return TemplateTokens(
        _cut_rows(ids, np.zeros_like(first), first),
        _cut_rows(ids, first, stop),
        _cut_rows(ids, stop, ids.lengths),
        blanks=ids.count(inside & (tokens.spans[:, 1] <= np.array(start)[ids.row])),
        added_before=int(text_first[0]),
        added_after=int(ids.lengths[0] - text_stop[0]),
    )


def find_spans(ids: Ragged, which: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Where the marked numbers of each row begin and end; both are the end of a row where none is marked."""
    first, stop = ids.lengths.copy(), ids.lengths.copy()
    row, place = ids.row[which], ids.place[which]
    first[row[::-1]], stop[row] = place[::-1], place + 1  # of several assignments the last one stays
    return first, stop


def pad_rows(rows: Sequence[Sequence[int] | np.ndarray]) -> np.ndarray:
    """Rows of ids, filled up to one width."""
    padded = np.zeros((len(rows), max(map(len, rows), default=1)), dtype=np.int64)
    for index, row in enumerate(rows):
        padded[index, : len(row)] = row
    return padded


def _cut_rows(ids: Ragged, start: np.ndarray, stop: np.ndarray) -> TokenRows:
    """A piece of each row."""
    lengths = stop - start
    place = np.arange(lengths.max(initial=1))
    inside = place < lengths[:, None]
    filled = np.zeros(inside.shape, dtype=np.int64)
    filled[inside] = ids.numbers[((ids.starts + start)[:, None] + place)[inside]]
    return TokenRows(filled, lengths)
