"""How sure a names audit is: for every number of every country an interval and, where it can be tested, a p-value."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from geobias.measures.change import Change, country_mean, kl_by_text, predict_classes, tone_difference
from geobias.measures.estimates import (
    Estimates,
    bootstrap_estimates,
    bootstrap_p_values,
    largest_effect,
    monte_carlo_p_value,
)
from geobias.measures.names_bootstrap import LinearMeasure, NamesBootstrap, raise_to_mean_variance

if TYPE_CHECKING:
    from geobias.audits.names.result import Judgement


FEWEST_WITH_CLASS = 5  # texts that some name leads to a class


@dataclass(frozen=True)
class Certainty:
    """Estimates of countries (x labels), against the texts as they were and against the mean of countries."""

    delta: Estimates
    change: Estimates
    kl: Estimates
    delta_from_mean: Estimates
    change_from_mean: Estimates
    kl_from_mean: Estimates
    worst_delta: dict[str, Any] | None
    worst_change: list[dict[str, Any] | None]
    any_country_p: float | None  # is Delta alike for all countries?
    placebo: np.ndarray  # countries: what names alone do to Delta, 95th percentile

    def overall(self, labels: tuple[str, ...]) -> dict[str, Any]:
        """What results.json says of the countries together."""
        return {
            "worst": {"delta": self.worst_delta, "change": dict(zip(labels, self.worst_change, strict=True))},
            "any_country_differs": {"p": self.any_country_p},
        }

    def country(self, c: int, labels: tuple[str, ...]) -> dict[str, Any]:
        """What results.json says beside a country's numbers."""
        return {
            "placebo": None if np.isnan(self.placebo[c]) else float(self.placebo[c]),
            "delta": asdict(self.delta.at(c)),
            "change": {label: asdict(self.change.at(c, k)) for k, label in enumerate(labels)},
            "kl": asdict(self.kl.at(c)),
            "against_mean": {
                "delta": asdict(self.delta_from_mean.at(c)),
                "change": {label: asdict(self.change_from_mean.at(c, k)) for k, label in enumerate(labels)},
                "kl": asdict(self.kl_from_mean.at(c)),
            },
        }


def certainty(
    judged: Judgement, original: np.ndarray, change: Change, bootstrap: NamesBootstrap, codes: list[str]
) -> Certainty:
    """Resample all measures together, and test those against the mean of countries by shuffling names.

    A measure is made of means, and near its value it moves with them in a straight line: so a change in per cent has
    the interval of that line. One text alone says nothing of others: then all is unknown.
    """
    countries, labels = change.after.shape
    if not bootstrap.is_estimable:
        return _unknown(change)
    each, among = np.eye(countries), np.eye(countries) - 1 / countries
    said = predict_classes(judged.renamed, judged.threshold).astype(float)
    was = predict_classes(original, judged.threshold).astype(float)
    moved = 100 * tone_difference(original, judged.renamed, judged.positive, judged.negative)
    kl = kl_by_text(judged.renamed, original, multi_label=judged.multi_label)
    mean = np.nan_to_num(country_mean(judged.renamed, bootstrap.counted))
    kl_from_mean = kl_by_text(judged.renamed, mean, multi_label=judged.multi_label)
    measures: list[LinearMeasure] = [[(moved, each)], [(moved, among)], [(kl, each)], [(kl_from_mean, each)]]
    for k in range(labels):
        measures.append([bootstrap.linearize_change(said[..., k], was[:, k])])
        measures.append([bootstrap.linearize_change_from_mean(said[..., k])])
    found = bootstrap.deviations(measures)
    rng = np.random.default_rng(bootstrap.seed + 3)
    changed, changed_from_mean = (raise_to_mean_variance(np.stack(found[start::2], axis=-1), rng) for start in (4, 5))
    # A class that hardly any text has says nothing of others: its shares are unknown, not certain.
    with_class = (said.max(axis=(1, 2)) * (bootstrap.draws_per_text > 0)[:, None]).sum(axis=0)
    rare = with_class < FEWEST_WITH_CLASS
    untested = np.full(countries, np.nan)
    known_change, known_from_mean = (np.where(rare, np.nan, each) for each in (change.change, change.change_from_mean))
    drawn = bootstrap.unit_count
    if bootstrap.names_fixed:  # they stay where they are: the intervals are inverted
        p_moved, p_changed = (
            bootstrap_p_values(value, off, drawn)
            for value, off in ((change.delta_from_mean, found[1]), (known_from_mean, changed_from_mean))
        )
        apart = monte_carlo_p_value((change.delta_from_mean**2).sum(), (found[1] ** 2).sum(axis=1))
        any_country = max(float(apart), 0.5 ** (drawn - 1))
    else:
        p_moved, any_country = bootstrap.permutation_test(moved, countries)
        tests = [bootstrap.permutation_test(said[..., k], countries * labels) for k in range(labels)]
        p_changed = np.column_stack([test.p for test in tests])
    has_delta = not np.isnan(change.delta).all()
    return Certainty(
        delta=bootstrap_estimates(change.delta, found[0], bootstrap_p_values(change.delta, found[0], drawn)),
        change=_where_known(
            bootstrap_estimates(known_change, changed, bootstrap_p_values(known_change, changed, drawn)), change.change
        ),
        kl=bootstrap_estimates(change.kl, found[2], untested),
        delta_from_mean=bootstrap_estimates(change.delta_from_mean, found[1], p_moved),
        change_from_mean=_where_known(
            bootstrap_estimates(known_from_mean, changed_from_mean, p_changed), change.change_from_mean
        ),
        kl_from_mean=bootstrap_estimates(change.kl_from_mean, found[3], untested),
        worst_delta=_worst(change.delta_from_mean, found[1], bootstrap.text_count, codes) if has_delta else None,
        worst_change=[
            None
            if rare[k]
            else _worst(change.change_from_mean[:, k], changed_from_mean[..., k], bootstrap.text_count, codes)
            for k in range(labels)
        ],
        any_country_p=any_country if has_delta else None,
        placebo=bootstrap.noise_floor(moved) if has_delta else untested,
    )


def _where_known(found: Estimates, value: np.ndarray) -> Estimates:
    """The values themselves stay, also where nothing is known of their uncertainty."""
    return replace(found, value=value)


def _unknown(change: Change) -> Certainty:
    return Certainty(
        delta=Estimates.unknown(change.delta),
        change=Estimates.unknown(change.change),
        kl=Estimates.unknown(change.kl),
        delta_from_mean=Estimates.unknown(change.delta_from_mean),
        change_from_mean=Estimates.unknown(change.change_from_mean),
        kl_from_mean=Estimates.unknown(change.kl_from_mean),
        worst_delta=None,
        worst_change=[None] * change.after.shape[1],
        any_country_p=None,
        placebo=np.full(len(change.delta), np.nan),
    )


def _worst(value: np.ndarray, deviations: np.ndarray, texts: int, codes: list[str]) -> dict[str, Any]:
    """The country farthest from the mean, with bounds that hold for all countries at once."""
    effect = largest_effect(value, deviations, texts)
    return {"value": effect.value, "low": effect.low, "high": effect.high, "country": codes[effect.position]}
