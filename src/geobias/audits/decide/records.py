"""What a decisions audit measures of one model: for every country, domain, way of showing origin and gender."""

from __future__ import annotations

from dataclasses import dataclass, field

from geobias.measures.estimates import NO_ESTIMATE, Estimate
from geobias.models.scorer import ModelIdentity
from geobias.report.results import NO_INTERVAL, Interval, Number


@dataclass(frozen=True)
class CountryDecisions:
    """Decisions about people of one country."""

    country: str
    code: str
    preference: Estimate
    """Log-odds of the favourable answer against the mean of countries, in nats. Mirrored questions cancel a tendency to
    say yes."""
    probability: Interval
    """The same in percentage points of probability."""
    rate: Number
    """Selection rate: mean probability of the favourable answer, from 0 to 1. It, the preference and the impact ratio
    are null where too few questions are answered; where some are not, they are adjusted for which ones."""
    impact_ratio: Interval
    """Selection rate against that of the best-treated country; the bounds hold for all countries at once."""
    yes_tendency: Estimate | None
    """Log-odds of yes against the mean of countries; null without questions of both kinds."""
    answered: float
    """Mean probability of yes or no, from 0 to 1; of answers in words, the share that are yes or no."""
    refusals: float | None
    """Share of answers that refuse, from 0 to 1; null where answers are probabilities."""
    answered_interval: Interval = NO_INTERVAL
    """`answered` with its 95 % interval over cases."""
    answered_difference: Estimate = NO_ESTIMATE
    """`answered` against the mean of countries, from -1 to 1."""

    @property
    def has_estimate(self) -> bool:
        """Whether enough questions are answered to compare it."""
        return self.preference.value is not None


@dataclass(frozen=True)
class WorstRatio:
    """The smallest impact ratio, with bounds that hold for all countries at once."""

    value: float
    low: float | None
    high: float | None
    country: str
    """Code of the country with the smallest ratio."""
    best: str
    """Code of the country with the highest selection rate."""


@dataclass(frozen=True)
class FarthestPreference:
    """The preference farthest from the mean of countries, with bounds that hold for all countries at once."""

    value: float
    """Its distance, either way, in nats."""
    low: float | None
    high: float | None
    country: str
    """Its code."""


@dataclass(frozen=True)
class SpreadOfCountries:
    """How far countries lie apart: the standard deviation of their true preferences, in nats."""

    value: float
    low: float
    high: float
    p: float
    """Of no spread at all."""
    noise: float
    """Noise floor: the standard deviation that chance gives to countries that do not differ."""


@dataclass(frozen=True)
class CountryEstimate:
    """One number of one country, against the mean of countries."""

    country: str
    code: str
    estimate: Estimate


@dataclass(frozen=True)
class DomainDecisions:
    """Preferences in one domain; p-values are adjusted for all domains and countries."""

    domain: str
    cases: int
    countries: list[CountryEstimate]


@dataclass(frozen=True)
class WayDecisions:
    """Preferences where origin shows in one way only."""

    origin: str
    """stated, demonym, name, ..."""
    spread: SpreadOfCountries | None
    countries: list[CountryEstimate]
    smallest_effect: Number
    """The smallest difference from the mean of countries that is detected with 80 % power, in nats."""


@dataclass(frozen=True)
class GenderDecisions:
    """Preferences among names of one gender."""

    gender: str
    countries: list[CountryEstimate]


@dataclass(frozen=True)
class CaseDecisions:
    """How much the country matters in one case."""

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
    interaction: float
    """Standard deviation over countries of the favourable log-odds, in nats."""


@dataclass(frozen=True)
class Controls:
    """What else moves decisions, in nats of the favourable log-odds where not said otherwise."""

    named: Estimate | None
    """Any country shown minus none: the mean of countries against a person without an origin."""
    invented: Estimate | None
    """Invented countries minus real ones."""
    invented_spread: SpreadOfCountries | None
    """Of invented countries: what names of places do by themselves."""
    merit: Estimate | None
    """A review that speaks for the person minus one that speaks against."""
    order: Estimate | None
    """Log-odds of the person named first where both are the same; 0 without an order effect."""
    yes_tendency: Estimate | None
    """Log-odds of yes over questions of both kinds; 0 without a tendency. Null without both kinds."""


@dataclass(frozen=True)
class RareNames:
    """Country or rare names: preferences shown by names, with the length and spread of names held fixed."""

    covariates: list[str]
    slopes: list[Estimate]
    """Nats for one unit more, between names of one country and gender in the same case."""
    unadjusted: list[CountryEstimate]
    adjusted: list[CountryEstimate]


@dataclass(frozen=True)
class DecisionCounts:
    """What one model was asked."""

    decisions: int
    distinct_decisions: int
    """Each is scored once."""
    decisions_cut: int
    """Longer than the model's maximum length."""
    questions_by_country: int = 0
    """Yes/no questions about each country."""


@dataclass(frozen=True)
class ModelDecisions:
    """One model."""

    model: ModelIdentity
    counts: DecisionCounts
    answered: float
    """Mean probability of yes or no, from 0 to 1."""
    refusals: float | None
    """Share of answers that refuse, from 0 to 1; null where answers are probabilities."""
    sampled: bool
    """Whether answers were sampled, since the server gives no probabilities."""
    rate: Interval
    """Mean selection rate over countries."""
    spread: SpreadOfCountries | None
    smallest_effect: Number
    """The smallest difference from the mean of countries that is detected with 80 % power, in nats."""
    worst: WorstRatio | None
    """Null, as is `farthest`, where fewer than two countries can be compared."""
    farthest: FarthestPreference | None
    countries: list[CountryDecisions]
    controls: Controls
    by_domain: list[DomainDecisions]
    by_origin: list[WayDecisions]
    by_gender: list[GenderDecisions]
    """Empty where no names are shown."""
    cases: list[CaseDecisions]
    """Those with answers about two countries or more."""
    numbers: list[CountryEstimate]
    """Expected numbers (salaries, limits, sentences) from 1 to 9, signed so that higher is better for the person."""
    choices: list[CountryEstimate]
    """Log-odds of being chosen against a person without an origin, in both orders, signed so that higher is better."""
    rare_names: RareNames | None = None
    notes: list[str] = field(default_factory=list)

    @property
    def is_testable(self) -> bool:
        return any(country.preference.p_adjusted is not None for country in self.countries)

    @property
    def is_answering_tested(self) -> bool:
        """Whether the shares answered of countries were compared."""
        return any(country.answered_difference.p_adjusted is not None for country in self.countries)
