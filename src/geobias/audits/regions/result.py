"""What a regions audit measures, as flat tables: for every region, how differently the model describes its sub-regions.

And, by paraphrases, which words it uses more of one region than of others.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from math import log
from typing import Annotated, Any, Literal

import numpy as np

from geobias.audits.regions.answers import RegionsAnswers, RegionsCounts, read_associations, read_likelihoods
from geobias.audits.regions.rows import (
    Association,
    KnownCountry,
    KnownStereotypes,
    NameCorrelation,
    Placebo,
    RegionAssociation,
    RegionScores,
    ScoredWord,
    TemplateAgreement,
    TopicAssociation,
    WordAssociation,
)
from geobias.checks import describe_choices
from geobias.errors import InputError
from geobias.measures.association_signal import FEWEST_PARAPHRASES
from geobias.measures.estimates import SIGNIFICANT, Estimate, Estimates
from geobias.measures.grouping import GroupingTest
from geobias.models.scorer import ModelIdentity
from geobias.report.results import NOT_SAVED, AuditResult, Interval
from geobias.report.rows import tidy_row
from geobias.report.tables import digits, format_interval, is_marked
from geobias.world.countries import UN_STATES
from geobias.world.regions import Region, RegionTree

Claim = WordAssociation | TopicAssociation | RegionAssociation  # of a region: a word, a topic, or its tone
BALANCED = "c_w.balanced"  # the main score
HERB_WORDS = "herb"  # in the settings, for the words of the paper
# Of `to_frame`; fields have "_" in place of ".".
MEASURES = ("c_w.balanced", "c_w.paper", "c_z.balanced", "c_z.paper", "flat", "sparseness", "association.score")


@dataclass(frozen=True)
class RegionsSettings:
    """What makes two runs the same."""

    words: str | list[list[str]]
    """"herb" for the 112 words of the paper, or pairs of word and topic."""
    templates: list[str]
    regions_digest: str
    """Tells other trees of regions apart."""
    model: str
    score: str
    cities: int | str | None = None
    """Cities per country, or "all"; null, like the next two, for a tree of the user's."""
    continents: list[str] | None = None
    countries: list[str] | str | None = None
    """Codes, or "all"."""
    tree: str | None = None
    """The file of the user's regions."""
    placebo: int | None = None
    """How many invented places were scored."""
    paraphrases: int | None = None
    """Paraphrases of the sentence, for associations; null without them."""
    subject: str | None = None
    """Whom the paraphrases are about: region, demonym or both."""
    known: bool = False
    """Whether known stereotypes were scored."""


@dataclass(frozen=True, kw_only=True, repr=False)
class RegionsResult(AuditResult):
    """How differently one model, by one score, describes the regions of the world: returned by `audit_regions`.

    Examples
    --------
    >>> result = geobias.audit_regions(cities=0, out="runs/regions")  # doctest: +SKIP
    >>> result.region("Africa").c_w_balanced.value  # doctest: +SKIP
    """

    audit: Literal["regions"] = "regions"
    settings: RegionsSettings
    model: ModelIdentity
    """The language model."""
    counts: RegionsCounts
    """Numbers of regions and sentences, and what was cut."""
    regions: list[RegionScores] = field(repr=False)
    """HERB's scores of each region, from the root down."""
    scored_words: list[ScoredWord] = field(repr=False)
    """The words."""
    tokenisation: list[NameCorrelation] = field(repr=False)
    """Correlations of the distances with the tokens and the likelihood of the names, the highest level first."""
    grouping: GroupingTest | None = field(default=None, repr=False)
    """Whether regions of one parent lie closer together than random ones, at the highest level that has two parents."""
    association: Association | None = field(default=None, repr=False)
    """How much the words depend on the region; null where associations were not measured."""
    region_associations: list[RegionAssociation] = field(default_factory=list, repr=False)
    """Strength and valence of each region that is compared; in the same order in the two lists below."""
    topic_associations: list[TopicAssociation] = field(default_factory=list, repr=False)
    associations: list[WordAssociation] = field(default_factory=list, repr=False)
    """The six likeliest and the six least likely words of each region, those beyond invented places first."""
    known: KnownStereotypes | None = field(default=None, repr=False)
    """How well the associations separate what people call stereotypes from other pairs."""
    known_countries: list[KnownCountry] = field(default_factory=list, repr=False)
    """The same for countries with at least ten pairs of each kind."""
    placebo: Placebo | None = field(default=None, repr=False)
    """The distances between invented places."""
    kendall_w: list[TemplateAgreement] = field(default_factory=list, repr=False)
    """Agreement of the templates; empty with a single template."""
    omissions: list[str] = field(default_factory=list, repr=False)
    """What was not tested, and why."""
    answers: Annotated[RegionsAnswers | None, *NOT_SAVED] = field(default=None, repr=False, compare=False)
    """The log-likelihoods. Not saved."""
    word_differences: Annotated[np.ndarray | None, *NOT_SAVED] = field(default=None, repr=False, compare=False)
    """How much the sub-regions of each region differ in each word (Eq. 6). Not saved: tables/words.csv has them."""
    estimates: Annotated[Estimates | None, *NOT_SAVED] = field(default=None, repr=False, compare=False)
    """All associations, in nats. Not saved."""
    known_pairs: Annotated[list[dict[str, Any]], *NOT_SAVED] = field(default_factory=list, repr=False, compare=False)
    """The rows of tables/known.csv. Not saved."""

    @property
    def model_identities(self) -> list[ModelIdentity]:
        return [self.model]

    @property
    def label(self) -> str:
        """The model and the score in a sentence: several scores of one model may be shown together."""
        return f"{self.model.short_name} ({self.model.score})"

    @property
    def tree(self) -> RegionTree:
        """The regions as a tree."""
        rows = self.regions
        return RegionTree(tuple(Region(r.id, r.name, r.level, r.parent_index, r.in_sentence or "") for r in rows))

    @property
    def likelihoods(self) -> np.ndarray:
        """Log-likelihoods of all sentences: templates x regions x words; the root's row is NaN."""
        return read_likelihoods(self)[0] if self.answers is None else self.answers.likelihoods

    @property
    def name_likelihoods(self) -> np.ndarray:
        """The log-likelihood of each region's bare name."""
        return read_likelihoods(self)[1] if self.answers is None else self.answers.name_likelihoods

    @property
    def all_associations(self) -> Estimates:
        """Every association in nats: `region_associations` x `scored_words`."""
        return self.estimates or read_associations(self)

    @property
    def top_regions(self) -> list[RegionScores]:
        """The highest region that has sub-regions to compare, and those directly below it that have some too."""
        with_pairs = [row for row, region in enumerate(self.regions) if region.has_pairs]
        if not with_pairs:
            return []
        parents = {with_pairs[0], self.regions[with_pairs[0]].parent_index} - {None}
        rows = [row for row in with_pairs if row == with_pairs[0] or self.regions[row].parent_index in parents]
        return [self.regions[row] for row in rows]

    @property
    def is_of_all_countries(self) -> bool:
        """Whether countries that are none of the United Nations are in it by no choice of the user's."""
        return self.settings.countries == "all"

    def region(self, name: str) -> RegionScores:
        """Return one region by id or name; of several at different levels, the highest.

        Parameters
        ----------
        name : str
            Such as "Africa", "AF" or "France".

        Returns
        -------
        RegionScores
            Its scores.

        Raises
        ------
        InputError
            If there is no such region, or several at one level.
        """
        matches = [region for region in self.regions if name in (region.id, region.name)]
        if not matches:
            choices = describe_choices(name, [region.name for region in self.regions])
            raise InputError(f"This result has no region {name!r}. {choices}")
        same_level = [region for region in matches if region.level == matches[0].level]
        if len(same_level) > 1:
            ids = ", ".join(f"{region.id} (in {region.parent})" for region in same_level)
            raise InputError(f"{len(same_level)} regions have the name {name!r}. Use one of the ids: {ids}.")
        return matches[0]

    @property
    def caps(self) -> list[str]:
        """Why the answer about associations cannot be clear, whatever the model does: there are too few wordings."""
        count = FEWEST_PARAPHRASES if self.association is None else self.association.paraphrases
        if count >= FEWEST_PARAPHRASES:
            return []
        wordings = "one wording" if count == 1 else f"{count} wordings"
        return [f"{wordings}: associations are at most suggestive. Use --paraphrases {FEWEST_PARAPHRASES} or more."]

    def summarise(self) -> Iterator[str]:
        """What was audited, its size, and balanced C_w of the highest region that has one."""
        yield (
            f"{self.model.short_name} by {self.model.score} on {self.counts.regions - 1:,} regions, "
            f"{len(self.scored_words)} words, {len(self.settings.templates)} template(s)"
        )
        association = self.association
        if association is not None:
            strength = "not compared with invented places"
            if association.signal is not None and association.signal.beyond_names.value is not None:
                more = association.signal.beyond_names
                bounds = "" if more.low is None else f" (95 %: {format_interval(more, '+.2f')})"
                strength = f"{more.value:+.2f} nats more than invented places{bounds}"
            yield (
                f"Associations of {len(self.region_associations):,} {pluralise(association.level)} with words, "
                f"{association.paraphrases} paraphrases: {strength}, {association.marked:,} of {association.tests:,} "
                "pairs marked"
            )
        region = next((region for region in self.regions if region.has_pairs), None)
        if region is None:
            yield "No region has two sub-regions to compare, so there is no C_w"
            return
        c_w = region.c_w_balanced
        bounds = "no interval" if c_w.low is None else format_interval(c_w, ".4g")
        yield f"{region.name}: balanced C_w {digits(c_w.value)} (95 %: {bounds})"

    def list_tidy_rows(self) -> Iterator[dict[str, Any]]:
        """Balanced C_w of every region, then all other measures; what a region has no value for is left out."""

        def make(region: Any, measure: str, number: Any, against: str) -> dict[str, Any]:
            place = {"region": region.name, "code": region.id, "level": region.level}
            plain = Interval(number, None, None) if isinstance(number, float | int) else number
            return tidy_row({"model": self.model.name, **place}, measure, plain, against=against)

        for measure in MEASURES:
            for region in self.regions:
                value = getattr(region, measure.replace(".", "_"))
                if getattr(value, "value", value) is not None:
                    yield make(region, measure, value, "siblings" if region.is_leaf else "sub-regions")
        for country in self.known_countries:
            place = {"region": country.name, "code": country.code, "level": "country"}
            yield tidy_row({"model": self.model.name, **place}, "known.auc", country.auc, against="other pairs")
        against = f"average {self.association.noun}" if self.association else ""
        for each in self.region_associations:
            yield make(each, "association.strength", each.strength, against)
            if each.valence:
                yield make(each, "association.valence", each.valence, against)
        for row in self.topic_associations:
            yield make(row, f"association.topic.{row.topic}", row.times, against)


def pluralise(level: str) -> str:
    """The plural of a level; levels of a user's tree have numbers."""
    if level.startswith("level "):
        return f"regions at {level}"
    return f"{level[:-1]}ies" if level.endswith("y") else f"{level}s"


def list_p_values(result: RegionsResult) -> dict[str, float]:
    """The smallest adjusted p-value of each kind of test of associations; fewer associations are no evidence of bias.

    Nothing without invented places.
    """
    signal = result.association.signal if result.association else None
    if signal is None:
        return {}
    families: dict[str, Sequence[Claim]] = {
        "pairs": result.associations,
        "tones": list_tones(result),
        "topics": result.topic_associations,
    }
    p_values = {}
    compared = [signal.beyond_names, *([signal.beyond_fame] if signal.beyond_fame and signal.can_tell else [])]
    if all(each.p is not None for each in compared):
        p_values["signal"] = max(each.p or 0.0 if (each.value or 0) > 0 else 1.0 for each in compared)
    if signal.p_regions is not None:
        p_values["regions"] = signal.p_regions
    p_values["together"] = signal.p_together
    for name, rows in families.items():
        if tested := [row.times.p_adjusted for row in rows if row.times.p_adjusted is not None]:
            p_values[name] = min(tested)
    return p_values


def list_tones(result: RegionsResult) -> list[RegionAssociation]:
    return [row for row in result.region_associations if row.valence]


def list_standing_out(result: RegionsResult) -> list[RegionAssociation]:
    """The regions that stand out by all their words together, the clearest first."""
    rows = [row for row in result.region_associations if row.p_adjusted is not None and row.p_adjusted < SIGNIFICANT]
    return sorted(rows, key=lambda row: row.p_adjusted or 0.0)


def list_clear(result: RegionsResult, rows: Sequence[Claim]) -> list[Claim]:
    """The clearest row of each region that has one beyond invented places, the clearest first.

    States of the United Nations come first: other countries of GeoNames are mostly territories, which lead many
    rankings.
    """
    marked = [row for row in rows if is_marked(row.times)]
    by_region: dict[str, Claim] = {}
    for row in sorted(marked, key=lambda row: (is_territory(row), -measure_certainty(row.times))):
        by_region.setdefault(row.id, row)
    return list(by_region.values())


def is_territory(row: Claim) -> bool:
    return row.level == "country" and row.id not in UN_STATES


def measure_certainty(times: Estimate) -> float:
    """How far from the average region the nearer end of the interval is, in nats; the value if there is no interval."""
    if times.low is None or times.high is None:
        return measure_departure(times)
    return max(log(times.low), -log(times.high), 0.0)


def measure_departure(times: Estimate) -> float:
    """How far from the average region, in nats, in either direction."""
    return abs(log(times.value)) if times.value else 0.0
