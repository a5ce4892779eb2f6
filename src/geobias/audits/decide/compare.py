"""Two runs of the decisions audit on the same scenarios: two models, or one model with two system prompts."""

from __future__ import annotations

import numpy as np

from geobias.audits.compare.measure_words import PREFERENCE, SPREAD
from geobias.audits.compare.result import Comparison, Difference, list_differences, pair_classifiers
from geobias.audits.decide.files import read_decisions
from geobias.audits.decide.measure import FEWEST_CASES
from geobias.audits.decide.records import ModelDecisions
from geobias.audits.decide.result import DecideResult
from geobias.errors import InputError
from geobias.measures.decisions import compare_case_means, compare_spreads
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
    pairs, left_out = pair_classifiers((first, second), {}, entries="decisions", noun="model")
    rows: list[Difference] = []
    for pair in pairs:
        models = [entry.model.name for entry in pair]
        places = [(country.code, country.country) for country in pair[0].countries]
        means = [_read_case_means(run, entry) for run, entry in zip((first, second), pair, strict=True)]
        if means[0].shape != means[1].shape:
            raise InputError(f"{first.folder} and {second.folder} cannot be compared: different answers.")
        is_testable = len(means[0]) >= FEWEST_CASES
        preference = compare_case_means(means[0], means[1], is_testable=is_testable)
        rows += list_differences(models, MeasureKey(PREFERENCE, MEAN), (), places, preference)
        if is_testable:
            spread = compare_spreads(means[0], means[1])
            rows += list_differences(models, MeasureKey(SPREAD, MEAN), (), [ALL], spread)
    return Comparison(str(first.folder), str(second.folder), left_out, rows)


def _read_case_means(run: FinishedRun[DecideResult], entry: ModelDecisions) -> np.ndarray:
    """cases x countries: mean favourable log-odds, every way of showing origin and both kinds of questions alike.

    Cases count alike: where some have questions of one kind only, their mean is not that of the audit, which gives both
    kinds of questions the same weight over all cases.
    """
    answers = read_decisions(run, entry)
    cases = list(dict.fromkeys(answers["case"]))
    codes = [country.code for country in entry.countries]
    numbers = [{key: n for n, key in enumerate(keys)} for keys in (cases, codes)]
    rows = np.array([numbers[0][case] for case in answers["case"]])
    columns = np.array([numbers[1][code] for code in answers["country"]])
    favours = answers["favours"].astype(float)
    parts = []
    for origin in dict.fromkeys(answers["origin"]):
        for side in (1.0, -1.0):
            used = (answers["origin"] == origin) & (favours == side)
            if not used.any():
                continue
            sums, counts = np.zeros((2, len(cases), len(codes)))
            np.add.at(sums, (rows[used], columns[used]), (favours * answers["yes"])[used])
            np.add.at(counts, (rows[used], columns[used]), 1)
            parts.append(np.where(counts > 0, sums / np.maximum(counts, 1), np.nan))
    return np.asarray(np.nanmean(parts, axis=0))
