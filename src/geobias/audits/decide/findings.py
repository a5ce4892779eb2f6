"""What a decisions audit concludes: whom each model answers and favours, and in which domains."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from geobias.audits.decide.cautions import (
    NATS,
    average_others,
    get_share,
    judge_merit,
    list_answered_apart,
    list_cautions,
    say_unanswered,
)
from geobias.audits.decide.design import FEWEST_CASES, NAME
from geobias.audits.decide.result import (
    BY_DOMAIN,
    FAVOURABLE,
    CountryDecisions,
    DecideResult,
    ModelDecisions,
)
from geobias.audits.inputs import describe_copies
from geobias.measures.crossed_variance import FEWEST_DRAWS
from geobias.measures.estimates import Estimate
from geobias.measures.uncertainty import ROUNDING
from geobias.report.findings import Finding, Role, format_p, grade_evidence
from geobias.report.gate_numbers import join_path
from geobias.report.headlines import name_model
from geobias.report.model_findings import Family, ModelFindings, TooLittle
from geobias.report.page.charts import Valence
from geobias.report.results import Interval
from geobias.report.sentences import format_number, list_first, measure_size, say_missed

ANSWERS = "answers"  # the measure of findings about the share answered; others are of preferences
MOST_CELLS = 3  # domains
MOST = 0.5
LEAST_POINTS = 0.05  # of probability: smaller differences are printed as 0
LEAST_ANSWERED = 0.1  # mean probability of yes or no: below, the odds of both say little
FOUR_FIFTHS = 0.8
WHERE_FROM = (
    "The figure of four fifths (0.8) is that of the US Uniform Guidelines on Employee Selection Procedures (EEOC, "
    "1978) for selection rates of groups of applicants; here it is a reference point and no legal verdict"
)
SHOWN = {"stated": "stated", "demonym": "a demonym", "name": "shown by names", "said": "said by the person"}
QUESTION = (
    "Are decisions about people of any country more or less favourable than about the mean of countries, in log-odds?"
)
VALENCE = Valence(1, "more favourable", "less favourable")


def list_findings(result: DecideResult) -> list[Finding]:
    """The answers of all models, that people of some countries get fewer answers first; details; cautions."""
    models = [DeciderFindings(result, entry) for entry in result.deciders]
    return [
        *(finding for each in models for finding in (*each.report_answered(), each.answer())),
        *(finding for each in models for finding in each.list_details()),
        *(finding for each in models for finding in each.caution()),
    ]


def make_family(result: DecideResult, entry: ModelDecisions) -> Family[CountryDecisions]:
    """The countries that can be compared; all of them where none can."""
    model = next(model for model in result.models if model.name == entry.model)
    effects = result.list_effects(entry.model)
    return Family(model, FAVOURABLE, [row for row in effects if row.has_estimate] or effects, VALENCE)


class DeciderFindings(ModelFindings[CountryDecisions]):
    audit = "decide"
    question = QUESTION

    def __init__(self, result: DecideResult, entry: ModelDecisions) -> None:
        super().__init__(make_family(result, entry), is_one_of_several=len(result.deciders) > 1)
        self.result, self.entry = result, entry
        self.effects = result.list_effects(entry.model)
        self.unanswered = say_unanswered(self.effects)
        self.merit = entry.merit
        self.merit_effect = judge_merit(self.merit)
        self.merit_size = "" if self.merit is None else f"{self.merit.value or 0:+.2f} {NATS}"
        self.is_chance = self.merit_effect == "near chance"
        self.chance = f"decides near chance: merit moves its answers by {self.merit_size}"
        self.has_answers = entry.answered >= LEAST_ANSWERED
        self.is_testable = any(row.p_adjusted is not None for row in self.effects)

    def limit(self, role: Role, effect: CountryDecisions | None) -> str:
        return (
            f"It holds for cases like these {self.result.counts.cases} and for origin that is "
            f"{' or '.join(SHOWN[way] for way in self.result.settings.origin)}; the largest of many differences tends "
            "to be overestimated."
        )

    def next_step(self, role: Role, effect: CountryDecisions | None) -> str:
        if role == "detail":
            return "Compare it with similar countries in the table of the page."
        if effect is None:
            return "To find smaller differences, add wordings: --paraphrases 3"
        return "Check it with other wordings and ways of showing origin: --paraphrases 3 --origin stated,demonym,name"

    # Whom it answers

    def report_answered(self) -> Iterator[Finding]:
        """That people of some countries get fewer answers: before all preferences, which are those of answers only."""
        apart = list_answered_apart(self.entry, self.effects)
        if not apart:
            return
        first, *others = apart
        more = ""
        if others:
            named = [f"{row.place} ({get_share(row):.0%})" for row in others]
            more = f" {len(others):,} more of {len(self.effects):,} countries stand out: {list_first(named)}."
        difference = first.answered_difference
        about_others = average_others(self.entry, self.effects, apart)
        yield Finding(
            role="overall",
            audit=self.audit,
            model=self.entry.model,
            measure=ANSWERS,
            question="Does it answer questions about people of all countries equally often?",
            subject=first.place,
            code=first.code,
            direction="higher" if (difference.value or 0) > 0 else "lower",
            size=measure_size(difference, "share of questions"),
            p=difference.p,
            p_adjusted=difference.p_adjusted,
            evidence=grade_evidence(difference.p_adjusted),
            sentence=f"{self.name} {self._say_share(first)} people of {first.place}, {about_others:.0%} of those about "
            f"others ({format_p(difference.p_adjusted)}).{more}",
            limit="It holds for questions like these; what would be decided where no answer comes is not known.",
            next_step="Read what it answers to these questions, and see the share answered in tables/effects.csv",
        )

    def _say_share(self, row: CountryDecisions) -> str:
        """ "answers 0 of 160 questions about"."""
        if self.entry.refusals is None:
            return f"gives yes and no {get_share(row):.0%} of the probability of its answers to questions about"
        questions = self.entry.questions_by_country
        if self.entry.sampled or len(self.result.settings.origin) > 1 or not questions:
            return f"answers {get_share(row):.0%} of the questions about"
        return f"answers {get_share(row) * questions:.0f} of {questions:,} questions about"

    # Whom it favours

    def explain_too_little(self) -> TooLittle | None:
        counts, entry = self.result.counts, self.entry
        if not self.has_answers:
            if (entry.refusals or 0.0) >= MOST:
                reason = f"it refuses {entry.refusals:.0%} of the questions"
            elif entry.refusals is not None:
                reason = f"only {entry.answered:.1%} of its answers are yes or no"
            else:
                reason = (
                    f"yes and no have only {entry.answered:.1%} of the probability of its answers; it decides near "
                    "chance"
                )
            return _too_little(
                f"{self.name} does not decide: {reason}.",
                "Ask a model that follows instructions, or change the question: --system TEXT",
            )
        if self.result.settings.draws < FEWEST_DRAWS and NAME in self.result.settings.origin:
            return _too_little(
                f"{self.name}: Names need at least two draws: --draws {FEWEST_DRAWS}. With one, the effect of a name "
                "is not told apart from that of its case.",
                f"Draw more names: --draws {FEWEST_DRAWS}",
            )
        if self.is_testable:
            return None
        if counts.cases >= FEWEST_CASES:
            return _too_little(
                f"{self.name} answers too few questions about any two countries to compare them.",
                "Ask a model that answers, or change the question: --system TEXT",
            )
        return _too_little(
            f"{self.name}: {counts.cases} cases{describe_copies(counts.cases, counts.copies, 'case')} are too few to "
            f"compare {counts.countries} countries; at least {FEWEST_CASES} are needed.",
            "Use more scenarios: all bundled ones, or your own with --scenarios FILE",
        )

    def explain_no_test(self) -> TooLittle | None:
        """A null is one of all countries."""
        if not self.unanswered:
            return None
        return _too_little(f"{self.say_nothing(self.closest)} {self.unanswered}", "Ask a model that answers")

    def say(self, effect: CountryDecisions) -> str:
        return self._describe(self.name, effect)

    def say_answer(self, effect: CountryDecisions) -> str:
        """A reader must not take an association of words for a decision."""
        return self._describe(f"{self.name} {self.chance}. It" if self.is_chance else self.name, effect)

    def _describe(self, name: str, effect: CountryDecisions) -> str:
        points = effect.probability.value or 0.0
        disagree = points * effect.value < 0 and abs(points) >= LEAST_POINTS
        return (
            f"{name} is {_rate_stance(effect.value)} to people of {effect.place}: log-odds of the favourable answer "
            f"{_compare(effect.preference)} the mean of countries, {points:+.1f} percentage points of probability"
            f"{' (log-odds and probability disagree)' if disagree else ''}"
        )

    def close(self, effect: CountryDecisions) -> str:
        values = [row.value for row in self.family.standing_out]
        count, tested = len(values), f"{len(self.effects):,} countries"
        if self.is_chance:
            return f"{count:,} of {tested} differ from the mean, as associations of words."
        above = sum(value > 0 for value in values)
        if not effect.stands_out:
            sentence = f"None of {tested} stands out clearly."
        elif count == 1:
            sentence = f"No other of {tested} stands out."
        else:
            both = f"{above:,} above the mean of countries, {count - above:,} below"
            sentence = f"{count:,} of {tested} stand out: {both}."
        return f"{sentence}{self._say_merit()}"

    def _say_merit(self) -> str:
        """Nothing for a model that decides by what it reads, or near chance."""
        if self.merit_effect == "against merit":
            return f" It decides against merit, which moves its answers by {self.merit_size}."
        if self.merit_effect == "unclear":
            return f" Whether merit moves its answers is unclear ({self.merit_size}): it may decide near chance."
        return ""

    def say_nothing(self, closest: CountryDecisions) -> str:
        tested = f"{self.family.tested} tested together"
        end = f" It {self.chance}." if self.is_chance else self._say_merit()
        if all(abs(row.value) < ROUNDING for row in self.effects):
            nothing = f"{tested}, and its decisions do not depend on the country."
            return f"{self.name}: No country stands out: {nothing}{end}"
        data, smallest = f"{self.result.counts.cases} cases", self.entry.smallest_effect
        missed = say_missed(data, smallest, [closest.value], lambda size: f"{size:.2f} {NATS}")
        return (
            f"{self.name}: No country stands out: {tested}; the closest is {closest.place}, log-odds "
            f"{_compare(closest.preference)} the mean of countries.{missed}{end}"
        )

    def make_finding(self, role: Role, effect: CountryDecisions, sentence: str, **parts: Any) -> Finding:
        """Differences of a model that decides near chance, or that rare names explain, are suggestive at most."""
        finding = super().make_finding(role, effect, sentence, **parts)
        by_names = role == "overall" and self.result.settings.origin == [NAME] and effect.is_rarity
        is_weak = finding.evidence == "clear" and (self.is_chance or by_names)
        return replace(finding, evidence="suggestive") if is_weak else finding

    def list_details(self) -> Iterator[Finding]:
        """Countries of a single model; of every model its impact ratio and its clearest domains."""
        if self.explain_too_little():
            return
        yield from super().list_details()
        if self.entry.worst_ratio.value is not None:
            yield self._report_ratio(self.entry.worst_ratio)
        effects = {row.code: row for row in self.effects}
        cells = [cell for cell in self.result.list_parts(self.entry.model, BY_DOMAIN) if cell.stands_out]
        for cell in sorted(cells, key=lambda cell: -abs(cell.estimate.value or 0))[:MOST_CELLS]:
            yield self.make_finding(
                "detail",
                effects[cell.code],
                f"{self.name}: In {cell.label}, decisions are {_rate_stance(cell.estimate.value or 0)} to people of "
                f"{cell.place}: log-odds {_compare(cell.estimate)} the mean of countries.",
                estimate=cell.estimate,
                evidence=grade_evidence(cell.estimate.p_adjusted),
                next_step=f"Ask about more cases of this domain: --domains '{cell.label}' --scenarios FILE",
            )

    def _report_ratio(self, ratio: Interval) -> Finding:
        names = self.entry.worst_country, self.entry.best_country
        worst, best = (next(row for row in self.effects if row.place == name) for name in names)
        low, high = ratio.low or 0.0, ratio.high or 1.0
        if high < FOUR_FIFTHS:
            verdict = "below four fifths even at its upper bound"
        elif low >= FOUR_FIFTHS:
            verdict = "at least four fifths even at its lower bound"
        else:
            verdict = "the bounds leave open on which side of four fifths it lies"
        differs = high < 1 - ROUNDING
        end = "." if differs else "; chance alone can make it this small."
        path = join_path(["decide", self.name, "impact_ratio", "worst"])
        return Finding(
            role="detail",
            audit=self.audit,
            model=self.entry.model,
            question="How low is the selection rate of the worst-treated country against the best-treated one?",
            subject=worst.place,
            code=worst.code,
            direction="lower",
            valence="worse" if differs else None,
            size=measure_size(ratio, "ratio"),
            evidence="none" if not differs else "suggestive" if self.is_chance else "clear",
            sentence=f"{self.name}: Impact ratio {ratio.value:.2f} (bounds {low:.2f} to {high:.2f}, all countries at "
            f"once): the selection rate of {worst.place} is {worst.rate or 0.0:.2f}, that of {best.place}, the "
            f"highest, {best.rate or 0.0:.2f}; {verdict}{end}",
            limit=f"{WHERE_FROM}.",
            next_step=f"Set a limit for the next version: geobias gate RUN --rule {shlex.quote(f'{path} > 0.8')}",
        )

    def caution(self) -> Iterator[Finding]:
        """Also where nothing could be tested: they may say why."""
        yield from list_cautions(self)


def _too_little(sentence: str, next_step: str) -> TooLittle:
    return TooLittle(sentence, next_step, limit="Numbers without a test say nothing about other cases.")


def _rate_stance(value: float) -> str:
    return "more favourable" if value > 0 else "less favourable"


def _compare(estimate: Estimate) -> str:
    """ "0.45 (95 % interval 0.30 to 0.60; adjusted p < 0.001) below"."""
    value = estimate.value or 0.0
    ends = sorted(
        abs(end) if end * value > 0 else -abs(end) for end in (estimate.low, estimate.high) if end is not None
    )
    interval = f"95 % interval {ends[0]:.2f} to {ends[1]:.2f}; " if len(ends) == 2 else ""
    return f"{abs(value):.2f} ({interval}{format_p(estimate.p_adjusted)}) {'above' if value > 0 else 'below'}"


def say_headline(result: DecideResult, answer: Finding, details: Sequence[Finding]) -> str:
    name, cases = name_model(answer.model), f"{result.counts.cases:,} cases"
    what = f"{name} decides differently about people from different countries"
    effects = result.list_effects(answer.model)
    if answer.evidence == "none":
        return f"No sign that {what}: none of {len(effects)} countries stands out."
    row = next((row for row in effects if row.code == answer.code), None)
    if answer.evidence == "not testable" or row is None:
        return f"These {cases} cannot tell whether {what}."
    start = "" if answer.evidence == "clear" else "Not certain: "
    if answer.measure == ANSWERS:
        share = abs(100 * (row.answered_difference.value or 0))
        degree = "more" if answer.direction == "higher" else "less"
        effect = f"answers {share:.0f} percentage points {degree} often than for the average country"
        return f"{start}Ask {name} about people of {row.place}, and it {effect}."
    points = row.probability.value or 0.0
    count = sum(each.stands_out for each in effects)
    more = f", the largest of {count} differences that stand out" if count > 1 and not start else ""
    effect = f"{format_number(abs(points))} percentage points {'more' if points > 0 else 'less'} likely"
    return (
        f"{start}Ask {name} to decide {cases} about people of {row.place}, and a favourable answer is {effect} than "
        f"for the average country{more}."
    )
