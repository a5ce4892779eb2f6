"""PLL and PLL-word: scores of a sentence in which one token after the other is masked."""

from __future__ import annotations

import numpy as np

from geobias.models.batching import Tokens
from geobias.models.language.masked_scorer import EncodedTexts, MaskedScorer

BATCHES_COMPARED = 4  # batches of masked texts that are searched together for equal ones


class PLLScorer(MaskedScorer):
    """The mean over a sentence's tokens of their log P, each in a forward pass in which it is masked.

        PLL(S) = 1/|S| * sum_i log P(w_i | S with w_i masked)

    Salazar et al. 2020, "Masked Language Model Scoring" (there as a sum).
    """

    version = 1
    needs_mask = True

    def _mask_ends(self, tokens: Tokens, counted: np.ndarray) -> np.ndarray:
        """For every token, the position before which masks end when it is read: each is masked alone."""
        return tokens.ids.place + 1

    def _prepare(self, texts: list[str]) -> EncodedTexts:
        encoded, tokens = self._encode(texts)
        encoded.costs = encoded.ids.lengths * encoded.tokens // BATCHES_COMPARED
        encoded.mask_end = encoded.ids.beside(self._mask_ends(tokens, encoded.counted.numbers))
        return encoded

    def _total(self, texts: EncodedTexts, batch: np.ndarray) -> np.ndarray:
        """Mask from each token that counts to its `mask_end`, and sum their log P.

        Masked texts are often equal: "People in Chad are [MASK]." asks for every word of one token at once. Each
        distinct one goes through the model once, and all its targets are read there.
        """
        assert texts.mask_end is not None
        counted = texts.counted.take(batch)
        row, position = np.nonzero(counted)
        if not len(row):  # no text has a token that counts: the marked part was cut off
            return np.zeros(len(batch))
        end = texts.mask_end.take(batch)[counted]
        ids = texts.ids.take(batch)[row]
        column = np.arange(ids.shape[1])
        masked = (column >= position[:, None]) & (column < end[:, None])
        inputs = np.where(masked, self.lm.mask, ids)
        distinct, which = np.unique(np.column_stack([inputs, position]), axis=0, return_inverse=True)
        targets = ids[np.arange(len(ids)), position]
        values = self.lm.log_p_at(distinct[:, :-1], distinct[:, -1], which.reshape(-1), targets)
        return np.bincount(row, weights=values.cpu().numpy(), minlength=len(batch))


class PLLWordScorer(PLLScorer):
    """PLL where the later tokens of a word are masked with each of its tokens, so that they do not give it away.

        PLL-word(S) = 1/|S| * sum_i log P(w_i | S with w_i and the later tokens of its word masked)

    Kauf and Ivanova 2023, "A Better Way to Do Masked Language Model Scoring" (there PLL-word-l2r, as a sum).
    """

    version = 1

    def _mask_ends(self, tokens: Tokens, counted: np.ndarray) -> np.ndarray:
        place = tokens.ids.place
        begins = (np.diff(tokens.words, prepend=-2) != 0) | (place == 0)
        word = np.cumsum(begins) - 1
        ends = np.flatnonzero(np.roll(begins, -1))  # before the next word begins; the first always begins
        return place[ends][word] + 1
