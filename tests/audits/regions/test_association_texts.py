"""The sentences of associations: options, frames that fit, and totals that equal those of single sentences."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from geobias.audits.regions.answers import AssociationAnswers, ask_associations, sum_tokens
from geobias.audits.regions.design import KNOWN_PLACES
from geobias.models.load import load_scorer
from geobias.texts.paraphrases import paraphrase_templates
from geobias.world.words import herb_words
from tests.audits.regions.association_worlds import make_design
from tests.audits.regions.test_association import ADJECTIVES, COUNTRIES, audit


def test_nouns_and_verbs_have_sentences_that_fit() -> None:
    texts: list[str] = []

    def judge(text: str) -> float:
        texts.append(text)
        return 0.0

    audit(judge, words=herb_words()[:3] + ADJECTIVES[:3], placebo=False, countries=COUNTRIES[:4])
    noun = next(word for word in herb_words()[:3] if word.part_of_speech == "noun")
    assert paraphrase_templates(noun)[0].format(region="France", description=noun.word) in texts


def ask_small(model: Path, score: str, paraphrases: int = 2) -> AssociationAnswers:
    design = make_design(cities=0, countries=COUNTRIES[:4], words=["kind", "very rude"], paraphrases=paraphrases)
    assert design.association is not None
    scorer = load_scorer(str(model), score)
    names = np.zeros(len(design.tree))
    return ask_associations(design.association, design.tree, scorer, ["Drovania"], names, "model", progress=False)


@pytest.mark.parametrize(("kind", "score"), [("bert", "aul"), ("bert", "conditional"), ("gpt2", "mean")])
def test_totals_are_those_of_single_sentences(small_models: dict[str, Path], kind: str, score: str) -> None:
    """Batches change no number: every sentence alone, its mean over tokens times their number."""
    answers = ask_small(small_models[kind], score)
    scorer = load_scorer(str(small_models[kind]), score)
    design = make_design(cities=0, countries=COUNTRIES[:4], words=["kind", "very rude"], paraphrases=2)
    assert design.association is not None and answers.invented is not None
    names = [design.tree.regions[row].name for row in design.association.rows] + ["Drovania"]
    (block,) = design.association.blocks(names, "region", marked=scorer.needs_mark)
    alone = np.concatenate([sum_tokens(scorer, scorer.score([text])) for text in block[1]]).reshape(2, len(names), 2)
    assert np.allclose(alone, np.concatenate([answers.totals, answers.invented], axis=1), atol=1e-4)


def test_means_times_tokens_are_sums(small_models: dict[str, Path]) -> None:
    by_mean, by_sum = (ask_small(small_models["gpt2"], score).totals for score in ("mean", "sum"))
    assert np.allclose(by_mean, by_sum, atol=1e-3)


def test_a_second_run_scores_only_what_is_new(small_models: dict[str, Path]) -> None:
    first, again, more = (ask_small(small_models["bert"], "aul", paraphrases=k) for k in (1, 1, 2))
    assert first.scored > 0 and again.scored == 0 and more.scored == first.scored - KNOWN_PLACES
    assert (again.totals == first.totals).all() and np.allclose(more.totals[:1], first.totals, atol=1e-6)
