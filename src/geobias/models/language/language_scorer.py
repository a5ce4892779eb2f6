"""What all ways of asking a language model share: answers that stream, and template sentences made of their parts."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from geobias.models.batching import prepared_ahead
from geobias.models.fast.composing import SAMPLED, Composed, OfTemplate, composed
from geobias.models.fast.gpu_queue import read_late
from geobias.models.language.language_model import LanguageModel
from geobias.models.language.template_words import TemplateWords
from geobias.models.scorer import LIKELIHOOD_COLUMNS, MethodScorer
from geobias.texts.lazy_texts import TextSelection
from geobias.texts.templates import Sentences

Answered = tuple[np.ndarray, np.ndarray]


class LanguageScorer(MethodScorer):
    """One way of asking one language model; columns beside the score: tokens counted, unknown ones, tokens cut off."""

    lm: LanguageModel
    columns = LIKELIHOOD_COLUMNS
    takes_everything = True
    attention: str | None = None  # the one that this way of asking needs

    def __init__(self, lm: LanguageModel, method: str | None) -> None:
        self.lm = lm
        self.method = lm.checked(method)
        self.needs_mark = self.method in ("conditional", "answer")
        self._parts_of: Sentences | None = None  # a worker is asked for one block of sentences piece by piece
        self._parts: dict[int, Composed | None] = {}

    @property
    def fingerprint(self) -> str | None:
        return self.lm.identity_of(self.method)

    def to(self, device: str) -> None:
        self.lm.to(device)

    @property
    def composes(self) -> bool:
        """Whether template sentences are put together from the tokens of their parts."""
        return False

    def batches(self, texts: Sequence[str]) -> Iterator[Answered]:
        with self.lm.fast(attention=self.attention):
            templates = self._composed(texts)
            if templates is not None:
                yield from self._composed_batches(templates)
                return
            for start, share in prepared_ahead(texts, self._prepared):
                for some, answer in self._batches(share):
                    yield start + some, answer

    @abstractmethod
    def _prepared(self, texts: list[str]) -> Any:
        """The texts as tokens, ready to be read."""

    @abstractmethod
    def _batches(self, prepared: Any) -> Iterator[Answered]:
        """Positions among those texts, and rows of scores, as they come."""

    def _composed_batches(self, templates: list[OfTemplate]) -> Iterator[Answered]:
        """The same for template sentences."""
        begun = (
            (some, self.lm.begun(regions, scores))
            for one in templates
            for some, regions, scores in self._words(one.parts).batches(one)
        )
        for some, answer in read_late(begun, self.lm.device):
            yield some, self._rows(*answer.T)

    def _words(self, parts: Composed) -> TemplateWords:
        """How this model is asked about all words of a template."""
        raise NotImplementedError

    def _composed(self, texts: Sequence[str]) -> list[OfTemplate] | None:
        """Template sentences as parts, template by template; None where they cannot be put together."""
        if not (self.composes and isinstance(texts, TextSelection) and isinstance(texts.block, Sentences)):
            return None
        known = self._parts if self._parts_of is texts.block else {}
        if not known and len(texts) <= sum(texts.block.shape) + SAMPLED:  # few of many, and as soon tokenised
            return None
        self._parts_of, self._parts = texts.block, known
        template, region, word = texts.coordinates
        found = []
        for one in np.unique(template).tolist():
            if one not in known:
                known[one] = self._parts_of_template(texts.block, one)
            parts = known[one]
            if parts is None:
                return None
            at = np.flatnonzero(template == one)
            found.append(OfTemplate(parts, at, region[at], word[at]))
        return found if all(self._serves(one) for one in found) else None

    def _serves(self, one: OfTemplate) -> bool:
        """Whether these sentences are sooner read together."""
        return self._words(one.parts).serves(one)

    def _parts_of_template(self, sentences: Sentences, template: int) -> Composed | None:
        return composed(lambda some: self.lm.encode(some)[0], sentences, template, longest=self.lm.max_length)

    def _rows(self, total: np.ndarray, tokens: np.ndarray, unknown: np.ndarray, cut: np.ndarray) -> np.ndarray:
        """From the sum over each text's tokens, which is the score by `sum`; by all other methods it is their mean."""
        score = total if self.method == "sum" else total / np.maximum(tokens, 1)
        return np.column_stack([np.where(tokens == 0, np.nan, score), tokens, unknown, cut])  # no token, no score
