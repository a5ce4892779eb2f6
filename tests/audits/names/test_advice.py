"""What to run next: more texts where texts are the noise, longer lists of names where names are; and it is true."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from geobias.audits.names.findings import ClassifierFindings
from geobias.audits.names.result import NamesResult
from geobias.measures.crossed_variance import CrossedVariance, NameUnits, VarianceParts
from geobias.measures.single_names import HalfAsLarge, find_half_as_large
from tests.audits.names.test_findings import answer, make_design, measure, overall

COUNTRIES, DRAWS = 6, 10


def simulate(texts: int, names: int, *, of_names: float, of_texts: float, seed: int) -> tuple[float, HalfAsLarge]:
    """The smallest detectable effect, and what would halve it: points of names, and of texts x countries."""
    rng = np.random.default_rng(seed)
    shape = (texts, COUNTRIES, DRAWS)
    order = np.argsort(rng.random((texts, COUNTRIES, names)), axis=-1)[..., :DRAWS]
    unit = order + names * np.arange(COUNTRIES)[:, None]
    values = rng.normal(0, of_names, COUNTRIES * names)[unit] + rng.normal(0, of_texts, (texts, COUNTRIES, 1))
    values = values + rng.normal(0, 1, shape)
    units = NameUnits(np.arange(unit.size), unit.ravel(), np.zeros(COUNTRIES * names, dtype=int))
    design = CrossedVariance(units, shape, np.ones((texts, DRAWS), dtype=bool))
    components = design.variance_components(values)
    half = find_half_as_large(design.variance_parts(components), texts, DRAWS)
    assert half is not None
    return design.smallest_effect(components), half


@pytest.mark.parametrize("seed", range(3))
def test_where_names_are_the_noise_only_names_help(seed: int) -> None:
    effect, half = simulate(60, 20, of_names=5, of_texts=1, seed=seed)
    assert half.texts is None and half.draws is None and half.share_of_names > 0.75
    assert half.times_names is None or 4 < half.times_names < 25
    more_texts, _ = simulate(240, 20, of_names=5, of_texts=1, seed=seed + 10)
    more_names, _ = simulate(240, 80, of_names=5, of_texts=1, seed=seed + 10)
    assert more_texts / effect > 0.7 and more_names / effect == pytest.approx(0.5, abs=0.12)


@pytest.mark.parametrize("seed", range(3))
def test_where_texts_are_the_noise_only_texts_help(seed: int) -> None:
    effect, half = simulate(60, 40, of_names=0.3, of_texts=5, seed=seed)
    assert half.texts is not None and 220 <= half.texts <= 290
    assert half.draws is None and half.times_names is None and half.share_of_names < 0.05
    more_texts, _ = simulate(half.texts, 40, of_names=0.3, of_texts=5, seed=seed + 10)
    assert more_texts / effect == pytest.approx(0.5, abs=0.08)


def test_by_hand() -> None:
    assert find_half_as_large(VarianceParts(4, 0, 0), 50, 8) == HalfAsLarge(200, None, None, 0)
    # A quarter of 4 is 1: 3.5 / 7 + 0.5; and no number of draws or names takes 3 off.
    assert find_half_as_large(VarianceParts(3, 0.5, 0.5), 50, 8) == HalfAsLarge(350, None, None, 0.125)
    assert find_half_as_large(VarianceParts(0, 4, 0), 50, 8) == HalfAsLarge(200, 32, None, 0)
    names = find_half_as_large(VarianceParts(0.5, 0, 3.5), 50, 8)
    assert names is not None and names.times_names == pytest.approx(7)
    assert (names.texts, names.draws, names.share_of_names) == (None, None, 0.875)
    assert find_half_as_large(VarianceParts(2, 0, 2), 50, 8) == HalfAsLarge(None, None, None, 0.5)
    assert find_half_as_large(VarianceParts(0, 0, 0), 50, 8) is None


def advise(result: NamesResult) -> str:
    return ClassifierFindings(result, result.classifiers[0]).advise_more_data()


def test_the_next_step_says_what_helps(tmp_path: Path) -> None:
    design = make_design(tmp_path, ["Mary", "John"] * 30, draws=8)

    def react(text: str) -> float:
        """A name moves the score, by the same in every text."""
        return 0.1 * (np.sin(sum(map(ord, text.split()[0])) * 7.7) > 0)

    of_names = measure(design, answer(design, 0, react, noise=0.01))
    assert overall(of_names).evidence == "none" and overall(of_names).next_step == advise(of_names)
    assert "More texts alone would hardly help" in advise(of_names) and "long lists of names" in advise(of_names)
    assert "--gazetteer FILE" in advise(of_names)
    rng, of_text = np.random.default_rng(1), dict[str, float]()

    def depends_on_text(text: str) -> float:
        words = text.split()
        return of_text.setdefault(words[0][0] + words[-1], rng.normal(0, 0.1))

    of_texts = measure(design, answer(design, 1, depends_on_text, noise=0.01))
    assert "use about 2" in advise(of_texts) and "texts" in advise(of_texts) and "hardly" not in advise(of_texts)
    assert "use about 240 texts" in advise(replace(of_texts, smallest_effects=[]))
