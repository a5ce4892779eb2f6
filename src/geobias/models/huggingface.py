"""Text classifiers of transformers: the probability of each label.

Labels that exclude each other sum to one (softmax). If labels can hold together, or there is only one, each has a
separate probability (sigmoid).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import huggingface_hub
import numpy as np
import torch
import transformers

from geobias.errors import InputError
from geobias.models.batching import Ragged, Tokens, equal_length_batches, prepared_ahead
from geobias.models.pretrained import LoadedModel
from geobias.models.scorer import (
    EMBEDDED_CLASSIFIERS,
    EMBEDDED_LM,
    PROBABILITIES,
    PROBE,
    Classifier,
    ModelIdentity,
    ScoreBlock,
    StreamingScorer,
    probability_columns,
)


class HuggingFaceClassifier(LoadedModel, Classifier, StreamingScorer):
    """A loaded sequence classifier with its tokenizer."""

    auto_class = transformers.AutoModelForSequenceClassification
    kind = "classifier"
    version = 1  # as of a `LanguageScorer`
    has_digest = True
    takes_everything = True

    def __init__(
        self, name: str, model: Any, tokenizer: Any, *, fingerprint: str, multi_label: bool | None = None
    ) -> None:
        """Wrap a loaded model. `multi_label` says whether labels can hold together; by default its configuration."""
        super().__init__(name, model, tokenizer, fingerprint=fingerprint)
        config = model.config
        if config.problem_type == "regression":
            raise InputError(f"{name} is a regression model and has no label probabilities. Use a classifier.")
        self.labels = tuple(str(label) for _, label in sorted(config.id2label.items()))
        if len(set(self.labels)) < len(self.labels):
            raise InputError(f"{name} has duplicate labels ({', '.join(self.labels)}). Rename them in its config.json.")
        self.columns = probability_columns(self.labels)
        if multi_label is None:
            multi_label = config.problem_type == "multi_label_classification"
        self.multi_label = multi_label or len(self.labels) == 1
        output = "sigmoid" if self.multi_label else "softmax"
        settings = f"{output}:{self.version}:{self.dtype}:{self.max_length}{self.fast.identity}"
        self.fingerprint = f"{fingerprint}:classifier:{settings}"
        # XLNet and Funnel have token types of their own; other models assume zeros, or have none.
        self.has_token_types = any(self.encode([PROBE])[0][0].type_ids)
        # Causal models read the last token that is not padding, and refuse a batch if no padding token is set.
        # Nothing is padded here: with an id that never occurs they find the last token of each text.
        text_config = config.get_text_config()
        if text_config.pad_token_id is None:
            text_config.pad_token_id = -1

    @cached_property
    def base(self) -> str | None:  # type: ignore[override]  # computed, for it may ask the hub
        """The language model that this classifier was made from, if its card says so."""
        return find_base_model(self.name, self.model.name_or_path)

    @property
    def has_local_card(self) -> bool:  # type: ignore[override]
        return self.name not in EMBEDDED_CLASSIFIERS and Path(self.model.name_or_path).is_dir()

    def identity(self) -> ModelIdentity:
        return self.describe(PROBABILITIES, self.fingerprint)

    def batches(self, texts: Sequence[str]) -> Iterator[ScoreBlock]:
        with self.fast.use():
            for start, (ids, types, cut) in prepared_ahead(texts, self._tokenise):
                for batch in equal_length_batches(ids.lengths, ids.lengths, self.budget):
                    probabilities = self.fitting(batch, partial(self._probabilities, ids, types))
                    yield start + batch, np.column_stack([probabilities, cut[batch]])

    def _tokenise(self, texts: list[str]) -> tuple[Ragged, Ragged | None, np.ndarray]:
        """Return the tokens of the texts, their types if there are several, and how many of each text were cut off."""
        encodings, cut = self.encode(texts)
        tokens = Tokens(encodings)
        if not tokens.ids.lengths.all():
            text = texts[int(np.argmin(tokens.ids.lengths))]
            raise InputError(f"{self.name} has no tokens for the text {text[:60]!r}. Remove the text.")
        return tokens.ids, tokens.kinds if self.has_token_types else None, cut

    @torch.inference_mode()
    def _probabilities(self, ids: Ragged, types: Ragged | None, positions: np.ndarray) -> np.ndarray:
        """Return texts x labels, in float64, so that rows sum to one whatever the precision of the model."""
        inputs = {"input_ids": self.tensor(ids.take(positions))}
        if types is not None:
            inputs["token_type_ids"] = self.tensor(types.take(positions))
        logits = self.run_model(self.model, **inputs).logits.double()
        return np.asarray((logits.sigmoid() if self.multi_label else logits.softmax(1)).cpu())


def find_base_model(name: str, source: str) -> str | None:
    """Return the language model that a model was fine-tuned from, as its card names it; None if it does not."""
    if name in EMBEDDED_CLASSIFIERS:
        return EMBEDDED_LM
    try:
        if Path(source).is_dir():
            card: Any = huggingface_hub.ModelCard.load(Path(source) / "README.md").data
        else:
            card = huggingface_hub.model_info(source, timeout=10).card_data
    except Exception:  # no card, a broken one, no hub: a run must not fail for it
        return None
    base = getattr(card, "base_model", None)
    if isinstance(base, list) and base:
        base = base[0]
    return base if isinstance(base, str) and base.strip() else None
