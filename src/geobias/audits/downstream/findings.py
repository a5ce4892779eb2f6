"""What a downstream audit concludes: which places move a classifier's answers, beyond what any prefix does."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import numpy as np

from geobias.audits.downstream.answers import list_examples, write_prefix
from geobias.audits.downstream.measure import count_tests
from geobias.audits.downstream.result import ClassifierReading, DownstreamResult, PrefixEffect, WordingEffect
from geobias.audits.inputs import describe_copies
from geobias.measures.estimates import FEWEST_TEXTS_SHOWN, SIGNIFICANT
from geobias.report.findings import ExampleText, Finding, Role, format_p
from geobias.report.model_findings import (
    CITIES,
    COUNTRIES,
    MOST_DETAILS,
    Caution,
    Family,
    ModelFindings,
    TooLittle,
    conclude,
    say_difference,
    say_number,
)
from geobias.report.page.charts import Valence
from geobias.report.sentences import measure_size, say_missed
from geobias.report.tables import is_marked, listed

MOSTLY = 0.5  # of the variance between invented places
MOST_NAMED = 4  # places that share a word
LARGE_CONTROL = 0.05  # a control that moves the probability this much is no small matter
SMALLEST_SHOWN = 0.0001  # smaller differences would be written as 0
WORDING = "Only one wording of the prefix was used; others may act differently."
STANCES = {1: "is kinder", -1: "is harsher", 0: "answers differently"}
TRAITS = {  # of names, as sentences call them, and what one more of it is
    "characters": ("the length", "character"),
    "tokens": ("the number of tokens", "token"),
    "words": ("the number of words", "word"),
    "several words": ("the number of words", "name of several words"),
}


def list_findings(result: DownstreamResult) -> list[Finding]:
    return conclude(ClassifierFindings(result, entry) for entry in result.classifiers)


def make_family(result: DownstreamResult, entry: ClassifierReading) -> Family[PrefixEffect]:
    """The places of one classifier, for the class that is shown."""
    return Family(
        next(model for model in result.models if model.name == entry.model),
        entry.shown,
        result.list_effects(entry.model, entry.shown),
        Valence(entry.tone, f"{entry.shown} likelier", f"{entry.shown} less likely"),
        COUNTRIES if result.is_mapped else CITIES,
        prefers_states=result.is_mapped and result.settings.countries == "all",
    )


class ClassifierFindings(ModelFindings[PrefixEffect]):
    audit = "downstream"

    def __init__(self, result: DownstreamResult, entry: ClassifierReading) -> None:
        super().__init__(make_family(result, entry), is_one_of_several=len(result.classifiers) > 1)
        self.result, self.entry, self.shown = result, entry, f"p({entry.shown})"
        self.control = result.find_control(entry.model, entry.shown)
        self.texts = result.counts.texts

    @property
    def question(self) -> str:
        prefix = self.result.settings.prefixes[0]
        return f"Does “{prefix}” change {self.shown} more than an invented place does, and differently by place?"

    def limit(self, role: Role, effect: PrefixEffect | None) -> str:
        wordings, places = self.result.wordings, len(self.family.effects)
        if role == "overall" and effect is not None and places > 1:
            number = "One wording" if wordings < 2 else f"{wordings} wordings"
            return f"{number}; the largest of {places:,} differences tends to be overestimated."
        return WORDING if wordings < 2 else f"{wordings} wordings of the prefix were used; others may act differently."

    def next_step(self, role: Role, effect: PrefixEffect | None) -> str:
        if effect is None:
            return f"Use more texts, and your own: {self._command}"
        if role == "detail":
            return f"Compare {effect.title} with similar places in the table of the page."
        return "Read the examples on the page, then use your own texts (--texts FILE)."

    def explain_too_little(self) -> TooLittle | None:
        return self._require(FEWEST_TEXTS_SHOWN)

    def explain_no_test(self) -> TooLittle | None:
        """With fewer texts no single place can stand out: p is at least 0.5 ** (texts - 1), then adjusted."""
        tests = count_tests(len(self.family.effects), len(self.entry.labels), multi_label=self.entry.multi_label)
        return self._require(2 + int(np.floor(np.log2(tests / SIGNIFICANT))))

    def _require(self, texts: int) -> TooLittle | None:
        needed = max(FEWEST_TEXTS_SHOWN, texts)
        if self.texts >= needed:
            return None
        copies = describe_copies(self.texts, self.result.counts.copies)
        return TooLittle(
            f"{self.name}: {self.texts} texts{copies} are too few to single out one of {self.family.tested}; at least "
            f"{needed} are needed.",
            f"Use at least {max(needed, 30)} texts: {self._command}",
        )

    def say(self, effect: PrefixEffect) -> str:
        """ "judge is harsher after “I am from Mexico.”: p(negative) is 0.18 (...) higher than after ..."."""
        stance = STANCES[int(np.sign(self.family.valence.sign * effect.value))]
        prefix = write_prefix(self.result, effect.in_sentence or effect.place)
        difference = f"{self.shown} is {say_difference(effect.estimate)} than after invented places with such names"
        return f"{self.name} {stance} after “{prefix}”: {difference}"

    def say_more(self, effect: PrefixEffect) -> str:
        changes = f"{effect.changes:,} of {self.texts:,} predictions change to or from {self.entry.shown}"
        return f"; {changes} ({self.control.changes:,} after the control)"

    def close(self, effect: PrefixEffect) -> str:
        if effect.shared_word:
            return self._share_word(effect.shared_word)
        if effect.is_doubted and self.result.wordings < 2:
            return "It rests on one wording: repeat it with several (--prefix and --control, once for each)."
        return super().close(effect)

    def say_nothing(self, closest: PrefixEffect) -> str:
        noun, tested = self.family.nouns[0], self.family.tested
        return f"{self.name}: No {noun} stands out: {tested} tested; {self._say_closest(closest)}.{self._say_missed()}"

    def _say_closest(self, effect: PrefixEffect) -> str:
        if explained := self._explain_names():
            return explained.removesuffix(".")
        if not effect.value:
            return f"no {self.family.nouns[0]} moves {self.shown}"
        if (shift := self._find_common_shift()) is not None:
            return f"most of them move {self.shown} alike, by {say_number(shift)} against the control"
        difference = f"{self.shown} {say_difference(effect.estimate)} than after invented places"
        return f"the closest is {effect.title}, {difference} ({format_p(effect.p_adjusted)})"

    def _say_missed(self) -> str:
        detectable, sizes = self.entry.detectable_difference or 0.0, [effect.value for effect in self.family.effects]
        if detectable < SMALLEST_SHOWN:
            return ""
        return say_missed(f"{self.texts:,} texts", detectable, sizes, say_number)

    def list_examples(self, effect: PrefixEffect) -> list[ExampleText]:
        return list_examples(self.result, self.entry.model, effect.code, effect.in_sentence or effect.place)

    # A place that differs after one wording alone

    def answer(self) -> Finding:
        first, after_one = self.family.first, self._after_one_wording
        if self.explain_too_little() is None and after_one and (first in after_one or first.evidence == "none"):
            return self._report_wording("overall", after_one[0])
        return super().answer()

    def list_more_details(self) -> Iterator[Finding]:
        answer = self.answer().code
        others = [effect for effect in self._after_one_wording if effect.code != answer]
        yield from (self._report_wording("detail", effect) for effect in others[:MOST_DETAILS])

    @cached_property
    def _wording_effects(self) -> dict[str, WordingEffect]:
        """By place, the largest one."""
        key = self.entry.model, self.entry.shown
        rows = [row for row in self.result.wording_effects if (row.model, row.label) == key]
        return {row.code: row for row in reversed(rows)}

    @cached_property
    def _after_one_wording(self) -> list[PrefixEffect]:
        """Places that differ after one wording, while over all of them they are not clear; the largest first."""
        effects = [
            effect
            for effect in self.family.effects
            if effect.code in self._wording_effects and not (effect.stands_out or effect.shared_word)
        ]
        return self.family.sort_by_size(effects) if self.result.wordings > 1 else []

    def _report_wording(self, role: Role, effect: PrefixEffect) -> Finding:
        """Suggestive, since other wordings may act differently."""
        row = self._wording_effects[effect.code or ""]
        in_sentence = effect.in_sentence or effect.place
        others = len(self.result.settings.prefixes) - 1
        rest = f"not after the other {'wording' if others == 1 else f'{others} wordings'}"
        if row.also:
            sentences = (write_prefix(self.result, in_sentence, k - 1) for k in row.also)
            rest = f"also after {listed([f'“{each}”' for each in sentences])}"
        return self.make_finding(
            role,
            effect,
            f"{self.name}: After “{write_prefix(self.result, in_sentence, row.wording - 1)}”, {self.shown} is "
            f"{say_difference(row.estimate)} than after the same sentence with other places ({row.texts:,} texts, "
            f"{format_p(row.estimate.p_adjusted)}); {rest}.",
            estimate=row.estimate,
            evidence="suggestive",
            limit=f"Over all wordings {effect.title} does not stand out. {self.limit('detail', effect)}",
            next_step="Read the examples on the page, and repeat it with sentences like this one (--prefix).",
            examples=list_examples(self.result, self.entry.model, effect.code, in_sentence, row.wording - 1),
        )

    # What may be an artefact

    def list_cautions(self) -> Iterator[Caution]:
        explained, standing_out = self._explain_names(), self.family.standing_out
        if standing_out and explained and len(self._differ_by_name) > len(standing_out):
            yield Caution(
                f"{self.name}: {explained}", "Read the differences from invented places, whose names are as long."
            )
        for word in dict.fromkeys(effect.shared_word for effect in self.family.effects if effect.shared_word):
            yield Caution(
                f"{self.name}: {self._share_word(word)}",
                f"Test the word by itself, such as --prefix with “{word}” in another place.",
            )
        control = self.control.mean_difference
        if is_marked(control) and abs(control.value or 0) >= LARGE_CONTROL:
            yield Caution(
                f"{self.name}: a control, which names no place, makes {self.shown} {say_difference(control)}: any "
                "prefix moves this classifier.",
                "Read differences from the control, not from the original texts.",
                measure_size(control, PrefixEffect.unit),
            )
        if self.entry.prefixed_texts_cut:
            yield Caution(
                f"{self.name}: {self.entry.prefixed_texts_cut:,} of {self.entry.prefixed_texts:,} prefixed texts were "
                "truncated to the model's maximum length, so part of a difference may be the missing end.",
                "Repeat it with shorter texts.",
            )

    def _share_word(self, word: str) -> str:
        names = [effect.title for effect in self.family.effects if effect.shared_word == word]
        shown = listed(names) if len(names) <= MOST_NAMED else f"{', '.join(names[:MOST_NAMED])} and others"
        return (
            f"{shown} {'share' if len(names) > 1 else 'has'} the word “{word}”, and places with it differ alike: the "
            "word may be the reason, not the place."
        )

    @property
    def _differ_by_name(self) -> list[PrefixEffect]:
        return [effect for effect in self.family.effects if effect.differs_by_name]

    def _explain_names(self) -> str:
        """How many places differ by their names alone, and which trait of names it is; empty where none does."""
        number, key = len(self._differ_by_name), (self.entry.model, self.entry.shown)
        rows = {row.trait: row for row in self.result.name_traits if (row.model, row.label) == key}
        if not number or not rows:
            return ""
        any_row = next(iter(rows.values()))
        marked = [trait for trait in TRAITS if trait in rows and is_marked(rows[trait].slope)]
        if marked and any_row.explained >= MOSTLY:
            trait = min(marked, key=lambda name: rows[name].slope.p or 0.0)
            name, unit = TRAITS[trait]
            slope = say_difference(rows[trait].slope)
            reason = f"{name} of their names explains it: {slope} for each {unit}, invented places included"
        else:
            spread = say_number(any_row.spread)
            reason = f"the spelling of names does as much to invented places (standard deviation {spread})"
        return f"{self.family.count(number)} differ{'' if number > 1 else 's'} from the mean, but {reason}."

    def _find_common_shift(self) -> float | None:
        """The mean difference from the control, where most places differ from it in the same direction."""
        estimates = [effect.against_control for effect in self.family.effects if effect.against_control]
        marked = [each.value or 0.0 for each in estimates if is_marked(each)]
        same = max(sum(value > 0 for value in marked), sum(value < 0 for value in marked))
        if len(estimates) < 2 or 2 * same <= len(estimates):
            return None
        return float(np.mean([each.value or 0.0 for each in estimates]))

    @property
    def _command(self) -> str:
        return f"geobias downstream {self.name} --texts FILE"
