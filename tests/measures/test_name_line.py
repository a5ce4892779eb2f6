"""Names held fixed: predictions without each place, against fits that really leave it out."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from geobias.measures.prefix_effects import compare_beyond_names, describe_names

REAL, INVENTED = 40, 30


def plant(seed: int, slope: float = 0.0, spelling: float = 0.01) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    traits = np.column_stack([rng.integers(4, 20, REAL + INVENTED), rng.integers(1, 3, REAL + INVENTED)]).astype(float)
    return slope * traits[:, 0] + rng.normal(0, spelling, REAL + INVENTED), traits


def test_a_place_is_compared_with_the_fit_of_all_others() -> None:
    effects, traits = plant(0, slope=0.005)
    result = compare_beyond_names(effects, np.zeros(len(effects)), traits, REAL)
    assert result is not None
    design = np.column_stack([np.ones(len(effects)), np.arange(len(effects)) < REAL, traits])
    for j in (0, 7, 39):
        others = np.arange(len(effects)) != j
        coefficients = np.linalg.lstsq(design[others], effects[others], rcond=None)[0]
        assert result.from_mean.value[j] == pytest.approx(effects[j] - design[j] @ coefficients)
        as_invented = design[j] * [1, 0, 1, 1]
        assert result.from_invented.value[j] == pytest.approx(effects[j] - as_invented @ coefficients)
    fitted = np.linalg.lstsq(design, effects, rcond=None)[0]
    assert result.slopes.value == pytest.approx(fitted[2:])
    assert result.slopes.low[0] < 0.005 < result.slopes.high[0] and result.spread == pytest.approx(0.01, rel=0.4)


def test_errors_are_those_of_a_prediction() -> None:
    """Names of equal length: Student's t of a new observation against the mean of the invented ones."""
    rng = np.random.default_rng(3)
    effects = rng.normal(0, 0.01, 1 + INVENTED)
    traits = np.full((1 + INVENTED, 1), 8.0)
    result = compare_beyond_names(effects, np.zeros(len(effects)), traits, 1)
    assert result is not None
    sample = effects[1:]
    t = (effects[0] - sample.mean()) / (sample.std(ddof=1) * np.sqrt(1 + 1 / INVENTED))
    assert result.from_invented.p[0] == pytest.approx(2 * stats.t.sf(abs(t), INVENTED - 1), rel=0.1)


@pytest.mark.parametrize("slope", [0.0, 0.01])
def test_null_places_are_called_different_in_five_per_cent(slope: float) -> None:
    p = [compare_beyond_names(*plant_null(seed, slope), REAL) for seed in range(60)]
    for name in ("from_invented", "from_mean"):
        share = np.mean([getattr(each, name).p < 0.05 for each in p if each is not None])
        assert 0.02 < share < 0.065


def plant_null(seed: int, slope: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    effects, traits = plant(seed, slope)
    return effects, np.zeros(len(effects)), traits


def test_a_strong_place_does_not_tilt_the_line_for_others() -> None:
    effects, traits = plant(0, slope=0.005, spelling=0.001)
    effects[3] += 0.5
    result = compare_beyond_names(effects, np.zeros(len(effects)), traits, REAL)
    assert result is not None and result.from_invented.value[3] == pytest.approx(0.5, abs=0.01)
    assert result.slopes.value[0] == pytest.approx(0.005, abs=2e-4)
    assert (np.delete(result.from_invented.p, 3) > 0.0005).all()


def test_longer_names_and_noisier_places_have_wider_intervals() -> None:
    effects, traits = plant(0)
    variances = np.zeros(len(effects))
    variances[5] = 0.02**2
    traits[6, 0] = 60
    result = compare_beyond_names(effects, variances, traits, REAL)
    assert result is not None
    width = result.from_mean.high - result.from_mean.low
    assert width[5] > 2 * np.median(width) and width[6] > 2 * np.median(width)


def test_few_invented_places_give_no_answer() -> None:
    effects, traits = plant(0)
    assert compare_beyond_names(effects[: REAL + 4], np.zeros(REAL + 4), traits[: REAL + 4], REAL) is None


def test_traits_of_names() -> None:
    names, traits = describe_names(["Chad", *["the United States"] * 5], np.array([1, *[3] * 5]))
    assert names == ["characters", "words", "several words", "tokens"]
    assert traits.tolist() == [[4, 1, 0, 1], *[[17, 3, 1, 3]] * 5]
    # A single long name would alone decide what several words do.
    assert describe_names(["Chad", "the United States"], np.array([1, 3]))[0] == ["characters", "words", "tokens"]
    assert describe_names(["Chad", "Costa Rica"], None)[0] == ["characters", "words"]
