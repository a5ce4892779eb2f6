"""Country or rarity: delta with the rarity of names held fixed, and names that several countries share."""

from __future__ import annotations

from dataclasses import dataclass

from geobias.measures.estimates import Estimate
from geobias.report.results import Number


@dataclass(frozen=True)
class RarityCovariate:
    """What rarity is measured by, in renamed texts."""

    name: str
    """tokens, surprisal (minus the log-probability of the text, in nats), characters or log-perplexity."""
    slope: Estimate
    """Points of delta for one unit more, between names of one country and gender in the same text."""


@dataclass(frozen=True)
class CountryRarity:
    """Delta of one country against the mean of countries: unadjusted, and adjusted for rarity."""

    country: str
    code: str
    covariates: dict[str, Number]
    """Means of the covariates, minus the mean of countries."""
    unadjusted: Estimate
    """Over the same renamed texts as the adjusted delta."""
    adjusted: Estimate
    explained: Estimate
    """Unadjusted minus adjusted: the slopes times the covariates."""


@dataclass(frozen=True, kw_only=True)
class RarityAdjustment:
    """How much of the countries' differences remains between names that are equally rare."""

    lm: str | None
    """The language model behind the covariates; null for characters alone."""
    texts: int
    draws: int
    """Draws of each text that have the covariates."""
    covariates: list[RarityCovariate]
    countries: list[CountryRarity]


@dataclass(frozen=True)
class NameSharing:
    """How many names of a country other countries of the audit have too."""

    names: int
    """Names in its lists."""
    shared: int
    """Of these, names that at least one other country has."""
    other_countries: int
    """Countries that have at least one of its names."""
    others_per_shared_name: Number
    """Mean number of other countries that have a shared name."""
    renamed_texts_with_shared: float
    """Share of the country's renamed texts that show a shared name."""


@dataclass(frozen=True)
class SharedNamesEffect:
    """Names of a country that others have too against names that it has alone."""

    country: str
    code: str
    shared: int
    """Different shared names in the renamed texts."""
    unshared: int
    difference: Estimate
    """Delta of texts that show shared names only, minus delta of those that show none."""
