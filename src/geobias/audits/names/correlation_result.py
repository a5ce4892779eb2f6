"""How the probabilities of a classifier correlate with perplexity: over texts, and over renamed texts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from geobias.measures.estimates import Estimate
from geobias.report.results import Number


@dataclass(frozen=True)
class LanguageCorrelation:
    """Over the original texts of one language: log-perplexity with the probability of each class."""

    language: str
    texts: int
    pearson: dict[str, Number]
    """By label."""
    inference: dict[str, Estimate]
    partial: dict[str, Estimate]
    """With the number of tokens and of characters held fixed."""


@dataclass(frozen=True)
class OverallCorrelations:
    """Over the renamed texts of all countries, for each class."""

    within: dict[str, Estimate]
    """Over the draws of one text and country, averaged over texts."""
    pooled: dict[str, Estimate]
    """Of the differences from the original text, over all texts."""
    pooled_partial: dict[str, Estimate]
    """The same with the number of tokens and of characters held fixed."""


@dataclass(frozen=True)
class CountryCorrelation:
    """Over the renamed texts of one country."""

    country: str
    code: str
    pearson: dict[str, Number]
    """By label."""
    inference: dict[str, Estimate]
    texts: dict[str, Number]
    texts_without_variance: dict[str, Number]
    """Left out."""


@dataclass(frozen=True)
class CorrelationsByCountry:
    overall: dict[str, Number]
    countries: list[CountryCorrelation]


@dataclass(frozen=True, kw_only=True)
class PerplexityCorrelations:
    """How the probabilities of a classifier correlate with the log-perplexity of a language model."""

    lm: str
    score: str
    form: str
    draws: int
    texts: int
    texts_cut: int
    unknown_tokens: dict[str, float]
    """For each language of the texts, the share of tokens that the language model does not know."""
    languages_refused: list[str]
    """Languages with too many such tokens."""
    by_language: Annotated[list[LanguageCorrelation], Field(alias="global")]
    local: OverallCorrelations
    within: CorrelationsByCountry
    pooled: CorrelationsByCountry
