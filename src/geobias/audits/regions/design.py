"""The design of a regions audit (HERB's main study): which regions, which words, which sentences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from geobias.audits.inputs import parse_city_count, split_list
from geobias.audits.regions.result import HERB_WORDS, RegionsSettings
from geobias.checks import check_size
from geobias.errors import InputError
from geobias.measures.herb import Children
from geobias.measures.random_regions import rows_by_level
from geobias.texts.defaults import DEFAULT_TEMPLATE
from geobias.texts.templates import Sentences, check_template
from geobias.world.invented import invent_places
from geobias.world.regions import RegionTree, check_tree, load_world, read_tree
from geobias.world.vectors import nearest_words
from geobias.world.words import Word, check_words, herb_words, read_words

DEFAULT_CITIES = 5
MIN_WORDS = 2  # that must remain where others are left out
ABLATIONS = ("topics", "words")
SUBSTITUTIONS = ("topics", "nearest")
PLACEBO_PLACES = 60
PLACEBO_CANDIDATES = 600  # enough to choose names with as many tokens as real ones
MIN_REGIONS = 10  # of a level, for a statement about the level


@dataclass(frozen=True)
class Substitutes:
    """A word in place of each word; words without a substitute stay as they are."""

    words: tuple[str, ...]
    lacking: tuple[str, ...]


@dataclass(frozen=True)
class RegionsDesign:
    """What every model is asked alike."""

    tree: RegionTree = field(repr=False)
    words: tuple[Word, ...] = field(repr=False)
    templates: tuple[str, ...]
    settings: RegionsSettings = field(repr=False)  # without a model and a score
    ablate: tuple[str, ...] = ()
    substitutes: Substitutes | None = field(default=None, repr=False)
    placebo_candidates: tuple[str, ...] = field(default=(), repr=False)  # invented names; none without a placebo

    def sentences(self, *, marked: bool) -> Sentences:
        """Every sentence about the regions, except the root.

        Substitutes are in the same block as the words, since one may be the other: no text is scored twice.
        """
        substitutes = () if self.substitutes is None else self.substitutes.words
        return Sentences(
            self.templates, self.region_names, [*(word.word for word in self.words), *substitutes], marked=marked
        )

    @property
    def region_names(self) -> list[str]:
        """Without the root, which nothing is asked about."""
        return [region.name for region in self.tree.regions[1:]]

    @property
    def placebo_texts(self) -> int:
        """How many texts a placebo adds: the bare candidates, and the chosen names with all words."""
        if not self.placebo_candidates:
            return 0
        return len(self.placebo_candidates) + PLACEBO_PLACES * len(self.words) * len(self.templates)

    def settings_for(self, model: str, score: str) -> RegionsSettings:
        return replace(self.settings, model=model, score=score)


def design_regions(
    *,
    cities: int | str = DEFAULT_CITIES,
    continents: str | Sequence[str] = (),
    countries: str | Sequence[str] = (),
    tree: str | Path | RegionTree | None = None,
    words: str | Path | Sequence[str | Word] | None = None,
    templates: str | Sequence[str] = DEFAULT_TEMPLATE,
    ablate: str | Sequence[str] = (),
    substitute: str | None = None,
    vectors: str | Path | None = None,
    placebo: bool = False,
) -> RegionsDesign:
    """Resolve the options into regions, words and templates; raise InputError for what is wrong with them."""
    regions, tree_settings = _resolve_tree(cities, continents, countries, tree)
    resolved_words = _resolve_words(words)
    template_list = tuple(dict.fromkeys([templates] if isinstance(templates, str) else templates))
    if not template_list:
        raise InputError(f"No template given; for example: {DEFAULT_TEMPLATE!r}.")
    sentence_count = len(template_list) * len(regions) * len(resolved_words)
    check_size(sentence_count, "sentences", "use fewer regions, words or templates")
    ablations = _resolve_ablations(ablate, resolved_words)
    substitutes = _resolve_substitutes(resolved_words, substitute, vectors)
    candidates = _invent_names(regions, resolved_words) if placebo else ()
    settings = RegionsSettings(
        words=HERB_WORDS if words is None else [[word.word, word.topic] for word in resolved_words],
        templates=[check_template(template) for template in template_list],
        regions_digest=regions.digest,
        model="",
        score="",
        **tree_settings,
        ablate=list(ablations) or None,
        substitute=substitute,
        substitutes=None if substitutes is None else list(substitutes.words),
        placebo=PLACEBO_PLACES if placebo else None,
    )
    return RegionsDesign(regions, resolved_words, template_list, settings, ablations, substitutes, candidates)


def main_level(children: Children) -> np.ndarray:
    """The rows of the level at which names are studied: the highest of ten regions or more, else the largest."""
    levels = rows_by_level(children)[1:]
    return next((rows for rows in levels if len(rows) >= MIN_REGIONS), max(levels, key=len))


def topics_to_leave_out(words: Sequence[Word]) -> list[str]:
    """Topics without which enough words remain: one number, normalised, says nothing."""
    topics = [word.topic for word in words]
    return [topic for topic in dict.fromkeys(topics) if len(topics) - topics.count(topic) >= MIN_WORDS]


def _resolve_tree(
    cities: int | str,
    continents: str | Sequence[str],
    countries: str | Sequence[str],
    tree: str | Path | RegionTree | None,
) -> tuple[RegionTree, dict[str, Any]]:
    """The regions, and the settings that say which they are."""
    continents, countries = split_list(continents, "--continents"), split_list(countries, "--countries")
    settings: dict[str, Any]
    if tree is None:
        count = parse_city_count(cities)
        regions = load_world(cities=count, continents=continents, countries=countries)
        settings = {
            "cities": "all" if count is None else count,
            "continents": sorted({region.id for region in regions.regions if region.level == "continent"}),
            "countries": sorted(countries) or "all",
        }
    elif continents or countries or str(cities) != str(DEFAULT_CITIES):
        raise InputError(
            "--cities, --continents and --countries are for the world, not for a tree of your own (--tree)."
        )
    else:
        regions = check_tree(tree) if isinstance(tree, RegionTree) else read_tree(Path(tree))
        settings = {"tree": "given" if isinstance(tree, RegionTree) else str(tree)}
    if not any(len(children) > 1 for children in regions.children):
        raise InputError(
            "There is nothing to compare: no region has two sub-regions. Name two countries or more, or ask for cities."
        )
    return regions, settings


def _resolve_words(words: str | Path | Sequence[str | Word] | None) -> tuple[Word, ...]:
    if words is None:
        return herb_words()
    if isinstance(words, str | Path):
        return read_words(Path(words))
    return check_words(word if isinstance(word, Word) else Word(word) for word in words)


def _resolve_ablations(ablate: str | Sequence[str], words: Sequence[Word]) -> tuple[str, ...]:
    """What is left out, if the words allow it."""
    texts = [ablate] if isinstance(ablate, str) else ablate
    names = tuple(dict.fromkeys(name.strip() for text in texts for name in text.split(",") if name.strip()))
    if texts and not names:
        raise InputError(f"--ablate is empty: leave it out, or give {' or '.join(ABLATIONS)}.")
    for name in names:
        if name not in ABLATIONS:
            raise InputError(f"--ablate is {' or '.join(ABLATIONS)}, not {name!r}.")
    if "words" in names and len(words) < MIN_WORDS + 1:
        raise InputError(f"With {len(words)} words none can be left out: a comparison needs at least {MIN_WORDS}.")
    if "topics" in names and not topics_to_leave_out(words):
        raise InputError("No topic can be left out: your words have one topic, or too few words would remain.")
    return names


def _resolve_substitutes(words: Sequence[Word], kind: str | None, vectors: str | Path | None) -> Substitutes | None:
    """The words to put in the others' place: their substitutes, or their nearest neighbours in a file of vectors."""
    if kind is not None and kind not in SUBSTITUTIONS:
        raise InputError(f"--substitute is {' or '.join(SUBSTITUTIONS)}, not {kind!r}.")
    if vectors is not None and kind != "nearest":
        raise InputError("--vectors is for --substitute nearest: give both, or neither.")
    if kind is None:
        return None
    substitutes: list[str | None]
    if kind == "nearest":
        if vectors is None:
            raise InputError(
                "--substitute nearest needs word vectors: --vectors FILE (word2vec's or GloVe's text form)."
            )
        nearest = nearest_words(Path(vectors), [word.word for word in words])
        substitutes = [nearest.get(word.word) for word in words]
    else:
        substitutes = [word.substitute for word in words]
        if not any(substitutes):
            raise InputError("Your words have no substitutes: give their file a column 'substitute', or use nearest.")
    pairs = list(zip(words, substitutes, strict=True))
    lacking = tuple(dict.fromkeys(word.word for word, substitute in pairs if not substitute))
    return Substitutes(tuple(substitute or word.word for word, substitute in pairs), lacking)


def _invent_names(tree: RegionTree, words: Sequence[Word]) -> tuple[str, ...]:
    """Candidates as long as the names of the main level, none of which is a region or a word of the design."""
    models = [tree.regions[row].name for row in main_level(tree.children)]
    existing = [*(region.name for region in tree.regions), *(word.word for word in words)]
    return invent_places(models, PLACEBO_CANDIDATES, avoid=existing)
