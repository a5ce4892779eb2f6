"""Conditional likelihood under a masked model: how likely is the marked part of a sentence, given the rest?"""

from __future__ import annotations

import numpy as np

from geobias.models.fast.masked_words import MaskedWords
from geobias.models.fast.template_reader import TemplateReader
from geobias.models.fast.template_tokens import TemplateTokens
from geobias.models.language.pll import PLLScorer
from geobias.models.token_arrays import Tokens


class MaskedConditionalScorer(PLLScorer):
    """The mean log P of the marked part's tokens D = d_1 ... d_n, filled in from left to right.

        conditional(S) = 1/n * sum_i log P(d_i | S with d_i ... d_n masked)

    The rest of the sentence, what stands after the marked part too, is in sight. This is the chain rule in the order
    of reading, as in the pseudo-log-likelihood PLL-word of Kauf and Ivanova 2023, for any marked part.
    """

    needs_mark = True

    def counted_tokens(self, tokens: Tokens, start: tuple[int, ...], end: tuple[int, ...]) -> np.ndarray:
        return tokens.inside(start, end)

    def mask_ends(self, tokens: Tokens, counted: np.ndarray) -> np.ndarray:
        """Masks reach to the end of the marked part."""
        row, place = tokens.ids.row, tokens.ids.place
        last = np.zeros(len(tokens.ids), dtype=np.int64)
        last[row[counted]] = place[counted]  # of several assignments the last one stays
        return last[row] + 1

    def _template_reader(self, tokens: TemplateTokens) -> TemplateReader | None:
        return MaskedWords(self.lm, tokens)
