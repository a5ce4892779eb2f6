"""The answers of one model as arrays, by case (a scenario, its mirror and their wordings), and in answers.parquet."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from geobias.measures.crossed_variance import FEWEST_DRAWS, CrossedVariance, NameUnits
from geobias.measures.decisions import CountryMeans, average_each_situation, average_situations, summarise_countries
from geobias.measures.missing_answers import find_comparable, impute_cells
from geobias.models.scorer import ModelIdentity
from geobias.report import saved_answers
from geobias.report.saved_answers import PLACE
from geobias.texts.counterfactuals import GENDERS
from geobias.texts.scenarios import Scenario

if TYPE_CHECKING:
    from geobias.audits.decide.result import DecideResult

LAST = "last"
YES, SHARE = "yes", "answered"  # the outcomes in answers.parquet
NAMES = ("first_name", "last_name", "gender")  # null where origin does not show by name
NAME_KINDS = (*GENDERS, LAST)
NO_UNITS = NameUnits(np.zeros(0, dtype=int), np.zeros(0, dtype=int), np.zeros(0, dtype=int))


@dataclass(frozen=True)
class CaseLayout:
    """Where each text stands among the answers to its case.

    Texts are (scenario, paraphrase) x origins x draws; answers are cases x origins x answers of a case.
    """

    scenarios: tuple[Scenario, ...]
    cells: tuple[tuple[int, int], ...]  # scenario and paraphrase of each index of the texts' first dimension
    draws: int

    @property
    def cases(self) -> list[str]:
        return list(dict.fromkeys(scenario.case for scenario in self.scenarios))

    @property
    def case_of_cell(self) -> np.ndarray:
        numbers = {case: n for n, case in enumerate(self.cases)}
        return np.array([numbers[self.scenarios[i].case] for i, _ in self.cells])

    @property
    def place_of_cell(self) -> np.ndarray:
        """The position of each cell among those of its case."""
        cases = self.case_of_cell
        return np.array([int((cases[:k] == case).sum()) for k, case in enumerate(cases)])

    @property
    def width(self) -> int:
        """Answers of the case with the most of them."""
        return (int(self.place_of_cell.max()) + 1) * self.draws

    def arrange(self, values: np.ndarray) -> np.ndarray:
        """cases x origins x answers, from cells x origins x draws; NaN where a case has fewer answers."""
        arranged = np.full((len(self.cases), values.shape[1], self.width // self.draws, self.draws), np.nan)
        arranged[self.case_of_cell, :, self.place_of_cell] = values
        return arranged.reshape(len(self.cases), values.shape[1], self.width)

    def arrange_by_cell(self, values: np.ndarray) -> np.ndarray:
        """cases x answers, from cells x draws; 0 (or the type's empty value) where a case has fewer answers."""
        arranged = np.zeros((len(self.cases), self.width // self.draws, self.draws), dtype=values.dtype)
        arranged[self.case_of_cell, self.place_of_cell] = values
        return arranged.reshape(len(self.cases), self.width)

    @property
    def counted(self) -> np.ndarray:
        return self.arrange_by_cell(np.ones((len(self.cells), self.draws), dtype=bool))

    @property
    def favours(self) -> np.ndarray:
        """cases x answers: 1 where yes (or a high number, or being chosen) helps the person, -1 where it harms."""
        signs = np.array([self.scenarios[i].sign for i, _ in self.cells])
        return self.arrange_by_cell(np.repeat(signs[:, None], self.draws, axis=1))

    @property
    def domains(self) -> list[str]:
        """Of each case."""
        by_case = {scenario.case: scenario.domain for scenario in reversed(self.scenarios)}
        return [by_case[case] for case in self.cases]


@dataclass(frozen=True)
class CaseAnswers:
    """Answers by case, and the names that they show."""

    layout: CaseLayout
    names: np.ndarray | None = field(default=None, repr=False, kw_only=True)
    """first and last x cases x countries x answers; None where origin does not show by name."""
    genders: np.ndarray | None = field(default=None, repr=False, kw_only=True)  # cases x answers

    def crossed_variance(self, countries: int, counted: np.ndarray | None = None) -> CrossedVariance:
        counted = self.layout.counted if counted is None else counted
        shape = (len(self.layout.cases), countries, self.layout.width)
        return CrossedVariance(self._units, shape, counted, names_fixed=self.names is None)

    @cached_property
    def _units(self) -> NameUnits:
        return NO_UNITS if self.names is None or self.genders is None else number_names(self.names, self.genders)

    def separates_names(self, genders: int = 1) -> bool:
        """Whether the effects of names can be told apart from those of cases, in each of so many genders.

        A mirror or a paraphrase repeats the names of its case: only draws show other names.
        """
        return self.names is None or self.layout.draws >= FEWEST_DRAWS * genders


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
    covariates: np.ndarray | None = field(default=None, repr=False)  # cases x countries x answers x covariates

    def favourable_shares(self) -> np.ndarray:
        """Probability of the favourable answer, given yes or no; NaN where there is none."""
        return np.where(self.layout.favours[:, None, :] > 0, self.shares, 1 - self.shares)

    def favourable(self, yes: np.ndarray) -> np.ndarray:
        """Log-odds of the favourable answer, from those of yes; NaN where there is none."""
        return np.asarray(yes * self.layout.favours[:, None, :])

    def summarise(self, variance: CrossedVariance, values: np.ndarray) -> CountryMeans:
        return summarise_countries(variance, values, self.layout.favours)

    def average_each_case(self, values: np.ndarray) -> np.ndarray:
        """cases x countries: the mean of each case by itself."""
        return average_each_situation(values, self.layout.favours, self.layout.counted)

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
    distinct: int
    cut: int
    work: dict[str, int]
    sampled: bool = False
    notes: tuple[str, ...] = ()


def number_names(names: np.ndarray, genders: np.ndarray) -> NameUnits:
    """Which names each answer shows; first names of men, first names of women and last names are different kinds.

    `names` is (first, last) x cases x countries x answers, empty where no name is shown; `genders` is cases x answers.
    """
    answer, keys = [], []
    of_first = np.broadcast_to(genders[:, None, :], names.shape[1:])
    for row, kinds in zip(names, (of_first, np.full(names.shape[1:], LAST)), strict=True):
        shown = np.flatnonzero(row != "")
        answer.append(shown)
        keys += list(zip(kinds.ravel()[shown].tolist(), row.ravel()[shown].tolist(), strict=True))
    numbers = {key: n for n, key in enumerate(dict.fromkeys(keys))}
    units = np.array([numbers[key] for key in keys], dtype=int)
    return NameUnits(
        np.concatenate(answer), units, np.array([NAME_KINDS.index(kind) for kind, _ in numbers], dtype=int)
    )


def name_column(model: str, outcome: str) -> str:
    return f"{model}/{outcome}"


def write_answers(folder: Path, result: DecideResult) -> None:
    """A row for every yes/no answer about a country: the log-odds of yes, and the share answered.

    Log-odds are NaN where the question is not answered. Columns beside those of all audits: how origin shows, whether
    yes helps the person (1) or harms (-1), the first name, the last name and the gender.
    """
    columns = [name_column(each.model.name, outcome) for each in result.answers for outcome in (YES, SHARE)]
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
    if way.names is not None and way.genders is not None:
        names = [*way.names[:, case, country, answer], way.genders[case, answer]]
    block: dict[str, Any] = {
        "text_id": np.array(layout.cases, dtype=object)[case],
        "variant": np.full(len(case), PLACE, dtype=object),
        "place": codes[country],
        "name": names[0] if way.names is None else names[0] + " " + names[1],
        "draw": answer + 1,
        "origin": np.full(len(case), way.origin, dtype=object),
        "favours": layout.favours[case, answer].astype(int),
        **dict(zip(NAMES, names, strict=True)),
    }
    for each in result.answers:
        block[name_column(each.model.name, YES)] = each.ways[k].yes[is_counted]
        block[name_column(each.model.name, SHARE)] = each.ways[k].answered[is_counted]
    return block
