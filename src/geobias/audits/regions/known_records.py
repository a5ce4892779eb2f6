"""What results.json holds of the comparison with known stereotypes. No attribute is in it unless the user asks."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated

import numpy as np

from geobias.measures.estimates import Estimate
from geobias.report.results import NOT_SAVED
from geobias.world.words import KnownStereotype


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
    """The same of attributes that are not offensive."""
    ratio: Estimate
    """Offensive attributes divided by others, within countries."""


@dataclass(frozen=True)
class OffensivePair:
    """An offensive attribute that the model associates with a country."""

    code: str
    name: str
    attribute: str
    times: float
    """How many times as likely as of the average country, relative to other attributes."""
    is_stereotype: bool
    """Whether most annotators call it a stereotype."""
    offensiveness: float


@dataclass(frozen=True)
class KnownStereotypes:
    """How well a model's associations separate what people call stereotypes from other pairs (SeeGULL)."""

    pairs: int
    """Pairs of a country and an attribute."""
    stereotypes: int
    """Pairs that most annotators call a stereotype."""
    countries: int
    attributes: int
    sentences: int
    sentences_cut: int
    """Longer than the model takes."""
    templates: list[str]
    panel_countries: list[str]
    """Codes of the countries whose mean is subtracted from each attribute."""
    panel_attributes: int
    """Number of attributes whose mean is subtracted from each country."""
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
    by_country: list[KnownCountry]
    """Countries with at least ten pairs of each kind."""
    without_demonym: list[str]
    """Countries that were left out because there is no usual word for their people."""
    top_offensive: list[OffensivePair] | None = None
    """The offensive attributes with the largest associations; null unless the user asks for them."""
    is_subset: bool = False
    """Whether it is the fixed subset of local models; --known scores all pairs."""
    stereotype_pairs: Annotated[tuple[KnownStereotype, ...], *NOT_SAVED] = field(default=(), repr=False, compare=False)
    associations: Annotated[np.ndarray | None, *NOT_SAVED] = field(default=None, repr=False, compare=False)
    """Of each of `stereotype_pairs`, in nats."""
