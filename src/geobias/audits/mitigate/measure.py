"""From the answers of a classifier before and after mitigation to every number of the result."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from geobias.audits.constant_answers import list_constant_answers
from geobias.audits.find.design import FindDesign
from geobias.audits.find.measure import RenamedShares
from geobias.audits.mitigate.answers import MethodAnswers, MitigateAnswers, ModelAnswers
from geobias.audits.mitigate.design import MitigateDesign
from geobias.audits.mitigate.result import (
    CountryComparison,
    CountrySpread,
    LargestGap,
    MethodChange,
    MethodComparison,
    MitigateCounts,
    MitigateResult,
    ModelMeasures,
)
from geobias.measures.change import predict_classes
from geobias.measures.crossed_variance import CrossedVariance, LinearMeasure, NameUnits
from geobias.measures.estimates import CONFIDENCE_LEVEL, Estimate, Estimates, benjamini_hochberg, bootstrap_means
from geobias.measures.mitigation import (
    QualityComparison,
    Spread,
    SpreadComparison,
    SpreadRatio,
    compare_quality,
    compare_spreads,
    flips_by_text,
)
from geobias.measures.paired_differences import MEAN, MeasureKey, NamesAnswers, delta_differences
from geobias.measures.uncertainty import Family
from geobias.report.results import Interval, number
from geobias.report.tables import is_marked

LARGEST_LOSS = 1.0  # percentage points of accuracy that a recommended method may cost
MOST_LEFT = 0.9  # of the standardised spread, after a method that helps
TIE = 0.05  # ratios of spread that differ by less are equal: the cheaper method is recommended


def measure_mitigation(design: MitigateDesign, answers: MitigateAnswers) -> MitigateResult:
    measure = _Measure(design, answers)
    comparisons = [measure.compare(method) for method in answers.methods]
    comparisons = _adjust_methods(comparisons, has_spread=measure.spreads[0].has_spread_before)
    before = measure.describe(answers.before, measure.spreads[0].before)
    models = [answers.before.model, *(method.answers.model for method in answers.methods)]
    return MitigateResult(
        settings=design.settings_for(answers.before.model.name),
        models=models,
        counts=_count(design, answers),
        before=before,
        methods=comparisons,
        recommended=recommend_method(comparisons),
        constant_answers=list_constant_answers(
            {answers.before.model.name: (answers.before.original, answers.before.renamed)}
        ),
        language_doubts=design.language_doubts,
        notes=answers.notes,
        work={"texts_scored": sum(each.text_count for each in (answers.before, *(m.answers for m in answers.methods)))},
    )


def _count(design: MitigateDesign, answers: MitigateAnswers) -> MitigateCounts:
    hits = answers.original_hits
    return (
        design.count()
        if hits is None
        else replace(design.count(), originals=len(hits), originals_missed=int((~hits).sum()))
    )


def recommend_method(methods: Sequence[MethodComparison]) -> str | None:
    """The method to take: it helps, costs little accuracy, and leaves the smallest standardised spread.

    Of methods with about the same spread the cheaper; None if no method helps.
    """
    candidates = [entry for entry in methods if entry.helps and not loses_quality(entry)]
    if not candidates:
        return None
    smallest = min(_ratio(entry) for entry in candidates)
    equal = [entry for entry in candidates if _ratio(entry) <= smallest + TIE]
    return min(equal, key=lambda entry: entry.texts_per_text).method


def loses_quality(entry: MethodComparison) -> bool:
    """Whether a method clearly costs accuracy, or probably more than a point."""
    change = entry.change.accuracy
    if change is None or change.value is None:
        return False
    return falls(change) or change.value < -LARGEST_LOSS


def _ratio(entry: MethodComparison) -> float:
    ratio = entry.change.standardised_ratio.value
    return 1.0 if ratio is None else ratio


@dataclass
class _Measure:
    """The design, the answers, and what all methods share of them."""

    design: MitigateDesign
    answers: MitigateAnswers

    def __post_init__(self) -> None:
        counterfactuals, answers = self.design.counterfactuals, self.answers
        shape = counterfactuals.shape
        units = NameUnits(*counterfactuals.name_units())
        self.variance = CrossedVariance(units, shape, np.ones(shape[::2], dtype=bool))
        self.before_tone = self._tone(answers.before)
        self.spreads: list[SpreadComparison] = []
        self.recalls: list[Interval] | None = None
        self.recall: Interval | None = None
        if answers.finder_hits is not None:
            self._measure_recall(answers.finder_hits)

    def compare(self, method: MethodAnswers) -> MethodComparison:
        after = method.answers
        spread = compare_spreads(self.before_tone, self._tone(after), self.variance)
        self.spreads.append(spread)
        flips = self._flips(after) - self._flips(self.answers.before)
        quality = self._quality(after)
        change = MethodChange(
            spread_ratio=_ratio_interval(spread.ratio),
            standardised_ratio=_ratio_interval(spread.standardised_ratio),
            spread=spread.change,
            flips=bootstrap_means(flips[:, None]).at(0),
            accuracy=quality["accuracy"].change if quality else None,
            macro_f1=quality["macro_f1"].change if quality else None,
        )
        uses_finder = method.method.is_wrapper
        return MethodComparison(
            method=method.method.label,
            model=after.model,
            folder=method.folder,
            allow=method.allow,
            after=self.describe(after, spread.after, quality),
            change=change,
            countries=self._compare_countries(after, uses_finder),
            recall=self.recall if uses_finder else None,
            texts_per_text=method.texts_per_text,
            helps=False,  # decided when p-values are adjusted for all methods
            time_ratio=method.time_ratio,
        )

    def describe(
        self, answers: ModelAnswers, spread: Spread, quality: dict[str, QualityComparison] | None = None
    ) -> ModelMeasures:
        """One model by itself."""
        is_original = answers is self.answers.before
        if is_original:
            quality = self._quality(answers)
        family = self._family(self._tone(answers))
        effect = family.largest_effect() if family else None
        gaps = self._gaps(self._tone(answers))
        largest = int(np.abs(gaps).argmax())
        gap = LargestGap(
            float(np.abs(gaps[largest])),
            effect.low if effect else None,
            effect.high if effect else None,
            self.design.counterfactuals.countries[largest],
        )
        return ModelMeasures(
            spread=_describe_spread(spread),
            largest_gap=gap,
            flips=share_interval(
                bootstrap_means(self._flips(answers)[:, None]), 0, texts=len(self.design.rows_with_names)
            ),
            accuracy=_as_interval(quality["accuracy"].after) if quality else None,
            macro_f1=_as_interval(quality["macro_f1"].after) if quality else None,
        )

    def _tone(self, answers: ModelAnswers) -> np.ndarray:
        """texts x countries x draws: 100 (p_pos - p_neg) of every renamed text."""
        positive, negative = (
            answers.renamed[..., labels].sum(axis=-1) for labels in (self.answers.positive, self.answers.negative)
        )
        return np.asarray(100 * (positive - negative))

    def _gaps(self, tone: np.ndarray) -> np.ndarray:
        means = self.variance.means(tone)
        return np.asarray(means - means.mean())

    def _family(self, tone: np.ndarray) -> Family | None:
        countries = self.variance.countries
        if not self.variance.is_estimable:
            return None
        measure = LinearMeasure(tone, np.eye(countries) - 1 / countries)
        return Family([self._gaps(tone)], [self.variance.uncertainty(measure)])

    def _estimates(self, answers: ModelAnswers) -> Estimates:
        tone = self._tone(answers)
        family = self._family(tone)
        return family.estimates(0) if family else Estimates.unknown(self._gaps(tone))

    def _flips(self, answers: ModelAnswers) -> np.ndarray:
        return 100 * flips_by_text(predict_classes(answers.renamed, self.answers.threshold))

    def _quality(self, after: ModelAnswers) -> dict[str, QualityComparison] | None:
        truth, threshold = self.answers.truth, self.answers.threshold
        if truth is None:
            return None
        before = self.answers.before
        classes = [predict_classes(each.original, threshold) for each in (before, after)]
        return compare_quality(truth, *classes)

    def _compare_countries(self, after: ModelAnswers, uses_finder: bool) -> list[CountryComparison]:
        rows, before = self.design.rows_with_names, self.answers.before
        first, second = (NamesAnswers(each.original[rows], each.renamed) for each in (before, after))
        positive, negative = self.answers.positive, self.answers.negative
        differences = delta_differences(first, second, self.variance, positive=positive, negative=negative)
        paired = differences[MeasureKey("delta", MEAN)]
        estimates = [self._estimates(each) for each in (before, after)]
        gazetteer = self.design.counterfactuals.gazetteer
        return [
            CountryComparison(
                country=gazetteer.country(code),
                code=code,
                before=estimates[0].at(c),
                after=estimates[1].at(c),
                change=paired.difference.at(c),
                recall=self.recalls[c] if self.recalls and uses_finder else None,
            )
            for c, code in enumerate(self.design.counterfactuals.countries)
        ]

    def _measure_recall(self, hits: np.ndarray) -> None:
        shares = RenamedShares(describe_find_design(self.design))
        values = shares.average_mentions(hits)
        by_country = shares.infer_countries(values)
        self.recalls = [
            Interval(float(value), number(low), number(high))
            for value, low, high in zip(by_country.value, by_country.low, by_country.high, strict=True)
        ]
        self.recall = shares.infer_mean(values)


def describe_find_design(design: MitigateDesign) -> FindDesign:
    """The same renamed texts as the audit of finders sees them."""
    return FindDesign(
        design.texts, design.rows_with_names, design.counterfactuals, "latin", design.options.seed, (), held_out=False
    )


def _adjust_methods(comparisons: Sequence[MethodComparison], *, has_spread: bool) -> list[MethodComparison]:
    """Adjust the tests of all methods as one family, and decide which of them help."""
    adjusted = []
    for name in ("spread", "flips", "accuracy", "macro_f1"):
        estimates = [getattr(entry.change, name) for entry in comparisons]
        p = np.array([np.nan if each is None or each.p is None else each.p for each in estimates])
        adjusted.append((name, benjamini_hochberg(p)))
    entries = []
    for k, entry in enumerate(comparisons):
        changes = {
            name: replace(estimate, p_adjusted=number(p[k]))
            for name, p in adjusted
            if (estimate := getattr(entry.change, name)) is not None
        }
        change = replace(entry.change, **changes)
        entries.append(replace(entry, change=change, helps=helps(change, has_spread=has_spread)))
    return entries


def helps(change: MethodChange, *, has_spread: bool) -> bool:
    """Whether the spread clearly falls, and flips do not rise.

    It must fall in points, and by a tenth at least in units of the standard deviation over texts: the interval of that
    ratio takes the standard deviations as known.

    If the spread before was no more than noise, whether flips clearly fall and the spread does not clearly rise.
    With too few texts to test the spread, nothing helps.
    """
    high, standardised_high = change.spread_ratio.high, change.standardised_ratio.high
    flips_fall, flips_rise = falls(change.flips), rises(change.flips)
    if not has_spread:
        return change.spread.p is not None and flips_fall and not rises(change.spread)
    spread_falls = falls(change.spread) and high is not None and high < 1
    return spread_falls and standardised_high is not None and standardised_high < MOST_LEFT and not flips_rise


def falls(estimate: Estimate) -> bool:
    return is_marked(estimate) and (estimate.value or 0) < 0


def rises(estimate: Estimate) -> bool:
    return is_marked(estimate) and (estimate.value or 0) > 0


def _describe_spread(spread: Spread) -> CountrySpread:
    numbers = {name: number(np.float64(value)) for name, value in spread._asdict().items() if name != "exceeds_noise"}
    return CountrySpread(**numbers, exceeds_noise=spread.exceeds_noise)


def _ratio_interval(ratio: SpreadRatio) -> Interval:
    return Interval(*(number(np.float64(bound)) for bound in ratio))


def _as_interval(estimate: Estimate) -> Interval:
    return Interval(estimate.value, estimate.low, estimate.high)


def share_interval(estimates: Estimates, position: int, *, texts: int) -> Interval:
    """The interval of a share in per cent, which cannot fall below 0.

    Where no text flips, resampling shows no variance: the upper bound is then the exact binomial one.
    """
    value, low, high = (array[position] for array in (estimates.value, estimates.low, estimates.high))
    if value == 0:
        high = np.float64(100 * (1 - ((1 - CONFIDENCE_LEVEL) / 2) ** (1 / texts)))
    return Interval(number(value), number(np.maximum(low, 0)), number(high))
