"""AUL and AULA: scores of a whole sentence in one forward pass without masks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from geobias.errors import InputError
from geobias.models.fast.template_readers import TemplateReader, UnmaskedSentences
from geobias.models.fast.template_tokens import TemplateTokens
from geobias.models.language.masked_scorer import EncodedTexts, MaskedScorer

if TYPE_CHECKING:
    from geobias.models.language.masked import MaskedLM


class AULScorer(MaskedScorer):
    """All Unmasked Likelihood: the mean over a sentence's tokens of their log P in one forward pass without masks.

        AUL(S) = 1/|S| * sum_i log P(w_i | S)

    Kaneko and Bollegala 2022, "Unmasking the Mask: Evaluating Social Biases in Masked Language Models"; it is Eq. 1
    of HERB (Li et al. 2022).
    """

    version = 1

    def _total(self, texts: EncodedTexts, batch: np.ndarray) -> np.ndarray:
        ids, counted = texts.ids.take(batch), texts.counted.take(batch)
        rows, positions = np.nonzero(counted)
        return self.lm.sum_log_p({"input_ids": ids}, rows, positions, ids[counted])

    def _template_reader(self, tokens: TemplateTokens) -> TemplateReader | None:
        return UnmaskedSentences(self.lm, tokens)


class AULAScorer(MaskedScorer):
    """AUL with Attention: each token's log P is weighted by the attention that it receives.

        AULA(S) = 1/|S| * sum_i a_i log P(w_i | S)

    where a_i is the mean attention to token i over all layers, heads and tokens of the sentence. Kaneko and Bollegala
    2022.
    """

    version = 1

    def __init__(self, lm: MaskedLM, method: str) -> None:
        super().__init__(lm, method)
        if not lm.returns_attention():
            raise InputError(
                f"{lm.name} ({lm.architecture}) returns no attention weights between tokens, which the score "
                f"{method!r} needs. Use --score aul."
            )

    def _total(self, texts: EncodedTexts, batch: np.ndarray) -> np.ndarray:
        counted = texts.counted.take(batch)
        log_p, attention = self.lm.log_p_and_attention(self.lm.tensor(texts.ids.take(batch)), self.lm.tensor(counted))
        weighted = log_p.cpu().numpy() * attention.cpu().numpy()
        return np.bincount(np.nonzero(counted)[0], weights=weighted, minlength=len(batch))
