"""The conditional score of masked language models: the description given the rest of the sentence."""

from __future__ import annotations

import numpy as np

from geobias.models.batching import Tokens
from geobias.models.fast.template_readers import MaskedWords, TemplateReader
from geobias.models.fast.template_tokens import TemplateTokens, find_spans
from geobias.models.language.pll import PLLScorer


class MaskedConditionalScorer(PLLScorer):
    """The mean log P of the marked part's tokens D = d_1 ... d_n, filled in from left to right.

        conditional(S) = 1/n * sum_i log P(d_i | S with d_i ... d_n masked)

    The rest of the sentence, including the text after the marked part, is visible. This is the chain rule in the order
    of reading, as in the pseudo-log-likelihood PLL-word of Kauf and Ivanova 2023, for any marked part.
    """

    version = 1
    needs_mark = True

    def _mask_ends(self, tokens: Tokens, counted: np.ndarray) -> np.ndarray:
        """Masks reach to the end of the marked part."""
        return find_spans(tokens.ids, counted)[1][tokens.ids.row]

    def _template_reader(self, tokens: TemplateTokens) -> TemplateReader | None:
        return MaskedWords(self.lm, tokens)
