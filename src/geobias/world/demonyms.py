"""What the people of a country are called: plural demonyms ("Kenyans", "the French") and adjectives ("Kenyan").

A demonym that two countries share is given to the one with more people: "Congolese people" to the Democratic Republic
of the Congo, "Dominicans" to the Dominican Republic. Without a usual demonym, or without people, a country has none.
"""

from __future__ import annotations

from functools import cache
from importlib import resources

from geobias.world.place_in_sentence import drop_article

CONTINENTS = {
    "AF": "Africans",
    "AS": "Asians",
    "EU": "Europeans",
    "NA": "North Americans",
    "OC": "Oceanians",
    "SA": "South Americans",
}


def plural_demonym(code: str) -> str | None:
    """What the people of a country (ISO 3166 alpha-2) are called within a sentence; None if there is no usual word."""
    plural, _ = _load_demonyms().get(code, (None, None))
    return plural


def invent_demonym(place: str) -> str:
    """A plural demonym of an invented place, formed as the regular ones are: Drovania, Drovanians; Kelm, Kelmians."""
    place = drop_article(place)
    if place.endswith("a"):
        return f"{place}ns"
    return f"{place[:-1] if place[-1] in 'eiouy' else place}ians"


def demonym_adjective(code: str) -> str | None:
    """The adjective of a country (ISO 3166 alpha-2); None if there is no usual word."""
    _, adjective = _load_demonyms().get(code, (None, None))
    return adjective


@cache
def _load_demonyms() -> dict[str, tuple[str, str]]:
    text = resources.files("geobias.world").joinpath("data/demonyms.tsv").read_text(encoding="utf-8")
    rows = (line.split("\t") for line in text.splitlines()[1:])
    return {code: (plural, adjective) for code, plural, adjective in rows}
