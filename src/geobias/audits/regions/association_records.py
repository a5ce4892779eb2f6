"""What results.json holds of the association of regions and words."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated

from geobias.measures.association import VarianceShares
from geobias.measures.estimates import Estimate, Estimates
from geobias.report.results import NOT_SAVED, Interval


@dataclass(frozen=True)
class AssociationWord:
    """A word, and how favourable it is."""

    word: str
    topic: str
    part_of_speech: str
    valence: float | None
    """Mean rating from -4 (unfavourable) to 4 (favourable), by VADER's raters or by the user; null if not rated."""


@dataclass(frozen=True)
class WordAssociation:
    """One word of one region."""

    word: str
    times: Estimate
    """How many times as likely as of the average region, relative to other words. The 95 % interval is of this pair
    alone, over paraphrases and what a name alone may do; p against invented and, where fame can be held fixed, known
    places, adjusted for all regions and words."""


@dataclass(frozen=True)
class RegionAssociation:
    """What a model says of one region more, and less, than of others."""

    id: str
    name: str
    level: str
    score: float | None
    """How differently its sub-regions are described: HERB's balanced C_w of their associations; null for a leaf."""
    strength: float
    """Root mean square of its associations over words, in nats."""
    distinctness: Estimate | None
    """The strength divided by that of the average invented place; p one-sided, adjusted for all regions; null without
    invented places."""
    valence: Estimate | None
    """How many times as likely favourable words are, relative to unfavourable ones, as of the average region. The 95 %
    interval is of this region alone, over words, paraphrases and what a name alone may do; p as for single words. Null
    if fewer than three words of either kind are rated."""
    topics: dict[str, Estimate]
    """The words of each topic: times as likely as of the average region, relative to other words; adjusted for all
    regions and topics."""
    more: list[WordAssociation]
    """The words that are most typical of the region, those beyond invented places first."""
    less: list[WordAssociation]


@dataclass(frozen=True)
class StandsOut:
    """A region whose associations are longer than those of invented and of known places."""

    id: str
    name: str
    p_adjusted: float
    """For all regions (Bonferroni), the larger of both comparisons."""


@dataclass(frozen=True)
class AssociationSignal:
    """How much more regions have associations than other places, in nats, whatever the wording (signed roots)."""

    beyond_names: Estimate
    """More than invented places: more than a name."""
    beyond_fame: Estimate | None
    """More than known places that are no countries, with fame held fixed; null without them."""
    fame_share: float | None
    """The share of the associations of regions that goes with fame, from 0 to 1."""
    known_places: int
    overlap: float | None
    """Share of regions whose bare name is as likely as those of known places."""
    comparable_names: float
    """Share of regions whose name has as many tokens as some invented one; 1 where the scorer counts none."""
    comparable_known: float | None
    """The same of known places."""
    proxies: list[str]
    """What fame is measured by."""
    p_names: float
    """The smallest p-value against invented places of all kinds of test, multiplied by their number."""
    p_regions: float | None
    """The smallest adjusted p-value of a single region."""
    standing_out: list[StandsOut]


@dataclass(frozen=True)
class Association:
    """The interaction of region and word: which words a model uses more of one region than of others."""

    level: str
    """The regions that are compared with each other."""
    subject: str
    """region ("people in Kenya"), demonym ("Kenyans") or both."""
    paraphrases: int
    words: list[AssociationWord]
    variance: VarianceShares
    ratio: Estimate | None
    """Root mean square association of regions divided by that of invented places; training alone moves it."""
    permuted: float | None
    """How far apart regions of one parent lie, divided by what randomly permuted words would give."""
    agreement: float | None
    """Reliability of the mean over paraphrases, from 0 to 1."""
    subject_agreement: float | None
    """Correlation of the associations of demonyms with those of regions, if both were scored."""
    invented_times: float | None
    """How many times as likely, or as unlikely, 1 in 20 words is of invented places at least."""
    detectable_times: float | None
    """The smallest association of a single word that would be marked with a power of 80 %; null without invented
    places, and where the words are too few for any to be marked."""
    valence_worst: Interval | None
    """The valence of a region that is farthest from 1 in either direction, as times of at least 1, with bounds for all
    regions at once."""
    tests: int
    """Number of pairs of region and word."""
    marked: int
    """Pairs beyond invented places (adjusted p < 0.05)."""
    without_demonym: list[str]
    """Regions that were left out because there is no usual word for their people."""
    regions: list[RegionAssociation]
    signal: AssociationSignal | None = None
    """Against invented places, and against known places with fame held fixed; null without invented places."""
    estimates: Annotated[Estimates | None, *NOT_SAVED] = field(default=None, repr=False, compare=False)


def list_compared(association: Association) -> list[RegionAssociation]:
    """The regions of the level that is compared, in the order of `estimates`."""
    return [region for region in association.regions if region.level == association.level]
