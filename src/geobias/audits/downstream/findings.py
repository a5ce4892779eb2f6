"""What a downstream audit concludes: which places move a classifier's answers, beyond what any prefix does."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

from geobias.audits.downstream.contrasts import ClassifierContrasts, Contrast
from geobias.audits.downstream.examples import list_examples, write_prefix
from geobias.audits.downstream.gate_and_card import place_name
from geobias.audits.downstream.result import DownstreamResult
from geobias.audits.downstream.sizes import say_difference, say_size
from geobias.audits.inputs import describe_copies
from geobias.measures.estimates import FEWEST_TEXTS_SHOWN
from geobias.report.findings import Evidence, Finding, Size, format_p, grade_evidence
from geobias.report.sentences import measure_size, say_missed
from geobias.report.tables import is_marked, listed

MOSTLY = 0.5  # of the variance between invented places
MOST_NAMED = 4  # places that share a word
MOST_DETAILS = 5  # countries besides the first, of a single classifier
LARGE_CONTROL = 0.05  # a control that moves the probability this much is no small matter
SMALLEST_SHOWN = 0.0001  # smaller differences would be written as 0
UNIT = "probability"
WORDING = "Only one wording of the prefix was used; others may act differently."
TRAITS = {  # of names, as sentences call them; the first that matters is named
    "characters": "the length",
    "tokens": "the number of tokens",
    "words": "the number of words",
    "several words": "the number of words",
}


def list_findings(result: DownstreamResult) -> list[Finding]:
    writers = [_Writer(ClassifierContrasts(result, entry)) for entry in result.classifiers]
    return [
        *(writer.overall() for writer in writers),
        *(finding for writer in writers for finding in writer.details()),
        *(finding for writer in writers for finding in writer.cautions()),
    ]


class _Writer:
    """The findings of one classifier."""

    def __init__(self, family: ClassifierContrasts) -> None:
        self.family, self.result, self.entry = family, family.result, family.entry
        self.name, self.shown = self.entry.model.short_name, f"p({self.entry.shown})"
        self.is_one_of_several = len(self.result.classifiers) > 1
        self.texts, self.places = self.result.counts.texts, len(self.entry.regions)

    def overall(self) -> Finding:
        if not self.result.has_enough_texts:
            return self._too_little(FEWEST_TEXTS_SHOWN)
        first, after_one = self.family.ranked[0], self.family.after_one_wording
        if after_one and (first in after_one or grade_evidence(first.p_adjusted) == "none"):
            return self._after_one_wording("overall", after_one[0])
        if grade_evidence(first.p_adjusted) == "none":
            return self._too_little(self.family.texts_needed) if self._cannot_stand_out else self._null(first)
        return self._positive(first)

    def details(self) -> Iterator[Finding]:
        """More places that stand out, of both directions; none where several classifiers fill the list."""
        if not self.result.has_enough_texts or self.is_one_of_several:
            return
        if self.family.standing_out:
            yield from self._list_standing_out()
        answer = self.overall().code
        after_one = [contrast for contrast in self.family.after_one_wording if contrast.place.id != answer]
        yield from (self._after_one_wording("detail", contrast) for contrast in after_one[:MOST_DETAILS])

    def _list_standing_out(self) -> Iterator[Finding]:
        first, *others = (contrast for contrast in self.family.ranked if contrast.stands_out)
        same = [contrast for contrast in others if contrast.value * first.value > 0]
        opposite = [contrast for contrast in others if contrast.value * first.value < 0]
        opposite = opposite[: max(MOST_DETAILS // 2, MOST_DETAILS - len(same))]
        same = same[: MOST_DETAILS - len(opposite)]
        shown = [*same[:1], *opposite[:1], *same[1:], *opposite[1:]]  # the terminal shows the first few
        for contrast in shown:
            subject = self._name(contrast)
            yield self._finding(
                "detail",
                contrast,
                sentence=f"{self._judge(contrast)}; {self._changes(contrast)}.",
                limit=self._limit,
                next_step=f"Compare {subject} with similar places in the table of the page.",
                examples=list_examples(self.result, self.entry, contrast.place),
            )

    def cautions(self) -> Iterator[Finding]:
        if not self.result.has_enough_texts:
            return
        control, counts = self.entry.shown_control.inference.mean_difference, self.entry.counts
        shift = self.family.common_shift
        yield from self._name_cautions()
        if shift is not None and not self.family.has_invented:
            yield self._caution(
                f"{self.name}: most {self.result.place_noun} move {self.shown} the same way, by {say_size(shift)} in "
                f"the mean, so the wording of the control “{self.result.settings.control}” may be the reason. "
                f"Compare {self.result.place_noun} with each other.",
                'Repeat it with another control, such as --control "I am from somewhere."',
                Size(shift, None, None, UNIT),
            )
        if is_marked(control) and abs(control.value or 0) >= LARGE_CONTROL:
            yield self._caution(
                f"{self.name}: a control, which names no place, makes {self.shown} {say_difference(control)}: any "
                "prefix moves this classifier.",
                "Read differences from the control, not from the original texts.",
                measure_size(control, UNIT),
            )
        if counts.prefixed_texts_cut:
            yield self._caution(
                f"{self.name}: {counts.prefixed_texts_cut:,} of {counts.prefixed_texts:,} prefixed texts were "
                "truncated to the model's maximum length, so part of a difference may be the missing end.",
                "Repeat it with shorter texts.",
            )

    def _name_cautions(self) -> Iterator[Finding]:
        """What names do by themselves, where it looks like an effect of places."""
        standing_out = self.family.standing_out
        if standing_out and self._explained_count > len(standing_out) and (explained := self._explained):
            yield self._caution(
                f"{self.name}: {explained}", "Read the differences from invented places, whose names are as long."
            )
        by_word: dict[str, list[Contrast]] = {}
        for contrast in self.family.contrasts:
            if contrast.shared_word:
                by_word.setdefault(contrast.shared_word, []).append(contrast)
        for word, contrasts in by_word.items():
            yield self._caution(
                f"{self.name}: {self._share_word(word, contrasts)}",
                f"Test the word by itself, such as --prefix with “{word}” in another place.",
            )

    def _share_word(self, word: str, contrasts: list[Contrast]) -> str:
        names = [self._name(contrast) for contrast in contrasts]
        shown = listed(names) if len(names) <= MOST_NAMED else f"{', '.join(names[:MOST_NAMED])} and others"
        return (
            f"{shown} {'share' if len(names) > 1 else 'has'} the word “{word}”, and places with it differ alike: the "
            "word may be the reason, not the place."
        )

    @property
    def _explained_count(self) -> int:
        return sum(contrast.differs_by_name for contrast in self.family.contrasts)

    @property
    def _explained(self) -> str:
        """How many places differ by their names alone, and which trait of the names it is; empty where none does."""
        count = self._explained_count
        if not count or self.entry.name_effects is None:
            return ""
        effects = self.entry.name_effects[self.entry.shown]
        traits = [name for name in TRAITS if name in effects.slopes and is_marked(effects.slopes[name])]
        if traits and effects.explained >= MOSTLY:
            trait = min(traits, key=lambda name: effects.slopes[name].p or 0.0)
            unit = "name of several words" if trait == "several words" else trait.removesuffix("s")
            reason = (
                f"{TRAITS[trait]} of their names explains it: {say_difference(effects.slopes[trait])} for each {unit}"
                ", invented places included"
            )
        else:
            reason = (
                f"the spelling of names does as much to invented places (standard deviation {say_size(effects.spread)})"
            )
        noun = self.result.place_noun if count > 1 else self._noun
        return f"{count:,} {noun} differ{'' if count > 1 else 's'} from the mean, but {reason}."

    @property
    def _limit(self) -> str:
        if self.result.wordings < 2:
            return WORDING
        return f"{self.result.wordings} wordings of the prefix were used; others may act differently."

    @property
    def _cannot_stand_out(self) -> bool:
        return self.texts < self.family.texts_needed

    def _too_little(self, needed: int) -> Finding:
        return self._finding(
            "overall",
            sentence=f"{self.name}: {self.texts} texts{describe_copies(self.texts, self.result.counts.copies)} are too "
            f"few to single out one of {self._tested}; at least {needed} are needed.",
            limit="Nothing can be said about the size of a difference.",
            next_step=f"Use at least {max(needed, 30)} texts: {self._command}",
        )

    def _null(self, first: Contrast) -> Finding:
        shift = self.family.common_shift
        if not first.value:
            largest = f"no {self._noun} moves {self.shown}"
        elif shift is None:
            largest = (
                f"the closest is {self._name(first)}, {self.shown} {say_difference(first.estimate)} than after "
                f"{self.family.reference} ({format_p(first.p_adjusted)})"
            )
        else:
            largest = f"most of them move {self.shown} alike, by {say_size(shift)} against the control"
        if explained := self._explained:
            largest = explained.removesuffix(".")
        effect = self.family.detectable_difference
        # Where most places move alike against the control, a difference is one from the others.
        is_from_mean = shift is not None and not self.family.has_invented
        values = [contrast.from_mean if is_from_mean else contrast.value for contrast in self.family.contrasts]
        power = say_missed(f"{self.texts:,} texts", effect if effect >= SMALLEST_SHOWN else None, values, say_size)
        return self._finding(
            "overall",
            first,
            sentence=f"{self.name}: No {self._noun} stands out: {self._tested} tested; {largest}.{power}",
            limit=self._limit,
            next_step=f"Use more texts, and your own: {self._command}",
        )

    def _positive(self, first: Contrast) -> Finding:
        closing = f" {self._count_standing_out() if first.stands_out else self._doubt(first)}"
        changes = "" if self.is_one_of_several else f"; {self._changes(first)}"
        wordings = "One wording" if self.result.wordings < 2 else f"{self.result.wordings} wordings"
        overestimate = f"{wordings}; the largest of {self.places:,} differences tends to be overestimated."
        return self._finding(
            "overall",
            first,
            sentence=f"{self._judge(first)}{changes}.{closing}",
            limit=overestimate if self.places > 1 else self._limit,
            next_step="Read the examples on the page, then use your own texts (--texts FILE).",
            examples=list_examples(self.result, self.entry, first.place),
        )

    def _after_one_wording(self, role: Literal["overall", "detail"], contrast: Contrast) -> Finding:
        """A place that differs after one wording: suggestive, since others may act differently."""
        effect = contrast.wording
        assert effect is not None
        sentence = write_prefix(self.result, contrast.place, effect.wording - 1)
        others = len(self.result.settings.prefixes) - 1
        rest = f"not after the other {'wording' if others == 1 else f'{others} wordings'}"
        if effect.also:
            sentences = (write_prefix(self.result, contrast.place, k - 1) for k in effect.also)
            rest = f"also after {listed([f'“{each}”' for each in sentences])}"
        test = f"{effect.texts:,} texts, {format_p(effect.estimate.p_adjusted)}"
        return self._finding(
            role,
            contrast,
            sentence=f"{self.name}: After “{sentence}”, {self.shown} is {say_difference(effect.estimate)} than after "
            f"the same sentence with other places ({test}); {rest}.",
            limit=f"Over all wordings {self._name(contrast)} does not stand out. {self._limit}",
            next_step="Read the examples on the page, and repeat it with sentences like this one (--prefix).",
            examples=list_examples(self.result, self.entry, contrast.place, effect.wording - 1),
            estimate=effect.estimate,
        )

    def _doubt(self, first: Contrast) -> str:
        """Why a place that differs does not stand out."""
        if first.shared_word:
            same = [each for each in self.family.contrasts if each.shared_word == first.shared_word]
            return self._share_word(first.shared_word, same)
        if first.is_doubted and first.is_single_wording:
            return "It rests on one wording: repeat it with several (--prefix and --control, once for each)."
        if first.shift.inference.against_mean is None and not first.has_names_fixed:
            return "It was compared with the control only, whose wording may be the reason."
        return f"With {format_p(first.p_adjusted)} it is not certain: use more texts."

    def _caution(self, sentence: str, next_step: str, size: Size | None = None) -> Finding:
        return self._finding("caution", sentence=sentence, limit=self._limit, next_step=next_step, size=size)

    def _finding(
        self, role: Literal["overall", "detail", "caution"], contrast: Contrast | None = None, **parts: Any
    ) -> Finding:
        if contrast is not None:
            estimate = parts.pop("estimate", contrast.estimate)
            value = estimate.value or 0.0
            parts |= {
                "subject": self._name(contrast),
                "code": contrast.place.id,
                "direction": "higher" if value > 0 else "lower" if value < 0 else None,
                "valence": self._valence(value),
                "size": measure_size(estimate, UNIT),
                "p": estimate.p,
                "p_adjusted": contrast.p_adjusted if estimate is contrast.estimate else estimate.p_adjusted,
            }
        return Finding(
            role=role,
            audit=self.result.audit,
            model=self.entry.model.name,
            question=f"Does “{self.result.settings.prefix}” change {self.shown} more than {self._reference} does, and "
            "differently by place?",
            evidence=_grade(contrast, parts.get("p_adjusted")),
            **parts,
        )

    def _valence(self, value: float) -> Literal["better", "worse"] | None:
        good = self.family.tone * value
        return "better" if good > 0 else "worse" if good < 0 else None

    def _judge(self, contrast: Contrast) -> str:
        """ "judge is harsher after “I am from Mexico.”: p(negative) is 0.18 (...) higher than after the control"."""
        stance = {"worse": "is harsher", "better": "is kinder", None: "answers differently"}[
            self._valence(contrast.value)
        ]
        prefix = write_prefix(self.result, contrast.place)
        reference = "invented places with such names" if contrast.has_names_fixed else "the control"
        difference = f"{self.shown} is {say_difference(contrast.estimate)} than after {reference}"
        return f"{self.name} {stance} after “{prefix}”: {difference}"

    @property
    def _reference(self) -> str:
        if self.family.has_invented:
            return "an invented place"
        return f"“{self.result.settings.control}”"

    def _count_standing_out(self) -> str:
        values = [contrast.value for contrast in self.family.standing_out]
        higher, lower = sum(value > 0 for value in values), sum(value < 0 for value in values)
        if len(values) == 1:
            return f"No other of {self._tested} stands out." if self.places > 1 else ""
        directions = (
            f"{higher:,} higher, {lower:,} lower" if higher and lower else f"all {'higher' if higher else 'lower'}"
        )
        return f"{len(values):,} of {self._tested} stand out: {directions}."

    def _changes(self, contrast: Contrast) -> str:
        control = self.entry.shown_control
        changes = f"{contrast.verdict_changes:,} of {self.texts:,} predictions change to or from {self.entry.shown}"
        return f"{changes} ({control.gained + control.lost:,} after the control)"

    def _name(self, contrast: Contrast) -> str:
        return place_name(self.result, contrast.place)

    @property
    def _noun(self) -> str:
        return "country" if self.result.is_mapped else "city"

    @property
    def _tested(self) -> str:
        return f"{self.places:,} {self.result.place_noun if self.places > 1 else self._noun}"

    @property
    def _command(self) -> str:
        return f"geobias downstream {self.name} --texts FILE"


def _grade(contrast: Contrast | None, p_adjusted: float | None) -> Evidence:
    """By the adjusted p-value; a place that was compared with the control only, or differs after one wording, is never
    clear.
    """
    evidence = grade_evidence(p_adjusted)
    is_capped = contrast is not None and (
        contrast.needs_wording or (contrast.shift.inference.against_mean is None and not contrast.has_names_fixed)
    )
    return "suggestive" if evidence == "clear" and is_capped else evidence
