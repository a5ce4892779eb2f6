"""Template sentences, scored from the tokens of their parts.

**Tokens.** "People in Chad are kind." is the text before the word, which depends on the region, the word, and the text
after it. Each region and each word is tokenised once, in a real sentence; 34,000 regions and 112 words make 3.8 million
sentences. A tokenizer may split a word differently next to different neighbours, so a sample of sentences is tokenised
as a whole; if one differs, nothing is composed.

**Readers.** Where a model can score many words at once, the contexts in which a word's tokens are read do not depend on
the region: after "People in Chad are" comes a first token; after that and " hard", others. They are laid out once for a
template, and every region is read in all of them (`AllWordsReader`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from geobias.models.pretrained import Ragged, Tokens, equal_length_batches
from geobias.texts.templates import Sentences, unmark

if TYPE_CHECKING:
    from geobias.models.masked import MaskedLM

SAMPLE_SIZE = 256  # sentences compared with the tokenizer's own ids; all of them where there are no more

Tokenise = Callable[[Sequence[str]], list[Any]]
ToDevice = Callable[[np.ndarray], torch.Tensor]
MIN_SHARE = 0.5  # of all words of the regions to score; fewer are sooner read sentence by sentence
BATCHES_SORTED = 8  # so many together that sentences of one length, of which a region has few, fill a batch

# Of these regions or sentences, by number: rows of (sum of log P, tokens, unknown tokens, tokens cut off).
ComputeRows = Callable[[np.ndarray], np.ndarray]
TemplateBatch = tuple[np.ndarray, np.ndarray, ComputeRows]  # positions among the texts, numbers, what computes them


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


class TemplateReader(ABC):
    """Scores the sentences of one template."""

    def __init__(self, lm: Any, tokens: TemplateTokens) -> None:
        self.lm, self.tokens = lm, tokens

    def serves(self, sentences: TemplateSentences) -> bool:
        """Whether these sentences can be read so, and are sooner read so than one by one."""
        return True

    @abstractmethod
    def batches(self, sentences: TemplateSentences) -> Iterator[TemplateBatch]:
        """What goes through the model together."""


class AllWordsReader(TemplateReader):
    """Reads all words of a region at once.

    `targets` are the tokens that count, and `owners` the words that they belong to.
    """

    def __init__(self, lm: Any, tokens: TemplateTokens, targets: np.ndarray, owners: np.ndarray) -> None:
        super().__init__(lm, tokens)
        self.targets, self.owners = targets, owners
        words = len(tokens.words.ids)
        self.token_counts = np.bincount(owners, minlength=words)
        self.unknown_counts = np.bincount(owners, weights=targets == lm.tokenizer.unk_token_id, minlength=words)

    @abstractmethod
    def group_regions(self, regions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """A number that regions must share to go through the model together, and how many tokens each one takes."""

    @abstractmethod
    def score_regions(self, regions: np.ndarray) -> torch.Tensor:
        """regions x words x (sum of log P, tokens, unknown tokens, 0), for regions of one group."""

    def serves(self, sentences: TemplateSentences) -> bool:
        regions = len(np.unique(sentences.regions))
        return len(sentences.words) >= MIN_SHARE * regions * len(self.token_counts)

    def batches(self, sentences: TemplateSentences) -> Iterator[TemplateBatch]:
        regions, region_of = np.unique(sentences.regions, return_inverse=True)
        order = np.argsort(region_of, kind="stable")
        counts = np.bincount(region_of)
        starts = np.cumsum(counts) - counts

        def find_sentences(batch: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            """The sentences of these regions, and for each the number of its region among them."""
            row = np.repeat(np.arange(len(batch)), counts[batch])
            within = np.arange(len(row)) - np.repeat(np.cumsum(counts[batch]) - counts[batch], counts[batch])
            return order[starts[batch][row] + within], row

        def compute_rows(batch: np.ndarray) -> np.ndarray:
            which, row = find_sentences(batch)
            rows = self.score_regions(regions[batch])[self.lm.tensor(row), self.lm.tensor(sentences.words[which])]
            return np.asarray(rows.cpu())

        for batch in equal_length_batches(*self.group_regions(regions), self.lm.budget):
            yield sentences.positions[find_sentences(batch)[0]], batch, compute_rows

    def _read_words(self, states: torch.Tensor, which: np.ndarray) -> torch.Tensor:
        """The rows of all words; `which`, regions x targets, says at which state each target is read."""
        targets = np.tile(self.targets, len(which))
        values = self.lm.fast.head.log_p_of_many(states, which.ravel(), targets).view(which.shape)
        total = torch.zeros(len(values), len(self.token_counts), dtype=torch.float64, device=values.device)
        total.index_add_(1, self.lm.tensor(self.owners), values)
        counts = [self.lm.tensor(count).double().expand_as(total) for count in (self.token_counts, self.unknown_counts)]
        return torch.stack([total, *counts, torch.zeros_like(total)], 2)


class UnmaskedSentences(TemplateReader):
    """AUL: sentences of one length go through a masked model together, and their own tokens are read."""

    lm: MaskedLM

    def batches(self, sentences: TemplateSentences) -> Iterator[TemplateBatch]:
        composed = ComposedSentences(self.tokens, sentences.regions, sentences.words, self.lm.tensor)
        compute_rows = partial(self._score_sentences, composed)
        for batch in equal_length_batches(composed.lengths, composed.lengths, self.lm.budget):
            yield sentences.positions[batch], batch, compute_rows

    @torch.inference_mode()
    def _score_sentences(self, composed: ComposedSentences, batch: np.ndarray) -> np.ndarray:
        assert self.lm.fast.head is not None
        ids, text_tokens = composed.ids(batch)
        states = self.lm.states(ids)[:, text_tokens]
        targets = ids[:, text_tokens]
        values = self.lm.fast.head.log_p(states.reshape(-1, states.shape[-1]), targets.reshape(-1)).double()
        total = values.view(targets.shape).sum(1)
        unknown_id = self.lm.tokenizer.unk_token_id
        unknown = (targets == (-1 if unknown_id is None else unknown_id)).sum(1).double()
        rows = [total, torch.full_like(total, targets.shape[1]), unknown, torch.zeros_like(total)]
        return np.asarray(torch.stack(rows, 1).cpu())


class MaskedWords(AllWordsReader):
    """Words under a masked model: "People in Chad are [MASK]." asks for many of them at once.

    A word's token is read where it and the later tokens of the word are masked, and its earlier ones stand. Words of
    one length that begin alike are read in the same sentence.
    """

    lm: MaskedLM

    def __init__(self, lm: MaskedLM, tokens: TemplateTokens) -> None:
        mask = lm.mask
        contexts: dict[tuple[int, ...], int] = {}
        reads = []
        for owner, word in enumerate(tokens.words.rows()):
            for place in range(tokens.blanks[owner], len(word)):
                masked = (place, *word[:place], *[mask] * (len(word) - place))
                reads.append((contexts.setdefault(masked, len(contexts)), word[place], owner))
        self.context_of, targets, owners = np.array(reads, dtype=np.int64).reshape(-1, 3).T
        super().__init__(lm, tokens, targets, owners)
        self.places = np.array([place for place, *_ in contexts])
        masked_words = [masked for _, *masked in contexts]
        lengths = np.array([len(masked) for masked in masked_words], dtype=np.int64)
        self.contexts = replace(tokens, words=TokenRows(pad_rows(masked_words), lengths))

    def group_regions(self, regions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        around = self.tokens.before.lengths[regions] + self.tokens.after.lengths[regions]
        cost = around * len(self.places) + self.contexts.words.lengths.sum()
        return np.zeros_like(regions), cost // BATCHES_SORTED

    @torch.inference_mode()
    def score_regions(self, regions: np.ndarray) -> torch.Tensor:
        region, context = (axis.ravel() for axis in np.indices((len(regions), len(self.places))))
        composed = ComposedSentences(self.contexts, regions[region], context, self.lm.tensor)
        positions = self.tokens.before.lengths[regions[region]] + self.places[context]
        states: torch.Tensor | None = None
        for batch in equal_length_batches(composed.lengths, composed.lengths, self.lm.budget):
            batch_states = self.lm.states_at(composed.ids(batch)[0], self.lm.tensor(positions[batch]))
            if states is None:
                states = batch_states.new_empty(len(region), batch_states.shape[1])
            states[self.lm.tensor(batch)] = batch_states
        assert states is not None
        which = np.arange(len(regions))[:, None] * len(self.places) + self.context_of
        return self._read_words(states, which)
