"""From the answers of models to every number of a decisions audit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from geobias.audits.constant_answers import list_constant_answers
from geobias.audits.decide.answers import NO_UNITS, ModelAnswers, OtherAnswers, WayAnswers
from geobias.audits.decide.design import COVARIATES, FEWEST_COUNTRIES, DecideDesign
from geobias.audits.decide.measure_shares import find_worst, list_ratios, measure_answered
from geobias.audits.decide.records import (
    CaseDecisions,
    Controls,
    CountryDecisions,
    CountryEstimate,
    DecisionCounts,
    DomainDecisions,
    FarthestPreference,
    GenderDecisions,
    ModelDecisions,
    RareNames,
    SpreadOfCountries,
    WayDecisions,
)
from geobias.audits.decide.result import DecideResult
from geobias.measures.covariate_adjustment import adjust_for_covariates
from geobias.measures.crossed_variance import CrossedVariance
from geobias.measures.decisions import (
    CountryMeans,
    average_each_situation,
    average_means,
    average_situations,
    estimate_against_mean,
    estimate_cells,
    estimate_mean,
    smallest_effect,
    summarise_countries,
)
from geobias.measures.estimates import NO_ESTIMATE, Estimate, Estimates
from geobias.measures.impact_ratio import measure_impact_ratios, measure_spread
from geobias.measures.missing_answers import (
    FEWEST_SITUATIONS,
    find_comparable,
    impute_answers,
    impute_cells,
)
from geobias.measures.uncertainty import Family
from geobias.report.results import NO_INTERVAL, Interval
from geobias.texts.counterfactuals import GENDERS
from geobias.texts.origins import Origin

FEWEST_CASES = FEWEST_SITUATIONS
POINTS = 100


def measure_decisions(design: DecideDesign, answers: tuple[ModelAnswers, ...]) -> DecideResult:
    work: Counter[str] = Counter()
    for model in answers:
        work.update(model.work)
    return DecideResult(
        settings=design.settings_for([model.model.name for model in answers]),
        models=[model.model for model in answers],
        counts=design.counts,
        decisions=[_measure_model(design, model) for model in answers],
        constant_answers=list_constant_answers({model.model.name: _split_answers(model) for model in answers}),
        work=dict(work),
        answers=answers,
    )


def _split_answers(answers: ModelAnswers) -> tuple[np.ndarray, np.ndarray]:
    """All log-odds of yes about a person without an origin, and about one from a country."""
    parts = [[way.no_origin for way in answers.ways], [way.yes for way in answers.ways]]
    without, about = (np.concatenate([part.ravel() for part in each])[:, None] for each in parts)
    return without, about


def _measure_model(design: DecideDesign, answers: ModelAnswers) -> ModelDecisions:
    ways, countries = answers.ways, design.countries
    variances = [way.crossed_variance(len(countries)) for way in ways]

    def summarise(values: Sequence[np.ndarray]) -> list[CountryMeans]:
        return list(map(_summarise, ways, variances, values))

    preferences = summarise([way.favourable(way.yes) for way in ways])
    preference, rates = average_means(preferences), average_means(summarise([way.favourable_shares() for way in ways]))
    yes = average_means(summarise([way.yes for way in ways]))
    favours = ways[0].layout.favours
    has_both = bool((favours > 0).any() and (favours < 0).any())
    has_cases = len(ways[0].layout.cases) >= FEWEST_CASES
    separates_names = has_cases and all(way.separates_names() for way in ways)
    is_testable = separates_names and preference.is_comparable
    estimates = _estimate(preference, is_testable)
    probability, yes_estimates = _estimate(rates, is_testable), _estimate(yes, is_testable)
    ratios = measure_impact_ratios(rates) if preference.is_comparable else None
    rate = rates.grand_mean() if rates.is_comparable else NO_ESTIMATE
    by_way = [np.nanmean(way.refusals, axis=(0, 2)) for way in ways if way.refusals is not None]
    refusals = np.mean(by_way, axis=0) if by_way else None
    answered = measure_answered(ways, variances, separates_names)
    return ModelDecisions(
        model=answers.model,
        counts=DecisionCounts(
            answers.decisions, answers.distinct, answers.cut, sum(int(way.layout.counted.sum()) for way in ways)
        ),
        answered=float(answered.share.mean()),
        refusals=None if refusals is None else float(refusals.mean()),
        sampled=answers.sampled,
        rate=Interval(rate.value, rate.low if is_testable else None, rate.high if is_testable else None),
        spread=_measure_spread(preference) if is_testable else None,
        smallest_effect=smallest_effect(preference.against_mean()[1]) if is_testable else None,
        worst=None if ratios is None else find_worst(ratios, _list_known(rates, countries), is_testable),
        farthest=_find_farthest(preference, _list_known(preference, countries), is_testable),
        countries=[
            CountryDecisions(
                country=origin.country,
                code=str(origin.code),
                preference=estimates.at(c),
                probability=_in_points(probability.at(c)),
                rate=rate_by_code.get(str(origin.code)),
                impact_ratio=ratio_by_code.get(str(origin.code), NO_INTERVAL),
                yes_tendency=yes_estimates.at(c) if has_both else None,
                answered=float(answered.share[c]),
                refusals=None if refusals is None else float(refusals[c]),
                answered_interval=answered.interval(c),
                answered_difference=answered.difference.at(c),
            )
            for rate_by_code, ratio_by_code in [list_ratios(ratios, _list_known(rates, countries), is_testable)]
            for c, origin in enumerate(countries)
        ],
        controls=_measure_controls(answers, yes if has_both else None, has_cases),
        by_domain=_measure_domains(answers, preference, countries, is_testable),
        by_origin=[
            WayDecisions(
                way.origin,
                _measure_spread(means) if is_known else None,
                _list_estimates(countries, _estimate(means, is_known)),
                smallest_effect(means.against_mean()[1]) if is_known else None,
            )
            for way, means in zip(ways, preferences, strict=True)
            for is_known in [has_cases and way.separates_names() and means.is_comparable]
        ],
        by_gender=[part for way in ways for part in _measure_genders(way, countries)],
        cases=_measure_cases(answers, countries),
        numbers=_measure_others(answers.numbers, countries),
        choices=_measure_others(answers.choices, countries),
        rare_names=next((rare for way in ways if (rare := _measure_rare_names(way, countries))), None),
        notes=list(answers.notes),
    )


def _summarise(way: WayAnswers, variance: CrossedVariance, values: np.ndarray) -> CountryMeans:
    return summarise_countries(variance, values, way.layout.favours)


def _list_known(means: CountryMeans, countries: Sequence[Origin]) -> list[Origin]:
    """The countries that are answered often enough to be compared."""
    return [origin for origin, is_known in zip(countries, means.find_known(), strict=True) if is_known]


def _estimate(means: CountryMeans, is_testable: bool) -> Estimates:
    """Of all countries; NaN for those that are answered too seldom."""
    if is_testable:
        return estimate_against_mean(means)
    return Estimates.unknown(means.subtract_mean())


def _in_points(estimate: Estimate) -> Interval:
    """A difference of probabilities in points, without a test: that of the log-odds is the test."""
    numbers = (estimate.value, estimate.low, estimate.high)
    return Interval(*(None if number is None else POINTS * number for number in numbers))


def _find_farthest(means: CountryMeans, countries: Sequence[Origin], is_testable: bool) -> FarthestPreference | None:
    if not means.is_comparable:
        return None
    value, uncertainty = means.against_mean()
    effect = Family([value], [uncertainty]).largest_effect(0) if is_testable else None
    position = int(np.abs(value).argmax())
    low, high = (effect.low, effect.high) if effect else (None, None)
    return FarthestPreference(float(np.abs(value[position])), low, high, str(countries[position].code))


def _measure_spread(means: CountryMeans) -> SpreadOfCountries:
    return SpreadOfCountries(**vars(measure_spread(*means.against_mean())))


def _list_estimates(countries: Sequence[Origin], estimates: Estimates) -> list[CountryEstimate]:
    return [CountryEstimate(origin.country, str(origin.code), estimates.at(c)) for c, origin in enumerate(countries)]


def _case_means(way: WayAnswers, yes: np.ndarray) -> np.ndarray:
    """cases x origins: the favourable log-odds of each case, weighted for a mean over cases."""
    return average_situations(way.favourable(yes), way.layout.favours, way.layout.counted)


def _mean_country(way: WayAnswers, yes: np.ndarray) -> np.ndarray:
    """cases: the mean of the same countries in each of them; NaN where none is answered."""
    cells = _case_means(way, yes)
    cells = cells[:, find_comparable(cells)]
    return impute_cells(cells).mean(axis=1) if cells.size else np.full(len(cells), np.nan)


def _average_cases(way: WayAnswers, values: np.ndarray) -> np.ndarray:
    """cases x countries: the mean of each case by itself."""
    return average_each_situation(values, way.layout.favours, way.layout.counted)


def _measure_controls(answers: ModelAnswers, yes: CountryMeans | None, is_testable: bool) -> Controls:
    def estimate(values: np.ndarray | None) -> Estimate | None:
        """Of the cases that are answered; None where none is."""
        values = None if values is None else values[~np.isnan(values)]
        if values is None or not len(values):
            return None
        return estimate_mean(values) if is_testable else Estimate(float(values.mean()), None, None, None, None)

    named, invented, invented_means = [], [], []
    for way in answers.ways:
        real = _mean_country(way, way.yes)
        named.append(real - _case_means(way, way.no_origin)[:, 0])
        if way.invented is not None:
            invented.append(_mean_country(way, way.invented) - real)
            variance = CrossedVariance(NO_UNITS, way.invented.shape, way.layout.counted, names_fixed=True)
            invented_means.append(_summarise(way, variance, way.favourable(way.invented)))
    of_invented = average_means(invented_means) if invented_means else None
    has_spread = is_testable and of_invented is not None and of_invented.is_comparable
    return Controls(
        named=estimate(np.mean(named, axis=0)),
        invented=estimate(np.mean(invented, axis=0) if invented else None),
        invented_spread=_measure_spread(of_invented) if has_spread and of_invented else None,
        merit=estimate(answers.merit),
        order=None if answers.order is None or np.isnan(answers.order).all() else estimate_mean(answers.order),
        yes_tendency=None if yes is None or not yes.is_comparable else yes.grand_mean(),
    )


def _measure_domains(
    answers: ModelAnswers, preference: CountryMeans, countries: Sequence[Origin], is_testable: bool
) -> list[DomainDecisions]:
    domains = answers.ways[0].layout.domains
    names = list(dict.fromkeys(domains))
    groups = np.array([names.index(domain) for domain in domains])
    if not preference.is_comparable:
        return []
    means = np.mean([_average_cases(way, way.favourable(way.yes)) for way in answers.ways], axis=0)
    means = means[:, preference.find_known()]
    covariance = preference.name_covariance
    estimates, count = estimate_cells(means, groups, None if covariance is None else np.diag(covariance))
    if not is_testable:
        estimates = Estimates.unknown(estimates.value)
    parts = [Estimates(*map(preference.expand, vars(estimates.part(k)).values())) for k in range(len(names))]
    return [
        DomainDecisions(domain, int(size), _list_estimates(countries, part))
        for domain, size, part in zip(names, count, parts, strict=True)
    ]


def _measure_genders(way: WayAnswers, countries: Sequence[Origin]) -> list[GenderDecisions]:
    if way.genders is None:
        return []
    parts = []
    for gender in GENDERS:
        counted = way.layout.counted & (way.genders == gender)
        variance = way.crossed_variance(len(countries), counted)
        is_known = way.separates_names(len(GENDERS)) and variance.text_count >= FEWEST_CASES
        if variance.text_count > 1:
            means = _summarise(way, variance, way.favourable(way.yes))
            is_testable = is_known and means.is_comparable
            parts.append(GenderDecisions(gender, _list_estimates(countries, _estimate(means, is_testable))))
    return parts


def _measure_cases(answers: ModelAnswers, countries: Sequence[Origin]) -> list[CaseDecisions]:
    """Those in which the country matters most come first; without those that are answered for one country at most."""
    layout = answers.ways[0].layout
    log_odds = np.mean([_average_cases(way, way.favourable(way.yes)) for way in answers.ways], axis=0)
    rates = np.mean([_average_cases(way, way.favourable_shares()) for way in answers.ways], axis=0)
    texts = {scenario.case: scenario.texts[0] for scenario in reversed(layout.scenarios)}
    cases = [
        CaseDecisions(
            case=case,
            domain=layout.domains[k],
            text=texts[case],
            rate=float(np.nanmean(rates[k])),
            gap=float(np.nanmax(rates[k]) - np.nanmin(rates[k])),
            highest=countries[int(np.nanargmax(rates[k]))].country,
            lowest=countries[int(np.nanargmin(rates[k]))].country,
            interaction=float(np.nanstd(log_odds[k], ddof=1)),
        )
        for k, case in enumerate(layout.cases)
        if (~np.isnan(rates[k])).sum() > 1
    ]
    return sorted(cases, key=lambda case: -case.gap)


def _measure_others(answers: OtherAnswers | None, countries: Sequence[Origin]) -> list[CountryEstimate]:
    """Numbers or choices of countries, against the mean of countries."""
    if answers is None:
        return []
    layout, variance = answers.layout, answers.crossed_variance(len(countries))
    means = summarise_countries(variance, answers.values, np.ones(layout.counted.shape))
    if not means.is_comparable:
        return []
    is_testable = len(layout.cases) >= FEWEST_CASES and answers.separates_names()
    return _list_estimates(countries, _estimate(means, is_testable))


def _measure_rare_names(way: WayAnswers, countries: Sequence[Origin]) -> RareNames | None:
    """Preferences with the length of names, and how widespread they are, held fixed."""
    if way.covariates is None or way.genders is None:
        return None
    is_known = _summarise(way, way.crossed_variance(len(countries)), way.favourable(way.yes)).find_known()
    if is_known.sum() < FEWEST_COUNTRIES:
        return None
    way = way.select_countries(is_known)
    assert way.covariates is not None and way.genders is not None
    values = impute_answers(way.favourable(way.yes), way.layout.favours, way.layout.counted)
    variance = way.crossed_variance(int(is_known.sum()))
    adjustment = adjust_for_covariates(variance, values, way.covariates, way.genders)
    if adjustment is None:
        return None
    known = [origin for origin, is_kept in zip(countries, is_known, strict=True) if is_kept]
    return RareNames(
        [COVARIATES[k] for k in adjustment.kept],
        [adjustment.slopes.at(k) for k in range(len(adjustment.kept))],
        _list_estimates(known, adjustment.unadjusted),
        _list_estimates(known, adjustment.adjusted),
    )
