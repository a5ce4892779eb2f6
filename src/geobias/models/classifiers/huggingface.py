"""Text classifiers of transformers: which label fits this text, and how surely?

A classifier is its own scorer: there is one way of asking it. Labels that exclude each other share one (softmax); where
each stands for itself, or there is only one, every label has a probability of its own (sigmoid).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from functools import cached_property, partial
from typing import Any

import numpy as np
import torch
import transformers

from geobias.errors import InputError
from geobias.models.batching import equal_length_batches, prepared_ahead
from geobias.models.fast.gpu_queue import PendingResult
from geobias.models.fast.last_layer import find_last_layer, select_first
from geobias.models.pretrained import LoadedModel, base_model
from geobias.models.scorer import PROBE, StreamingScorer, probability_columns
from geobias.models.token_arrays import Ragged, Tokens

NO_TOKEN = -1  # an id that no token has


class Classifier(LoadedModel, StreamingScorer):
    """A loaded sequence classifier with its tokenizer; columns: p(label) for each label, and the tokens cut off."""

    auto_class = transformers.AutoModelForSequenceClassification
    kind = "classifier"
    takes_everything = True

    def __init__(self, name: str, model: Any, tokenizer: Any, *, fingerprint: str) -> None:
        super().__init__(name, model, tokenizer, fingerprint=fingerprint)
        config = model.config
        if config.problem_type == "regression":
            raise InputError(f"{name} gives a number on a scale, not probabilities of labels: give a classifier.")
        self.labels = tuple(str(label) for _, label in sorted(config.id2label.items()))
        if len(set(self.labels)) < len(self.labels):
            raise InputError(
                f"{name} has two labels of one name ({', '.join(self.labels)}): tell them apart in its config.json."
            )
        self.columns = probability_columns(self.labels)
        self.multi_label = config.problem_type == "multi_label_classification" or len(self.labels) == 1
        output = "sigmoid" if self.multi_label else "softmax"
        self.fingerprint = f"{fingerprint}:classifier:{output}:{self.dtype}:{self.max_length}{self.fast.identity}"
        # XLNet and Funnel number their added tokens; others take zeros for granted, or take no kinds.
        self.tells_kinds = any(self.encode([PROBE])[0][0].type_ids)
        # Causal models look for the last token that is not padding, and refuse a batch where they know no padding.
        # Here nothing is padded: with an id that never occurs they find the last token of each text.
        text_config = config.get_text_config()
        if text_config.pad_token_id is None:
            text_config.pad_token_id = NO_TOKEN

    @cached_property
    def base(self) -> str | None:
        """The language model that this classifier was made from, where its card tells; it may ask the hub."""
        return base_model(self.name, self.model.name_or_path)

    def _settle(self) -> None:
        super()._settle()
        if "last_layer" in self.fast.allowed:
            ids = torch.tensor([self.tokenizer(PROBE)["input_ids"]] * 2, device=self.device)
            first = torch.zeros(2, dtype=torch.int64, device=self.device)
            self.fast.last_layer = find_last_layer(
                self.model.base_model, lambda: self.model(input_ids=ids).logits, first
            )

    def batches(self, texts: Sequence[str]) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        with self.fast.use():
            for (some, cut), probabilities in self.finish(self._start_batches(texts)):
                yield some, np.column_stack([probabilities, cut])

    def _start_batches(self, texts: Sequence[str]) -> Iterator[tuple[tuple[np.ndarray, np.ndarray], PendingResult]]:
        """Positions among the texts, how many tokens of each were cut off, and what will have their probabilities."""
        for start, (ids, kinds, cut) in prepared_ahead(texts, self._prepared):
            probabilities = partial(self._probabilities, ids, kinds)
            for batch in equal_length_batches(ids.lengths, ids.lengths, self.budget):
                yield (start + batch, cut[batch]), self.begun(batch, probabilities)

    def _prepared(self, texts: list[str]) -> tuple[Ragged, Ragged | None, np.ndarray]:
        """The texts as tokens, the kinds of these tokens if there are several, how many of each text were cut off."""
        encodings, cut = self.encode(texts)
        tokens = Tokens(encodings)
        if not tokens.ids.lengths.all():
            text = texts[int(np.argmin(tokens.ids.lengths))]
            raise InputError(f"{self.name} finds no token in the text {text[:60]!r}: leave it out.")
        return tokens.ids, tokens.kinds if self.tells_kinds else None, cut

    @torch.inference_mode()
    def _probabilities(self, ids: Ragged, kinds: Ragged | None, some: np.ndarray) -> torch.Tensor:
        """Texts x labels. Taken in float64, so that rows sum to one whatever the precision of the model."""
        inputs = {"input_ids": self.tensor(ids.of(some))}
        if kinds is not None:
            inputs["token_type_ids"] = self.tensor(kinds.of(some))
        with self.fast.last_layer.reading(select_first) if self.fast.last_layer else nullcontext():
            logits = self.model(**inputs).logits.double()
        probabilities: torch.Tensor = logits.sigmoid() if self.multi_label else logits.softmax(1)
        return probabilities
