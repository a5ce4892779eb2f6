"""Causal language models, which continue texts: GPT-2, Llama and their descendants.

| score | what |
|---|---|
| mean | log P of each token given those before it, the mean over the text's tokens |
| sum | their sum: log P of the whole text |
| conditional | the mean over the tokens of the marked part alone, given all that stands before it |

The first token has a probability only after a token that begins a text: the one that the tokenizer adds (`<s>`), else
`<|endoftext|>`, which stands between texts in training, else whatever the model calls beginning or end. Where there is
none, the first token does not count. What stands after the last token that counts is never read.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import torch
import transformers

from geobias.models.fast.shared_prefixes import keeps_prefixes, mask_forks, reads_forks, score_runs
from geobias.models.fast.templates import TemplateReader, TemplateTokens, TokenRows, compose_template, find_spans
from geobias.models.fast.token_tree import TokenTree, TreeWords, reads_token_trees
from geobias.models.language_model import LanguageModel, LanguageScorer, PreparedTexts
from geobias.models.pretrained import Tokens
from geobias.models.scorer import PROBE, ScoreBlock
from geobias.texts.templates import Sentences, unmark

BETWEEN_TEXTS = "<|endoftext|>"


class CausalScorer(LanguageScorer):
    """log P of a text's tokens, each given those before it.

        mean(S) = 1/|S| * sum_i log P(w_i | w_1 ... w_{i-1})
        sum(S) = sum_i log P(w_i | w_1 ... w_{i-1})
        conditional(S) = 1/n * sum_i log P(d_i | the text before D, d_1 ... d_{i-1})

    The last is of the marked part's tokens D = d_1 ... d_n: what stands after the marked part changes nothing.
    """

    version = 1
    lm: CausalLM

    def __init__(self, lm: CausalLM, method: str) -> None:
        super().__init__(lm, method)
        self.is_sum, self.needs_mark = method == "sum", method == "conditional"
        self.looks_back_only = self.needs_mark
        self.begin = lm.begin
        self.has_special = False  # whether "<|im_start|>" in a text is that token, and not these letters

    def _prepare(self, texts: list[str]) -> CausalTexts:
        return CausalTexts(self, texts)

    def encode(self, texts: Sequence[str]) -> tuple[list[Any], np.ndarray]:
        """The tokens of texts with room before them for those that begin a text, and how many were cut off each."""
        return self.lm.encode(texts, special=False, reserve=len(self.begin), knows_special=self.has_special)

    def _sum_batches(self, texts: CausalTexts) -> Iterator[ScoreBlock]:
        return score_runs(self.lm, texts) if self.lm.fast.shared_prefixes else super()._sum_batches(texts)

    def _total(self, texts: CausalTexts, batch: np.ndarray) -> np.ndarray:
        inputs = np.stack([texts.inputs[text] for text in batch])
        return self.lm.sum_log_p({"input_ids": inputs}, *texts.predictions(batch))

    def _compose_template(self, sentences: Sentences, template: int) -> TemplateTokens | None:
        """The tokens of a template's parts, each prefix behind the tokens that begin a text."""
        begin = len(self.begin)
        tokens = compose_template(
            lambda texts: self.encode(texts)[0], sentences, template, max_length=self.lm.max_length - begin
        )
        if tokens is None:
            return None
        first = np.tile(np.array(self.begin, dtype=np.int64), (len(tokens.before.ids), 1))
        before = TokenRows(np.concatenate([first, tokens.before.ids], axis=1), tokens.before.lengths + begin)
        return replace(tokens, before=before, added_before=begin)

    def _template_reader(self, tokens: TemplateTokens) -> TemplateReader | None:
        return TreeWords(self.lm, tokens, whole=not self.needs_mark) if self.lm.fast.token_tree else None


class CausalTexts(PreparedTexts):
    """Texts as token ids, and from where to where each one's tokens count."""

    def __init__(self, scorer: CausalScorer, texts: Sequence[str]) -> None:
        plain, start, end = zip(*map(unmark, texts), strict=True)
        encodings, cut = scorer.encode(plain)
        tokens, begin = Tokens(encodings), len(scorer.begin)
        first, last = np.zeros_like(tokens.ids.lengths), tokens.ids.lengths
        if scorer.needs_mark:
            first, last = find_spans(tokens.ids, tokens.inside(start, end))
        self.first = np.maximum(first + begin, 1)
        self.last = np.maximum(last + begin, self.first)
        self.ids = [np.array([*scorer.begin, *encoding.ids], dtype=np.int64) for encoding in encodings]
        counts = self.last - self.first
        # A token is predicted at the place before it, so the last one that counts need not be read.
        lengths = np.where(counts, self.last - 1, 0)
        self.inputs = [ids[:length] for ids, length in zip(self.ids, lengths, strict=True)]
        row, place = tokens.ids.row, tokens.ids.place + begin
        is_unknown = tokens.ids.numbers == scorer.lm.tokenizer.unk_token_id
        unknown = tokens.ids.count(is_unknown & (place >= self.first[row]) & (place < self.last[row]))
        super().__init__(lengths, lengths, counts, unknown, cut)

    def predictions(self, batch: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """For every token that counts of these texts: which of them it is of, where it is predicted, and the token."""
        owner = np.repeat(np.arange(len(batch)), self.tokens[batch])
        place = np.concatenate([np.arange(self.first[text], self.last[text]) for text in batch]) - 1
        targets = np.concatenate([self.ids[text][self.first[text] : self.last[text]] for text in batch])
        return owner, place, targets


class CausalLM(LanguageModel):
    """A model that continues texts."""

    auto_class = transformers.AutoModelForCausalLM
    kind = "causal LM"
    scorers: ClassVar = dict.fromkeys(("mean", "sum", "conditional"), CausalScorer)
    methods = tuple(scorers)
    default_method = "conditional"
    perplexity_method = "mean"

    def __init__(self, name: str, model: Any, tokenizer: Any, *, fingerprint: str) -> None:
        super().__init__(name, model, tokenizer, fingerprint=fingerprint)
        self.begin = find_first_tokens(tokenizer)

    def _settle(self) -> None:
        super()._settle()
        self._refuse_leaks()
        tokens = self.tokenizer(PROBE, add_special_tokens=False)["input_ids"]
        if self.fast.head is None:
            return
        allowed = self.fast.allowed
        self.fast.shared_prefixes = "shared_prefixes" in allowed and keeps_prefixes(self, tokens)
        self.fast.forked_rows = self.fast.shared_prefixes and reads_forks(self, tokens)
        self.fast.token_tree = allowed >= {"token_tree", "template_tokens"} and reads_token_trees(self._core(), tokens)
        self.fast.template_tokens = self.fast.token_tree

    def _core(self) -> Any:
        """The decoder. Some architectures mean something else by that word: ModernBERT's is a linear layer."""
        candidates = (self.model.get_decoder(), self.model.base_model, getattr(self.model, "model", None))
        cores = (core for core in candidates if core is not self.model)
        return next((core for core in cores if isinstance(core, transformers.PreTrainedModel)), self.model.base_model)

    @torch.inference_mode()
    def read_on(
        self,
        ids: np.ndarray,
        cache: Any = None,
        branches: np.ndarray | None = None,
        positions: np.ndarray | None = None,
    ) -> tuple[torch.Tensor, Any]:
        """The last hidden layer of texts of one length, and the keys and values of all that was read until now.

        `cache` is the second part of an earlier result, for texts that go on from there; it is used up. Forks behind it
        (`shared_prefixes.py`) come with the branch and the position of each token behind it.
        """
        inputs = {"input_ids": self.tensor(ids), "past_key_values": cache, "use_cache": True}
        if branches is not None and positions is not None:
            prefix = cache.get_seq_length()
            inputs["attention_mask"] = mask_forks(branches, prefix, self.model.dtype, self.device)
            inputs["position_ids"] = self.tensor(prefix + positions)
        output = self.run_model(self._core(), **inputs)
        return output.last_hidden_state, output.past_key_values

    @torch.inference_mode()
    def read_tree(self, prefixes: np.ndarray, tree: TokenTree) -> torch.Tensor:
        """The last hidden layer of prefixes of one length, and behind each one of the tree's nodes."""
        ids = np.concatenate([prefixes, np.tile(tree.nodes, (len(prefixes), 1))], axis=1)
        length = prefixes.shape[1]
        states: torch.Tensor = self.run_model(
            self._core(),
            input_ids=self.tensor(ids),
            position_ids=self.tensor(np.tile(tree.positions(length), (len(ids), 1))),
            attention_mask=tree.mask(length, self.model.dtype, self.device).expand(len(ids), 1, -1, -1),
            use_cache=False,
        ).last_hidden_state
        return states


def find_first_tokens(tokenizer: Any) -> list[int]:
    """The token before a text: what the tokenizer adds, else the one between texts in training, else its nearest."""
    encoding = tokenizer(PROBE, return_special_tokens_mask=True)
    added = encoding["special_tokens_mask"].index(0)
    if added:
        return list(encoding["input_ids"][:added])
    others = (tokenizer.get_vocab().get(BETWEEN_TEXTS), tokenizer.bos_token_id, tokenizer.eos_token_id)
    return next(([token] for token in others if token is not None), [])
