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

from typing import Any, ClassVar

import numpy as np
import torch
import transformers

from geobias.errors import InputError
from geobias.models.fast.shared_prefixes import keeps_prefixes
from geobias.models.fast.token_tree import TokenTree, reads_token_trees
from geobias.models.language.causal_scorers import CausalConditionalScorer, CausalScorer, CausalSumScorer
from geobias.models.language.language_model import LanguageModel
from geobias.models.scorer import PROBE

BETWEEN_TEXTS = "<|endoftext|>"
LEAK = {"float32": 1e-3, "float16": 2e-3, "bfloat16": 2**-7}  # of hidden states: rounding, and no more


class CausalLM(LanguageModel):
    """A model that continues texts."""

    auto_class = transformers.AutoModelForCausalLM
    kind = "causal LM"
    scorers: ClassVar = {"mean": CausalScorer, "sum": CausalSumScorer, "conditional": CausalConditionalScorer}
    methods = tuple(scorers)
    default_method = "mean"
    perplexity_method = "mean"

    def __init__(self, name: str, model: Any, tokenizer: Any, *, fingerprint: str) -> None:
        super().__init__(name, model, tokenizer, fingerprint=fingerprint)
        self.begin = _first_tokens(tokenizer)

    def _settle(self) -> None:
        super()._settle()
        tokens = self.tokenizer(PROBE, add_special_tokens=False)["input_ids"]
        self._refuse_leaks(tokens)
        if self.fast.head is None:
            return
        allowed = self.fast.allowed
        self.fast.shared_prefixes = "shared_prefixes" in allowed and keeps_prefixes(self, tokens)
        self.fast.token_tree = allowed >= {"token_tree", "template_tokens"} and reads_token_trees(self._core(), tokens)
        self.fast.template_tokens = self.fast.token_tree

    def _core(self) -> Any:
        decoder = self.model.get_decoder()
        return self.model.base_model if decoder is self.model else decoder

    @torch.inference_mode()
    def read_on(self, ids: np.ndarray, cache: Any = None) -> tuple[torch.Tensor, Any]:
        """The last hidden layer of texts of one length, and the keys and values of all that was read until now.

        `cache` is the second part of an earlier result, for texts that go on from there; it is used up.
        """
        output = self._core()(input_ids=self.tensor(ids), past_key_values=cache, use_cache=True)
        return output.last_hidden_state, output.past_key_values

    @torch.inference_mode()
    def read_tree(self, prefixes: np.ndarray, tree: TokenTree) -> torch.Tensor:
        """The last hidden layer of prefixes of one length, and behind each one of the tree's nodes."""
        ids = np.concatenate([prefixes, np.tile(tree.nodes, (len(prefixes), 1))], axis=1)
        length = prefixes.shape[1]
        states: torch.Tensor = self._core()(
            input_ids=self.tensor(ids),
            position_ids=self.tensor(np.tile(tree.positions(length), (len(ids), 1))),
            attention_mask=tree.mask(length, self.model.dtype, self.device).expand(len(ids), 1, -1, -1),
            use_cache=False,
        ).last_hidden_state
        return states

    def _refuse_leaks(self, tokens: list[int]) -> None:
        """Some architectures of that name look at later tokens: their log P would be too good to be true."""
        ids = torch.tensor([tokens, [*tokens[:2], *tokens[:1] * (len(tokens) - 2)]], device=self.device)
        states = self.states(ids)
        leak = (states[0, :2] - states[1, :2]).abs().max()
        if not leak <= LEAK.get(self.dtype, LEAK["bfloat16"]) * states.abs().max():
            raise InputError(f"{self.name} ({self.architecture}) looks at later tokens too: it is no causal LM.")


def _first_tokens(tokenizer: Any) -> list[int]:
    """The token before a text: what the tokenizer adds, else the one between texts in training, else its nearest."""
    encoding = tokenizer(PROBE, return_special_tokens_mask=True)
    added = encoding["special_tokens_mask"].index(0)
    if added:
        return list(encoding["input_ids"][:added])
    others = (tokenizer.get_vocab().get(BETWEEN_TEXTS), tokenizer.bos_token_id, tokenizer.eos_token_id)
    return next(([token] for token in others if token is not None), [])
