"""Two runs of the decisions audit on the same scenarios: two models, or one model with two system prompts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

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
from geobias.audits.decide.answers import NAMES, SHARE, YES, ShownNames, cross_names
from geobias.audits.decide.design import FEWEST_CASES, NAME
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
from geobias.report.saved_answers import ANSWERS
from geobias.report.tables import damaged, read_columns

if TYPE_CHECKING:
    import pandas as pd

SAME_SETTINGS = {  # what two runs must share to be compared; the system prompt may differ
    "scenarios": "scenarios",
    "origin": "ways of showing origin",
    "countries_digest": "countries",
    "draws": "draws",
    "paraphrases": "paraphrases",
    "seed": "seed",
}
ALL = ("all", "all countries")


@dataclass(frozen=True)
class StoredAnswers:
    """The answers of one model where origin shows in one way, as answers.parquet has them."""

    favourable: np.ndarray  # cases x countries x answers: log-odds; NaN if unanswered, 0 where a case has fewer answers
    answered: np.ndarray  # the same: share answered
    counted: np.ndarray  # cases x answers
    favours: np.ndarray  # the same
    shown: ShownNames | None


def compare_runs(first: FinishedRun[DecideResult], second: FinishedRun[DecideResult]) -> Comparison:
    """Both runs show the same names in the same cases: their answers are subtracted one by one."""
    pairs, left_out = pair_classifiers((first, second), {}, entries="deciders", noun="model")
    separates_names = NAME not in first.result.settings.origin or first.result.settings.draws >= FEWEST_DRAWS
    rows: list[Difference] = []
    for models in ([entry.model for entry in pair] for pair in pairs):
        places = [(row.code, row.place) for row in first.result.list_effects(models[0])]
        ways = [_read_decisions(run, model) for run, model in zip((first, second), models, strict=True)]
        designs: list[list[Any]] = [
            [part for way in run for part in (way.counted, way.favours, way.shown and way.shown.names)] for run in ways
        ]
        if not all(map(np.array_equal, *designs)):
            raise InputError(
                f"{first.folder} and {second.folder} cannot be compared: their cases or names differ. Run both with "
                "the same version of geobias."
            )
        separates = separates_names and len(ways[0][0].counted) >= FEWEST_CASES
        means = _summarise(ways, "favourable", [way.favours for way in ways[0]])
        is_testable = separates and means[2].is_comparable
        preference = compare_countries(*means, is_testable=is_testable)
        rows += list_differences(models, MeasureKey(PREFERENCE, MEAN), (), places, preference)
        shares = _summarise(ways, "answered", [np.ones(way.favours.shape) for way in ways[0]])
        if shares[2].means.any():
            difference = compare_countries(*shares, is_testable=separates)
            rows += list_differences(models, MeasureKey(ANSWERED, MEAN), (), places, difference)
        if is_testable:
            rows += list_differences(models, MeasureKey(SPREAD, MEAN), (), [ALL], compare_spreads(*means))
    return Comparison(str(first.folder), str(second.folder), left_out, rows)


def _summarise(
    runs: Sequence[Sequence[StoredAnswers]], part: str, favours: Sequence[np.ndarray]
) -> tuple[CountryMeans, CountryMeans, CountryMeans]:
    """The countries' means in the first run, in the second, and the second minus the first.

    All are of the questions that both runs answer.
    """
    variances = [cross_names(way.shown, way.answered.shape[1], way.counted) for way in runs[0]]
    first, second = ([getattr(way, part) for way in run] for run in runs)
    differences = [after - before for before, after in zip(first, second, strict=True)]

    def summarise(values: Sequence[np.ndarray]) -> CountryMeans:
        answered = [np.where(np.isnan(both), np.nan, each) for each, both in zip(values, differences, strict=True)]
        return average_means(list(map(summarise_countries, variances, answered, favours)))

    return summarise(first), summarise(second), summarise(differences)


def _read_decisions(run: FinishedRun[DecideResult], model: str) -> list[StoredAnswers]:
    """The answers of one model, by way of showing origin."""
    path, ways = run.folder / ANSWERS, run.result.settings.origin
    columns = {f"{model}/{outcome}": outcome for outcome in (YES, SHARE)}
    table = read_columns(path, ["text_id", "place", "draw", "origin", "favours", *NAMES, *columns]).to_pandas()
    table = table.rename(columns=columns)
    codes = {row.code: c for c, row in enumerate(run.result.list_effects(model))}
    if not (set(table["origin"]) == set(ways) and set(table["place"]) == set(codes)):
        raise damaged(path)
    return [_arrange(table[table["origin"] == way], codes) for way in ways]


def _arrange(rows: pd.DataFrame, codes: Mapping[str, int]) -> StoredAnswers:
    cases, case = np.unique(rows["text_id"].to_numpy(dtype=str), return_inverse=True)
    country, answer = rows["place"].map(codes).to_numpy(), rows["draw"].to_numpy() - 1
    shape = (len(cases), len(codes), int(answer.max()) + 1)
    favours, numbers = np.zeros((shape[0], shape[2])), np.zeros((2, *shape))
    favours[case, answer] = rows["favours"]
    numbers[:, case, country, answer] = rows[YES] * rows["favours"], rows[SHARE]
    shown = ShownNames(np.full((2, *shape), "", dtype=object), np.full(favours.shape, "", dtype=object))
    *names, gender = (rows[name].fillna("").to_numpy(dtype=object) for name in NAMES)
    shown.names[:, case, country, answer], shown.genders[case, answer] = np.stack(names), gender
    return StoredAnswers(numbers[0], numbers[1], favours != 0, favours, shown if (shown.names != "").any() else None)
