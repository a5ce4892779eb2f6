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

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import transformers

from geobias.errors import InputError
from geobias.models.batching import equal_length_batches
from geobias.models.loading import LoadedModel
from geobias.models.scorer import LOG_LIKELIHOOD, PROBE, StreamingScorer, checked_method
from geobias.prompts.templates import unmark

LOGITS_HELD = 2**24  # numbers of the vocabulary projection held at once: 64 MB in float32
BATCHES_COMPARED = 4  # batches of masked texts looked through together for equal ones


class MaskedLM(LoadedModel):
    """A loaded model with its tokenizer; `scorer(method)` gives the ways of asking it."""

    auto_class = transformers.AutoModelForMaskedLM
    kind = "masked-LM"

    def __init__(self, name: str, model: Any, tokenizer: Any, *, fingerprint: str) -> None:
        super().__init__(name, model, tokenizer, fingerprint=fingerprint)
        self.trained_on = False  # once it is, its fingerprint is that of another model
        self._check_head()

    def scorer(self, method: str = "aul") -> MaskedScorer:
        return MaskedScorer(self, method)

    @torch.inference_mode()
    def hidden(self, ids: torch.Tensor, *, attentions: bool = False) -> tuple[torch.Tensor, torch.Tensor | None]:
        """The last hidden layer; on request also the attention each token receives, over layers, heads and queries."""
        output = self.model.base_model(input_ids=ids, output_attentions=attentions)
        if not attentions:
            return output.last_hidden_state, None
        layers = output.encoder_attentions if "encoder_attentions" in output else output.attentions
        received = sum(layer.float().mean(dim=(1, 2)) for layer in layers) / len(layers)
        return output.last_hidden_state, received

    def representations(self, texts: Sequence[str]) -> np.ndarray:
        """A vector for each text: the last hidden layer, averaged over the text's own tokens (NaN without any)."""
        encodings, _ = self.encode(texts)
        lengths = np.array([len(encoding.ids) for encoding in encodings])
        rows: list[np.ndarray] = [np.empty(0)] * len(texts)
        for some in equal_length_batches(lengths, lengths, self.token_budget):
            hidden, _ = self.hidden(self.tensor(np.array([encodings[i].ids for i in some])))
            own = self.tensor(np.array([encodings[i].special_tokens_mask for i in some]) == 0)[..., None]
            means = (hidden.double() * own).sum(1) / own.sum(1)
            for i, mean in zip(some, means.cpu().numpy(), strict=True):
                rows[i] = mean
        return np.stack(rows)

    @torch.inference_mode()
    def log_probabilities(self, states: torch.Tensor, which: np.ndarray, targets: np.ndarray) -> np.ndarray:
        """log P of each target at state `which`; the projection to the vocabulary is held only in slices."""
        size = max(1, LOGITS_HELD // int(self.model.config.vocab_size))
        values = np.empty(len(targets))
        for start in range(0, len(states), size):
            logits = self._head(states[start : start + size]).float()
            here = np.flatnonzero((which >= start) & (which < start + size))
            rows, columns = self.tensor(which[here] - start), self.tensor(targets[here])
            values[here] = (logits[rows, columns] - logits.logsumexp(1)[rows]).double().cpu().numpy()
        return values

    def _head(self, states: torch.Tensor) -> torch.Tensor:
        """The model's own head on single positions: its forward pass with these states in place of the encoder's.

        Every architecture names and builds its head in its own way; letting the model run it needs no list of them.
        """
        base, output = self.model.base_model, self._output_type(last_hidden_state=states[None])
        base.forward = lambda *_, **__: output
        try:
            logits: torch.Tensor = self.model(input_ids=self._any_ids).logits[0]
        finally:
            del base.forward
        return logits

    @torch.inference_mode()
    def _check_head(self) -> None:
        """Make sure that the head looks at each position alone: the last two must give what they give among all."""
        self._any_ids = torch.tensor([self.tokenizer(PROBE)["input_ids"]], device=self.device)
        output = self.model.base_model(input_ids=self._any_ids)
        self._output_type = type(output)
        plain = self.model(input_ids=self._any_ids).logits[0, -2:].float()
        alone = self._head(output.last_hidden_state[0, -2:]).float()
        tolerance = 1e-3 if self.dtype == "float32" else 0.1
        if plain.shape != alone.shape or not torch.allclose(plain, alone, rtol=tolerance, atol=tolerance):
            raise InputError(
                f"{self.name} ({self.architecture}) does not predict token by token, so it cannot be asked as a "
                "masked language model."
            )


@dataclass
class _Encoded:
    """Texts as token ids, and for each which positions count and up to where the masks of `method` reach."""

    ids: list[np.ndarray]
    counted: list[np.ndarray]
    mask_end: list[np.ndarray]
    lengths: np.ndarray
    tokens: np.ndarray
    unknown: np.ndarray
    cut: np.ndarray


class MaskedScorer(StreamingScorer):
    """One way of asking one masked LM; columns beside the score: tokens counted, unknown ones, tokens cut off."""

    columns = (LOG_LIKELIHOOD, "tokens", "unknown", "cut")

    def __init__(self, lm: MaskedLM, method: str) -> None:
        self.lm = lm
        self.method = checked_method(method)
        self.needs_mark = method == "conditional"
        tokenizer = lm.tokenizer
        if method in ("pll", "pll-word", "conditional") and tokenizer.mask_token_id is None:
            raise InputError(f"{lm.name} has no mask token, which the score {method!r} needs; try --score aul.")

    @property
    def fingerprint(self) -> str | None:
        if self.lm.trained_on:
            return None
        return f"{self.lm.fingerprint}:{self.method}:{self.lm.dtype}:{self.lm.max_length}"

    def batches(self, texts: Sequence[str]) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        encoded = self._encode(texts)
        masked = self.method not in ("aul", "aula")
        passes = encoded.tokens if masked else np.ones(len(texts), dtype=np.int64)
        budget = self.lm.token_budget
        total = self._masked_total if masked else self._unmasked_total
        with _attention(self.lm.model, "eager" if self.method == "aula" else None):
            for some in equal_length_batches(
                encoded.lengths, encoded.lengths * passes, budget * BATCHES_COMPARED if masked else budget
            ):
                tokens = encoded.tokens[some]
                mean = total(encoded, some, budget) / np.where(tokens == 0, np.nan, tokens)  # no token, no score
                yield some, np.column_stack([mean, tokens, encoded.unknown[some], encoded.cut[some]])

    def _encode(self, texts: Sequence[str]) -> _Encoded:
        plain = [unmark(text) for text in texts]
        batch, cut = self.lm.encode([text for text, _, _ in plain])
        ids, counted, mask_end = [], [], []
        for encoding, (_, start, end) in zip(batch, plain, strict=True):
            own = np.array(encoding.special_tokens_mask) == 0
            if self.method == "conditional":
                offsets = np.array(encoding.offsets)
                own &= (offsets[:, 1] > start) & (offsets[:, 0] < end)
            positions = np.flatnonzero(own)
            ids.append(np.array(encoding.ids))
            counted.append(positions)
            mask_end.append(self._mask_ends(positions, encoding.word_ids))
        unknown_id = self.lm.tokenizer.unk_token_id
        return _Encoded(
            ids,
            counted,
            mask_end,
            lengths=np.array([len(row) for row in ids]),
            tokens=np.array([len(positions) for positions in counted]),
            unknown=np.array([(row[at] == unknown_id).sum() for row, at in zip(ids, counted, strict=True)]),
            cut=cut,
        )

    def _mask_ends(self, positions: np.ndarray, word_ids: Sequence[int | None]) -> np.ndarray:
        """For each counted token, the position before which masking stops when that token is read."""
        if self.method == "conditional" and len(positions):
            return np.full(len(positions), positions[-1] + 1)
        if self.method == "pll-word":
            words = np.array([word_ids[position] for position in positions])
            last = np.searchsorted(words, words, side="right") - 1
            return positions[last] + 1
        return positions + 1

    def _unmasked_total(self, encoded: _Encoded, texts: np.ndarray, budget: int) -> np.ndarray:
        """Sum over each text's tokens of their (weighed) log P, from one pass over the texts as they are."""
        ids = np.stack([encoded.ids[text] for text in texts])
        read = np.zeros(ids.shape, dtype=bool)
        for row, text in enumerate(texts):
            read[row, encoded.counted[text]] = True
        hidden, received = self.lm.hidden(self.lm.tensor(ids), attentions=self.method == "aula")
        where = self.lm.tensor(read)
        values = self.lm.log_probabilities(hidden[where], np.arange(read.sum()), ids[read])
        if received is not None:
            values *= received[where].double().cpu().numpy()
        return np.bincount(np.nonzero(read)[0], weights=values, minlength=len(texts))

    def _masked_total(self, encoded: _Encoded, texts: np.ndarray, budget: int) -> np.ndarray:
        """The same, each token from a pass in which it is masked.

        Masked texts are often the same: "People in Chad are [MASK]." asks for every word of one token at once.
        Each distinct one goes through the model once, and all its targets are read there.
        """
        row = np.repeat(np.arange(len(texts)), encoded.tokens[texts])
        if not len(row):  # nothing to read in any of them: the marked part lies beyond the cut
            return np.zeros(len(texts))
        position = np.concatenate([encoded.counted[text] for text in texts])
        end = np.concatenate([encoded.mask_end[text] for text in texts])
        ids = np.stack([encoded.ids[text] for text in texts])[row]
        column = np.arange(ids.shape[1])
        masked = (column >= position[:, None]) & (column < end[:, None])
        inputs = np.where(masked, self.lm.tokenizer.mask_token_id, ids)
        distinct, which = np.unique(np.column_stack([inputs, position]), axis=0, return_inverse=True)
        rows_at_once = max(1, budget // ids.shape[1])
        states = torch.cat(
            [
                self._state_at(part[:, :-1], part[:, -1])
                for part in np.split(distinct, range(0, len(distinct), rows_at_once)[1:])
            ]
        )
        values = self.lm.log_probabilities(states, which, ids[np.arange(len(ids)), position])
        return np.bincount(row, weights=values, minlength=len(texts))

    def _state_at(self, inputs: np.ndarray, positions: np.ndarray) -> torch.Tensor:
        """The hidden state of each row at its one position."""
        hidden, _ = self.lm.hidden(self.lm.tensor(inputs))
        return hidden[torch.arange(len(inputs), device=hidden.device), self.lm.tensor(positions)]


@contextmanager
def _attention(model: Any, implementation: str | None) -> Iterator[None]:
    """Attention weights exist in the plain implementation only; it is slower, so it is used only where asked for."""
    if implementation is None:
        yield
        return
    usual = model.config._attn_implementation
    model.set_attn_implementation(implementation)
    try:
        yield
    finally:
        model.set_attn_implementation(usual)
