"""What an audit of finders measures: for every finder and country, the share of its names that are recognised."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, Literal

from geobias.audits.find.answers import FinderAnswers
from geobias.audits.inputs import TextsSettings, describe_copies
from geobias.measures.estimates import FEWEST_TEXTS_SHOWN, NO_ESTIMATE, Estimate, find_standing_out
from geobias.models.scorer import ModelIdentity
from geobias.report.results import NOT_SAVED, AuditResult, Interval, Number
from geobias.report.tables import listed
from geobias.report.tidy import tidy_row

if TYPE_CHECKING:
    from geobias.audits.find.design import FindDesign

OUTCOMES = ("recall", "partial", "wrong_type", "misses")  # in the order of `Outcome`
LEVEL_TITLES = {
    ("gender", "male"): "men's names",
    ("gender", "female"): "women's names",
    ("part", "first and last"): "first and last name",
    ("part", "first"): "first name only",
    ("part", "last"): "last name only",
    ("case", "as written"): "name as written",
    ("case", "lower"): "name in lower case",
    ("case", "upper"): "name in upper case",
}


@dataclass(frozen=True, kw_only=True)
class FindSettings:
    """Settings that identify a run."""

    texts: TextsSettings
    mentions: str
    """A digest of where the people stand in the texts."""
    countries: list[str]
    """Codes."""
    draws: int
    """Renamed versions of each text for each country."""
    seed: int
    scripts: str
    """Scripts of the names: latin or all."""
    names: str
    """A digest of the lists of names."""
    held_out: bool
    """Whether names and texts that the bundled finder was trained with were left out."""
    finders: list[str]


@dataclass(frozen=True)
class FindCounts:
    """How much was read, and what was left out."""

    texts: int
    rows_without_text: int
    texts_with_names: int
    people: int
    mentions: int
    draws: int
    recased_draws: int
    """Draws that were also read with their names in lower and in upper case."""
    countries: int
    countries_left_out: list[str]
    """Countries with too few names."""
    copies: int = 0
    """Rows left out because they repeat another text but for names, numbers and case."""


@dataclass(frozen=True)
class Share:
    """The share of a country's mentions with one outcome, from 0 to 1, averaged over renamed texts."""

    value: Number
    low: Number
    """Lower end of the 95 % interval over texts and names."""
    high: Number
    against_mean: Estimate
    """Minus the mean of countries; p-values are adjusted over countries."""
    simultaneous_low: Number
    """Of the difference from the mean: bounds that hold for all countries at once with 95 % probability."""
    simultaneous_high: Number


@dataclass(frozen=True, kw_only=True)
class CountryRecall:
    """What became of the mentions with names of one country. The four shares sum to 1."""

    country: str
    code: str
    recall: Share
    """Marked as a person, with correct boundaries."""
    partial: Share
    """Overlaps a span marked as a person that has other boundaries."""
    wrong_type: Share
    """Overlaps only spans marked as something else: a place, an organisation."""
    misses: Share
    """Overlaps nothing that is marked."""
    names: dict[str, int]
    """Different names of each kind that were shown: male, female, last."""


@dataclass(frozen=True)
class LowestRecall:
    """The lowest recall of all countries, with bounds that hold for all at once."""

    value: float
    low: Number
    high: Number
    country: str
    """Its code."""


@dataclass(frozen=True)
class RecallGap:
    """The highest minus the lowest recall, with bounds from those that hold for all countries at once."""

    value: float
    low: Number
    high: Number
    highest: str
    """The code of the country with the highest recall."""
    lowest: str


@dataclass(frozen=True, kw_only=True)
class FactorLevel:
    """The recall of mentions that have something in common, over all countries."""

    factor: str
    """gender, part, case or script."""
    level: str
    mentions: int
    """Renamed mentions."""
    recall: Interval
    partial: Number
    wrong_type: Number
    misses: Number
    difference: Estimate | None
    """Recall minus that of the factor's first level; null for that level. Adjusted over all factors."""

    @property
    def title(self) -> str:
        """The level in words: "name in lower case"."""
        return LEVEL_TITLES.get((self.factor, self.level), f"{self.level} {self.factor}")


@dataclass(frozen=True)
class OriginalTexts:
    """The finder on the original texts, against their marks."""

    recall: Interval
    """Share of mentions marked with correct boundaries, averaged over texts."""
    precision: Interval
    """Share of spans marked as a person that are one, with correct boundaries."""
    predictions: int
    """What is marked as a person; handles, hashtags and links are not counted."""
    mentions: int


@dataclass(frozen=True)
class NameRecall:
    """One name of one country."""

    name: str
    country: str
    code: str
    kind: str
    """male, female or last."""
    mentions: int
    """Renamed mentions that show it, alone or with another name."""
    recall: float


@dataclass(frozen=True, kw_only=True)
class FinderMeasures:
    """Every number of one finder."""

    model: ModelIdentity
    recall: Interval
    """The mean of countries."""
    detectable_difference: Number
    """The smallest difference of a country from the mean that this run detects with 80 % power."""
    any_country_p: Number
    """That recall differs between countries at all: the smallest adjusted p-value."""
    lowest: LowestRecall
    gap: RecallGap
    countries: list[CountryRecall]
    factors: list[FactorLevel]
    originals: OriginalTexts
    weakest_names: list[NameRecall]
    """Names with the lowest recall, of those with enough mentions; no more than 20."""

    @property
    def ranked_countries(self) -> list[CountryRecall]:
        """From the lowest recall to the highest."""
        return sorted(self.countries, key=lambda country: country.recall.value or 0)

    @property
    def standing_out(self) -> list[CountryRecall]:
        """Countries whose recall differs from the mean of countries, and does not only mirror that of others."""
        ranked = self.ranked_countries
        marks = find_standing_out([country.recall.against_mean for country in ranked])
        return [country for country, stands_out in zip(ranked, marks, strict=True) if stands_out]

    def country_name(self, code: str) -> str:
        return next(country.country for country in self.countries if country.code == code)


@dataclass(frozen=True, kw_only=True, repr=False)
class FindResult(AuditResult):
    """Whose names finders of people recognise.

    Attributes
    ----------
    schema_version : int
        Version of the format of results.json.
    audit : str
        Name of the audit.
    settings : object
        Everything that identifies the run.
    findings : list of Finding
        The conclusions: the overall answer for each model, then details, then cautions.
    nondeterministic_models : list of NondeterministicModel
        Models that gave other answers to the same texts when they were asked twice.
    versions : dict of str
        Versions of Python and of the packages that can change a number.
    work : dict of int
        How much was computed rather than read from the store. Not saved.
    folder : Path or None
        Where the run is saved.
    models : list of ModelIdentity
        The finders.
    counts : FindCounts
        Numbers of texts, people, mentions and countries, and what was left out.
    finders : list of FinderMeasures
        For each finder: `countries`, with recall, partial matches, wrong types and misses; `lowest`, `gap`, `factors`,
        `originals`, `weakest_names`.
    has_enough_texts : bool
        Whether at least five texts name somebody: numbers of fewer are not shown.
    design : object
        The renamed texts. Not saved.
    answers : tuple of FinderAnswers
        What became of every mention. Not saved.

    Notes
    -----
    Returned by `audit_finders`. Printing it shows the findings.

    Examples
    --------
    >>> result = geobias.audit_finders(out="runs/find")  # doctest: +SKIP
    >>> result.finders[0].gap  # doctest: +SKIP
    """

    audit: Literal["find"] = "find"
    settings: FindSettings
    models: list[ModelIdentity]
    counts: FindCounts
    finders: list[FinderMeasures]
    design: Annotated[Any, *NOT_SAVED] = field(default=None, repr=False, compare=False)
    answers: Annotated[tuple[FinderAnswers, ...], *NOT_SAVED] = field(default=(), repr=False, compare=False)

    @property
    def model_identities(self) -> list[ModelIdentity]:
        return self.models

    @property
    def has_enough_texts(self) -> bool:
        return self.counts.texts_with_names >= FEWEST_TEXTS_SHOWN

    def summarise(self) -> Iterator[str]:
        counts, names = self.counts, [entry.model.short_name for entry in self.finders]
        yield (
            f"{listed(names)} on {counts.texts_with_names:,} texts{describe_copies(counts.texts, counts.copies)} with "
            f"names of {counts.countries} countries, {counts.draws} draws each"
        )

    def list_tidy_rows(self) -> Iterator[dict[str, Any]]:
        """The share of every outcome by country, absolute and against the mean of countries."""
        for outcome in OUTCOMES:
            for entry in self.finders:
                for country in entry.countries:
                    place = {"model": entry.model.name, "country": country.country, "code": country.code}
                    share: Share = getattr(country, outcome)
                    value, difference = (share, share.against_mean) if self.has_enough_texts else (NO_ESTIMATE,) * 2
                    yield tidy_row(place, outcome, value)
                    yield tidy_row(place, outcome, difference, against="mean of countries")

    def get_design(self) -> FindDesign:
        """The design of a result that was just measured."""
        assert self.design is not None
        design: FindDesign = self.design
        return design
