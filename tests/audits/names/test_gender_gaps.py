"""Country x gender: what is planted for one country's women is told of them, and of nobody else."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from geobias.audits.names.answers import ClassifierAnswers
from geobias.audits.names.design import NamesDesign
from geobias.audits.names.result import NamesResult
from geobias.audits.names.rows import GenderGap
from geobias.report.findings import with_role
from geobias.report.page.blocks import Chart, Table
from tests.audits.names.test_findings import answer, make_design, measure, show_blocks


@pytest.fixture(scope="module")
def design(tmp_path_factory: pytest.TempPathFactory) -> NamesDesign:
    return make_design(tmp_path_factory.mktemp("names"), ["Mary", "John"] * 20, draws=6)


def plant(design: NamesDesign, seed: int, effect: Callable[[str], float], noise: float = 0.04) -> ClassifierAnswers:
    return answer(design, seed, effect, noise=noise)


def for_women_of_bland(text: str) -> float:
    return -0.18 if text.startswith("Bfemale") else 0.0


def list_standing_out(result: NamesResult) -> list[GenderGap]:
    return [gap for gap in result.gender_gaps if gap.stands_out]


def test_women_of_one_country_are_told_apart(design: NamesDesign) -> None:
    """-18 points against the originals are -15 against the mean of six countries."""
    result = measure(design, plant(design, 1, for_women_of_bland))
    (gap,) = list_standing_out(result)
    assert gap.place == "Bland" and gap.difference.p_adjusted is not None and gap.difference.p_adjusted < 0.01
    low, high = gap.difference.low, gap.difference.high
    assert low is not None and high is not None and low < -15 < high
    assert gap.women == pytest.approx(-15, abs=2) and gap.men == pytest.approx(0, abs=2)
    assert gap.difference.value == pytest.approx((gap.women or 0) - (gap.men or 0))
    told = [each for each in result.findings if "women's names" in each.sentence]
    assert len(told) == 1 and told[0].code == "Bland" and told[0].role != "caution"
    assert "points lower (harsher) for women's names, " in told[0].sentence and " for men's" in told[0].sentence
    (chart,) = (each for each in show_blocks(result) if "genders-of" in each.id)
    assert isinstance(chart, Chart) and "harsher for Bland" in chart.title
    assert [row["place"] for row in chart.rows if row["marked"]] == ["Bland"]
    (table,) = (each for each in show_blocks(result) if isinstance(each, Table) and "gender" in each.id)
    assert table.rows[0]["country"] == "Bland" and table.rows[0]["evidence"] == "clear: women's lower"


def test_a_contrast_that_cancels_in_delta_is_a_finding_of_its_own(design: NamesDesign) -> None:
    def opposite(text: str) -> float:
        return {"Bfemale": -0.15, "Bmale": 0.15}.get(text.split()[0][:-1], 0.0)

    result = measure(design, plant(design, 1, opposite))
    (detail,) = (each for each in with_role(result.findings, "detail") if "women's" in each.sentence)
    assert detail.evidence == "clear" and detail.code == "Bland" and detail.size is not None
    assert detail.size.value == pytest.approx(-25, abs=4) and detail.direction == "lower"
    assert "lower (harsher) for women's" in detail.sentence and "higher (kinder) for men's" in detail.sentence


def test_a_dislike_of_the_whole_country_has_no_gender(design: NamesDesign) -> None:
    result = measure(design, plant(design, 1, lambda text: -0.18 if text.startswith("B") else 0.0))
    assert result.gender_gaps and not list_standing_out(result)
    assert not any("women's names" in each.sentence for each in result.findings)
    assert not any("genders-of" in each.id for each in show_blocks(result))


def test_null_worlds_have_no_clear_contrast(design: NamesDesign) -> None:
    """Single names matter, and women's names of all countries are disliked: no country differs in that."""
    worlds = [
        measure(design, plant(design, seed, lambda text: -0.1 * ("female" in text), noise=0.1)) for seed in range(20)
    ]
    clear = [
        estimate
        for result in worlds
        for estimate in (
            *(gap.difference for gap in result.gender_gaps),
            *(row.against_mean for row in result.effects),
        )
        if estimate.p_adjusted is not None and estimate.p_adjusted < 0.05
    ]
    assert len(clear) <= 2


def test_one_family_with_delta(design: NamesDesign) -> None:
    """Twice as many numbers are tested together, so each adjusted p-value grows."""
    result = measure(design, plant(design, 3, for_women_of_bland, noise=0.2))
    estimates = [*(row.against_mean for row in result.effects), *(gap.difference for gap in result.gender_gaps)]
    ratios = [each.p_adjusted / each.p for each in estimates if each.p and 1e-4 < each.p < 0.01 and each.p_adjusted]
    assert ratios and all(ratio > 6 for ratio in ratios)  # six countries alone would give at most 6


def test_too_few_men_are_not_compared(tmp_path: Path) -> None:
    design = make_design(tmp_path, ["Mary"] * 20 + ["John"] * 10)
    result = measure(design, plant(design, 1, for_women_of_bland))
    assert result.gender_gaps == []
