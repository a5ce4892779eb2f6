"""Latin or its own script: what a classifier makes of a country's names in both, where a country has both.

The second script gets half of the draws, and only for the countries that need it: it costs a few per cent of a run.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from geobias.audits.names.answers import ClassifierAnswers
from geobias.audits.names.measure_inference import AnswerSums, delta_values
from geobias.audits.names.records import ScriptGap
from geobias.checks import check_size
from geobias.measures.arrays import LazyValues
from geobias.measures.crossed_variance import FEWEST_DRAWS, CrossedVariance, NameUnits
from geobias.measures.paired_differences import CountedMean, subtract_means
from geobias.measures.uncertainty import Family
from geobias.texts.counterfactuals import Counterfactuals
from geobias.world.gazetteer import is_latin

if TYPE_CHECKING:
    from geobias.audits.names.design import NamesDesign


def rename_in_own_script(renamed: Counterfactuals) -> Counterfactuals | None:
    """The same texts with names that are not in Latin script, of the countries with enough of them; None without any.

    `renamed` has names in Latin script.
    """
    gazetteer = replace(renamed.gazetteer, scripts="all").select(lambda name: not is_latin(name))
    codes = [code for code in renamed.countries if not gazetteer.find_short_lists(code)]
    draws = min(max(renamed.draws // 2, FEWEST_DRAWS), renamed.draws)
    if not codes:
        return None
    size = len(renamed.texts) * (len(renamed.countries) * renamed.draws + len(codes) * draws)
    check_size(size, "renamed texts", "Use fewer --draws, --countries or texts (--limit)")
    return Counterfactuals(renamed.texts, renamed.people, gazetteer, codes, draws=draws, seed=renamed.seed)


def describe_own_scripts(own: Counterfactuals | None) -> str:
    """For the plan: what is scored beside names in Latin script."""
    if own is None:
        return ""
    names = ", ".join(own.gazetteer.country(code) for code in own.countries)
    return f", and {own.draws} draws of names in their own script for {names}"


def measure_scripts(
    design: NamesDesign, answers: ClassifierAnswers, latin: CrossedVariance, sums: AnswerSums | None
) -> list[ScriptGap]:
    """Delta of names in their own script, against the mean of countries and against the country's Latin names.

    Nothing without a delta, and where Latin names have no test; `latin` counts the answers of the texts in question.
    """
    renamed, values = design.own_scripts, answers.own_scripts
    if renamed is None or values is None or sums is None or not (answers.positive and answers.negative):
        return []
    counted = np.repeat((latin.draws_per_text > 0)[:, None], renamed.draws, axis=1)
    names = NameUnits(*renamed.name_units())
    own = CrossedVariance(names, renamed.shape, counted, names_fixed=latin.names_fixed)
    original, own_answers = answers.original[design.named], replace(answers, renamed=values)
    deltas = own.summarise(LazyValues(lambda texts: delta_values(own_answers, original, texts)))
    all_codes = list(design.counterfactuals.countries)
    rows = [all_codes.index(code) for code in renamed.countries]
    of_own = CountedMean(own, deltas, np.eye(own.countries))
    of_mean = np.full((own.countries, latin.countries), 1 / latin.countries)
    contrasts = [
        subtract_means(of_own, CountedMean(latin, sums.delta, coefficients))
        for coefficients in (of_mean, np.eye(latin.countries)[rows])
    ]
    family = Family([value for value, _ in contrasts], [uncertainty for _, uncertainty in contrasts])
    against_mean, difference = family.estimates(0), family.estimates(1)
    return [
        ScriptGap(renamed.gazetteer.country(code), code, own.total, against_mean.at(c), difference.at(c))
        for c, code in enumerate(renamed.countries)
    ]
