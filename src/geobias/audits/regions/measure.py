"""From the likelihoods of all sentences to every number of a regions audit."""

from __future__ import annotations

from typing import Any

import numpy as np

from geobias.audits.regions.answers import RegionsAnswers
from geobias.audits.regions.design import RegionsDesign
from geobias.audits.regions.measure_inference import (
    RegionTests,
    correlate_with_names,
    measure_template_agreement,
    region_inference,
    region_leave_one_out,
    region_null,
    run_tests,
)
from geobias.audits.regions.placebo import measure_placebo
from geobias.audits.regions.result import RegionScores, RegionsResult, Score, Spread
from geobias.audits.regions.wording import describe_wordings, measure_wordings
from geobias.measures.arrays import compute_on_gpu, to_numpy
from geobias.measures.herb import (
    FORMS,
    descriptive_vectors,
    flat_sparseness,
    herb_scores,
    sparseness,
    topic_sparseness,
    word_sparseness,
)
from geobias.measures.pairs import pair_count
from geobias.report.results import number

VARIANTS = ("c_w", "c_z")


def measure_regions(design: RegionsDesign, answers: RegionsAnswers) -> RegionsResult:
    by_template = score_regions(design, answers)
    tests = run_tests(design, answers, by_template)
    wordings = measure_wordings(design, answers)
    several_templates = len(design.templates) > 1
    return RegionsResult(
        settings=design.settings_for(answers.model.name, answers.model.score),
        model=answers.model,
        counts=answers.counts,
        regions=_describe_regions(design, by_template, tests),
        inference=tests.summary,
        tokenisation=correlate_with_names(design, answers, tests),
        placebo=None if answers.invented is None else measure_placebo(design, answers, answers.invented),
        kendall_w=measure_template_agreement(design, by_template) if several_templates else None,
        wording=describe_wordings(design, wordings) if wordings else None,
        work=answers.work,
        answers=answers,
        by_template=by_template,
        wordings=tuple(wordings),
    )


def score_regions(design: RegionsDesign, answers: RegionsAnswers) -> dict[str, np.ndarray]:
    """HERB's measures by name: templates x regions each, and x words for `words`.

    The names: c_w.balanced, c_w.paper, c_z.balanced, c_z.paper, flat, sparseness, words, and topic.TOPIC.
    """
    children = design.tree.children
    topics = [word.topic for word in design.words]

    def measure(likelihoods: Any) -> dict[str, np.ndarray]:
        vectors = descriptive_vectors(likelihoods)
        scores = herb_scores(vectors, answers.name_likelihoods, children)
        measures = {
            **{f"c_w.{form}": scores.c_w[form] for form in FORMS},
            **{f"c_z.{form}": scores.c_z[form] for form in FORMS},
            "flat": flat_sparseness(vectors, children),
            "sparseness": sparseness(vectors, children),
            "words": word_sparseness(vectors, children),
            **{f"topic.{topic}": values for topic, values in topic_sparseness(vectors, children, topics).items()},
        }
        return {name: to_numpy(values) for name, values in measures.items()}

    by_template = [compute_on_gpu(measure, likelihoods) for likelihoods in answers.likelihoods]
    return {name: np.stack([measures[name] for measures in by_template]) for name in by_template[0]}


def _describe_regions(
    design: RegionsDesign, by_template: dict[str, np.ndarray], tests: RegionTests
) -> list[RegionScores]:
    """Every region as results.json holds it."""
    tree = design.tree
    scores = {name: values.mean(axis=0) for name, values in by_template.items() if not name.startswith("topic.")}
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
                level=region.level,
                parent=None if region.parent is None else tree.regions[region.parent].id,
                parent_index=region.parent,
                children=children,
                pairs=pair_count(children),
                leaf=children == 0,
                c_w=_score(scores, "c_w", row),
                c_z=_score(scores, "c_z", row),
                flat=number(scores["flat"][row]) if children else None,
                sparseness=number(scores["sparseness"][row]) if children else None,
                spread=None if spreads is None else Spread(_score(spreads, "c_w", row), _score(spreads, "c_z", row)),
                inference=region_inference(tests, row) if has_pair else None,
                null=region_null(tests, scores, row) if has_pair else None,
                rank=tests.ranks.get(row),
                leave_one_out=region_leave_one_out(design, tests, scores, row) if has_pair else None,
            )
        )
    return regions


def _score(values: dict[str, np.ndarray], variant: str, row: int) -> Score:
    return Score(**{form: number(values[f"{variant}.{form}"][row]) for form in FORMS})
