"""How each place is compared: with the control, and with the other places.

The control is one sentence ("I am from here."), and its wording may move a classifier by itself: then every place
differs from it. So a place stands out only if it differs from the control and, in the same direction, from the mean of
all places. Its adjusted p-value is the larger of the two (an intersection-union test). A place far from the others
moves their mean, and so puts all of them on the other side of it: those that may only mirror it do not stand out
(`find_standing_out`). Where there is no mean of other places, nothing does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy import stats

from geobias.audits.downstream.result import ClassifierShifts, ClassShift, DownstreamResult, PlaceShift
from geobias.audits.labels import find_label_tones, is_emotion
from geobias.measures.estimates import (
    FEWEST_TEXTS_SHOWN,
    NO_ESTIMATE,
    SIGNIFICANT,
    Estimate,
    find_standing_out,
    t_quantile,
)
from geobias.models.scorer import ModelIdentity
from geobias.report.tables import is_marked
from geobias.world.countries import UN_STATES

POWER = 0.8


@dataclass(frozen=True)
class Contrast:
    """One place and the shown class: the difference from the control, tested against the control and the mean."""

    place: PlaceShift
    shift: ClassShift
    mirrored: PlaceShift | None = None
    """The place that may be the only reason for a difference from the mean."""

    @property
    def estimate(self) -> Estimate:
        return self.shift.inference.against_control

    @property
    def value(self) -> float:
        return _value(self.estimate)

    @property
    def from_mean(self) -> float:
        """The difference from the mean of places; 0 where there is none."""
        return _value(self.shift.inference.against_mean or NO_ESTIMATE)

    @property
    def p_adjusted(self) -> float | None:
        mean = self.shift.inference.against_mean
        if mean is None or self.estimate.p_adjusted is None or mean.p_adjusted is None:
            return self.estimate.p_adjusted
        if self.mirrored or self.value * self.from_mean <= 0:
            return 1.0
        return max(self.estimate.p_adjusted, mean.p_adjusted)

    @property
    def stands_out(self) -> bool:
        is_compared = self.shift.inference.against_mean is not None
        return is_compared and self.p_adjusted is not None and self.p_adjusted < SIGNIFICANT

    @property
    def verdict_changes(self) -> int:
        return self.shift.gained + self.shift.lost


@dataclass(frozen=True)
class ClassifierContrasts:
    """All places of one classifier."""

    result: DownstreamResult
    entry: ClassifierShifts

    @property
    def model(self) -> ModelIdentity:
        return self.entry.model

    @cached_property
    def tone(self) -> int:
        """1 where the shown class is better for the person, -1 where it is worse, 0 where the labels do not say."""
        labels = self.entry.labels
        if any(map(is_emotion, labels)):
            return 0
        positive, negative = find_label_tones(self.model.name, labels, (), ())
        shown = labels.index(self.entry.shown)
        return (shown in positive) - (shown in negative)

    @cached_property
    def contrasts(self) -> list[Contrast]:
        return _mark_mirrors([Contrast(place, place.classes[self.entry.shown]) for place in self.entry.regions])

    @cached_property
    def standing_out(self) -> list[Contrast]:
        return [contrast for contrast in self.contrasts if contrast.stands_out]

    @cached_property
    def ranked(self) -> list[Contrast]:
        """Those to name in findings, the strongest evidence first.

        Territories are left out unless the user chose the countries, or nothing but territories stands out.
        """
        contrasts = self.contrasts
        if self._prefers_states:
            states = [contrast for contrast in contrasts if contrast.place.id in UN_STATES]
            if not self.standing_out or any(contrast.stands_out for contrast in states):
                contrasts = states or contrasts
        return sorted(contrasts, key=_rank)

    @cached_property
    def by_value(self) -> list[Contrast]:
        """From the highest to the lowest probability of the shown class."""
        return sorted(self.contrasts, key=lambda contrast: -contrast.value)

    def list_standing_out(self, sign: int) -> list[Contrast]:
        """Those above (1) or below (-1) the control that stand out, the farthest first; states before territories."""
        contrasts = [contrast for contrast in self.standing_out if contrast.value * sign > 0]
        return sorted(
            contrasts,
            key=lambda contrast: (self._prefers_states and contrast.place.id not in UN_STATES, -abs(contrast.value)),
        )

    @property
    def _prefers_states(self) -> bool:
        """Unless the user chose the countries."""
        return self.result.is_mapped and self.result.settings.countries == "all"

    @property
    def common_shift(self) -> float | None:
        """The mean difference from the control, where most places differ from it in the same direction."""
        marked = [contrast.value for contrast in self.contrasts if is_marked(contrast.estimate)]
        same = max(sum(value > 0 for value in marked), sum(value < 0 for value in marked))
        if len(self.contrasts) < 2 or 2 * same <= len(self.contrasts):
            return None
        return float(np.mean([contrast.value for contrast in self.contrasts]))

    @property
    def test_count(self) -> int:
        """Tests of one family: the places and the control by class; the second of two classes mirrors the first."""
        labels = self.entry.labels
        classes = 1 if len(labels) == 2 and not self.entry.multi_label else len(labels)
        return (len(self.contrasts) + 1) * classes

    @property
    def texts_needed(self) -> int:
        """With fewer texts no single place can stand out: p is at least 0.5 ** (texts - 1), then adjusted."""
        return max(FEWEST_TEXTS_SHOWN, 2 + int(np.floor(np.log2(self.test_count / SIGNIFICANT))))

    @property
    def detectable_difference(self) -> float:
        """The smallest difference of one place that stands out with a power of 80 %, for the median standard error."""
        df = self.result.counts.texts - 1
        inferences = [contrast.shift.inference for contrast in self.contrasts]
        families = [
            [inference.against_control for inference in inferences],
            [inference.against_mean for inference in inferences if inference.against_mean],
        ]
        error = max(_median_half_width(family) for family in families) / float(t_quantile(df))
        return float(stats.t.isf(SIGNIFICANT / 2 / self.test_count, df) + stats.t.ppf(POWER, df)) * error


def _mark_mirrors(contrasts: Sequence[Contrast]) -> list[Contrast]:
    """The same; those that would stand out, but may only mirror another place, with that place."""
    # Two places lie equally far from their mean: then the one that is farther from the control comes first.
    ordered = sorted(contrasts, key=lambda contrast: -abs(contrast.value))
    means = [contrast.shift.inference.against_mean or NO_ESTIMATE for contrast in ordered]
    standing_out = find_standing_out(means)
    mirrored: dict[str | None, PlaceShift] = {}
    for contrast, mean, stands_out in zip(ordered, means, standing_out, strict=True):
        if contrast.stands_out and not stands_out:
            opposite = [k for k, other in enumerate(means) if standing_out[k] and _value(other) * _value(mean) < 0]
            if opposite:  # else nothing moved the mean away from it: it is clear by itself
                mirrored[contrast.place.id] = ordered[max(opposite, key=lambda k: abs(_value(means[k])))].place
    return [replace(contrast, mirrored=mirrored.get(contrast.place.id)) for contrast in contrasts]


def _value(estimate: Estimate) -> float:
    return estimate.value or 0.0


def _rank(contrast: Contrast) -> tuple[float, float]:
    """Those that stand out by their size, before the others by their p-value."""
    if contrast.stands_out:
        return 0.0, -abs(contrast.value)
    return (1.0 if contrast.p_adjusted is None else contrast.p_adjusted), -abs(contrast.value)


def _median_half_width(estimates: Sequence[Estimate]) -> float:
    widths = [each.high - each.low for each in estimates if each.low is not None and each.high is not None]
    return float(np.median(widths)) / 2 if widths else 0.0
