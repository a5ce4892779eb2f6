"""Places beyond what their names do: the length of a name, its words and its tokens held fixed.

Invented places mean nothing to a model, so what they do is done by names. With the effect π_j of a place, real or
invented, and the traits x_j of its name,

    π_j = β₀ + γ [j is real] + β·x_j + e_j

by least squares over all places. γ keeps a difference between real and invented places out of the slopes (with few real
places there is none). e_j is what the spelling of a name does beyond its length, so its variance is that of *invented*
places, which have no other effect. Place j is predicted from the fit without it:

    beyond the mean     π_j - prediction for a real place of that name      = e_j / (1 - h_j)
    beyond invented     π_j - prediction for an invented place of that name

with Var = σ² (1 + x_jᵀ (X₋ⱼᵀX₋ⱼ)⁻¹ x_j), Student's t. A place that is noisier than an invented one adds its
own variance. Spelling acts letter by letter, so σ² grows with the length of a name, from that of the mean invented one
on. σ² contains what texts and wordings add, since it is taken from effects that have both.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy import stats

from geobias.measures.estimates import SIGNIFICANT, Estimates, LargestEffect, find_largest, t_quantile
from geobias.measures.shift import ROUNDING

FEWEST_REAL = 10  # places, for a level of their own
FEWEST_DF = 5  # of the variance between invented places
OUTLIER = 0.05  # p, adjusted for all real places, below which a place has no part in the line
MOST_WORDS = 2  # of names that a number of words describes by itself
FEWEST_LONG = 5  # names of more words: a single one would alone decide what "several words" does, and not be tested
LEVERAGE = 1 - 1e-9  # a place that alone decides a coefficient cannot be predicted without it


class BeyondNames(NamedTuple):
    """Real places with the traits of their names held fixed."""

    from_invented: Estimates
    from_mean: Estimates
    slopes: Estimates
    """Of each trait."""
    spread: float
    """The standard deviation of invented places with equal traits: what the spelling of a name does."""
    explained: float
    """The share of the variance between invented places that the traits of their names explain."""
    df: float
    """Of Student's t."""

    @property
    def farthest(self) -> LargestEffect:
        """The place farthest from invented places, with bounds that hold for all places at once (Bonferroni).

        Without bounds if a place could not be compared.
        """
        value = np.nan_to_num(self.from_invented.value)
        wider = stats.t.isf(SIGNIFICANT / 2 / max(1, len(value)), self.df) / t_quantile(self.df)
        half_width = (self.from_invented.high - self.from_invented.value) * wider
        return find_largest(value, value - half_width, value + half_width)


def describe_names(names: Sequence[str], tokens: np.ndarray | None) -> tuple[list[str], np.ndarray]:
    """The traits of names as they stand in a sentence: what they are called, and names x traits.

    Whether there are several words is a trait besides their number, where several names have more than two: what a
    classifier does to "two words" is no slope over five, and invented names have two and an article at most.
    """
    words = np.array([len(name.split()) for name in names], dtype=float)
    traits = {"characters": np.array([len(name) for name in names], dtype=float), "words": words}
    if (words > MOST_WORDS).sum() >= FEWEST_LONG:
        traits["several words"] = (words > 1).astype(float)
    if tokens is not None:
        traits["tokens"] = tokens.astype(float)
    return list(traits), np.column_stack(list(traits.values()))


class _Line(NamedTuple):
    """A least-squares fit to the places in use, and what it says of all."""

    inverse: np.ndarray
    coefficients: np.ndarray
    residuals: np.ndarray
    share: np.ndarray  # 1 / (1 - leverage) of places in use, else 1; NaN for one that alone decides a coefficient
    variance: float
    df: float

    def errors(self, points: np.ndarray, rows: np.ndarray, used: np.ndarray) -> np.ndarray:
        """Variance of each prediction at `points`, without the place itself (its row), by that of the residuals."""
        cross = np.where(used, np.einsum("jk,kl,jl->j", points, self.inverse, rows), 0)
        return np.asarray(1 + np.einsum("jk,kl,jl->j", points, self.inverse, points) + cross**2 * self.share)


def compare_beyond_names(
    effects: np.ndarray, variances: np.ndarray, traits: np.ndarray, real: int
) -> BeyondNames | None:
    """Compare real places (the first of `effects`) with all others; None without enough invented ones.

    The first of the `traits` is the length of names. `variances` are those of the effects over texts. Real places far
    from the line, the farthest first, have no part in it: a single strong effect would tilt it for all others.
    """
    is_real = np.arange(len(effects)) < real
    level = [is_real.astype(float)] if real >= FEWEST_REAL else []
    design = np.column_stack([np.ones(len(effects)), *level, traits - traits.mean(axis=0)])
    scale = np.maximum(np.abs(design).max(axis=0), 1e-12)
    design = design / scale
    used = np.ones(len(effects), dtype=bool)
    line = _fit(design, effects, used, is_real)
    if (is_alone := np.isnan(line.share) & is_real).any():  # else it could not be compared
        used &= ~is_alone
        line = _fit(design, effects, used, is_real)
    limit = stats.t.isf(OUTLIER / 2 / max(real, 1), max(line.df, 1))
    for _ in range(real):
        error = np.sqrt(line.variance * line.errors(design, design, used))
        distance = np.divide(np.abs(line.residuals * line.share), error, out=np.zeros(len(effects)), where=error > 0)
        distance = np.where(used & is_real, np.nan_to_num(distance), 0)
        if line.df < FEWEST_DF or distance.max() <= limit:
            break
        used[distance.argmax()] = False
        line = _fit(design, effects, used, is_real)
    if line.df < FEWEST_DF:
        return None
    rows, points = design[:real], design[:real].copy()
    if level:
        points[:, 1] = 0
    deleted = (line.residuals * line.share)[:real]
    moved = np.where(used[:real, None], rows @ line.inverse * deleted[:, None], 0)  # without the place itself
    extra = np.maximum(0, variances - variances[~is_real].mean())[:real]
    part = line._replace(share=line.share[:real])
    lengths = traits[:, 0]
    longer = np.maximum(1, lengths[:real] / lengths[~is_real].mean())

    def estimate(value: np.ndarray, at: np.ndarray) -> Estimates:
        return _estimate(
            value, np.sqrt(line.variance * (longer - 1 + part.errors(at, rows, used[:real])) + extra), line.df
        )

    first = 1 + len(level)
    errors = np.sqrt(line.variance * np.maximum(np.diag(line.inverse), 0))
    return BeyondNames(
        estimate(effects[:real] - np.einsum("jk,jk->j", points, line.coefficients - moved), points),
        estimate(deleted, rows),
        _estimate((line.coefficients / scale)[first:], (errors / scale)[first:], line.df),
        float(np.sqrt(line.variance)),
        1 - line.variance / total if (total := float(effects[~is_real].var(ddof=1))) > 0 else 0.0,
        line.df,
    )


def _fit(design: np.ndarray, effects: np.ndarray, used: np.ndarray, is_real: np.ndarray) -> _Line:
    inverse = np.linalg.pinv(design[used].T @ design[used], rcond=1e-10, hermitian=True)
    coefficients = inverse @ design[used].T @ effects[used]
    residuals = effects - design @ coefficients
    leverage = np.where(used, np.einsum("jk,kl,jl->j", design, inverse, design), 0)
    share = np.where(leverage < LEVERAGE, 1 / np.where(leverage < LEVERAGE, 1 - leverage, 1), np.nan)
    df = float((1 - leverage[~is_real]).sum())
    return _Line(inverse, coefficients, residuals, share, float((residuals[~is_real] ** 2).sum() / max(df, 1)), df)


def _estimate(value: np.ndarray, error: np.ndarray, df: float) -> Estimates:
    """Student's t, with p-values that are not adjusted yet; what is only rounding is no difference."""
    value = np.where(np.abs(value) < ROUNDING, 0.0, value)
    t = np.divide(np.abs(value), error, out=np.where(value == 0, 0.0, np.inf), where=error > 0)
    p = np.where(np.isnan(value), np.nan, 2 * stats.t.sf(t, df))
    half_width = t_quantile(df) * error
    return Estimates(value, value - half_width, value + half_width, p, p)
