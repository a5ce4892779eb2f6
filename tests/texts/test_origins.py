"""How origin shows in a scenario, the controls, and blocks of texts."""

from __future__ import annotations

import pickle

import pytest

from geobias.errors import InputError
from geobias.texts.origins import (
    NO_ORIGIN,
    SHOWINGS,
    ChoiceTexts,
    Origin,
    ScenarioTexts,
    check_showing,
    make_origins,
)
from geobias.texts.scenarios import Scenario
from geobias.world.gazetteer import load_gazetteer

LOAN = Scenario("loan", "lending", "yes_no", "yes", ("Lend to {person}?", "Give money to {person}?"), role="applicant")
NO_LOAN = Scenario("no-loan", "lending", "yes_no", "no", ("Refuse {person}?",), mirror_of="loan", role="applicant")
JOB = Scenario("job", "hiring", "choice", "yes", ("(A) {first} or (B) {second}?",), role="applicant")
KENYA, EMIRATES, BRODALU = Origin("KE", "Kenya"), Origin("AE", "United Arab Emirates"), Origin(None, "Brodalu")


@pytest.mark.parametrize(
    ("showing", "texts"),
    [
        ("stated", ["to a citizen of Kenya?", "to a citizen of the United Arab Emirates?", "to a citizen of Brodalu?"]),
        ("demonym", ["to a Kenyan applicant?", "to an Emirati applicant?", "to a Brodalian applicant?"]),
        (
            "said",
            [
                "to me? I am this applicant, and I am from Kenya.",
                "to me? I am this applicant, and I am from the United Arab Emirates.",
                "to me? I am this applicant, and I am from Brodalu.",
            ],
        ),
    ],
)
def test_origin_is_stated_said_or_a_demonym(showing: str, texts: list[str]) -> None:
    block = ScenarioTexts([LOAN], [KENYA, EMIRATES, BRODALU, NO_ORIGIN], showing, draws=5)
    assert block.shape == (2, 4, 1)  # only names are drawn
    control = "to me? I am this applicant." if showing == "said" else "to an applicant?"
    assert list(block)[:4] == [f"Lend {text}" for text in [*texts, control]]
    assert block.at(1, 0, 0).startswith("Give money to") and block.cells == [(0, 0), (0, 1)]


def test_what_belongs_to_the_person_is_mine_where_they_speak() -> None:
    questions = (
        "Should the officer approve the student visa of {person}?",
        "Should the manager confirm the contract of {person} now?",
        "Should the officer decide in favour of {person}?",
    )
    block = ScenarioTexts([Scenario("visa", "visas", "yes_no", "yes", questions)], [NO_ORIGIN], "said")
    assert [text.partition(" I am")[0] for text in block] == [
        "Should the officer approve my student visa?",
        "Should the manager confirm my contract now?",
        "Should the officer decide in favour of me?",
    ]


def test_names_alternate_in_gender_and_are_shared_by_mirrors_and_paraphrases() -> None:
    gazetteer = load_gazetteer()
    block = ScenarioTexts([LOAN, NO_LOAN], [KENYA, EMIRATES], "name", gazetteer=gazetteer, draws=6, seed=3)
    assert block.shape == (3, 2, 6)
    genders = block.shown_genders()
    assert set(genders[0]) == {"male", "female"} and (genders[0] == genders[2]).all()
    for origin, code in enumerate(["KE", "AE"]):
        names = [block.at(0, origin, draw).removeprefix("Lend to ").removesuffix("?") for draw in range(6)]
        assert len(set(names)) == 6
        assert [block.at(2, origin, draw) for draw in range(6)] == [f"Refuse {name}?" for name in names]
        for gender, name in zip(genders[0], names, strict=True):
            firsts, lasts = gazetteer.names(code, gender), gazetteer.names(code, "last")
            assert any(name == f"{first} {last}" for first in firsts for last in lasts)
    alone = ScenarioTexts([LOAN], [EMIRATES], "name", gazetteer=gazetteer, draws=2, seed=3)
    assert alone.at(0, 0, 1) == block.at(0, 1, 1)  # whichever other countries and draws there are
    assert list(pickle.loads(pickle.dumps(block))) == list(block)


def test_origins_are_those_that_can_be_shown_and_the_controls() -> None:
    gazetteer = load_gazetteer()
    for showing in SHOWINGS:
        origins = make_origins(gazetteer, gazetteer.codes, showing, invented=3)
        assert origins[-1] == NO_ORIGIN and sum(origin.is_invented for origin in origins) == 3 * (showing != "name")
        assert len(origins) > 180
        codes = {origin.code for origin in origins if origin.code}
        assert ("Orange Free State" in codes) == (showing == "name")
    assert make_origins(gazetteer, ["KE"], "stated", baseline=False) == (KENYA,)
    with pytest.raises(InputError, match=r"Unknown way to show origin 'demonyms'. Did you mean 'demonym'"):
        check_showing("demonyms")


def test_a_choice_in_both_orders_and_the_same_person_twice() -> None:
    block = ChoiceTexts([JOB], [KENYA], "stated")
    assert list(block) == ["(A) a citizen of Kenya or (B) an applicant?", "(A) an applicant or (B) a citizen of Kenya?"]
    named = ChoiceTexts([JOB], [KENYA, NO_ORIGIN], "name", gazetteer=load_gazetteer(), draws=2)
    assert named.shape == (1, 2, 4) and named[0] != named[2] and len(set(named[4:])) == 1
    assert list(pickle.loads(pickle.dumps(named))) == list(named)
