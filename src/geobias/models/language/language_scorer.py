"""What all ways of scoring texts with a language model share: scores that stream, batch by batch."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from geobias.models.batching import prepared_ahead
from geobias.models.fast.template_reader import TemplateReader
from geobias.models.fast.template_tokens import SAMPLE_SIZE, TemplateSentences, TemplateTokens, compose_template
from geobias.models.scorer import LIKELIHOOD_COLUMNS, MethodScorer
from geobias.texts.lazy_texts import TextSelection
from geobias.texts.templates import Sentences

if TYPE_CHECKING:
    from geobias.models.language.language_model import LanguageModel

ScoredBatch = tuple[np.ndarray, np.ndarray]  # positions among the texts, and a row of scores for each
TemplatePart = tuple[TemplateReader, TemplateSentences]


class LanguageScorer(MethodScorer):
    """One score of one language model; columns: the score, tokens that count, unknown ones, tokens cut off."""

    lm: LanguageModel
    columns = LIKELIHOOD_COLUMNS
    takes_everything = True
    needs_mark = False  # whether the marked part of a text alone counts
    looks_back_only = False

    def __init__(self, lm: LanguageModel, method: str) -> None:
        self.lm = lm
        self.method = method
        self._block: Sentences | None = None  # a worker scores one block of sentences piece by piece
        self._block_tokens: dict[int, TemplateTokens | None] = {}

    @property
    def fingerprint(self) -> str | None:
        return self.lm.identity_of(self.method)

    @property
    def fast_parts(self) -> tuple[str, ...]:
        """The parts of the fast path that the model uses."""
        return self.lm.fast_parts

    def to(self, device: str) -> None:
        self.lm.to(device)

    def batches(self, texts: Sequence[str]) -> Iterator[ScoredBatch]:
        with self.lm.fast.use():
            templates = self._find_templates(texts) if self.lm.fast.template_tokens else None
            if templates is not None:
                yield from self._score_templates(templates)
                return
            for start, share in prepared_ahead(texts, self._prepare):
                for batch, rows in self._score(share):
                    yield start + batch, rows

    @abstractmethod
    def _prepare(self, texts: list[str]) -> Any:
        """The texts as tokens, ready to be read."""

    @abstractmethod
    def _score(self, prepared: Any) -> Iterator[ScoredBatch]:
        """Score the texts that were prepared."""

    def _mean(self, total: np.ndarray, tokens: np.ndarray) -> np.ndarray:
        """The score from the sum of log P over the tokens that count: their mean, unless a score says otherwise."""
        return total / np.maximum(tokens, 1)

    def _make_rows(self, total: np.ndarray, tokens: np.ndarray, unknown: np.ndarray, cut: np.ndarray) -> np.ndarray:
        """The columns of a batch; a text without a token has no score."""
        return np.column_stack([np.where(tokens == 0, np.nan, self._mean(total, tokens)), tokens, unknown, cut])

    # The fast path for template sentences

    def _template_reader(self, tokens: TemplateTokens) -> TemplateReader | None:
        """What scores the sentences of a template from the tokens of their parts; None where there is no such way."""
        return None

    def _compose_template(self, sentences: Sentences, template: int) -> TemplateTokens | None:
        return compose_template(
            lambda texts: self.lm.encode(texts)[0], sentences, template, max_length=self.lm.max_length
        )

    def _score_templates(self, templates: list[TemplatePart]) -> Iterator[ScoredBatch]:
        started = (
            (positions, self.lm.begun(numbers, compute_rows))
            for reader, sentences in templates
            for positions, numbers, compute_rows in reader.batches(sentences)
        )
        for positions, rows in self.lm.finish(started):
            yield positions, self._make_rows(*rows.T)

    def _find_templates(self, texts: Sequence[str]) -> list[TemplatePart] | None:
        """Template sentences by template, each with its reader; None where they are sooner tokenised one by one."""
        if not (isinstance(texts, TextSelection) and isinstance(texts.block, Sentences)):
            return None
        block_tokens = self._block_tokens if self._block is texts.block else {}
        if not block_tokens and len(texts) <= sum(texts.block.shape) + SAMPLE_SIZE:
            return None
        self._block, self._block_tokens = texts.block, block_tokens
        template_of, region, word = texts.coordinates
        templates: list[TemplatePart] = []
        for template in np.unique(template_of).tolist():
            if template not in block_tokens:
                block_tokens[template] = self._compose_template(texts.block, template)
            tokens = block_tokens[template]
            reader = None if tokens is None else self._template_reader(tokens)
            if tokens is None or reader is None:
                return None
            positions = np.flatnonzero(template_of == template)
            sentences = TemplateSentences(tokens, positions, region[positions], word[positions])
            if not reader.serves(sentences):
                return None
            templates.append((reader, sentences))
        return templates
