"""Sequence-to-sequence models (BART, T5): how likely is it that the decoder writes this sentence?

| score | what the encoder reads | what counts |
|---|---|---|
| aul | the sentence itself, as HERB scores BART | the mean over the sentence's tokens, each given those before it |
| mean, sum | a mask alone: the decoder writes by itself | the mean, or the sum, over the sentence's tokens |
| conditional | the sentence with the marked part masked | the mean over the marked part's tokens |
| answer | the text before the marked part | the mean over the marked part's tokens, which is all that is written |

BART writes the whole sentence again, T5 only what its mask (`<extra_id_0>`) stands for: each as it was trained to.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
import torch
import transformers

from geobias.models.language_model import Inputs, LanguageModel, LanguageScorer, PreparedTexts
from geobias.texts.templates import unmark

SENTINEL = "<extra_id_0>"  # T5's first mask
# Token ids that the encoder reads, those that the decoder writes, and the positions of the latter that count.
Exchange = tuple[np.ndarray, np.ndarray, np.ndarray]


class ExchangedTexts(PreparedTexts):
    """What is read and written for each text."""

    def __init__(self, exchanges: Sequence[Exchange], cut: np.ndarray, unknown_id: int | None) -> None:
        self.exchanges = exchanges
        lengths = np.array([[len(read), len(written)] for read, written, _ in exchanges])
        tokens = np.array([len(counted) for _, _, counted in exchanges])
        unknown = np.array([(written[counted] == unknown_id).sum() for _, written, counted in exchanges])
        super().__init__(lengths @ [2**20, 1], lengths.sum(axis=1), tokens, unknown, cut)


class Seq2SeqScorer(LanguageScorer):
    """The mean log P of the sentence S, which the encoder reads and the decoder writes again: the score `aul`.

        AUL(S) = 1/|S| * sum_i log P(w_i | S, w_1 ... w_{i-1})

    This is what HERB (Li et al. 2022) computes for BART. Other scores differ in what is read, written and counted.
    """

    version = 1
    lm: Seq2SeqLM

    def _exchange(self, encoding: Any, start: int, end: int) -> Exchange:
        """What is read and written for a text, of which the part from `start` to `end` is marked."""
        ids = np.array(encoding.ids)
        return ids, ids, np.flatnonzero(np.array(encoding.special_tokens_mask) == 0)

    def _prepare(self, texts: list[str]) -> ExchangedTexts:
        plain, start, end = zip(*map(unmark, texts), strict=True)
        encodings, cut = self.lm.encode(plain, reserve=1)
        exchanges = list(map(self._exchange, encodings, start, end))
        return ExchangedTexts(exchanges, cut, self.lm.tokenizer.unk_token_id)

    def _total(self, texts: ExchangedTexts, batch: np.ndarray) -> np.ndarray:
        read, written, counted = zip(*(texts.exchanges[text] for text in batch), strict=True)
        owner, place = np.repeat(np.arange(len(batch)), texts.tokens[batch]), np.concatenate(counted)
        output = np.stack(written)
        inputs = {"input_ids": np.stack(read), "decoder_input_ids": self.lm.decoder_inputs(output)}
        return self.lm.sum_log_p(inputs, owner, place, output[owner, place])


class Seq2SeqMaskScorer(Seq2SeqScorer):
    """The encoder reads a mask in place of the sentence S or of its marked part D = d_1 ... d_n, which are written.

    mean(S) = 1/|S| * sum_i log P(w_i | mask, w_1 ... w_{i-1})
    sum(S) = sum_i log P(w_i | mask, w_1 ... w_{i-1})
    conditional(S) = 1/n * sum_i log P(d_i | S with D masked, what is written before d_i)
    """

    version = 1
    needs_mask = True

    def __init__(self, lm: Seq2SeqLM, method: str) -> None:
        super().__init__(lm, method)
        self.is_sum, self.needs_mark = method == "sum", method == "conditional"

    def _exchange(self, encoding: Any, start: int, end: int) -> Exchange:
        ids, _, masked = super()._exchange(encoding, start, end)
        if self.needs_mark:
            first, last = np.array(encoding.offsets)[masked].reshape(-1, 2).T
            masked = masked[(last > start) & (first < end)]
        if not len(masked):  # the marked part was cut off: nothing counts
            return ids, ids, masked
        read = np.concatenate([ids[: masked[0]], [self.lm.mask], ids[masked[-1] + 1 :]])
        if self.lm.writes_masks_only:
            return read, np.concatenate([[self.lm.mask], ids[masked]]), np.arange(1, len(masked) + 1)
        return read, ids, masked


class Seq2SeqAnswerScorer(Seq2SeqScorer):
    """The encoder reads the text before the marked part D = d_1 ... d_n, and the decoder writes that part.

    answer(S) = 1/n * sum_i log P(d_i | the text before D, d_1 ... d_{i-1})
    """

    version = 1
    needs_mark = True

    def _prepare(self, texts: list[str]) -> ExchangedTexts:
        marked = [unmark(text) for text in texts]
        prompts, cut = self.lm.encode([text[:start] for text, start, _ in marked])
        answers, _ = self.lm.encode([text[start:end] for text, start, end in marked])
        exchanges = [
            (np.array(prompt.ids), *self._exchange(answer, 0, 0)[1:])
            for prompt, answer in zip(prompts, answers, strict=True)
        ]
        return ExchangedTexts(exchanges, cut, self.lm.tokenizer.unk_token_id)


class Seq2SeqLM(LanguageModel):
    """A model that reads one text and writes another."""

    auto_class = transformers.AutoModelForSeq2SeqLM
    kind = "sequence-to-sequence LM"
    scorers: ClassVar = {
        "aul": Seq2SeqScorer,
        **dict.fromkeys(("mean", "sum", "conditional"), Seq2SeqMaskScorer),
        "answer": Seq2SeqAnswerScorer,
    }
    methods = tuple(scorers)
    default_method = "conditional"
    perplexity_method = "mean"
    prompted_method = "answer"
    plain_options: ClassVar = {"use_cache": False}  # with a cache FSMT's decoder sees later tokens

    def __init__(self, name: str, model: Any, tokenizer: Any, *, fingerprint: str) -> None:
        super().__init__(name, model, tokenizer, fingerprint=fingerprint)
        sentinel = tokenizer.get_vocab().get(SENTINEL)
        self.writes_masks_only = sentinel is not None
        self.mask = self.mask if sentinel is None else sentinel
        starts = (getattr(part, "decoder_start_token_id", None) for part in (model.config, model.generation_config))
        self.start = next((token for token in starts if token is not None), tokenizer.pad_token_id)

    def decoder_inputs(self, written: np.ndarray) -> np.ndarray:
        """What the decoder reads while it writes these tokens: each one is predicted from those before it."""
        return np.column_stack([np.full(len(written), self.start), written[:, :-1]])

    def _settle(self) -> None:
        super()._settle()
        self._refuse_leaks()

    @torch.inference_mode()
    def states(self, ids: torch.Tensor) -> torch.Tensor:
        """The encoder's last hidden layer."""
        states: torch.Tensor = self.run_model(self.model.get_encoder(), input_ids=ids).last_hidden_state
        return states

    def _core(self) -> Any:
        return self.model.get_decoder()

    def _states_for(self, inputs: Inputs) -> torch.Tensor:
        """The decoder's last hidden layer; equal texts go through the encoder once."""
        sources, which = inputs["input_ids"].unique(dim=0, return_inverse=True)
        output = self.run_model(
            self._core(),
            input_ids=inputs["decoder_input_ids"],
            encoder_hidden_states=self.states(sources)[which],
            use_cache=False,
        )
        states: torch.Tensor = output.last_hidden_state
        return states

    def _call_for(self, ids: torch.Tensor) -> dict[str, Any]:
        with torch.inference_mode():
            output = self.run_model(self.model.get_encoder(), input_ids=ids)  # so that the head need not read again
        return {"input_ids": ids, "encoder_outputs": output, "decoder_input_ids": ids, **self.plain_options}
