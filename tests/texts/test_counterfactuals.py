"""Draws of names: seeded, the same whatever else is asked, and without replacement while names last."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
import pytest

from geobias.texts.counterfactuals import Counterfactuals
from geobias.texts.people import find_people
from geobias.texts.templates import TextSelection
from geobias.world.gazetteer import load_gazetteer

NAMES = load_gazetteer()


def renaming(
    texts: Sequence[str], *, countries: Sequence[str] = ("FR", "MA"), draws: int = 6, seed: int = 0
) -> Counterfactuals:
    """Texts in which every word that begins with a capital is a name, and neighbours are one."""
    import re

    found = [
        find_people(text, [m.span() for m in re.finditer(r"[A-ZÀ-Ý]\w*(?: [A-ZÀ-Ý]\w*)*", text)], NAMES)
        for text in texts
    ]
    return Counterfactuals(texts, found, NAMES, countries, draws=draws, seed=seed)


def test_order_is_texts_countries_draws() -> None:
    made = renaming(["ask Mary", "ask John Smith today"])
    assert made.shape == (2, 2, 6) and len(made) == 24
    assert list(made)[13] == made[13] == made.at(1, 0, 1)
    assert made[3:5] == [made[3], made[4]]
    with pytest.raises(IndexError):
        made[24]


def test_names_are_of_the_country_and_the_gender() -> None:
    made = renaming(["ask Mary", "ask John Smith today"], draws=40)
    for c, code in enumerate(("FR", "MA")):
        for draw in range(40):
            assert made.at(0, c, draw).removeprefix("ask ") in NAMES.names(code, "female")
            (name,) = made.new_names(1, c)
            assert name[draw].first in NAMES.names(code, "male") and name[draw].last in NAMES.names(code, "last")
            assert made.at(1, c, draw) == f"ask {name[draw].first} {name[draw].last} today"


def test_texts_rendered_together_equal_texts_rendered_alone() -> None:
    texts = ["MARY SMITH IS HERE, SAID JOHN", "ask mary and John Smith, Smith said", "Lee met Anna Lee"]
    made = renaming(texts, draws=130)  # more draws than names
    assert list(made) == [made.at(*index) for index in np.ndindex(*made.shape)]
    mixed = np.array([700, 3, 5, 4, 699, 3])
    assert list(TextSelection(made, mixed)) == [made[int(i)] for i in mixed]


def test_name_index_lists_the_names_that_texts_show() -> None:
    made = renaming(["ask Mary", "ask John Smith today", "Lee met Anna Lee"], draws=9)
    answers, names, keys = made.name_index
    for position, text in enumerate(made):
        spelled = [keys[name] for name in names[answers == position]]
        new_names = made.new_names(*divmod(position // 9, 2))
        draw = [person[position % 9] for person in new_names]
        assert Counter(name for _, name in spelled) == Counter(n for new in draw for n in (new.first, new.last) if n)
        assert all(name in text for _, name in spelled)


def test_part_keeps_the_draws() -> None:
    made = renaming(["ask Mary", "ask John"])
    part = made.part([1], 2)
    assert list(part) == [made.at(1, c, draw) for c in range(2) for draw in range(2)]


def test_no_name_returns_before_all_have_had_their_turn() -> None:
    made = renaming(["ask John"], countries=("MA",), draws=45)
    names = NAMES.names("MA", "male")
    assert len(names) == 19
    drawn = [made.at(0, 0, draw).removeprefix("ask ") for draw in range(45)]
    assert sorted(drawn[:19]) == sorted(drawn[19:38]) == sorted(names)
    assert drawn[:19] != drawn[19:38]
    assert set(Counter(drawn).values()) == {2, 3}


def test_two_people_of_one_text_do_not_bear_the_same_name_at_once() -> None:
    made = renaming(["saw John with David and then Michael"], draws=60)
    for c in range(2):
        for draw in range(60):
            firsts = [names[draw].first for names in made.new_names(0, c)]
            assert len(set(firsts)) == 3


def test_an_unknown_gender_alternates() -> None:
    made = renaming(["ask Xyzzy"], countries=("FR",), draws=8)
    male, female = set(NAMES.names("FR", "male")), set(NAMES.names("FR", "female"))
    shown = made.shown_genders()[0].tolist()
    assert shown[::2] == [shown[0]] * 4 and shown[1::2] == [shown[1]] * 4 and set(shown) == {"male", "female"}
    for draw, gender in enumerate(shown):
        assert made.at(0, 0, draw).removeprefix("ask ") in (male if gender == "male" else female)


def test_shown_genders() -> None:
    made = renaming(["ask Mary", "ask John and Mary", "ask Drake"], draws=2)
    assert made.shown_genders().tolist() == [["female"] * 2, ["mixed"] * 2, ["not shown"] * 2]


def test_names_used_counts_different_names() -> None:
    made = renaming(["ask John", "ask John", "ask John Smith"], countries=("MA",), draws=30)
    used = made.count_names(0)
    lasts = {name.last for name in made.new_names(2, 0)[0]}
    assert used == {"male": 19, "female": 0, "last": len(lasts)}
