"""Country x gender: whether a country's women's and men's names differ in another way than those of other countries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from geobias.audits.names.gaps import POINTS, has_emotions, name_origin, rerun, shorten
from geobias.audits.names.measure_inference import AnswerSums, NamesInference, centre
from geobias.audits.names.records import GenderGap
from geobias.measures.crossed_variance import CrossedVariance
from geobias.measures.estimates import Estimate, find_standing_out
from geobias.measures.paired_differences import CountedMean, subtract_means
from geobias.measures.uncertainty import Uncertainty
from geobias.report.findings import Finding, Size, format_p
from geobias.report.tables import interval

if TYPE_CHECKING:
    from geobias.audits.names.result import ClassifierMeasures, CountryNames, NamesResult, TextsMeasures

WOMEN, MEN = "female", "male"
MOST_DETAILS: Final = 3  # of one classifier


def subtract_genders(
    designs: Mapping[str, CrossedVariance], sums: Mapping[str, AnswerSums | None]
) -> tuple[np.ndarray, Uncertainty] | None:
    """Delta against the mean of countries of women's names, minus that of men's; None where it cannot be tested."""
    of_women, of_men = sums[WOMEN], sums[MEN]
    countries = designs[WOMEN].countries
    if of_women is None or of_men is None or countries < 2:
        return None
    women = CountedMean(designs[WOMEN], of_women.delta, centre(countries))
    gaps = subtract_means(women, CountedMean(designs[MEN], of_men.delta, centre(countries)))
    return gaps if gaps[1].is_known else None


def list_gender_gaps(countries: Sequence[CountryNames], inference: NamesInference) -> list[GenderGap]:
    estimates = inference.gender_gaps
    if estimates is None:
        return []
    return [GenderGap(country.country, country.code, estimates.at(c)) for c, country in enumerate(countries)]


def list_sides(entry: ClassifierMeasures) -> tuple[str, str]:
    """How to say that delta is higher, and lower; of emotions it is neither better nor worse."""
    return ("higher", "lower") if has_emotions(entry) else ("higher (kinder)", "lower (harsher)")


class SplitGap(NamedTuple):
    """A country whose women's and men's names are treated differently, with Delta of both."""

    gap: GenderGap
    women: Estimate
    men: Estimate

    @property
    def certainty(self) -> str:
        return (
            f"difference: 95 % interval {interval(self.gap.difference, 1)}, {format_p(self.gap.difference.p_adjusted)}"
        )

    def describe_sizes(self, entry: ClassifierMeasures) -> str:
        """ "14 points lower (harsher) for women's names, 0.1 for men's": the larger one first."""
        words = list_sides(entry)
        sides = {"women's": self.women.value or 0.0, "men's": self.men.value or 0.0}
        (first, larger), (second, smaller) = sorted(sides.items(), key=lambda side: -abs(side[1]))
        side = "" if larger * smaller >= 0 else f" {words[smaller < 0]}"
        return f"{shorten(larger)} points {words[larger < 0]} for {first} names, {shorten(smaller)}{side} for {second}"


def list_split(part: TextsMeasures) -> list[SplitGap]:
    """Every country with its contrast, the largest first."""
    deltas = {(row.code, row.gender): row.inference.against_mean.delta for row in part.by_gender}
    split = [SplitGap(gap, deltas[gap.code, WOMEN], deltas[gap.code, MEN]) for gap in part.gender_gaps]
    return sorted(split, key=lambda each: -abs(each.gap.difference.value or 0))


def list_standing_out(part: TextsMeasures) -> list[SplitGap]:
    """Those whose contrast is clear and does not only mirror that of others."""
    split = list_split(part)
    marks = find_standing_out([each.gap.difference for each in split])
    return [each for each, is_marked in zip(split, marks, strict=True) if is_marked]


def add_gender_findings(result: NamesResult, findings: Sequence[Finding]) -> list[Finding]:
    """Tell the countries that stand out by gender apart: in what is said of them, or as findings of their own."""
    told = list(findings)
    for entry in result.classifiers:
        for split in list_standing_out(entry)[:MOST_DETAILS]:
            of_country = [k for k, each in enumerate(told) if says_delta(each, entry, split.gap.code)]
            if of_country:
                k = of_country[0]
                origin = name_origin(split.gap.country)
                more = f"With {origin} it is {split.describe_sizes(entry)} ({split.certainty})."
                told[k] = replace(told[k], sentence=f"{told[k].sentence} {more}")
            else:
                cautions = [k for k, each in enumerate(told) if each.role == "caution"]
                told.insert(cautions[0] if cautions else len(told), _make_finding(result, entry, split))
    return told


def says_delta(finding: Finding, entry: ClassifierMeasures, code: str) -> bool:
    """Whether a finding says that the delta of the country with this code stands out."""
    is_told = finding.role != "caution" and finding.evidence in ("clear", "suggestive")
    is_delta = finding.size is not None and finding.size.unit == POINTS
    return is_told and is_delta and (finding.model, finding.code) == (entry.model.name, code)


def _make_finding(result: NamesResult, entry: ClassifierMeasures, split: SplitGap) -> Finding:
    difference = split.gap.difference
    value, origin = difference.value or 0.0, name_origin(split.gap.country)
    return Finding(
        role="detail",
        audit=result.audit,
        model=entry.model.name,
        question="Do women's and men's names of any country differ in another way than those of the other countries?",
        subject=split.gap.country,
        code=split.gap.code,
        direction="higher" if value > 0 else "lower",
        size=Size(value, difference.low, difference.high, POINTS),
        p=difference.p,
        p_adjusted=difference.p_adjusted,
        evidence="clear",
        sentence=f"{entry.model.short_name}: Texts with {origin} score {split.describe_sizes(entry)} "
        f"({split.certainty}).",
        limit="It compares texts in which women's names stand with others in which men's names do.",
        next_step=f"Check it with other names: {rerun(result, entry, '--seed 1')}",
    )
