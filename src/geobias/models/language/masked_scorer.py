"""What the scores of masked language models share: texts as tokens, and batches of texts of one length."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from geobias.models.batching import equal_length_batches
from geobias.models.language.language_scorer import LanguageScorer, ScoredBatch
from geobias.models.token_arrays import Ragged, Tokens
from geobias.texts.templates import unmark

if TYPE_CHECKING:
    from geobias.models.language.masked import MaskedLM


@dataclass
class EncodedTexts:
    """Texts as token ids, which of them count, and up to which position masks reach when a token is read."""

    ids: Ragged
    counted: Ragged
    mask_end: Ragged | None
    tokens: np.ndarray
    unknown: np.ndarray
    cut: np.ndarray


class MaskedScorer(LanguageScorer):
    """A score of a masked language model; subclasses say what is summed over the tokens of a text."""

    lm: MaskedLM

    @abstractmethod
    def total(self, texts: EncodedTexts, batch: np.ndarray) -> np.ndarray:
        """The sum over the tokens that count of each of these texts, which have one length."""

    def costs(self, texts: EncodedTexts) -> np.ndarray:
        """How many tokens go through the model for each text."""
        return texts.ids.lengths

    def counted_tokens(self, tokens: Tokens, start: tuple[int, ...], end: tuple[int, ...]) -> np.ndarray:
        """Which tokens count: all of a text's own, not those that the tokenizer adds ([CLS], </s>, ...)."""
        return tokens.is_text

    def mask_ends(self, tokens: Tokens, counted: np.ndarray) -> np.ndarray | None:
        """For every token, the position before which masks end when it is read; None where nothing is masked."""
        return None

    def _prepare(self, texts: list[str]) -> EncodedTexts:
        plain, start, end = zip(*map(unmark, texts), strict=True)
        encodings, cut = self.lm.encode(plain)
        tokens = Tokens(encodings)
        ids = tokens.ids
        counted = self.counted_tokens(tokens, start, end)
        mask_end = self.mask_ends(tokens, counted)
        return EncodedTexts(
            ids,
            ids.beside(counted),
            None if mask_end is None else ids.beside(mask_end),
            tokens=ids.count(counted),
            unknown=ids.count(counted & (ids.numbers == self.lm.tokenizer.unk_token_id)),
            cut=cut,
        )

    def _score(self, prepared: EncodedTexts) -> Iterator[ScoredBatch]:
        for batch in equal_length_batches(prepared.ids.lengths, self.costs(prepared), self.lm.budget):
            total = self.lm.fitting(batch, lambda part: self.total(prepared, part))
            yield batch, self._make_rows(total, prepared.tokens[batch], prepared.unknown[batch], prepared.cut[batch])
