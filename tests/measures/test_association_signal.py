"""More than a name, and more than fame: worlds with nothing, with fame alone, and with planted countries."""

from __future__ import annotations

import numpy as np
import pytest

from geobias.measures.association import associate
from geobias.measures.association_signal import (
    compare_lengths,
    compare_signal,
    compare_together,
    remove_fame,
    share_of_fame,
    shared_squares,
)

COUNTRIES, PLACES, WORDS, PARAPHRASES = 40, 60, 40, 4
WORLDS = 40


def draw_world(
    seed: int, *, countries: int = 0, words: int = 0, size: float = 0.0, fame: float = 0.0
) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Associations of countries, known and invented places, and two proxies of the fame of the first two."""
    rng = np.random.default_rng(seed)
    slopes, wording = rng.normal(size=WORDS), 1 + 0.3 * rng.normal(size=(PARAPHRASES, 1, 1))
    associations, proxies = [], []
    for kind, count in enumerate((COUNTRIES, PLACES, PLACES)):
        effects = 0.3 * rng.normal(size=(count, WORDS))
        if kind < 2:
            known = rng.normal(size=count)
            effects += fame * np.outer(known, slopes)
            proxies.append(known[:, None] + 0.7 * rng.normal(size=(count, 2)))  # fame is observed with error
        if kind == 0:
            for row in range(countries):
                effects[row, rng.choice(WORDS, words, replace=False)] += size
        associations.append(associate(wording * effects + 0.3 * rng.normal(size=(PARAPHRASES, count, WORDS))))
    return associations, proxies


def judge(**options: float) -> tuple[float, float, float, float]:
    """Shares of worlds with more than a name, more than fame, a country that stands out from both, and countries that
    do so together."""
    shares = []
    for seed in range(WORLDS):
        (countries, known, invented), proxies = draw_world(seed, **options)  # type: ignore[arg-type]
        names = compare_signal(countries, invented)
        without, known_without = remove_fame(countries, proxies[0], known, proxies[1])
        fame = compare_signal(without, known_without)
        p = [
            compare_lengths(countries.mean(axis=0), invented.mean(axis=0)),
            compare_lengths(without.mean(axis=0), known_without.mean(axis=0)),
        ]
        clear = [each.p < 0.05 and each.value > 0 for each in (names, fame)]
        single = (np.maximum(*p) * COUNTRIES).min() < 0.05
        shares.append([*clear, single, max(compare_together(each, PLACES) for each in p) < 0.05])
    return tuple(np.mean(shares, axis=0))


def test_products_of_paraphrases_by_brute_force() -> None:
    associations = np.random.default_rng(1).normal(size=(3, 2, 5))
    for row, value in enumerate(shared_squares(associations)):
        products = [(associations[p, row] * associations[q, row]).mean() for p in range(3) for q in range(3) if p != q]
        assert value == pytest.approx(np.mean(products))
    assert shared_squares(associations[:1]) == pytest.approx((associations[0] ** 2).mean(axis=-1))


def test_more_paraphrases_make_it_surer_and_not_smaller() -> None:
    rng = np.random.default_rng(2)
    truth = 0.3 * rng.normal(size=(400, WORDS))
    means = [float(shared_squares(truth + rng.normal(size=(count, 400, WORDS))).mean()) for count in (2, 4, 8, 12)]
    assert means == pytest.approx([0.09] * 4, abs=0.02)


def test_nothing_is_seldom_called_anything() -> None:
    assert max(judge()) <= 0.075


def test_fame_is_more_than_a_name_and_no_more_than_fame() -> None:
    names, fame, stands_out, together = judge(fame=0.3)
    assert names >= 0.9 and max(fame, stands_out, together) <= 0.075


@pytest.mark.parametrize("fame", [0.0, 0.3])
def test_what_is_planted_in_all_countries_is_more_than_both(fame: float) -> None:
    names, beyond_fame, *_ = judge(countries=COUNTRIES, words=10, size=0.8, fame=fame)
    assert names >= 0.9 and beyond_fame >= 0.9


def test_few_strongly_planted_countries_stand_out_by_themselves() -> None:
    assert judge(countries=5, words=2, size=3.0)[2] >= 0.9


def test_several_countries_are_clearer_together_than_the_clearest_by_itself() -> None:
    *_, single, together = judge(countries=5, words=2, size=2.0)
    assert together >= 0.9 and single <= 0.6


@pytest.mark.parametrize(("regions", "places"), [(12, 20), (40, 60), (247, 60)])
def test_countries_together_are_seldom_called_anything_where_they_share_what_they_are_compared_with(
    regions: int, places: int
) -> None:
    rng = np.random.default_rng(7)
    p = []
    for _ in range(200):
        rows = [
            np.exp(rng.standard_exponential((count, 1)) + 0.01 * rng.normal(size=(count, 1)))
            for count in (regions, places)
        ]
        p.append(compare_together(compare_lengths(*rows), places))
    assert np.mean(np.array(p) < 0.05) <= 0.08


def test_the_order_of_countries_does_not_matter_and_many_small_p_values_do() -> None:
    p = np.linspace(0.01, 0.99, 40)
    assert compare_together(p, 60) == compare_together(p[::-1], 60) > 0.2
    p[:5] = 0.003  # none below 0.05 / 40
    assert compare_together(p, 60) < 0.01


def test_fame_takes_its_slope_and_its_share() -> None:
    rng = np.random.default_rng(3)
    proxies, others = rng.normal(size=(COUNTRIES, 1)), rng.normal(size=(PLACES, 1))
    slopes = rng.normal(size=WORDS)
    noise = [0.01 * rng.normal(size=(PARAPHRASES, len(each), WORDS)) for each in (proxies, others)]
    first, second = (
        associate((each * slopes)[None] + wobble) for each, wobble in zip((proxies, others), noise, strict=True)
    )
    without = remove_fame(first, proxies, second, others)
    assert all(np.abs(each).max() < 0.3 for each in without)  # large cells weigh less, so that a little is left
    share = share_of_fame(first, without[0])
    assert share is not None and share > 0.97
    assert share_of_fame(np.zeros_like(first), np.zeros_like(first)) is None


def test_one_large_cell_makes_no_slope() -> None:
    rng = np.random.default_rng(4)
    proxies, others = rng.normal(size=(COUNTRIES, 1)), rng.normal(size=(PLACES, 1))
    first, second = (0.1 * rng.normal(size=(PARAPHRASES, len(each), WORDS)) for each in (proxies, others))
    planted = first.copy()
    planted[:, int(proxies.argmax()), 3] += 50.0
    before, after = (remove_fame(each, proxies, second, others)[1][:, :, 3] for each in (first, planted))
    assert np.abs(after - before).max() < 0.2


def test_few_paraphrases_have_no_interval_and_longer_names_are_compared_with_longer_ones() -> None:
    (countries, _, invented), _ = draw_world(0)
    assert np.isnan(compare_signal(countries[:2], invented[:2]).p)
    length, other = np.full(COUNTRIES, 4.0), np.repeat([1.0, 4.0], PLACES // 2)
    longer = invented.copy()
    longer[:, other == 4] *= 3  # names of four tokens have larger associations
    assert compare_signal(3 * countries, longer, length, other).p > 0.05
    unlike = compare_signal(3 * countries, longer)
    assert unlike.p < 0.05 and unlike.value > 0
