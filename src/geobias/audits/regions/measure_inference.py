"""How sure the scores are: intervals over words, random regions, ranks, leave-one-out, and what names alone explain."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from geobias.audits.regions.answers import RegionsAnswers
from geobias.audits.regions.design import MIN_REGIONS, RegionsDesign
from geobias.audits.regions.result import (
    BALANCED,
    InferenceSummary,
    InfluentialRegion,
    NullComparison,
    Rank,
    RegionInference,
    RegionNull,
    ScoreEstimates,
    TemplateAgreement,
    Tokenisation,
)
from geobias.measures.estimates import RESAMPLES, Estimate, Estimates
from geobias.measures.herb import FORMS, Children, descriptive_vectors
from geobias.measures.random_regions import (
    PERMUTATIONS,
    LeaveOneOut,
    RandomRegionTests,
    compare_with_random_regions,
    leave_one_out,
    rows_by_level,
)
from geobias.measures.ranks import bootstrap_rank_correlations, kendalls_w, rank_intervals
from geobias.measures.region_intervals import FLAT, SCORES, RegionJackknife, centroid_distances, jackknife_regions
from geobias.report.results import number

MIN_RANKED = 3  # regions, for templates to agree on their order


@dataclass(frozen=True)
class RegionTests:
    """Intervals and tests of all regions, as arrays."""

    vectors: list[np.ndarray]  # by template: regions x words
    intervals: dict[str, Estimates]  # by measure, over all regions
    nulls: RandomRegionTests
    ranks: dict[int, Rank]
    leave_one_out: dict[int, LeaveOneOut | None]
    summary: InferenceSummary


def run_tests(design: RegionsDesign, answers: RegionsAnswers, by_template: Mapping[str, np.ndarray]) -> RegionTests:
    """Everything at once; what would take too long is left out, and the summary says so."""
    children = design.tree.children
    vectors = [descriptive_vectors(likelihoods) for likelihoods in answers.likelihoods]
    c_w = list(by_template[BALANCED])
    nulls = compare_with_random_regions(vectors, c_w, children)
    jackknifes = jackknife_regions(answers.likelihoods, answers.name_likelihoods, children)
    intervals = {
        name: jackknifes[name].estimates(name, len(children))
        if name in jackknifes
        else Estimates.unknown(by_template[name].mean(axis=0))
        for name in (*SCORES, FLAT)
    }
    balanced = intervals[BALANCED]
    intervals[BALANCED] = Estimates(
        balanced.value, balanced.low, balanced.high, nulls.p["c_w"], nulls.p_adjusted["c_w"]
    )
    return RegionTests(
        vectors=vectors,
        intervals=intervals,
        nulls=nulls,
        ranks=_rank_regions(balanced.value, jackknifes.get(BALANCED), children),
        leave_one_out=leave_one_out(vectors, c_w, children),
        summary=InferenceSummary(
            words_left_out=len(design.words) if jackknifes else 0,
            resamples=RESAMPLES,
            permutations=PERMUTATIONS,
            left_out=_list_omissions(jackknifes, nulls),
        ),
    )


def region_inference(tests: RegionTests, row: int) -> RegionInference:
    """The scores of one region with their intervals."""

    def estimates(variant: str) -> ScoreEstimates:
        return ScoreEstimates(**{form: tests.intervals[f"{variant}.{form}"].at(row) for form in FORMS})

    return RegionInference(c_w=estimates("c_w"), c_z=estimates("c_z"), flat=tests.intervals[FLAT].at(row))


def region_null(tests: RegionTests, scores: Mapping[str, np.ndarray], row: int) -> RegionNull | None:
    """One region against random ones; None where there are none to compare with."""
    if np.isnan(tests.nulls.p["c_w"][row]):
        return None
    c_w = _compare_with_null(tests.nulls, "c_w", scores[BALANCED][row], row)
    sparseness = None if row == 0 else _compare_with_null(tests.nulls, "sparseness", scores["sparseness"][row], row)
    return RegionNull(**vars(c_w), sparseness=sparseness)


def _compare_with_null(nulls: RandomRegionTests, measure: str, value: np.ndarray, row: int) -> NullComparison:
    mean = nulls.mean[measure][row]
    return NullComparison(
        mean=number(mean),
        ratio=number(value / mean) if mean > 0 else None,
        p=number(nulls.p[measure][row]),
        p_adjusted=number(nulls.p_adjusted[measure][row]),
        sparser=bool(value > mean),
    )


def region_leave_one_out(
    design: RegionsDesign, tests: RegionTests, scores: Mapping[str, np.ndarray], row: int
) -> InfluentialRegion | None:
    """The sub-region whose absence changes the score of one region most."""
    left_out = tests.leave_one_out.get(row)
    if left_out is None:
        return None
    sub_region = design.tree.regions[left_out.region]
    change = float(left_out.value - scores[BALANCED][row])
    return InfluentialRegion(sub_region.id, sub_region.name, left_out.value, change)


def _rank_regions(value: np.ndarray, jackknife: RegionJackknife | None, children: Children) -> dict[int, Rank]:
    """The ranks of the inner regions directly below the root."""
    rows = np.array([row for row in children[0] if len(children[row]) > 1], dtype=np.int64)
    if jackknife is None or len(rows) < 2:
        return {}
    ranks, low, high = rank_intervals(value[rows], jackknife.bootstrap_values(BALANCED, rows))
    return {int(row): Rank(int(ranks[k]), int(low[k]), int(high[k])) for k, row in enumerate(rows)}


def correlate_with_names(design: RegionsDesign, answers: RegionsAnswers, tests: RegionTests) -> list[Tokenisation]:
    """Level by level: whether a region's distance to its siblings goes with traits of its name alone."""
    children = design.tree.children
    distance = np.mean([centroid_distances(vectors, children) for vectors in tests.vectors], axis=0)
    traits = {
        "name_likelihood": answers.name_likelihoods,
        "norm": np.linalg.norm(answers.likelihoods, axis=2).mean(axis=0),
    }
    if answers.name_tokens is not None:
        traits = {"tokens": answers.name_tokens, **traits}
    levels = []
    for level in rows_by_level(children)[1:]:
        rows = level[~np.isnan(distance[level])]
        if len(rows) < MIN_REGIONS:
            continue
        correlations = bootstrap_rank_correlations(
            distance[rows], {name: values[rows] for name, values in traits.items()}
        )
        estimates: dict[str, Estimate | None] = {"tokens": None}
        estimates |= {name: correlations.at(k) for k, name in enumerate(traits)}
        levels.append(Tokenisation(level=design.tree.regions[rows[0]].level, regions=len(rows), **estimates))
    return levels


def measure_template_agreement(design: RegionsDesign, by_template: Mapping[str, np.ndarray]) -> list[TemplateAgreement]:
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


def _list_omissions(jackknifes: Mapping[str, RegionJackknife], nulls: RandomRegionTests) -> list[str]:
    """What the size of the design forbids, in words."""
    notes = []
    if SCORES[0] not in jackknifes:
        notes.append(
            "No intervals: the words are too few, or the tree is too large to measure it without each of them."
        )
    elif FLAT not in jackknifes:
        notes.append("No intervals of flat: it has too many pairs to measure it without each word.")
    if nulls.too_large:
        notes.append(f"No random regions beside {nulls.too_large:,} region(s): their level is too large.")
    return notes
