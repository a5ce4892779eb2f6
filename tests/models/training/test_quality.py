"""Pseudo-perplexity against its definition, and a model that knows capitals."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import geobias
from geobias.models.training import word_scores
from geobias.models.training.word_scores import pseudo_perplexity, share_of_capitals_known
from geobias.world.countries import CountryEntry, load_entries
from tests.conftest import CORPUS


@pytest.mark.parametrize(("kind", "score"), [("bert", "pll"), ("gpt2", "mean")])
def test_perplexity_weighs_texts_by_their_tokens(small_models: dict[str, Path], kind: str, score: str) -> None:
    texts = CORPUS[:5]
    rows = geobias.load(small_models[kind], device="cpu", dtype="float32").scorer(score).score(texts)
    expected = np.exp(-(rows[:, 0] * rows[:, 1]).sum() / rows[:, 1].sum())
    likelihoods = pseudo_perplexity(small_models[kind], [*texts, ""], device="cpu")
    assert likelihoods.perplexity == pytest.approx(expected, rel=1e-6)
    assert len(likelihoods.log_p) == len(texts)


@pytest.mark.parametrize("kind", ["bert", "gpt2"])
def test_capitals_are_ranked_among_all_countries(
    small_models: dict[str, Path], monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    entries = load_some(["FR", "DE", "SG", "KW", "NG"])
    monkeypatch.setattr(word_scores, "load_entries", lambda: entries)
    capitals = share_of_capitals_known(small_models[kind], device="cpu")
    assert capitals.countries == ("DE", "FR", "NG")  # Singapore and Kuwait City name their country
    assert capitals.is_known.sum() <= 3

    def know(lm: object, cities: list[str], names: list[str]) -> np.ndarray:
        answers = {"Paris": "France", "Berlin": "Germany", "Abuja": "Kuwait"}
        return np.array([[float(answers.get(city) == name) for name in names] for city in cities])

    monkeypatch.setattr(word_scores, "_score_names", know)
    known = share_of_capitals_known(small_models[kind], device="cpu")
    assert known.is_known.tolist() == [True, True, False] and known.share == pytest.approx(2 / 3)


def load_some(codes: list[str]) -> dict[str, CountryEntry]:
    return {code: load_entries()[code] for code in codes}
