"""From the log-likelihoods of paraphrases to the associations of regions and words, with their intervals and tests."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
from scipy import stats

from geobias.audits.regions.answers import AssociationAnswers, RegionsAnswers
from geobias.audits.regions.association_controls import (
    Controls,
    control_fame,
    measure_signal,
    require_known_places,
)
from geobias.audits.regions.association_records import Association, AssociationWord, RegionAssociation, WordAssociation
from geobias.audits.regions.design import RegionsDesign
from geobias.measures.association import (
    FEWEST_PLACES,
    associate,
    estimate_associations,
    estimate_contrast,
    find_detectable,
    find_largest_contrast,
    measure_agreement,
    remove_length,
    split_variance,
)
from geobias.measures.association_signal import (
    compare_size_with_invented,
    compare_strength_with_invented,
    compare_with_permuted_words,
)
from geobias.measures.estimates import SIGNIFICANT, Estimates, benjamini_hochberg
from geobias.measures.herb import Children, herb_scores
from geobias.measures.random_regions import main_level
from geobias.report.results import Interval, number
from geobias.report.tables import is_marked
from geobias.world.regions import RegionTree
from geobias.world.words import Word

WORDS_SHOWN = 6  # of each region, on each side
FEWEST_RATED = 3  # favourable, and unfavourable, for a valence
LARGEST_LOG = 700.0  # exp of more is infinite; a function may return anything
FEWEST_REGIONS = 3  # for an average region to compare with


def measure_association(design: RegionsDesign, answers: RegionsAnswers) -> Association | None:
    """All associations; None if they were not scored, or if fewer than three regions or words could be compared."""
    scored, tree = answers.association, design.tree
    if scored is None or design.association is None:
        return None
    level = np.intersect1d(main_level(tree.children), scored.rows)
    if len(level) < FEWEST_REGIONS or len(design.words) < FEWEST_RATED:
        return None
    words = design.association.words
    compared = np.searchsorted(scored.rows, level)
    length, invented_length = _measure_lengths(design, answers, level)
    associations, invented = _centre(scored, compared, length, invented_length)
    places = [tree.regions[row] for row in level]
    controls = control_fame(scored, compared, places, length)
    against_names = estimate_associations(associations, invented)
    invented_mean = None if invented is None or invented.shape[1] < FEWEST_PLACES else invented.mean(axis=0)
    can_tell = invented_mean is not None and controls is not None and controls.can_tell
    estimates = require_known_places(against_names, controls) if can_tell and controls else against_names
    if len(scored.totals) < 2:  # a pair in a single sentence may be its wording
        estimates, against_names = Estimates.unknown(estimates.value), Estimates.unknown(against_names.value)
    value = estimates.value
    rated = _group_valence(words)
    once = list({word.word: k for k, word in enumerate(words)}.values())  # a word may be in two topics
    compare = partial(_compare_groups, (associations, invented), controls if can_tell else None)
    contrasts = {topic: compare([rows]) for topic, rows in _group_topics(words).items()}
    tones = compare(rated) if rated else None
    valence = None if tones is None else to_times(tones[0])
    topics = _adjust_topics({topic: contrast for topic, (contrast, _) in contrasts.items()})
    distinctness = None if invented_mean is None else compare_strength_with_invented(value, invented_mean)
    scores = _carry_up(scored, tree, level, associations)
    regions = [
        _describe_region(tree, row, k, scores, estimates, distinctness, valence, topics, words)
        for k, row in enumerate(level)
    ]
    above = [row for row in (0, *scored.rows) if row not in level and len(tree.children[row]) > 1]
    ratio = None if invented_mean is None else compare_size_with_invented(value, invented_mean).at()
    signal = None
    if invented is not None and invented_mean is not None:
        names_p = [
            float(np.nan_to_num(against_names.p_adjusted, nan=1.0).min()),
            *([benjamini_hochberg(tones[1]).min()] if tones else []),
        ]
        names_p += [_adjust_together([p for _, p in contrasts.values()]).min()] if contrasts else []
        signal = measure_signal(
            places,
            associations,
            invented,
            length,
            invented_length,
            controls,
            names_p,
            has_tokens=answers.name_tokens is not None,
        )
    return Association(
        level=tree.regions[level[0]].level,
        subject="both" if len(design.association.subjects) > 1 else design.association.subjects[0],
        paraphrases=len(scored.totals),
        words=[AssociationWord(word.word, word.topic, word.part_of_speech, word.valence) for word in words],
        variance=split_variance(scored.totals[:, compared]),
        ratio=None if ratio is None or ratio.value is None else ratio,
        permuted=compare_with_permuted_words(value, _group_siblings(tree, level)),
        agreement=measure_agreement(associations),
        subject_agreement=_compare_subjects(associations, len(design.association.subjects)),
        invented_times=None if invented_mean is None else float(np.exp(np.quantile(np.abs(invented_mean), 0.95))),
        detectable_times=_find_detectable_times(value, invented_mean),
        valence_worst=_find_worst_valence(associations, invented, rated) if rated else None,
        tests=len(level) * len(once),
        marked=int((estimates.p_adjusted[:, once] < SIGNIFICANT).sum()),
        without_demonym=[tree.regions[row].name for row in main_level(tree.children) if row not in level],
        regions=[*(_describe_inner(tree, row, scores) for row in above), *regions],
        signal=signal,
        estimates=estimates,
    )


def _measure_lengths(
    design: RegionsDesign, answers: RegionsAnswers, level: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The length of names of regions and of invented places: tokens, or letters where the scorer counts no tokens."""
    invented = answers.invented
    length, invented_length = answers.name_tokens, None if invented is None else invented.tokens
    if length is None or (invented is not None and invented_length is None):
        length = np.array([len(region.name) for region in design.tree.regions])
        invented_length = np.array([len(name) for name in invented.names]) if invented else None
    return length[level], np.ones(0) if invented_length is None else invented_length


def _centre(
    scored: AssociationAnswers, compared: np.ndarray, length: np.ndarray, invented_length: np.ndarray
) -> tuple[np.ndarray, np.ndarray | None]:
    """Associations of the compared regions and of invented places, each among themselves, without length effects."""
    associations = associate(scored.totals[:, compared])
    if scored.invented is None:
        return associations, None
    return remove_length(associations, length, associate(scored.invented), invented_length)


def _compare_groups(
    by_paraphrase: tuple[np.ndarray, np.ndarray | None], controls: Controls | None, groups: list[np.ndarray]
) -> tuple[Estimates, np.ndarray]:
    """A contrast of words, and its p-values against invented places only.

    The p-values of the contrast are the larger of two, against invented and against known places.
    """
    regions, invented = by_paraphrase
    contrast = estimate_contrast(
        regions.mean(axis=0), None if invented is None else invented.mean(axis=0), groups, by_paraphrase
    )
    if controls is None:
        return contrast, contrast.p
    known = (controls.regions, controls.known)
    against_known = estimate_contrast(known[0].mean(axis=0), known[1].mean(axis=0), groups, known)
    p = np.maximum(contrast.p, against_known.p)
    return replace(contrast, p=p, p_adjusted=benjamini_hochberg(p)), contrast.p


def _group_valence(words: tuple[Word, ...]) -> list[np.ndarray]:
    """Positions of favourable and of unfavourable words; none if too few of either are rated."""
    ratings = np.array([np.nan if word.valence is None else word.valence for word in words])
    groups = [np.flatnonzero(ratings > 0), np.flatnonzero(ratings < 0)]
    return groups if min(map(len, groups)) >= FEWEST_RATED else []


def _find_worst_valence(associations: np.ndarray, invented: np.ndarray | None, groups: list[np.ndarray]) -> Interval:
    """The valence that is farthest from the average region's, in times of at least 1."""
    mean = None if invented is None else invented.mean(axis=0)
    largest = find_largest_contrast(associations.mean(axis=0), groups, mean, (associations, invented))
    return Interval(*(float(np.exp(np.clip(x, 0, LARGEST_LOG))) for x in (largest.value, largest.low, largest.high)))


def _adjust_topics(contrasts: dict[str, Estimates]) -> dict[str, Estimates]:
    """Every topic of every region, adjusted together."""
    if not contrasts:
        return {}
    p_adjusted = _adjust_together([contrast.p for contrast in contrasts.values()])
    return {
        topic: to_times(replace(contrast, p_adjusted=adjusted))
        for (topic, contrast), adjusted in zip(contrasts.items(), p_adjusted, strict=True)
    }


def _adjust_together(p_values: list[np.ndarray]) -> np.ndarray:
    return benjamini_hochberg(np.stack(p_values))


def _find_detectable_times(value: np.ndarray, invented: np.ndarray | None) -> float | None:
    detectable = None if invented is None else find_detectable(value, invented)
    return None if detectable is None else float(np.exp(min(detectable, LARGEST_LOG)))


def _group_topics(words: tuple[Word, ...]) -> dict[str, np.ndarray]:
    """The positions of each topic's words; topics of a single word have no interval and are left out."""
    topics = np.array([word.topic for word in words])
    positions = {str(topic): np.flatnonzero(topics == topic) for topic in dict.fromkeys(topics)}
    return {topic: rows for topic, rows in positions.items() if len(rows) > 1}


def _group_siblings(tree: RegionTree, level: np.ndarray) -> list[np.ndarray]:
    """Positions within the level of the regions that share a parent."""
    parents = np.array([tree.regions[row].parent for row in level])
    return [np.flatnonzero(parents == parent) for parent in dict.fromkeys(parents)]


def _carry_up(
    scored: AssociationAnswers, tree: RegionTree, level: np.ndarray, associations: np.ndarray
) -> dict[int, float]:
    """HERB's balanced C_w of the associations, by row of the tree; distances are root mean squares over words."""
    vectors = np.full((len(tree), scored.totals.shape[2]), np.nan)
    vectors[level] = associations.mean(axis=0)
    levels: dict[str, list[int]] = {}
    for row in np.setdiff1d(scored.rows, level):
        levels.setdefault(tree.regions[row].level, []).append(int(row))
    for rows in levels.values():  # a level above is centred among itself
        totals = scored.totals[:, np.searchsorted(scored.rows, rows)]
        vectors[rows] = associate(totals).mean(axis=0)
    known = ~np.isnan(vectors[:, 0])
    children: Children = [
        np.array([child for child in below if known[child]], dtype=np.int64) for below in tree.children
    ]
    c_w = herb_scores(vectors / np.sqrt(vectors.shape[1]), np.zeros(len(tree)), children).c_w["balanced"]
    return {row: float(c_w[row]) for row in range(len(tree)) if len(children[row]) > 1}


def _describe_region(
    tree: RegionTree,
    row: int,
    position: int,
    scores: dict[int, float],
    estimates: Estimates,
    distinctness: Estimates | None,
    valence: Estimates | None,
    topics: dict[str, Estimates],
    words: tuple[Word, ...],
) -> RegionAssociation:
    region, values = tree.regions[row], estimates.value[position]
    times = to_times(estimates)
    marked = estimates.p_adjusted[position] < SIGNIFICANT
    order = sorted(range(len(words)), key=lambda k: (not marked[k], -abs(values[k])))

    def list_words(sign: int) -> list[WordAssociation]:
        first = {words[k].word: k for k in reversed(order) if sign * values[k] > 0}  # a word may be in two topics
        positions = sorted(first.values(), key=order.index)[:WORDS_SHOWN]
        return [WordAssociation(words[k].word, times.at(position, k)) for k in positions]

    return RegionAssociation(
        id=region.id,
        name=region.name,
        level=region.level,
        score=number(np.float64(scores[row])) if row in scores else None,
        strength=float(np.sqrt((values**2).mean())),
        distinctness=None if distinctness is None else distinctness.at(position),
        valence=None if valence is None else valence.at(position),
        topics={topic: contrast.at(position) for topic, contrast in topics.items()},
        more=list_words(1),
        less=list_words(-1),
    )


def _describe_inner(tree: RegionTree, row: int, scores: dict[int, float]) -> RegionAssociation:
    """A region above those that are compared: its score only."""
    region = tree.regions[row]
    score = number(np.float64(scores[row])) if row in scores else None
    return RegionAssociation(region.id, region.name, region.level, score, 0.0, None, None, {}, [], [])


def to_times(estimates: Estimates) -> Estimates:
    """exp of values and bounds: differences of log-likelihoods as ratios, which stay finite."""
    logs = (estimates.value, estimates.low, estimates.high)
    value, low, high = (np.exp(np.clip(numbers, -LARGEST_LOG, LARGEST_LOG)) for numbers in logs)
    return Estimates(value, low, high, estimates.p, estimates.p_adjusted)


def _compare_subjects(associations: np.ndarray, subjects: int) -> float | None:
    """The correlation over regions and words of the two halves; None for one subject."""
    if subjects < 2:
        return None
    halves = [half.mean(axis=0).ravel() for half in np.split(associations, 2)]
    if any(half.std() == 0 for half in halves):
        return None
    return float(stats.pearsonr(*halves)[0])


def find_marked_words(region: RegionAssociation) -> list[tuple[WordAssociation, str]]:
    """The words of a region that are beyond invented places, with their direction."""
    pairs = [*((word, "more") for word in region.more), *((word, "less") for word in region.less)]
    return [(word, side) for word, side in pairs if is_marked(word.times)]
