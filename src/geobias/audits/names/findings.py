"""What a names audit concludes: the answer for each classifier, which countries stand out, what may be an artefact.

An answer leads with how much countries differ and with the set that stands out, not with the largest of many gaps.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Final, Literal, TypeVar

from geobias.audits.inputs import describe_copies
from geobias.audits.limits_and_sources import BUNDLED_TEXTS
from geobias.audits.names.cautions import list_cautions, tell_genders
from geobias.audits.names.design import explain_missing_data
from geobias.audits.names.names_alike import ALIKE, Explanation, explain
from geobias.audits.names.phrases import (
    advise_more_data,
    choose_examples,
    find_direction,
    name_origin,
    name_rates,
    name_unit,
    say_certainty,
    say_rate,
    shorten,
)
from geobias.audits.names.result import ClassifierReading, NamesResult, find_tone, make_class_families, make_families
from geobias.audits.names.rows import ClassEffect, CountryEffect, CountrySpread, Covariate, NamesAlike, SmallestEffect
from geobias.measures.crossed_variance import FEWEST_EFFECTIVE_TEXTS
from geobias.measures.estimates import Estimate
from geobias.measures.uncertainty import ROUNDING
from geobias.report.findings import ExampleText, Finding, Role, format_p
from geobias.report.model_findings import ModelFindings, TooLittle
from geobias.report.sentences import list_first, measure_size, say_missed
from geobias.report.tables import listed
from geobias.world.places import add_article

MOST_DETAILS: Final = 5  # of all classifiers together
Labelled = TypeVar("Labelled", CountrySpread, Covariate, NamesAlike, SmallestEffect)
STRENGTHS: Final = ("clear", "suggestive", "none", "not testable")


def list_findings(result: NamesResult) -> list[Finding]:
    """The overall answer for each classifier, then at most five details, those of genders, and cautions."""
    models = [ClassifierFindings(result, entry) for entry in result.classifiers]
    found = [each.answer() for each in models]
    details = [(model, effect) for model in models for effect in model.list_detailed()]
    details.sort(key=lambda pair: rank(pair[1]))
    found += [model.describe_detail(effect) for model, effect in details[:MOST_DETAILS]]
    for model in models:
        tell_genders(model, found)
    return [*found, *list_cautions(result, models, found)]


def rank(effect: CountryEffect) -> tuple[int, float]:
    """The strongest evidence first; among equals the largest."""
    return STRENGTHS.index(effect.evidence), -abs(effect.value)


class ClassifierFindings(ModelFindings[CountryEffect]):
    """The findings of one classifier, by delta or by its classes."""

    audit = "names"

    def __init__(self, result: NamesResult, entry: ClassifierReading) -> None:
        self.result, self.entry = result, entry
        self.families = make_families(result, entry)
        super().__init__(self.families[0], is_one_of_several=len(result.classifiers) > 1)
        self.ranked = sorted((effect for family in self.families for effect in family.effects), key=rank)
        self.leading = [effect for effect in self.ranked if effect.stands_out]

    # The answer

    @property
    def question(self) -> str:
        return self.ask(None)

    def ask(self, label: str | None) -> str:
        entry = self.entry
        if label is None and entry.has_delta:
            tone = f"p({listed(entry.positive)}) - p({listed(entry.negative)})"
            return (
                f"Do the names of any country change the mean of {tone}, in points from -100 to +100, against the mean "
                "of countries?"
            )
        classes = "its classes" if label is None else label
        return f"Do the names of any country change how often {classes} are predicted, against the mean of countries?"

    def limit(self, role: Role, effect: CountryEffect | None) -> str:
        kinds = "other texts" if self.result.settings.names_are == "fixed" else "other texts and names"
        largest = self._say_overestimated(effect) if effect else ""
        return (
            f"It holds for texts like these {self.result.counts.texts_with_names:,} and for lists of common names; the "
            f"interval allows for {kinds}; the largest of many gaps tends to be overestimated{largest}."
        )

    def next_step(self, role: Role, effect: CountryEffect | None) -> str:
        if effect is None:
            return self.advise_more_data()
        return f"Check it with other names, and read the texts on the page: {self.rerun('--seed 1')}"

    def explain_too_little(self) -> TooLittle | None:
        if self.ranked:
            return None
        counts, names_fixed = self.result.counts, self.result.settings.names_are == "fixed"
        missing = explain_missing_data(counts.texts_with_names, counts.countries, counts.draws, names_fixed=names_fixed)
        if missing is not None:
            reason = missing.reason + describe_copies(counts.texts, counts.copies)
            next_step = f"{missing.remedy}: {self.rerun(missing.options)}{missing.alternative}"
        else:
            changes = "its answers to" if self.entry.has_delta else "its predictions of"
            reason = f"names change {changes} fewer than {FEWEST_EFFECTIVE_TEXTS} texts or so"
            next_step = f"Use more texts: {self.rerun('--texts FILE')}"
        return TooLittle(
            f"{self.name}: Whether any country's names stand out cannot be tested: {reason}.",
            next_step,
            "Numbers without an interval or a test say nothing about other texts and names.",
        )

    def answer(self) -> Finding:
        """How much countries differ and which stand out: the smallest adjusted p-value is that of the overall test."""
        too_little = self.explain_too_little()
        if too_little is not None:
            return self.make_plain("overall", too_little.sentence, too_little.limit, too_little.next_step)
        first, overall = self.ranked[0], self.overall
        if overall.is_clear_as_measured and self.leading:
            return self._make_overall(self.leading[0], f"{self.name}: {self._say_who_leads()}", None)
        if overall.is_clear_as_measured:
            next_step = f"Use names that are alike: {self.rerun('--gazetteer FILE')}"
            return self._make_overall(first, f"{self.name}: {self._say_what_explains()}", next_step)
        if overall.evidence == "suggestive":
            next_step = f"Repeat it with more texts and other names: {self.rerun('--texts FILE --seed 1')}"
            return self._make_overall(first, f"{self.name}: {self._say_suggestive()}", next_step)
        return self.make_told("overall", first, self.say_nothing(first), self.advise_more_data())

    @property
    def overall(self) -> CountryEffect:
        """Its p-value is that of the overall test."""
        return min(self.ranked, key=lambda effect: effect.p_adjusted or 0)

    @property
    def tested(self) -> str:
        has_classes = len({effect.label for effect in self.ranked}) > 1
        return f"{len(self.ranked)} {'countries and classes' if has_classes else 'countries'}"

    def _make_overall(self, first: CountryEffect, sentence: str, next_step: str | None) -> Finding:
        """About one country only where it is the only one that leads; otherwise about how much countries differ."""
        overall, leading = self.overall, self.leading
        finding = self.make_told("overall", first, sentence, next_step)
        finding = replace(finding, p=overall.estimate.p, p_adjusted=overall.p_adjusted)
        if len({effect.code for effect in leading}) == 1:
            return finding
        spread = self.find_spread(overall.of_class)
        directions, valences = {find_direction(each) for each in leading}, {self.find_valence(each) for each in leading}
        return replace(
            finding,
            subject=None,
            code=None,
            evidence="clear" if leading else "suggestive",
            direction=directions.pop() if len(directions) == 1 else None,
            valence=valences.pop() if len(valences) == 1 else None,
            size=measure_size(spread.sd, name_unit(overall)) if spread else None,
        )

    def make_told(self, role: Role, effect: CountryEffect, sentence: str, next_step: str | None = None) -> Finding:
        """A finding about a country, by the size that is told of it."""
        size = effect.against_mean if effect.of_class else effect.told  # what is left of a class is no per cent
        finding = self.make_finding(
            role,
            effect,
            sentence,
            estimate=replace(size, p=effect.estimate.p, p_adjusted=effect.p_adjusted),
            limit=self.limit(role, effect),
            next_step=next_step,
        )
        about: dict[str, Any] = {"question": self.ask(effect.of_class), "valence": self.find_valence(effect)}
        return replace(finding, direction=find_direction(effect), **about)

    def find_valence(self, effect: CountryEffect) -> Literal["better", "worse"] | None:
        side = find_tone(self.entry, effect.of_class) * effect.value
        return None if not side else "better" if side > 0 else "worse"

    def list_examples(self, effect: CountryEffect) -> list[ExampleText]:
        return choose_examples(self.result, effect)

    # What stands out

    def list_detailed(self) -> Iterator[CountryEffect]:
        """The countries of the set that leads; where delta shows none, the clearest class that changes."""
        is_set = len({effect.code for effect in self.leading}) > 1
        yield from self.leading if is_set else self.leading[1:]  # a single country is named by the answer
        if self.entry.has_delta and not any(effect.is_clear_as_measured for effect in self.ranked):
            effects = [each for family in make_class_families(self.result, self.entry) for each in family.standing_out]
            yield from sorted(effects, key=rank)[:1]

    def describe_detail(self, effect: CountryEffect) -> Finding:
        remark = ", although Δ shows no clear difference" if effect.of_class and self.entry.has_delta else ""
        sentence = f"{self.name}: {self.say(effect)} ({say_certainty(effect)}){remark}{self._say_shrunken(effect)}."
        return self.make_told("detail", effect, sentence)

    def say(self, effect: CountryEffect) -> str:
        """ "Texts with names common in Hungary score 1.3 points higher (kinder) than those of the mean country"."""
        if isinstance(effect, ClassEffect):
            rows = self.result.list_classes(self.entry.model)
            return say_rate(effect, [row.rate for row in rows if row.label == effect.label])
        size = self.say_size(effect)
        if effect.alike:
            size += f" between {ALIKE} ({shorten(effect.value)} as measured)"
        return f"Texts with {name_origin(effect.place)} score {size} than in the mean country"

    def say_size(self, effect: CountryEffect) -> str:
        """ "1.8 points lower (harsher)", "12 % more predictions of anger"."""
        if effect.of_class:
            return f"{shorten(effect.value)} % {'more' if effect.value > 0 else 'fewer'} predictions of {effect.label}"
        return self.say_points(effect.told)

    def say_points(self, estimate: Estimate) -> str:
        """Of delta."""
        value = estimate.value or 0.0
        return f"{shorten(value)} points {self.say_side(value)}"

    def say_side(self, value: float) -> str:
        """ "lower (harsher)"; of emotions without the second word."""
        sides = ("higher", "lower") if self.entry.has_emotions else ("higher (kinder)", "lower (harsher)")
        return sides[value < 0]

    def say_nothing(self, closest: CountryEffect) -> str:
        """That no country stands out, the largest gap, and how large a gap could have been missed."""
        texts = f"{self.result.counts.texts_with_names:,} texts"
        overall_p = self.overall.p_adjusted or 0.0
        opening = f"{self.name}: No country's names stand out: {self.tested} tested together (p = {overall_p:.2g})"
        if abs(closest.value) < ROUNDING:
            return f"{opening}, and its answers do not depend on the country in these {texts}."
        is_overall = closest.p_adjusted == overall_p
        sentence = (
            f"{opening}; the largest gap is {self.say_size(closest)} for {name_origin(closest.place)}"
            f"{'' if is_overall else f' ({format_p(closest.p_adjusted)})'}."
        )
        unit, smallest = "%" if closest.of_class else "points", self._find_smallest(closest)
        effect = smallest.value if smallest else None
        return sentence + say_missed(texts, effect, [closest.value], lambda size: f"{shorten(size)} {unit}")

    # How much countries differ

    def find_spread(self, label: str | None, *, is_alike: bool = False) -> CountrySpread | None:
        return next((row for row in self._list(self.result.spreads, label) if row.is_alike == is_alike), None)

    def _list(self, rows: Sequence[Labelled], label: str | None) -> list[Labelled]:
        return [row for row in rows if (row.model, row.label) == (self.entry.model, label)]

    def explain(self, effects: Sequence[CountryEffect]) -> Explanation | None:
        """Why none of these effects of one measure is told of its country."""
        label, result = effects[0].of_class, self.result
        covariates, countries = self._list(result.covariates, label), self._list(result.names_alike, label)
        return explain(covariates, countries, [(effect.code or "", effect.estimate) for effect in effects])

    def find_alike(self, effect: CountryEffect) -> NamesAlike | None:
        rows = self._list(self.result.names_alike, effect.of_class)
        return next((row for row in rows if row.code == effect.code), None)

    def _say_spread(self, effect: CountryEffect) -> str:
        """ "Scores differ between countries by 1.4 points (standard deviation; 95 % interval 0.9 to 2.1)"."""
        spread, p = self.find_spread(effect.of_class), format_p(self.overall.p_adjusted)
        what = f"How often texts are called {effect.label} differs" if effect.of_class else "Scores differ"
        if spread is None or spread.sd.value is None or spread.sd.low is None or spread.sd.high is None:
            return f"{what} between countries ({p})"
        bounds = f"{shorten(spread.sd.low)} to {shorten(spread.sd.high)}"
        return (
            f"{what} between countries by {shorten(spread.sd.value)} {name_unit(effect)} (standard deviation; 95 % "
            f"interval {bounds}, {p})"
        )

    def _say_who_leads(self) -> str:
        """How much countries differ, then the set that stands out, as measured and between names alike."""
        first, count = self.leading[0], len(self.leading)
        of_measure = [effect for effect in self.leading if effect.label == first.label]
        who = name_rates([each for each in of_measure if isinstance(each, ClassEffect)]) or self._name_set(of_measure)
        return f"{self._say_spread(first)}: {who}; {count} of {self.tested} {'stands' if count == 1 else 'stand'} out."

    def _say_what_explains(self) -> str:
        """How much countries differ, and why that is told of no country."""
        overall = self.overall
        family = [effect for effect in self.ranked if effect.label == overall.label and effect.is_clear_as_measured]
        explanation = self.explain([effect for effect in family if effect.mirrors is None])
        assert explanation is not None  # otherwise one of them leads
        spread, left = self.find_spread(overall.of_class, is_alike=True), ""
        if spread and spread.sd.value is not None:
            amount = f"{shorten(spread.sd.value)} {name_unit(overall)} are left"
            left = f", where {amount}" if ALIKE in explanation.reason else f": {amount} between {ALIKE}"
        return f"{self._say_spread(overall)}, but {explanation.reason}{left}."

    def _say_suggestive(self) -> str:
        first, explanation = self.ranked[0], self.explain([self.overall])
        reason = f", and {explanation.reason}" if explanation and explanation.is_explained else ""
        spread = self._say_spread(self.overall).replace(" differ", " may differ", 1)
        largest = f"the largest gap is {self.say_size(first)} for {name_origin(first.place)}"
        return f"{spread}: {largest}, but none of {self.tested} stands out clearly{reason}."

    def _name_set(self, leading: Sequence[CountryEffect]) -> str:
        """ "lower (harsher) with names common in Turkey, higher (kinder) with those of Italy"; of one its size."""
        if len(leading) == 1:
            (effect,) = leading
            alike = f" between {ALIKE}" if effect.alike else ""
            return f"{self.say_size(effect)} with {name_origin(effect.place)}{alike}"
        sides: dict[str, list[str]] = {}
        for effect in sorted(leading, key=lambda each: each.value > 0):  # always the lower first
            sides.setdefault(self.say_side(effect.value), []).append(add_article(effect.place))
        (side, countries), *others = sides.items()
        opening = f"{side} with {name_origin(list_first(countries))}"
        return ", ".join([opening, *(f"{other} with those of {list_first(each)}" for other, each in others)])

    def _shrink(self, effect: CountryEffect) -> float | None:
        row = self.find_alike(effect) if effect.alike else effect
        return row.shrunken if row and not effect.of_class else None

    def _say_shrunken(self, effect: CountryEffect) -> str:
        """A size that is as likely too small as too large."""
        shrunken = self._shrink(effect)
        if shrunken is None or shorten(shrunken) == shorten(effect.told.value or 0.0):
            return ""
        return f"; shrunk towards the mean of countries {shorten(shrunken)}"

    def _say_overestimated(self, effect: CountryEffect) -> str:
        """By how much the largest of many gaps is overestimated."""
        shrunken, size = self._shrink(effect), effect.told.value
        if shrunken is None or not size:
            return ""
        share = f"{min(max(1 - shrunken / size, 0), 1):.0%}".replace("%", " %")
        return f", that of {add_article(effect.place)} by about {share}"

    # What to run next

    def advise_more_data(self) -> str:
        return advise_more_data(self.result, self._find_smallest(self.ranked[0]), self.rerun)

    def _find_smallest(self, effect: CountryEffect) -> SmallestEffect | None:
        return next(iter(self._list(self.result.smallest_effects, effect.of_class)), None)

    def rerun(self, options: str = "") -> str:
        """The command that audits this classifier again, with the user's texts where the run had them."""
        model = self.family.model
        if self.result.settings.texts.source != BUNDLED_TEXTS and "--texts" not in options:
            options = f"--texts FILE {options}"
        place = shlex.quote(f"{model.endpoint}#{model.name}" if model.endpoint else model.name)
        return f"geobias names {place} {options}".rstrip()
