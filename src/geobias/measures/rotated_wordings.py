"""Means over texts where each text meets each place with one of several wordings of a prefix (a rotated design).

Text i meets place j with wording w(i, j), balanced over the texts of a place, at random among the places of a text:

    y_ij = α_i,w(i,j) + π_j + (πω)_j,w(i,j) + e_ij

α_ik is what wording k alone does to text i: it is common to a third of the places, and least squares remove it, so no
wording and no control is in the difference of two places. Wordings are a sample, as texts are: the interaction πω of
place and wording is a random factor, whose variance over K wordings is added to that over N texts,

    Var(π_j) = s_j² / N + σ²_πω / K

σ²_πω is pooled over all places, since K is small: (mean square between the wordings of a place - that within) / n₀.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy import stats

from geobias.measures.estimates import Estimates, benjamini_hochberg, satterthwaite_df, t_quantile

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
