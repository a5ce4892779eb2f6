"""Masked language models: how likely is this sentence?

| method | log P of each token, given | after |
|---|---|---|
| aul | the whole unmasked sentence, in one forward pass | Kaneko and Bollegala 2022; HERB Eq. 1 |
| aula | the same, weighed by the attention the token receives | Kaneko and Bollegala 2022 |
| pll | the sentence with that token masked | Salazar et al. 2020 |
| pll-word | ... with the later pieces of its word masked too | Kauf and Ivanova 2023 |
| conditional | ... of the marked part: it and the later tokens of that part masked, the rest in sight | |

A score is the mean over the sentence's own tokens (for `conditional`, the marked ones); tokens that a
tokenizer adds ([CLS], </s>, ...) never count.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
import transformers

from geobias.errors import InputError
from geobias.models.batching import equal_length_batches
from geobias.models.fast.composing import Composed, ComposedRows, OfTemplate
from geobias.models.fast.gpu_queue import Answer, read_late
from geobias.models.fast.last_layer import Choose, LastLayer, last_layer
from geobias.models.language.language_model import LanguageModel
from geobias.models.language.language_scorer import Answered, LanguageScorer
from geobias.models.language.masked_templates import MaskedWords
from geobias.models.scorer import PROBE
from geobias.models.token_arrays import Ragged, Tokens
from geobias.texts.templates import unmark

BATCHES_COMPARED = 4  # batches of masked texts looked through together for equal ones


class MaskedLM(LanguageModel):
    """A model that fills in masks, asked by reading or by masking the tokens of a text."""

    auto_class = transformers.AutoModelForMaskedLM
    kind = "masked-LM"
    methods = ("aul", "aula", "pll", "pll-word", "conditional")
    default_method = "aul"
    perplexity_method = "pll"

    def scorer(self, method: str | None = None) -> MaskedScorer:
        return MaskedScorer(self, method)

    def _settle(self) -> None:
        super()._settle()
        self.last_layer = self._tried_last_layer()

    @torch.inference_mode()
    def states_at(self, ids: torch.Tensor, positions: torch.Tensor) -> torch.Tensor:
        """The last hidden layer of each text at one position."""
        text = torch.arange(len(ids), device=ids.device)
        return self.chosen_states(ids, lambda states: states[text, positions][:, None])[:, 0]

    @torch.inference_mode()
    def chosen_states(self, ids: torch.Tensor, choose: Choose) -> torch.Tensor:
        """Some states of the last hidden layer."""
        if self.last_layer is None:
            return choose(self.states(ids))
        with self.last_layer.reading(choose):
            return self.states(ids)

    def _tried_last_layer(self) -> LastLayer | None:
        """The last layer, if it gives at single positions what it gives among all."""
        ids = torch.tensor([self.tokenizer(PROBE)["input_ids"]] * 2, device=self.device)
        positions = torch.tensor([1, 2], device=self.device)
        self.last_layer = None
        plain = self.states_at(ids, positions)
        self.last_layer = last_layer(self._core())
        try:
            found = self.states_at(ids, positions)
        except Exception:  # a layer that only looks like one of those
            return None
        return self.last_layer if self._alike(plain.float(), found) else None

    @torch.inference_mode()
    def states_and_attention(self, ids: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """The last hidden layer, and the attention each token receives, over layers, heads and queries."""
        output = self.model.base_model(input_ids=ids, output_attentions=True)
        received = sum(layer.float().mean(dim=(1, 2)) for layer in output.attentions) / len(output.attentions)
        return output.last_hidden_state, received


@dataclass
class _Encoded:
    """Texts as token ids, which of them count, and before which position the masks end when one is read."""

    ids: Ragged
    counted: Ragged
    mask_end: Ragged
    tokens: np.ndarray
    unknown: np.ndarray
    cut: np.ndarray


class MaskedScorer(LanguageScorer):
    lm: MaskedLM

    def __init__(self, lm: MaskedLM, method: str | None) -> None:
        super().__init__(lm, method)
        self.attention = "eager" if self.method == "aula" else None  # others do not tell what they attend to
        if self.method in ("pll", "pll-word", "conditional") and lm.tokenizer.mask_token_id is None:
            raise InputError(f"{lm.name} has no mask token, which the score {self.method!r} needs; try --score aul.")

    @property
    def composes(self) -> bool:
        return self.method in ("aul", "conditional")

    def _batches(self, encoded: _Encoded) -> Iterator[Answered]:
        masked = self.method not in ("aul", "aula")
        passes = encoded.tokens if masked else np.ones_like(encoded.tokens)
        total = self._masked_total if masked else self._unmasked_total
        costs = encoded.ids.lengths * passes // (BATCHES_COMPARED if masked else 1)
        for batch in equal_length_batches(encoded.ids.lengths, costs, self.lm.budget):
            found = self.lm.fitting(batch, lambda some: total(encoded, some))
            yield batch, self._rows(found, encoded.tokens[batch], encoded.unknown[batch], encoded.cut[batch])

    def _words(self, parts: Composed) -> MaskedWords:
        return MaskedWords(self.lm, parts)

    def _serves(self, one: OfTemplate) -> bool:
        return self.method == "aul" or super()._serves(one)

    def _composed_batches(self, templates: list[OfTemplate]) -> Iterator[Answered]:
        if self.method != "aul":
            return super()._composed_batches(templates)
        return read_late(self._begun_batches(templates), self.lm.device)

    def _begun_batches(self, templates: list[OfTemplate]) -> Iterator[tuple[np.ndarray, Answer]]:
        for one in templates:
            rows = ComposedRows(one.parts, one.regions, one.words, self.lm.device)
            scores = partial(self._sentence_scores, rows)
            for batch in equal_length_batches(rows.lengths, rows.lengths, self.lm.budget):
                yield one.at[batch], self.lm.begun(batch, scores)

    @torch.inference_mode()
    def _sentence_scores(self, rows: ComposedRows, batch: np.ndarray) -> torch.Tensor:
        """AUL of sentences of one length, with the columns beside it."""
        ids, own = rows.ids(batch)
        hidden = self.lm.chosen_states(ids, lambda states: states[:, own])
        targets = ids[:, own]
        tokens = targets.shape[1]
        values = self.lm.log_p(hidden.reshape(-1, hidden.shape[-1]), targets.reshape(-1)).double()
        mean = values.view(-1, tokens).sum(1) / tokens
        unknown_id = self.lm.tokenizer.unk_token_id
        unknown = (targets == (-1 if unknown_id is None else unknown_id)).sum(1).double()
        return torch.stack([mean, torch.full_like(mean, tokens), unknown, torch.zeros_like(mean)], 1)

    def _prepared(self, texts: list[str]) -> _Encoded:
        plain, start, end = zip(*map(unmark, texts), strict=True)
        encodings, cut = self.lm.encode(plain)
        tokens = Tokens(encodings)
        ids = tokens.ids
        counted = tokens.inside(start, end) if self.method == "conditional" else tokens.own
        return _Encoded(
            ids,
            ids.beside(counted),
            ids.beside(self._mask_ends(tokens, counted)),
            tokens=ids.count(counted),
            unknown=ids.count(counted & (ids.numbers == self.lm.tokenizer.unk_token_id)),
            cut=cut,
        )

    def _mask_ends(self, tokens: Tokens, counted: np.ndarray) -> np.ndarray:
        """For every token, the position before which masking stops when it is read; only counted ones are."""
        row, place = tokens.ids.row, tokens.ids.place
        if self.method == "conditional":
            last = np.zeros(len(tokens.ids), dtype=np.int64)
            last[row[counted]] = place[counted]  # of several the last one stays
            return last[row] + 1
        if self.method == "pll-word":
            begins = (np.diff(tokens.words, prepend=-2) != 0) | (place == 0)
            word = np.cumsum(begins) - 1
            ends = np.flatnonzero(np.roll(begins, -1))  # before the next one begins; the first always begins
            return place[ends][word] + 1
        return place + 1

    def _unmasked_total(self, encoded: _Encoded, texts: np.ndarray) -> np.ndarray:
        """Sum over each text's tokens of their (weighed) log P, from one pass over the texts as they are."""
        ids = encoded.ids.of(texts)
        read = encoded.counted.of(texts)
        received, where = None, self.lm.tensor(read)
        if self.method == "aula":
            hidden, received = self.lm.states_and_attention(self.lm.tensor(ids))
        else:
            hidden = self.lm.states(self.lm.tensor(ids))
        values = self.lm.log_p(hidden[where], self.lm.tensor(ids[read])).double().cpu().numpy()
        if received is not None:
            values *= received[where].double().cpu().numpy()
        return np.bincount(np.nonzero(read)[0], weights=values, minlength=len(texts))

    def _masked_total(self, encoded: _Encoded, texts: np.ndarray) -> np.ndarray:
        """The same, each token from a pass in which it is masked.

        Masked texts are often the same: "People in Chad are [MASK]." asks for every word of one token at once.
        Each distinct one goes through the model once, and all its targets are read there.
        """
        counted = encoded.counted.of(texts)
        row, position = np.nonzero(counted)
        if not len(row):  # nothing to read in any of them: the marked part lies beyond the cut
            return np.zeros(len(texts))
        end = encoded.mask_end.of(texts)[counted]
        ids = encoded.ids.of(texts)[row]
        column = np.arange(ids.shape[1])
        masked = (column >= position[:, None]) & (column < end[:, None])
        inputs = np.where(masked, self.lm.tokenizer.mask_token_id, ids)
        distinct, which = np.unique(np.column_stack([inputs, position]), axis=0, return_inverse=True)
        rows_at_once = max(1, self.lm.token_budget // ids.shape[1])
        states = torch.cat(
            [
                self._state_at(part[:, :-1], part[:, -1])
                for part in np.split(distinct, range(0, len(distinct), rows_at_once)[1:])
            ]
        )
        values = self.lm.log_probabilities(states, which, ids[np.arange(len(ids)), position]).cpu().numpy()
        return np.bincount(row, weights=values, minlength=len(texts))

    def _state_at(self, inputs: np.ndarray, positions: np.ndarray) -> torch.Tensor:
        """The hidden state of each row at its one position."""
        return self.lm.states_at(self.lm.tensor(inputs), self.lm.tensor(positions))
