"""The rows of a regions result: scores of regions, what is said of each, correlations with names, known stereotypes."""

from __future__ import annotations

from dataclasses import dataclass
from math import log

from geobias.measures.association import VarianceShares
from geobias.measures.association_signal import LEAST_OVERLAP
from geobias.measures.estimates import SIGNIFICANT, Estimate
from geobias.report.results import Interval


@dataclass(frozen=True, kw_only=True)
class RegionScores:
    """HERB's scores of one region. A leaf's is its distance to its siblings' centroid: do not rank it with the others.

    In the form `balanced`, scores are weighted mean distances, comparable between regions; in that of the paper they
    are divided by the number of pairs once more. A region with a single sub-region has none. Intervals are over words.
    """

    id: str
    name: str
    in_sentence: str | None
    """The name as sentences have it ("the United States"); null where that is the name."""
    level: str
    """earth, continent, country or city; in a tree of the user's root, level 1, level 2, ..."""
    parent: str | None
    """Its id."""
    parent_index: int | None
    """The position of the parent in this list; ids are unique within a level only."""
    children: int
    """Number of sub-regions; 0 for a leaf."""
    c_w_balanced: Estimate
    """p-values are against random sets of as many regions of the same level."""
    c_w_paper: Estimate
    c_z_balanced: Estimate
    c_z_paper: Estimate
    flat: Estimate | None
    """The mean distance over everything below the region, without the hierarchy; null for a leaf."""
    sparseness: float | None
    """The mean distance between its sub-regions (Eq. 3); null for a leaf."""
    c_w_balanced_spread: float | None
    """The standard deviation over the templates; null with a single one."""
    random_mean: float | None
    """Mean balanced C_w of the random sets; null where there are none to compare with."""
    rank: Interval | None
    """Among the regions directly below the root (1 is the highest), with its 95 % interval over words."""
    influential: str | None
    """The sub-region whose absence changes balanced C_w most."""
    c_w_without_it: float | None
    """Balanced C_w without that sub-region."""
    distance: Estimate | None
    """Of a country: how far it lies from the mean of its continent's countries; p against the mean of all countries."""
    association_score: float | None
    """How differently the words of its sub-regions are: HERB's balanced C_w of their associations."""

    @property
    def is_leaf(self) -> bool:
        return self.children == 0

    @property
    def has_pairs(self) -> bool:
        return self.children > 1

    @property
    def stands_out(self) -> bool:
        """Whether its sub-regions lie further apart or closer together than random ones."""
        return self.c_w_balanced.p_adjusted is not None and self.c_w_balanced.p_adjusted < SIGNIFICANT

    @property
    def ratio(self) -> float | None:
        """The score divided by that of random sets: above 1, its sub-regions lie further apart."""
        return self.c_w_balanced.value / self.random_mean if self.c_w_balanced.value and self.random_mean else None

    @property
    def departure(self) -> float:
        """How far from random sets, alike closer together and further apart."""
        return abs(log(self.ratio)) if self.ratio else 0.0

    @property
    def is_sparser(self) -> bool:
        return (self.c_w_balanced.value or 0.0) > (self.random_mean or 0.0)


@dataclass(frozen=True)
class NameCorrelation:
    """Spearman correlation, over the regions of a level, of the distance to the siblings with a trait of the name."""

    level: str
    regions: int
    trait: str
    """tokens, name_likelihood, or norm: that of the vector before it is normalised."""
    correlation: Estimate

    @property
    def size(self) -> float:
        return abs(self.correlation.value or 0.0)


@dataclass(frozen=True)
class Placebo:
    """Invented places beside the real ones of a level: how far names alone lie apart (Eq. 3)."""

    level: str
    names: list[str]
    tokens: float | None
    """Mean number of tokens of the invented names; null where the scorer counts none."""
    real_tokens: float | None
    invented: Estimate
    real: Estimate
    ratio: Estimate | None
    """Invented divided by real."""


@dataclass(frozen=True)
class TemplateAgreement:
    """Kendall's W: whether the templates rank the regions of a level alike."""

    level: str
    by: str
    """"c_w" for inner regions, "distance" (to the siblings' centroid) for leaves."""
    regions: int
    w: float | None
    """0 for no agreement, 1 for the same order."""
    p: float | None


@dataclass(frozen=True)
class ScoredWord:
    """A word, and how favourable it is."""

    word: str
    topic: str
    part_of_speech: str
    valence: float | None
    """Mean rating from -4 (unfavourable) to 4 (favourable), by VADER's raters or by the user; null if not rated."""


@dataclass(frozen=True, kw_only=True)
class TopicAssociation:
    """The words of one topic of one region."""

    id: str
    name: str
    level: str
    topic: str
    times: Estimate
    """How many times as likely as of the average region, relative to other words; p-values are adjusted for all regions
    and topics, of single words for all regions and words."""

    @property
    def subject(self) -> str:
        return self.topic


@dataclass(frozen=True, kw_only=True)
class WordAssociation(TopicAssociation):
    """One word of one region. The 95 % interval is of this pair alone, over paraphrases and what a name alone may do.

    p is against invented places and, where fame can be held fixed, against known places.
    """

    word: str
    word_valence: float | None

    @property
    def subject(self) -> str:
        return self.word


@dataclass(frozen=True)
class RegionAssociation:
    """What a model says of one region, all words together."""

    id: str
    name: str
    level: str
    strength: float
    """Root mean square of its associations over words, in nats."""
    distinctness: Estimate | None
    """The strength divided by that of the average invented place; p one-sided, adjusted for all regions; null without
    invented places."""
    valence: Estimate | None
    """How many times as likely favourable words are, relative to unfavourable ones, as of the average region. The 95 %
    interval is of this region alone, over words, paraphrases and what a name alone may do; p as for single words. Null
    if fewer than three words of either kind are rated."""
    p_adjusted: float | None
    """Of its associations being longer than those of invented and of known places, the larger of both; for all regions
    (Bonferroni). Null without invented places."""

    subject = ""

    @property
    def times(self) -> Estimate:
        assert self.valence is not None
        return self.valence


@dataclass(frozen=True)
class AssociationSignal:
    """How much more regions have associations than other places, in nats, whatever the wording (signed roots)."""

    beyond_names: Estimate
    """More than invented places: more than a name."""
    beyond_fame: Estimate | None
    """More than known places that are no countries, with fame held fixed; null without them."""
    fame_share: float | None
    """The share of the associations of regions that goes with fame, from 0 to 1."""
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
    p_together: float
    """Of all regions together: several that stand out a little are clearer than the clearest by itself."""

    @property
    def can_tell(self) -> bool:
        """Whether country and fame can be told apart."""
        return self.overlap is not None and self.overlap >= LEAST_OVERLAP


@dataclass(frozen=True)
class Association:
    """The interaction of region and word as a whole: whether a model uses some words more of one region than others."""

    level: str
    """The regions that are compared with each other."""
    subject: str
    """region ("people in Kenya"), demonym ("Kenyans") or both."""
    paraphrases: int
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
    signal: AssociationSignal | None = None
    """Against invented places, and against known places with fame held fixed; null without invented places."""

    @property
    def noun(self) -> str:
        """A level in the singular; those of a user's tree are regions."""
        return "region" if self.level.startswith("level ") else self.level

    @property
    def controls(self) -> str:
        """The places that the tests of words, tones and topics compare with."""
        return "invented and known places" if self.signal and self.signal.can_tell else "invented places"

    @property
    def is_tested(self) -> bool:
        """Whether there were invented places to compare with."""
        return self.invented_times is not None


@dataclass(frozen=True)
class KnownCountry:
    """How well the associations of one country separate its stereotypes from its other pairs."""

    code: str
    name: str
    stereotypes: int
    others: int
    auc: Estimate
    """Its 95 % interval is over attributes (Newcombe 2006); p against 0.5, adjusted for all countries."""


@dataclass(frozen=True)
class KnownViews:
    """Whose votes the associations follow, without countries whose own region is North America."""

    pairs: int
    region: Estimate
    """AUC by the votes of annotators from the country's region."""
    north_america: Estimate
    """AUC by the votes of annotators in North America, with roots in the region."""
    difference: Estimate
    """The first minus the second, on the same pairs and with the same weights."""


@dataclass(frozen=True)
class KnownOffensive:
    """How strongly a model associates countries with offensive attributes."""

    pairs: int
    """Pairs whose attribute is rated as offensive (2 or more on average)."""
    inoffensive_pairs: int
    """Pairs whose attribute every rater calls not offensive (-1)."""
    times: Estimate
    """How many times as likely offensive attributes are of their countries as of the average country, relative to other
    attributes (geometric mean)."""
    inoffensive_times: Estimate
    ratio: Estimate
    """Offensive attributes divided by others, within countries."""


@dataclass(frozen=True)
class KnownStereotypes:
    """How well a model's associations separate what people call stereotypes from other pairs (SeeGULL)."""

    pairs: int
    """Pairs of a country and an attribute."""
    stereotypes: int
    """Pairs that most annotators call a stereotype."""
    countries: int
    attributes: int
    sentences_cut: int
    """Longer than the model takes."""
    auc: Estimate
    """Stereotypes against other pairs of the same country; p against 0.5."""
    interval_over: str
    """What the intervals are over: "countries and attributes", or "attributes" of fewer than five countries."""
    detectable_auc: float | None
    """The AUC that would be told from 0.5 with a power of 80 %."""
    auc_within_attributes: Estimate
    """Countries of which people call an attribute a stereotype against others of the same attribute."""
    views: KnownViews | None
    """Null if no pair has votes of both groups."""
    offensive: KnownOffensive | None
    """Null without pairs of both kinds."""
    without_demonym: list[str]
    """Countries that were left out because there is no usual word for their people."""
    is_subset: bool
    """Whether it is the fixed subset of local models; --known scores all pairs."""
