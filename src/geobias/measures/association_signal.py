"""How much more places of one kind have associations than others, in nats, whatever the wording.

The mean square of an association over paraphrases is too large by the noise of the wording, and by more the fewer they
are. The mean product of the associations in two paraphrases is not: noise of the wording has no part in it, so that
more paraphrases make it surer and not smaller. For each place,

    s(r) = mean over words of [(sum over p of a_p(r, w))² - sum over p of a_p(r, w)²] / (P (P - 1)).

Places of two kinds are compared by a regression of s on the kind and on the log length of a name, so that like is
compared with like. Places are random (robust errors, HC3), and so are paraphrases (jackknife).

Below: associations without what goes with fame (`control_fame`); how strong associations are as a whole, against
invented places and against permuted words.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

import numpy as np
from scipy import stats

from geobias.measures.association import SMALLEST_SPREAD, STANDS_OUT, bound_leaks, measure_spread
from geobias.measures.estimates import (
    Estimates,
    benjamini_hochberg,
    satterthwaite_df,
    t_quantile,
    t_test,
)

FEWEST_PARAPHRASES = 3  # for an error over them
LARGEST_LEVERAGE = 0.9  # of a single place, whose robust error would have no bound
TAIL = 4  # the upper quarter
RANGE = (0.05, 0.95)  # quantiles of known places between which a region is as well known
LEAST_OVERLAP = 0.5  # share of regions within the range: with fewer, fame and country cannot be told apart
LARGEST_LOG = 700.0  # exp of more is infinite; a function may return anything
SIMULATIONS = 4_000


def shared_squares(associations: np.ndarray) -> np.ndarray:
    """s of every place (paraphrases x places x words); of a single paraphrase its mean square, with its noise."""
    count = len(associations)
    if count == 1:
        return np.asarray((associations[0] ** 2).mean(axis=-1))
    sums, squares = associations.sum(axis=0) ** 2, (associations**2).sum(axis=0)
    return np.asarray((sums - squares).mean(axis=-1) / (count * (count - 1)))


def compare_signal(
    first: np.ndarray, second: np.ndarray, length: np.ndarray | None = None, second_length: np.ndarray | None = None
) -> Estimates:
    """The mean s of the first places minus that of the second, as a signed root in nats, with a 95 % interval and p.

    Both have associations centred among themselves, whose lost share of variance is put back. p is two-sided. Without
    an interval and p for fewer than three paraphrases.
    """
    covariates = [np.log(np.concatenate([length, second_length]))] if length is not None else []
    is_first = np.arange(first.shape[1] + second.shape[1]) < first.shape[1]
    design = np.column_stack([np.ones(len(is_first)), is_first, *(x - x.mean() for x in covariates if np.ptp(x) > 0)])
    inverse = np.linalg.pinv(design)

    def list_rows(kept: np.ndarray) -> np.ndarray:
        parts = [shared_squares(each[kept]) / (1 - 1 / each.shape[1]) for each in (first, second)]
        return np.concatenate(parts)

    count = len(first)
    everything = np.arange(count)
    rows = list_rows(everything)
    difference = float((inverse @ rows)[1])
    if count < FEWEST_PARAPHRASES:
        missing = np.array(np.nan)
        return Estimates(_signed_root(np.array(difference)), missing, missing, missing, missing)
    scale = _mean_square(first, second)
    leverage = np.minimum((design * inverse.T).sum(axis=1), LARGEST_LEVERAGE)
    residuals = (rows - design @ (inverse @ rows)) / (1 - leverage)
    of_places = float(((inverse[1] * residuals) ** 2).sum())
    # What a paraphrase does to all associations alike is no difference between kinds: the jackknife is of the
    # difference divided by the mean square.
    pseudo_rows, pseudo = np.empty((count, len(rows))), np.empty(count)
    for k in everything:
        kept = np.delete(everything, k)
        without = list_rows(kept) * scale / _mean_square(first[kept], second[kept])
        pseudo_rows[k] = count * rows - (count - 1) * without
        pseudo[k] = inverse[1] @ pseudo_rows[k]
    of_both = float((inverse[1] ** 2 * pseudo_rows.var(axis=0, ddof=1)).sum()) / count  # is in either of the others
    of_wording = max(float(pseudo.var(ddof=1)) / count - of_both, 0.0)
    variance = of_places + of_wording
    # Robust errors are those of the smaller kind, mostly: its degrees of freedom are the cautious choice.
    of_places_df = min(first.shape[1], second.shape[1]) - 1
    squares_over_df = np.array(of_places**2 / of_places_df + of_wording**2 / (count - 1))
    df = satterthwaite_df(np.array(variance), squares_over_df, float(count - 1))
    half_width = t_quantile(df) * np.sqrt(variance)
    p = np.array(1.0) if variance == 0 else t_test(difference, np.sqrt(variance), df)
    bounds = np.array([difference, difference - half_width, difference + half_width], dtype=float)
    value, low, high = _signed_root(bounds)
    return Estimates(value, low, high, p, p)


def remove_fame(
    associations: np.ndarray, proxies: np.ndarray, others: np.ndarray, others_proxies: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Associations (paraphrases x places x words) of two kinds of places without what goes with fame.

    `proxies` are places x proxies of fame. One slope for each word and proxy, by least squares on both kinds together,
    each centred among itself. For the slopes, associations are cut at `STANDS_OUT` times 1.48 times the median of
    their word, so that a few large ones do not make the slope; what is returned keeps every association whole.
    """
    x, x_others = (each - each.mean(axis=0) for each in (proxies, others_proxies))
    means = [each.mean(axis=0) for each in (associations, others)]
    most = STANDS_OUT * 1.4826 * np.median(np.abs(np.concatenate(means)), axis=0)
    clipped = np.concatenate([each.clip(-most, most) for each in means])
    slopes = np.linalg.lstsq(np.concatenate([x, x_others]), clipped, rcond=None)[0]
    return associations - x @ slopes, others - x_others @ slopes


def share_of_fame(associations: np.ndarray, without_fame: np.ndarray) -> float | None:
    """The share of the mean s that goes with fame, from 0 to 1; None where s is not above 0."""
    whole = float(shared_squares(associations).mean())
    if whole <= 0:
        return None
    return float(np.clip(1 - shared_squares(without_fame).mean() / whole, 0, 1))


@dataclass(frozen=True)
class FameControls:
    """Associations of regions and of known places (paraphrases x places x words), both without what goes with fame."""

    regions: np.ndarray
    known: np.ndarray
    length: np.ndarray  # of names
    known_length: np.ndarray
    is_known: np.ndarray  # of each region, whether it is as well known as known places
    fame_share: float | None
    proxies: list[str]

    @property
    def overlap(self) -> float:
        return float(self.is_known.mean())

    @property
    def comparable(self) -> float:
        """Share of regions whose names are as long as those of known places."""
        return float(find_comparable(self.length, self.known_length).mean())

    @property
    def can_tell(self) -> bool:
        """Whether regions and known places are alike enough in fame."""
        return self.overlap >= LEAST_OVERLAP


def control_fame(
    associations: tuple[np.ndarray, np.ndarray],
    lengths: tuple[np.ndarray, np.ndarray],
    proxies: Mapping[str, tuple[np.ndarray, np.ndarray]],
) -> FameControls:
    """Hold fame fixed: each pair is of the regions and of known places. By the first proxy, places are alike or not."""
    regions, known = (np.column_stack([pair[side] for pair in proxies.values()]) for side in (0, 1))
    without = remove_fame(associations[0], regions, associations[1], known)
    low, high = np.quantile(known[:, 0], RANGE)
    is_known = (low <= regions[:, 0]) & (regions[:, 0] <= high)
    return FameControls(*without, *lengths, is_known, share_of_fame(associations[0], without[0]), list(proxies))


def find_comparable(length: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Whether each length lies within the range of the others; what is beyond it would be extrapolated."""
    return np.asarray((length >= others.min()) & (length <= others.max()))


def _mean_square(first: np.ndarray, second: np.ndarray) -> float:
    return float(np.mean([(each.mean(axis=0) ** 2).mean() for each in (first, second)])) or 1.0


def _signed_root(values: np.ndarray) -> np.ndarray:
    return np.asarray(np.sign(values) * np.sqrt(np.abs(values)))


def compare_lengths(
    value: np.ndarray, others: np.ndarray, length: np.ndarray | None = None, others_length: np.ndarray | None = None
) -> np.ndarray:
    """One-sided p-value of each region (regions x words): is the length of its row beyond those of other places?

    The length is the root mean square over words, on the log scale, without what associations of other regions may add
    through the means (`bound_leaks`) and without its slope on the log length of names. The larger of two: Student's t,
    and an exponential tail above the upper quarter of the other places, for rows with heavy tails; of an exponential
    tail with k excesses of mean b, a new one is above x with the probability (1 + x / (k b))^(-k).
    """
    beyond_leaks = np.maximum(np.abs(value) - bound_leaks(value, measure_spread(others)), 0)
    rows = [0.5 * np.log(np.maximum((each**2).mean(axis=1), SMALLEST_SPREAD**2)) for each in (beyond_leaks, others)]
    if length is not None and others_length is not None:
        x = [np.log(each) - np.log(each).mean() for each in (length, others_length)]
        squares = sum(float(each @ each) for each in x)
        if squares > 0:
            slope = sum(float(each @ row) for each, row in zip(x, rows, strict=True)) / squares
            centre = np.log(others_length).mean()
            rows = [
                row - slope * (np.log(each) - centre) for row, each in zip(rows, (length, others_length), strict=True)
            ]
    tested, known = rows
    count = len(known)
    error = max(float(known.std(ddof=1)) * np.sqrt(1 + 1 / count), SMALLEST_SPREAD)
    student = stats.t.sf((tested - known.mean()) / error, count - 1)
    return np.maximum(student, _exceed_tail(tested[None], known[None])[0])


def _exceed_tail(tested: np.ndarray, known: np.ndarray) -> np.ndarray:
    """One-sided p-values (rows x tested) by an exponential tail above the upper quarter of the known (rows x known)."""
    count = known.shape[1]
    k = max(count // TAIL, 2)
    ordered = np.sort(known, axis=1)
    start = ordered[:, -k - 1, None]
    mean_excess = np.maximum((ordered[:, -k:] - start).mean(axis=1, keepdims=True), SMALLEST_SPREAD)
    tail = k / count * (1 + np.maximum(tested - start, 0) / (k * mean_excess)) ** -k
    return np.where(tested > start, tail, 1.0)


def compare_together(p: np.ndarray, others: int) -> float:
    """The p-value of all regions of `compare_lengths` together, compared with so many other places.

    A few countries that stand out a little each are clearer together than the clearest by itself. The statistic of Berk
    and Jones (1979) is the smallest probability that the j-th of n uniform p-values is as small as it is, over the
    smaller half of them. All regions are compared with the same places, so their p-values are not independent: the
    distribution of the statistic is simulated, with places drawn from an exponential tail as often as regions are.
    """
    simulated = _simulate_together(len(p), others)
    smaller = np.searchsorted(simulated, _combine(p[None])[0], side="right")
    return float((1 + smaller) / (len(simulated) + 1))


@cache
def _simulate_together(regions: int, others: int) -> np.ndarray:
    rng = np.random.default_rng(0)
    known, tested = (rng.exponential(size=(SIMULATIONS, count)) for count in (others, regions))
    return np.sort(_combine(_exceed_tail(tested, known)))


def _combine(p: np.ndarray) -> np.ndarray:
    """Berk and Jones's statistic of each row of p-values."""
    count = p.shape[1]
    ranks = np.arange(1, max(count // 2, 1) + 1)
    tails = np.asarray(stats.beta.cdf(np.sort(p, axis=1)[:, : len(ranks)], ranks, count - ranks + 1))
    return np.asarray(tails.min(axis=1))


def compare_strength_with_invented(value: np.ndarray, invented: np.ndarray) -> Estimates:
    """How distinct each region is: its root mean square association, divided by invented places' geometric mean.

    One-sided p: is it larger than that of another invented place (Student's t on the log scale, n - 1 degrees of
    freedom)? Adjusted for all regions (Benjamini-Hochberg). There is no interval: words are the subject, not a sample.
    """
    real, placebo = (
        np.log(np.maximum(np.sqrt((each**2).mean(axis=-1)), SMALLEST_SPREAD)) for each in (value, invented)
    )
    places, missing = len(invented), np.full(len(value), np.nan)
    error = placebo.std(ddof=1) * np.sqrt(1 + 1 / places)
    difference = real - placebo.mean()
    p = stats.t.sf(difference / max(error, SMALLEST_SPREAD), places - 1)
    return Estimates(np.exp(difference), missing, missing, p, benjamini_hochberg(p))


def compare_size_with_invented(value: np.ndarray, invented: np.ndarray) -> Estimates:
    """The root mean square association of regions, divided by that of invented places: a single ratio.

    Training alone moves it, so that models cannot be compared by it. Centring n regions takes 1/n of their variance
    away, which is put back. The 95 % interval is a jackknife's of the log ratio, over words, regions and invented
    places. p is of the hypothesis that the ratio is 1.
    """
    regions, places = len(value), len(invented)
    correction = 0.5 * np.log((1 - 1 / places) / (1 - 1 / regions))

    def log_ratio(real: np.ndarray, placebo: np.ndarray) -> np.ndarray:
        return np.asarray(0.5 * np.log(real / placebo))

    real, placebo = value**2, invented**2
    if placebo.sum() == 0 or real.sum() == 0:
        return Estimates.unknown(np.array(np.nan if placebo.sum() == 0 else 0.0))
    centre = log_ratio(real.mean(), placebo.mean()) + correction
    resampled = [
        log_ratio(_leave_one_out(real, axis=0), _leave_one_out(placebo, axis=0)),
        log_ratio(_leave_one_out(real, axis=1), placebo.mean()),
        log_ratio(real.mean(), _leave_one_out(placebo, axis=1)),
    ]
    counts = [len(values) for values in resampled]
    variances = [(len(values) - 1) * values.var() for values in resampled]
    variance = np.array(sum(variances))
    squares_over_df = np.array(sum(v**2 / (n - 1) for v, n in zip(variances, counts, strict=True)))
    df = satterthwaite_df(variance, squares_over_df, counts[0] - 1.0)
    half_width = t_quantile(df) * np.sqrt(variance)
    p = t_test(centre, np.sqrt(variance), df) if variance > 0 else np.array(np.nan)
    return Estimates(np.exp(centre), np.exp(centre - half_width), np.exp(centre + half_width), p, p)


def compare_with_permuted_words(value: np.ndarray, groups: list[np.ndarray]) -> float | None:
    """How far apart the regions of one group lie, divided by what their words permuted at random would give.

    The root mean square distance between pairs. Associations of a region sum to 0 over words, so permuting the words of
    each region independently gives squared distances of |a|² + |b|² on average. Below 1: regions of a group share
    associations. None where no group has a pair.
    """
    observed = expected = 0.0
    for rows in groups:
        members, count = value[rows], len(rows)
        if count > 1:
            norms = (members**2).sum()
            # The sum over pairs of |a - b|² is n sum |a|² - |sum a|²; that of |a|² + |b|² is (n - 1) sum |a|².
            observed += (count * norms - (members.sum(axis=0) ** 2).sum()) / (count * (count - 1))
            expected += norms / count
    return float(np.sqrt(observed / expected)) if expected > 0 else None


def _leave_one_out(values: np.ndarray, axis: int) -> np.ndarray:
    """The means without each column (axis 0: summed over rows) or without each row (axis 1)."""
    sums = values.sum(axis=axis)
    return np.asarray((sums.sum() - sums) / (len(sums) - 1) / values.shape[axis])


def correlate_halves(associations: np.ndarray) -> float | None:
    """The correlation over regions and words of both halves of the paraphrases; None where one does not vary."""
    halves = [half.mean(axis=0).ravel() for half in np.split(associations, 2)]
    return None if any(half.std() == 0 for half in halves) else float(stats.pearsonr(*halves)[0])


def to_times(estimates: Estimates) -> Estimates:
    """exp of values and bounds: differences of log-likelihoods as ratios, which stay finite."""
    logs = (estimates.value, estimates.low, estimates.high)
    value, low, high = (np.exp(np.clip(numbers, -LARGEST_LOG, LARGEST_LOG)) for numbers in logs)
    return Estimates(value, low, high, estimates.p, estimates.p_adjusted)
