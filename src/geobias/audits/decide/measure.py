"""From the answers of models to rows.

Which test decides: a country stands out if its preference differs from the mean of countries, by max-T over all
countries, and does not only mirror another country. Cases and names are samples. Fewer than ten cases, or names that
are drawn once, are not tested.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from geobias.audits.decide.answers import ModelAnswers, cross_names
from geobias.audits.decide.design import COVARIATES, FEWEST_CASES, FEWEST_COUNTRIES, DecideDesign
from geobias.audits.decide.result import (
    BY_DOMAIN,
    BY_GENDER,
    BY_ORIGIN,
    FAVOURABLE,
    CaseDecisions,
    CountryDecisions,
    DecideResult,
    ModelDecisions,
    PartialPreference,
)
from geobias.audits.doubts import list_constant_answers
from geobias.measures.covariate_adjustment import adjust_for_covariates
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
from geobias.measures.estimates import Estimate, Estimates, find_standing_out
from geobias.measures.impact_ratio import measure_impact_ratios, measure_spread
from geobias.measures.missing_answers import bound_shares, impute_answers, permute_countries
from geobias.measures.uncertainty import Family
from geobias.report.model_findings import find_mirrors
from geobias.report.results import NO_INTERVAL, Interval, number
from geobias.texts.counterfactuals import GENDERS

POINTS = 100


def measure_decisions(design: DecideDesign, answers: tuple[ModelAnswers, ...]) -> DecideResult:
    rows = [ModelMeasures(design, each).list_rows() for each in answers]
    lists: dict[str, Any] = {name: [row for model in rows for row in model[name]] for name in rows[0]}
    return DecideResult(
        settings=design.settings_for([each.model.name for each in answers]),
        models=[each.model for each in answers],
        counts=design.counts,
        constant_answers=list_constant_answers({each.model.name: _split_answers(each) for each in answers}),
        work={"decisions_scored": sum(each.scored for each in answers)},
        answers=answers,
        **lists,
    )


def _split_answers(answers: ModelAnswers) -> tuple[np.ndarray, np.ndarray]:
    """All log-odds of yes about a person without an origin, and about one from a country."""
    parts = [[way.no_origin for way in answers.ways], [way.yes for way in answers.ways]]
    without, about = (np.concatenate([part.ravel() for part in each])[:, None] for each in parts)
    return without, about


class ModelMeasures:
    """Every number of one model."""

    def __init__(self, design: DecideDesign, answers: ModelAnswers) -> None:
        self.answers, self.ways, self.model = answers, answers.ways, answers.model.name
        self.places = [(origin.country, str(origin.code)) for origin in design.countries]
        self.variances = [way.cross_names(len(self.places)) for way in self.ways]
        self.has_cases = len(self.ways[0].layout.cases) >= FEWEST_CASES
        self.separates_names = self.has_cases and all(way.separates_names() for way in self.ways)
        self.by_way = self._summarise([way.favourable(way.yes) for way in self.ways])
        self.preference = average_means(self.by_way)
        self.rates = average_means(self._summarise([way.favourable_shares for way in self.ways]))
        favours = self.ways[0].layout.favours
        has_both = (favours > 0).any() and (favours < 0).any()
        self.yes = average_means(self._summarise([way.yes for way in self.ways])) if has_both else None
        self.is_testable = self.separates_names and self.preference.is_comparable
        self.ratios = measure_impact_ratios(self.rates) if self.preference.is_comparable else None
        refusals = [np.nanmean(way.refusals, axis=(0, 2)) for way in self.ways if way.refusals is not None]
        self.refusals = np.mean(refusals, axis=0) if refusals else None
        self.names_unadjusted, self.names_held_fixed, self.slopes = [*self._hold_names_fixed()] or [{}, {}, {}]

    def list_rows(self) -> dict[str, list[Any]]:
        """The rows of each list of the result."""
        effects = list(self._list_effects())
        return {
            "deciders": [self._describe_model(float(np.mean([row.answered.value for row in effects])))],
            "effects": effects,
            "parts": list(self._list_parts()),
            "cases": self._list_cases(),
        }

    def _describe_model(self, answered: float) -> ModelDecisions:
        worst_ratio, worst_country, best_country, farthest = self._find_extremes()
        spread, noise = _measure_spread([self.preference], self.is_testable)
        shown, invented, invented_means = [], [], []
        for way in self.ways:
            real = way.average_countries(way.yes)
            shown.append(real - way.average_cases(way.no_origin)[:, 0])
            if way.invented is not None:
                invented.append(way.average_countries(way.invented) - real)
                variance = cross_names(None, way.invented.shape[1], way.layout.counted)
                invented_means.append(summarise_countries(variance, way.favourable(way.invented), way.layout.favours))
        invented_spread, invented_noise = _measure_spread(invented_means, self.has_cases)
        order = self.answers.order
        return ModelDecisions(
            model=self.model,
            decisions=self.answers.decisions,
            decisions_cut=self.answers.cut,
            questions_by_country=sum(int(way.layout.counted.sum()) for way in self.ways),
            answered=answered,
            refusals=None if self.refusals is None else float(self.refusals.mean()),
            sampled=self.answers.sampled,
            smallest_effect=smallest_effect(self.preference.against_mean()[1]) if self.is_testable else None,
            spread=spread,
            noise=noise,
            invented_spread=invented_spread,
            invented_noise=invented_noise,
            slopes=self.slopes,
            notes=list(self.answers.notes),
            worst_ratio=worst_ratio,
            worst_country=worst_country,
            best_country=best_country,
            farthest=farthest,
            origin_shown=self._estimate_cases(np.mean(shown, axis=0)),
            invented=self._estimate_cases(np.mean(invented, axis=0) if invented else None),
            merit=self._estimate_cases(self.answers.merit),
            order=None if order is None or np.isnan(order).all() else estimate_mean(order),
            yes_tendency=None if self.yes is None or not self.yes.is_comparable else self.yes.grand_mean(),
        )

    def _summarise(self, values: Sequence[np.ndarray]) -> list[CountryMeans]:
        favours = [way.layout.favours for way in self.ways]
        return list(map(summarise_countries, self.variances, values, favours))

    def _list_effects(self) -> Iterator[CountryDecisions]:
        preferences, probabilities = (_estimate(each, self.is_testable) for each in (self.preference, self.rates))
        yes = None if self.yes is None else _estimate(self.yes, self.is_testable)
        rates, ratios = self._expand_ratios()
        answered, differences = self._measure_answered()
        estimates = [preferences.at(c) for c in range(len(self.places))]
        mirrors = find_mirrors(estimates)
        for c, (place, code) in enumerate(self.places):
            yield CountryDecisions(
                model=self.model,
                place=place,
                code=code,
                label=FAVOURABLE,
                p_adjusted=estimates[c].p_adjusted,
                mirrors=self.places[mirrors[c]][0] if c in mirrors else None,
                preference=estimates[c],
                probability=_in_points(probabilities.at(c)),
                rate=number(rates[c]),
                impact_ratio=Interval(*map(number, ratios[:, c])),
                yes_tendency=None if yes is None else yes.at(c),
                answered=Interval(*map(number, answered[:, c])),
                answered_difference=differences.at(c),
                refusals=None if self.refusals is None else float(self.refusals[c]),
                names_unadjusted=self.names_unadjusted.get(code),
                names_held_fixed=self.names_held_fixed.get(code),
            )

    def _expand_ratios(self) -> tuple[np.ndarray, np.ndarray]:
        """Selection rates of all countries, and their impact ratios with bounds (3 x countries)."""
        ratios, size = self.ratios, len(self.places)
        if ratios is None:
            return np.full(size, np.nan), np.full((3, size), np.nan)
        ends = [ratios.low, ratios.high] if self.is_testable else [np.full(ratios.ratio.shape, np.nan)] * 2
        intervals = np.stack([self.rates.expand(part) for part in (ratios.ratio, *ends)])
        return self.rates.expand(np.clip(ratios.rate, 0, 1)), intervals  # adjusted rates may lie beyond

    def _measure_answered(self) -> tuple[np.ndarray, Estimates]:
        """The share of questions that is answered with its interval (3 x countries), and against the mean of countries.

        Tested by permutation, which is exact where most answer all; names add to the variance, so by that with them.
        """
        ways = self.ways
        share = np.mean([np.nanmean(way.answered, axis=(0, 2)) for way in ways], axis=0)
        if not self.separates_names:
            return np.stack([share, *[np.full(share.shape, np.nan)] * 2]), Estimates.unknown(share - share.mean())
        parts = [(np.nan_to_num(way.answered), np.ones(way.layout.counted.shape)) for way in ways]
        means = average_means(
            [summarise_countries(variance, *part) for variance, part in zip(self.variances, parts, strict=True)]
        )
        difference = estimate_against_mean(means)
        if all(way.shown is None for way in ways):
            cells = [average_situations(*part, way.layout.counted) for way, part in zip(ways, parts, strict=True)]
            p, p_adjusted = permute_countries(np.mean(cells, axis=0))
            difference = replace(difference, p=p, p_adjusted=p_adjusted)
        variance = means.combine(np.eye(len(share)), means.name_df)[1].variance
        return np.stack([share, *bound_shares(share, variance, len(ways[0].layout.cases))]), difference

    def _find_extremes(self) -> tuple[Interval, str | None, str | None, Interval]:
        """The smallest impact ratio with its country and the best-treated one, and the farthest preference."""
        if self.ratios is None:
            return NO_INTERVAL, None, None, NO_INTERVAL
        places = [place for (place, _), known in zip(self.places, self.rates.find_known(), strict=True) if known]
        *bounds, position = self.ratios.worst
        values, uncertainty = self.preference.against_mean()
        largest = Family([values], [uncertainty]).largest_effect(0) or NO_INTERVAL
        ratio, farthest = Interval(*bounds), Interval(float(np.abs(values).max()), largest.low, largest.high)
        if not self.is_testable:
            ratio, farthest = (Interval(each.value, None, None) for each in (ratio, farthest))
        return ratio, places[position], places[int(self.ratios.rate.argmax())], farthest

    def _estimate_cases(self, values: np.ndarray | None) -> Estimate | None:
        """Of the cases that are answered; None where none is."""
        known = np.zeros(0) if values is None else values[~np.isnan(values)]
        if not len(known):
            return None
        return estimate_mean(known) if self.has_cases else Estimate(float(known.mean()), None, None, None, None)

    def _list_parts(self) -> Iterator[PartialPreference]:
        yield from self._list_domains()
        for way, means in zip(self.ways, self.by_way, strict=True):
            is_testable = self.has_cases and way.separates_names() and means.is_comparable
            yield from self._make_parts(BY_ORIGIN, way.origin, _estimate(means, is_testable))
        for way, shown in ((way, way.shown) for way in self.ways if way.shown is not None):
            for gender in GENDERS:
                variance = way.cross_names(len(self.places), way.layout.counted & (shown.genders == gender))
                if variance.text_count > 1:
                    means = summarise_countries(variance, way.favourable(way.yes), way.layout.favours)
                    is_known = way.separates_names(len(GENDERS)) and variance.text_count >= FEWEST_CASES
                    yield from self._make_parts(BY_GENDER, gender, _estimate(means, is_known and means.is_comparable))
        for measure, answers in (("number", self.answers.numbers), ("choice", self.answers.choices)):
            if answers is not None:
                favours = np.ones(answers.layout.counted.shape)
                means = summarise_countries(answers.cross_names(len(self.places)), answers.values, favours)
                if means.is_comparable:
                    is_testable = len(answers.layout.cases) >= FEWEST_CASES and answers.separates_names()
                    yield from self._make_parts(measure, None, _estimate(means, is_testable))

    def _list_domains(self) -> Iterator[PartialPreference]:
        if not self.preference.is_comparable:
            return
        domains, preference = self.ways[0].layout.domains, self.preference
        names = list(dict.fromkeys(domains))
        groups = np.array([names.index(domain) for domain in domains])
        covariance = preference.name_covariance
        means = self._average_ways([way.favourable(way.yes) for way in self.ways])[:, preference.find_known()]
        estimates = estimate_cells(means, groups, None if covariance is None else np.diag(covariance))[0]
        if not self.is_testable:
            estimates = Estimates.unknown(estimates.value)
        for k, name in enumerate(names):
            part = Estimates(*map(preference.expand, vars(estimates.part(k)).values()))
            yield from self._make_parts(BY_DOMAIN, name, part)

    def _make_parts(self, measure: str, label: str | None, estimates: Estimates) -> Iterator[PartialPreference]:
        by_country = [estimates.at(c) for c in range(len(self.places))]
        for place, estimate, stands_out in zip(self.places, by_country, find_standing_out(by_country), strict=True):
            yield PartialPreference(self.model, measure, label, *place, estimate, stands_out)

    def _list_cases(self) -> list[CaseDecisions]:
        """Those in which the country matters most come first."""
        layout, rates = self.ways[0].layout, self._average_ways([way.favourable_shares for way in self.ways])
        cases = [
            CaseDecisions(
                model=self.model,
                case=case,
                domain=layout.domains[k],
                text=layout.texts[k],
                rate=float(np.nanmean(rates[k])),
                gap=float(np.nanmax(rates[k]) - np.nanmin(rates[k])),
                highest=self.places[int(np.nanargmax(rates[k]))][0],
                lowest=self.places[int(np.nanargmin(rates[k]))][0],
            )
            for k, case in enumerate(layout.cases)
            if (~np.isnan(rates[k])).sum() > 1
        ]
        return sorted(cases, key=lambda case: -case.gap)

    def _average_ways(self, values: Sequence[np.ndarray]) -> np.ndarray:
        """cases x countries: the mean of each case by itself, over the ways of showing origin."""
        layouts = [way.layout for way in self.ways]
        parts = zip(values, layouts, strict=True)
        means = [average_each_situation(part, each.favours, each.counted) for part, each in parts]
        return np.asarray(np.mean(means, axis=0))

    def _hold_names_fixed(self) -> Iterator[dict[str, Estimate]]:
        """Preferences by country, without and with the length of names, and how widespread they are, held fixed.

        Then what each of the two does; nothing where no names are shown, or too few to tell.
        """
        for way, means in zip(self.ways, self.by_way, strict=True):
            is_known, layout = means.find_known(), way.layout
            if way.shown is None or way.shown.covariates is None or is_known.sum() < FEWEST_COUNTRIES:
                continue
            values = impute_answers(way.favourable(way.yes[:, is_known]), layout.favours, layout.counted)
            known = way.shown._replace(names=way.shown.names[:, :, is_known])
            variance = cross_names(known, values.shape[1], layout.counted)
            covariates = way.shown.covariates[:, is_known]
            if adjustment := adjust_for_covariates(variance, values, covariates, way.shown.genders):
                codes = [code for (_, code), is_kept in zip(self.places, is_known, strict=True) if is_kept]
                for estimates in (adjustment.unadjusted, adjustment.adjusted):
                    yield {code: estimates.at(c) for c, code in enumerate(codes)}
                yield {COVARIATES[n]: adjustment.slopes.at(k) for k, n in enumerate(adjustment.kept)}


def _estimate(means: CountryMeans, is_testable: bool) -> Estimates:
    """Of all countries; NaN for those that are answered too seldom."""
    return estimate_against_mean(means) if is_testable else Estimates.unknown(means.subtract_mean())


def _measure_spread(parts: Sequence[CountryMeans], is_testable: bool) -> tuple[Estimate | None, float | None]:
    """The spread of countries over the ways of showing origin, and its noise floor."""
    means = average_means(parts) if parts else None
    if means is None or not (is_testable and means.is_comparable):
        return None, None
    spread = measure_spread(*means.against_mean())
    return Estimate(spread.value, spread.low, spread.high, spread.p, spread.p), spread.noise


def _in_points(estimate: Estimate) -> Interval:
    """A difference of probabilities in points, without a test: that of the log-odds is the test."""
    numbers = (estimate.value, estimate.low, estimate.high)
    return Interval(*(None if each is None else POINTS * each for each in numbers))
