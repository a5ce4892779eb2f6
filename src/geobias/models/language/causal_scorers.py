"""The scores of causal language models: log P of each token, given those before it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from geobias.models.batching import equal_length_batches
from geobias.models.fast.shared_prefixes import score_runs
from geobias.models.fast.template_reader import TemplateReader
from geobias.models.fast.template_tokens import TemplateTokens, TokenRows, compose_template
from geobias.models.fast.tree_words import TreeWords
from geobias.models.language.language_scorer import LanguageScorer, ScoredBatch
from geobias.texts.templates import Sentences, unmark

if TYPE_CHECKING:
    from geobias.models.language.causal import CausalLM


class CausalScorer(LanguageScorer):
    """The mean log P of a text's tokens, each given those before it: the score `mean`.

    mean(S) = 1/|S| * sum_i log P(w_i | w_1 ... w_{i-1})
    """

    lm: CausalLM

    def __init__(self, lm: CausalLM, method: str) -> None:
        super().__init__(lm, method)
        self.begin = lm.begin
        self.has_special = False  # whether "<|im_start|>" in a text is that token, and not these letters

    def _prepare(self, texts: list[str]) -> CausalTexts:
        return CausalTexts(self, texts)

    def _score(self, prepared: CausalTexts) -> Iterator[ScoredBatch]:
        sums = score_runs(self.lm, prepared) if self.lm.fast.shared_prefixes else self._sum_whole_texts(prepared)
        for batch, total in sums:
            yield batch, self._make_rows(total, prepared.tokens[batch], prepared.unknown[batch], prepared.cut[batch])

    def _sum_whole_texts(self, texts: CausalTexts) -> Iterator[ScoredBatch]:
        """Batch by batch: positions among the texts, and the sum of log P over the tokens that count of each."""
        lengths = np.array([len(row) for row in texts.inputs])
        for batch in equal_length_batches(lengths, lengths, self.lm.budget):
            yield batch, self.lm.fitting(batch, lambda part: self._total(texts, part))

    def _total(self, texts: CausalTexts, batch: np.ndarray) -> np.ndarray:
        owner, place, targets = texts.predictions(batch)
        if not len(owner):
            return np.zeros(len(batch))
        values = self.lm.log_p(
            {"input_ids": self.lm.tensor(np.stack([texts.inputs[text] for text in batch]))},
            *map(self.lm.tensor, (owner, place, targets)),
        )
        return np.bincount(owner, weights=values.cpu().numpy(), minlength=len(batch))

    def _compose_template(self, sentences: Sentences, template: int) -> TemplateTokens | None:
        """The tokens of a template's parts, each prefix behind the tokens that begin a text."""
        begin = np.array(self.begin, dtype=np.int64)

        def tokenise(texts: Sequence[str]) -> list[Any]:
            return self.lm.encode(texts, special=False, reserve=len(begin), knows_special=self.has_special)[0]

        tokens = compose_template(tokenise, sentences, template, max_length=self.lm.max_length - len(begin))
        if tokens is None:
            return None
        first = np.tile(begin, (len(tokens.before.ids), 1))
        before = TokenRows(np.concatenate([first, tokens.before.ids], axis=1), tokens.before.lengths + len(begin))
        return replace(tokens, before=before, added_before=len(begin))

    def _template_reader(self, tokens: TemplateTokens) -> TemplateReader | None:
        return TreeWords(self.lm, tokens, whole=not self.needs_mark) if self.lm.fast.token_tree else None


class CausalSumScorer(CausalScorer):
    """log P of the whole text.

    sum(S) = sum_i log P(w_i | w_1 ... w_{i-1})
    """

    def _mean(self, total: np.ndarray, tokens: np.ndarray) -> np.ndarray:
        return total


class CausalConditionalScorer(CausalScorer):
    """The mean log P of the marked part's tokens D = d_1 ... d_n, given all that stands before them.

        conditional(S) = 1/n * sum_i log P(d_i | what stands before D, d_1 ... d_{i-1})

    What stands after the marked part changes nothing.
    """

    needs_mark = True
    looks_back_only = True


class CausalTexts:
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
            ids[: stop - 1 if count else 0] for ids, stop, count in zip(self.ids, self.last, self.tokens, strict=True)
        ]
        unknown_id = lm.tokenizer.unk_token_id
        counted_ids = (ids[start:stop] for ids, start, stop in zip(self.ids, self.first, self.last, strict=True))
        self.unknown = np.array([(ids == unknown_id).sum() for ids in counted_ids])

    def predictions(self, batch: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """For every token that counts of these texts: which of them it is of, where it is predicted, and the token."""
        owner = np.repeat(np.arange(len(batch)), self.tokens[batch])
        if not len(owner):
            return owner, owner, owner
        place = np.concatenate([np.arange(self.first[text], self.last[text]) for text in batch]) - 1
        targets = np.concatenate([self.ids[text][self.first[text] : self.last[text]] for text in batch])
        return owner, place, targets
