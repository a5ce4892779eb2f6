"""What audits that rename people share: which countries names are drawn from, and what tells two runs apart."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence

import numpy as np

from geobias.audits.inputs import split_list
from geobias.checks import HIGHEST_SEED, check_number, check_size
from geobias.errors import InputError
from geobias.texts.counterfactuals import Counterfactuals
from geobias.texts.people import Person
from geobias.texts.user_texts import Texts
from geobias.world.gazetteer import ENOUGH, PAPER_COUNTRIES, Gazetteer

MOST_DRAWS = 10_000


def check_draws(draws: int, seed: int) -> None:
    check_number("--draws", draws, 1, MOST_DRAWS)
    check_number("--seed", seed, 0, HIGHEST_SEED)


def choose_countries(
    gazetteer: Gazetteer, names: str | Sequence[str] | None
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The codes of the countries to draw names from, and of those that "all" leaves out for lack of names."""
    if names == "all" or (names is None and not set(PAPER_COUNTRIES) <= set(gazetteer.codes)):
        left_out = tuple(code for code in gazetteer.codes if gazetteer.find_short_lists(code))
        codes = tuple(code for code in gazetteer.codes if code not in left_out)
        if not codes:
            raise InputError(
                f"No country has at least {ENOUGH} names of every kind ({', '.join(gazetteer.kinds)}). Add names."
            )
        return codes, left_out
    codes = PAPER_COUNTRIES
    if names is not None:
        codes = tuple(dict.fromkeys(gazetteer.find(name.strip()) for name in split_list(names, "--countries")))
    if not codes:
        raise InputError("--countries is empty. Add at least one value, or remove it.")
    for code in codes:
        for kind, count in gazetteer.find_short_lists(code):
            raise InputError(
                f"{gazetteer.country(code)} has {count} {kind} names in this script; at least {ENOUGH} are needed. "
                "Remove the country, add names (--gazetteer), or use names of all scripts (scripts='all' in Python)."
            )
    return codes, ()


class NobodyNamedError(InputError):
    """No text names anybody, or the finder does not read the texts, so nobody can be renamed."""


def rename_people(
    texts: Texts,
    people: Sequence[tuple[Person, ...]],
    gazetteer: Gazetteer,
    codes: Sequence[str],
    *,
    draws: int,
    seed: int,
) -> tuple[np.ndarray, Counterfactuals]:
    """The positions of the texts that name somebody, and these texts with names of every country."""
    named = np.array([i for i, row in enumerate(people) if row], dtype=int)
    check_size(len(named) * len(codes) * draws, "renamed texts", "Use fewer --draws, --countries or texts (--limit)")
    return named, Counterfactuals(
        [texts.texts[i] for i in named], [row for row in people if row], gazetteer, codes, draws=draws, seed=seed
    )


def digest_mentions(people_by_text: Sequence[Sequence[Person]]) -> str:
    """What tells apart two ways of finding names in the same texts."""
    spans = [
        [(mention.start, mention.end) for person in persons for mention in person.mentions]
        for persons in people_by_text
    ]
    return hashlib.blake2b(json.dumps(spans).encode(), digest_size=16).hexdigest()
