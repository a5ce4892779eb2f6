"""The design of a decisions audit: which scenarios, about people of which countries, and how their origin shows."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from geobias.audits.decide.answers import NAME_KINDS, CaseLayout
from geobias.audits.decide.result import DecideCounts, DecideSettings, ScenariosSettings
from geobias.audits.inputs import split_list
from geobias.checks import MOST_ROWS, check_number, check_size
from geobias.errors import InputError
from geobias.texts.origins import NO_ORIGIN, ChoiceTexts, Origin, ScenarioTexts, check_showing, make_origins
from geobias.texts.scenarios import (
    CHOICE,
    NUMBER,
    YES_NO,
    Scenario,
    digest_scenarios,
    load_scenarios,
    read_scenarios,
    select_scenarios,
)
from geobias.texts.templates import LazyTexts
from geobias.texts.user_texts import find_first_copies
from geobias.world.gazetteer import Gazetteer, load_gazetteer

BUNDLED = "the bundled scenarios"
DEFAULT_ORIGIN = "stated"
NAME, SAID = "name", "said"
INVENTED = 12  # invented countries, for the control
MOST_DRAWS, MOST_PARAPHRASES, MOST_SAMPLES = 1000, 100, 10_000
FEWEST_COUNTRIES = 2
PRAISE = "A review of all documents speaks clearly for this person."
BLAME = "A review of all documents speaks clearly against this person."
COVARIATES = ("characters", "log of countries that list the name")


@dataclass(frozen=True, kw_only=True)
class DecideOptions:
    """The options of `audit_decisions`, as the user gives them, without the models."""

    scenarios: Any = None
    domains: str | Sequence[str] = ()
    origin: str | Sequence[str] = DEFAULT_ORIGIN
    countries: str | Sequence[str] = ()
    draws: int = 2
    paraphrases: int = 1
    seed: int = 0
    system: str | None = None
    limit: int | None = None
    samples: int | None = None


@dataclass(frozen=True)
class DecideDesign:
    """What is the same for every model."""

    scenarios: tuple[Scenario, ...] = field(repr=False)
    countries: tuple[Origin, ...] = field(repr=False)
    origin: tuple[str, ...]
    gazetteer: Gazetteer = field(repr=False)
    system: str | None
    settings: DecideSettings = field(repr=False)  # without the models
    countries_left_out: tuple[str, ...]
    copies: int  # cases left out

    def of_kind(self, kind: str) -> tuple[Scenario, ...]:
        return select_scenarios(self.scenarios, kind=kind)

    @cached_property
    def invented(self) -> tuple[Origin, ...]:
        """The same invented countries in every way that can show them."""
        codes = [str(country.code) for country in self.countries]
        origins = make_origins(self.gazetteer, codes, DEFAULT_ORIGIN, invented=INVENTED, baseline=False)
        return tuple(origin for origin in origins if origin.is_invented)

    def texts(self, way: str) -> ScenarioTexts:
        """Yes/no questions about people of every country, then of invented countries, then without an origin."""
        invented = () if way == NAME else self.invented
        return self._make_texts(self.of_kind(YES_NO), (*self.countries, *invented, NO_ORIGIN), way)

    def layout(self, texts: ScenarioTexts, draws: int | None = None) -> CaseLayout:
        return CaseLayout(texts.scenarios, tuple(texts.cells), texts.draws if draws is None else draws)

    def merit_texts(self) -> tuple[ScenarioTexts, ScenarioTexts]:
        """Yes/no questions about a person without an origin, with a review that praises or blames the person."""
        parts = []
        for review in (PRAISE, BLAME):
            scenarios = [
                replace(scenario, texts=tuple(f"{text} {review}" for text in scenario.texts[:1]))
                for scenario in self.of_kind(YES_NO)
            ]
            parts.append(self._make_texts(scenarios, [NO_ORIGIN], DEFAULT_ORIGIN))
        return parts[0], parts[1]

    @property
    def other_way(self) -> str:
        return choose_other_way(self.origin)

    def number_texts(self) -> ScenarioTexts | None:
        scenarios = self.of_kind(NUMBER)
        return self._make_texts(scenarios, self.countries, self.other_way) if scenarios else None

    def choice_texts(self) -> tuple[ChoiceTexts, ChoiceTexts] | None:
        """A person of each country against one without an origin, in both orders; and the same person twice."""
        scenarios = self.of_kind(CHOICE)
        if not scenarios:
            return None
        options = self._options()
        against = ChoiceTexts(scenarios, self.countries, self.other_way, **options)
        same = ChoiceTexts(scenarios, [NO_ORIGIN], DEFAULT_ORIGIN, opponents=[NO_ORIGIN], **options)
        return against, same

    def list_questions(self) -> list[tuple[str, LazyTexts]]:
        """Every block of texts that a model is asked, with its kind of question."""
        blocks: list[tuple[str, LazyTexts]] = [(YES_NO, self.texts(way)) for way in self.origin]
        blocks += [(YES_NO, texts) for texts in self.merit_texts()]
        numbers, choices = self.number_texts(), self.choice_texts()
        blocks += [] if numbers is None else [(NUMBER, numbers)]
        blocks += [(CHOICE, texts) for texts in choices or ()]
        return blocks

    def names(self, texts: ScenarioTexts) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The names of each answer about a country (first and last), the gender (cases x answers), and covariates.

        Covariates are those of the full name: its length, and how widespread its parts are.
        """
        layout = self.layout(texts)
        genders = layout.arrange_by_cell(texts.shown_genders())
        shape = (len(layout.cases), len(self.countries), layout.width)
        names = np.full((2, *shape), "", dtype=object)
        covariates = np.zeros((*shape, len(COVARIATES)))
        owners = self._owners
        for cell, (case, place) in enumerate(zip(layout.case_of_cell, layout.place_of_cell, strict=True)):
            scenario = texts.scenarios[texts.cells[cell][0]]
            for c, country in enumerate(self.countries):
                for draw, name in enumerate(texts.draw_names(scenario.case, str(country.code))):
                    answer = place * layout.draws + draw
                    parts = self._split_name(name, str(country.code), genders[case, answer])
                    names[:, case, c, answer] = parts
                    widespread = np.log([owners.get(part, 1) for part in parts]).mean()
                    covariates[case, c, answer] = len(name), widespread
        return names, genders, covariates

    @cached_property
    def _owners(self) -> dict[str, int]:
        """How many countries list a name of any kind."""
        owners: dict[str, int] = {}
        for code in self.gazetteer.codes:
            for name in {name for kind in NAME_KINDS for name in self.gazetteer.names(code, kind)}:
                owners[name] = owners.get(name, 0) + 1
        return owners

    def _split_name(self, name: str, code: str, gender: str) -> tuple[str, str]:
        """First and last name; either may have spaces."""
        words = name.split(" ")
        firsts, lasts = self.gazetteer.names(code, gender), self.gazetteer.names(code, "last")
        for k in range(1, len(words)):
            parts = " ".join(words[:k]), " ".join(words[k:])
            if parts[0] in firsts and parts[1] in lasts:
                return parts
        return words[0], " ".join(words[1:])

    def _make_texts(self, scenarios: Sequence[Scenario], origins: Sequence[Origin], way: str) -> ScenarioTexts:
        return ScenarioTexts(scenarios, origins, way, **self._options())

    def _options(self) -> dict[str, Any]:
        settings = self.settings
        return {
            "gazetteer": self.gazetteer,
            "draws": settings.draws,
            "seed": settings.seed,
            "paraphrases": settings.paraphrases,
        }

    def count(self) -> DecideCounts:
        yes_no = self.of_kind(YES_NO)
        return DecideCounts(
            scenarios=len(self.scenarios),
            cases=len({scenario.case for scenario in yes_no}),
            yes_helps=sum(scenario.sign > 0 for scenario in yes_no),
            yes_harms=sum(scenario.sign < 0 for scenario in yes_no),
            numbers=len(self.of_kind(NUMBER)),
            choices=len(self.of_kind(CHOICE)),
            countries=len(self.countries),
            countries_left_out=list(self.countries_left_out),
            copies=self.copies,
        )

    def settings_for(self, models: Sequence[str]) -> DecideSettings:
        return replace(self.settings, models=list(models))


def choose_other_way(ways: Sequence[str]) -> str:
    """The way in which numbers and choices show origin: the first that was asked for; a choice cannot say it."""
    return next((way for way in ways if way != SAID), DEFAULT_ORIGIN)


def design_decisions(options: DecideOptions) -> DecideDesign:
    """Resolve the options into scenarios and countries; raise InputError for what is wrong, before any work."""
    check_number("--draws", options.draws, 1, MOST_DRAWS)
    check_number("--paraphrases", options.paraphrases, 1, MOST_PARAPHRASES)
    if options.limit is not None:
        check_number("--limit", options.limit, 1, MOST_ROWS)
    if options.samples is not None:
        check_number("--samples", options.samples, 2, MOST_SAMPLES)
    if options.system is not None and not options.system.strip():
        raise InputError("--system is empty. Write a system prompt, or remove it.")
    ways = tuple(dict.fromkeys(map(check_showing, split_list(options.origin, "--origin"))))
    every = load_scenarios() if options.scenarios is None else read_scenarios(options.scenarios)
    domains = split_list(options.domains, "--domains")
    limited = _limit_cases(select_scenarios(every, domains=domains), options.limit)
    kept_scenarios = _drop_copies(limited)
    if not select_scenarios(kept_scenarios, kind=YES_NO):
        raise InputError("There is no yes/no scenario. Add at least one: the other kinds are measured besides.")
    gazetteer = load_gazetteer()
    codes = [gazetteer.find(text) for text in split_list(options.countries, "--countries")] or list(gazetteer.codes)
    codes = list(dict.fromkeys(codes))
    origins, left_out = _find_origins(gazetteer, codes, ways)
    if len(origins) < FEWEST_COUNTRIES:
        raise InputError(
            f"Decisions are compared between countries, and the origin of {len(origins)} can be shown. Name at least "
            "two in --countries."
        )
    settings = DecideSettings(
        scenarios=ScenariosSettings(
            _name_source(options.scenarios), len(kept_scenarios), digest_scenarios(kept_scenarios)
        ),
        domains=list(domains) or "all",
        origin=list(ways),
        countries=sorted(codes) if options.countries else "all",
        countries_digest=_digest([gazetteer.digest, *(str(country.code) for country in origins)]),
        draws=options.draws,
        paraphrases=options.paraphrases,
        seed=options.seed,
        system=options.system,
        samples=options.samples,
        models=[],
    )
    copies = len({(each.kind, each.case) for each in limited} - {(each.kind, each.case) for each in kept_scenarios})
    design = DecideDesign(kept_scenarios, origins, ways, gazetteer, options.system, settings, left_out, copies)
    check_size(sum(len(design.texts(way)) for way in ways), "decisions", "Use fewer countries, scenarios or --draws")
    return design


def _name_source(scenarios: Any) -> str:
    if scenarios is None:
        return BUNDLED
    return str(scenarios) if isinstance(scenarios, str | Path) else "given in Python"


def _limit_cases(scenarios: Sequence[Scenario], limit: int | None) -> tuple[Scenario, ...]:
    """The scenarios of the first cases of each kind: a mirror stays with its scenario."""
    kept: list[Scenario] = []
    for kind in (YES_NO, NUMBER, CHOICE):
        of_kind = [scenario for scenario in scenarios if scenario.kind == kind]
        cases = list(dict.fromkeys(scenario.case for scenario in of_kind))[:limit]
        kept += [scenario for scenario in of_kind if scenario.case in cases]
    return tuple(kept)


def _drop_copies(scenarios: Sequence[Scenario]) -> tuple[Scenario, ...]:
    """The scenarios without cases that repeat an earlier one of their kind but for names, numbers and case."""
    cases = [scenario for scenario in scenarios if scenario.mirror_of is None]
    rows = find_first_copies([f"{scenario.kind} {scenario.texts[0]}" for scenario in cases])
    kept = {(cases[row].kind, cases[row].case) for row in rows}
    return tuple(scenario for scenario in scenarios if (scenario.kind, scenario.case) in kept)


def _find_origins(
    gazetteer: Gazetteer, codes: Sequence[str], ways: Sequence[str]
) -> tuple[tuple[Origin, ...], tuple[str, ...]]:
    """The countries whose origin can be shown in every way, and the names of the others."""
    shown = [set(make_origins(gazetteer, codes, way, baseline=False)) for way in ways]
    origins = [Origin(code, gazetteer.country(code)) for code in codes]
    kept = tuple(origin for origin in origins if all(origin in part for part in shown))
    return kept, tuple(origin.country for origin in origins if origin not in kept)


def _digest(parts: Sequence[str]) -> str:
    return hashlib.blake2b("\n".join(parts).encode(), digest_size=16).hexdigest()
