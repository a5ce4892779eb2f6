"""What the words do to the score: topics or single words left out (HERB, Table 3), topics replaced (Table 6).

For what is left out nothing is scored again: the vectors are made from fewer likelihoods. For what is replaced, the
sentences with the substitutes are scored once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from geobias.audits.regions.answers import RegionsAnswers
from geobias.audits.regions.design import RegionsDesign, top_rows_with_pairs, topics_to_leave_out
from geobias.audits.regions.records import Wording, WordingEntry, WordingScores, WordingStudy
from geobias.audits.regions.result import BALANCED
from geobias.measures.estimates import Estimates
from geobias.measures.herb import FORMS, Children, descriptive_vectors, herb_scores
from geobias.measures.word_jackknife import FEWEST_WORDS, find_affordable, jackknife_words
from geobias.report.results import number

FULL, WITHOUT_TOPIC, WITHOUT_WORD, REPLACED = "full", "without topic", "without word", "replaced topic"


@dataclass(frozen=True)
class Variant:
    """The likelihoods that a wording is scored from: those of all words, and which of the words it has."""

    what: str
    name: str
    likelihoods: np.ndarray = field(repr=False)
    has_word: np.ndarray = field(repr=False)

    def select(self, words: np.ndarray) -> np.ndarray:
        """templates x regions x those of these words that the wording has."""
        return np.asarray(self.likelihoods[..., words[self.has_word[words]]])


def measure_wordings(design: RegionsDesign, answers: RegionsAnswers) -> list[Wording]:
    """The full wording, then each that the design asks for; none where it asks for none.

    Intervals are those of topics: what a single word does is its influence, which they are made of.
    """
    if not design.ablate and answers.substituted is None:
        return []
    wordings = score_wordings(design, answers)
    by_topic = {k: v for k, v in enumerate(_list_variants(design, answers)) if v.what != WITHOUT_WORD}
    has_enough_words = min(variant.has_word.sum() for variant in by_topic.values()) >= FEWEST_WORDS
    if has_enough_words and find_affordable(answers.likelihoods, design.tree.children, times=len(by_topic)).scores:
        complete = [wordings[k].scores[BALANCED] for k in by_topic]
        balanced, differences = _estimate(design, answers, list(by_topic.values()), complete)
        for position, k in enumerate(by_topic):
            difference = differences.part(position - 1) if position else None
            wordings[k] = replace(wordings[k], balanced=balanced.part(position), difference=difference)
    return wordings


def score_wordings(design: RegionsDesign, answers: RegionsAnswers) -> list[Wording]:
    """The same without intervals, which take far longer."""
    words = np.arange(len(design.words))
    return [
        Wording(variant.what, variant.name, _score(design, answers, variant.select(words)))
        for variant in _list_variants(design, answers)
    ]


def describe_wordings(design: RegionsDesign, wordings: Sequence[Wording]) -> WordingStudy:
    """The root and the regions directly below it, as results.json holds them."""
    tree, substitutes = design.tree, design.substitutes

    def describe(wording: Wording, row: int) -> WordingScores:
        return WordingScores(
            id=tree.regions[row].id,
            **{measure.replace(".", "_"): number(values[row]) for measure, values in wording.scores.items()},
            inference=wording.balanced.at(row) if wording.balanced else None,
            difference=wording.difference.at(row) if wording.difference else None,
        )

    return WordingStudy(
        wordings=[
            WordingEntry(
                wording.what, wording.name, [describe(wording, row) for row in top_rows_with_pairs(tree.children)]
            )
            for wording in wordings
        ],
        substitutes=list(substitutes.words) if substitutes else None,
        words_without_substitute=list(substitutes.lacking) if substitutes else [],
    )


def _list_variants(design: RegionsDesign, answers: RegionsAnswers) -> Iterator[Variant]:
    words = design.words
    topics = np.array([word.topic for word in words])
    all_words = np.ones(len(words), dtype=bool)
    yield Variant(FULL, "", answers.likelihoods, all_words)
    if "topics" in design.ablate:
        for topic in topics_to_leave_out(words):
            yield Variant(WITHOUT_TOPIC, topic, answers.likelihoods, topics != topic)
    if answers.substituted is not None and design.substitutes is not None:
        pairs = zip(words, design.substitutes.words, strict=True)
        for topic in dict.fromkeys(word.topic for word, substitute in pairs if substitute != word.word):
            likelihoods = np.where(topics == topic, answers.substituted, answers.likelihoods)
            yield Variant(REPLACED, topic, likelihoods, all_words)
    if "words" in design.ablate:
        for k, word in enumerate(words):
            yield Variant(WITHOUT_WORD, f"{word.word} ({word.topic})", answers.likelihoods, np.arange(len(words)) != k)


def score_vectors(vectors: Any, name_likelihoods: np.ndarray, children: Children) -> dict[str, Any]:
    """Both variants of the score in both forms, by names such as c_w.balanced."""
    scores = vars(herb_scores(vectors, name_likelihoods, children))
    return {f"{variant}.{form}": scores[variant][form] for form in FORMS for variant in scores}


def _score(design: RegionsDesign, answers: RegionsAnswers, likelihoods: np.ndarray) -> dict[str, np.ndarray]:
    """The mean over templates of every score."""
    by_template = [
        score_vectors(descriptive_vectors(f), answers.name_likelihoods, design.tree.children) for f in likelihoods
    ]
    return {measure: np.mean([scores[measure] for scores in by_template], axis=0) for measure in by_template[0]}


def _estimate(
    design: RegionsDesign, answers: RegionsAnswers, variants: Sequence[Variant], complete: Sequence[np.ndarray]
) -> tuple[Estimates, Estimates]:
    """Balanced C_w of every variant, `complete` with all words, and of every one but the first minus that of the first.

    Each word is left out of all variants at once. The p-values of all differences, of regions with a pair of
    sub-regions, are one family.
    """
    has_pair = np.array([len(children) > 1 for children in design.tree.children])

    def measure(kept: np.ndarray) -> np.ndarray:
        """variants x regions, from the kept words only."""
        scores = [
            known  # the word left out is none of this variant's
            if variant.has_word[kept].sum() == variant.has_word.sum()
            else _score(design, answers, variant.select(kept))[BALANCED]
            for variant, known in zip(variants, complete, strict=True)
        ]
        return np.where(has_pair, np.stack(scores), np.nan)

    jackknife = jackknife_words(measure, len(design.words))
    differences = jackknife.transform(lambda values: values[..., 1:, :] - values[..., :1, :])
    return jackknife.estimate_distances(), differences.estimate_differences()
