"""How sure a score of regions is: words (and templates) drawn anew, ranks, and what goes with the names themselves.

The words stand for all words that might be said of people, so they are bootstrapped: drawn with replacement, the
vectors normalised again on the words drawn, everything from Eq. 2 on computed again. With several templates those are
drawn too. Sub-regions are not a sample of anything: see `region_null`.

All regions are resampled together, each cluster for many draws at once, 2,000 times where that takes seconds. A larger
tree gets fewer draws, by its size alone, so that the same question always gets the same intervals; one that
would get fewer than 200 gets none. `flat`, with every pair in the tree, has a count of its own.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from scipy import stats
from scipy.special import softmax

from geobias.measures.herb import FORMS, Children
from geobias.measures.inference import LEVEL, RESAMPLES, Estimates, estimates
from geobias.measures.pairs import mean_absolute_differences, pair_count
from geobias.measures.region_null import weighted_distances

SCORES = tuple(f"{variant}.{form}" for variant in ("c_w", "c_z") for form in FORMS)
FLAT = "flat"
FEWEST = 200  # resamples: below, the quantiles of an interval would rest on a handful of them
MOST_NUMBERS = 3 * 10**8  # likelihoods and pairs of siblings that all resamples together may take: about 20 s
MOST_PAIRS = 25 * 10**7  # pairs of the flat baseline: some ten seconds
CHUNK = 2**21  # numbers held at once


def word_resamples(words: int, templates: int, count: int) -> tuple[np.ndarray, np.ndarray]:
    """For every resample the positions of its words, and the share of each template."""
    rng = np.random.default_rng(0)
    drawn = rng.integers(words, size=(count, words))
    return drawn, rng.multinomial(templates, np.full(templates, 1 / templates), size=count) / templates


def affordable(likelihoods: np.ndarray, children: Children) -> dict[str, int]:
    """How many resamples the scores and the flat baseline get; 0 where there would be too few."""
    templates, regions, words = likelihoods.shape
    siblings = sum(pair_count(len(below)) for below in children)
    counts = {
        "scores": MOST_NUMBERS // (templates * (regions * words + siblings)),
        FLAT: MOST_PAIRS // max(1, templates * pair_count(regions - 1)),
    }
    return {what: 0 if count < FEWEST else min(count, RESAMPLES) for what, count in counts.items()}


def bootstrap(likelihoods: np.ndarray, name_likelihoods: np.ndarray, children: Children) -> dict[str, np.ndarray]:
    """Every measure that is affordable, resamples x regions, from likelihoods of templates x regions x words."""
    counts = affordable(likelihoods, children)
    drawn, shares = word_resamples(likelihoods.shape[2], len(likelihoods), RESAMPLES)
    found: dict[str, np.ndarray] = {}
    for what, count in counts.items():
        for k, of_template in enumerate(likelihoods if count else ()):
            if what == FLAT:
                parts = {FLAT: resampled_flat(of_template, drawn[:count], children)}
            else:
                parts = resampled_scores(of_template, drawn[:count], name_likelihoods, children)
            for name, values in parts.items():
                found[name] = found.get(name, 0.0) + shares[:count, k, None] * values
    return found


def interval(value: np.ndarray, resampled: np.ndarray | None) -> Estimates:
    """The value between the quantiles of its resamples; without them, alone.

    Words drawn twice make scores a little too low (a distance is the root of a mean), so the resamples are taken around
    their own mean, not around the value.
    """
    nothing = np.full(value.shape, np.nan)
    if resampled is None:
        return Estimates(value, nothing, nothing, nothing, nothing)
    return estimates(value, resampled - resampled.mean(axis=0), nothing)


def resampled_scores(
    likelihoods: np.ndarray, drawn: np.ndarray, name_likelihoods: np.ndarray, children: Children
) -> dict[str, np.ndarray]:
    """C of every region (Eq. 2 to 10) on each drawn set of words: for every score, draws x regions."""
    largest = max(pair_count(len(below)) for below in children)
    step = max(1, CHUNK // max(likelihoods.size, largest))
    chunks = [drawn[start : start + step] for start in range(0, len(drawn), step)]
    parts = [_scores(_vectors(likelihoods, chunk), name_likelihoods, children) for chunk in chunks]
    return {name: np.concatenate([part[name] for part in parts]) for name in SCORES}


def resampled_flat(likelihoods: np.ndarray, drawn: np.ndarray, children: Children) -> np.ndarray:
    """The flat baseline on each drawn set of words: draws x regions.

    Vectors have length 1, so a distance needs the cosine alone: how often each word was drawn, times the products of
    two regions' likelihoods, for all draws in one matrix product. Regions are taken in an order in which all that
    lies below a region follows it: its cluster is one stretch.
    """
    order, size = _depth_first(children)
    times = np.array([np.bincount(words, minlength=likelihoods.shape[1]) for words in drawn], dtype=float).T
    f = likelihoods[order[1:]]  # without the root, which has no vector
    norms = np.sqrt(f**2 @ times)
    length = (norms > 0).astype(float)  # a zero vector stays zero
    norms[norms == 0] = 1.0
    sums = np.zeros((len(children), len(drawn)))
    above: list[tuple[int, int]] = [(0, len(f))]  # the regions whose stretch we are in, and where it ends
    for place, row in enumerate(order[1:]):
        above = [(region, end) for region, end in above if end > place]
        above.append((row, place + size[row]))
        after = slice(place + 1, len(f))
        squares = (f[place] * f[after]) @ times
        squares /= norms[place] * norms[after]
        squares *= -2
        squares += length[place] + length[after]
        apart = np.sqrt(np.maximum(squares, 0.0, out=squares), out=squares)
        for region, end in above:
            sums[region] += apart[: end - place - 1].sum(axis=0)
    members = np.append(size[0] - 1, size[1:])
    pairs = np.array([pair_count(int(n)) if n > 1 else np.nan for n in members])
    return (sums / pairs[:, None]).T


def rank_intervals(value: np.ndarray, resampled: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The rank of each value among them all (1 is the highest), and the bounds of its rank over the resamples."""
    bounds = [(1 - LEVEL) / 2, (1 + LEVEL) / 2]
    ranks = stats.rankdata(-resampled, axis=1, method="min")
    low, high = np.quantile(ranks, bounds, axis=0, method="inverted_cdf")
    return stats.rankdata(-value, method="min"), low, high


def rank_correlations(distance: np.ndarray, others: Mapping[str, np.ndarray]) -> Estimates:
    """Spearman's correlation of the distances with each of the others; intervals from regions drawn anew.

    The p-values are those of Spearman's test, corrected together.
    """
    rng = np.random.default_rng(0)
    n = len(distance)
    values = np.array([distance, *others.values()])
    count = int(np.clip(2 * 10**7 // n, FEWEST, RESAMPLES))
    found = _rank_correlations(values)
    step = max(1, CHUNK // n)
    deviations = np.concatenate(
        [
            _rank_correlations(values[:, rng.integers(n, size=(min(step, count - start), n))]) - found
            for start in range(0, count, step)
        ]
    )
    p = [stats.spearmanr(distance, other).pvalue if len(set(other)) > 1 else np.nan for other in values[1:]]
    return estimates(found, deviations, np.array(p))


def centroid_distances(vectors: np.ndarray, children: Children) -> np.ndarray:
    """The distance of each region's v to the centroid of its siblings, itself included; NaN without a sibling."""
    found = np.full(len(vectors), np.nan)
    for below in children:
        if len(below) > 1:
            found[below] = np.linalg.norm(vectors[below] - vectors[below].mean(axis=0), axis=1)
    return found


def kendalls_w(scores: np.ndarray) -> tuple[float, float]:
    """Kendall's W of raters x objects, corrected for ties, and the p-value of its chi-square test.

    1: all put the objects in one order; 0: no agreement. NaN where no rater tells any two objects apart.
    """
    raters, n = scores.shape
    ranks = stats.rankdata(scores, axis=1)
    sums = ranks.sum(axis=0)
    ties = sum((count**3 - count).sum() for count in (np.unique(row, return_counts=True)[1] for row in ranks))
    most = raters**2 * (n**3 - n) - raters * ties
    if most <= 0:
        return np.nan, np.nan
    w = float(12 * ((sums - sums.mean()) ** 2).sum() / most)
    return w, float(stats.chi2.sf(raters * (n - 1) * w, n - 1))


def _vectors(likelihoods: np.ndarray, drawn: np.ndarray) -> np.ndarray:
    """v (Eq. 2) on the words of each draw: regions x draws x words."""
    picked = likelihoods[:, drawn]
    norms = np.linalg.norm(picked, axis=2, keepdims=True)
    picked /= np.where(norms == 0, 1.0, norms)
    return picked


def _scores(vectors: np.ndarray, name_likelihoods: np.ndarray, children: Children) -> dict[str, np.ndarray]:
    """`herb_scores` for many draws at once (regions x draws x words): draws x regions."""
    aggregated = vectors.copy()
    centroids = {row: vectors[below].mean(axis=0) for row, below in enumerate(children) if len(below)}
    for row, centroid in centroids.items():
        points = vectors[children[row]]
        differences = mean_absolute_differences(points.reshape(len(points), -1)).reshape(centroid.shape)
        aggregated[row] += softmax(differences, axis=1) * centroid
    scores = {name: np.full(vectors.shape[:2], np.nan) for name in SCORES}
    for row in reversed(centroids):
        below = children[row]
        leaves = np.array([child for child in below if not len(children[child])], dtype=np.int64)
        from_centroid = np.linalg.norm(vectors[leaves] - centroids[row], axis=2)
        for values in scores.values():
            values[leaves] = from_centroid
        if len(below) > 1:
            own = [np.nan_to_num(scores[f"c_w.{form}"][below]).T for form in FORMS]
            points = aggregated[below].swapaxes(0, 1)
            balanced, paper, likely = weighted_distances(points, *own, name_likelihoods[None, below])
            pairs = pair_count(len(below))
            for name, weighed in zip(SCORES, (balanced, paper / pairs, likely, likely / pairs), strict=True):
                scores[name][row] = weighed
    return {name: values.T for name, values in scores.items()}


def _depth_first(children: Children) -> tuple[np.ndarray, np.ndarray]:
    """All rows, each followed by everything below it, and how many rows each one's block has."""
    size = np.ones(len(children), dtype=np.int64)
    for row in range(len(children) - 1, -1, -1):
        size[row] += size[children[row]].sum()
    order, waiting = [], [0]
    while waiting:
        order.append(waiting.pop())
        waiting.extend(children[order[-1]])
    return np.array(order), size


def _rank_correlations(values: np.ndarray) -> np.ndarray:
    """The correlation of the first row's ranks with those of every other; any axes may lie between rows and objects."""
    ranks = stats.rankdata(values, axis=-1)
    ranks -= ranks.mean(axis=-1, keepdims=True)
    with np.errstate(invalid="ignore"):  # one value throughout has no order, and no correlation
        ranks /= np.linalg.norm(ranks, axis=-1, keepdims=True)
    return np.moveaxis((ranks[:1] * ranks[1:]).sum(axis=-1), 0, -1)
