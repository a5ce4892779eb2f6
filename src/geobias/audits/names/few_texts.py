"""Differences of countries that rest on a few texts, whose intervals miss more often than they should."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from geobias.audits.names.gaps import POINTS, name_origin, rerun
from geobias.audits.names.measure_inference import AnswerSums, centre
from geobias.audits.names.records import FewTexts
from geobias.measures.crossed_variance import CrossedVariance
from geobias.measures.single_names import MOST_SKEWED, count_texts_of_half, skewness_of_mean
from geobias.report.findings import Finding
from geobias.report.sentences import list_first

if TYPE_CHECKING:
    from geobias.audits.names.result import ClassifierMeasures, CountryNames, NamesResult


def find_few_texts(
    countries: Sequence[CountryNames], design: CrossedVariance, sums: AnswerSums | None
) -> list[FewTexts]:
    """Countries whose delta against the mean of countries rests on a few texts; none where nothing is tested."""
    if sums is None or design.countries < 2:
        return []
    has_text = design.draws_per_text > 0
    contrasts = centre(design.countries)
    influence = (design.text_influence(sums.delta) @ contrasts.T)[has_text]
    contributions = (sums.delta.text_sums @ contrasts.T)[has_text]
    skewness = skewness_of_mean(influence)
    return [
        FewTexts(country.country, country.code, count_texts_of_half(contributions[:, c]), float(skewness[c]))
        for c, country in enumerate(countries)
        if abs(skewness[c]) > MOST_SKEWED and np.abs(contributions[:, c]).any()
    ]


def list_few_text_cautions(result: NamesResult, findings: Sequence[Finding]) -> list[Finding]:
    """For each classifier one, on the countries that its findings in points name; or on the farthest country."""
    cautions = []
    for entry in result.classifiers:
        said = {each.code for each in findings if each.model == entry.model.name and _is_of_delta(each)}
        said |= {entry.worst.delta.country} if entry.worst.delta else set()
        concerned = [few for few in entry.few_texts if few.code in said]
        if concerned:
            cautions.append(_make_caution(result, entry, concerned))
    return cautions


def _is_of_delta(finding: Finding) -> bool:
    return finding.role != "caution" and finding.size is not None and finding.size.unit == POINTS


def _make_caution(result: NamesResult, entry: ClassifierMeasures, concerned: Sequence[FewTexts]) -> Finding:
    first, *others = sorted(concerned, key=lambda few: -abs(few.skewness))
    also = f" The same holds for {list_first([few.country for few in others])}." if others else ""
    return Finding(
        role="caution",
        audit=result.audit,
        model=entry.model.name,
        question="Does the difference rest on a few texts?",
        subject=first.country,
        code=first.code,
        evidence="not testable",
        sentence=f"{entry.model.short_name}: The gap for {name_origin(first.country)} rests on few "
        f"texts: {first.texts_of_half} of {entry.texts_with_names:,} make up half of it. Its interval may be too "
        f"narrow, and a gate may pass wrongly.{also}",
        limit="Where a few texts carry an effect, other texts may carry much more of it: in simulations 95 % intervals "
        "then cover it in 70 to 93 %, with few texts in less.",
        next_step=f"Read these texts on the page, and use more texts: {rerun(result, entry, '--texts FILE')}",
    )
