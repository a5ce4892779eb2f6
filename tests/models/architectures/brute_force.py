"""Scores by their definitions: the model's own forward pass on one text, log_softmax, a loop over tokens."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch

from geobias.texts.templates import unmark
from tests.models.architectures.tiny_models import KINDS

SENTINEL = "<extra_id_0>"


class PlainModel:
    """A model and its tokenizer, as transformers loads them; `score` gives one score of one text."""

    def __init__(self, kind: str, folder: Path, tokenizer: Any) -> None:
        self.kind, self.tokenizer = kind, tokenizer
        self.model = KINDS[kind][0].from_pretrained(folder).eval()
        self.vocabulary = tokenizer.get_vocab()
        self.tables: dict[Any, torch.Tensor] = {}  # positions x words, by the inputs
        self.options = {"use_cache": False} if kind == "seq2seq" else {}

    def score(self, method: str, text: str) -> float:
        return float(np.mean(getattr(self, f"_{self.kind}")(method, *unmark(text))))

    def _encode(self, text: str, start: int, end: int) -> tuple[list[int], list[int], list[int]]:
        """Token ids; the positions of the text's own tokens, and of those inside a part of it."""
        encoding = self.tokenizer(text, return_special_tokens_mask=True, return_offsets_mapping=True)
        own = [place for place, special in enumerate(encoding["special_tokens_mask"]) if not special]
        offsets = encoding["offset_mapping"]
        inside = [place for place in own if offsets[place][1] > start and offsets[place][0] < end]
        return encoding["input_ids"], own, inside

    def _log_p(self, place: int, token: int, **inputs: list[int]) -> float:
        """log P of a token at a place of the output."""
        key = tuple((name, *ids) for name, ids in inputs.items())
        if key not in self.tables:
            with torch.no_grad():
                output = self.model(**{name: torch.tensor([ids]) for name, ids in inputs.items()}, **self.options)
            self.tables[key] = torch.log_softmax(output.logits[0].double(), -1)
        return float(self.tables[key][place, token])

    def _masked(self, method: str, text: str, start: int, end: int) -> list[float]:
        ids, own, inside = self._encode(text, start, end)
        if method == "aula":
            return self._weighted(ids, own)
        if method == "aul":
            return [self._log_p(place, ids[place], input_ids=ids) for place in own]
        mask, values = self.tokenizer.mask_token_id, []
        for place in own if method == "pll" else inside:
            last = place if method == "pll" else inside[-1]
            masked = [mask if place <= other <= last else token for other, token in enumerate(ids)]
            values.append(self._log_p(place, ids[place], input_ids=masked))
        return values

    def _weighted(self, ids: list[int], own: list[int]) -> list[float]:
        """AULA: log P by the mean attention that a token receives, which "eager" models return."""
        self.model.set_attn_implementation("eager")
        with torch.no_grad():
            output = self.model(input_ids=torch.tensor([ids]), output_attentions=True)
        received = torch.stack(output.attentions).double().mean(dim=(0, 2, 3))[0]
        table = torch.log_softmax(output.logits[0].double(), -1)
        return [float(received[place] * table[place, ids[place]]) for place in own]

    def _causal(self, method: str, text: str, start: int, end: int) -> list[float]:
        ids, own, inside = self._encode(text, start, end)
        places = own if method == "mean" else inside
        return [self._log_p(-1, ids[place], input_ids=ids[:place]) for place in places]

    def _seq2seq(self, method: str, text: str, start: int, end: int) -> list[float]:
        ids, own, inside = self._encode(text, start, end)
        read, written, places = ids, ids, own
        if method != "aul":
            hidden = own if method == "mean" else inside
            has_sentinels = SENTINEL in self.vocabulary
            mask = self.vocabulary[SENTINEL if has_sentinels else "<mask>"]
            read, places = [*ids[: hidden[0]], mask, *ids[hidden[-1] + 1 :]], hidden
            if has_sentinels:
                written = [mask, *(ids[place] for place in hidden)]
                places = list(range(1, len(written)))
        begin = self.model.config.decoder_start_token_id
        return [
            self._log_p(-1, written[place], input_ids=read, decoder_input_ids=[begin, *written[:place]])
            for place in places
        ]
