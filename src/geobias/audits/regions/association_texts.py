"""The sentences of the association measure: paraphrases that fit each word, about regions or about their people."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from geobias.audits.regions.answers import AssociationAnswers
from geobias.engine.ask import StoreWriter, ask
from geobias.measures.random_regions import rows_by_level
from geobias.models.scorer import Scorer
from geobias.texts.paraphrases import SUBJECTS, paraphrase_templates
from geobias.texts.templates import Sentences
from geobias.world.demonyms import CONTINENTS, invent_demonym, plural_demonym
from geobias.world.regions import RegionTree
from geobias.world.words import Word

TOTAL_SCORES = ("sum",)  # the other scores of language models are means per token


@dataclass(frozen=True)
class AssociationDesign:
    """Which regions are scored with which paraphrases."""

    rows: np.ndarray = field(repr=False)  # of the tree, from the top to the level that is compared
    words: tuple[Word, ...] = field(repr=False)
    paraphrases: int
    subjects: tuple[str, ...]

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
    tree: RegionTree, level: np.ndarray, words: tuple[Word, ...], paraphrases: int, subject: str
) -> AssociationDesign:
    """The regions from below the root down to the level that is compared; with demonyms, those that have one."""
    levels = rows_by_level(tree.children)[1:]
    last = next(k for k, rows in enumerate(levels) if level[0] in rows)
    rows = np.sort(np.concatenate(levels[: last + 1]))
    subjects = SUBJECTS if subject == "both" else (subject,)
    if "demonym" in subjects:
        is_nameable = [name_people(tree, row) is not None for row in rows]
        rows = rows[np.array(is_nameable)]
    return AssociationDesign(rows, words, paraphrases, subjects)


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
    label: str,
    *,
    progress: bool | None,
) -> AssociationAnswers:
    """The total log-likelihood of every paraphrase with every word, for regions and for invented places."""
    names = [tree.regions[row].in_sentence for row in design.rows]
    scored = 0
    totals = []
    with StoreWriter(scorer, label) as writer:
        for subject in design.subjects:
            people = [*names, *invented]
            if subject == "demonym":
                people = [name_people(tree, row) or "" for row in design.rows] + [invent_demonym(n) for n in invented]
            values = np.empty((design.paraphrases, len(people), len(design.words)))
            for positions, sentences in design.blocks(people, subject, marked=scorer.needs_mark):
                answers = ask(scorer, sentences, label=f"{label} paraphrases", progress=progress, writer=writer)
                values[..., positions] = sum_tokens(scorer, answers.scores).reshape(sentences.shape)
                scored += answers.scored
            totals.append(values)
    both, real = np.concatenate(totals), len(names)
    return AssociationAnswers(design.rows, both[:, :real], both[:, real:] if invented else None, scored)


def sum_tokens(scorer: Scorer, scores: np.ndarray) -> np.ndarray:
    """Total log-likelihoods; a function returns whatever it does, which is taken for a total."""
    columns = list(scorer.columns)
    if "tokens" not in columns or scorer.identity().score in TOTAL_SCORES:
        return scores[:, 0]
    return scores[:, 0] * scores[:, columns.index("tokens")]
