"""From the outcomes of mentions to every number of an audit of finders."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

import numpy as np

from geobias.audits.find.answers import FinderAnswers, Outcome
from geobias.audits.find.design import FindDesign
from geobias.audits.find.factors import list_levels
from geobias.audits.find.measure_shares import CountryShares, RenamedShares, infer_over_texts
from geobias.audits.find.name_recalls import Positions, list_name_recalls, locate_names
from geobias.audits.find.result import (
    OUTCOMES,
    CountryRecall,
    FactorLevel,
    FindCounts,
    FinderMeasures,
    FindResult,
    LowestRecall,
    NameRecall,
    OriginalTexts,
    RecallGap,
    Share,
)
from geobias.measures.estimates import Estimate
from geobias.measures.uncertainty import Family
from geobias.report.results import number

WEAKEST_NAMES = 20
FEWEST_MENTIONS = 10  # of a name that is listed: fewer say little


def measure_finders(design: FindDesign, answers: tuple[FinderAnswers, ...]) -> FindResult:
    counterfactuals = design.counterfactuals
    shares = RenamedShares(design)
    positions = locate_names(design)
    names = [counterfactuals.count_names(c) for c in range(len(counterfactuals.countries))]
    return FindResult(
        settings=design.settings_for([finder.model.name for finder in answers]),
        models=[finder.model for finder in answers],
        counts=_count(design),
        finders=[_measure_finder(design, shares, names, positions, finder) for finder in answers],
        nondeterministic_models=[finder.nondeterministic for finder in answers if finder.nondeterministic],
        # Their recall is 0 whatever the country, so a gate on a difference would test nothing.
        constant_answers={
            finder.model.name: "all texts" for finder in answers if not (finder.renamed == Outcome.RECALL).any()
        },
        design=design,
        answers=answers,
    )


def _count(design: FindDesign) -> FindCounts:
    counterfactuals = design.counterfactuals
    return FindCounts(
        texts=len(design.texts),
        rows_without_text=design.texts.left_out,
        copies=design.texts.copies,
        texts_with_names=len(design.named),
        people=sum(map(len, counterfactuals.people)),
        mentions=len(design.mentions),
        draws=counterfactuals.draws,
        recased_draws=design.recased_draws,
        countries=len(counterfactuals.countries),
        countries_left_out=[counterfactuals.gazetteer.country(code) for code in design.countries_left_out],
    )


def _measure_finder(
    design: FindDesign,
    shares: RenamedShares,
    names: Sequence[dict[str, int]],
    positions: Positions,
    answers: FinderAnswers,
) -> FinderMeasures:
    values = {
        name: shares.average_mentions(answers.renamed == outcome)
        for name, outcome in zip(OUTCOMES, Outcome, strict=True)
    }
    by_country = {name: shares.infer_countries(each) for name, each in values.items()}
    outcomes = {name: list(_list_shares(each)) for name, each in by_country.items()}
    recall, codes = by_country["recall"], design.counterfactuals.countries
    lowest, highest = int(recall.value.argmin()), int(recall.value.argmax())
    gap, gap_low, gap_high = recall.gap
    return FinderMeasures(
        model=answers.model,
        recall=shares.infer_mean(values["recall"]),
        detectable_difference=shares.detectable_difference(values["recall"]),
        any_country_p=number(recall.difference.p_adjusted.min()),
        lowest=LowestRecall(
            float(recall.value[lowest]),
            number(recall.simultaneous_low.min()),
            number(recall.simultaneous_high.min()),
            codes[lowest],
        ),
        gap=RecallGap(gap, number(np.float64(gap_low)), number(np.float64(gap_high)), codes[highest], codes[lowest]),
        countries=[
            CountryRecall(
                country=design.counterfactuals.gazetteer.country(code),
                code=code,
                **{name: outcomes[name][c] for name in OUTCOMES},
                names=names[c],
            )
            for c, code in enumerate(codes)
        ],
        factors=list(_measure_factors(design, shares, answers)),
        originals=_measure_originals(design, answers),
        weakest_names=_list_weakest(list_name_recalls(design, positions, answers)),
    )


def _list_shares(shares: CountryShares) -> Iterator[Share]:
    """The share of one outcome for each country."""
    for c, value in enumerate(shares.value):
        yield Share(
            value=float(value),
            low=number(shares.low[c]),
            high=number(shares.high[c]),
            against_mean=shares.difference.at(c),
            simultaneous_low=number(shares.difference_low[c]),
            simultaneous_high=number(shares.difference_high[c]),
        )


def _measure_factors(design: FindDesign, shares: RenamedShares, answers: FinderAnswers) -> Iterator[FactorLevel]:
    """Every level of gender, part, script and case, over all countries."""
    levels = list(list_levels(design, answers))
    recalls = [shares.level_ratio(level.outcomes == Outcome.RECALL, level.is_level) for level in levels]
    first = {level.factor: k for k, level in reversed(list(enumerate(levels)))}
    compared = [k for k, level in enumerate(levels) if k != first[level.factor]]
    references = [recalls[first[levels[k].factor]] for k in compared]
    family = Family(
        [np.array([recalls[k].value - ref.value]) for k, ref in zip(compared, references, strict=True)],
        [shares.mean_uncertainty(recalls[k].linear - ref.linear) for k, ref in zip(compared, references, strict=True)],
    )
    differences: dict[int, Estimate] = {k: family.estimates(n).at(0) for n, k in enumerate(compared)}
    for k, level in enumerate(levels):
        others = {
            name: shares.level_ratio(level.outcomes == outcome, level.is_level).value
            for name, outcome in zip(OUTCOMES[1:], list(Outcome)[1:], strict=True)
        }
        yield FactorLevel(
            factor=level.factor,
            level=level.name,
            mentions=int(level.is_level.sum()),
            recall=shares.infer_ratio(recalls[k]),
            **others,
            difference=differences.get(k),
        )


def _list_weakest(names: Sequence[NameRecall]) -> list[NameRecall]:
    shown_enough = (name for name in names if name.mentions >= FEWEST_MENTIONS and name.recall < 1)
    return list(islice(shown_enough, WEAKEST_NAMES))


def _measure_originals(design: FindDesign, answers: FinderAnswers) -> OriginalTexts:
    hits = np.add.reduceat((answers.original == Outcome.RECALL).astype(float), design.first_mentions[:-1])
    mentions = np.diff(design.first_mentions)
    return OriginalTexts(
        recall=infer_over_texts(hits / mentions, np.ones(len(hits))),
        precision=infer_over_texts(answers.correct_counts, answers.prediction_counts),
        predictions=int(answers.prediction_counts.sum()),
        mentions=len(design.mentions),
    )
