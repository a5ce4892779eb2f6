"""Sequence-to-sequence models (BART, T5): how likely is it that the decoder writes this sentence?

| method | what the encoder reads | what counts |
|---|---|---|
| aul | the sentence itself, as HERB asks BART | the mean over the sentence's tokens, each given those before it |
| mean, sum | a mask alone: the decoder writes by itself | the mean, or the sum, over the sentence's tokens |
| conditional | the sentence with the marked part masked | the mean over the marked part's tokens |
| answer | what stands before the marked part | the same: the marked part is all that is written |

BART writes the whole sentence again, T5 only what its mask (`<extra_id_0>`) stands for: each as it was trained to.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch
import transformers
from transformers.modeling_outputs import BaseModelOutput

from geobias.errors import InputError
from geobias.models.batching import equal_length_batches
from geobias.models.language.language_model import LanguageModel
from geobias.models.language.language_scorer import Answered, LanguageScorer
from geobias.texts.templates import unmark

SENTINEL = "<extra_id_0>"  # T5's first mask


class Seq2SeqLM(LanguageModel):
    """A model that reads one text and writes another."""

    auto_class = transformers.AutoModelForSeq2SeqLM
    kind = "sequence-to-sequence LM"
    methods = ("aul", "mean", "sum", "conditional", "answer")
    default_method = "aul"
    perplexity_method = "mean"
    prompted_method = "answer"

    def __init__(self, name: str, model: Any, tokenizer: Any, *, fingerprint: str) -> None:
        super().__init__(name, model, tokenizer, fingerprint=fingerprint)
        sentinel = tokenizer.get_vocab().get(SENTINEL)
        self.writes_masks_only = sentinel is not None
        self.mask = tokenizer.mask_token_id if sentinel is None else sentinel
        starts = (getattr(part, "decoder_start_token_id", None) for part in (model.config, model.generation_config))
        self.start = next((token for token in starts if token is not None), tokenizer.pad_token_id)

    def scorer(self, method: str | None = None) -> Seq2SeqScorer:
        return Seq2SeqScorer(self, method)

    @torch.inference_mode()
    def states(self, ids: torch.Tensor) -> torch.Tensor:
        """The encoder's last hidden layer."""
        hidden: torch.Tensor = self.model.get_encoder()(input_ids=ids).last_hidden_state
        return hidden

    @torch.inference_mode()
    def written(self, read: torch.Tensor, ids: np.ndarray) -> torch.Tensor:
        """The decoder's last hidden layer, where these tokens are written after `read`, the encoder's states."""
        inputs = np.column_stack([np.full(len(ids), self.start), ids[:, :-1]])
        hidden: torch.Tensor = self.model.get_decoder()(
            input_ids=self.tensor(inputs), encoder_hidden_states=read, use_cache=False
        ).last_hidden_state
        return hidden

    def _core(self) -> Any:
        return self.model.get_decoder()

    def _probe(self, ids: torch.Tensor) -> dict[str, Any]:
        read = self.model.get_encoder()(input_ids=ids).last_hidden_state
        return {"encoder_outputs": BaseModelOutput(last_hidden_state=read), "decoder_input_ids": ids}


Asked = tuple[np.ndarray, np.ndarray, np.ndarray]  # what is read, what is written, and which of the latter count


class Seq2SeqScorer(LanguageScorer):
    lm: Seq2SeqLM

    def __init__(self, lm: Seq2SeqLM, method: str | None) -> None:
        super().__init__(lm, method)
        if self.method not in ("aul", "answer") and lm.mask is None:
            raise InputError(f"{lm.name} has no mask token, which the score {self.method!r} needs; try --score aul.")

    def _prepared(self, texts: list[str]) -> tuple[list[Asked], np.ndarray]:
        plain = [unmark(text) for text in texts]
        if self.method == "answer":
            return self._answers(plain)
        encodings, cut = self.lm.encode([text for text, _, _ in plain], reserve=1)
        return [self._asked(encoding, *span) for encoding, (_, *span) in zip(encodings, plain, strict=True)], cut

    def _batches(self, prepared: tuple[list[Asked], np.ndarray]) -> Iterator[Answered]:
        asked, cut = prepared
        read, written, counted = zip(*asked, strict=True) if asked else ((), (), ())
        tokens = np.array([len(positions) for positions in counted])
        unknown_id = self.lm.tokenizer.unk_token_id
        unknown = np.array([(row[at] == unknown_id).sum() for row, at in zip(written, counted, strict=True)])
        lengths = np.array([[len(source), len(target)] for source, target in zip(read, written, strict=True)])
        shapes = lengths @ [2**20, 1] if len(lengths) else np.empty(0, dtype=np.int64)
        for some in equal_length_batches(shapes, lengths.sum(axis=1) if len(lengths) else shapes, self.lm.budget):
            total = self.lm.fitting(
                some,
                lambda these: self._totals(
                    [read[i] for i in these], [written[i] for i in these], [counted[i] for i in these]
                ),
            )
            yield some, self._rows(total, tokens[some], unknown[some], cut[some])

    def _answers(self, plain: Sequence[tuple[str, int, int]]) -> tuple[list[Asked], np.ndarray]:
        """The same where the encoder reads what stands before the marked part, and the decoder writes that part."""
        read, cut = self.lm.encode([text[:start] for text, start, _ in plain])
        written, _ = self.lm.encode([text[start:end] for text, start, end in plain])
        own = [np.flatnonzero(np.array(encoding.special_tokens_mask) == 0) for encoding in written]
        parts = zip(read, written, own, strict=True)
        return [(np.array(source.ids), np.array(target.ids), at) for source, target, at in parts], cut

    def _asked(self, encoding: Any, start: int, end: int) -> Asked:
        """What the encoder reads, what the decoder writes, and the positions in the latter that count."""
        ids, own = np.array(encoding.ids), np.array(encoding.special_tokens_mask) == 0
        if self.method == "aul":
            return ids, ids, np.flatnonzero(own)
        offsets = np.array(encoding.offsets).reshape(-1, 2)
        if self.method == "conditional":
            hidden = own & (offsets[:, 1] > start) & (offsets[:, 0] < end)
        else:
            hidden = own
        at = np.flatnonzero(hidden)
        if not len(at):  # the marked part lies beyond the cut: nothing counts
            return ids, ids, at
        read = np.concatenate([ids[: at[0]], [self.lm.mask], ids[at[-1] + 1 :]])
        if self.lm.writes_masks_only:
            return read, np.concatenate([[self.lm.mask], ids[at]]), np.arange(1, len(at) + 1)
        return read, ids, at

    def _totals(
        self, read: Sequence[np.ndarray], written: Sequence[np.ndarray], counted: Sequence[np.ndarray]
    ) -> np.ndarray:
        """The sum over each text's counted tokens of their log P; what several have in common is read once."""
        owner = np.repeat(np.arange(len(counted)), [len(positions) for positions in counted])
        if not len(owner):
            return np.zeros(len(counted))
        sources, which_source = np.unique(np.stack(read), axis=0, return_inverse=True)
        targets = np.stack(written)
        encoded = self.lm.states(self.lm.tensor(sources))[self.lm.tensor(which_source.reshape(-1))]
        place = np.concatenate(counted)
        states = self.lm.written(encoded, targets)[self.lm.tensor(owner), self.lm.tensor(place)]
        values = self.lm.log_probabilities(states, np.arange(len(owner)), targets[owner, place]).cpu().numpy()
        return np.bincount(owner, weights=values, minlength=len(counted))
