"""Association of regions and words: which words a model uses more of one region than of others, whatever its name.

The log-likelihood l(r, w) of the sentence about region r with word w has three parts: the word's own (common words are
likely of everybody), the region's own (its name makes any sentence more or less likely), and their interaction

    a(r, w) = l(r, w) - mean_w l(r, w) - mean_r l(r, w) + mean l,

the association. exp(a) reads: so many times as likely as of the average region, relative to other words. It is no plain
ratio: a region of which every word is less likely has positive associations, too.

Names that nobody knows have associations too: their tokens favour some words over others. So every test compares a
region with invented places, scored alike. Arrays are paraphrases x regions x words, totals and not means per token.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats

from geobias.measures.estimates import (
    POWER_QUANTILE,
    SIGNIFICANT,
    TAIL,
    Estimates,
    LargestEffect,
    benjamini_hochberg,
    find_largest,
    satterthwaite_df,
    t_quantile,
)

MEDIAN_TO_SPREAD = 1.4826  # of a normal distribution: its standard deviation over the median of |z|
SMALLEST_SPREAD = 0.01  # nats: where invented places hardly differ, less than 1 % is nothing
FEWEST_PLACES = 20  # invented, for a distribution to test against
STANDS_OUT = 3.0  # times the spread of invented places: associations that may move the means of their row and column
ROUNDING = 1e-9  # relative to the log-likelihoods: smaller associations are rounding


@dataclass(frozen=True)
class VarianceShares:
    """Shares of the variance of log-likelihoods over regions and words; they sum to 1."""

    word: float
    region: float
    """The region as such: an effect of its name."""
    interaction: float
    """Region and word together: what can be bias."""


def associate(totals: np.ndarray) -> np.ndarray:
    """a(r, w): log-likelihoods (... x regions x words) minus both means, plus the overall mean."""
    means = totals.mean(axis=-1, keepdims=True), totals.mean(axis=-2, keepdims=True)
    associations = totals - means[0] - means[1] + totals.mean(axis=(-1, -2), keepdims=True)
    # What differs from 0 by rounding alone would be compared with a placebo that does too.
    return np.where(np.abs(associations) < ROUNDING * np.abs(totals).max(initial=0), 0.0, associations)


def associate_with_panels(totals: np.ndarray, panel_rows: np.ndarray, panel_columns: np.ndarray) -> np.ndarray:
    """a(r, w) where not every region is scored with every word (NaN): the means are those of panels.

    The region's mean is over the words of `panel_columns`, the word's mean over the regions of `panel_rows`, and the
    overall mean over both. All regions are scored with the first, and all words with the second. With all rows and all
    columns as panels it is `associate`.
    """
    panel = totals[panel_rows]
    region_means, word_means = totals[:, panel_columns].mean(axis=1, keepdims=True), panel.mean(axis=0)
    return np.asarray(totals - region_means - word_means + panel[:, panel_columns].mean())


def split_variance(totals: np.ndarray) -> VarianceShares:
    """Two-way analysis of variance of the mean over paraphrases (regions x words)."""
    mean = totals.mean(axis=0)
    parts = np.array([mean.mean(axis=0).var(), mean.mean(axis=1).var(), associate(mean).var()])
    return VarianceShares(*(parts / parts.sum() if parts.sum() > 0 else parts).tolist())


def remove_length(
    associations: np.ndarray, length: np.ndarray, invented: np.ndarray, invented_length: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Associations of regions and of invented places without their linear dependence on the log length of a name.

    One slope for each word, fitted by least squares to both together: regions and invented places are centred each.
    Associations that stand out (`STANDS_OUT` times the spread of invented places) are cut for the fit: a slope that
    follows one of them would spread it to all names of its length.
    """
    x, x_invented = (np.log(lengths) - np.log(lengths).mean() for lengths in (length, invented_length))
    squares = x @ x + x_invented @ x_invented
    if squares == 0:
        return associations, invented
    most = STANDS_OUT * measure_spread(invented.mean(axis=0))
    real, placebo = (values.mean(axis=0).clip(-most, most) for values in (associations, invented))
    slope = (x @ real + x_invented @ placebo) / squares
    return associations - x[:, None] * slope, invented - x_invented[:, None] * slope


def estimate_associations(associations: np.ndarray, invented: np.ndarray | None) -> Estimates:
    """Every association (regions x words): its 95 % interval, and a test against invented places.

    The test asks whether a name without meaning would show an association as large (`compare_with_invented`). The
    interval is of the same two kinds of noise: what names alone do, and what paraphrases do more to this pair than to
    invented places; without invented places, Student's t over paraphrases. p is adjusted for the words of a region,
    p_adjusted for all regions, too (Benjamini-Hochberg over the smallest p of each region).
    """
    value, count = associations.mean(axis=0), len(associations)
    low = high = p = p_adjusted = np.full(value.shape, np.nan)
    of_wording = associations.var(axis=0, ddof=1) / count if count > 1 else np.zeros(value.shape)
    half_width = t_quantile(max(count - 1, 1)) * np.sqrt(of_wording)
    if invented is not None and len(invented[0]) >= FEWEST_PLACES:
        mean = invented.mean(axis=0)
        of_wording = _find_excess(of_wording, invented)
        p = compare_with_invented(value, mean, of_wording)
        p_adjusted = adjust_over_regions(p)
        of_names = _measure_names(value, mean)
        half_width = np.hypot(t_quantile(max(count - 1, 1)) * np.sqrt(of_wording), t_quantile(len(mean) - 1) * of_names)
    if count > 1:
        low, high = value - half_width, value + half_width
    return Estimates(value, low, high, p, p_adjusted)


def compare_with_invented(value: np.ndarray, invented: np.ndarray, of_wording: np.ndarray | float = 0.0) -> np.ndarray:
    """Two-sided p-values (regions x words): how often the most extreme word of an invented place is as extreme.

    Associations are standardised for their word by the spread of invented places (each of those by the spread of the
    others), and for their region by its own spread over words where that is larger: some names are noisy in every
    word. To that comes a variance `of_wording` that only the regions have. The largest |z| of an invented place follows
    a generalised extreme value distribution (`_fit_maxima`). What other associations may add through the means
    (`bound_leaks`) is taken off first.
    """
    beyond_leaks = np.maximum(np.abs(value) - bound_leaks(value, measure_spread(invented)), 0)
    error = np.sqrt(_measure_names(value, invented) ** 2 + of_wording)
    return np.asarray(_fit_maxima(invented).sf(beyond_leaks / error))


def adjust_over_regions(p: np.ndarray) -> np.ndarray:
    """Adjust p-values (regions x words) that hold for all words of a region: Benjamini-Hochberg over regions.

    Each region counts with its smallest p; other p-values get the adjustment of the next larger of those.
    """
    smallest = np.sort(p.min(axis=1))
    adjusted = benjamini_hochberg(smallest)
    rank = np.searchsorted(smallest, p.ravel())
    at_most = np.append(adjusted, 1.0)[rank]
    return np.maximum(p, np.where(rank < len(smallest), at_most, p.ravel()).reshape(p.shape))


def find_detectable(value: np.ndarray, invented: np.ndarray) -> float:
    """The smallest |a(r, w)|, in nats, that the test of `estimate_associations` marks with a power of 80 %.

    For a single association among all, in a word and a region of median noise; centring takes a small part of it. Its
    noise is that of the association, and that of both estimates of spread, over words and over invented places.
    """
    (regions, words), spread = value.shape, measure_spread(invented)
    scale = float(np.median(row_scales(value / spread)))
    needed = float(_fit_maxima(invented).isf(SIGNIFICANT / regions)) * scale
    noise = np.hypot(1, needed * np.sqrt(0.5 / len(invented) + 1 / words))
    return float(np.median(spread) * (needed + POWER_QUANTILE * noise) / (1 - 1 / regions) / (1 - 1 / words))


def row_scales(standardised: np.ndarray) -> np.ndarray:
    """How much noisier than an average name each region is over words, at least 1.

    From the median, so that a few words that stand out do not make a region noisy.
    """
    return np.maximum(1.0, MEDIAN_TO_SPREAD * np.median(np.abs(standardised), axis=-1, keepdims=True))


def estimate_contrast(
    value: np.ndarray,
    invented: np.ndarray | None,
    groups: list[np.ndarray],
    by_paraphrase: tuple[np.ndarray, np.ndarray | None] | None = None,
) -> Estimates:
    """The mean association of one group of words, minus that of a second if there is one (for every region).

    The standard error is the larger of two, over words (Welch) and that of the same contrast between invented places,
    and what paraphrases add to it (`by_paraphrase`: associations of regions and of invented places, paraphrases x
    places x words). Interval and p are Student's t, p without what other associations may add through the means
    (`bound_leaks`); adjusted for all regions (Benjamini-Hochberg).
    """
    contrast, error, df = _find_contrast(value, invented, groups, by_paraphrase)
    p = np.full(len(value), np.nan)
    if invented is not None and len(invented) >= FEWEST_PLACES:
        leaks = bound_leaks(value, measure_spread(invented))
        beyond_leaks = np.maximum(np.abs(contrast) - sum(leaks[:, words].mean(axis=1) for words in groups), 0)
        t = np.divide(beyond_leaks, error, out=np.zeros_like(contrast), where=error > 0)
        p = np.asarray(2 * stats.t.sf(t, df))
    half_width = t_quantile(df) * error
    return Estimates(contrast, contrast - half_width, contrast + half_width, p, benjamini_hochberg(p))


def find_largest_contrast(
    value: np.ndarray,
    groups: list[np.ndarray],
    invented: np.ndarray | None = None,
    by_paraphrase: tuple[np.ndarray, np.ndarray | None] | None = None,
) -> LargestEffect:
    """The largest |contrast| of `estimate_contrast` over regions, with simultaneous 95 % bounds (Bonferroni)."""
    contrast, error, df = _find_contrast(value, invented, groups, by_paraphrase)
    half_width = stats.t.isf(TAIL / len(contrast), df) * error
    return find_largest(contrast, contrast - half_width, contrast + half_width)


def _find_contrast(
    value: np.ndarray,
    invented: np.ndarray | None,
    groups: list[np.ndarray],
    by_paraphrase: tuple[np.ndarray, np.ndarray | None] | None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The contrast of every region, its standard error and degrees of freedom."""
    contrast, error, df_of_words = _contrast_words(value, groups)
    df: np.ndarray = np.asarray(df_of_words)
    if invented is not None and len(invented) >= FEWEST_PLACES:
        places = len(invented)
        null = _take_contrast(invented, groups)
        spread = max(np.sqrt((null**2).sum() / (places - 1) * (1 + 1 / places)), SMALLEST_SPREAD)
        within = value.copy()  # the contrast itself must not count as noise of the name
        for words in groups:
            within[:, words] -= value[:, words].mean(axis=1, keepdims=True)
        of_names = spread * row_scales(within / measure_spread(invented))[:, 0]
        df = np.where(of_names > error, places - 1, df)
        error = np.maximum(error, of_names)
    if by_paraphrase is None or len(by_paraphrase[0]) < 2:
        return contrast, error, df
    regions, places_by_paraphrase = by_paraphrase
    count = len(regions)
    of_wording = _take_contrast(regions, groups).var(axis=0, ddof=1) / count
    if places_by_paraphrase is not None:
        of_wording = _find_excess(of_wording, _take_contrast(places_by_paraphrase, groups))
    variance = error**2 + of_wording
    df_of_both = satterthwaite_df(variance, error**4 / df + of_wording**2 / (count - 1), 1.0)
    return contrast, np.sqrt(variance), np.asarray(df_of_both)


def _take_contrast(associations: np.ndarray, groups: list[np.ndarray]) -> np.ndarray:
    """The contrast of every place (... x places x words)."""
    contrast = associations[..., groups[0]].mean(axis=-1)
    return np.asarray(contrast - associations[..., groups[1]].mean(axis=-1) if len(groups) > 1 else contrast)


def _find_excess(of_wording: np.ndarray, invented: np.ndarray) -> np.ndarray:
    """The variance that paraphrases add to a mean, beyond what they add for an average invented place."""
    count = len(invented)
    usual = invented.var(axis=0, ddof=1).mean(axis=0) / count if count > 1 else 0.0
    return np.maximum(of_wording - usual, 0.0)


def _contrast_words(value: np.ndarray, groups: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The contrast of `estimate_contrast` for every region, its standard error over words, and degrees of freedom."""
    contrast, variance, squares_over_df = (np.zeros(len(value)) for _ in range(3))
    for sign, words in zip((1, -1), groups, strict=False):
        contrast = contrast + sign * value[:, words].mean(axis=1)
        part = value[:, words].var(axis=1, ddof=1) / len(words)
        variance, squares_over_df = variance + part, squares_over_df + part**2 / (len(words) - 1)
    return contrast, np.sqrt(variance), satterthwaite_df(variance, squares_over_df, 1.0)


def measure_agreement(associations: np.ndarray) -> float | None:
    """Reliability of the mean over paraphrases: the share of its variance that the paraphrases have in common.

    1 - (variance between paraphrases / their number) / variance of the mean (as Cronbach's alpha); None for one.
    """
    count = len(associations)
    variance = associations.mean(axis=0).var() if count > 1 else 0.0
    if variance == 0:
        return None
    return float(max(0.0, 1 - associations.var(axis=0, ddof=1).mean() / count / variance))


def measure_spread(invented: np.ndarray) -> np.ndarray:
    """The standard deviation of invented places for each word; never less than what counts as a difference."""
    return np.maximum(np.sqrt((invented**2).sum(axis=0) / (len(invented) - 1)), SMALLEST_SPREAD)


def _measure_names(value: np.ndarray, invented: np.ndarray) -> np.ndarray:
    """The standard deviation of each association (regions x words) that names without meaning would have."""
    spread = measure_spread(invented) * np.sqrt(1 + 1 / len(invented))
    return np.asarray(spread * row_scales(value / spread))


def bound_leaks(value: np.ndarray, spread: np.ndarray) -> np.ndarray:
    """At most how much of each association may be the mirror image of others.

    An association moves the means of its word and of its region, and by them all others there, the other way: by 1 / n
    of its size. Only what stands out counts.
    """
    excess = np.maximum(np.abs(value) - STANDS_OUT * spread, 0)
    by_word, by_region = (
        (excess.sum(axis=axis, keepdims=True) - excess) / max(excess.shape[axis] - 1, 1) for axis in (0, 1)
    )
    return np.asarray(by_word + by_region)


def _fit_maxima(invented: np.ndarray) -> Any:
    """The distribution of the largest standardised association of an invented place: generalised extreme value.

    P(max > x) = 1 - exp(-(1 + shape (x - mode) / width)^(-1 / shape)). With the shape 0 it is Gumbel's, to which the
    largest of many normal numbers tend. Mode and width are Gumbel's by the method of moments, never below those of as
    many normal numbers. Sixty places do not determine the shape: it is that of the maxima of Student's t, 1 / df, with
    the kurtosis of all associations.
    """
    spread_of_others = np.sqrt(((invented**2).sum(axis=0) - invented**2) / (len(invented) - 2))
    z = invented / np.maximum(spread_of_others, SMALLEST_SPREAD)
    z = np.abs(z / row_scales(z))
    largest = z.max(axis=1)
    normal_mode = float(stats.norm.isf(0.5 / invented.shape[1]))
    width = max(float(largest.std(ddof=1)) * np.sqrt(6) / np.pi, 1 / max(normal_mode, 1.0))
    mode = max(float(largest.mean()) - np.euler_gamma * width, normal_mode)
    variance = (z**2).mean()
    kurtosis = max(float((z**4).mean() / variance**2) - 3, 0.0) if variance > 0 else 0.0
    shape = kurtosis / (4 * kurtosis + 6)  # kurtosis = 6 / (df - 4)
    return stats.genextreme(-shape, mode, width)
