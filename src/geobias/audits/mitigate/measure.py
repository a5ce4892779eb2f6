"""From the answers of a classifier before and after mitigation to every number of the result.

Two tests decide whether a method helps: that of the spread between countries and that of flips, adjusted for all
methods (`helps`). That of a country is its paired change, adjusted for all countries.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from geobias.audits.compare.audit import compare
from geobias.audits.doubts import list_constant_answers
from geobias.audits.find.design import FindDesign
from geobias.audits.find.measure import RenamedShares, to_interval
from geobias.audits.mitigate.design import Method, MitigateDesign
from geobias.audits.mitigate.result import (
    CountryChange,
    LanguageModelMeasures,
    MethodMeasures,
    MitigateResult,
    falls,
    rises,
)
from geobias.audits.regions.result import RegionsResult
from geobias.measures.change import predict_classes
from geobias.measures.crossed_variance import CrossedVariance, LinearMeasure, NameUnits
from geobias.measures.estimates import CONFIDENCE_LEVEL, NO_ESTIMATE, Estimates, benjamini_hochberg, bootstrap_means
from geobias.measures.mitigation import Spread, bootstrap_interval, compare_quality, compare_spreads, flips_by_text
from geobias.measures.paired_differences import MEAN, MeasureKey, NamesAnswers, delta_differences
from geobias.measures.uncertainty import Family
from geobias.models.scorer import ModelIdentity
from geobias.report.model_findings import find_mirrors
from geobias.report.results import Interval, number
from geobias.report.run_folder import MODELS

if TYPE_CHECKING:
    from geobias.models.training.word_scores import CapitalsKnown, TextLikelihoods

MOST_LEFT = 0.9  # of the standardised spread, after a method that helps
Row = TypeVar("Row", MethodMeasures, LanguageModelMeasures)
TIE = 0.05  # ratios of spread that differ by less are equal: the cheaper method is recommended


@dataclass(frozen=True)
class ModelAnswers:
    """The probabilities of one model for every tested text, original and with its people renamed."""

    model: ModelIdentity
    original: np.ndarray = field(repr=False)  # all texts x labels
    renamed: np.ndarray = field(repr=False)  # texts with names x countries x draws x labels
    text_count: int  # that the model had to score


@dataclass(frozen=True)
class MethodAnswers:
    """The model that a method gives: its answers, and what it costs."""

    method: Method
    answers: ModelAnswers
    folder: str | None
    texts_per_text: float
    allow: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class MitigateAnswers:
    """The original classifier and those of all methods."""

    threshold: float | None
    positive: list[int]  # positions of labels
    negative: list[int]
    truth: np.ndarray | None = field(repr=False)  # all texts x labels
    before: ModelAnswers
    methods: list[MethodAnswers]
    finder_hits: np.ndarray | None = field(repr=False)  # mentions x countries x draws: marked with the right ends
    original_hits: np.ndarray | None = field(repr=False)  # the same of the names that the user marked
    notes: list[str]


def measure_mitigation(design: MitigateDesign, answers: MitigateAnswers) -> MitigateResult:
    measure = _Measure(design, answers)
    methods = [measure.compare(each) for each in answers.methods]
    original = measure.describe_original()
    models = [answers.before, *(each.answers for each in answers.methods)]
    changes = ("spread_change", "flips_change", "accuracy_change", "macro_f1_change")
    methods = [
        replace(row, helps=helps(row, has_spread=original.has_spread)) for row in adjust_changes(methods, *changes)
    ]
    return MitigateResult(
        settings=design.settings_for(original.model),
        models=[each.model for each in models],
        counts=design.count(answers.original_hits),
        methods=[original, *methods],
        countries=[row for each in answers.methods for row in measure.compare_countries(each)],
        recommended=recommend_method(methods),
        constant_answers=list_constant_answers({original.model: (answers.before.original, answers.before.renamed)}),
        language_doubts=design.language_doubts,
        notes=answers.notes,
        work={"texts_scored": sum(each.text_count for each in models)},
    )


class _Measure:
    """The design, the answers, and what all methods share of them."""

    def __init__(self, design: MitigateDesign, answers: MitigateAnswers) -> None:
        self.design, self.answers = design, answers
        shape = design.counterfactuals.shape
        units = NameUnits(*design.counterfactuals.name_units())
        self.variance = CrossedVariance(units, shape, np.ones(shape[::2], dtype=bool))
        self.spread_before: Spread | None = None
        self.recall: Interval | None = None
        self.recalls: list[Interval | None] = [None] * shape[1]
        if answers.finder_hits is not None:
            self._measure_recall(answers.finder_hits)

    def describe_original(self) -> MethodMeasures:
        before = self.answers.before
        assert self.spread_before is not None  # that of the first comparison
        return MethodMeasures(method="original", **self._describe(before, self.spread_before))

    def compare(self, method: MethodAnswers) -> MethodMeasures:
        after, before = method.answers, self.answers.before
        spread = compare_spreads(self._tone(before), self._tone(after), self.variance)
        self.spread_before = self.spread_before or spread.before
        flips = self._flips(after) - self._flips(before)
        quality = self._compare_quality(after)
        return MethodMeasures(
            method=method.method.label,
            folder=method.folder,
            allow=method.allow,
            **self._describe(after, spread.after),
            recall=self.recall if method.method.is_wrapper else None,
            texts_per_text=method.texts_per_text,
            spread_ratio=to_interval(*spread.ratio),
            standardised_ratio=to_interval(*spread.standardised_ratio),
            spread_change=spread.change,
            flips_change=bootstrap_means(flips[:, None]).at(0),
            accuracy_change=quality["accuracy"].change if quality else None,
            macro_f1_change=quality["macro_f1"].change if quality else None,
        )

    def compare_countries(self, method: MethodAnswers) -> list[CountryChange]:
        rows, counterfactuals = self.design.rows_with_names, self.design.counterfactuals
        pair = self.answers.before, method.answers
        first, second = (NamesAnswers(each.original[rows], each.renamed) for each in pair)
        positive, negative = self.answers.positive, self.answers.negative
        differences = delta_differences(first, second, self.variance, positive=positive, negative=negative)
        changes = [differences[MeasureKey("delta", MEAN)].difference.at(c) for c in range(len(self.recalls))]
        mirrors = find_mirrors(changes)
        before, after = (self._estimate(each)[0] for each in pair)
        names = [counterfactuals.gazetteer.country(code) for code in counterfactuals.countries]
        return [
            CountryChange(
                model=method.method.label,
                place=names[c],
                code=code,
                label="delta",
                p_adjusted=changes[c].p_adjusted,
                mirrors=names[mirrors[c]] if c in mirrors else None,
                change=changes[c],
                after=after.at(c),
                before=before.at(c),
                recall=self.recalls[c] if method.method.is_wrapper else None,
            )
            for c, code in enumerate(counterfactuals.countries)
        ]

    def _describe(self, answers: ModelAnswers, spread: Spread) -> dict[str, Any]:
        """One model by itself: fields of its row."""
        _, largest_gap = self._estimate(answers)
        quality = self._compare_quality(answers) or {}
        flips = bootstrap_means(self._flips(answers)[:, None])
        return {
            "model": answers.model.name,
            "spread": to_interval(spread.value, spread.low, spread.high),
            "noise": number(np.float64(spread.noise)),
            "exceeds_noise": spread.exceeds_noise,
            "largest_gap": largest_gap,
            "flips": share_interval(flips, texts=len(self.design.rows_with_names)),
            **{
                name: Interval(each.after.value, each.after.low, each.after.high) if each else None
                for name, each in (("accuracy", quality.get("accuracy")), ("macro_f1", quality.get("macro_f1")))
            },
        }

    def _tone(self, answers: ModelAnswers) -> np.ndarray:
        """texts x countries x draws: 100 (p_pos - p_neg) of every renamed text."""
        positive, negative = (
            answers.renamed[..., labels].sum(axis=-1) for labels in (self.answers.positive, self.answers.negative)
        )
        return np.asarray(100 * (positive - negative))

    def _estimate(self, answers: ModelAnswers) -> tuple[Estimates, Interval]:
        """Δ of each country minus the mean of countries, and the largest of them."""
        tone, countries = self._tone(answers), self.variance.countries
        means = self.variance.means(tone)
        gaps = np.asarray(means - means.mean())
        largest = float(np.abs(gaps).max())
        if not self.variance.is_estimable:
            return Estimates.unknown(gaps), Interval(largest, None, None)
        measure = LinearMeasure(tone, np.eye(countries) - 1 / countries)
        family = Family([gaps], [self.variance.uncertainty(measure)])
        bounds = family.largest_effect()
        return family.estimates(0), Interval(largest, bounds and bounds.low, bounds and bounds.high)

    def _flips(self, answers: ModelAnswers) -> np.ndarray:
        return 100 * flips_by_text(predict_classes(answers.renamed, self.answers.threshold))

    def _compare_quality(self, after: ModelAnswers) -> dict[str, Any] | None:
        if self.answers.truth is None:
            return None
        both = (predict_classes(each.original, self.answers.threshold) for each in (self.answers.before, after))
        return compare_quality(self.answers.truth, *both)

    def _measure_recall(self, hits: np.ndarray) -> None:
        """The shares of names that the finder marks, as the audit of finders has them."""
        design = self.design
        shares = RenamedShares(
            FindDesign(design.texts, design.rows_with_names, design.counterfactuals, "latin", design.seed, (), False)
        )
        values = shares.average_mentions(hits)
        by_country = shares.infer_countries(values)
        bounds = zip(by_country.value, by_country.low, by_country.high, strict=True)
        self.recalls = [to_interval(*each) for each in bounds]
        self.recall = shares.infer_mean(values)


def adjust_changes(rows: Sequence[Row], *names: str) -> list[Row]:
    """The rows with the p-values of each of these changes adjusted for all rows."""
    for name in names:
        changes = [getattr(row, name) or NO_ESTIMATE for row in rows]
        adjusted = benjamini_hochberg(np.array([np.nan if each.p is None else each.p for each in changes]))
        rows = [
            replace(row, **dict[str, Any]({name: replace(change, p_adjusted=number(p))})) if getattr(row, name) else row
            for row, change, p in zip(rows, changes, adjusted, strict=True)
        ]
    return list(rows)


def helps(row: MethodMeasures, *, has_spread: bool) -> bool:
    """Whether the spread clearly falls, and flips do not rise.

    It must fall in points, and by a tenth at least in units of the standard deviation over texts: the interval of that
    ratio takes the standard deviations as known.

    If the spread before was no more than noise, whether flips clearly fall and the spread does not clearly rise.
    With too few texts to test the spread, nothing helps.
    """
    change, ratio, standardised = row.spread_change, row.spread_ratio.high, row.standardised_ratio.high
    if not has_spread:
        return change.p is not None and falls(row.flips_change) and not rises(change)
    spread_falls = falls(change) and ratio is not None and ratio < 1
    is_less = standardised is not None and standardised < MOST_LEFT
    return spread_falls and is_less and not rises(row.flips_change)


def recommend_method(methods: Sequence[MethodMeasures]) -> str | None:
    """The method to take: it helps, costs little accuracy, and leaves the smallest standardised spread.

    Of methods with about the same spread the cheaper; None if no method helps.
    """
    candidates = [row for row in methods if row.helps and not row.loses_quality]
    ratios = [row.standardised_ratio.value for row in candidates]
    left = [1.0 if ratio is None else ratio for ratio in ratios]
    equal = [row for row, ratio in zip(candidates, left, strict=True) if ratio <= min(left) + TIE]
    return min(equal, key=lambda row: row.texts_per_text).method if equal else None


def share_interval(estimates: Estimates, *, texts: int) -> Interval:
    """The interval of a share in per cent, which cannot fall below 0.

    Where no text flips, resampling shows no variance: the upper bound is then the exact binomial one.
    """
    value, low, high = (array[0] for array in (estimates.value, estimates.low, estimates.high))
    if value == 0:
        high = np.float64(100 * (1 - ((1 - CONFIDENCE_LEVEL) / 2) ** (1 / texts)))
    return Interval(number(value), number(np.maximum(low, 0)), number(high))


@dataclass(frozen=True)
class LanguageAnswers:
    """One language model: its audit, and how good it is."""

    audit: RegionsResult
    likelihoods: TextLikelihoods
    capitals: CapitalsKnown

    @property
    def word_scores(self) -> np.ndarray:
        """regions x words: the mean over templates; the root has no score."""
        scores = np.asarray(self.audit.likelihoods).mean(axis=0)
        return scores[~np.isnan(scores).any(axis=1)]


def describe_language_model(method: str, answers: LanguageAnswers) -> LanguageModelMeasures:
    score = answers.audit.regions[0].c_w_balanced
    return LanguageModelMeasures(
        method=method,
        model=answers.audit.model.name,
        score=Interval(score.value, score.low, score.high),
        perplexity=answers.likelihoods.perplexity,
        capitals=100 * answers.capitals.share,
    )


def compare_language_models(method: Method, before: LanguageAnswers, after: LanguageAnswers) -> LanguageModelMeasures:
    """What a method changes: the score of the Earth, perplexity with its interval over texts, and so on."""
    from geobias.models.training.word_scores import compute_word_variance_ratio  # imports torch

    (comparison,) = compare([before.audit, after.audit]).comparisons
    log_ratios = before.likelihoods.log_p - after.likelihoods.log_p
    tokens, capitals = before.likelihoods.tokens, after.capitals.is_known.astype(float) - before.capitals.is_known
    words_before, words_after = before.word_scores, after.word_scores

    def change_perplexity(texts: np.ndarray) -> float:
        return float(100 * (np.exp(log_ratios[texts].sum() / tokens[texts].sum()) - 1))

    def change_capitals(countries: np.ndarray) -> float:
        return float(100 * capitals[countries].mean())

    def divide_variances(words: np.ndarray) -> float:
        return compute_word_variance_ratio(words_before[:, words], words_after[:, words])

    return replace(
        describe_language_model(method.label, after),
        folder=f"{MODELS}/{method.subfolder}",
        score_change=next(each for each in comparison.rows if each.name == "Earth").difference,
        perplexity_change=Interval(*bootstrap_interval(change_perplexity, len(tokens))),
        capitals_change=Interval(*bootstrap_interval(change_capitals, len(capitals))),
        word_variance_ratio=Interval(*bootstrap_interval(divide_variances, words_before.shape[1])),
    )


def adjust_language_models(rows: Sequence[LanguageModelMeasures]) -> list[LanguageModelMeasures]:
    """Adjust the tests of all methods as one family, and decide which of them help."""
    return [
        replace(row, helps=falls(row.score_change) and (row.score_change.high or 0) < 0 and row.keeps_words)
        for row in adjust_changes(rows, "score_change")
    ]


def recommend_language_model(rows: Sequence[LanguageModelMeasures]) -> str | None:
    """The method that lowers the score most, of those that cost little; None if there is none."""
    candidates = [row for row in rows if row.helps and not row.forgets]
    return min(candidates, key=lambda row: row.score_change.value or 0).method if candidates else None
