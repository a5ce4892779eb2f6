"""The answers of one model as arrays, by case (a scenario, its mirror and their wordings), and in answers.parquet."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd

from geobias.measures.crossed_variance import FEWEST_DRAWS, CrossedVariance, NameUnits
from geobias.measures.decisions import average_situations
from geobias.measures.missing_answers import find_comparable, impute_cells
from geobias.models.scorer import ModelIdentity
from geobias.report import saved_answers
from geobias.report.saved_answers import PLACE
from geobias.texts.counterfactuals import GENDERS
from geobias.texts.origins import ScenarioTexts
from geobias.texts.scenarios import Scenario

if TYPE_CHECKING:
    from geobias.audits.decide.result import DecideResult

LAST = "last"
YES, SHARE = "yes", "answered"  # the outcomes in answers.parquet
NAMES = ("first_name", "last_name", "gender")  # null where origin does not show by name
NAME_KINDS = (*GENDERS, LAST)
NO_UNITS = NameUnits(np.zeros(0, dtype=int), np.zeros(0, dtype=int), np.zeros(0, dtype=int))


class CaseLayout:
    """Where each text stands among the answers to its case.

    Texts are (scenario, paraphrase) x origins x draws; answers are cases x origins x answers of a case. `counted` and
    `favours` are cases x answers: a case may have fewer than others; 1 where yes (or a high number, or being chosen)
    helps the person, -1 where it harms.
    """

    def __init__(self, texts: ScenarioTexts) -> None:
        first: dict[str, Scenario] = {}
        for scenario in texts.scenarios:
            first.setdefault(scenario.case, scenario)
        self.draws, self.cases = texts.draws, list(first)
        self.domains, self.texts = zip(*((each.domain, each.texts[0]) for each in first.values()), strict=True)
        asked = [texts.scenarios[i] for i, _ in texts.cells]
        numbers = {case: n for n, case in enumerate(self.cases)}
        self.case_of_cell = np.array([numbers[scenario.case] for scenario in asked])
        self.place_of_cell = np.array(
            [(self.case_of_cell[:k] == case).sum() for k, case in enumerate(self.case_of_cell)]
        )
        signs = np.repeat([scenario.sign for scenario in asked], self.draws).reshape(-1, 1, self.draws)
        self.favours = self.arrange(signs, 0)[:, 0]
        self.counted = self.favours != 0

    def arrange(self, values: np.ndarray, absent: object = np.nan) -> np.ndarray:
        """cases x origins x answers, from cells x origins x draws; `absent` where a case has fewer answers."""
        places = int(self.place_of_cell.max()) + 1
        arranged = np.full((len(self.cases), values.shape[1], places, self.draws), absent, dtype=values.dtype)
        arranged[self.case_of_cell, :, self.place_of_cell] = values
        return arranged.reshape(*arranged.shape[:2], -1)


class ShownNames(NamedTuple):
    """The names that answers show."""

    names: np.ndarray  # first and last x cases x countries x answers; empty where a case has fewer answers
    genders: np.ndarray  # cases x answers
    covariates: np.ndarray | None = None  # cases x countries x answers x covariates


@dataclass(frozen=True)
class CaseAnswers:
    """Answers by case, and the names that they show."""

    layout: CaseLayout
    shown: ShownNames | None = field(repr=False)  # None where origin does not show by name

    def cross_names(self, countries: int, counted: np.ndarray | None = None) -> CrossedVariance:
        return cross_names(self.shown, countries, self.layout.counted if counted is None else counted)

    def separates_names(self, genders: int = 1) -> bool:
        """Whether the effects of names can be told apart from those of cases, in each of so many genders.

        A mirror or a paraphrase repeats the names of its case: only draws show other names.
        """
        return self.shown is None or self.layout.draws >= FEWEST_DRAWS * genders


@dataclass(frozen=True)
class WayAnswers(CaseAnswers):
    """The answers where origin shows in one way: yes against no, in nats."""

    origin: str
    yes: np.ndarray = field(repr=False)  # cases x countries x answers; NaN where neither yes nor no is answered
    shares: np.ndarray = field(repr=False)  # the same: probability of yes, given yes or no
    answered: np.ndarray = field(repr=False)  # the same: probability of yes or no
    refusals: np.ndarray | None = field(repr=False)  # the same: share of answers that refuse; None if not sampled
    invented: np.ndarray | None = field(repr=False)  # cases x invented countries x answers
    no_origin: np.ndarray = field(repr=False)  # cases x 1 x answers

    def favourable(self, yes: np.ndarray) -> np.ndarray:
        """Log-odds of the favourable answer, from those of yes; NaN where there is none."""
        return np.asarray(yes * self.layout.favours[:, None])

    @property
    def favourable_shares(self) -> np.ndarray:
        """Probability of the favourable answer, given yes or no; NaN where there is none."""
        return np.where(self.layout.favours[:, None] > 0, self.shares, 1 - self.shares)

    def average_cases(self, yes: np.ndarray) -> np.ndarray:
        """cases x origins: the favourable log-odds of each case, weighted for a mean over cases."""
        return average_situations(self.favourable(yes), self.layout.favours, self.layout.counted)

    def average_countries(self, yes: np.ndarray) -> np.ndarray:
        """cases: the mean of the same countries in each of them; NaN where none is answered."""
        cells = self.average_cases(yes)
        cells = cells[:, find_comparable(cells)]
        return impute_cells(cells).mean(axis=1) if cells.size else np.full(len(cells), np.nan)


@dataclass(frozen=True)
class OtherAnswers(CaseAnswers):
    """Numbers or choices: cases x countries x answers, signed so that higher is better for the person."""

    values: np.ndarray = field(repr=False)


@dataclass(frozen=True)
class ModelAnswers:
    """Everything one model answered."""

    model: ModelIdentity
    ways: tuple[WayAnswers, ...]
    merit: np.ndarray | None = field(repr=False)  # cases: favourable log-odds, praised minus blamed
    numbers: OtherAnswers | None
    choices: OtherAnswers | None
    order: np.ndarray | None = field(repr=False)  # cases: log-odds of the first of two equal people
    decisions: int
    cut: int
    scored: int
    sampled: bool = False
    notes: tuple[str, ...] = ()


def cross_names(shown: ShownNames | None, countries: int, counted: np.ndarray) -> CrossedVariance:
    """The variance over cases, and over names where answers show some.

    First names of men, first names of women and last names are different kinds.
    """
    shape = (len(counted), countries, counted.shape[1])
    if shown is None:
        return CrossedVariance(NO_UNITS, shape, counted, names_fixed=True)
    genders = np.stack([shown.genders, np.full(shown.genders.shape, LAST)])
    kinds, is_shown = np.broadcast_to(genders[:, :, None], shown.names.shape), shown.names != ""
    answers = np.broadcast_to(np.arange(np.prod(shape)).reshape(shape), shown.names.shape)
    units, labels = pd.factorize(kinds[is_shown] + " " + shown.names[is_shown])
    kind_of_unit = np.array([NAME_KINDS.index(label.split()[0]) for label in labels], dtype=int)
    return CrossedVariance(NameUnits(answers[is_shown], units, kind_of_unit), shape, counted)


def write_answers(folder: Path, result: DecideResult) -> None:
    """A row for every yes/no answer about a country: the log-odds of yes, and the share answered.

    Log-odds are NaN where the question is not answered. Columns beside those of all audits: how origin shows, whether
    yes helps the person (1) or harms (-1), the first name, the last name and the gender.
    """
    columns = [f"{each.model.name}/{outcome}" for each in result.answers for outcome in (YES, SHARE)]
    more = {
        "origin": "string",
        "favours": "int8",
        **dict.fromkeys(NAMES, "string"),
        **dict.fromkeys(columns, "float64"),
    }
    blocks = (_make_block(result, k) for k in range(len(result.settings.origin)))
    saved_answers.write_answers(folder, blocks, [], more)


def _make_block(result: DecideResult, k: int) -> dict[str, Any]:
    """The rows where origin shows in one way."""
    way = result.answers[0].ways[k]
    layout, is_counted = way.layout, np.broadcast_to(way.layout.counted[:, None], way.yes.shape)
    case, country, answer = np.argwhere(is_counted).T
    codes = np.array([row.code for row in result.list_effects(result.answers[0].model.name)], dtype=object)
    names: list[Any] = [np.full(len(case), None, dtype=object)] * len(NAMES)
    if way.shown is not None:
        names = [*way.shown.names[:, case, country, answer], way.shown.genders[case, answer]]
    block: dict[str, Any] = {
        "text_id": np.array(layout.cases, dtype=object)[case],
        "variant": np.full(len(case), PLACE, dtype=object),
        "place": codes[country],
        "name": names[0] if way.shown is None else names[0] + " " + names[1],
        "draw": answer + 1,
        "origin": np.full(len(case), way.origin, dtype=object),
        "favours": layout.favours[case, answer].astype(int),
        **dict(zip(NAMES, names, strict=True)),
    }
    for each in result.answers:
        block[f"{each.model.name}/{YES}"] = each.ways[k].yes[is_counted]
        block[f"{each.model.name}/{SHARE}"] = each.ways[k].answered[is_counted]
    return block
