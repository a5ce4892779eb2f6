"""From the likelihoods of all sentences to every number of a regions audit, and how sure each of them is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from geobias.audits.constant_answers import varies
from geobias.audits.regions.answers import RegionsAnswers
from geobias.audits.regions.association import measure_association
from geobias.audits.regions.design import RegionsDesign
from geobias.audits.regions.known import measure_known
from geobias.audits.regions.placebo import measure_placebo
from geobias.audits.regions.records import (
    InferenceSummary,
    InfluentialRegion,
    Rank,
    RegionInference,
    RegionNull,
    RegionScores,
    Score,
    ScoreEstimates,
    Spread,
    TemplateAgreement,
    Tokenisation,
)
from geobias.audits.regions.result import BALANCED, RegionsResult
from geobias.measures.arrays import compute_on_gpu, to_numpy
from geobias.measures.estimates import RESAMPLES, Estimate, Estimates
from geobias.measures.grouping import compare_groups
from geobias.measures.herb import (
    FORMS,
    Children,
    centroid_distances,
    descriptive_vectors,
    flat_sparseness,
    herb_scores,
    pair_count,
    sparseness,
    word_sparseness,
)
from geobias.measures.random_regions import (
    MIN_REGIONS,
    PERMUTATIONS,
    LeaveOneOut,
    RandomRegionTests,
    compare_with_random_regions,
    leave_one_out,
    remove_name_effects,
    require_both,
    rows_by_level,
    top_groups,
)
from geobias.measures.ranks import bootstrap_rank_correlations, kendalls_w, rank_intervals
from geobias.measures.word_jackknife import FLAT, SCORES, RegionJackknife, jackknife_regions
from geobias.report.results import number

VARIANTS = ("c_w", "c_z")
MIN_RANKED = 3  # regions, for templates to agree on their order


@dataclass(frozen=True)
class RegionTests:
    """Intervals and tests of all regions, as arrays."""

    intervals: dict[str, Estimates]  # by measure, over all regions
    nulls: RandomRegionTests
    ranks: dict[int, Rank]
    leave_one_out: dict[int, LeaveOneOut | None]
    summary: InferenceSummary


def measure_regions(design: RegionsDesign, answers: RegionsAnswers) -> RegionsResult:
    by_template = score_regions(design, answers)
    vectors = [descriptive_vectors(likelihoods) for likelihoods in answers.likelihoods]
    without_names = _remove_name_effects(design, answers, vectors)
    tests = _run_tests(design, answers, vectors, without_names, by_template)
    several_templates = len(design.templates) > 1
    known = None
    known_design = design.known_for(answers.model)
    if known_design is not None and answers.known is not None:
        known = measure_known(known_design, answers.known, with_attributes=design.settings.show_offensive)
    return RegionsResult(
        settings=design.settings_for(answers.model.name, answers.model.score),
        model=answers.model,
        counts=answers.counts,
        regions=_describe_regions(design, by_template, tests),
        inference=tests.summary,
        tokenisation=_correlate_with_names(design, answers, vectors),
        grouping=compare_groups(list(answers.likelihoods), top_groups(design.tree.children), without_names),
        association=measure_association(design, answers),
        known=known,
        placebo=None if answers.invented is None else measure_placebo(design, answers, answers.invented),
        kendall_w=_measure_template_agreement(design, by_template) if several_templates else None,
        constant_answers={} if _varies(answers) else {answers.model.name: "all texts"},
        work=answers.work,
        answers=answers,
        by_template=by_template,
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


def _run_tests(
    design: RegionsDesign,
    answers: RegionsAnswers,
    vectors: list[np.ndarray],
    without_names: list[np.ndarray],
    by_template: Mapping[str, np.ndarray],
) -> RegionTests:
    """Everything at once; what would take too long is left out, and the summary says so."""
    children, c_w = design.tree.children, list(by_template[BALANCED])
    scores = [herb_scores(each, answers.name_likelihoods, children).c_w["balanced"] for each in without_names]
    nulls = require_both(
        compare_with_random_regions(vectors, c_w, children),
        compare_with_random_regions(without_names, scores, children),
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
    omissions = []
    if BALANCED not in jackknifes:
        omissions.append(
            "No intervals: the words are too few, or the tree is too large to measure it without each of them."
        )
    elif FLAT not in jackknifes:
        omissions.append("No intervals of flat: it has too many pairs to measure it without each word.")
    if nulls.too_large:
        omissions.append(f"No random regions beside {nulls.too_large:,} region(s): their level is too large.")
    return RegionTests(
        intervals=intervals,
        nulls=nulls,
        ranks=_rank_regions(intervals[BALANCED].value, jackknifes.get(BALANCED), children),
        leave_one_out=leave_one_out(vectors, c_w, children),
        summary=InferenceSummary(
            words_left_out=len(design.words) if jackknifes else 0,
            resamples=RESAMPLES,
            permutations=PERMUTATIONS,
            left_out=omissions,
        ),
    )


def _rank_regions(value: np.ndarray, jackknife: RegionJackknife | None, children: Children) -> dict[int, Rank]:
    """The ranks of the inner regions directly below the root."""
    rows = np.array([row for row in children[0] if len(children[row]) > 1], dtype=np.int64)
    if jackknife is None or len(rows) < 2:
        return {}
    ranks = np.stack(rank_intervals(value[rows], jackknife.bootstrap_values(BALANCED, rows)), axis=1)
    return {int(row): Rank(*map(int, bounds)) for row, bounds in zip(rows, ranks, strict=True)}


def _describe_regions(
    design: RegionsDesign, by_template: Mapping[str, np.ndarray], tests: RegionTests
) -> list[RegionScores]:
    """Every region as results.json holds it."""
    tree = design.tree
    scores = {name: values.mean(axis=0) for name, values in by_template.items()}
    spreads = (
        {name: values.std(axis=0, ddof=1) for name, values in by_template.items() if name.startswith(VARIANTS)}
        if len(design.templates) > 1
        else None
    )
    regions = []
    for row, region in enumerate(tree.regions):
        children = len(tree.children[row])
        has_pair = children > 1
        regions.append(
            RegionScores(
                id=region.id,
                name=region.name,
                in_sentence=None if region.in_sentence == region.name else region.in_sentence,
                level=region.level,
                parent=None if region.parent is None else tree.regions[region.parent].id,
                parent_index=region.parent,
                children=children,
                pairs=pair_count(children),
                leaf=children == 0,
                **_select_scores(scores, row),
                flat=number(scores["flat"][row]) if children else None,
                sparseness=number(scores["sparseness"][row]) if children else None,
                spread=Spread(**_select_scores(spreads, row)) if spreads else None,
                inference=_select_estimates(tests.intervals, row) if has_pair else None,
                null=_describe_null(tests.nulls, scores, row) if has_pair else None,
                rank=tests.ranks.get(row),
                leave_one_out=_describe_influence(design, tests, scores, row) if has_pair else None,
            )
        )
    return regions


def _select_scores(values: Mapping[str, np.ndarray], row: int) -> dict[str, Score]:
    """C_w and C_z of one region."""
    return {
        variant: Score(**{form: number(values[f"{variant}.{form}"][row]) for form in FORMS}) for variant in VARIANTS
    }


def _select_estimates(intervals: Mapping[str, Estimates], row: int) -> RegionInference:
    """The scores of one region with their intervals."""
    by_variant = {
        variant: ScoreEstimates(**{form: intervals[f"{variant}.{form}"].at(row) for form in FORMS})
        for variant in VARIANTS
    }
    return RegionInference(**by_variant, flat=intervals[FLAT].at(row))


def _describe_null(nulls: RandomRegionTests, scores: Mapping[str, np.ndarray], row: int) -> RegionNull | None:
    """One region against random ones; None where there are none to compare with."""
    if np.isnan(nulls.p[row]):
        return None
    value, mean = scores[BALANCED][row], nulls.mean[row]
    return RegionNull(
        mean=number(mean),
        ratio=number(value / mean) if mean > 0 else None,
        p=number(nulls.p[row]),
        p_adjusted=number(nulls.p_adjusted[row]),
        sparser=bool(value > mean),
    )


def _describe_influence(
    design: RegionsDesign, tests: RegionTests, scores: Mapping[str, np.ndarray], row: int
) -> InfluentialRegion | None:
    """The sub-region whose absence changes the score of one region most."""
    left_out = tests.leave_one_out.get(row)
    if left_out is None:
        return None
    sub_region = design.tree.regions[left_out.region]
    change = float(left_out.value - scores[BALANCED][row])
    return InfluentialRegion(sub_region.id, sub_region.name, left_out.value, change)


def _correlate_with_names(
    design: RegionsDesign, answers: RegionsAnswers, vectors: list[np.ndarray]
) -> list[Tokenisation]:
    """Level by level: whether a region's distance to its siblings goes with traits of its name alone."""
    children = design.tree.children
    distance = np.mean([centroid_distances(v, children) for v in vectors], axis=0)
    traits = {
        "tokens": answers.name_tokens,
        "name_likelihood": answers.name_likelihoods,
        "norm": np.linalg.norm(answers.likelihoods, axis=2).mean(axis=0),
    }
    levels = []
    for level in rows_by_level(children)[1:]:
        rows = level[~np.isnan(distance[level])]
        if len(rows) < MIN_REGIONS:
            continue
        known = {name: values[rows] for name, values in traits.items() if values is not None}
        correlations = bootstrap_rank_correlations(distance[rows], known)
        estimates: dict[str, Estimate | None] = dict.fromkeys(traits)
        estimates |= {name: correlations.at(k) for k, name in enumerate(known)}
        levels.append(Tokenisation(level=design.tree.regions[rows[0]].level, regions=len(rows), **estimates))
    return levels


def _measure_template_agreement(
    design: RegionsDesign, by_template: Mapping[str, np.ndarray]
) -> list[TemplateAgreement]:
    """Whether the templates rank the regions of a level alike; inner regions and leaves, whose C differs, apart."""
    tree, scores = design.tree, by_template[BALANCED]
    levels = []
    for level in rows_by_level(tree.children)[1:]:
        children = np.array([len(tree.children[row]) for row in level])
        for measure, rows in (("c_w", level[children > 1]), ("distance", level[children == 0])):
            if len(rows) >= MIN_RANKED:
                w, p = (number(np.float64(value)) for value in kendalls_w(scores[:, rows]))
                levels.append(TemplateAgreement(tree.regions[rows[0]].level, measure, len(rows), w, p))
    return levels
