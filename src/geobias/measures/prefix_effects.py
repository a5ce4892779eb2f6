"""Effects of places named in a prefix: beyond what their names do, and whatever the wording of the prefix.

**Beyond names**: the length of a name, its words and its tokens held fixed. Invented places mean nothing to a model, so
what they do is done by names. With the effect π_j of a place, real or invented, and the traits x_j of its name,

    π_j = β₀ + γ [j is real] + β·x_j + e_j

by least squares over all places. γ keeps a difference between real and invented places out of the slopes (with few real
places there is none). e_j is what the spelling of a name does beyond its length, so its variance is that of *invented*
places, which have no other effect. Place j is predicted from the fit without it:

    beyond the mean     π_j - prediction for a real place of that name      = e_j / (1 - h_j)
    beyond invented     π_j - prediction for an invented place of that name

with Var = σ² (1 + x_jᵀ (X₋ⱼᵀX₋ⱼ)⁻¹ x_j), Student's t. A place that is noisier than an invented one adds its
own variance. Spelling acts letter by letter, so σ² grows with the length of a name, from that of the mean invented one
on. σ² contains what texts and wordings add, since it is taken from effects that have both.

**Rotated wordings**: means over texts where each text meets each place with one of several wordings of a prefix. Text i
meets place j with wording w(i, j), balanced over the texts of a place, at random among the places of a text:

    y_ij = α_i,w(i,j) + π_j + (πω)_j,w(i,j) + e_ij

α_ik is what wording k alone does to text i: it is common to a third of the places, and least squares remove it, so no
wording and no control is in the difference of two places. Wordings are a sample, as texts are: the interaction πω of
place and wording is a random factor, whose variance over K wordings is added to that over N texts,

    Var(π_j) = s_j² / N + σ²_πω / K

σ²_πω is pooled over all places, since K is small: (mean square between the wordings of a place - that within) / n₀.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy import stats

from geobias.measures.change import ROUNDING
from geobias.measures.estimates import (
    SIGNIFICANT,
    Estimates,
    LargestEffect,
    benjamini_hochberg,
    find_largest,
    satterthwaite_df,
    t_quantile,
    t_test,
)

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
    slopes: Estimates  # of each trait
    spread: float  # the standard deviation of invented places with equal traits: what the spelling of a name does
    explained: float  # the share of the variance between invented places that the traits of their names explain
    df: float  # of Student's t

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
    p = t_test(value, error, df)
    half_width = t_quantile(df) * error
    return Estimates(value, value - half_width, value + half_width, p, p)


ROUNDS, TOLERANCE = 100, 1e-12


def remove_wordings(values: np.ndarray, rotation: np.ndarray) -> np.ndarray:
    """y_ij - α_i,w(i,j) (texts x places): the mean over texts is π_j, and all π_j sum to 0.

    By alternating the two means: of places within a text and wording, and of texts within a place.
    """
    wordings = int(rotation.max()) + 1
    texts = np.arange(len(values))[:, None]
    cell = texts * wordings + rotation
    counts = np.bincount(cell.ravel(), minlength=len(values) * wordings)
    effects = np.zeros(values.shape[1])
    remaining = values.astype(np.float64)
    for _ in range(ROUNDS):
        sums = np.bincount(cell.ravel(), weights=(values - effects).ravel(), minlength=len(counts))
        remaining = values - (sums / np.maximum(counts, 1))[cell]
        before, effects = effects, remaining.mean(axis=0)
        if np.abs(effects - before).max() < TOLERANCE:
            break
    return np.asarray(remaining)


class WithinWordings(NamedTuple):
    """What places do within one wording (wordings x places), over the texts that met that wording."""

    effects: np.ndarray
    variances: np.ndarray  # of the effects, over texts; NaN with fewer than two
    texts: np.ndarray


def estimate_within_wordings(values: np.ndarray, rotation: np.ndarray) -> WithinWordings:
    """(π + πω)_jk within each wording k: y_ij = α_i + (π + πω)_jk over the texts with w(i, j) = k, places summing to 0.

    An effect of one place after one wording is then not in α, and so not in what the other places do.
    """
    parts = []
    for k in range(int(rotation.max()) + 1):
        met = rotation == k
        per_text, texts = np.maximum(met.sum(axis=1, keepdims=True), 1), met.sum(axis=0)
        effects = np.zeros(values.shape[1])
        remaining = np.zeros(values.shape)
        for _ in range(ROUNDS):
            of_texts = np.where(met, values - effects, 0).sum(axis=1, keepdims=True) / per_text
            remaining = np.where(met, values - of_texts, 0)
            before, effects = effects, remaining.sum(axis=0) / np.maximum(texts, 1)
            effects -= effects.mean()
            if np.abs(effects - before).max() < TOLERANCE:
                break
        squares = (np.where(met, remaining - effects, 0) ** 2).sum(axis=0)
        variances = np.where(texts > 1, squares / np.maximum(texts - 1, 1) / np.maximum(texts, 1), np.nan)
        parts.append((effects, variances, texts))
    return WithinWordings(*(np.stack(part) for part in zip(*parts, strict=True)))


def estimate_wording_variance(values: np.ndarray, rotation: np.ndarray) -> float:
    """σ²_πω of values without wordings (texts x places), pooled over places; 0 where it cannot be told from noise."""
    texts, wordings = len(values), int(rotation.max()) + 1
    if wordings < 2 or texts <= wordings:
        return 0.0
    residuals = values - values.mean(axis=0)
    counts, sums = (
        np.stack([np.where(rotation == k, each, 0).sum(axis=0) for k in range(wordings)])
        for each in (np.ones(values.shape), residuals)
    )
    between_sum = (sums**2 / np.maximum(counts, 1)).sum(axis=0)
    between = between_sum / (wordings - 1)
    within = ((residuals**2).sum(axis=0) - between_sum) / (texts - wordings)
    per_wording = (texts - (counts**2).sum(axis=0) / texts) / (wordings - 1)
    return float(max(0.0, ((between - within) / per_wording).mean()))


def estimate_reference_variance(
    reference: np.ndarray, values: np.ndarray, remaining: np.ndarray, rotation: np.ndarray
) -> float:
    """The variance, over wordings, of how far a reference (texts x wordings) lies from what its wording alone does.

    `remaining` are the values without wordings. 0 where it cannot be told from noise.
    """
    texts, wordings = reference.shape
    if wordings < 2 or texts < 2:
        return 0.0
    counts, sums = (
        np.stack([np.where(rotation == k, each, 0).sum(axis=1) for k in range(wordings)], axis=1)
        for each in (np.ones(values.shape), values - remaining)
    )
    distance = reference - sums / np.maximum(counts, 1)
    noise = (distance - distance.mean(axis=1, keepdims=True)).var(axis=0, ddof=1).mean() / texts
    return float(max(0.0, distance.mean(axis=0).var(ddof=1) - noise))


def add_variance(
    estimates: Estimates, values: np.ndarray, variance: np.ndarray, squares_over_df: np.ndarray
) -> Estimates:
    """Estimates of means (values is texts x ...) with a further variance in each, where there is one.

    Intervals and p-values become those of Student's t where these are wider, with Satterthwaite's degrees of freedom:
    `squares_over_df` is the sum of the squares of the variances that are added, each by its degrees of freedom.
    """
    texts = len(values)
    if texts < 2 or not variance.any():
        return estimates
    of_texts = values.var(axis=0, ddof=1) / texts
    total = of_texts + variance
    df = satterthwaite_df(total, of_texts**2 / (texts - 1) + squares_over_df, texts - 1)
    error = np.sqrt(total)
    t = np.divide(np.abs(estimates.value), error, out=np.zeros(total.shape), where=error > 0)
    is_added = (variance > 0) & (error > 0)
    half_width = t_quantile(df) * error
    p = np.where(is_added, np.fmax(estimates.p, 2 * stats.t.sf(t, df)), estimates.p)
    return replace(
        estimates,
        low=np.where(is_added, np.fmin(estimates.low, estimates.value - half_width), estimates.low),
        high=np.where(is_added, np.fmax(estimates.high, estimates.value + half_width), estimates.high),
        p=p,
        p_adjusted=benjamini_hochberg(p),
    )
