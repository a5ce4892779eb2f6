"""What the words do to the score: topics or single words left out (HERB, Table 3), topics replaced (Table 6).

Nothing is asked again for what is left out: the likelihoods are there, only the vectors are made anew from fewer of
them. For what is replaced, the sentences with the substitutes are asked once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from geobias.audits.numbers import number
from geobias.errors import InputError
from geobias.measures.estimates import Estimates
from geobias.measures.herb import FORMS, descriptive_vectors, herb_scores
from geobias.measures.region_intervals import find_affordable
from geobias.measures.word_jackknife import FEWEST_WORDS, jackknife_words
from geobias.world.vectors import nearest_words
from geobias.world.words import Word

if TYPE_CHECKING:
    from geobias.audits.regions.design import RegionsResult

FEWEST = 2  # words that must remain
ABLATIONS = ("topics", "words")
SUBSTITUTIONS = ("topics", "nearest")
FULL, WITHOUT_TOPIC, WITHOUT_WORD, REPLACED = "full", "without topic", "without word", "replaced topic"


@dataclass(frozen=True)
class Wording:
    """The scores of every region with other words: `what` was done to the topic or word `name`."""

    what: str
    name: str
    scores: dict[str, np.ndarray]  # c_w.balanced, c_w.paper, c_z.balanced, c_z.paper; the mean over templates
    balanced: Estimates | None = None  # balanced C_w of all regions with its intervals; None of a single word left out
    difference: Estimates | None = None  # ... minus the score as it is, on the same words


@dataclass(frozen=True)
class Variant:
    """The likelihoods that a wording is scored from: those of all words, and which of the words it has."""

    what: str
    name: str
    likelihoods: np.ndarray = field(repr=False)
    kept: np.ndarray = field(repr=False)

    def of(self, words: np.ndarray) -> np.ndarray:
        """templates x regions x those of these words that the wording has."""
        return np.asarray(self.likelihoods[..., words[self.kept[words]]])


@dataclass(frozen=True)
class Substitutes:
    """A word in place of each word; words without one stand for themselves, and are counted."""

    words: tuple[str, ...]
    lacking: tuple[str, ...]


def checked_ablations(ablate: str | Sequence[str], words: Sequence[Word]) -> tuple[str, ...]:
    """What is to be left out, if the words allow it."""
    wanted = [ablate] if isinstance(ablate, str) else ablate
    listed = tuple(dict.fromkeys(name.strip() for text in wanted for name in text.split(",") if name.strip()))
    if wanted and not listed:
        raise InputError(f"--ablate is empty: leave it out, or give {' or '.join(ABLATIONS)}.")
    for name in listed:
        if name not in ABLATIONS:
            raise InputError(f"--ablate is {' or '.join(ABLATIONS)}, not {name!r}.")
    if "words" in listed and len(words) < FEWEST + 1:
        raise InputError(f"With {len(words)} words none can be left out: a comparison needs at least {FEWEST}.")
    if "topics" in listed and not _topics_to_leave_out(words):
        raise InputError("No topic can be left out: your words have one topic, or too few words would remain.")
    return listed


def _topics_to_leave_out(words: Sequence[Word]) -> list[str]:
    """Topics without which enough words remain: one number, normalised, says nothing."""
    topics = [word.topic for word in words]
    return [topic for topic in dict.fromkeys(topics) if len(topics) - topics.count(topic) >= FEWEST]


def substitutes(words: Sequence[Word], kind: str | None, vectors: str | Path | None) -> Substitutes | None:
    """The words to put in the others' place: their own substitutes, or nearest neighbours in a file of vectors."""
    if kind is None:
        if vectors is not None:
            raise InputError("--vectors is for --substitute nearest: give both, or neither.")
        return None
    if kind not in SUBSTITUTIONS:
        raise InputError(f"--substitute is {' or '.join(SUBSTITUTIONS)}, not {kind!r}.")
    if kind == "nearest":
        if vectors is None:
            raise InputError(
                "--substitute nearest needs word vectors: --vectors FILE (word2vec's or GloVe's text form)."
            )
        near = nearest_words(Path(vectors), [word.word for word in words])
        found = [near.get(word.word) for word in words]
    else:
        if vectors is not None:
            raise InputError("--vectors is for --substitute nearest: give both, or neither.")
        found = [word.substitute for word in words]
        if not any(found):
            raise InputError("Your words have no substitutes: give their file a column 'substitute', or use nearest.")
    lacking = tuple(dict.fromkeys(word.word for word, other in zip(words, found, strict=True) if not other))
    return Substitutes(tuple(other or word.word for word, other in zip(words, found, strict=True)), lacking)


def wordings(result: RegionsResult) -> list[Wording]:
    """The score as it is, then with everything that was asked to be left out or replaced.

    Intervals are those of topics: what a single word does is its influence, which they are made of.
    """
    variants = list(_variants(result))
    found = wording_scores(result)
    sure = [k for k, variant in enumerate(variants) if variant.what != WITHOUT_WORD]
    enough = min(variants[k].kept.sum() for k in sure) >= FEWEST_WORDS
    if enough and find_affordable(result.likelihoods, result.question.tree.children, times=len(sure)).scores:
        balanced, difference = _estimates(result, [variants[k] for k in sure])
        for k, one, other in zip(sure, balanced, difference, strict=True):
            found[k] = replace(found[k], balanced=one, difference=None if k == 0 else other)
    return found


def wording_scores(result: RegionsResult) -> list[Wording]:
    """The same without intervals, which take far longer."""
    everything = np.arange(len(result.question.words))
    return [Wording(v.what, v.name, _scores(result, v.of(everything))) for v in _variants(result)]


def _variants(result: RegionsResult) -> Iterator[Variant]:
    words = result.question.words
    topics = np.array([word.topic for word in words])
    everything = np.ones(len(words), dtype=bool)
    yield Variant(FULL, "", result.likelihoods, everything)
    if "topics" in result.question.ablate:
        for name in _topics_to_leave_out(words):
            yield Variant(WITHOUT_TOPIC, name, result.likelihoods, topics != name)
    if result.substituted is not None and result.question.substitutes is not None:
        pairs = zip(words, result.question.substitutes.words, strict=True)
        for name in dict.fromkeys(word.topic for word, other in pairs if other != word.word):
            replaced = np.where(topics == name, result.substituted, result.likelihoods)
            yield Variant(REPLACED, name, replaced, everything)
    if "words" in result.question.ablate:
        for k, word in enumerate(words):
            yield Variant(WITHOUT_WORD, f"{word.word} ({word.topic})", result.likelihoods, np.arange(len(words)) != k)


def _scores(result: RegionsResult, likelihoods: np.ndarray) -> dict[str, np.ndarray]:
    found: dict[str, list[np.ndarray]] = {}
    for of_template in likelihoods:
        scores = herb_scores(descriptive_vectors(of_template), result.name_likelihoods, result.question.tree.children)
        for form in FORMS:
            found.setdefault(f"c_w.{form}", []).append(scores.c_w[form])
            found.setdefault(f"c_z.{form}", []).append(scores.c_z[form])
    return {measure: np.mean(values, axis=0) for measure, values in found.items()}


def _estimates(result: RegionsResult, variants: Sequence[Variant]) -> tuple[list[Estimates], list[Estimates]]:
    """Balanced C_w of every variant, and minus that of the first; each word is left out of all of them at once.

    The p-values of all differences, of regions with a pair of sub-regions, are corrected together.
    """
    words = len(result.question.words)
    whole = [_scores(result, variant.of(np.arange(words)))["c_w.balanced"] for variant in variants]

    def balanced(chosen: np.ndarray) -> np.ndarray:
        return np.stack(
            [
                known  # what a wording does not have, it does not miss
                if variant.kept[chosen].sum() == variant.kept.sum()
                else _scores(result, variant.of(chosen))["c_w.balanced"]
                for variant, known in zip(variants, whole, strict=True)
            ]
        )

    inner = np.array([len(below) > 1 for below in result.question.tree.children])
    found = jackknife_words(lambda chosen: np.where(inner, balanced(chosen), np.nan), words)
    difference = found.transform(lambda values: values[..., 1:, :] - values[..., :1, :]).estimate_differences()
    first = Estimates.unknown(np.zeros(len(inner)))
    return (
        [found.estimate_distances().part(k) for k in range(len(variants))],
        [first, *(difference.part(k) for k in range(len(variants) - 1))],
    )


def to_dict(result: RegionsResult, found: Sequence[Wording]) -> dict[str, Any]:
    """The part of results.json: the root and the regions directly below it; tables/wording.csv has all.

    `inference` is that of balanced C_w, `difference` its difference from the score as it is.
    """
    tree = result.question.tree
    top = [0, *map(int, tree.children[0])]
    rows = [
        {
            "what": wording.what,
            "name": wording.name,
            "regions": [
                {
                    "id": tree.regions[i].id,
                    **{measure: number(v[i]) for measure, v in wording.scores.items()},
                    "inference": None if wording.balanced is None else asdict(wording.balanced.at(i)),
                    "difference": None if wording.difference is None else asdict(wording.difference.at(i)),
                }
                for i in top
                if len(tree.children[i]) > 1
            ],
        }
        for wording in found
    ]
    replaced = result.question.substitutes
    return {
        "wordings": rows,
        "substitutes": None if replaced is None else list(replaced.words),
        "words_without_substitute": [] if replaced is None else list(replaced.lacking),
    }
