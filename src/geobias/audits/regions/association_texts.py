"""The sentences of the association measure: paraphrases that fit each word, about regions or about their people."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from geobias.audits.regions.answers import AssociationAnswers, KnownPlaceAnswers
from geobias.engine.ask import StoreWriter, ask
from geobias.measures.random_regions import rows_by_level
from geobias.models.scorer import Scorer
from geobias.texts.paraphrases import SUBJECTS, paraphrase_templates
from geobias.texts.templates import Sentences, mark
from geobias.world.places import CONTINENTS, KnownPlace, choose_known_places, invent_demonym, plural_demonym
from geobias.world.regions import RegionTree
from geobias.world.words import Word

KNOWN_PLACES = 60
TOTAL_SCORES = ("sum",)  # the other scores of language models are means per token


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


def design_association(
    tree: RegionTree, level: np.ndarray, words: tuple[Word, ...], paraphrases: int, subject: str, *, controls: bool
) -> AssociationDesign:
    """The regions from below the root down to the level that is compared; with demonyms, those that have one.

    As `controls` there are known places, none of which is compared; they have no demonyms.
    """
    levels = rows_by_level(tree.children)[1:]
    last = next(k for k, rows in enumerate(levels) if level[0] in rows)
    rows = np.sort(np.concatenate(levels[: last + 1]))
    subjects = SUBJECTS if subject == "both" else (subject,)
    if "demonym" in subjects:
        is_nameable = [name_people(tree, row) is not None for row in rows]
        rows = rows[np.array(is_nameable)]
    known_places: tuple[KnownPlace, ...] = ()
    if controls and subjects == ("region",):
        known_places = choose_known_places(KNOWN_PLACES, avoid=[tree.regions[row].name for row in rows])
    return AssociationDesign(rows, words, paraphrases, subjects, known_places)


def name_people(tree: RegionTree, row: int) -> str | None:
    """What the people of a country or continent are called; None of other regions and where there is no usual word."""
    region = tree.regions[row]
    if region.level == "continent":
        return CONTINENTS.get(region.id)
    return plural_demonym(region.id) if region.level == "country" else None


def ask_associations(
    design: AssociationDesign,
    tree: RegionTree,
    scorer: Scorer,
    invented: Sequence[str],
    name_totals: np.ndarray,
    label: str,
    *,
    progress: bool | None,
) -> AssociationAnswers:
    """The total log-likelihood of every paraphrase with every word, for regions, known and invented places.

    `name_totals` are those of the bare names of all regions of the tree.
    """
    names = [tree.regions[row].in_sentence for row in design.rows]
    known, scored = [place.name for place in design.known_places], 0
    totals = []
    with StoreWriter(scorer, label) as writer:
        for subject in design.subjects:
            people = [*names, *known, *invented]
            if subject == "demonym":
                people = [name_people(tree, row) or "" for row in design.rows] + [invent_demonym(n) for n in invented]
            values = np.empty((design.paraphrases, len(people), len(design.words)))
            for positions, sentences in design.blocks(people, subject, marked=scorer.needs_mark):
                scores = ask(scorer, sentences, label=f"{label} paraphrases", progress=progress, writer=writer)
                values[..., positions] = sum_tokens(scorer, scores.scores).reshape(sentences.shape)
                scored += scores.scored
            totals.append(values)
    everything, real, last = np.concatenate(totals), len(names), len(names) + len(known)
    answers = AssociationAnswers(design.rows, everything[:, :real], everything[:, last:] if invented else None, scored)
    if not known:
        return answers
    places, names_scored = _ask_known_names(design, name_totals, scorer, label, progress=progress)
    return replace(
        answers, known_totals=everything[:, real:last], known_places=places, scored=answers.scored + names_scored
    )


def _ask_known_names(
    design: AssociationDesign, name_totals: np.ndarray, scorer: Scorer, label: str, *, progress: bool | None
) -> tuple[KnownPlaceAnswers, int]:
    """The total log-likelihoods of bare names, a proxy of fame."""
    places = [place.name for place in design.known_places]
    texts = [mark(name) for name in places] if scorer.needs_mark else places
    answers = ask(scorer, texts, label=f"{label} names", progress=progress)
    return KnownPlaceAnswers(
        names=tuple(places),
        populations=np.array([float(place.population) for place in design.known_places]),
        likelihoods=sum_tokens(scorer, answers.scores),
        tokens=answers.column("tokens"),
        region_likelihoods=name_totals[design.rows],
    ), answers.scored


def sum_tokens(scorer: Scorer, scores: np.ndarray) -> np.ndarray:
    """Total log-likelihoods; a function returns whatever it does, which is taken for a total."""
    columns = list(scorer.columns)
    if "tokens" not in columns or scorer.identity().score in TOTAL_SCORES:
        return scores[:, 0]
    return scores[:, 0] * scores[:, columns.index("tokens")]
