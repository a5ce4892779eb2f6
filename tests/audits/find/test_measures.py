"""The numbers of an audit of finders against a count by hand, and their intervals against planted worlds."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from geobias.audits.find.answers import OUTCOMES
from geobias.audits.find.measure import CountryShares, exact_interval, infer_over_texts
from geobias.measures.estimates import Estimates
from geobias.report.tables import is_marked
from tests.audits.find.finders import COUNTRIES, TEXTS, audit, chance, get_level, get_shares, make_finder

TRUTH = 0.7


def test_shares_are_those_of_the_saved_answers(tmp_path: Path) -> None:
    """A text with two mentions counts as much as one with a single mention."""
    pair = pd.DataFrame([{"id": "pair", "text": "Mary met Ann Lee.", "people": [[0, 4], [9, 16]]}])
    result = audit(
        make_finder(lambda name, text: chance(name) < 0.6),
        tmp_path,
        texts=pd.concat([TEXTS, pair]),
        draws=3,
        out=tmp_path / "run",
    )
    answers = pd.read_parquet(tmp_path / "run/answers.parquet")
    model = result.finders[0].model
    assert (answers["variant"] == "original").sum() == 17
    renamed = answers[answers["variant"] == "place"]
    assert len(renamed) == 17 * 8 * (3 + 2 * 2) == sum(level.mentions for level in result.factors[-3:]) * 7 / 6
    written = renamed[renamed["case"] == "as written"]

    def average(rows: pd.DataFrame, outcome: str = "recall") -> pd.Series[float]:
        return rows.groupby(["place", "text_id", "draw"])[f"{model}/{outcome}"].mean()

    for outcome in OUTCOMES:
        shares = {row.code: row.share.value for row in result.list_effects(model, outcome)}
        assert dict(average(written, outcome).groupby("place").mean()) == pytest.approx(shares)
    for country in COUNTRIES:
        assert sum(share or 0 for share in get_shares(result, country).values()) == pytest.approx(1)
    levels = {"lower": renamed["case"] == "lower", "first and last": written["name"].str.contains(" ")}
    for level, rows in levels.items():
        shown = renamed.loc[rows[rows].index]
        assert average(shown).mean() == pytest.approx(get_level(result, level).recall.value)
    assert result.weakest_names == []  # none is shown ten times
    names = pd.read_csv(tmp_path / "run/tables/names.csv")
    alone = names[(names["kind"] == "male") & (names["code"] == "Aland")]
    shown = written[(written["place"] == "Aland") & written["name"].str.startswith("Amale")]
    assert alone["mentions"].sum() == len(shown)
    assert (alone["mentions"] * alone["recall"]).sum() == pytest.approx(shown[f"{model}/recall"].sum())


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


def test_intervals_cover_and_adjusted_p_values_hold(tmp_path: Path) -> None:
    """Names are missed at random, anew in each repetition: the truth is 0.7 for every country."""
    covered, alarms, repetitions = 0, 0, 15
    for repetition in range(repetitions):
        find = make_finder(partial(is_recognised, str(repetition)))
        rows = [row for row in audit(find, tmp_path, draws=4).effects if row.label == "recall"]
        covered += sum((row.share.low or 0) <= TRUTH <= (row.share.high or 0) for row in rows)
        alarms += any(is_marked(row.against_mean) for row in rows)
    assert covered / (8 * repetitions) > 0.9
    assert alarms <= 3  # one of twenty expected
