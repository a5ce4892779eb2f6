"""What mentions have in common besides the country: gender, part of the name, case, script."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from geobias.audits.find.answers import FinderAnswers
from geobias.audits.find.design import FindDesign
from geobias.texts.counterfactuals import GENDERS

BOTH_PARTS = "first and last"
PARTS = (BOTH_PARTS, "first", "last")
AS_WRITTEN = "as written"
LATIN, MIXED = "Latin", "mixed"


@dataclass(frozen=True)
class Level:
    """Mentions with something in common, and their outcomes. The first level of a factor is its reference."""

    factor: str
    name: str
    outcomes: np.ndarray = field(repr=False)  # mentions x countries x draws
    is_level: np.ndarray = field(repr=False)  # the same: which of them it has (bool)


def list_levels(design: FindDesign, answers: FinderAnswers) -> Iterator[Level]:
    """Every level of every factor that some mention has; a factor with one level only is left out."""
    outcomes = answers.renamed
    masks = [
        *(("gender", level, mask) for level, mask in _list_genders(design)),
        *(("part", level, mask) for level, mask in _list_parts(design)),
        *(("script", level, mask) for level, mask in _list_scripts(design)),
    ]
    levels = [Level(factor, name, outcomes, np.broadcast_to(mask, outcomes.shape)) for factor, name, mask in masks]
    levels += _list_cases(design, answers)
    levels = [level for level in levels if level.is_level.any()]
    counts = Counter(level.factor for level in levels)
    return (level for level in levels if counts[level.factor] > 1)


def _list_genders(design: FindDesign) -> Iterator[tuple[str, np.ndarray]]:
    """Of the first names that mentions show."""
    kinds = [design.counterfactuals.first_kinds(text) for text in range(len(design.named))]
    shown = np.array(
        [
            kinds[each.text][each.person] if "first" in each.mention.parts else [None] * design.draws
            for each in design.mentions
        ],
        dtype=object,
    )
    for gender in GENDERS:
        yield gender, (shown == gender)[:, None, :]


def _list_parts(design: FindDesign) -> Iterator[tuple[str, np.ndarray]]:
    parts = np.array([BOTH_PARTS if len(each.mention.parts) > 1 else each.mention.parts[0] for each in design.mentions])
    for part in PARTS:
        yield part, (parts == part)[:, None, None]


def _list_scripts(design: FindDesign) -> Iterator[tuple[str, np.ndarray]]:
    """Latin first, then from the most common to the rarest."""
    if design.scripts != "all":
        return
    counterfactuals = design.counterfactuals
    countries, draws = len(counterfactuals.countries), counterfactuals.draws
    scripts = np.empty((len(design.mentions), countries, draws), dtype=object)
    for m, each in enumerate(design.mentions):
        for c in range(countries):
            for draw, new in enumerate(counterfactuals.new_names(each.text, c)[each.person]):
                scripts[m, c, draw] = detect_script(each.mention.render(new.first, new.last))
    counts = Counter(scripts.ravel())
    for script in sorted(counts, key=lambda name: (name != LATIN, -counts[name], name)):
        yield script, scripts == script


def detect_script(name: str) -> str:
    """The script of a name's letters, by their Unicode names; "mixed" where it has several."""
    scripts = {unicodedata.name(letter, "unknown").split()[0].title() for letter in name if letter.isalpha()}
    scripts -= {"Modifier"}  # apostrophes
    scripts = {"Han" if script == "Cjk" else script for script in scripts}
    return scripts.pop() if len(scripts) == 1 else MIXED


def _list_cases(design: FindDesign, answers: FinderAnswers) -> Iterator[Level]:
    """The same draws with their names as written (in the case of the name that they replace), in lower and upper case.

    Only the names change their case, not the text around them.
    """
    count = design.recased_draws
    is_level = np.zeros(answers.renamed.shape, dtype=bool)
    is_level[..., :count] = True
    yield Level("case", AS_WRITTEN, answers.renamed, is_level)
    for case, outcomes in answers.recased.items():
        padded = np.zeros_like(answers.renamed)
        padded[..., :count] = outcomes
        yield Level("case", case, padded, is_level)
