"""What a model is trained on: the sentences that it finds likeliest itself (HERB), or the user's texts."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from geobias.audits.drift.design import DriftDesign
from geobias.audits.drift.result import CorpusSentence
from geobias.audits.regions.answers import RegionsAnswers
from geobias.audits.regions.design import RegionsDesign
from geobias.errors import InputError
from geobias.models.language.masked import MaskedLM
from geobias.models.training.epochs import Batch, pad_batch, shuffle_batches
from geobias.models.training.masking import Example, mask_randomly, mask_spans, split_texts
from geobias.texts.user_texts import Texts


@dataclass(frozen=True)
class Corpus(ABC):
    """Texts to train on, as batches that depend on seed and epoch alone."""

    tokenizer: Any = field(repr=False)
    counts: dict[str, int]

    @abstractmethod
    def examples(self, epoch: int, seed: int) -> Sequence[Example]: ...

    def batches(self, epoch: int, *, size: int, seed: int) -> list[Batch]:
        examples = self.examples(epoch, seed)
        return [
            pad_batch(self.tokenizer, [examples[i][0] for i in positions], [examples[i][1] for i in positions])
            for positions in shuffle_batches(len(examples), size, seed=seed, epoch=epoch)
        ]


@dataclass(frozen=True)
class ToxicCorpus(Corpus):
    """The likeliest sentences of each word, with the region masked: the same in every epoch."""

    masked: Sequence[Example] = field(repr=False)
    sentences: list[CorpusSentence] = field(repr=False)

    def examples(self, epoch: int, seed: int) -> Sequence[Example]:
        return self.masked


@dataclass(frozen=True)
class TextCorpus(Corpus):
    """Any texts, of which other tokens are masked in every epoch."""

    parts: Sequence[tuple[np.ndarray, np.ndarray]] = field(repr=False)

    def examples(self, epoch: int, seed: int) -> Sequence[Example]:
        rng = np.random.default_rng([seed, epoch, 1])  # the order of the batches has a generator of its own
        return [mask_randomly(self.tokenizer, ids, positions, rng) for ids, positions in self.parts]


def build_corpus(design: DriftDesign, answers: RegionsAnswers, lm: MaskedLM) -> ToxicCorpus | TextCorpus:
    """The corpus of a design; `answers` are those of the model before the training."""
    if design.texts is None:
        return build_toxic_corpus(design.regions, answers, lm, levels=design.levels, top=design.top)
    return build_text_corpus(design.texts, lm)


def build_toxic_corpus(
    design: RegionsDesign, answers: RegionsAnswers, lm: MaskedLM, *, levels: Sequence[str], top: int
) -> ToxicCorpus:
    """For each word the `top` sentences with the highest f, about regions of these levels; of equal ones the first."""
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
            text = texts.at(template, row - 1, k)  # nothing is asked about the root
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
        raise InputError(f"{lm.name} cuts every sentence before its region: choose a shorter --template.")
    counts = {
        "corpus_sentences": len(examples),
        "corpus_sentences_cut": len(masked) - len(examples),
        "corpus_tokens_hidden": sum(int((labels >= 0).sum()) for _, labels in examples),
    }
    return ToxicCorpus(lm.tokenizer, counts, examples, sentences)


def build_text_corpus(texts: Texts, lm: MaskedLM) -> TextCorpus:
    parts = list(split_texts(lm, texts.texts))
    if not parts:
        raise InputError(f"{lm.name} finds no token in {texts.source}: give other texts.")
    counts = {
        "texts": len(texts),
        "texts_blank": texts.left_out,
        "parts": len(parts),
        "tokens": sum(len(positions) for _, positions in parts),
    }
    return TextCorpus(lm.tokenizer, counts, parts)
