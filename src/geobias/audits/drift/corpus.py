"""What a drifting model is trained on: the sentences that it finds likeliest itself (HERB), or the user's texts."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from geobias.audits.regions.design import RegionsResult
from geobias.errors import InputError
from geobias.models.language.masked import MaskedLM
from geobias.models.training.epochs import Batch, pad_batch, shuffle_batches
from geobias.models.training.masking import Example, mask_at_random, mask_spans, split_texts
from geobias.texts.user_texts import Texts

TOXIC, TEXTS = "toxic", "texts"


@dataclass(frozen=True)
class Corpus(ABC):
    """Texts to train on, as batches that seed and epoch decide."""

    tokenizer: Any = field(repr=False)
    counts: dict[str, int]

    @abstractmethod
    def examples(self, epoch: int, seed: int) -> Sequence[Example]: ...

    def batches(self, epoch: int, *, size: int, seed: int) -> list[Batch]:
        examples = self.examples(epoch, seed)
        return [
            pad_batch(self.tokenizer, [examples[i][0] for i in some], [examples[i][1] for i in some])
            for some in shuffle_batches(len(examples), size, seed=seed, epoch=epoch)
        ]


@dataclass(frozen=True)
class ToxicCorpus(Corpus):
    """Of each word the likeliest sentences, with the region hidden: the same in every epoch."""

    hidden: Sequence[Example] = field(repr=False)
    rows: list[dict[str, Any]] = field(repr=False)  # of tables/corpus.csv

    def examples(self, epoch: int, seed: int) -> Sequence[Example]:
        return self.hidden


@dataclass(frozen=True)
class TextCorpus(Corpus):
    """Any texts, of which other tokens are hidden in every epoch."""

    parts: Sequence[tuple[np.ndarray, np.ndarray]] = field(repr=False)

    def examples(self, epoch: int, seed: int) -> Sequence[Example]:
        rng = np.random.default_rng([seed, epoch, 1])  # the order of the batches has a generator of its own
        return [mask_at_random(self.tokenizer, ids, own, rng) for ids, own in self.parts]


def toxic_corpus(said: RegionsResult, lm: MaskedLM, *, levels: Sequence[str], top: int) -> ToxicCorpus:
    """For each word the `top` sentences with the highest f, of regions at these levels; of equal ones the first."""
    asked = said.question
    sentences = asked.sentences(marked=False)
    places = [
        (template, row)
        for template in range(len(asked.templates))
        for row, region in enumerate(asked.tree.regions)
        if region.level in levels
    ]
    rows: list[dict[str, Any]] = []
    spans = []
    for k, word in enumerate(asked.words):
        f = np.array([said.likelihoods[template, row, k] for template, row in places])
        kept: dict[str, dict[str, Any]] = {}  # two regions of one name make one sentence
        for at in np.argsort(-f, kind="stable"):
            template, row = places[at]
            sentence = sentences.at(template, row - 1, k)  # nobody is asked about the root
            if sentence not in kept:
                region = asked.tree.regions[row]
                kept[sentence] = {"word": word.word, "topic": word.topic, "region": region.name, "level": region.level}
                kept[sentence] |= {"f": float(f[at]), "sentence": sentence}
                spans.append(sentences.region_spans(template, row - 1, k))
            if len(kept) == top:
                break
        rows += kept.values()
    hidden = mask_spans(lm, [row["sentence"] for row in rows], spans)
    examples = [example for example in hidden if example is not None]
    if not examples:
        raise InputError(f"{lm.name} cuts every sentence before its region: choose a shorter --template.")
    counts = {
        "corpus_sentences": len(examples),
        "corpus_sentences_cut": len(hidden) - len(examples),
        "corpus_tokens_hidden": sum(int((labels >= 0).sum()) for _, labels in examples),
    }
    return ToxicCorpus(lm.tokenizer, counts, examples, rows)


def text_corpus(texts: Texts, lm: MaskedLM) -> TextCorpus:
    parts = list(split_texts(lm, texts.texts))
    if not parts:
        raise InputError(f"{lm.name} finds no token in {texts.source}: give other texts.")
    counts = {"texts": len(texts), "texts_blank": texts.left_out, "parts": len(parts)}
    return TextCorpus(lm.tokenizer, counts | {"tokens": sum(len(own) for _, own in parts)}, parts)
