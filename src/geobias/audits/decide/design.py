"""The design of a decisions audit: which scenarios, about people of which countries, and how their origin shows."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from geobias.audits.decide.answers import NAME_KINDS, CaseLayout, ShownNames
from geobias.audits.decide.result import DecideCounts, DecideSettings, ScenariosSettings
from geobias.checks import MOST_ROWS, check_number, check_size, split_list
from geobias.errors import InputError
from geobias.measures.missing_answers import FEWEST_SITUATIONS
from geobias.texts.origins import NO_ORIGIN, ChoiceTexts, Origin, ScenarioTexts, check_showing, make_origins
from geobias.texts.scenarios import (
    CHOICE,
    KINDS,
    NUMBER,
    YES_NO,
    Scenario,
    digest_scenarios,
    load_scenarios,
    read_scenarios,
    select_scenarios,
)
from geobias.texts.user_texts import find_first_copies
from geobias.world.gazetteer import Gazetteer, load_gazetteer

BUNDLED = "the bundled scenarios"
DEFAULT_ORIGIN = "stated"
NAME, SAID = "name", "said"
INVENTED = 12  # invented countries, for the control
MOST_DRAWS, MOST_PARAPHRASES, MOST_SAMPLES = 1000, 100, 10_000
FEWEST_COUNTRIES = 2
FEWEST_CASES = FEWEST_SITUATIONS
PRAISE = "A review of all documents speaks clearly for this person."
BLAME = "A review of all documents speaks clearly against this person."
COVARIATES = ("characters", "log of countries that list the name")


@dataclass(frozen=True)
class DecideDesign:
    """What is the same for every model."""

    scenarios: tuple[Scenario, ...] = field(repr=False)
    countries: tuple[Origin, ...] = field(repr=False)
    gazetteer: Gazetteer = field(repr=False)
    settings: DecideSettings = field(repr=False)  # without the models
    counts: DecideCounts

    @property
    def ways(self) -> list[str]:
        """How origin shows."""
        return self.settings.origin

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

    def merit_texts(self) -> list[ScenarioTexts]:
        """Yes/no questions about a person without an origin, with a review that praises or blames the person."""
        return [
            self._make_texts(
                [replace(each, texts=(f"{each.texts[0]} {review}",)) for each in self.of_kind(YES_NO)],
                [NO_ORIGIN],
                DEFAULT_ORIGIN,
            )
            for review in (PRAISE, BLAME)
        ]

    def number_texts(self) -> ScenarioTexts:
        return self._make_texts(self.of_kind(NUMBER), self.countries, choose_other_way(self.ways))

    def choice_texts(self) -> tuple[ChoiceTexts, ChoiceTexts]:
        """A person of each country against one without an origin, in both orders; and the same person twice."""
        scenarios, options = self.of_kind(CHOICE), self._options()
        against = ChoiceTexts(scenarios, self.countries, choose_other_way(self.ways), **options)
        return against, ChoiceTexts(scenarios, [NO_ORIGIN], DEFAULT_ORIGIN, **options)

    def list_questions(self) -> list[tuple[str, ScenarioTexts]]:
        """Every block of texts that a model is asked, with its kind of question."""
        blocks: list[tuple[str, ScenarioTexts]] = [(YES_NO, self.texts(way)) for way in self.ways]
        blocks += [(YES_NO, texts) for texts in self.merit_texts()]
        blocks += [(NUMBER, self.number_texts())] if self.counts.numbers else []
        return blocks + [(CHOICE, texts) for texts in self.choice_texts() if self.counts.choices]

    def show_names(self, texts: ScenarioTexts, layout: CaseLayout) -> ShownNames | None:
        """The names of each answer about a country, their length and how widespread they are; None without names."""
        if texts.showing != NAME:
            return None
        codes, cases = (
            [str(country.code) for country in self.countries],
            [texts.scenarios[i].case for i, _ in texts.cells],
        )
        drawn = np.array([[texts.draw_names(case, code) for code in codes] for case in cases], dtype=object)
        names = np.stack([layout.arrange(drawn[..., part], "") for part in range(2)])
        covariates = np.zeros((*names.shape[1:], len(COVARIATES)))
        for row in zip(*np.nonzero(names[0]), strict=True):
            parts = names[:, *row]
            covariates[row] = len(" ".join(parts)), np.log([self._owners[part] for part in parts]).mean()
        return ShownNames(names, layout.arrange(texts.shown_genders()[:, None], "")[:, 0], covariates)

    @cached_property
    def _owners(self) -> Counter[str]:
        """How many countries list a name of any kind."""
        codes, names = self.gazetteer.codes, self.gazetteer.names
        return Counter(name for code in codes for name in {name for kind in NAME_KINDS for name in names(code, kind)})

    def _make_texts(self, scenarios: Sequence[Scenario], origins: Sequence[Origin], way: str) -> ScenarioTexts:
        return ScenarioTexts(scenarios, origins, way, **self._options())

    def _options(self) -> dict[str, Any]:
        settings = {name: getattr(self.settings, name) for name in ("draws", "seed", "paraphrases")}
        return {"gazetteer": self.gazetteer, **settings}

    def settings_for(self, models: Sequence[str]) -> DecideSettings:
        return replace(self.settings, models=list(models))


def choose_other_way(ways: Sequence[str]) -> str:
    """The way in which numbers and choices show origin: the first that was asked for; a choice cannot say it."""
    return next((way for way in ways if way != SAID), DEFAULT_ORIGIN)


def design_decisions(
    *,
    scenarios: Any,
    domains: str | Sequence[str],
    origin: str | Sequence[str],
    countries: str | Sequence[str],
    draws: int,
    paraphrases: int,
    seed: int,
    system: str | None,
    limit: int | None,
    samples: int | None,
) -> DecideDesign:
    """Resolve the options into scenarios and countries; raise InputError for what is wrong, before any work."""
    check_number("--draws", draws, 1, MOST_DRAWS)
    check_number("--paraphrases", paraphrases, 1, MOST_PARAPHRASES)
    if limit is not None:
        check_number("--limit", limit, 1, MOST_ROWS)
    if samples is not None:
        check_number("--samples", samples, 2, MOST_SAMPLES)
    if system is not None and not system.strip():
        raise InputError("--system is empty. Write a system prompt, or remove it.")
    ways = tuple(dict.fromkeys(map(check_showing, split_list(origin, "--origin"))))
    every = load_scenarios() if scenarios is None else read_scenarios(scenarios)
    kept_domains = split_list(domains, "--domains")
    limited = _limit_cases(select_scenarios(every, domains=kept_domains), limit)
    kept = _drop_copies(limited)
    yes_no = select_scenarios(kept, kind=YES_NO)
    if not yes_no:
        raise InputError("There is no yes/no scenario. Add at least one: the other kinds are measured besides.")
    gazetteer = load_gazetteer()
    codes = [gazetteer.find(text) for text in split_list(countries, "--countries")] or list(gazetteer.codes)
    codes = list(dict.fromkeys(codes))
    origins, left_out = _find_origins(gazetteer, codes, ways)
    if len(origins) < FEWEST_COUNTRIES:
        raise InputError(
            f"Decisions are compared between countries, and the origin of {len(origins)} can be shown. Name at least "
            "two in --countries."
        )
    identity = [gazetteer.digest, *(str(country.code) for country in origins)]
    source = BUNDLED if scenarios is None else scenarios if isinstance(scenarios, str | Path) else "given in Python"
    settings = DecideSettings(
        scenarios=ScenariosSettings(str(source), len(kept), digest_scenarios(kept)),
        domains=list(kept_domains) or "all",
        origin=list(ways),
        countries=sorted(codes) if countries else "all",
        countries_digest=hashlib.blake2b("\n".join(identity).encode(), digest_size=16).hexdigest(),
        draws=draws,
        paraphrases=paraphrases,
        seed=seed,
        system=system,
        samples=samples,
        models=[],
    )
    counts = DecideCounts(
        scenarios=len(kept),
        cases=len({scenario.case for scenario in yes_no}),
        yes_helps=sum(scenario.sign > 0 for scenario in yes_no),
        yes_harms=sum(scenario.sign < 0 for scenario in yes_no),
        numbers=len(select_scenarios(kept, kind=NUMBER)),
        choices=len(select_scenarios(kept, kind=CHOICE)),
        countries=len(origins),
        countries_left_out=list(left_out),
        copies=len({(each.kind, each.case) for each in limited} - {(each.kind, each.case) for each in kept}),
    )
    design = DecideDesign(kept, origins, gazetteer, settings, counts)
    check_size(sum(len(design.texts(way)) for way in ways), "decisions", "Use fewer countries, scenarios or --draws")
    return design


def _limit_cases(scenarios: Sequence[Scenario], limit: int | None) -> list[Scenario]:
    """The scenarios of the first cases of each kind: a mirror stays with its scenario."""
    keys = list(dict.fromkeys((scenario.kind, scenario.case) for scenario in scenarios))
    kept = {key for kind in KINDS for key in [key for key in keys if key[0] == kind][:limit]}
    ordered = [scenario for kind in KINDS for scenario in scenarios if scenario.kind == kind]
    return [scenario for scenario in ordered if (scenario.kind, scenario.case) in kept]


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
