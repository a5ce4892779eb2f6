"""The findings of every audit, in one order and by one set of rules; an audit brings the phrases.

A `Family` is the effects of one model on one outcome, which are tested together, in the orders that reports need.

For each model one answer: what is too little to test; or that nothing stands out, and how much could have been missed;
or what stands out first. Then details, the nearest opposite among the first; then cautions.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Generic, TypeVar

from geobias.measures.estimates import SIGNIFICANT, Estimate, find_standing_out
from geobias.models.scorer import ModelIdentity
from geobias.report.findings import DIFFERENCES, Evidence, ExampleText, Finding, Role, Size, format_p
from geobias.report.page.charts import Valence
from geobias.report.rows import Effect
from geobias.report.sentences import measure_size
from geobias.world.countries import UN_STATES

Row = TypeVar("Row", bound=Effect)
COUNTRIES, CITIES = ("country", "countries"), ("city", "cities")


@dataclass(frozen=True)
class Family(Generic[Row]):
    """All places of one model, for one outcome."""

    model: ModelIdentity
    label: str
    effects: Sequence[Row]
    valence: Valence
    """What higher and lower mean, in words, and which is better for the person."""
    nouns: tuple[str, str] = COUNTRIES
    prefers_states: bool = False
    """Whether findings name territories only where no state stands out: unless the user chose the countries."""

    @cached_property
    def standing_out(self) -> list[Row]:
        return [effect for effect in self.effects if effect.stands_out]

    @cached_property
    def by_value(self) -> list[Row]:
        """From the highest to the lowest."""
        return sorted(self.effects, key=lambda effect: -effect.value)

    @cached_property
    def ranked(self) -> list[Row]:
        """Those to name in findings: what stands out by its size, then the others by their p-values."""
        effects = self.effects
        if self.prefers_states:
            states = [effect for effect in effects if effect.code in UN_STATES]
            if not self.standing_out or any(effect.stands_out for effect in states):
                effects = states or effects
        return sorted(effects, key=_rank)

    @property
    def first(self) -> Row:
        return self.ranked[0]

    def list_standing_out(self, sign: int) -> list[Row]:
        """Those above (1) or below (-1) that stand out, the farthest first."""
        return self.sort_by_size([effect for effect in self.standing_out if effect.value * sign > 0])

    def sort_by_size(self, effects: Sequence[Row]) -> list[Row]:
        """The farthest first; states before territories."""
        return sorted(
            effects, key=lambda effect: (self.prefers_states and effect.code not in UN_STATES, -abs(effect.value))
        )

    def count(self, number: int) -> str:
        """ "17 countries"."""
        return f"{number:,} {self.nouns[number != 1]}"

    @property
    def tested(self) -> str:
        return self.count(len(self.effects))


def _rank(effect: Effect) -> tuple[float, float]:
    if effect.stands_out:
        return 0.0, -abs(effect.value)
    return (1.0 if effect.p_adjusted is None else effect.p_adjusted), -abs(effect.value)


def find_mirrors(deviations: Sequence[Estimate]) -> dict[int, int]:
    """Which clear deviations from a common mean may only mirror another one: its position, by their positions.

    Deviations from a mean sum to 0, so a place far on one side moves all others to the other side of it
    (`find_standing_out`). The reason is the farthest place on the other side that stands out by itself, or the farthest
    of all where none is there.

    One rule for all audits: such a place does not stand out, its evidence is at most suggestive and its row names the
    other place; but it keeps the p-value of its test. That it differs from the mean is measured, and only the reason is
    in doubt, so that a p of 1 ("no difference") would be false in tables, frames and gates.
    """
    is_found = find_standing_out(deviations)
    found = [k for k, stands_out in enumerate(is_found) if stands_out]
    mirrors = {}
    for k, each in enumerate(deviations):
        if each.p_adjusted is not None and each.p_adjusted < SIGNIFICANT and not is_found[k]:
            opposite = [i for i in found if (deviations[i].value or 0) * (each.value or 0) < 0]
            mirrors[k] = max(opposite or found, key=lambda i: abs(deviations[i].value or 0))
    return mirrors


MOST_DETAILS = 5  # places besides the first


@dataclass(frozen=True)
class TooLittle:
    """Why nothing can be tested."""

    sentence: str
    next_step: str
    limit: str = "Nothing can be said about the size of a difference."


@dataclass(frozen=True)
class Caution:
    """What may be an artefact."""

    sentence: str
    next_step: str
    size: Size | None = None
    limit: str | None = None
    """Where it is not that of the audit's findings."""
    question: str | None = None


class Conclusions(ABC):
    """What is concluded of one model about one question."""

    audit: ClassVar[str]
    measure: str | None = None
    """Tells apart the answers of an audit that has several."""

    def __init__(self, model: ModelIdentity) -> None:
        self.model, self.name = model, model.short_name

    @property
    @abstractmethod
    def question(self) -> str:
        """What is compared with what."""

    @abstractmethod
    def answer(self) -> Finding: ...

    @abstractmethod
    def list_details(self) -> Iterator[Finding]: ...

    @abstractmethod
    def caution(self) -> Iterator[Finding]: ...

    def make_plain(self, role: Role, sentence: str, limit: str, next_step: str, **more: Any) -> Finding:
        """A finding without a test, unless `more` fields have one."""
        usual: dict[str, Any] = {"audit": self.audit, "model": self.model.name, "measure": self.measure}
        usual |= {"question": self.question, "evidence": "not testable"}
        return Finding(role=role, sentence=sentence, limit=limit, next_step=next_step, **(usual | more))


class ModelFindings(Conclusions, Generic[Row]):
    """The findings of one model. An audit says what its numbers mean; the order and the rules are here."""

    def __init__(self, family: Family[Row], *, is_one_of_several: bool) -> None:
        super().__init__(family.model)
        self.family = family
        self.is_one_of_several = is_one_of_several

    # The phrases of an audit

    @abstractmethod
    def limit(self, role: Role, effect: Row | None) -> str:
        """What limits a finding, in one sentence; without an effect nothing stands out, or it is a caution."""

    @abstractmethod
    def next_step(self, role: Role, effect: Row | None) -> str:
        """What to do next; without an effect nothing stands out."""

    @abstractmethod
    def explain_too_little(self) -> TooLittle | None:
        """Why nothing at all can be said; None where something can."""

    def explain_no_test(self) -> TooLittle | None:
        """Why nothing could have stood out, where nothing is clear or suggestive."""
        return None

    @abstractmethod
    def say(self, effect: Row) -> str:
        """One effect: "judge is harsher after “I am from Mexico.”: p(negative) is 0.18 (...) higher ..."."""

    def say_answer(self, effect: Row) -> str:
        """The first one, if the answer says it in other words."""
        return self.say(effect)

    def say_more(self, effect: Row) -> str:
        """What else is worth knowing of it, where there is room."""
        return ""

    def close(self, effect: Row) -> str:
        """After the answer: how many stand out, or how sure it is."""
        if effect.stands_out:
            return self.count_standing_out()
        return f"With {format_p(effect.p_adjusted)} it is not certain: use more texts."

    @abstractmethod
    def say_nothing(self, closest: Row) -> str:
        """That nothing stands out, the closest, and what could be missed (`sentences.say_missed`)."""

    def list_examples(self, effect: Row) -> list[ExampleText]:
        return []

    def list_more_details(self) -> Iterator[Finding]:
        """Details that are no places that stand out."""
        yield from ()

    def list_cautions(self) -> Iterator[Caution]:
        yield from ()

    # The rules

    def answer(self) -> Finding:
        first, closest = self.family.first, self.closest
        is_found = first.evidence in DIFFERENCES
        too_little = self.explain_too_little() or (None if is_found else self.explain_no_test())
        if too_little is not None:
            return self.make_plain("overall", too_little.sentence, too_little.limit, too_little.next_step)
        if not is_found:
            return self.make_finding("overall", closest, self.say_nothing(closest))
        more = "" if self.is_one_of_several else self.say_more(first)
        return self.make_finding("overall", first, f"{self.say_answer(first)}{more}. {self.close(first)}".rstrip())

    @property
    def closest(self) -> Row:
        """The place that is named where nothing stands out."""
        return self.family.first

    def list_details(self) -> Iterator[Finding]:
        """More that stands out, of both directions; none where several models fill the list."""
        if self.explain_too_little() or self.is_one_of_several:
            return
        standing_out = [effect for effect in self.family.ranked if effect.stands_out]
        for effect in choose_details(standing_out):
            yield self.make_finding("detail", effect, f"{self.say(effect)}{self.say_more(effect)}.")
        yield from self.list_more_details()

    def caution(self) -> Iterator[Finding]:
        if self.explain_too_little() is None:
            for each in self.list_cautions():
                limit = each.limit or self.limit("caution", None)
                question = each.question or self.question
                yield self.make_plain(
                    "caution", each.sentence, limit, each.next_step, size=each.size, question=question
                )

    def count_standing_out(self) -> str:
        """ "3 of 17 countries stand out: 2 higher, 1 lower."."""
        values, tested = [effect.value for effect in self.family.standing_out], self.family.tested
        higher, lower = sum(value > 0 for value in values), sum(value < 0 for value in values)
        if len(values) == 1:
            return f"No other of {tested} stands out." if len(self.family.effects) > 1 else ""
        both = f"{higher:,} higher, {lower:,} lower" if higher and lower else f"all {'higher' if higher else 'lower'}"
        return f"{len(values):,} of {tested} stand out: {both}."

    def make_finding(
        self,
        role: Role,
        effect: Row,
        sentence: str,
        *,
        estimate: Estimate | None = None,
        evidence: Evidence | None = None,
        limit: str | None = None,
        next_step: str | None = None,
        examples: Sequence[ExampleText] | None = None,
    ) -> Finding:
        """A finding about a place: by the effect, or by another estimate of it with other words."""
        estimate = estimate or effect.estimate
        value = estimate.value or 0.0
        good = self.family.valence.sign * value
        named = effect if effect.evidence in DIFFERENCES else None
        return Finding(
            role=role,
            audit=self.audit,
            model=self.family.model.name,
            question=self.question,
            subject=effect.title,
            code=effect.code,
            direction="higher" if value > 0 else "lower" if value < 0 else None,
            valence="better" if good > 0 else "worse" if good < 0 else None,
            size=measure_size(estimate, effect.unit),
            p=estimate.p,
            p_adjusted=estimate.p_adjusted,
            evidence=evidence or effect.evidence,
            sentence=sentence,
            limit=limit or self.limit(role, named),
            next_step=next_step or self.next_step(role, named),
            examples=list(self.list_examples(effect) if named and examples is None else examples or ()),
        )


def conclude(models: Iterable[Conclusions]) -> list[Finding]:
    """The answers of all models, then details, then cautions."""
    models = list(models)
    return [
        *(each.answer() for each in models),
        *(finding for each in models for finding in each.list_details()),
        *(finding for each in models for finding in each.caution()),
    ]


def choose_details(standing_out: Sequence[Row], most: int = MOST_DETAILS) -> list[Row]:
    """The largest of both directions, without the first of all; the terminal shows the first few."""
    if not standing_out:
        return []
    first, *others = standing_out
    same = [effect for effect in others if effect.value * first.value > 0]
    opposite = [effect for effect in others if effect.value * first.value < 0]
    opposite = opposite[: max(most // 2, most - len(same))]
    same = same[: most - len(opposite)]
    return [*same[:1], *opposite[:1], *same[1:], *opposite[1:]]


def say_difference(estimate: Estimate) -> str:
    """The size with its interval, and its direction: "0.18 (95 % interval 0.13 to 0.23) higher"."""
    value = estimate.value or 0.0
    sign, places = (-1 if value < 0 else 1), _decimals(value)
    ends = sorted(sign * end for end in (estimate.low, estimate.high) if end is not None)
    interval = f" (95 % interval {_round(ends[0], places)} to {_round(ends[1], places)})" if len(ends) == 2 else ""
    return f"{abs(value):.{places}f}{interval} {'lower' if value < 0 else 'higher'}"


def say_number(value: float) -> str:
    return f"{value:.{_decimals(value)}f}"


def _round(value: float, places: int) -> str:
    return f"{round(value, places) + 0.0:.{places}f}"  # without a minus before 0.00


def _decimals(value: float) -> int:
    """As many as show two digits of the value; never more than four."""
    return 2 if abs(value) >= 0.095 else 3 if abs(value) >= 0.0095 else 4
