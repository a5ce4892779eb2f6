"""What all scores of masked language models share: texts as token ids, and which tokens count."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from geobias.models.batching import Ragged, Tokens
from geobias.models.language.language_model import LanguageScorer, PreparedTexts
from geobias.texts.templates import unmark

if TYPE_CHECKING:
    from geobias.models.language.masked import MaskedLM


@dataclass
class EncodedTexts(PreparedTexts):
    """Texts as token ids, which of them count, and up to which position masks reach when a token is read."""

    ids: Ragged
    counted: Ragged
    mask_end: Ragged | None = None


class MaskedScorer(LanguageScorer):
    """A score of a masked language model."""

    lm: MaskedLM

    def _encode(self, texts: list[str]) -> tuple[EncodedTexts, Tokens]:
        plain, start, end = zip(*map(unmark, texts), strict=True)
        encodings, cut = self.lm.encode(plain)
        tokens = Tokens(encodings)
        ids = tokens.ids
        counted = tokens.inside(start, end) if self.needs_mark else tokens.is_text
        unknown = ids.count(counted & (ids.numbers == self.lm.tokenizer.unk_token_id))
        counts = ids.count(counted)
        return EncodedTexts(ids.lengths, ids.lengths, counts, unknown, cut, ids, ids.beside(counted)), tokens

    def _prepare(self, texts: list[str]) -> EncodedTexts:
        return self._encode(texts)[0]
