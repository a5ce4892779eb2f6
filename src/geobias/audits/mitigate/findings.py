"""What a mitigation concludes: what each method improves, for whom, what it costs, and which one to take."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from geobias.audits.mitigate.design import METHODS
from geobias.audits.mitigate.result import (
    MOST_CAPITALS_LOST,
    MOST_PERPLEXITY_RISE,
    CountryChange,
    LanguageModelMeasures,
    MethodMeasures,
    MitigateResult,
    falls,
    rises,
)
from geobias.measures.estimates import NO_ESTIMATE, Estimate
from geobias.models.sources import MITIGATED
from geobias.report.findings import DIFFERENCES, OUT, Finding, Role, grade_evidence
from geobias.report.model_findings import Caution, Family, ModelFindings, conclude
from geobias.report.page.charts import NEUTRAL
from geobias.report.results import HasInterval
from geobias.report.sentences import format_evidence, format_number, list_first, measure_size
from geobias.report.tables import is_marked

CHOICE_QUESTION = "Which method should be taken?"
UNIT, SHARE_UNIT = "points", "percentage points"
LOW_RECALL, RECALL_GAP = 0.8, 0.1  # of a finder: below, or that far below the mean, names of a country leak
ROUNDED = 0.005  # of a recall: fewer misses print as 0 %
LEAST_SHRINKAGE = 0.8  # a standardised ratio above, with a spread ratio below, is shrinkage
LIMITS: dict[Role, str] = {
    "overall": "Measured with names that no method used, in texts like these; other texts may differ. A country's "
    "names are those common there, not those of its citizens everywhere.",
    "detail": "A country whose gap was small before cannot change much.",
    "caution": "It holds for these texts and names.",
}


def list_findings(result: MitigateResult) -> list[Finding]:
    """The answer for each method, then the recommendation and the countries, then cautions."""
    methods: list[Any] = [ClassifierFindings(result, row) for row in result.mitigated]
    methods += [LanguageModelFindings(result, row) for row in result.language_models[1:]]
    findings = conclude(methods)
    doubts = [] if result.is_of_language_model else methods[0].doubt_spread()
    return [*findings[: len(methods)], methods[0].recommend(), *findings[len(methods) :], *doubts]


class MethodFindings(ModelFindings[CountryChange]):
    """The findings about a method; its countries are details."""

    audit = "mitigate"

    def __init__(self, result: MitigateResult, row: Any) -> None:
        countries = result.list_countries(row.method)
        super().__init__(Family(result.models[0], "delta", countries, NEUTRAL), is_one_of_several=True)
        self.result, self.row = result, row
        recalls = {each.place: each.recall.value for each in countries if each.recall is not None}
        self.recalls = {name: recall for name, recall in recalls.items() if recall is not None}

    def explain_too_little(self) -> None:
        """The answer says it."""

    def say(self, effect: CountryChange) -> str:
        """ "Poland (-9.1 to -0.2, 95 % interval -0.9 to +0.5)"."""
        low, high = effect.after.low, effect.after.high
        bounds = "" if low is None or high is None else f", 95 % interval {low:+.1f} to {high:+.1f}"
        return f"{effect.place} ({effect.before.value or 0:+.1f} to {effect.after.value or 0:+.1f}{bounds})"

    def say_nothing(self, closest: CountryChange | None) -> str:
        return "no clear change for any country"

    def make_plain(self, role: Role, sentence: str, limit: str, next_step: str, *more: Any, **fields: Any) -> Finding:
        finding = super().make_plain(role, sentence, limit, next_step, *more, **fields)
        question = "What may go wrong with this method?" if role == "caution" else finding.question
        return replace(finding, measure=self.row.method, question=question)

    def make_change(self, role: Role, sentence: str, change: Estimate, unit: str, **fields: Any) -> Finding:
        """A finding with the size of a change, and how sure it is."""
        finding = self.make_plain(role, sentence, self.limit(role, None), self.next_step(role, None))
        tested: dict[str, Any] = {"size": measure_size(change, unit), "p": change.p, "p_adjusted": change.p_adjusted}
        return replace(finding, **(tested | fields))


class ClassifierFindings(MethodFindings):
    question = "Does the method lower the spread between countries of people's names?"

    def limit(self, role: Role, effect: CountryChange | None) -> str:
        return LIMITS[role]

    def next_step(self, role: Role, effect: CountryChange | None) -> str:
        if role == "detail":
            return "Every country is in tables/countries.csv."
        if self.row.folder is None or not self.row.helps:
            return "Compare other methods and strengths: --method blind,average:4,average:16"
        allow = "".join(f" --allow {shlex.quote(name)}" for name in self.row.allow)
        return f"Use the model in the folder of this run: geobias names {MITIGATED}{OUT}/{self.row.folder}{allow}"

    def answer(self) -> Finding:
        row, question, change, unit = self.row, self.question, self.row.spread_change, UNIT
        if row.helps and not self.result.original.has_spread:
            change, unit = row.flips_change, SHARE_UNIT
            question = "Does the method lower the share of labels that flip with the name?"
        direction = "lower" if (change.value or 0) < 0 else "higher"
        return self.make_change(
            "overall",
            f"{self._say_spread()} {self._say_missed_names()}{_say_cost(row)}",
            change,
            unit,
            question=question,
            evidence=row.evidence,
            direction=direction if row.evidence in DIFFERENCES else None,
        )

    def _say_spread(self) -> str:
        row, original = self.row, self.result.original
        change, fewer = row.spread_change, row.flips_change
        flips = f"labels that flip with the name from {_say(original.flips)} to {_say(row.flips)} %"
        start = f"{row.method}: spread between countries from {_say(original.spread)} to {_say(row.spread)} points"
        if change.p_adjusted is None:
            return f"{start}, {flips}; there are too few texts to test it."
        evidence = format_evidence(change, change.p_adjusted, UNIT)
        if not original.has_spread:
            verdict = f"it rises (change {evidence})" if rises(change) else "there is no spread to mitigate"
            if row.helps:
                verdict = f"fewer labels flip (change {format_evidence(fewer, fewer.p_adjusted, SHARE_UNIT)})"
            floor = f" (equal countries would show {format_number(original.noise)})" if original.noise else ""
            return f"{start}, {flips}. Before, the spread was no more than noise{floor}; {verdict}."
        if row.helps:
            less = 100 * (1 - _value(row.spread_ratio))
            return f"{start}, {less:.0f} % less (change {evidence}); {flips}."
        if falls(change):
            return f"{start} (change {evidence}), but this does not count as fairer; {flips}."
        if rises(change):
            return f"{start}: it rises (change {evidence}); {flips}."
        return f"{start}: no clear change ({evidence}); {flips}."

    def _say_missed_names(self) -> str:
        """Of a method that hides what a finder marks, what the finder misses: the rest is hidden by construction."""
        recall, counts = self.row.recall, self.result.counts
        if recall is None or recall.value is None:
            return ""
        missed = {name: 1 - recall for name, recall in self.recalls.items() if recall < 1 - ROUNDED}
        worst = [f"{name} {100 * missed[name]:.0f} %" for name in sorted(missed, key=lambda name: -missed[name])]
        by_country = f" ({list_first(worst)})" if worst else ""
        share = format_number(100 * (1 - recall.value))
        originals = "People whom it missed in the original texts are not tested: mark them (--spans)."
        if counts.originals is not None:
            originals = (
                f"In the original texts it misses {counts.originals_missed:,} of {counts.originals:,} marked names."
            )
        return (
            f"What is left comes from names that {self.result.settings.finder} misses, {share} % of those tested"
            f"{by_country}: the others are hidden by construction. {originals} "
        )

    def list_details(self) -> Iterator[Finding]:
        """For whom the gap becomes smaller, for whom larger, and for how many nothing changes."""
        countries, parts = self.family.effects, list[str]()
        clear, mirrors = self.family.standing_out, [each.place for each in countries if each.mirrors]
        nearer = [each for each in clear if abs(each.after.value or 0) < abs(each.before.value or 0)]
        farther = [self.say(each) for each in clear if each not in nearer]
        if nearer:
            nearer.sort(key=lambda each: -abs(each.before.value or 0))
            parts.append(f"the gap shrinks for {list_first(list(map(self.say, nearer)))}")
        if farther:
            parts.append(f"the gap grows for {list_first(farther)}")
        if mirrors:
            parts.append(
                f"the change of {list_first(mirrors)} may only mirror {'that' if len(clear) == 1 else 'these'}"
            )
        rest = len(countries) - len(clear) - len(mirrors)
        if not clear:
            parts.append(self.say_nothing(None))
        elif rest:
            parts.append(f"no clear change for {rest} other {'country' if rest == 1 else 'countries'}")
        p_values = [each.p_adjusted for each in countries if each.p_adjusted is not None]
        largest = max(clear, key=lambda each: abs(each.value), default=None)
        yield self.make_change(
            "detail",
            f"{self.row.method}: {'; '.join(parts)} (Δ against the mean of countries, in points).",
            NO_ESTIMATE if largest is None else largest.change,
            UNIT,
            question="For whom does the method change the classifier?",
            evidence=grade_evidence(min(p_values, default=None)),
            subject=largest and largest.place,
            code=largest and largest.code,
        )

    def list_cautions(self) -> Iterator[Caution]:
        """What a method makes worse, and what it leaves as it was."""
        row = self.row
        ratio, standardised = _value(row.spread_ratio) or 1.0, _value(row.standardised_ratio)
        if ratio < LEAST_SHRINKAGE <= standardised and is_marked(row.spread_change) and not row.helps:
            yield Caution(
                f"{row.method} shrinks all probabilities towards each other: the spread falls to {100 * ratio:.0f} % "
                f"in points, but in units of the differences between texts it is {100 * standardised:.0f} % of what it "
                "was. "
                "Softer probabilities are not fairer.",
                "Look at flips, not at the spread.",
            )
        flips, accuracy = row.flips_change, row.accuracy_change
        if rises(flips):
            sentence = f"{row.method} makes more labels flip with the name: {flips.value or 0:+.1f} {SHARE_UNIT}."
            yield Caution(sentence, "Do not use it.")
        if accuracy is not None and falls(accuracy):
            yield Caution(
                f"{row.method} loses {abs(accuracy.value or 0):.1f} {SHARE_UNIT} of accuracy: part of what it removes "
                "is what the labels depend on.",
                "Check whether names carry the label in your task.",
                measure_size(accuracy, SHARE_UNIT),
            )
        mean = _value(row.recall)
        leaks = sorted((each, name) for name, each in self.recalls.items() if each < max(LOW_RECALL, mean - RECALL_GAP))
        if leaks:  # these names still reach the model
            names = [f"{name} ({100 * recall:.0f} %)" for recall, name in leaks]
            yield Caution(
                f"{row.method} leaks: {self.result.settings.finder} marks {100 * mean:.0f} % of names, and too few of "
                f"{list_first(names)}. Names that it misses reach the model.",
                "Use a better --finder, or a method that is trained.",
            )

    def recommend(self) -> Finding:
        result, rows, has_spread = self.result, self.result.mitigated, self.result.original.has_spread
        choice = next((row for row in rows if row.method == result.recommended), None)
        costs = list(_say_costly(rows))
        if choice is not None:
            sentence = f"Take {choice.method} ({METHODS[choice.method.partition(':')[0]]})."
            if cheap := [row.method for row in rows if row.helps and not row.loses_quality and row is not choice]:
                verb = "helps" if len(cheap) == 1 else "help"
                sentence += f" {list_first(cheap)} {verb} too, with more spread left or at a higher cost."
            sentence += "".join(f" {cost}." for cost in costs)
        elif costs:
            sentence = f"No method is worth taking: {'; '.join(costs)}."
        elif all(row.spread_change.p is None for row in rows):
            sentence = "No method can be recommended: there are too few texts to test one."
        elif not has_spread:
            sentence = "There is no spread to mitigate: before, it was no more than noise."
        else:
            sentence = "Nothing helped: no method clearly lowers the spread between countries."
        by_flips = choice is not None and choice.helps and not has_spread
        fall = "flips, no clear rise of the spread" if by_flips else "the standardised spread, no rise of flips"
        finding = self.make_plain(
            "detail",
            sentence,
            f"The choice is by rule: a clear fall of {fall}, at most one point of accuracy, then the cheaper method.",
            "See the chart of bias against quality on the page.",
            question=CHOICE_QUESTION,
        )
        # The choice rests on what is known of the method.
        return replace(finding, measure=result.recommended, evidence="none" if choice is None else choice.evidence)

    def doubt_spread(self) -> Iterator[Finding]:
        original = self.result.original
        if original.spread.low and not original.exceeds_noise:
            yield self.make_plain(
                "caution",
                f"Before mitigation, equal countries would show a spread of {format_number(original.noise or 0)} "
                "points too, since each has other names: the spread may come from single names rather than from "
                "countries.",
                LIMITS["caution"],
                "Test more names: --draws 50, or countries with more names.",
            )


def _say(number: HasInterval) -> str:
    return format_number(number.value or 0)


def _value(number: HasInterval | None) -> float:
    return 0.0 if number is None else number.value or 0.0


def _say_cost(row: MethodMeasures) -> str:
    accuracy = row.accuracy_change
    # Times differ from run to run, and findings are saved: the table on the terminal has them.
    work = f"the model reads {row.texts_per_text:.1f} texts for each text"
    if accuracy is None:
        return f"Cost: {work}; accuracy unknown: no true labels given."
    verdict = "clearly lower" if falls(accuracy) else "clearly higher" if is_marked(accuracy) else "no clear change"
    bounds = f"{format_number(accuracy.low or 0)} to {format_number(accuracy.high or 0)}"
    lost = f"{accuracy.value or 0:+.1f} {SHARE_UNIT} ({bounds}; {verdict})"
    return f"Cost: accuracy {lost}, macro-F1 {_value(row.macro_f1_change):+.1f}; {work}."


def _say_costly(rows: Sequence[MethodMeasures]) -> Iterator[str]:
    """The methods that help, but lose accuracy: clearly, or perhaps."""
    costly = [row for row in rows if row.helps and row.loses_quality]
    if clear := [row.method for row in costly if falls(row.accuracy_change)]:
        verbs = ("helps", "costs") if len(clear) == 1 else ("help", "cost")
        yield f"{list_first(clear)} {verbs[0]}, but {verbs[1]} accuracy"
    if doubtful := [row.method for row in costly if row.method not in clear]:
        verb = "helps" if len(doubtful) == 1 else "help"
        yield f"{list_first(doubtful)} {verb}, but may cost more than a point of accuracy"


class LanguageModelFindings(MethodFindings):
    question = "Does the method lower HERB's balanced score on held-out words, regions and templates?"

    def limit(self, role: Role, effect: CountryChange | None) -> str:
        return "The score is of held-out words, regions and templates; it does not cover what the model generates."

    def next_step(self, role: Role, effect: CountryChange | None) -> str:
        return "Try another strength: --method align:0.25,align:0.5,align:1"

    def answer(self) -> Finding:
        row, change = self.row, self.row.score_change
        return self.make_change(
            "overall",
            f"{row.method}: balanced score {_say(self.result.language_models[0].score)} to {_say(row.score)}"
            f"{': it rises' if rises(change) else ''} (change {format_evidence(change, change.p_adjusted)}). Cost: "
            f"{_say_loss(row)}; {100 * _value(row.word_variance_ratio):.0f} % of the variance over words is left.",
            change,
            "score",
            evidence=row.evidence,
            direction="higher" if rises(change) else "lower" if row.helps else None,
        )

    def list_cautions(self) -> Iterator[Caution]:
        row, left = self.row, _value(self.row.word_variance_ratio)
        sentences = {
            f"{row.method} raises the score: do not use it.": rises(row.score_change),
            f"{row.method} makes the model say much the same of everything: only {100 * left:.0f} % of the variance "
            "over words is left. That is no fairness.": not row.keeps_words,
            f"{row.method} makes the model forget: {_say_loss(row)}.": row.forgets,
        }
        yield from (Caution(each, self.next_step("caution", None)) for each, is_so in sentences.items() if is_so)

    def recommend(self) -> Finding:
        rows = self.result.language_models[1:]
        choice = next((row for row in rows if row.method == self.result.recommended), None)
        if choice is not None:
            sentence = f"Take {choice.method}: it lowers the score. Cost: {_say_loss(choice)}."
        elif any(row.helps for row in rows):
            sentence = (
                "No method is worth taking: the score falls, but perplexity rises by more than "
                f"{MOST_PERPLEXITY_RISE:.0f} % or more than {MOST_CAPITALS_LOST:.0f} percentage points of capitals are "
                "forgotten."
            )
        else:
            sentence = "Nothing helped: no method clearly lowers the score on held-out words and regions."
        return self.make_change("detail", sentence, NO_ESTIMATE, "score", question=CHOICE_QUESTION, measure=None)


def _say_loss(row: LanguageModelMeasures) -> str:
    perplexity, capitals = _value(row.perplexity_change), _value(row.capitals_change)
    return f"perplexity {perplexity:+.1f} %, capitals known {capitals:+.1f} percentage points"
