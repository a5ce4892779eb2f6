"""The design of a regions audit (HERB's main study): which regions, which words, which sentences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from geobias.audits.inputs import parse_city_count, split_list
from geobias.audits.languages import is_other_language
from geobias.audits.regions.answers import PLACEBO_PLACES
from geobias.audits.regions.known import KnownDesign, design_known, design_known_subset
from geobias.audits.regions.result import HERB_WORDS, RegionsSettings
from geobias.checks import check_number, check_size, describe_choices
from geobias.errors import InputError
from geobias.measures.random_regions import main_level, rows_by_level
from geobias.models.scorer import ModelIdentity
from geobias.texts import DEFAULT_TEMPLATE
from geobias.texts.paraphrases import MOST_PARAPHRASES, SUBJECTS, paraphrase_templates
from geobias.texts.templates import Sentences, check_template
from geobias.world.places import KnownPlace, choose_known_places, invent_places, name_people
from geobias.world.regions import RegionTree, check_tree, load_world, read_tree
from geobias.world.words import Word, check_words, herb_words, rate_words, read_words

DEFAULT_CITIES = 5
SUBJECT_CHOICES = (*SUBJECTS, "both")
DEFAULT_PARAPHRASES = 4
SCORE_ONLY: dict[str, Any] = {"placebo": False, "paraphrases": 0}  # for audits that need HERB's score and no more
PLACEBO_CANDIDATES = 600  # enough to choose names with as many tokens as real ones
KNOWN_PLACES = 60


@dataclass(frozen=True, kw_only=True)
class RegionsOptions:
    """The options of `audit_regions`, as the user gives them, without the model and its score."""

    cities: int | str = DEFAULT_CITIES
    continents: str | Sequence[str] = ()
    countries: str | Sequence[str] = ()
    tree: str | Path | RegionTree | None = None
    words: str | Path | Sequence[str | Word] | None = None
    templates: str | Sequence[str] = DEFAULT_TEMPLATE
    placebo: bool = True
    paraphrases: int = DEFAULT_PARAPHRASES
    subject: str = "region"
    known: bool = False
    show_offensive: bool = False


@dataclass(frozen=True)
class AssociationDesign:
    """Which regions are scored with which paraphrases."""

    rows: np.ndarray = field(repr=False)  # of the tree, from the top to the level that is compared
    words: tuple[Word, ...] = field(repr=False)
    paraphrases: int
    subjects: tuple[str, ...]
    known_places: tuple[KnownPlace, ...] = field(default=(), repr=False)

    def templates(self, word: Word, subject: str) -> tuple[str, ...]:
        return paraphrase_templates(word, subject)[: self.paraphrases]

    def blocks(self, names: Sequence[str], subject: str, *, marked: bool) -> list[tuple[list[int], Sentences]]:
        """Words that share their templates, and all sentences with them."""
        groups: dict[tuple[str, ...], list[int]] = {}
        for position, word in enumerate(self.words):
            groups.setdefault(self.templates(word, subject), []).append(position)
        return [
            (positions, Sentences(templates, names, [self.words[k].word for k in positions], marked=marked))
            for templates, positions in groups.items()
        ]

    def count_sentences(self, places: int) -> int:
        return places * len(self.words) * self.paraphrases * len(self.subjects)


@dataclass(frozen=True)
class RegionsDesign:
    """What every model is asked alike."""

    tree: RegionTree = field(repr=False)
    words: tuple[Word, ...] = field(repr=False)
    templates: tuple[str, ...]
    settings: RegionsSettings = field(repr=False)  # without a model and a score
    placebo_candidates: tuple[str, ...] = field(default=(), repr=False)  # invented names; none without a placebo
    association: AssociationDesign | None = field(default=None, repr=False)
    known: KnownDesign | None = field(default=None, repr=False)
    known_subset: KnownDesign | None = field(default=None, repr=False)  # for local models, without --known

    def sentences(self, *, marked: bool) -> Sentences:
        """Every sentence about the regions, except the root."""
        return Sentences(self.templates, self.region_names, [word.word for word in self.words], marked=marked)

    @property
    def region_names(self) -> list[str]:
        """As they stand within a sentence, without the root, which nothing is asked about."""
        return [region.in_sentence for region in self.tree.regions[1:]]

    @property
    def placebo_texts(self) -> int:
        """How many texts a placebo adds: the bare candidates, and the chosen names with all words."""
        if not self.placebo_candidates:
            return 0
        return len(self.placebo_candidates) + PLACEBO_PLACES * len(self.words) * len(self.templates)

    @property
    def association_texts(self) -> int:
        """How many texts the associations add, with those of invented places."""
        if self.association is None:
            return 0
        known = len(self.association.known_places)
        places = len(self.association.rows) + known + (PLACEBO_PLACES if self.placebo_candidates else 0)
        return self.association.count_sentences(places) + known

    @property
    def added_texts(self) -> int:
        """How many texts the placebo, the associations and known stereotypes add together."""
        known_texts = 0 if self.known is None else self.known.count_sentences()
        return self.placebo_texts + self.association_texts + known_texts

    @property
    def subset_texts(self) -> int:
        """How many texts the subset of known stereotypes adds for a local model."""
        return 0 if self.known_subset is None else self.known_subset.count_sentences()

    def known_for(self, model: ModelIdentity) -> KnownDesign | None:
        """All known stereotypes where they are wanted; the subset for a model that is here and costs nothing a call."""
        is_local = bool(model.architecture) and not model.endpoint
        return self.known or (self.known_subset if is_local else None)

    def settings_for(self, model: str, score: str) -> RegionsSettings:
        return replace(self.settings, model=model, score=score)


def design_regions(options: RegionsOptions) -> RegionsDesign:
    """Resolve the options into regions, words and templates; raise InputError for what is wrong with them."""
    paraphrases, subject, known = options.paraphrases, options.subject, options.known
    regions, tree_settings = _resolve_tree(options)
    words = _resolve_words(options.words)
    templates = tuple(dict.fromkeys([options.templates] if isinstance(options.templates, str) else options.templates))
    if not templates:
        raise InputError(f"No template. Example: {DEFAULT_TEMPLATE!r}.")
    sentence_count = len(templates) * len(regions) * len(words)
    check_size(sentence_count, "sentences", "Use fewer regions, words or templates")
    candidates = _invent_names(regions, words) if options.placebo else ()
    association = _design_association(regions, words, paraphrases, subject, controls=options.placebo)
    if any(map(is_other_language, templates)):  # the paraphrases are English
        association = None
    if options.show_offensive and not known:
        raise InputError("--show-offensive needs --known. Use both, or neither.")
    known_design = design_known(regions, subject) if known else None
    subset = None if known or association is None or not options.placebo else design_known_subset(regions)
    settings = RegionsSettings(
        words=HERB_WORDS if options.words is None else [[word.word, word.topic] for word in words],
        templates=[check_template(template) for template in templates],
        regions_digest=regions.digest,
        model="",
        score="",
        **tree_settings,
        placebo=PLACEBO_PLACES if options.placebo else None,
        paraphrases=paraphrases or None,
        subject=subject if paraphrases or known else None,
        known=known,
        show_offensive=options.show_offensive,
    )
    return RegionsDesign(regions, words, templates, settings, candidates, association, known_design, subset)


def _resolve_tree(options: RegionsOptions) -> tuple[RegionTree, dict[str, Any]]:
    """The regions, and the settings that say which they are."""
    cities, tree = options.cities, options.tree
    continents = split_list(options.continents, "--continents")
    countries = split_list(options.countries, "--countries")
    settings: dict[str, Any]
    if tree is None:
        count = parse_city_count(cities)
        regions = load_world(cities=count, continents=continents, countries=countries)
        settings = {
            "cities": "all" if count is None else count,
            "continents": sorted({region.id for region in regions.regions if region.level == "continent"}),
            "countries": sorted(r.id for r in regions.regions if r.level == "country") if countries else "all",
        }
    elif continents or countries or str(cities) != str(DEFAULT_CITIES):
        raise InputError(
            "--cities, --continents and --countries cannot be used with --tree. Remove them, or remove --tree."
        )
    else:
        regions = check_tree(tree) if isinstance(tree, RegionTree) else read_tree(Path(tree))
        settings = {"tree": "given" if isinstance(tree, RegionTree) else str(tree)}
    if not any(len(children) > 1 for children in regions.children):
        raise InputError(
            "Nothing to compare: no region has two sub-regions. Choose at least two countries, or add --cities."
        )
    return regions, settings


def _resolve_words(words: str | Path | Sequence[str | Word] | None) -> tuple[Word, ...]:
    if words is None:
        return herb_words()
    if isinstance(words, str | Path):
        return read_words(Path(words))
    return rate_words(check_words(word if isinstance(word, Word) else Word(word) for word in words))


def _design_association(
    tree: RegionTree, words: tuple[Word, ...], paraphrases: int, subject: str, *, controls: bool
) -> AssociationDesign | None:
    """The regions from below the root down to the level that is compared; with demonyms, those that have one.

    As `controls` there are known places, none of which is compared; they have no demonyms. None without paraphrases.
    """
    check_number("--paraphrases", paraphrases, 0, MOST_PARAPHRASES)
    if subject not in SUBJECT_CHOICES:
        raise InputError(f"Unknown --subject {subject!r}. {describe_choices(subject, SUBJECT_CHOICES)}")
    if not paraphrases:
        return None
    levels, level = rows_by_level(tree.children)[1:], main_level(tree.children)
    last = next(k for k, rows in enumerate(levels) if level[0] in rows)
    rows = np.sort(np.concatenate(levels[: last + 1]))
    subjects = SUBJECTS if subject == "both" else (subject,)
    if "demonym" in subjects:
        rows = rows[np.array([name_people(tree.regions[row].level, tree.regions[row].id) is not None for row in rows])]
    known_places: tuple[KnownPlace, ...] = ()
    if controls and subjects == ("region",):
        known_places = choose_known_places(KNOWN_PLACES, avoid=[tree.regions[row].name for row in rows])
    return AssociationDesign(rows, words, paraphrases, subjects, known_places)


def _invent_names(tree: RegionTree, words: Sequence[Word]) -> tuple[str, ...]:
    """Candidates as long as the names of the main level, none of which is a region or a word of the design."""
    models = [tree.regions[row].in_sentence for row in main_level(tree.children)]
    existing = [*(region.name for region in tree.regions), *(word.word for word in words)]
    return invent_places(models, PLACEBO_CANDIDATES, avoid=existing)
