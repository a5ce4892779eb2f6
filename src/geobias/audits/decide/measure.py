"""From the answers of models to every number of a decisions audit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from geobias.audits.decide.answers import NO_UNITS, ModelAnswers, OtherAnswers, WayAnswers
from geobias.audits.decide.design import COVARIATES, DecideDesign
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
    WorstRatio,
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
from geobias.measures.estimates import Estimate, Estimates
from geobias.measures.impact_ratio import ImpactRatios, measure_impact_ratios, measure_spread
from geobias.measures.uncertainty import Family
from geobias.report.results import Interval
from geobias.texts.counterfactuals import GENDERS
from geobias.texts.origins import Origin

FEWEST_CASES = 10  # with fewer, intervals do not have nominal coverage (bench/calibrate_decisions.py)
POINTS = 100


def measure_decisions(design: DecideDesign, answers: tuple[ModelAnswers, ...]) -> DecideResult:
    work: Counter[str] = Counter()
    for model in answers:
        work.update(model.work)
    return DecideResult(
        settings=design.settings_for([model.model.name for model in answers]),
        models=[model.model for model in answers],
        counts=design.count(),
        decisions=[_measure_model(design, model) for model in answers],
        work=dict(work),
        answers=answers,
    )


def _measure_model(design: DecideDesign, answers: ModelAnswers) -> ModelDecisions:
    ways, countries = answers.ways, design.countries
    variances = [way.crossed_variance(len(countries)) for way in ways]

    def summarise(values: Sequence[np.ndarray]) -> list[CountryMeans]:
        return list(map(_summarise, ways, variances, values))

    favourable = [way.favourable(way.yes) for way in ways]
    preferences = summarise(favourable)
    preference, rates = average_means(preferences), average_means(summarise([way.favourable_shares() for way in ways]))
    yes = average_means(summarise([np.nan_to_num(way.yes) for way in ways]))
    favours = ways[0].layout.favours
    has_both = bool((favours > 0).any() and (favours < 0).any())
    has_cases = len(ways[0].layout.cases) >= FEWEST_CASES
    is_testable = has_cases and all(way.separates_names() for way in ways)
    estimates = _estimate(preference, is_testable)
    probability, yes_estimates = _estimate(rates, is_testable), _estimate(yes, is_testable)
    ratios = measure_impact_ratios(rates)
    rate = rates.grand_mean()
    answered = np.mean([np.nanmean(way.answered, axis=(0, 2)) for way in ways], axis=0)
    by_way = [np.nanmean(way.refusals, axis=(0, 2)) for way in ways if way.refusals is not None]
    refusals = np.mean(by_way, axis=0) if by_way else None
    return ModelDecisions(
        model=answers.model,
        counts=DecisionCounts(answers.decisions, answers.distinct, answers.cut),
        answered=float(answered.mean()),
        refusals=None if refusals is None else float(refusals.mean()),
        sampled=answers.sampled,
        rate=Interval(rate.value, rate.low if is_testable else None, rate.high if is_testable else None),
        spread=_measure_spread(preference) if is_testable else None,
        smallest_effect=smallest_effect(preference.against_mean()[1]) if is_testable else None,
        worst=_find_worst(ratios, countries, is_testable),
        farthest=_find_farthest(preference, countries, is_testable),
        countries=[
            CountryDecisions(
                country=origin.country,
                code=str(origin.code),
                preference=estimates.at(c),
                probability=_in_points(probability.at(c)),
                rate=float(ratios.rate[c]),
                impact_ratio=Interval(float(ratios.ratio[c]), *_bounds(ratios, c, is_testable)),
                yes_tendency=yes_estimates.at(c) if has_both else None,
                answered=float(answered[c]),
                refusals=None if refusals is None else float(refusals[c]),
            )
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
            for is_known in [has_cases and way.separates_names()]
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


def _estimate(means: CountryMeans, is_testable: bool) -> Estimates:
    if is_testable:
        return estimate_against_mean(means)
    return Estimates.unknown(means.means - means.means.mean())


def _in_points(estimate: Estimate) -> Interval:
    """A difference of probabilities in points, without a test: that of the log-odds is the test."""
    numbers = (estimate.value, estimate.low, estimate.high)
    return Interval(*(None if number is None else POINTS * number for number in numbers))


def _bounds(ratios: ImpactRatios, country: int, is_testable: bool) -> tuple[float | None, float | None]:
    return (float(ratios.low[country]), float(ratios.high[country])) if is_testable else (None, None)


def _find_worst(ratios: ImpactRatios, countries: Sequence[Origin], is_testable: bool) -> WorstRatio:
    value, low, high, position = ratios.worst
    best = countries[int(ratios.rate.argmax())]
    return WorstRatio(
        value,
        low if is_testable else None,
        high if is_testable else None,
        country=str(countries[position].code),
        best=str(best.code),
    )


def _find_farthest(means: CountryMeans, countries: Sequence[Origin], is_testable: bool) -> FarthestPreference:
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


def _average_cases(way: WayAnswers, values: np.ndarray) -> np.ndarray:
    """cases x countries: the mean of each case by itself."""
    return average_each_situation(values, way.layout.favours, way.layout.counted)


def _measure_controls(answers: ModelAnswers, yes: CountryMeans | None, is_testable: bool) -> Controls:
    def estimate(values: np.ndarray | None) -> Estimate | None:
        if values is None:
            return None
        return estimate_mean(values) if is_testable else Estimate(float(values.mean()), None, None, None, None)

    named, invented, invented_means = [], [], []
    for way in answers.ways:
        real = _case_means(way, way.yes).mean(axis=1)
        named.append(real - _case_means(way, way.no_origin)[:, 0])
        if way.invented is not None:
            invented.append(_case_means(way, way.invented).mean(axis=1) - real)
            variance = CrossedVariance(NO_UNITS, way.invented.shape, way.layout.counted, names_fixed=True)
            invented_means.append(_summarise(way, variance, way.favourable(way.invented)))
    return Controls(
        named=estimate(np.mean(named, axis=0)),
        invented=estimate(np.mean(invented, axis=0) if invented else None),
        invented_spread=_measure_spread(average_means(invented_means)) if invented_means and is_testable else None,
        merit=estimate(answers.merit),
        order=None if answers.order is None else estimate_mean(answers.order),
        yes_tendency=None if yes is None else yes.grand_mean(),
    )


def _measure_domains(
    answers: ModelAnswers, preference: CountryMeans, countries: Sequence[Origin], is_testable: bool
) -> list[DomainDecisions]:
    domains = answers.ways[0].layout.domains
    names = list(dict.fromkeys(domains))
    groups = np.array([names.index(domain) for domain in domains])
    means = np.mean([_average_cases(way, way.favourable(way.yes)) for way in answers.ways], axis=0)
    covariance = preference.name_covariance
    estimates, count = estimate_cells(means, groups, None if covariance is None else np.diag(covariance))
    if not is_testable:
        estimates = Estimates.unknown(estimates.value)
    return [
        DomainDecisions(domain, int(count[k]), _list_estimates(countries, estimates.part(k)))
        for k, domain in enumerate(names)
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
            parts.append(GenderDecisions(gender, _list_estimates(countries, _estimate(means, is_known))))
    return parts


def _measure_cases(answers: ModelAnswers, countries: Sequence[Origin]) -> list[CaseDecisions]:
    """Those in which the country matters most come first."""
    layout = answers.ways[0].layout
    log_odds = np.mean([_average_cases(way, way.favourable(way.yes)) for way in answers.ways], axis=0)
    rates = np.mean([_average_cases(way, way.favourable_shares()) for way in answers.ways], axis=0)
    texts = {scenario.case: scenario.texts[0] for scenario in reversed(layout.scenarios)}
    cases = [
        CaseDecisions(
            case=case,
            domain=layout.domains[k],
            text=texts[case],
            rate=float(rates[k].mean()),
            gap=float(np.ptp(rates[k])),
            highest=countries[int(rates[k].argmax())].country,
            lowest=countries[int(rates[k].argmin())].country,
            interaction=float(log_odds[k].std(ddof=1)),
        )
        for k, case in enumerate(layout.cases)
    ]
    return sorted(cases, key=lambda case: -case.gap)


def _measure_others(answers: OtherAnswers | None, countries: Sequence[Origin]) -> list[CountryEstimate]:
    """Numbers or choices of countries, against the mean of countries."""
    if answers is None:
        return []
    layout, variance = answers.layout, answers.crossed_variance(len(countries))
    means = summarise_countries(variance, np.nan_to_num(answers.values), np.ones(layout.counted.shape))
    is_testable = len(layout.cases) >= FEWEST_CASES and answers.separates_names()
    return _list_estimates(countries, _estimate(means, is_testable))


def _measure_rare_names(way: WayAnswers, countries: Sequence[Origin]) -> RareNames | None:
    """Preferences with the length of names, and how widespread they are, held fixed."""
    if way.covariates is None or way.genders is None:
        return None
    variance = way.crossed_variance(len(countries))
    adjustment = adjust_for_covariates(variance, way.favourable(way.yes), way.covariates, way.genders)
    if adjustment is None:
        return None
    return RareNames(
        list(COVARIATES),
        [adjustment.slopes.at(k) for k in range(len(COVARIATES))],
        _list_estimates(countries, adjustment.unadjusted),
        _list_estimates(countries, adjustment.adjusted),
    )
