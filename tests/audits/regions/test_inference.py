"""How sure the regions audit is, as results.json and a Python user see it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import geobias
from geobias.audits.regions.answers import match_tokens
from geobias.audits.regions.report import make_report
from geobias.audits.regions.result import RegionsResult
from geobias.models.scorer import Scorer
from tests.audits.regions.association_worlds import make_design

WORDS = "kind rude loud calm shy bold".split()
COUNTRIES = "FR DE IT ES NG KE GH EG JP IN CN TH".split()


class Hashed(Scorer):
    """A scorer whose answers look like noise, but the same for the same text; long names are far from the others."""

    columns = ("log_likelihood", "tokens")

    def score(self, texts: Sequence[str]) -> np.ndarray:
        rows = []
        for text in texts:
            noise = np.random.default_rng(list(text.encode())).random()
            rows.append([-1.0 - noise * (3.0 if "Europe" not in text and "a" in text else 1.0), len(text) // 3])
        return np.array(rows)


@pytest.fixture(scope="module")
def result() -> RegionsResult:
    return geobias.audit_regions(Hashed(), cities=2, countries=COUNTRIES, words=WORDS, placebo=True)


def test_every_region_with_a_pair_has_its_estimates(result: RegionsResult) -> None:
    json.dumps(result.to_dict(), allow_nan=False)
    for region in result.regions:
        scores = [getattr(region, f"{variant}_{form}") for variant in ("c_w", "c_z") for form in ("balanced", "paper")]
        assert all((score.low is None) == (not region.has_pairs) for score in scores)
        if region.has_pairs:
            assert all(score.low <= score.value <= score.high for score in (*scores, region.flat))
            assert region.random_mean and region.c_w_balanced.p is not None and region.c_w_paper.p is None
            assert region.ratio == pytest.approx((region.c_w_balanced.value or 0) / region.random_mean)
            assert region.is_sparser == ((region.ratio or 0) > 1)
    assert result.omissions == [] and result.kendall_w == []


def test_top_regions_have_ranks_and_the_sub_region_they_hang_on(result: RegionsResult) -> None:
    ranks = {region.c_w_balanced.value or 0: region.rank for region in result.regions if region.rank}
    assert {region.level for region in result.regions if region.rank} == {"continent"}
    assert [ranks[score].value for score in sorted(ranks, reverse=True)] == [1, 2, 3]
    assert all(rank.low <= rank.value <= rank.high for rank in ranks.values())  # type: ignore[operator]
    europe = result.region("Europe")
    kept = [region.id for region in result.regions if region.id in COUNTRIES and region.name != europe.influential]
    assert len(kept) == len(COUNTRIES) - 1
    without = geobias.audit_regions(Hashed(), cities=2, countries=kept, words=WORDS).region("Europe")
    assert without.c_w_balanced.value == pytest.approx(europe.c_w_without_it, rel=1e-6)
    assert result.region("Earth").influential and result.region("France").influential is None


def test_tokenisation_is_told_level_by_level(result: RegionsResult) -> None:
    rows = [(row.level, row.regions, row.trait) for row in result.tokenisation]
    levels = (("country", 12), ("city", 24))
    assert rows == [(*level, trait) for level in levels for trait in ("tokens", "name_likelihood", "norm")]


def test_the_placebo_is_one_more_cluster(result: RegionsResult) -> None:
    placebo: dict[str, Any] = result.to_dict()["placebo"]
    assert placebo["level"] == "country" and len(placebo["names"]) == 60 == result.settings.placebo
    assert result.work["placebo_sentences_scored"] == 60 * len(WORDS)
    assert placebo["tokens"] == pytest.approx(np.mean([len(name) // 3 for name in placebo["names"]]))
    assert placebo["ratio"]["value"] == pytest.approx(placebo["invented"]["value"] / placebo["real"]["value"])
    assert placebo["invented"]["low"] <= placebo["invented"]["value"] < placebo["invented"]["high"]
    assert any("60 invented places" in line for line in make_report(result).full_notes)


def test_invented_names_have_as_many_tokens_as_real_ones(result: RegionsResult) -> None:
    """By hand: real names of 1, 1, 2 and 5 tokens, one for each; the nearest to 5 is 4, and 1 is there once."""
    chosen = match_tokens(np.array([3.0, 1, 4, 2, 2, 3, 7]), np.array([1.0, 1, 2, 5]), 4)
    assert chosen.tolist() == [1, 2, 3, 4]
    placebo: dict[str, Any] = result.to_dict()["placebo"]
    assert placebo["tokens"] == pytest.approx(placebo["real_tokens"], abs=0.5)

    class Untold(Hashed):
        columns: Any = ("log_likelihood",)

        def score(self, texts: Sequence[str]) -> np.ndarray:
            return super().score(texts)[:, :1]

    untold = geobias.audit_regions(Untold(), cities=0, countries=COUNTRIES, words=WORDS, placebo=True)
    design = make_design(cities=0, countries=COUNTRIES, words=WORDS)
    assert untold.placebo is not None and untold.placebo.tokens is None
    assert tuple(untold.placebo.names) == design.placebo_candidates[:60]


def test_without_a_placebo_nothing_of_it_is_asked_or_kept() -> None:
    plain = geobias.audit_regions(Hashed(), cities=0, countries=COUNTRIES, words=WORDS, placebo=False)
    assert plain.to_dict()["placebo"] is None and plain.settings.placebo is None
    assert "placebo_sentences_scored" not in plain.work


def test_templates_that_agree_and_a_scorer_without_tokens() -> None:
    class Untold(Hashed):
        columns: Any = ("log_likelihood",)

        def score(self, texts: Sequence[str]) -> np.ndarray:
            return super().score([text.replace("!", ".") for text in texts])[:, :1]

    templates = [f"People in {{region}} are {{description}}{end}" for end in (".", "!")]
    result = geobias.audit_regions(Untold(), cities=0, countries=COUNTRIES, words=WORDS, templates=templates)
    found = result.to_dict()
    assert [(entry["level"], entry["by"], entry["regions"]) for entry in found["kendall_w"]] == [
        ("continent", "c_w", 3), ("country", "distance", 12),
    ]  # fmt: skip
    assert all(entry["w"] == pytest.approx(1.0) for entry in found["kendall_w"])
    assert [row.trait for row in result.tokenisation] == ["name_likelihood", "norm"]
    assert sum("Kendall" in line for line in make_report(result).full_notes) == 2
