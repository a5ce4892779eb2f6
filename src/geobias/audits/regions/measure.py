"""From the likelihoods of all sentences to every number of a regions audit, and how sure each of them is.

What decides whether a region stands out: balanced C_w against random sets of as many regions of its level, with and
without the effect of names, the larger p-value, adjusted for all regions of the tree (`measures/random_regions.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from geobias.audits.doubts import varies
from geobias.audits.regions.answers import InventedPlaces, RegionsAnswers
from geobias.audits.regions.association import AssociationMeasures, measure_association
from geobias.audits.regions.design import RegionsDesign
from geobias.audits.regions.known import KnownMeasures, measure_known
from geobias.audits.regions.result import BALANCED, RegionsResult
from geobias.audits.regions.rows import NameCorrelation, Placebo, RegionScores, ScoredWord, TemplateAgreement
from geobias.measures.arrays import compute_on_gpu, to_numpy
from geobias.measures.estimates import NO_ESTIMATE, Estimate, Estimates
from geobias.measures.grouping import compare_groups
from geobias.measures.herb import (
    FORMS,
    Children,
    centroid_distances,
    descriptive_vectors,
    flat_sparseness,
    herb_scores,
    mean_distance,
    sparseness,
    word_sparseness,
)
from geobias.measures.random_regions import (
    MIN_REGIONS,
    RandomRegionTests,
    compare_with_random_regions,
    leave_one_out,
    main_level,
    remove_name_effects,
    require_both,
    rows_by_level,
    top_groups,
)
from geobias.measures.ranks import bootstrap_rank_correlations, kendalls_w, rank_intervals
from geobias.measures.word_jackknife import (
    FEWEST_WORDS,
    FLAT,
    SCORES,
    RegionJackknife,
    estimate_centroid_distances,
    jackknife_regions,
    jackknife_words,
)
from geobias.report.results import Interval, number

MIN_RANKED = 3  # regions, for templates to agree on their order


def measure_regions(design: RegionsDesign, answers: RegionsAnswers) -> RegionsResult:
    by_template = score_regions(design, answers)
    vectors = [descriptive_vectors(likelihoods) for likelihoods in answers.likelihoods]
    without_names = _remove_name_effects(design, answers, vectors)
    associations, groups = (
        measure_association(design, answers) or AssociationMeasures(),
        top_groups(design.tree.children),
    )
    known, known_design = KnownMeasures(), design.known_for(answers.model)
    if known_design is not None and answers.known is not None:
        known = measure_known(known_design, answers.known)
    regions, omissions = _measure_each(design, answers, vectors, without_names, by_template, associations.scores)
    return RegionsResult(
        settings=design.settings_for(answers.model.name, answers.model.score),
        model=answers.model,
        counts=answers.counts,
        regions=regions,
        scored_words=[ScoredWord(each.word, each.topic, each.part_of_speech, each.valence) for each in design.words],
        tokenisation=_correlate_with_names(design, answers, vectors),
        grouping=compare_groups(list(answers.likelihoods), groups, without_names) if len(groups) > 1 else None,
        association=associations.whole,
        region_associations=associations.regions,
        topic_associations=associations.topics,
        associations=associations.words,
        known=known.whole,
        known_countries=known.countries,
        placebo=None if answers.invented is None else _measure_placebo(design, answers, answers.invented),
        kendall_w=_measure_template_agreement(design, by_template),
        omissions=omissions,
        constant_answers={} if _varies(answers) else {answers.model.name: "all texts"},
        work=answers.work,
        answers=answers,
        word_differences=by_template["words"].mean(axis=0),
        estimates=associations.estimates,
        known_pairs=known.pairs,
    )


def _remove_name_effects(design: RegionsDesign, answers: RegionsAnswers, vectors: list[np.ndarray]) -> list[np.ndarray]:
    """The vectors without the effects of the letters, the tokens and the likelihood of names."""
    letters = np.array([len(region.name) for region in design.tree.regions], dtype=float)
    traits = [each for each in (letters, answers.name_tokens, answers.name_likelihoods) if each is not None]
    levels = rows_by_level(design.tree.children)[1:]
    return [remove_name_effects(each, traits, levels) for each in vectors]


def _varies(answers: RegionsAnswers) -> bool:
    """Whether the model tells any two sentences apart."""
    totals = None if answers.association is None else answers.association.totals
    return varies(answers.likelihoods[..., None]) or (totals is not None and varies(totals[..., None]))


def score_regions(design: RegionsDesign, answers: RegionsAnswers) -> dict[str, np.ndarray]:
    """HERB's measures by name: templates x regions each, and x words for `words`.

    The names: c_w.balanced, c_w.paper, c_z.balanced, c_z.paper, flat, sparseness and words.
    """
    children = design.tree.children

    def measure(likelihoods: Any) -> dict[str, np.ndarray]:
        vectors = descriptive_vectors(likelihoods)
        measures = {
            **score_vectors(vectors, answers.name_likelihoods, children),
            "flat": flat_sparseness(vectors, children),
            "sparseness": sparseness(vectors, children),
            "words": word_sparseness(vectors, children),
        }
        return {name: to_numpy(values) for name, values in measures.items()}

    by_template = [compute_on_gpu(measure, likelihoods) for likelihoods in answers.likelihoods]
    return {name: np.stack([measures[name] for measures in by_template]) for name in by_template[0]}


def score_vectors(vectors: Any, name_likelihoods: np.ndarray, children: Children) -> dict[str, Any]:
    """Both variants of the score in both forms, by names such as c_w.balanced."""
    scores = vars(herb_scores(vectors, name_likelihoods, children))
    return {f"{variant}.{form}": scores[variant][form] for form in FORMS for variant in scores}


def _measure_each(
    design: RegionsDesign,
    answers: RegionsAnswers,
    vectors: list[np.ndarray],
    without_names: list[np.ndarray],
    by_template: Mapping[str, np.ndarray],
    association_scores: Mapping[int, float],
) -> tuple[list[RegionScores], list[str]]:
    """The scores of every region with their intervals and tests, and what would take too long and is left out."""
    tree, children, has_several = design.tree, design.tree.children, len(design.templates) > 1
    c_w = list(by_template[BALANCED])
    without = [herb_scores(each, answers.name_likelihoods, children).c_w["balanced"] for each in without_names]
    nulls = require_both(
        compare_with_random_regions(vectors, c_w, children),
        compare_with_random_regions(without_names, without, children),
        children,
    )
    jackknifes = jackknife_regions(answers.likelihoods, answers.name_likelihoods, children)
    intervals = {
        name: jackknifes[name].estimates(name, len(children))
        if name in jackknifes
        else Estimates.unknown(by_template[name].mean(axis=0))
        for name in (*SCORES, FLAT)
    }
    intervals[BALANCED] = replace(intervals[BALANCED], p=nulls.p, p_adjusted=nulls.p_adjusted)
    random_means = np.where(np.isnan(nulls.p), np.nan, nulls.mean)
    ranks = _rank_regions(intervals[BALANCED].value, jackknifes.get(BALANCED), children)
    influences, distances = leave_one_out(vectors, c_w, children), _measure_country_distances(design, answers)
    scores = {name: values.mean(axis=0) for name, values in by_template.items()}

    def estimate(name: str, row: int) -> Estimate:
        value = number(scores[name][row])
        if len(children[row]) < 2:
            return replace(NO_ESTIMATE, value=value)
        return replace(intervals[name].at(row), value=value)

    def describe(row: int) -> RegionScores:
        region, count, influence = tree.regions[row], len(children[row]), influences.get(row)
        return RegionScores(
            id=region.id,
            name=region.name,
            in_sentence=None if region.in_sentence == region.name else region.in_sentence,
            level=region.level,
            parent=None if region.parent is None else tree.regions[region.parent].id,
            parent_index=region.parent,
            children=count,
            **{f"{name.replace('.', '_')}": estimate(name, row) for name in SCORES},
            flat=estimate(FLAT, row) if count else None,
            sparseness=number(scores["sparseness"][row]) if count else None,
            c_w_balanced_spread=number(by_template[BALANCED][:, row].std(ddof=1)) if has_several else None,
            random_mean=number(random_means[row]) if count > 1 else None,
            rank=ranks.get(row),
            influential=None if influence is None else tree.regions[influence.region].name,
            c_w_without_it=None if influence is None else influence.value,
            distance=distances.get(row),
            association_score=association_scores.get(row),
        )

    return [describe(row) for row in range(len(tree))], _list_omissions(jackknifes, nulls)


def _list_omissions(jackknifes: Mapping[str, RegionJackknife], nulls: RandomRegionTests) -> list[str]:
    omissions = []
    if BALANCED not in jackknifes:
        omissions.append(
            "No intervals: the words are too few, or the tree is too large to measure it without each of them."
        )
    elif FLAT not in jackknifes:
        omissions.append("No intervals of flat: it has too many pairs to measure it without each word.")
    if nulls.too_large:
        omissions.append(f"No random regions beside {nulls.too_large:,} region(s): their level is too large.")
    return omissions


def _rank_regions(value: np.ndarray, jackknife: RegionJackknife | None, children: Children) -> dict[int, Interval]:
    """The ranks of the inner regions directly below the root."""
    rows = np.array([row for row in children[0] if len(children[row]) > 1], dtype=np.int64)
    if jackknife is None or len(rows) < 2:
        return {}
    ranks = np.stack(rank_intervals(value[rows], jackknife.bootstrap_values(BALANCED, rows)), axis=1)
    return {int(row): Interval(*map(float, bounds)) for row, bounds in zip(rows, ranks, strict=True)}


def _measure_country_distances(design: RegionsDesign, answers: RegionsAnswers) -> dict[int, Estimate]:
    """How far each country lies from its continent, by row; a country that is alone there has no distance."""
    regions = design.tree.regions
    siblings = [below for below in design.tree.children if len(below) > 1 and regions[below[0]].level == "country"]
    if not siblings:
        return {}
    rows = np.sort(np.concatenate(siblings))
    positions = [np.searchsorted(rows, below) for below in siblings]
    distances = estimate_centroid_distances(answers.likelihoods[:, rows], positions)
    return {int(row): distances.at(k) for k, row in enumerate(rows)}


def _correlate_with_names(
    design: RegionsDesign, answers: RegionsAnswers, vectors: list[np.ndarray]
) -> list[NameCorrelation]:
    """Level by level: whether a region's distance to its siblings goes with traits of its name alone."""
    children = design.tree.children
    distance = np.mean([centroid_distances(v, children) for v in vectors], axis=0)
    traits = {
        "tokens": answers.name_tokens,
        "name_likelihood": answers.name_likelihoods,
        "norm": np.linalg.norm(answers.likelihoods, axis=2).mean(axis=0),
    }
    correlations = []
    for level in rows_by_level(children)[1:]:
        rows = level[~np.isnan(distance[level])]
        if len(rows) >= MIN_REGIONS:
            known = {name: values[rows] for name, values in traits.items() if values is not None}
            estimates, level_name = (
                bootstrap_rank_correlations(distance[rows], known),
                design.tree.regions[rows[0]].level,
            )
            correlations += [
                NameCorrelation(level_name, len(rows), trait, estimates.at(k)) for k, trait in enumerate(known)
            ]
    return correlations


def _measure_placebo(design: RegionsDesign, answers: RegionsAnswers, invented: InventedPlaces) -> Placebo:
    """How far apart invented places lie, and the real ones of a level, on the same words: what names alone do.

    Names of more tokens lie further apart whatever they name, so the invented ones have as many as real ones.
    """
    rows, words = main_level(design.tree.children), len(design.words)
    real = answers.likelihoods[:, rows]

    def measure(words: np.ndarray) -> np.ndarray:
        """Invented, real, the first divided by the second."""
        apart = [
            np.mean([mean_distance(descriptive_vectors(f)) for f in likelihoods[..., words]])
            for likelihoods in (invented.likelihoods, real)
        ]
        return np.array([*apart, apart[0] / apart[1] if apart[1] > 0 else np.nan])

    estimates = (
        jackknife_words(measure, words).estimate_distances()
        if words >= FEWEST_WORDS
        else Estimates.unknown(measure(np.arange(words)))
    )
    ratio = estimates.at(2)
    return Placebo(
        level=design.tree.regions[rows[0]].level,
        names=list(invented.names),
        tokens=_mean(invented.tokens),
        real_tokens=None if answers.name_tokens is None else _mean(answers.name_tokens[rows]),
        invented=estimates.at(0),
        real=estimates.at(1),
        ratio=None if ratio.value is None else ratio,
    )


def _mean(values: np.ndarray | None) -> float | None:
    return None if values is None else float(values.mean())


def _measure_template_agreement(
    design: RegionsDesign, by_template: Mapping[str, np.ndarray]
) -> list[TemplateAgreement]:
    """Whether the templates rank the regions of a level alike; inner regions and leaves, whose C differs, apart."""
    if len(design.templates) < 2:
        return []
    tree, scores = design.tree, by_template[BALANCED]
    levels = []
    for level in rows_by_level(tree.children)[1:]:
        children = np.array([len(tree.children[row]) for row in level])
        for measure, rows in (("c_w", level[children > 1]), ("distance", level[children == 0])):
            if len(rows) >= MIN_RANKED:
                w, p = (number(np.float64(value)) for value in kendalls_w(scores[:, rows]))
                levels.append(TemplateAgreement(tree.regions[rows[0]].level, measure, len(rows), w, p))
    return levels
