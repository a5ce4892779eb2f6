"""What all ways of asking a language model share: answers that stream, and template sentences made of their parts."""

from __future__ import annotations

from abc import abstractmethod
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import torch

from geobias.models.batching import prepared_ahead
from geobias.models.composing import SAMPLED, Composed, OfTemplate, composed
from geobias.models.language import LanguageModel
from geobias.models.loading import within_memory
from geobias.models.scorer import LIKELIHOOD_COLUMNS, StreamingScorer
from geobias.models.template_words import TemplateWords
from geobias.prompts.lazy import SomeTexts
from geobias.prompts.templates import Sentences

BATCHES_AHEAD = 8  # handed to a GPU before the answers of the first are read

Answered = tuple[np.ndarray, np.ndarray]


class LanguageScorer(StreamingScorer):
    """One way of asking one language model; columns beside the score: tokens counted, unknown ones, tokens cut off."""

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
            (some, self._begun(regions, scores))
            for one in templates
            for some, regions, scores in self._words(one.parts).batches(one)
        )
        for some, answer in self._read_late(begun):
            yield some, self._rows(*answer.T)

    def _words(self, parts: Composed) -> TemplateWords:
        """How this model is asked about all words of a template."""
        raise NotImplementedError

    def _composed(self, texts: Sequence[str]) -> list[OfTemplate] | None:
        """Template sentences as parts, template by template; None where they cannot be put together."""
        if not (self.composes and isinstance(texts, SomeTexts) and isinstance(texts.of, Sentences)):
            return None
        known = self._parts if self._parts_of is texts.of else {}
        if not known and len(texts) <= sum(texts.of.shape) + SAMPLED:  # few of many, and as soon tokenised
            return None
        self._parts_of, self._parts = texts.of, known
        template, region, word = texts.coordinates
        found = []
        for one in np.unique(template).tolist():
            if one not in known:
                known[one] = self._parts_of_template(texts.of, one)
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

    def _read_late(self, begun: Iterable[tuple[np.ndarray, Callable[[], np.ndarray]]]) -> Iterator[Answered]:
        """Answers are read some batches late: a GPU has work while the last ones are kept and the next are made."""
        waiting: deque[tuple[np.ndarray, Callable[[], np.ndarray]]] = deque()
        ahead = BATCHES_AHEAD if self.lm.device.type == "cuda" else 0
        for batch in begun:
            waiting.append(batch)
            if len(waiting) > ahead:
                some, answer = waiting.popleft()
                yield some, answer()
        for some, answer in waiting:
            yield some, answer()

    def _begun(self, some: np.ndarray, compute: Callable[[np.ndarray], torch.Tensor]) -> Callable[[], np.ndarray]:
        """Start a batch, and give what will have its answer. Where memory does not suffice it is had at once."""
        answer = within_memory(compute, some)
        if answer is not None:
            return lambda: answer.cpu().numpy()
        found = self.lm.fitting(some, lambda fewer: compute(fewer).cpu().numpy())
        return lambda: found

    def _rows(self, total: np.ndarray, tokens: np.ndarray, unknown: np.ndarray, cut: np.ndarray) -> np.ndarray:
        """From the sum over each text's tokens, which is the score by `sum`; by all other methods it is their mean."""
        score = total if self.method == "sum" else total / np.maximum(tokens, 1)
        return np.column_stack([np.where(tokens == 0, np.nan, score), tokens, unknown, cut])  # no token, no score
