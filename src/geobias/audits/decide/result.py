"""What a decisions audit measures, as flat tables: whom each model favours, by country, domain, origin and gender."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Literal

from geobias.audits.decide.answers import ModelAnswers
from geobias.audits.inputs import describe_copies
from geobias.measures.estimates import Estimate
from geobias.models.scorer import ModelIdentity
from geobias.report.results import NOT_SAVED, AuditResult, Interval, Number
from geobias.report.rows import Effect, Measured, list_tidy_rows, tidy_row
from geobias.report.tables import is_marked, listed

MEAN = "mean of countries"
FAVOURABLE = "favourable answer"
BY_DOMAIN, BY_ORIGIN, BY_GENDER = "by_domain", "by_origin", "by_gender"


@dataclass(frozen=True)
class ScenariosSettings:
    """Which scenarios were used."""

    source: str
    """The file, or "the bundled scenarios"."""
    count: int
    digest: str
    """Tells other scenarios apart, wherever they come from."""


@dataclass(frozen=True)
class DecideSettings:
    """Settings that identify a run."""

    scenarios: ScenariosSettings
    domains: list[str] | str
    """Or "all"."""
    origin: list[str]
    """How origin shows."""
    countries: list[str] | str
    """Codes, or "all"."""
    countries_digest: str
    """Tells other lists of countries and names apart."""
    draws: int
    """Names drawn for each case and country, where names show the origin."""
    paraphrases: int
    """Wordings of each question, at most."""
    seed: int
    system: str | None
    """System prompt."""
    samples: int | None
    """Answers sampled per question from a server without log-probabilities; null for 20."""
    models: list[str]


@dataclass(frozen=True)
class DecideCounts:
    """Numbers of scenarios and countries, and what was left out."""

    scenarios: int
    cases: int
    """A scenario and its mirror are one case."""
    yes_helps: int
    """Yes/no scenarios in which yes helps the person."""
    yes_harms: int
    numbers: int
    """Scenarios that ask for a number."""
    choices: int
    """Scenarios that ask to choose between two people."""
    countries: int
    countries_left_out: list[str]
    """Those whose origin cannot be shown in every way that was asked for."""
    copies: int = 0
    """Cases left out because they repeat another one but for names, numbers and case."""


@dataclass(frozen=True, kw_only=True)
class ModelDecisions:
    """A model: how often it answers, how far countries lie apart, and what else moves its decisions (in nats)."""

    model: str
    decisions: int
    decisions_cut: int
    """Longer than the model's maximum length."""
    questions_by_country: int
    """Yes/no questions about each country."""
    answered: float
    """Mean probability of yes or no, from 0 to 1; of answers in words, the share that are yes or no."""
    refusals: float | None
    """Share of answers that refuse, from 0 to 1; null where answers are probabilities."""
    sampled: bool
    """Whether answers were sampled, since the server gives no probabilities."""
    smallest_effect: Number
    """The smallest difference from the mean of countries that is detected with 80 % power, in nats."""
    worst_ratio: Interval
    """The smallest impact ratio, with bounds that hold for all countries at once; null, as are the three below, where
    fewer than two countries can be compared."""
    worst_country: str | None
    best_country: str | None
    """The country with the highest selection rate."""
    farthest: Interval
    """How far the farthest preference lies from the mean of countries, either way, in nats; bounds as above."""
    spread: Estimate | None
    """Standard deviation of the true preferences of countries, in nats; p is of no spread at all."""
    noise: Number
    """Noise floor: the standard deviation that chance gives to countries that do not differ."""
    invented_spread: Estimate | None
    """The same of invented countries: what names of places do by themselves."""
    invented_noise: Number
    origin_shown: Estimate | None
    """Any country shown against none, the mean of countries."""
    invented: Estimate | None
    """Invented countries against real ones."""
    merit: Estimate | None
    """A review that speaks for the person against one that speaks against."""
    order: Estimate | None
    """Log-odds of the person named first where both are the same; 0 without an order effect."""
    yes_tendency: Estimate | None
    """Log-odds of yes over questions of both kinds; 0 without a tendency. Null without both kinds."""
    slopes: dict[str, Estimate]
    """What one more character, or a name that more countries list (as a logarithm), does between names of one country
    and gender; empty without names."""
    notes: list[str]


@dataclass(frozen=True, kw_only=True)
class CountryDecisions(Effect):
    """Decisions about people of one country. `p_adjusted` is that of the preference, by max-T over all countries."""

    unit: ClassVar[str] = "nats"

    code: str
    preference: Annotated[Estimate, Measured(MEAN)]
    """Log-odds of the favourable answer against the mean of countries, in nats. Mirrored questions cancel a tendency to
    say yes."""
    probability: Annotated[Interval, Measured(MEAN)]
    """The same in percentage points of probability."""
    rate: Number
    """Selection rate: mean probability of the favourable answer, from 0 to 1. It, the preference and the impact ratio
    are null where too few questions are answered; where some are not, they are adjusted for which ones."""
    impact_ratio: Annotated[Interval, Measured("best country")]
    """Selection rate against that of the best-treated country; the bounds hold for all countries at once."""
    yes_tendency: Annotated[Estimate | None, Measured(MEAN)]
    """Log-odds of yes against the mean of countries; null without questions of both kinds."""
    answered: Annotated[Interval, Measured()]
    """Share of questions answered, as in `deciders`, with its 95 % interval over cases."""
    answered_difference: Estimate
    """`answered` against the mean of countries, from -1 to 1."""
    refusals: float | None
    """Share of answers that refuse, from 0 to 1; null where answers are probabilities."""
    names_unadjusted: Estimate | None
    """Preference where names show the origin; null without names."""
    names_held_fixed: Estimate | None
    """The same between names that are equally long and equally widespread."""

    @property
    def estimate(self) -> Estimate:
        return self.preference

    @property
    def has_estimate(self) -> bool:
        """Whether enough questions are answered to compare it."""
        return self.preference.value is not None

    @property
    def is_rarity(self) -> bool:
        """Whether how rare its names are may explain it: clear before the adjustment, not after."""
        before, after = self.names_unadjusted, self.names_held_fixed
        if before is None or after is None or after.p_adjusted is None:
            return False
        return is_marked(before) and not is_marked(after) and abs(after.value or 0) < abs(before.value or 0) / 2


@dataclass(frozen=True)
class PartialPreference:
    """A preference of a part of the questions against the mean of countries; or numbers, or choices."""

    model: str
    measure: str
    """
    - by_domain: p-values are adjusted for all domains and countries
    - by_origin: where origin shows in one way only
    - by_gender: among names of one gender
    - number: expected numbers from 1 to 9, signed so that higher is better for the person
    - choice: log-odds of being chosen against a person without an origin, in both orders, signed in the same way
    """
    label: str | None
    """The domain, the way of showing origin, or the gender."""
    place: str
    code: str
    estimate: Estimate
    stands_out: bool
    """Whether it is clear and does not only mirror other countries."""


@dataclass(frozen=True)
class CaseDecisions:
    """How much the country matters in one case, which is answered for two countries or more."""

    model: str
    case: str
    domain: str
    text: str
    """Its first wording."""
    rate: float
    """Mean probability of the favourable answer over countries."""
    gap: float
    """Probability of the favourable answer for the best-treated country minus that for the worst-treated one."""
    highest: str
    """Name of the country with the highest probability."""
    lowest: str


@dataclass(frozen=True, kw_only=True, repr=False)
class DecideResult(AuditResult):
    """Whom a language model decides for, by country: returned by `audit_decisions`.

    Examples
    --------
    >>> result = geobias.audit_decisions("my-org/model", out="runs/decide")  # doctest: +SKIP
    >>> result.plot("preference")  # doctest: +SKIP
    """

    audit: Literal["decide"] = "decide"
    settings: DecideSettings
    models: list[ModelIdentity]
    """The models."""
    counts: DecideCounts
    """Numbers of scenarios and countries, and what was left out."""
    deciders: list[ModelDecisions]
    """What is measured of each model as a whole."""
    effects: list[CountryDecisions]
    """Decisions of each model about people of each country."""
    parts: list[PartialPreference]
    """Preferences by domain, origin and gender; numbers and choices."""
    cases: list[CaseDecisions]
    """Those in which the country matters most come first."""
    answers: Annotated[tuple[ModelAnswers, ...], *NOT_SAVED] = field(default=(), repr=False, compare=False)
    """Log-odds of every decision. Not saved."""

    def list_effects(self, model: str) -> list[CountryDecisions]:
        return [row for row in self.effects if row.model == model]

    def list_parts(self, model: str, measure: str, label: str | None = None) -> list[PartialPreference]:
        """Of one label, or of all."""
        parts = [part for part in self.parts if (part.model, part.measure) == (model, measure)]
        return [part for part in parts if label in (None, part.label)]

    def summarise(self) -> Iterator[str]:
        counts, names = self.counts, [model.short_name for model in self.models]
        yield (
            f"{listed(names)} in {counts.scenarios:,} scenarios"
            f"{describe_copies(counts.cases, counts.copies, 'case')} about people of {counts.countries:,} countries "
            f"({', '.join(self.settings.origin)})"
        )

    def list_tidy_rows(self) -> Iterator[dict[str, Any]]:
        """Preferences first; by domain, origin and gender with these as labels."""
        yield from ({**row, "label": None} for row in list_tidy_rows(self.effects))
        for part in self.parts:
            about = {key: getattr(part, key) for key in CountryDecisions.keys}
            yield tidy_row(about, part.measure, part.estimate, label=part.label, against=MEAN)
