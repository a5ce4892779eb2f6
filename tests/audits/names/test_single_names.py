"""Single names: those that a lexicon reacts to are named, and nobody is named where no name matters."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import geobias
from geobias.audits.names.result import NamesResult
from geobias.measures.crossed_variance import CrossedVariance, NameUnits
from geobias.measures.single_names import estimate_name_effects
from geobias.report.findings import with_role
from tests.audits.names.test_findings import answer, make_design, measure
from tests.conftest import spell

WORDS = {"joy": 0.59, "rob": -0.56, "dick": -0.51, "grace": 0.42, "late": -0.2, "won": 0.3}


def judge_by_lexicon(texts: list[str]) -> list[dict[str, float]]:
    """The mean of known words, as lexicons of sentiment give it: a name that is a word counts as one."""
    tones = [sum(WORDS.get(word, 0.0) for word in re.findall(r"[a-z]+", text.lower())) for text in texts]
    return [{"negative": 0.5 - tone / 2, "positive": 0.5 + tone / 2} for tone in map(np.tanh, tones)]


def audit(classifier: object, out: Path | None = None, **options: object) -> NamesResult:
    said = ["was late", "won again", "is here", "called", "left town"]
    texts = [f"{name} {said[i % 5]} on day {spell(i)}" for i, name in enumerate(["Mary", "John"] * 20)]
    frame = pd.DataFrame({"text": texts, "spans": ["[[0, 4]]"] * len(texts)})
    settings = {"spans": "spans", "draws": 50, "countries": "AU,CA,US,GB,FR", **options}
    return geobias.audit_names(classifier, frame, out=out, **settings)  # type: ignore[arg-type]


def test_words_among_names_are_named(tmp_path: Path) -> None:
    result = audit(judge_by_lexicon, tmp_path / "run")
    entry, large = result.classifiers[0], result.large_names
    assert {each.name for each in large} == {"Joy", "Rob", "Dick", "Grace"} and abs(large[0].value or 0) > 40
    assert entry.share_of_large_names == pytest.approx(1, abs=0.05)
    assert (entry.names_shown or 0) > (entry.names_tested or 0) > 100
    caution = with_role(result.findings, "caution")[0]
    expected = f"{len(large)} of {entry.names_shown:,} names move the score by more than 5 points"
    assert expected in caution.sentence and "Grace +" in caution.sentence and "100% of the variance" in caution.sentence
    table = pd.read_csv(tmp_path / "run/tables/names.csv")
    assert len(table) == entry.names_shown
    assert table["name"].head(len(large)).tolist() == [each.name for each in large]
    assert table.loc[table["name"] == "Grace", "countries"].iloc[0] == "AU, US, GB"
    others = table[table["p_adjusted"].notna()].iloc[len(large) :]
    assert others["value"].abs().max() < 5
    assert "names move the score by more than 5 points" in (tmp_path / "run/report.html").read_text("utf-8")


def test_nobody_is_named_where_no_name_matters(tmp_path: Path) -> None:
    """Texts, countries, genders and heavy-tailed noise matter, and some texts are ten times as noisy as others."""
    design = make_design(tmp_path, ["Mary", "John"] * 15, draws=12)
    named = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        scale = dict[str, float]()

        def react(text: str, rng: np.random.Generator = rng, scale: dict[str, float] = scale) -> float:
            of_text = scale.setdefault(text.split()[-1], float(np.exp(rng.normal(0, 1))))
            of_group = -0.2 * text.startswith("B") + 0.1 * ("female" in text)
            return of_group + 0.03 * of_text * float(rng.standard_t(3))

        result = measure(design, answer(design, seed, react, noise=0.0))
        assert (result.classifiers[0].names_tested or 0) > 200
        named += bool(result.large_names)
    assert named <= 2


def test_small_effects_of_all_names_are_not_named(tmp_path: Path) -> None:
    """Every name has an effect, of 4 points or less."""
    design = make_design(tmp_path, ["Mary", "John"] * 15, draws=12)

    def react(text: str) -> float:
        return 0.04 * (-1) ** ord(text.split()[0][-1])

    assert measure(design, answer(design, 1, react, noise=0.02)).large_names == []


def test_an_effect_by_hand() -> None:
    """Five texts, one country, draws of five names: name 0 gets 30, the others 0; the median of each text is 0."""
    texts, draws = 5, 5
    units = NameUnits(np.arange(texts * draws), np.tile(np.arange(draws), texts), np.zeros(draws, dtype=int))
    values = np.zeros((texts, 1, draws))
    values[:, 0, 0] = 30
    values += np.arange(texts)[:, None, None]  # what differs between texts does not count
    design = CrossedVariance(units, (texts, 1, draws), np.ones((texts, draws), dtype=bool))
    effects = estimate_name_effects(design, values, np.full((texts, draws), "male"))
    assert effects.effect.tolist() == [30, 0, 0, 0, 0] and effects.texts.tolist() == [5] * 5
    assert effects.is_tested.all() and effects.is_large.tolist() == [True, False, False, False, False]
    assert effects.share_of_large == pytest.approx(1)


def test_too_few_texts_are_not_tested() -> None:
    units = NameUnits(np.arange(20), np.tile(np.arange(5), 4), np.zeros(5, dtype=int))
    values = np.zeros((4, 1, 5))
    values[:, 0, 0] = 30
    design = CrossedVariance(units, (4, 1, 5), np.ones((4, 5), dtype=bool))
    effects = estimate_name_effects(design, values, np.full((4, 5), "male"))
    assert not effects.is_tested.any() and not effects.is_large.any() and effects.effect[0] == 30
