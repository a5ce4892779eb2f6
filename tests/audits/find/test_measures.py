"""The numbers of an audit of finders against a count by hand, and their intervals against planted worlds."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import geobias
from geobias.audits.find.measure_shares import CountryShares, exact_interval, infer_over_texts
from geobias.measures.estimates import Estimates
from tests.audits.find.finders import COUNTRIES, TEXTS, audit, chance, make_finder
from tests.conftest import made_up_names

TRUTH = 0.7


def test_shares_are_those_of_the_file_of_mentions(tmp_path: Path) -> None:
    """A text with two mentions counts as much as one with a single mention."""
    pair = pd.DataFrame([{"id": "pair", "text": "Mary met Ann Lee.", "people": [[0, 4], [9, 16]]}])
    result = geobias.audit_finders(
        make_finder(lambda name, text: chance(name) < 0.6),
        pd.concat([TEXTS, pair]),
        spans="people",
        draws=3,
        gazetteer=made_up_names(tmp_path, COUNTRIES),
        out=tmp_path / "run",
    )
    (entry,) = result.finders
    mentions = pd.read_parquet(tmp_path / "run/mentions.parquet")
    finder = entry.model.name
    assert len(mentions) == 17 * 8 * (3 + 2 * 2) == sum(level.mentions for level in entry.factors[-3:]) * 7 / 6
    mentions["hit"] = mentions[finder] == "found"
    written = mentions[mentions["case"] == "as written"]
    by_text = written.groupby(["country", "text_id", "draw"])["hit"].mean()
    assert dict(by_text.groupby("country").mean()) == pytest.approx(
        {country.code: country.recall.value for country in entry.countries}
    )
    lower = mentions[mentions["case"] == "lower"].groupby(["country", "text_id", "draw"])["hit"].mean()
    assert lower.mean() == pytest.approx(next(level.recall.value for level in entry.factors if level.level == "lower"))
    both = written[written["name"].str.contains(" ")].groupby(["country", "text_id", "draw"])["hit"].mean()
    assert both.mean() == pytest.approx(
        next(level.recall.value for level in entry.factors if level.level == "first and last")
    )
    for country in entry.countries:
        values = [getattr(country, name).value for name in ("recall", "partial", "wrong_type", "misses")]
        assert sum(values) == pytest.approx(1)
    assert entry.weakest_names == []  # none is shown ten times
    names = pd.read_csv(tmp_path / "run/tables/names.csv")
    alone = names[(names["kind"] == "male") & (names["code"] == "Aland")]
    shown = written[(written["country"] == "Aland") & written["name"].str.startswith("Amale")]
    assert alone["mentions"].sum() == len(shown)
    assert (alone["mentions"] * alone["recall"]).sum() == pytest.approx(shown["hit"].sum())


def test_intervals_over_texts_are_those_of_a_ratio() -> None:
    rng = np.random.default_rng(1)
    predictions = rng.integers(0, 4, 60)
    correct = rng.binomial(predictions, 0.7)
    interval = infer_over_texts(correct, predictions)
    ratio = correct.sum() / predictions.sum()
    residuals = (correct - ratio * predictions) / predictions.mean()
    error = residuals.std(ddof=1) / np.sqrt(len(residuals))
    assert interval.value == pytest.approx(ratio) and interval.low is not None
    assert ratio - interval.low == pytest.approx(stats.t.isf(0.025, 45) * error, rel=0.05)  # df follow the kurtosis
    assert infer_over_texts(correct[:2], np.ones(2)).low is None  # two texts
    assert infer_over_texts(np.zeros(9), np.zeros(9)).value is None


def test_the_bounds_of_the_gap_by_hand() -> None:
    """One country is surely below the mean, so another is above it, though none of them surely is."""
    value = np.array([0.4, 0.9, 0.8])
    difference = Estimates.unknown(value - value.mean())
    half_width = np.array([0.2, 0.3, 0.3])
    bounds = difference.value - half_width, difference.value + half_width
    shares = CountryShares(value, value - 0.3, value + 0.3, value - 0.4, value + 0.4, difference, *bounds)
    assert shares.gap == pytest.approx((0.5, 0.1, 1.0))
    unknown = np.full(3, np.nan)
    shares = CountryShares(value, value, value, value - 0.2, value + 0.1, difference, unknown, unknown)
    assert shares.gap == pytest.approx((0.5, 0.2, 0.8))


def test_exact_intervals_are_clopper_and_pearsons() -> None:
    counts = np.array([0, 1, 7, 20])
    low, high = exact_interval(counts / 20, np.full(4, 20), 0.025)
    for k, count in enumerate(counts):
        expected = stats.binomtest(int(count), 20).proportion_ci(0.95)
        assert (low[k], high[k]) == pytest.approx((expected.low, expected.high))


def is_recognised(salt: str, name: str, text: str) -> bool:
    """By the first word of the name, anew for each salt."""
    return chance(salt + name.split()[0].lower()) < TRUTH


@pytest.mark.slow
def test_intervals_cover_and_adjusted_p_values_hold(tmp_path: Path) -> None:
    """Names are missed at random, anew in each repetition: the truth is 0.7 for every country."""
    covered, alarms, repetitions = 0, 0, 15
    for repetition in range(repetitions):
        find = make_finder(partial(is_recognised, str(repetition)))
        entry = audit(find, tmp_path, draws=4)
        covered += sum(
            row.recall.low <= TRUTH <= row.recall.high
            for row in entry.countries
            if row.recall.low is not None and row.recall.high is not None
        )
        alarms += entry.any_country_p is not None and entry.any_country_p < 0.05
    assert covered / (8 * repetitions) > 0.9
    assert alarms <= 3  # one of twenty expected
