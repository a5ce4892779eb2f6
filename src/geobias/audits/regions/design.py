"""The design of a regions audit: which regions, words and sentences, and which pairs of known stereotypes (SeeGULL).

Of known stereotypes, every country with every attribute would be 660,000 sentences in two templates. A panel of
attributes says how likely sentences about a country are, and a panel of countries how likely an attribute is. Panels
are drawn once for all, from all countries and attributes, so that an association does not depend on the countries that
a run compares.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from geobias.audits.doubts import is_other_language
from geobias.audits.regions.answers import PLACEBO_PLACES
from geobias.audits.regions.result import HERB_WORDS, RegionsSettings
from geobias.checks import check_number, check_size, describe_choices, parse_city_count, split_list
from geobias.errors import InputError
from geobias.measures.random_regions import main_level, rows_by_level
from geobias.models.scorer import ModelIdentity
from geobias.texts import DEFAULT_TEMPLATE
from geobias.texts.paraphrases import (
    MOST_PARAPHRASES,
    NEUTRAL_DEMONYM_TEMPLATES,
    NEUTRAL_TEMPLATES,
    SUBJECTS,
    paraphrase_templates,
)
from geobias.texts.templates import Sentences, check_template
from geobias.world.countries import load_country_names, load_entries
from geobias.world.known_stereotypes import SEED, KnownStereotype, draw_balanced, draw_panels, load_known_stereotypes
from geobias.world.places import KnownPlace, choose_known_places, invent_places, name_people, plural_demonym
from geobias.world.regions import RegionTree, check_tree, load_world, read_tree
from geobias.world.words import (
    Word,
    check_words,
    herb_words,
    rate_words,
    read_words,
)

DEFAULT_CITIES = 5
SUBJECT_CHOICES = (*SUBJECTS, "both")
SCORE_ONLY: dict[str, Any] = {"placebo": False, "paraphrases": 0}  # for audits that need HERB's score and no more
PLACEBO_CANDIDATES = 600  # enough to choose names with as many tokens as real ones
KNOWN_PLACES = 60
KNOWN_TEMPLATES = (0, 3)  # positions of the neutral templates in use: short ones that differ in form
# Of the subset that local models are scored with by default: countries, pairs of each kind, and smaller panels.
SUBSET_COUNTRIES, SUBSET_PAIRS, SUBSET_PANEL, SUBSET_WORDS = 24, 6, 8, 20


@dataclass(frozen=True)
class AssociationDesign:
    """Which regions are scored with which paraphrases."""

    rows: np.ndarray = field(repr=False)  # of the tree, from the top to the level that is compared
    words: tuple[Word, ...] = field(repr=False)
    paraphrases: int
    subjects: tuple[str, ...]
    known_places: tuple[KnownPlace, ...] = field(default=(), repr=False)

    def blocks(self, names: Sequence[str], subject: str, *, marked: bool) -> list[tuple[list[int], Sentences]]:
        """Words that share their templates, and all sentences with them."""
        groups: dict[tuple[str, ...], list[int]] = {}
        for position, word in enumerate(self.words):
            templates = paraphrase_templates(word, subject)[: self.paraphrases]
            groups.setdefault(templates, []).append(position)
        return [
            (positions, Sentences(templates, names, [self.words[k].word for k in positions], marked=marked))
            for templates, positions in groups.items()
        ]

    def count_sentences(self, places: int) -> int:
        return places * len(self.words) * self.paraphrases * len(self.subjects)


@dataclass(frozen=True)
class KnownDesign:
    """Which pairs are compared, and which cells of countries x attributes are scored for it."""

    pairs: tuple[KnownStereotype, ...] = field(repr=False)
    codes: tuple[str, ...] = field(repr=False)  # of the countries: rows of the cells
    attributes: tuple[str, ...] = field(repr=False)  # columns of the cells
    pair_rows: np.ndarray = field(repr=False)  # the cell of each pair
    pair_columns: np.ndarray = field(repr=False)
    panel_rows: np.ndarray = field(repr=False)
    panel_columns: np.ndarray = field(repr=False)
    subjects: tuple[str, ...]
    without_demonym: tuple[str, ...]  # countries that were left out for it
    is_subset: bool = False

    def list_templates(self, subject: str) -> tuple[str, ...]:
        """Sentences that fit attributes of any part of speech."""
        templates = NEUTRAL_TEMPLATES if subject == "region" else NEUTRAL_DEMONYM_TEMPLATES
        return tuple(templates[position] for position in KNOWN_TEMPLATES)

    def find_cells(self) -> np.ndarray:
        """countries x attributes: whether the sentence is scored."""
        cells = np.zeros((len(self.codes), len(self.attributes)), dtype=bool)
        cells[self.pair_rows, self.pair_columns] = True
        cells[self.panel_rows] = True
        cells[:, self.panel_columns] = True
        return cells

    def count_sentences(self) -> int:
        return int(self.find_cells().sum()) * len(KNOWN_TEMPLATES) * len(self.subjects)


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
    def added_texts(self) -> int:
        """How many texts the placebo, the associations and known stereotypes add together."""
        candidates, association = len(self.placebo_candidates), self.association
        invented = PLACEBO_PLACES if candidates else 0
        count = candidates + invented * len(self.words) * len(self.templates)
        if association is not None:
            known = len(association.known_places)
            count += association.count_sentences(len(association.rows) + known + invented) + known
        return count + (self.known.count_sentences() if self.known else 0)

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


def design_regions(
    *,
    cities: int | str,
    continents: str | Sequence[str],
    countries: str | Sequence[str],
    tree: str | Path | RegionTree | None,
    words: str | Path | Sequence[str | Word] | None,
    templates: str | Sequence[str],
    placebo: bool,
    paraphrases: int,
    subject: str,
    known: bool,
) -> RegionsDesign:
    """Resolve the options into regions, words and templates; raise InputError for what is wrong with them."""
    regions, tree_settings = _resolve_tree(cities, continents, countries, tree)
    several_words = _resolve_words(words)
    sentences = tuple(dict.fromkeys([templates] if isinstance(templates, str) else templates))
    if not sentences:
        raise InputError(f"No template. Example: {DEFAULT_TEMPLATE!r}.")
    sentence_count = len(sentences) * len(regions) * len(several_words)
    check_size(sentence_count, "sentences", "Use fewer regions, words or templates")
    candidates = _invent_names(regions, several_words) if placebo else ()
    association = _design_association(regions, several_words, paraphrases, subject, controls=placebo)
    if any(is_other_language(each) for each in sentences if each != DEFAULT_TEMPLATE):  # the paraphrases are English
        association = None
    known_design = design_known(regions, subject) if known else None
    subset = None if known or association is None or not placebo else design_known_subset(regions)
    settings = RegionsSettings(
        words=HERB_WORDS if words is None else [[word.word, word.topic] for word in several_words],
        templates=[check_template(template) for template in sentences],
        regions_digest=regions.digest,
        model="",
        score="",
        **tree_settings,
        placebo=PLACEBO_PLACES if placebo else None,
        paraphrases=paraphrases or None,
        subject=subject if paraphrases or known else None,
        known=known,
    )
    return RegionsDesign(regions, several_words, sentences, settings, candidates, association, known_design, subset)


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


def design_known(tree: RegionTree, subject: str) -> KnownDesign:
    """The pairs of the tree's countries; InputError if there are none."""
    subjects = SUBJECTS if subject == "both" else (subject,)
    all_pairs, names = load_known_stereotypes(), load_country_names()
    candidates = {region.id for region in tree.regions if region.level == "country"}
    lacking = {code for code in candidates if "demonym" in subjects and plural_demonym(code) is None}
    pairs = tuple(pair for pair in all_pairs if pair.code in candidates - lacking)
    if not pairs:
        raise InputError(
            "--known has no data about these regions: it needs countries of the world. Remove --known, or --tree or "
            "--countries."
        )
    lacking_names = tuple(sorted(names[code] for code in lacking & {pair.code for pair in all_pairs}))
    return _arrange(pairs, *draw_panels(all_pairs), subjects, lacking_names)


def design_known_subset(tree: RegionTree) -> KnownDesign | None:
    """The fixed subset, at most 6,000 sentences; None of a tree without its countries.

    As many stereotypes as other pairs of countries that have enough of both, balanced over continents.
    """
    entries, by_country = load_entries(), dict[str, tuple[list[KnownStereotype], ...]]()
    for pair in load_known_stereotypes():
        by_country.setdefault(pair.code, ([], []))[not pair.is_called_stereotype].append(pair)
    enough = sorted(code for code, kinds in by_country.items() if min(map(len, kinds)) >= SUBSET_PAIRS)
    codes = draw_balanced(enough, [entries[code].continent for code in enough], SUBSET_COUNTRIES)
    if not set(codes) <= {region.id for region in tree.regions if region.level == "country"}:
        return None
    pairs = [
        kind[position]
        for code in codes
        for kind in by_country[code]
        for position in np.random.default_rng(SEED).permutation(len(kind))[:SUBSET_PAIRS]
    ]
    panel_codes, panel_attributes = draw_panels(load_known_stereotypes())
    subset = _arrange(tuple(pairs), panel_codes[:SUBSET_PANEL], panel_attributes[:SUBSET_WORDS], ("region",), ())
    return replace(subset, is_subset=True)


def _arrange(
    pairs: tuple[KnownStereotype, ...],
    panel_codes: Sequence[str],
    panel_attributes: Sequence[str],
    subjects: tuple[str, ...],
    without_demonym: tuple[str, ...],
) -> KnownDesign:
    """The cells of the pairs and of the panels."""
    codes = tuple(sorted({pair.code for pair in pairs} | set(panel_codes)))
    attributes = tuple(sorted({pair.attribute for pair in pairs} | set(panel_attributes)))
    row_of = {code: row for row, code in enumerate(codes)}
    column_of = {attribute: column for column, attribute in enumerate(attributes)}
    return KnownDesign(
        pairs=pairs,
        codes=codes,
        attributes=attributes,
        pair_rows=np.array([row_of[pair.code] for pair in pairs]),
        pair_columns=np.array([column_of[pair.attribute] for pair in pairs]),
        panel_rows=np.array([row_of[code] for code in panel_codes]),
        panel_columns=np.array([column_of[attribute] for attribute in panel_attributes]),
        subjects=subjects,
        without_demonym=without_demonym,
    )
