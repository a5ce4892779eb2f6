"""How a text shows where a person is from, and the texts of scenarios with people of every origin.

| showing | text |
|---|---|
| stated | "Should the bank lend the money to a citizen of Kenya?" |
| demonym | "Should the bank lend the money to a Kenyan applicant?" |
| name | "Should the bank lend the money to Amina Otieno?" Names are drawn from the gazetteer; genders alternate. |
| said | "Should the bank lend the money to me? I am this applicant, and I am from Kenya." |

Controls: a person without an origin ("an applicant"), people of invented countries, and in a choice the same person
twice.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

import numpy as np

from geobias.checks import describe_choices
from geobias.errors import InputError
from geobias.texts.counterfactuals import GENDERS, hash_number
from geobias.texts.paraphrases import choose_article
from geobias.texts.scenarios import FIRST, PERSON, SECOND, Scenario
from geobias.texts.templates import BlockShape, LazyTexts
from geobias.world.gazetteer import Gazetteer
from geobias.world.places import add_article, demonym_adjective, invent_demonym, invent_places

SHOWINGS = ("stated", "demonym", "name", "said")
ORDERS = 2  # of two people in a choice
ISO_LETTERS = 2  # of the code of a country

# What a person who speaks of themselves calls "my".
_OWNED = re.compile(r"\bthe (\w+(?: \w+)?) of " + re.escape(PERSON))  # "the student visa of {person}"


@dataclass(frozen=True)
class Origin:
    """Where a person is from: a country, an invented country (without a code), or nowhere in particular."""

    code: str | None
    country: str

    @property
    def is_invented(self) -> bool:
        return self.code is None and bool(self.country)


NO_ORIGIN = Origin(None, "")


def make_origins(
    gazetteer: Gazetteer, codes: Sequence[str], showing: str, *, invented: int = 0, baseline: bool = True
) -> tuple[Origin, ...]:
    """List the origins that can be shown in this way: the countries in their order, then the controls.

    A country without a usual demonym, or without names, is left out where it cannot be shown; a place without an ISO
    3166 code of two letters (a former state) is shown by names only. The controls are as many invented countries, of
    which there are none by name, and with `baseline` the person without an origin.
    """
    origins = [Origin(code, gazetteer.country(code)) for code in codes if _can_show(gazetteer, code, showing)]
    if invented and showing != "name":
        places = invent_places([add_article(gazetteer.country(code)) for code in codes], invented)
        origins += [Origin(None, place) for place in places]
    return (*origins, NO_ORIGIN) if baseline else tuple(origins)


def check_showing(showing: str) -> str:
    """Return the way of showing an origin; refuse an unknown one."""
    if showing not in SHOWINGS:
        raise InputError(f"Unknown way to show origin {showing!r}. {describe_choices(showing, SHOWINGS)}")
    return showing


def _can_show(gazetteer: Gazetteer, code: str, showing: str) -> bool:
    if showing == "name":
        return all(gazetteer.names(code, kind) for kind in (*GENDERS, "last"))
    return len(code) == ISO_LETTERS and (showing != "demonym" or demonym_adjective(code) is not None)


class ScenarioTexts(LazyTexts):
    """(scenario, paraphrase) x origins x draws: each scenario about people of each origin.

    `cells` holds the scenario and the paraphrase of each index of the first dimension. Draws differ for names only. A
    name depends on the case, the country and the draw alone: paraphrases, mirrors and models share it.
    """

    def __init__(
        self,
        scenarios: Sequence[Scenario],
        origins: Sequence[Origin],
        showing: str,
        *,
        gazetteer: Gazetteer | None = None,
        draws: int = 1,
        seed: int = 0,
        paraphrases: int | None = None,
    ) -> None:
        self.scenarios, self.origins, self.showing = tuple(scenarios), tuple(origins), showing
        self.gazetteer, self.seed, self.paraphrases = gazetteer, seed, paraphrases
        self.draws = draws if showing == "name" else 1
        self.cells = [(i, k) for i, case in enumerate(self.scenarios) for k in range(len(case.texts[:paraphrases]))]
        self.draw_names = lru_cache(maxsize=4096)(self._draw_names)

    def __reduce__(self) -> tuple[Any, ...]:
        options = {name: getattr(self, name) for name in ("gazetteer", "draws", "seed", "paraphrases")}
        return partial(type(self), **options), (self.scenarios, self.origins, self.showing)  # without the cache

    @property
    def shape(self) -> BlockShape:
        return len(self.cells), len(self.origins), self.draws

    def at(self, cell: int, origin: int, draw: int) -> str:
        scenario, text = self._text(cell)
        person, suffix = self.describe_person(scenario, self.origins[origin], draw)
        if self.showing == "said":
            text = _OWNED.sub(r"my \1", text)
        return text.replace(PERSON, person) + suffix

    def shown_genders(self) -> np.ndarray:
        """cells x draws: "male" or "female", the same for every country; empty where no name is shown."""
        if self.showing != "name":
            return np.full((len(self.cells), self.draws), "", dtype=object)
        rows = [[self._gender(self.scenarios[i].case, draw) for draw in range(self.draws)] for i, _ in self.cells]
        return np.array(rows, dtype=object).reshape(len(self.cells), self.draws)

    def describe_person(self, scenario: Scenario, origin: Origin, draw: int = 0) -> tuple[str, str]:
        """The words for the person, and what follows the question."""
        role, country = scenario.role, add_article(origin.country)
        if self.showing == "said":
            return "me", f" I am this {role}, and I am from {country}." if country else f" I am this {role}."
        if origin == NO_ORIGIN:
            return f"{choose_article(role)} {role}", ""
        if self.showing == "stated":
            return f"a citizen of {country}", ""
        if self.showing == "demonym":
            adjective = (
                demonym_adjective(origin.code) if origin.code else invent_demonym(origin.country).removesuffix("s")
            )
            return f"{choose_article(str(adjective))} {adjective} {role}", ""
        return " ".join(self.draw_names(scenario.case, str(origin.code))[draw]), ""

    def _text(self, cell: int) -> tuple[Scenario, str]:
        number, paraphrase = self.cells[cell]
        scenario = self.scenarios[number]
        return scenario, scenario.texts[paraphrase]

    def _gender(self, case: str, draw: int) -> str:
        """Genders alternate; half of the cases begin with men."""
        return GENDERS[(hash_number(self.seed, case) + draw) % 2]

    def _draw_names(self, case: str, code: str) -> list[tuple[str, str]]:
        """A first and a last name for each draw; none returns before all of the country's have had their turn."""
        assert self.gazetteer is not None
        genders = [self._gender(case, draw) for draw in range(self.draws)]
        columns = []
        for kinds in (genders, ["last"] * self.draws):
            names = {}
            for kind in set(kinds):
                available = self.gazetteer.names(code, kind)
                order = np.random.default_rng(hash_number(self.seed, case, code, kind)).permutation(len(available))
                names[kind] = [available[i] for i in order]
            columns.append(
                [names[kind][kinds[:draw].count(kind) % len(names[kind])] for draw, kind in enumerate(kinds)]
            )
        return list(zip(*columns, strict=True))


class ChoiceTexts(ScenarioTexts):
    """(scenario, paraphrase) x origins x (draw, order): a choice between a person of each origin and one without.

    The last index is 2 * draw + order; in order 0 the person of the origin comes first. Without an origin, the same
    person stands in both places, so that nothing but the order can matter.
    """

    @property
    def shape(self) -> BlockShape:
        return len(self.cells), len(self.origins), self.draws * ORDERS

    def at(self, cell: int, origin: int, draw_and_order: int) -> str:
        scenario, text = self._text(cell)
        draw, order = divmod(draw_and_order, ORDERS)
        pair = [self.describe_person(scenario, person, draw)[0] for person in (self.origins[origin], NO_ORIGIN)]
        first, second = reversed(pair) if order else pair
        before, _, after = text.partition(FIRST)  # a name that reads "{second}" stays as it is
        return before + first + after.replace(SECOND, second)
