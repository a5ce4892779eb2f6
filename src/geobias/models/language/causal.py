"""Causal language models: how likely is this sentence, read from left to right?

| method | what |
|---|---|
| mean | log P of each token given those before it, the mean over the text's tokens |
| sum | their sum: log P of the whole text |
| conditional | the mean over the tokens of the marked part alone, given all that stands before it |

The first token has a probability only after a token that begins a text: the one that the tokenizer adds (`<s>`), else
`<|endoftext|>`, which stands between texts in training, else whatever the model calls beginning or end. Where there is
none, the first token is not counted.

Texts that begin alike ("People in Chad are kind.", "... shy.") are read together: what they share goes through the
model once, and its keys and values serve them all. What stands after the last token that counts is never read.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch
import transformers

from geobias.errors import InputError
from geobias.models.batching import equal_length_batches, like_length_batches
from geobias.models.fast.composing import Composed
from geobias.models.fast.shared_prefixes import alike
from geobias.models.fast.token_tree import Branches, branches
from geobias.models.language.causal_templates import BranchingWords, begun_parts
from geobias.models.language.language_model import LanguageModel
from geobias.models.language.language_scorer import Answered, LanguageScorer
from geobias.models.scorer import PROBE
from geobias.texts.templates import Sentences, unmark

BETWEEN_TEXTS = "<|endoftext|>"
SAME = 1e-3
WINDOWS = ("sliding_window", "attention_chunk_size", "window_size")  # as configurations name them
MOST_OF_A_TREE = 4096  # tokens: its mask has as many rows as columns


class CausalLM(LanguageModel):
    """A model that continues texts."""

    auto_class = transformers.AutoModelForCausalLM
    kind = "causal LM"
    methods = ("mean", "sum", "conditional")
    default_method = "mean"
    perplexity_method = "mean"

    def __init__(self, name: str, model: Any, tokenizer: Any, *, fingerprint: str) -> None:
        super().__init__(name, model, tokenizer, fingerprint=fingerprint)
        self.begin = _begin(tokenizer)

    def _settle(self) -> None:
        super()._settle()
        self._check_direction()
        self.keeps_beginnings = self._can_keep_beginnings()
        self.reads_branches = self._can_read_branches()

    def scorer(self, method: str | None = None) -> CausalScorer:
        return CausalScorer(self, method)

    def _core(self) -> Any:
        decoder = self.model.get_decoder()
        return self.model.base_model if decoder is self.model else decoder

    @torch.inference_mode()
    def read(self, ids: np.ndarray, before: Any = None) -> tuple[torch.Tensor, Any]:
        """The last hidden layer of texts of one length, and the keys and values of all that was read until now.

        `before` is the second part of an earlier answer, for texts that go on from there; it is used up.
        """
        output = self._core()(input_ids=self.tensor(ids), past_key_values=before, use_cache=True)
        return output.last_hidden_state, output.past_key_values

    @torch.inference_mode()
    def read_branches(self, begun: np.ndarray, tree: Branches) -> torch.Tensor:
        """The last hidden layer of beginnings of one length, and behind each one of the tree's nodes."""
        ids = np.concatenate([begun, np.tile(tree.nodes, (len(begun), 1))], axis=1)
        length = begun.shape[1]
        hidden: torch.Tensor = self._core()(
            input_ids=self.tensor(ids),
            position_ids=self.tensor(np.tile(tree.positions(length), (len(ids), 1))),
            attention_mask=tree.mask(length, self.model.dtype, self.device).expand(len(ids), 1, -1, -1),
            use_cache=False,
        ).last_hidden_state
        return hidden

    @property
    def longest_tree(self) -> int:
        """The most tokens of a beginning and its branches: some models look back so far only, or by place in a row."""
        config = self.model.config.get_text_config()
        windows = (getattr(config, name, None) for name in WINDOWS)
        return min(self.token_budget, self.max_length, MOST_OF_A_TREE, *(window for window in windows if window))

    def _can_read_branches(self) -> bool:
        """Whether two ends of a text, read behind its beginning as a tree, give what they give by themselves."""
        ids = self.tokenizer(PROBE, add_special_tokens=False)["input_ids"]
        start, ends = ids[:2], [ids[2:], [ids[2], *ids[:2]], ids[3:]]
        tree = branches(ends, [0] * len(ends))
        try:
            hidden = self.read_branches(np.array([start]), tree)[0]
        except Exception:  # not every architecture takes such masks or positions, and each refuses in its own way
            return False
        for end in ends:
            alone = self.states(self.tensor(np.array([[*start, *end[:-1]]])))[0, 1:]
            places = [2 + tree.node(end[:at]) for at in range(len(end))]
            if not (hidden[places] - alone).abs().max() <= self._rounding * alone.abs().max():
                return False
        return True

    def _check_direction(self) -> None:
        """Some architectures of that name look at what comes later: their numbers would be too good to be true."""
        ids = self.tensor(np.array([self.tokenizer(PROBE, add_special_tokens=False)["input_ids"]]))
        apart = (self.states(ids)[:, :2] - self.states(ids[:, :2])).abs().max()
        if not apart <= self._rounding * self.states(ids).abs().max():
            raise InputError(f"{self.name} ({self.architecture}) looks at later tokens too: it is no causal LM.")

    @property
    def _rounding(self) -> float:
        """How far rounding may take hidden states apart, relative to their size."""
        return SAME if self.dtype == "float32" else 30 * SAME

    def _can_keep_beginnings(self) -> bool:
        """Whether a text read in two parts gives what it gives in one; some architectures keep no keys and values."""
        ids = np.array([self.tokenizer(PROBE, add_special_tokens=False)["input_ids"]] * 2)
        whole = self.states(self.tensor(ids))
        try:
            _, kept = self.read(ids[:1, :2])
            parted, _ = self.read(ids[:, 2:], repeated(kept, np.array([0, 0])))
        except Exception:  # caches differ by architecture, and so do their errors
            return False
        return bool((whole[:, 2:] - parted).abs().max() <= self._rounding * whole.abs().max())


def _begin(tokenizer: Any) -> list[int]:
    """The token before a text: the tokenizer's own habit, else the one between texts in training, else its nearest."""
    encoding = tokenizer(PROBE, return_special_tokens_mask=True)
    own = encoding["special_tokens_mask"].index(0)
    if own:
        return list(encoding["input_ids"][:own])
    others = (tokenizer.get_vocab().get(BETWEEN_TEXTS), tokenizer.bos_token_id, tokenizer.eos_token_id)
    return next(([token] for token in others if token is not None), [])


def repeated(kept: Any, rows: np.ndarray) -> Any:
    """Keys and values of these rows, in a copy: the next part of a text is written behind them."""
    own = copy.deepcopy(kept)
    own.batch_select_indices(torch.from_numpy(rows).to(own.layers[0].keys.device))
    return own


class CausalScorer(LanguageScorer):
    lm: CausalLM

    def __init__(self, lm: CausalLM, method: str | None) -> None:
        super().__init__(lm, method)
        self.looks_back_only = self.needs_mark  # what stands after the marked part changes nothing
        self.begin = lm.begin
        self.has_special = False  # whether "<|im_start|>" in a text is that token, and not these letters

    @property
    def composes(self) -> bool:
        return self.lm.reads_branches

    def _parts_of_template(self, sentences: Sentences, template: int) -> Composed | None:
        return begun_parts(self.lm, self.begin, sentences, template, knows_special=self.has_special)

    def _words(self, parts: Composed) -> BranchingWords:
        return BranchingWords(self.lm, parts, whole=not self.needs_mark)

    def _prepared(self, texts: list[str]) -> _Texts:
        return _Texts(self, texts)

    def _batches(self, read: _Texts) -> Iterator[Answered]:
        if self.lm.keeps_beginnings:
            start, stop, shared = alike(read.inputs, self.lm.token_budget)
        else:
            start, stop, shared = _each_alone(len(read.inputs))
        cost = np.array([read.cost(*run) for run in zip(start, stop, shared, strict=True)])
        # Texts that share nothing are put together by their own length.
        kind = np.where(shared > 0, shared, [-len(read.inputs[at]) for at in start])
        for some in equal_length_batches(kind, cost, self.lm.budget):
            positions = np.concatenate([np.arange(start[run], stop[run]) for run in some])
            total = self.lm.fitting(
                some, lambda runs: self._totals(read, start[runs], stop[runs], int(shared[runs[0]]))
            )
            yield positions, self._rows(total, read.tokens[positions], read.unknown[positions], read.cut[positions])

    def _totals(self, read: _Texts, start: np.ndarray, stop: np.ndarray, shared: int) -> np.ndarray:
        """For the texts of some runs the sum over counted tokens of their log P. Runs share their first tokens."""
        texts = np.concatenate([np.arange(*run) for run in zip(start, stop, strict=True)])
        run_of = np.repeat(np.arange(len(start)), stop - start)
        states: list[torch.Tensor] = []
        kept, begun = None, 0  # how many states come from the shared beginnings
        if shared:
            first_of_run = texts[np.flatnonzero(np.diff(run_of, prepend=-1))]
            hidden, kept = self.lm.read(np.stack([read.inputs[text][:shared] for text in first_of_run]))
            states.append(hidden.flatten(0, 1))
            begun = states[0].shape[0]
        rests = [read.inputs[text][shared:] for text in texts]
        at_rest = np.full(len(texts), -1)  # where each text's own states begin among all
        lengths = np.array([len(rest) for rest in rests])
        longest = max(1, 2 * self.lm.token_budget // (shared + int(lengths.max(initial=1))))
        for some in like_length_batches(lengths, self.lm.token_budget, rows=longest):
            rows, width = _right_padded([rests[i] for i in some])
            distinct, same = np.unique(np.column_stack([run_of[some], rows]), axis=0, return_inverse=True)
            if kept is None:
                hidden = self.lm.states(self.lm.tensor(distinct[:, 1:]))
            else:
                hidden, _ = self.lm.read(distinct[:, 1:], repeated(kept, distinct[:, 0]))
            at_rest[some] = begun + width * same.reshape(-1)
            states.append(hidden.flatten(0, 1))
            begun += states[-1].shape[0]
        which, targets, owner = read.reads(texts, run_of, shared, at_rest)
        if not len(which):
            return np.zeros(len(texts))
        needed, which = np.unique(which, return_inverse=True)
        states_read = torch.cat(states)[self.lm.tensor(needed)]
        values = self.lm.log_probabilities(states_read, which.reshape(-1), targets).cpu().numpy()
        return np.bincount(owner, weights=values, minlength=len(texts))


class _Texts:
    """Texts as token ids, and from where to where each one's tokens count."""

    def __init__(self, scorer: CausalScorer, texts: Sequence[str]) -> None:
        plain = [unmark(text) for text in texts]
        lm, begin = scorer.lm, scorer.begin
        encodings, self.cut = lm.encode(
            [text for text, _, _ in plain],
            special=False,
            reserve=len(begin),
            knows_special=scorer.has_special,
        )
        self.ids, first, last = [], [], []
        for encoding, (_, start, end) in zip(encodings, plain, strict=True):
            self.ids.append(np.array([*begin, *encoding.ids], dtype=np.int64))
            counted = np.arange(len(encoding.ids))
            if scorer.needs_mark:
                offsets = np.array(encoding.offsets).reshape(-1, 2)
                counted = np.flatnonzero((offsets[:, 1] > start) & (offsets[:, 0] < end))
            first.append(max(1, len(begin) + (counted[0] if len(counted) else len(encoding.ids))))
            last.append(len(begin) + (counted[-1] + 1 if len(counted) else len(encoding.ids)))
        self.first, self.last = np.array(first), np.maximum(first, last)
        self.tokens = self.last - self.first
        # A token is predicted at the place before it, so the last one that counts need not be read.
        self.inputs = [
            ids[: last - 1 if n else 0] for ids, last, n in zip(self.ids, self.last, self.tokens, strict=True)
        ]
        unknown = lm.tokenizer.unk_token_id
        counts = zip(self.ids, self.first, self.last, strict=True)
        self.unknown = np.array([(ids[start:stop] == unknown).sum() for ids, start, stop in counts])

    def cost(self, start: int, stop: int, shared: int) -> int:
        """How many tokens go through the model for a run of texts."""
        return shared + sum(len(row) - shared for row in self.inputs[start:stop])

    def reads(
        self, texts: np.ndarray, run_of: np.ndarray, shared: int, at_rest: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """For every counted token: the number of the state that predicts it, the token, and which text it is of.

        The states of shared beginnings stand first, `shared` for each run; those of text i's rest from `at_rest[i]` on.
        """
        owner = np.repeat(np.arange(len(texts)), self.tokens[texts])
        if not len(owner):
            return owner, owner, owner
        place = np.concatenate([np.arange(self.first[text], self.last[text]) for text in texts]) - 1
        targets = np.concatenate([self.ids[text][self.first[text] : self.last[text]] for text in texts])
        which = np.where(place < shared, run_of[owner] * shared + place, at_rest[owner] + place - shared)
        return which, targets, owner


def _each_alone(count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return np.arange(count), np.arange(count) + 1, np.zeros(count, dtype=np.int64)


def _right_padded(rows: Sequence[np.ndarray]) -> tuple[np.ndarray, int]:
    """Rows of one width. Whatever stands behind a token changes nothing at it, so any id will do."""
    width = max(len(row) for row in rows)
    padded = np.zeros((len(rows), width), dtype=np.int64)
    for at, row in enumerate(rows):
        padded[at, : len(row)] = row
    return padded, width
