"""Where a few texts carry the difference of a country, a caution says so; where all texts do, nothing is said."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from geobias.audits.names.design import NamesDesign
from geobias.audits.names.result import NamesResult
from geobias.measures.single_names import count_texts_of_half, skewness_of_mean
from geobias.report.findings import Finding
from tests.audits.names.test_findings import answer, make_design, measure


@pytest.fixture(scope="module")
def design(tmp_path_factory: pytest.TempPathFactory) -> NamesDesign:
    return make_design(tmp_path_factory.mktemp("names"), ["Mary", "John"] * 20, draws=6)


def plant(design: NamesDesign, spread: float, seed: int) -> NamesResult:
    """Bland's names are disliked by 8 points in the mean, log-normal over texts."""
    rng, of_text = np.random.default_rng(seed), dict[str, float]()

    def react(text: str) -> float:
        size = of_text.setdefault(text.split("day")[-1], float(np.exp(rng.normal(0, spread) - spread**2 / 2)))
        return -0.08 * size if text.startswith("B") else 0.0

    return measure(design, answer(design, seed, react, noise=0.03))


def find_cautions(result: NamesResult) -> list[Finding]:
    return [each for each in result.findings if "rests on few texts" in each.sentence]


def test_a_few_texts_that_carry_a_gap_are_counted(design: NamesDesign) -> None:
    results = [plant(design, 1.0, seed) for seed in range(8)]
    said = [find_cautions(result) for result in results]
    assert sum(map(bool, said)) >= 4
    result, (caution,) = next((result, each) for result, each in zip(results, said, strict=True) if each)
    few = next(each for each in result.few_texts if each.code == caution.code)
    assert caution.code == "Bland" and few.skewness < -0.2 and 2 <= few.texts_of_half <= 10
    assert f"{few.texts_of_half} of 40 make up half of it" in caution.sentence and caution.role == "caution"


def test_an_effect_of_all_texts_rests_on_all(design: NamesDesign) -> None:
    assert sum(bool(find_cautions(plant(design, 0.0, seed))) for seed in range(8)) <= 1
    few = plant(design, 0.0, 0).few_texts
    assert all(each.code != "Bland" for each in few)


def test_too_few_texts_have_no_caution(tmp_path: Path) -> None:
    result = plant(make_design(tmp_path, ["Mary"] * 10), 1.5, 0)
    assert result.few_texts == [] and not find_cautions(result)


def test_by_hand() -> None:
    """-1, -1, -1 and 3: the sum of cubes is 24, that of squares 12; 24 / 12 ** 1.5."""
    assert skewness_of_mean(np.array([[-1.0], [-1], [-1], [3]])) == pytest.approx(24 / 12**1.5)
    assert skewness_of_mean(np.zeros((4, 1))) == 0
    assert count_texts_of_half(np.array([1.0, 1, 1, 1])) == 2
    assert count_texts_of_half(np.array([-9.0, -1, -1, 1])) == 1 and count_texts_of_half(np.zeros(3)) == 0
