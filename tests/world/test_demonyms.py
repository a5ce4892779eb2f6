from __future__ import annotations

import pytest

from geobias.world.countries import UN_STATES, load_country_names
from geobias.world.places import demonym_adjective, plural_demonym


@pytest.mark.parametrize(
    ("code", "plural", "adjective"),
    [
        ("KE", "Kenyans", "Kenyan"),
        ("NL", "the Dutch", "Dutch"),
        ("GB", "the British", "British"),
        ("CH", "the Swiss", "Swiss"),
        ("FR", "the French", "French"),
        ("PH", "Filipinos", "Filipino"),
        ("ES", "Spaniards", "Spanish"),
        ("DK", "Danes", "Danish"),
        ("PL", "Poles", "Polish"),
        ("AE", "Emiratis", "Emirati"),
        ("JP", "Japanese people", "Japanese"),
        ("NE", "Nigeriens", "Nigerien"),
        ("NG", "Nigerians", "Nigerian"),
        ("NZ", "New Zealanders", "New Zealand"),
        ("PG", "Papua New Guineans", "Papua New Guinean"),
        ("GW", "Bissau-Guineans", "Bissau-Guinean"),
        ("KZ", "Kazakhstanis", "Kazakhstani"),
        ("VU", "Ni-Vanuatu people", "Ni-Vanuatu"),
        ("CD", "Congolese people", "Congolese"),
        ("CG", None, None),
        ("DO", "Dominicans", "Dominican"),
        ("DM", None, None),
        ("AQ", None, None),
        ("XX", None, None),
    ],
)
def test_demonyms(code: str, plural: str | None, adjective: str | None) -> None:
    assert (plural_demonym(code), demonym_adjective(code)) == (plural, adjective)


def test_every_demonym_names_one_country() -> None:
    plurals = {code: plural_demonym(code) for code in load_country_names()}
    names = [plural for plural in plurals.values() if plural]
    assert len(names) == len(set(names)) == 231
    assert {code for code in UN_STATES if plurals[code] is None} == {"CG", "DM", "VA"}


def test_demonyms_are_plural_and_fit_within_a_sentence() -> None:
    plurals = [plural for code in load_country_names() if (plural := plural_demonym(code))]
    irregular = [plural for plural in plurals if not plural.endswith(("s", " people")) and plural[:4] != "the "]
    assert irregular == ["Batswana", "Basotho"]
    assert not [plural for plural in plurals if plural.endswith("ese") or plural.startswith("The ")]
