"""Masked language models: BERT, RoBERTa and their descendants.

| score | log P of each token, given |
|---|---|
| aul | the whole unmasked sentence, in one forward pass |
| aula | the same, weighted by the attention that the token receives |
| pll | the sentence with that token masked |
| pll-word | the sentence with that token and the later ones of its word masked |
| conditional | for tokens of the marked part: it and the later tokens of that part masked |

A score is the mean over a sentence's own tokens (for `conditional`, the marked ones); tokens that a tokenizer adds
([CLS], </s>, ...) never count.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch
import transformers

from geobias.errors import InputError
from geobias.models.fast.templates import MaskedWords, TemplateReader, TemplateTokens, UnmaskedSentences, find_spans
from geobias.models.language_model import LanguageModel, LanguageScorer, PreparedTexts, plain_log_p
from geobias.models.model_files import use_attention
from geobias.models.pretrained import Ragged, Tokens
from geobias.models.scorer import PROBE
from geobias.texts.templates import unmark

ATTENTION_TOLERANCE = 0.02  # of the sum of a token's attention weights, in half precision


BATCHES_COMPARED = 4  # batches of masked texts that are searched together for equal ones


@dataclass
class EncodedTexts(PreparedTexts):
    """Texts as token ids, which of them count, and up to which position masks reach when a token is read."""

    ids: Ragged
    counted: Ragged
    mask_end: Ragged | None = None


class MaskedScorer(LanguageScorer):
    """A score of a masked language model."""

    lm: MaskedLM

    def _encode(self, texts: list[str]) -> tuple[EncodedTexts, Tokens]:
        plain, start, end = zip(*map(unmark, texts), strict=True)
        encodings, cut = self.lm.encode(plain)
        tokens = Tokens(encodings)
        ids = tokens.ids
        counted = tokens.inside(start, end) if self.needs_mark else tokens.is_text
        unknown = ids.count(counted & (ids.numbers == self.lm.tokenizer.unk_token_id))
        counts = ids.count(counted)
        return EncodedTexts(ids.lengths, ids.lengths, counts, unknown, cut, ids, ids.beside(counted)), tokens

    def _prepare(self, texts: list[str]) -> EncodedTexts:
        return self._encode(texts)[0]


class AULScorer(MaskedScorer):
    """All Unmasked Likelihood: the mean over a sentence's tokens of their log P in one forward pass without masks.

        AUL(S) = 1/|S| * sum_i log P(w_i | S)

    Kaneko and Bollegala 2022, "Unmasking the Mask: Evaluating Social Biases in Masked Language Models"; it is Eq. 1
    of HERB (Li et al. 2022).
    """

    version = 1

    def _total(self, texts: EncodedTexts, batch: np.ndarray) -> np.ndarray:
        ids, counted = texts.ids.take(batch), texts.counted.take(batch)
        rows, positions = np.nonzero(counted)
        return self.lm.sum_log_p({"input_ids": ids}, rows, positions, ids[counted])

    def _template_reader(self, tokens: TemplateTokens) -> TemplateReader | None:
        return UnmaskedSentences(self.lm, tokens)


class AULAScorer(MaskedScorer):
    """AUL with Attention: each token's log P is weighted by the attention that it receives.

        AULA(S) = 1/|S| * sum_i a_i log P(w_i | S)

    where a_i is the mean attention to token i over all layers, heads and tokens of the sentence. Kaneko and Bollegala
    2022.
    """

    version = 1

    def __init__(self, lm: MaskedLM, method: str) -> None:
        super().__init__(lm, method)
        if not lm.returns_attention():
            raise InputError(
                f"{lm.name} ({lm.architecture}) returns no attention weights between tokens, which the score "
                f"{method!r} needs. Use --score aul."
            )

    def _total(self, texts: EncodedTexts, batch: np.ndarray) -> np.ndarray:
        counted = texts.counted.take(batch)
        log_p, attention = self.lm.log_p_and_attention(self.lm.tensor(texts.ids.take(batch)), self.lm.tensor(counted))
        weighted = log_p.cpu().numpy() * attention.cpu().numpy()
        return np.bincount(np.nonzero(counted)[0], weights=weighted, minlength=len(batch))


class PLLScorer(MaskedScorer):
    """The mean over a sentence's tokens of their log P, each in a forward pass in which it is masked.

        PLL(S) = 1/|S| * sum_i log P(w_i | S with w_i masked)

    Salazar et al. 2020, "Masked Language Model Scoring" (there as a sum).
    """

    version = 1
    needs_mask = True

    def _mask_ends(self, tokens: Tokens, counted: np.ndarray) -> np.ndarray:
        """For every token, the position before which masks end when it is read: each is masked alone."""
        return tokens.ids.place + 1

    def _prepare(self, texts: list[str]) -> EncodedTexts:
        encoded, tokens = self._encode(texts)
        encoded.costs = encoded.ids.lengths * encoded.tokens // BATCHES_COMPARED
        encoded.mask_end = encoded.ids.beside(self._mask_ends(tokens, encoded.counted.numbers))
        return encoded

    def _total(self, texts: EncodedTexts, batch: np.ndarray) -> np.ndarray:
        """Mask from each token that counts to its `mask_end`, and sum their log P.

        Masked texts are often equal: "People in Chad are [MASK]." asks for every word of one token at once. Each
        distinct one goes through the model once, and all its targets are read there.
        """
        assert texts.mask_end is not None
        counted = texts.counted.take(batch)
        row, position = np.nonzero(counted)
        if not len(row):  # no text has a token that counts: the marked part was cut off
            return np.zeros(len(batch))
        end = texts.mask_end.take(batch)[counted]
        ids = texts.ids.take(batch)[row]
        column = np.arange(ids.shape[1])
        masked = (column >= position[:, None]) & (column < end[:, None])
        inputs = np.where(masked, self.lm.mask, ids)
        distinct, which = np.unique(np.column_stack([inputs, position]), axis=0, return_inverse=True)
        targets = ids[np.arange(len(ids)), position]
        values = self.lm.log_p_at(distinct[:, :-1], distinct[:, -1], which.reshape(-1), targets)
        return np.bincount(row, weights=values.cpu().numpy(), minlength=len(batch))


class PLLWordScorer(PLLScorer):
    """PLL where the later tokens of a word are masked with each of its tokens, so that they do not give it away.

        PLL-word(S) = 1/|S| * sum_i log P(w_i | S with w_i and the later tokens of its word masked)

    Kauf and Ivanova 2023, "A Better Way to Do Masked Language Model Scoring" (there PLL-word-l2r, as a sum).
    """

    version = 1

    def _mask_ends(self, tokens: Tokens, counted: np.ndarray) -> np.ndarray:
        place = tokens.ids.place
        begins = (np.diff(tokens.words, prepend=-2) != 0) | (place == 0)
        word = np.cumsum(begins) - 1
        ends = np.flatnonzero(np.roll(begins, -1))  # before the next word begins; the first always begins
        return place[ends][word] + 1


class MaskedConditionalScorer(PLLScorer):
    """The mean log P of the marked part's tokens D = d_1 ... d_n, filled in from left to right.

        conditional(S) = 1/n * sum_i log P(d_i | S with d_i ... d_n masked)

    The rest of the sentence, including the text after the marked part, is visible. This is the chain rule in the order
    of reading, as in the pseudo-log-likelihood PLL-word of Kauf and Ivanova 2023, for any marked part.
    """

    version = 1
    needs_mark = True

    def _mask_ends(self, tokens: Tokens, counted: np.ndarray) -> np.ndarray:
        """Masks reach to the end of the marked part."""
        return find_spans(tokens.ids, counted)[1][tokens.ids.row]

    def _template_reader(self, tokens: TemplateTokens) -> TemplateReader | None:
        return MaskedWords(self.lm, tokens)


class MaskedLM(LanguageModel):
    """A model that fills in masks."""

    auto_class = transformers.AutoModelForMaskedLM
    kind = "masked-LM"
    scorers: ClassVar = {
        "aul": AULScorer,
        "aula": AULAScorer,
        "pll": PLLScorer,
        "pll-word": PLLWordScorer,
        "conditional": MaskedConditionalScorer,
    }
    methods = tuple(scorers)
    default_method = "conditional"
    perplexity_method = "pll"

    def _settle(self) -> None:
        super()._settle()
        self.fast.template_tokens = self.fast.head is not None and "template_tokens" in self.fast.allowed

    @torch.inference_mode()
    def states_at(self, ids: torch.Tensor, positions: torch.Tensor) -> torch.Tensor:
        """The last hidden layer of each text at one position."""
        text = torch.arange(len(ids), device=ids.device)
        return self.states(ids)[text, positions]

    @torch.inference_mode()
    def log_p_at(
        self, inputs: np.ndarray, positions: np.ndarray, which: np.ndarray, targets: np.ndarray
    ) -> torch.Tensor:
        """log P of each target at the one position that is read of input number `which`, in float64."""
        rows_at_once = max(1, self.token_budget // inputs.shape[1])
        batches = [slice(start, start + rows_at_once) for start in range(0, len(inputs), rows_at_once)]
        if self.fast.head is not None:
            parts = [self.states_at(self.tensor(inputs[rows]), self.tensor(positions[rows])) for rows in batches]
            return self.fast.head.log_p_of_many(torch.cat(parts), which, targets)
        values = torch.empty(len(targets), dtype=torch.float64)
        for rows in batches:
            inside = np.flatnonzero((which >= rows.start) & (which < rows.stop))
            read = which[inside]
            places = map(self.tensor, (read - rows.start, positions[read], targets[inside]))
            values[torch.from_numpy(inside)] = self.log_p({"input_ids": self.tensor(inputs[rows])}, *places).cpu()
        return values

    @torch.inference_mode()
    def log_p_and_attention(self, ids: torch.Tensor, where: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """log P of the texts' tokens at the places marked in `where`, and the attention that each receives.

        The attention is the mean over layers, heads and tokens.
        """
        head, targets = self.fast.head, ids[where]
        output = self._run_with_attention(ids)
        if head is None:
            log_p = plain_log_p(output.logits[where], targets)
        else:
            log_p = head.log_p(output.last_hidden_state[where], targets)
        attention = sum(layer.float().mean(dim=(1, 2)) for layer in output.attentions) / len(output.attentions)
        return log_p.double(), attention[where].double()

    @torch.inference_mode()
    def returns_attention(self) -> bool:
        """Whether the model returns how much each token attends to each other: rows of weights that sum to one.

        Some architectures have none (FNet), attend to some tokens only (Longformer), merge tokens (Funnel) or return
        something else by that name (SqueezeBERT, YOSO).
        """
        ids = torch.tensor([self.tokenizer(PROBE)["input_ids"]], device=self.device)
        try:
            layers = self._run_with_attention(ids).attentions
            square = ids.shape[1:] * 2
            return len(layers) > 0 and all(
                layer.shape[2:] == square and bool(((layer.float().sum(-1) - 1).abs() < ATTENTION_TOLERANCE).all())
                for layer in layers
            )
        except (InputError, AttributeError, TypeError):  # it fails when asked for them, or returns none
            return False

    def _run_with_attention(self, ids: torch.Tensor) -> Any:
        """The output with the attention of every layer; only the "eager" implementation tells it."""
        with use_attention(self.model, "eager"):
            core = self.model if self.fast.head is None else self._core()
            return self.run_model(core, input_ids=ids, output_attentions=True)
