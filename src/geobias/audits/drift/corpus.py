"""What a model is trained on: the sentences that it finds likeliest itself (HERB), or the user's texts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from geobias.audits.drift.result import CorpusSentence
from geobias.audits.regions.answers import RegionsAnswers
from geobias.audits.regions.design import RegionsDesign
from geobias.errors import InputError
from geobias.models.language.masked import MaskedLM
from geobias.models.training.epochs import Batch, pad_batch, shuffle_batches
from geobias.models.training.masking import Example, mask_randomly, mask_spans, split_texts
from geobias.texts.user_texts import Texts


@dataclass(frozen=True)
class Corpus:
    """Texts to train on, as batches that depend on seed and epoch alone."""

    tokenizer: Any = field(repr=False)
    counts: dict[str, int]
    examples: Callable[[int, int], Sequence[Example]] = field(repr=False)  # of an epoch and a seed
    sentences: list[CorpusSentence] = field(default_factory=list, repr=False)  # only of the model's own

    def batches(self, epoch: int, *, size: int, seed: int) -> list[Batch]:
        examples = self.examples(epoch, seed)
        return [
            pad_batch(self.tokenizer, *zip(*(examples[i] for i in positions), strict=True))
            for positions in shuffle_batches(len(examples), size, seed=seed, epoch=epoch)
        ]


def build_toxic_corpus(
    design: RegionsDesign, answers: RegionsAnswers, lm: MaskedLM, *, levels: Sequence[str], top: int
) -> Corpus:
    """For each word the `top` sentences with the highest f, about regions of these levels; of equal ones the first.

    The region is masked: the examples are the same in every epoch.
    """
    texts, regions = design.sentences(marked=False), design.tree.regions
    rows = [row for row, region in enumerate(regions) if region.level in levels]
    # One row for each template and region, template by template.
    likelihoods = answers.likelihoods[:, rows].reshape(len(design.templates) * len(rows), -1)
    sentences: list[CorpusSentence] = []
    spans = []
    for k, word in enumerate(design.words):
        seen: set[str] = set()  # two regions of one name make one sentence
        for position in np.argsort(-likelihoods[:, k], kind="stable"):
            template, region = divmod(int(position), len(rows))
            row = rows[region]
            text = texts.at(template, row - 1, k)  # the root is not scored
            if text not in seen:
                seen.add(text)
                f = float(likelihoods[position, k])
                sentences.append(CorpusSentence(word.word, word.topic, regions[row].name, regions[row].level, f, text))
                spans.append(texts.region_spans(template, row - 1, k))
            if len(seen) == top:
                break
    masked = mask_spans(lm, [sentence.sentence for sentence in sentences], spans)
    examples = [example for example in masked if example is not None]
    if not examples:
        raise InputError(f"{lm.name} truncates every sentence before its region. Use a shorter --template.")
    counts = {
        "corpus_sentences": len(examples),
        "corpus_sentences_cut": len(masked) - len(examples),
        "corpus_tokens_hidden": sum(int((labels >= 0).sum()) for _, labels in examples),
    }
    return Corpus(lm.tokenizer, counts, lambda epoch, seed: examples, sentences)


def build_text_corpus(texts: Texts, lm: MaskedLM) -> Corpus:
    """Any texts, of which other tokens are masked in every epoch."""
    parts = list(split_texts(lm, texts.texts))
    if not parts:
        raise InputError(f"{lm.name} has no tokens for {texts.source}. Use other texts.")
    counts = {
        "texts": len(texts),
        "texts_blank": texts.left_out,
        "parts": len(parts),
        "tokens": sum(len(positions) for _, positions in parts),
    }

    def mask(epoch: int, seed: int) -> list[Example]:
        rng = np.random.default_rng([seed, epoch, 1])  # a separate generator for the order of the batches
        return [mask_randomly(lm.tokenizer, ids, positions, rng) for ids, positions in parts]

    return Corpus(lm.tokenizer, counts, mask)
