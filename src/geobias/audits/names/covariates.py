"""What is held fixed between countries: how long, how spelt and how frequent the names of a renamed text are.

Each says something of a name that is no country, and a classifier may react to it alone. All are known for every draw:

| covariate | of a renamed text |
|---|---|
| tokens | tokens of its new names, by the classifier's own tokenizer; without one, it is left out |
| characters | its characters |
| non-ASCII | 1 if a new name has a letter outside ASCII, else 0 |
| log-count | log(1 + count) of each new name in 24,000 articles of the English Wikipedia, summed; for bundled names |

Sums are over all mentions. What the rest of the text adds is a constant of the text, which cancels between countries.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from geobias.files import read_block
from geobias.measures.arrays import NUMBERS_AT_ONCE, LazyValues, TextValues
from geobias.measures.crossed_variance import NameUnits
from geobias.models.pretrained import count_added_tokens
from geobias.texts.counterfactuals import Counterfactuals
from geobias.texts.people import Person
from geobias.world.gazetteer import load_name_counts

TOKENS: Final = "tokens"
CHARACTERS: Final = "characters"
NON_ASCII: Final = "non-ASCII"
LOG_COUNT: Final = "log-count"
GROUPS: Final = {TOKENS: "length", CHARACTERS: "length", NON_ASCII: "spelling", LOG_COUNT: "frequency"}
CASES: Final = ("", "lower", "upper")  # of a mention
NO_TOKENIZER: Final = "the classifier has no tokenizer"
NO_COUNT: Final = "not all names are bundled ones"
INSEPARABLE: Final = "among the names of one country it does not vary by itself"


class Covariates(NamedTuple):
    names: tuple[str, ...]
    values: TextValues
    """texts with names x countries x draws x covariates"""
    left_out: Mapping[str, str]
    """Covariates that are not known, and why."""


def count_name_tokens(tokenizer: Any, names: Sequence[str]) -> np.ndarray:
    """names x cases: the tokens that a name adds to a text, as it is written, in lower case and in capitals."""
    forms = [form for name in names for form in (name, name.lower(), name.upper())]
    distinct = list(dict.fromkeys(forms))
    tokens = dict(zip(distinct, count_added_tokens(tokenizer, distinct), strict=True))
    return np.array([tokens[form] for form in forms], dtype=float).reshape(len(names), len(CASES))


def list_covariates(renamed: Counterfactuals, units: NameUnits, name_tokens: np.ndarray | None) -> Covariates:
    """All covariates that are known of these names; `name_tokens` is names x cases."""
    names = [name for _, name in renamed.name_index[2]]
    counts = load_name_counts()
    has_counts = all(name in counts for name in names)
    left_out = {} if has_counts else {LOG_COUNT: NO_COUNT}
    if name_tokens is None:
        left_out = {TOKENS: NO_TOKENIZER} | left_out
    log_counts = np.log1p([counts[name] for name in names]) if has_counts else None
    is_non_ascii = np.array([any(letter.isalpha() and not letter.isascii() for letter in name) for name in names])
    texts, countries, draws = renamed.shape

    def compute(block: slice) -> np.ndarray:
        answer, unit = units.read_texts(block, countries * draws)
        size = (block.stop - block.start) * countries * draws
        mentions = _count_mentions(renamed, block)

        def add_up(weights: np.ndarray) -> np.ndarray:
            return np.bincount(answer, weights=weights, minlength=size)

        columns = {
            TOKENS: None if name_tokens is None else add_up((mentions * name_tokens[unit]).sum(axis=1)),
            CHARACTERS: read_block(renamed.text_lengths, block).astype(float).ravel(),
            NON_ASCII: (add_up(is_non_ascii[unit].astype(float)) > 0).astype(float),
            LOG_COUNT: None if log_counts is None else add_up(mentions.sum(axis=1) * log_counts[unit]),
        }
        known = [column for column in columns.values() if column is not None]
        return np.stack(known, axis=-1).reshape(-1, countries, draws, len(known))

    known_names = tuple(name for name in GROUPS if name not in left_out)
    if texts * countries * draws <= NUMBERS_AT_ONCE:  # read several times
        return Covariates(known_names, compute(slice(0, texts)), left_out)
    return Covariates(known_names, LazyValues(compute), left_out)


def _count_mentions(renamed: Counterfactuals, texts: slice) -> np.ndarray:
    """Entries of `name_units` x cases: how often a text has each new name, by the case that it is written in."""
    _, countries, draws = renamed.shape
    by_text = []
    for i in range(texts.start, texts.stop):
        persons = [np.tile(_count_by_part(person), (draws, 1)) for person in renamed.people[i]]
        by_text.append(np.tile(np.concatenate(persons), (countries, 1)))
    return np.concatenate(by_text)


def _count_by_part(person: Person) -> np.ndarray:
    """Parts of a name x cases, in the order of `name_units`: the last name, then the first."""
    parts = [part for part in ("last", "first") if person.has(part)]
    return np.array(
        [[sum(m.case == case and part in m.parts for m in person.mentions) for case in CASES] for part in parts]
    )
