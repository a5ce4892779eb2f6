"""From the log-likelihoods of paraphrases to the associations of regions and words, with their intervals and tests.

What decides whether a word, a topic or the tone of a region stands out: the larger p-value of two, against invented
places and, where regions and known places are alike in fame, against known places with fame held fixed; adjusted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from geobias.audits.regions.answers import AssociationAnswers, RegionsAnswers
from geobias.audits.regions.design import RegionsDesign
from geobias.audits.regions.rows import (
    Association,
    AssociationSignal,
    RegionAssociation,
    TopicAssociation,
    WordAssociation,
)
from geobias.measures.association import (
    FEWEST_PLACES,
    adjust_over_regions,
    associate,
    compare_with_invented,
    estimate_associations,
    estimate_contrast,
    find_detectable,
    find_largest_contrast,
    measure_agreement,
    remove_length,
    split_variance,
)
from geobias.measures.association_signal import (
    LARGEST_LOG,
    FameControls,
    compare_lengths,
    compare_signal,
    compare_size_with_invented,
    compare_strength_with_invented,
    compare_together,
    compare_with_permuted_words,
    control_fame,
    correlate_halves,
    find_comparable,
    to_times,
)
from geobias.measures.estimates import SIGNIFICANT, Estimates, benjamini_hochberg
from geobias.measures.herb import Children, herb_scores
from geobias.measures.random_regions import main_level
from geobias.report.results import Interval, number
from geobias.world.countries import load_entries
from geobias.world.regions import Region, RegionTree
from geobias.world.words import Word

WORDS_SHOWN = 6  # of each region, on each side
FEWEST_RATED = 3  # favourable, and unfavourable, for a valence
FEWEST_REGIONS = 3  # for an average region to compare with
FEWEST_PEOPLE = 1000.0  # territories without any count as small as this
LIKELIHOOD, POPULATION = "likelihood of the bare name", "population"


@dataclass(frozen=True)
class AssociationMeasures:
    """The rows of all associations; nothing where there are none."""

    whole: Association | None = None
    regions: list[RegionAssociation] = field(default_factory=list)
    topics: list[TopicAssociation] = field(default_factory=list)
    words: list[WordAssociation] = field(default_factory=list)
    scores: Mapping[int, float] = field(default_factory=dict)  # by row of the tree
    estimates: Estimates | None = None  # regions x words, in nats


@dataclass(frozen=True)
class Places:
    """Associations of the regions that are compared, and of invented places: paraphrases x places x words each."""

    regions: np.ndarray
    length: np.ndarray  # of names
    invented: np.ndarray | None  # None of too few to test against
    invented_length: np.ndarray

    @property
    def by_paraphrase(self) -> tuple[np.ndarray, np.ndarray | None]:
        return self.regions, self.invented


def measure_association(design: RegionsDesign, answers: RegionsAnswers) -> AssociationMeasures | None:
    """All associations; None if they were not scored, or if fewer than three regions or words could be compared."""
    scored, tree = answers.association, design.tree
    if scored is None or design.association is None:
        return None
    level = np.intersect1d(main_level(tree.children), scored.rows)
    if len(level) < FEWEST_REGIONS or len(design.words) < FEWEST_RATED:
        return None
    words, subjects = design.association.words, design.association.subjects
    regions, compared = [tree.regions[row] for row in level], np.searchsorted(scored.rows, level)
    places = _centre(design, answers, scored, level, compared)
    controls = _control_fame(scored, compared, regions, places.length)
    fame = controls if controls is not None and controls.can_tell and places.invented is not None else None
    against_names = estimate_associations(*places.by_paraphrase)
    estimates = _require_known_places(against_names, fame) if fame else against_names
    if len(scored.totals) < 2:  # a pair in a single sentence may be its wording
        estimates, against_names = Estimates.unknown(estimates.value), Estimates.unknown(against_names.value)
    value, invented_mean = estimates.value, None if places.invented is None else places.invented.mean(axis=0)
    rated, compare = _group_valence(words), partial(_compare_groups, places, fame)
    tones = compare(rated) if rated else None
    contrasts = {topic: compare([rows]) for topic, rows in _group_topics(words).items()}
    p_topics = _adjust_together([contrast.p for contrast, _ in contrasts.values()])
    signal, p_regions = None, np.full(len(level), np.nan)
    if invented_mean is not None:
        names_p = [float(np.nan_to_num(against_names.p_adjusted, nan=1.0).min())]
        names_p += [benjamini_hochberg(tones[1]).min()] if tones else []
        names_p += [_adjust_together([p for _, p in contrasts.values()]).min()] if contrasts else []
        signal, p_regions = _measure_signal(places, controls, names_p, has_tokens=answers.name_tokens is not None)
    parents = np.array([region.parent for region in regions])
    siblings = [np.flatnonzero(parents == parent) for parent in dict.fromkeys(parents)]
    once = list({word.word: k for k, word in enumerate(words)}.values())  # a word may be in two topics
    ratio = None if invented_mean is None else compare_size_with_invented(value, invented_mean).at()
    whole = Association(
        level=regions[0].level,
        subject="both" if len(subjects) > 1 else subjects[0],
        paraphrases=len(scored.totals),
        variance=split_variance(scored.totals[:, compared]),
        ratio=None if ratio is None or ratio.value is None else ratio,
        permuted=compare_with_permuted_words(value, siblings),
        agreement=measure_agreement(places.regions),
        subject_agreement=correlate_halves(places.regions) if len(subjects) > 1 else None,
        invented_times=None if invented_mean is None else float(np.exp(np.quantile(np.abs(invented_mean), 0.95))),
        detectable_times=None if invented_mean is None else _to_ratio(find_detectable(value, invented_mean)),
        valence_worst=_find_worst_valence(places, rated) if rated else None,
        tests=len(level) * len(once),
        marked=int((estimates.p_adjusted[:, once] < SIGNIFICANT).sum()),
        without_demonym=[tree.regions[row].name for row in main_level(tree.children) if row not in level],
        signal=signal,
    )
    valence = to_times(tones[0]) if tones else None
    distinctness = None if invented_mean is None else compare_strength_with_invented(value, invented_mean)
    return AssociationMeasures(
        whole,
        [
            RegionAssociation(
                **_name_region(region),
                strength=float(np.sqrt((value[k] ** 2).mean())),
                distinctness=distinctness.at(k) if distinctness else None,
                valence=valence.at(k) if valence else None,
                p_adjusted=number(p_regions[k]),
            )
            for k, region in enumerate(regions)
        ],
        [
            TopicAssociation(**_name_region(region), topic=topic, times=times.at(k))
            for (topic, (contrast, _)), p_adjusted in zip(contrasts.items(), p_topics, strict=True)
            for times in [to_times(replace(contrast, p_adjusted=p_adjusted))]
            for k, region in enumerate(regions)
        ],
        [row for k, region in enumerate(regions) for row in _list_words(region, estimates.part(k), words)],
        _carry_up(scored, tree, level, places.regions),
        estimates,
    )


def _name_region(region: Region) -> dict[str, str]:
    return {"id": region.id, "name": region.name, "level": region.level}


def _centre(
    design: RegionsDesign, answers: RegionsAnswers, scored: AssociationAnswers, level: np.ndarray, compared: np.ndarray
) -> Places:
    """Associations of regions and of invented places, each among themselves, without the effect of their lengths.

    A name is as long as its tokens, or letters where the scorer counts no tokens.
    """
    associations, invented = associate(scored.totals[:, compared]), answers.invented
    length, invented_length = answers.name_tokens, None if invented is None else invented.tokens
    if length is None or (invented is not None and invented_length is None):
        length = np.array([len(region.name) for region in design.tree.regions])
        invented_length = np.array([len(name) for name in invented.names]) if invented else None
    if scored.invented is None or invented_length is None:
        return Places(associations, length[level], None, np.ones(0))
    without = remove_length(associations, length[level], associate(scored.invented), invented_length)
    is_enough = len(invented_length) >= FEWEST_PLACES
    return Places(without[0], length[level], without[1] if is_enough else None, invented_length)


def _control_fame(
    scored: AssociationAnswers, compared: np.ndarray, regions: Sequence[Region], length: np.ndarray
) -> FameControls | None:
    """Associations without what goes with fame; None without known places."""
    places = scored.known_places
    if places is None or scored.known_totals is None or len(places.names) < FEWEST_PLACES:
        return None
    proxies = {LIKELIHOOD: (places.region_likelihoods[compared], places.likelihoods)}
    populations = _find_populations(regions)
    if populations is not None:
        proxies[POPULATION] = (np.log(populations), np.log(places.populations))
    known_length = np.array([len(name) for name in places.names]) if places.tokens is None else places.tokens
    return control_fame(
        (associate(scored.totals[:, compared]), associate(scored.known_totals)), (length, known_length), proxies
    )


def _find_populations(regions: Sequence[Region]) -> np.ndarray | None:
    """The people of each country; None of other regions."""
    entries = load_entries()
    if any(region.level != "country" or region.id not in entries for region in regions):
        return None
    return np.array([max(float(entries[region.id].population), FEWEST_PEOPLE) for region in regions])


def _require_known_places(estimates: Estimates, fame: FameControls) -> Estimates:
    """The larger p-value of each pair, against invented places and against known places with fame held fixed."""
    p = np.maximum(estimates.p, compare_with_invented(fame.regions.mean(axis=0), fame.known.mean(axis=0)))
    return replace(estimates, p=p, p_adjusted=adjust_over_regions(p))


def _compare_groups(
    places: Places, fame: FameControls | None, groups: list[np.ndarray]
) -> tuple[Estimates, np.ndarray]:
    """A contrast of words, and its p-values against invented places only.

    The p-values of the contrast are the larger of two, against invented and against known places.
    """

    def estimate(by_paraphrase: tuple[np.ndarray, np.ndarray | None]) -> Estimates:
        regions, others = (None if each is None else each.mean(axis=0) for each in by_paraphrase)
        assert regions is not None
        return estimate_contrast(regions, others, groups, by_paraphrase)

    contrast = estimate(places.by_paraphrase)
    if fame is None:
        return contrast, contrast.p
    p = np.maximum(contrast.p, estimate((fame.regions, fame.known)).p)
    return replace(contrast, p=p, p_adjusted=benjamini_hochberg(p)), contrast.p


def _measure_signal(
    places: Places, controls: FameControls | None, other_p: Sequence[float], *, has_tokens: bool
) -> tuple[AssociationSignal, np.ndarray]:
    """All comparisons, and the adjusted p-value of each region.

    `other_p` are the smallest adjusted p-values of pairs, tones and topics against invented places. Regions whose names
    have more or fewer tokens than any invented one have no part in the first comparison, unless fewer than three are
    left.
    """
    length, invented, invented_length = places.length, places.invented, places.invented_length
    assert invented is not None
    is_comparable = find_comparable(length, invented_length)
    kept = is_comparable if is_comparable.sum() > 2 else np.ones(len(length), dtype=bool)
    beyond_names = compare_signal(places.regions[:, kept], invented, length[kept], invented_length).at()
    beyond_fame, proxies = None, []
    p = compare_lengths(places.regions.mean(axis=0), invented.mean(axis=0), length, invented_length)
    together = compare_together(p, invented.shape[1])
    is_more = beyond_names.p is not None and (beyond_names.value or 0.0) > 0
    p_names = [beyond_names.p or 0.0 if is_more else 1.0, min(1.0, p.min() * len(p)), together, *other_p]
    if controls is not None:
        lengths, proxies = (controls.length, controls.known_length), controls.proxies
        beyond_fame = compare_signal(controls.regions, controls.known, *lengths).at()
        against_known = compare_lengths(controls.regions.mean(axis=0), controls.known.mean(axis=0), *lengths)
        against_known = np.where(controls.is_known, against_known, 1.0)
        together = max(together, compare_together(against_known, controls.known.shape[1]))
        p = np.maximum(p, against_known)
    adjusted = np.minimum(p * len(p), 1.0)
    return AssociationSignal(
        beyond_names=beyond_names,
        beyond_fame=beyond_fame,
        fame_share=controls.fame_share if controls else None,
        overlap=controls.overlap if controls else None,
        comparable_names=float(is_comparable.mean()) if has_tokens else 1.0,
        comparable_known=(controls.comparable if has_tokens else 1.0) if controls else None,
        proxies=proxies,
        p_names=float(min(1.0, len(p_names) * min(p_names))),
        p_regions=number(adjusted.min()),
        p_together=together,
    ), adjusted


def _group_valence(words: Sequence[Word]) -> list[np.ndarray]:
    """Positions of favourable and of unfavourable words; none if too few of either are rated."""
    ratings = np.array([np.nan if word.valence is None else word.valence for word in words])
    groups = [np.flatnonzero(ratings > 0), np.flatnonzero(ratings < 0)]
    return groups if min(map(len, groups)) >= FEWEST_RATED else []


def _find_worst_valence(places: Places, groups: list[np.ndarray]) -> Interval:
    """The valence that is farthest from the average region's, in times of at least 1."""
    mean = None if places.invented is None else places.invented.mean(axis=0)
    largest = find_largest_contrast(places.regions.mean(axis=0), groups, mean, places.by_paraphrase)
    return Interval(*map(_to_ratio, (largest.value, largest.low, largest.high)))


def _adjust_together(p_values: list[np.ndarray]) -> np.ndarray:
    """Every topic of every region, adjusted as one family."""
    return benjamini_hochberg(np.stack(p_values)) if p_values else np.zeros((0, 0))


def _to_ratio(nats: float) -> float:
    return float(np.exp(np.clip(nats, 0, LARGEST_LOG)))


def _group_topics(words: Sequence[Word]) -> dict[str, np.ndarray]:
    """The positions of each topic's words; topics of a single word have no interval and are left out."""
    topics = np.array([word.topic for word in words])
    positions = {str(topic): np.flatnonzero(topics == topic) for topic in dict.fromkeys(topics)}
    return {topic: rows for topic, rows in positions.items() if len(rows) > 1}


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
    rows_above = [row for row in (0, *map(int, scored.rows)) if len(children[row]) > 1]
    return {row: float(c_w[row]) for row in rows_above if not np.isnan(c_w[row])}


def _list_words(region: Region, estimates: Estimates, words: Sequence[Word]) -> list[WordAssociation]:
    """The most typical words of a region, likelier and less likely ones; those that stand out first on each side."""
    times, is_marked = to_times(estimates), estimates.p_adjusted < SIGNIFICANT
    order = sorted(range(len(words)), key=lambda k: (not is_marked[k], -abs(estimates.value[k])))
    rows = []
    for sign in (1, -1):
        first = {words[k].word: k for k in reversed(order) if sign * estimates.value[k] > 0}  # of a word in two topics
        rows += [
            WordAssociation(
                **_name_region(region),
                word=words[k].word,
                topic=words[k].topic,
                word_valence=words[k].valence,
                times=times.at(k),
            )
            for k in sorted(first.values(), key=order.index)[:WORDS_SHOWN]
        ]
    return rows
