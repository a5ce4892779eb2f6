"""The sentences about known stereotypes: every pair of SeeGULL, and two panels that say what to expect of it.

Every country with every attribute would be 660,000 sentences in two templates. A panel of attributes says how likely
sentences about a country are, and a panel of countries how likely an attribute is. Panels are drawn once for all, from
all countries and attributes, so that an association does not depend on the countries that a run compares.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import zip_longest

import numpy as np

from geobias.audits.regions.answers import KnownAnswers
from geobias.audits.regions.association_texts import sum_tokens
from geobias.engine.ask import ask
from geobias.errors import InputError
from geobias.models.scorer import Scorer
from geobias.texts.paraphrases import NEUTRAL_DEMONYM_TEMPLATES, NEUTRAL_TEMPLATES, SUBJECTS
from geobias.texts.templates import Sentences, select_texts
from geobias.world.countries import load_country_names, load_geonames
from geobias.world.places import add_article, plural_demonym
from geobias.world.regions import RegionTree
from geobias.world.words import KnownStereotype, load_known_stereotypes

PANEL_COUNTRIES, PANEL_ATTRIBUTES = 30, 60
TEMPLATES = (0, 3)  # positions of the neutral templates in use: short ones that differ in form
OFFENSIVE, NOT_OFFENSIVE = 2.0, -1.0  # mean ratings: from here on offensive; by nobody called offensive
SEED = 0
# Of the subset that local models are scored with by default: countries, pairs of each kind, and smaller panels.
SUBSET_COUNTRIES, SUBSET_PAIRS, SUBSET_PANEL, SUBSET_WORDS = 24, 6, 8, 20


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

    @property
    def templates(self) -> list[str]:
        return [template for subject in self.subjects for template in list_templates(subject)]

    def find_cells(self) -> np.ndarray:
        """countries x attributes: whether the sentence is scored."""
        cells = np.zeros((len(self.codes), len(self.attributes)), dtype=bool)
        cells[self.pair_rows, self.pair_columns] = True
        cells[self.panel_rows] = True
        cells[:, self.panel_columns] = True
        return cells

    def count_sentences(self) -> int:
        return int(self.find_cells().sum()) * len(self.templates)


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
    return _arrange(pairs, *_draw_panels(all_pairs), subjects, lacking_names)


def design_known_subset(tree: RegionTree) -> KnownDesign | None:
    """The fixed subset, at most 6,000 sentences; None of a tree without its countries.

    As many stereotypes as other pairs of countries that have enough of both, balanced over continents.
    """
    entries, by_country = load_geonames().get_countries(), dict[str, tuple[list[KnownStereotype], ...]]()
    for pair in load_known_stereotypes():
        by_country.setdefault(pair.code, ([], []))[not is_called_stereotype(pair)].append(pair)
    enough = sorted(code for code, kinds in by_country.items() if min(map(len, kinds)) >= SUBSET_PAIRS)
    codes = _draw_balanced(enough, [entries[code]["continentcode"] for code in enough], SUBSET_COUNTRIES)
    if not set(codes) <= {region.id for region in tree.regions if region.level == "country"}:
        return None
    pairs = [
        kind[position]
        for code in codes
        for kind in by_country[code]
        for position in np.random.default_rng(SEED).permutation(len(kind))[:SUBSET_PAIRS]
    ]
    panel_codes, panel_attributes = _draw_panels(load_known_stereotypes())
    subset = _arrange(tuple(pairs), panel_codes[:SUBSET_PANEL], panel_attributes[:SUBSET_WORDS], ("region",), ())
    return replace(subset, is_subset=True)


def is_called_stereotype(pair: KnownStereotype) -> bool:
    """Whether more annotators call it a stereotype than not; a tie is no majority."""
    return pair.region_stereotype + pair.north_america_stereotype > pair.region_other + pair.north_america_other


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


def ask_known(design: KnownDesign, scorer: Scorer, label: str, *, progress: bool | None) -> KnownAnswers:
    """The total log-likelihoods of all sentences; NaN in cells that are not scored."""
    names = load_country_names()
    places = {
        "region": [add_article(names[code]) for code in design.codes],
        "demonym": [plural_demonym(code) or "" for code in design.codes],
    }
    totals, scored, cut = [], 0, 0
    for subject in design.subjects:
        templates = list_templates(subject)
        sentences = Sentences(templates, places[subject], design.attributes, marked=scorer.needs_mark)
        positions = np.flatnonzero(np.broadcast_to(design.find_cells(), sentences.shape))
        answers = ask(scorer, select_texts(sentences, positions), label=f"{label} known", progress=progress)
        values = np.full(len(sentences), np.nan)
        values[positions] = sum_tokens(scorer, answers.scores)
        totals.append(values.reshape(sentences.shape))
        scored, cut = scored + answers.scored, cut + answers.cut
    return KnownAnswers(np.concatenate(totals), scored, cut)


def list_templates(subject: str) -> tuple[str, ...]:
    """Sentences that fit attributes of any part of speech."""
    templates = NEUTRAL_TEMPLATES if subject == "region" else NEUTRAL_DEMONYM_TEMPLATES
    return tuple(templates[position] for position in TEMPLATES)


def _draw_panels(pairs: Sequence[KnownStereotype]) -> tuple[list[str], list[str]]:
    """Countries, as many of each continent as there are, and attributes, as many of each degree of offensiveness."""
    entries = load_geonames().get_countries()
    codes = sorted({pair.code for pair in pairs if plural_demonym(pair.code) is not None})
    ratings = {pair.attribute: pair.offensiveness for pair in pairs}
    attributes = sorted(ratings)
    return (
        _draw_balanced(codes, [entries[code]["continentcode"] for code in codes], PANEL_COUNTRIES),
        _draw_balanced(attributes, [_grade_rating(ratings[each]) for each in attributes], PANEL_ATTRIBUTES),
    )


def _grade_rating(offensiveness: float | None) -> str:
    if offensiveness is None:
        return "not rated"
    if offensiveness >= OFFENSIVE:
        return "offensive"
    return "not offensive" if offensiveness == NOT_OFFENSIVE else "between"


def _draw_balanced(items: Sequence[str], strata: Sequence[str], count: int) -> list[str]:
    """So many items at random, in turn from each stratum that has any left."""
    shuffled: dict[str, list[str]] = {stratum: [] for stratum in sorted(set(strata))}
    for position in np.random.default_rng(SEED).permutation(len(items)):
        shuffled[strata[position]].append(items[position])
    in_turn = [item for rank in zip_longest(*shuffled.values()) for item in rank if item is not None]
    return in_turn[:count]
