"""Two runs of the decisions audit on the same scenarios: two models, or one model with two system prompts."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from geobias.audits.compare.result import (
    ANSWERED,
    PREFERENCE,
    SPREAD,
    Comparison,
    Difference,
    list_differences,
    pair_classifiers,
)
from geobias.audits.decide.design import NAME
from geobias.audits.decide.files import StoredAnswers, read_decisions
from geobias.audits.decide.measure import FEWEST_CASES
from geobias.audits.decide.result import DecideResult
from geobias.errors import InputError
from geobias.measures.crossed_variance import FEWEST_DRAWS
from geobias.measures.decisions import (
    CountryMeans,
    average_means,
    compare_countries,
    compare_spreads,
    summarise_countries,
)
from geobias.measures.paired_differences import MEAN, MeasureKey
from geobias.report.runs import FinishedRun

SAME_SETTINGS = {  # what two runs must share to be compared; the system prompt may differ
    "scenarios": "scenarios",
    "origin": "ways of showing origin",
    "countries_digest": "countries",
    "draws": "draws",
    "paraphrases": "paraphrases",
    "seed": "seed",
}
ALL = ("all", "all countries")


def compare_runs(first: FinishedRun[DecideResult], second: FinishedRun[DecideResult]) -> Comparison:
    """Both runs show the same names in the same cases: their answers are subtracted one by one."""
    pairs, left_out = pair_classifiers((first, second), {}, entries="decisions", noun="model")
    separates_names = NAME not in first.result.settings.origin or first.result.settings.draws >= FEWEST_DRAWS
    rows: list[Difference] = []
    for pair in pairs:
        models = [entry.model.name for entry in pair]
        places = [(country.code, country.country) for country in pair[0].countries]
        ways = [read_decisions(run, entry) for run, entry in zip((first, second), pair, strict=True)]
        if not all(before.has_same_design(after) for before, after in zip(*ways, strict=True)):
            raise InputError(
                f"{first.folder} and {second.folder} cannot be compared: their cases or names differ. Run both with "
                "the same version of geobias."
            )
        has_cases = len(ways[0][0].counted) >= FEWEST_CASES
        means = _summarise_both(ways[0], ways[1])
        is_testable = separates_names and has_cases and means[2].is_comparable
        preference = compare_countries(*means, is_testable=is_testable)
        rows += list_differences(models, MeasureKey(PREFERENCE, MEAN), (), places, preference)
        answered = _summarise_answered(ways[0], ways[1])
        if answered[2].means.any():
            shares = compare_countries(*answered, is_testable=separates_names and has_cases)
            rows += list_differences(models, MeasureKey(ANSWERED, MEAN), (), places, shares)
        if is_testable:
            rows += list_differences(models, MeasureKey(SPREAD, MEAN), (), [ALL], compare_spreads(*means))
    return Comparison(str(first.folder), str(second.folder), left_out, rows)


def _summarise_both(
    first: Sequence[StoredAnswers], second: Sequence[StoredAnswers]
) -> tuple[CountryMeans, CountryMeans, CountryMeans]:
    """The countries' mean preferences in the first run, in the second, and the second minus the first.

    All are of the questions that both runs answer.
    """
    of_first, of_second = ([way.yes * way.favours[:, None] for way in run] for run in (first, second))
    return _summarise_values(first, of_first, of_second, [way.favours for way in first])


def _summarise_answered(
    first: Sequence[StoredAnswers], second: Sequence[StoredAnswers]
) -> tuple[CountryMeans, CountryMeans, CountryMeans]:
    """The same of the shares of questions that are answered."""
    of_first, of_second = ([way.answered for way in run] for run in (first, second))
    return _summarise_values(first, of_first, of_second, [np.ones(way.favours.shape) for way in first])


def _summarise_values(
    ways: Sequence[StoredAnswers],
    of_first: Sequence[np.ndarray],
    of_second: Sequence[np.ndarray],
    favours: Sequence[np.ndarray],
) -> tuple[CountryMeans, CountryMeans, CountryMeans]:
    designs = [way.crossed_variance() for way in ways]
    differences = [after - before for before, after in zip(of_first, of_second, strict=True)]

    def summarise(values: Sequence[np.ndarray]) -> CountryMeans:
        answered = [np.where(np.isnan(both), np.nan, part) for part, both in zip(values, differences, strict=True)]
        return average_means(list(map(summarise_countries, designs, answered, favours)))

    return summarise(of_first), summarise(of_second), summarise(differences)
