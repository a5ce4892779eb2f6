"""Split regions, words and templates: what a language model is aligned on is never what it is audited on."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np

from geobias.errors import InputError
from geobias.texts import DEFAULT_TEMPLATE
from geobias.world.regions import Region
from geobias.world.words import Word

FEWEST_REGIONS, FEWEST_WORDS, FEWEST_TEMPLATES = 4, 10, 2
STEM_LETTERS = 5  # words that begin alike ("inquiring", "inquisitive") mostly share tokens and meaning

Item = TypeVar("Item")


@dataclass(frozen=True)
class AlignmentPart:
    """Regions, words and templates of one side."""

    regions: tuple[Region, ...] = field(repr=False)
    words: tuple[Word, ...] = field(repr=False)
    templates: tuple[str, ...] = field(repr=False)


@dataclass(frozen=True)
class AlignmentSplit:
    """What is trained on, and what is audited."""

    train: AlignmentPart
    held_out: AlignmentPart


def split_for_alignment(
    regions: Sequence[Region],
    words: Sequence[Word],
    templates: Sequence[str],
    *,
    seed: int = 0,
    audit_templates: Sequence[str] = (DEFAULT_TEMPLATE,),
) -> AlignmentSplit:
    """Split regions, words and templates at random into halves to train on and to audit.

    Regions are balanced over their parents (continents), words over their topics. What could leak stays together:
    regions whose name is part of another's (Guinea, Papua New Guinea), and words that are equal, begin alike or are
    each other's substitute.

    The templates of the audit are always held out.
    """
    for count, fewest, what in (
        (len(regions), FEWEST_REGIONS, "regions"),
        (len(words), FEWEST_WORDS, "words"),
        (len(templates), FEWEST_TEMPLATES, "templates"),
    ):
        if count < fewest:
            raise InputError(f"{count} {what} are too few to train on one half and audit the other: use {fewest}.")
    rng = np.random.default_rng(seed)
    train_regions, other_regions = _halve(regions, _share_name, lambda region: region.parent, rng)
    train_words, other_words = _halve(words, _share_stem, lambda word: word.topic, rng)
    free = [template for template in templates if template not in audit_templates]
    reserved = tuple(template for template in templates if template in audit_templates)
    to_train = {free[k] for k in rng.permutation(len(free))[: max(1, len(templates) // 2)]}
    split = AlignmentSplit(
        AlignmentPart(train_regions, train_words, tuple(template for template in free if template in to_train)),
        AlignmentPart(
            other_regions, other_words, reserved + tuple(template for template in free if template not in to_train)
        ),
    )
    for part in (split.train, split.held_out):
        if len(part.regions) < FEWEST_REGIONS // 2 or len(part.words) < FEWEST_WORDS // 2 or not part.templates:
            raise InputError("Too many regions, words or templates depend on each other to be split. Use more of them.")
    return split


def _halve(
    items: Sequence[Item],
    depend: Callable[[Item, Item], bool],
    stratum: Callable[[Item], Hashable],
    rng: np.random.Generator,
) -> tuple[tuple[Item, ...], tuple[Item, ...]]:
    """Two halves, balanced over strata; items that depend on each other are in the same."""
    group_of = list(range(len(items)))
    for second in range(len(items)):
        for first in range(second):
            if group_of[first] != group_of[second] and depend(items[first], items[second]):
                merged = group_of[second]
                group_of = [group_of[first] if group == merged else group for group in group_of]
    groups = [[k for k, group in enumerate(group_of) if group == each] for each in dict.fromkeys(group_of)]
    sides: tuple[list[int], list[int]] = ([], [])
    for number in rng.permutation(len(groups)):
        members = groups[number]
        kind = stratum(items[members[0]])
        sizes = [(sum(stratum(items[k]) == kind for k in side), len(side)) for side in sides]
        sides[0 if sizes[0] <= sizes[1] else 1].extend(members)
    first_half, second_half = (tuple(items[k] for k in sorted(side)) for side in sides)
    return first_half, second_half


def _share_name(first: Region, second: Region) -> bool:
    shorter, longer = sorted((first.name, second.name), key=len)
    return re.search(rf"\b{re.escape(shorter)}\b", longer) is not None


def _share_stem(first: Word, second: Word) -> bool:
    pairs = [(first.word, second.word), (first.substitute, second.word), (first.word, second.substitute)]
    return any(
        one_word.lower() == other_word.lower() or _begin_alike(one_word, other_word)
        for one_word, other_word in pairs
        if one_word and other_word
    )


def _begin_alike(first: str, second: str) -> bool:
    beginnings = {word[:STEM_LETTERS].lower() for word in (first, second) if len(word) >= STEM_LETTERS}
    return len(beginnings) == 1 and min(len(first), len(second)) >= STEM_LETTERS
