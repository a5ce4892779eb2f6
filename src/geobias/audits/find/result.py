"""What an audit of finders measures, as flat tables: for each finder and country, the share of its names recognised."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, ClassVar, Literal

from geobias.audits.find.answers import OUTCOMES, FinderAnswers
from geobias.audits.inputs import TextsSettings, describe_copies
from geobias.measures.estimates import FEWEST_TEXTS_SHOWN, Estimate
from geobias.models.scorer import ModelIdentity
from geobias.report.results import NOT_SAVED, AuditResult, HasInterval, Interval, Number
from geobias.report.rows import Effect, Measured, list_tidy_rows
from geobias.report.tables import is_marked, listed

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


@dataclass(frozen=True, kw_only=True)
class OutcomeShare(Effect):
    """The share of a country's mentions with one outcome, averaged over renamed texts.

    `label` is the outcome: recall (marked as a person, with correct boundaries), partial (overlaps a person that has
    other boundaries), wrong_type (overlaps only what is marked as something else) or misses (overlaps nothing). The
    four shares of a country sum to 1.
    """

    unit: ClassVar[str] = "percentage points"

    share: Annotated[Interval, Measured()]
    """From 0 to 1; the interval is over texts and names."""
    against_mean: Annotated[Estimate, Measured("mean of countries")]
    """Minus the mean of countries; p-values are adjusted over countries."""
    fewest_names: int
    """Different names that were shown of the kind (male, female, last) that has the fewest."""

    @property
    def estimate(self) -> Estimate:
        return replace(self.against_mean, **to_percent(self.against_mean))


@dataclass(frozen=True, kw_only=True)
class FinderMeasures:
    """What sums up one finder."""

    model: str
    recall: Interval
    """The mean of countries."""
    lowest: Interval
    """The lowest recall of all countries; its bounds hold for all of them at once."""
    gap: Interval
    """The highest minus the lowest recall, with bounds from those that hold for all countries at once."""
    detectable_difference: Number
    """The smallest difference of a country from the mean that this run detects with 80 % power."""
    original_recall: Interval
    """Share of mentions of the original texts that are marked with correct boundaries, averaged over texts."""
    precision: Interval
    """Share of what is marked as a person in the original texts that is one, with correct boundaries; handles, hashtags
    and links are not counted."""


@dataclass(frozen=True, kw_only=True)
class FactorLevel:
    """The recall of mentions that have something in common, over all countries."""

    model: str
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

    @property
    def is_marked(self) -> bool:
        return self.difference is not None and is_marked(self.difference)

    @property
    def value(self) -> float:
        """Of the difference."""
        return (self.difference.value if self.difference else None) or 0.0


@dataclass(frozen=True)
class NameRecall:
    """One name of one country."""

    model: str
    name: str
    country: str
    code: str
    kind: str
    """male, female or last."""
    mentions: int
    """Renamed mentions that show it, alone or with another name."""
    recall: float


@dataclass(frozen=True, kw_only=True, repr=False)
class FindResult(AuditResult):
    """Whose names finders of people recognise: returned by `audit_finders`.

    Examples
    --------
    >>> result = geobias.audit_finders(out="runs/find")  # doctest: +SKIP
    >>> result.finders[0].lowest  # doctest: +SKIP
    """

    audit: Literal["find"] = "find"
    settings: FindSettings
    models: list[ModelIdentity]
    """The finders."""
    counts: FindCounts
    """Numbers of texts, people, mentions and countries, and what was left out."""
    finders: list[FinderMeasures]
    """What sums up each finder."""
    effects: list[OutcomeShare]
    """What becomes of the names of each country: the rows of `to_frame`."""
    factors: list[FactorLevel]
    """Recall by gender, part of the name, case and script."""
    weakest_names: list[NameRecall]
    """Of each finder the names with the lowest recall, of those with enough mentions; no more than 20."""
    names: Annotated[list[NameRecall], *NOT_SAVED] = field(default_factory=list, repr=False, compare=False)
    """Every name, for tables/names.csv. Not saved here."""
    design: Annotated[Any, *NOT_SAVED] = field(default=None, repr=False, compare=False)
    """The renamed texts. Not saved."""
    answers: Annotated[tuple[FinderAnswers, ...], *NOT_SAVED] = field(default=(), repr=False, compare=False)
    """What became of every mention. Not saved."""

    @property
    def has_enough_texts(self) -> bool:
        """Whether at least five texts name somebody: numbers of fewer are not shown."""
        return self.counts.texts_with_names >= FEWEST_TEXTS_SHOWN

    def list_effects(self, model: str, label: str = "recall") -> list[OutcomeShare]:
        """Those of all countries."""
        return [row for row in self.effects if (row.model, row.label) == (model, label)]

    def summarise(self) -> Iterator[str]:
        counts, names = self.counts, [model.short_name for model in self.models]
        yield (
            f"{listed(names)} on {counts.texts_with_names:,} texts{describe_copies(counts.texts, counts.copies)} with "
            f"names of {counts.countries} countries, {counts.draws} draws each"
        )

    def list_tidy_rows(self) -> Iterator[dict[str, Any]]:
        """The share of every outcome by country, absolute and against the mean of countries."""
        for outcome in OUTCOMES:
            rows = [row for row in self.effects if row.label == outcome]
            for row in list_tidy_rows(rows, too_few=not self.has_enough_texts):
                yield row | {"measure": outcome, "label": None}


def to_percent(share: HasInterval) -> dict[str, float | None]:
    """The value and the interval of a share, in per cent."""
    values = {"value": share.value, "low": share.low, "high": share.high}
    return {name: None if value is None else 100 * value for name, value in values.items()}
