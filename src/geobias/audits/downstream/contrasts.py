"""How each place is compared: with invented places, with the other places, and with the control.

A sentence before a text changes it, and so do the length, the spelling and the words of a name. So a place stands out
only if it differs, in the same direction, from the mean of all places, from invented places whose names are as long,
and from the mean of places with the length of names held fixed. Its adjusted p-value is the largest of the three (an
intersection-union test). None of them depends on the wording of a control. It is no smaller than 0.05, so at most
suggestive, where another reason is as good: places that share a word differ alike ("United"), or there was one wording.

Without invented places (as in the paper) a place is compared with the control and the mean of places. A place far from
the others moves their mean, and so puts all of them on the other side of it: those that may only mirror it do not stand
out (`find_standing_out`). Where there is no mean of other places, nothing does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy import stats

from geobias.audits.downstream.records import ClassShift, WordingEffect
from geobias.audits.downstream.result import ClassifierShifts, DownstreamResult, PlaceShift
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
CITY_COUNTRY = "city-country"  # the country is in the name on purpose
SHORTEST_WORD = 3  # letters of a word that places may share: not "of"
ALIKE = 0.5


@dataclass(frozen=True)
class Contrast:
    """One place and the shown class: the difference from invented places, or from the control, and its tests."""

    place: PlaceShift
    shift: ClassShift
    mirrored: PlaceShift | None = None
    """The place that may be the only reason for a difference from the mean."""
    shared_word: str | None = None
    """The word of its name that other places share and that may be the only reason."""
    is_single_wording: bool = False
    """Whether there was one prefix or one control, which says nothing of others."""
    wording: WordingEffect | None = None
    """The wording of the prefix after which it differs most, where it differs after one by itself."""

    @property
    def estimate(self) -> Estimate:
        return self.shift.inference.against_invented or self.shift.inference.against_control

    @property
    def has_names_fixed(self) -> bool:
        """Whether it is compared with invented places."""
        return self.shift.inference.against_invented is not None

    @property
    def value(self) -> float:
        return _value(self.estimate)

    @property
    def from_mean(self) -> float:
        """The difference from the mean of places; 0 where there is none."""
        return _value(self.shift.inference.against_mean or NO_ESTIMATE)

    @cached_property
    def p_adjusted(self) -> float | None:
        inference = self.shift.inference
        mean = inference.against_mean
        tests = [inference.held_fixed, mean] if self.has_names_fixed else [mean]
        others = [each for each in tests if each is not None and each.value is not None]
        p_values = [each.p_adjusted for each in (self.estimate, *others)]
        if mean is None and not self.has_names_fixed:
            return self.estimate.p_adjusted
        if self.estimate.p_adjusted is None or None in p_values:
            return self.estimate.p_adjusted if self.has_names_fixed else None
        if self.mirrored or any(self.value * (each.value or 0.0) <= 0 for each in others):
            return 1.0
        is_doubtful = self.shared_word is not None or self.is_single_wording or self._rests_on_one_wording
        return max([p for p in p_values if p is not None] + [SIGNIFICANT] * is_doubtful)

    @cached_property
    def stands_out(self) -> bool:
        is_compared = self.shift.inference.against_mean is not None or self.has_names_fixed
        return is_compared and self.p_adjusted is not None and self.p_adjusted < SIGNIFICANT

    @cached_property
    def is_doubted(self) -> bool:
        """Whether it would stand out but for a shared word or a single wording."""
        undoubted = replace(self, shared_word=None, is_single_wording=False, wording=None)
        return undoubted.stands_out and not self.stands_out

    @property
    def _rests_on_one_wording(self) -> bool:
        """Whether it differs after one wording, and after the others less than half as much on average."""
        effect = self.wording
        return effect is not None and not effect.also and effect.others / (effect.estimate.value or 1.0) < ALIKE

    @property
    def needs_wording(self) -> bool:
        """Whether it differs after one wording, while over all of them it is not clear."""
        return self.wording is not None and not (self.stands_out or self.shared_word or self.is_single_wording)

    @property
    def differs_by_name(self) -> bool:
        """Whether it differs from the mean of places, and not beyond what its name does."""
        return (
            self.has_names_fixed
            and is_marked(self.shift.inference.against_mean or NO_ESTIMATE)
            and not (self.stands_out or self.is_doubted)
        )

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
        is_single, shown = self.result.wordings < 2, self.entry.shown
        largest_last = reversed(self.entry.wording_effects)
        effects = {effect.region: effect for effect in largest_last if effect.label == shown}
        contrasts = [
            Contrast(place, place.classes[shown], is_single_wording=is_single, wording=effects.get(place.id or ""))
            for place in self.entry.regions
        ]
        if self.has_invented:
            return _mark_shared_words(contrasts, self.result.settings.regions)
        return _mark_mirrors(contrasts)

    @property
    def has_invented(self) -> bool:
        return self.entry.name_effects is not None

    @property
    def reference(self) -> str:
        """What the size of a difference is against."""
        return "invented places" if self.has_invented else "the control"

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
        return self._sort_by_size([contrast for contrast in self.standing_out if contrast.value * sign > 0])

    @cached_property
    def after_one_wording(self) -> list[Contrast]:
        """Those that differ after one wording alone, the largest difference over all wordings first."""
        return self._sort_by_size([contrast for contrast in self.contrasts if contrast.needs_wording])

    def _sort_by_size(self, contrasts: Sequence[Contrast]) -> list[Contrast]:
        """The farthest first; states before territories."""
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
        estimates = [contrast.shift.inference.against_control for contrast in self.contrasts]
        marked = [_value(estimate) for estimate in estimates if is_marked(estimate)]
        same = max(sum(value > 0 for value in marked), sum(value < 0 for value in marked))
        if len(self.contrasts) < 2 or 2 * same <= len(self.contrasts):
            return None
        return float(np.mean(list(map(_value, estimates))))

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
        measures = ("against_invented", "held_fixed") if self.has_invented else ("against_control",)
        families = [
            [estimate for inference in inferences if (estimate := getattr(inference, name))]
            for name in (*measures, "against_mean")
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
        if (contrast.stands_out or contrast.is_doubted) and not stands_out:
            opposite = [k for k, other in enumerate(means) if standing_out[k] and _value(other) * _value(mean) < 0]
            if opposite:  # else nothing moved the mean away from it: it is clear by itself
                mirrored[contrast.place.id] = ordered[max(opposite, key=lambda k: abs(_value(means[k])))].place
    return [replace(contrast, mirrored=mirrored.get(contrast.place.id)) for contrast in contrasts]


def _mark_shared_words(contrasts: Sequence[Contrast], kind: str) -> list[Contrast]:
    """The same; those that would stand out, but share a word with places that differ alike, with that word.

    Alike: in the same direction, and on average at least half as far from the mean of places with names held fixed.
    """
    names = [
        contrast.place.name.split(",")[0] if kind == CITY_COUNTRY else contrast.place.name for contrast in contrasts
    ]
    values = [_value(contrast.shift.inference.held_fixed or contrast.estimate) for contrast in contrasts]
    rows: dict[str, list[int]] = {}
    for row, name in enumerate(names):
        for word in set(name.split()):
            if len(word) >= SHORTEST_WORD and word[0].isupper():
                rows.setdefault(word, []).append(row)
    marked = list(contrasts)
    for row, contrast in enumerate(contrasts):
        if contrast.stands_out or contrast.is_doubted:
            shared = {
                word: np.mean([values[k] for k in members if k != row]) / values[row]
                for word, members in rows.items()
                if row in members and len(members) > 1 and values[row]
            }
            alike = [word for word, ratio in shared.items() if ratio >= ALIKE]
            if alike:
                marked[row] = replace(contrast, shared_word=max(alike, key=lambda word: (shared[word], word)))
    return marked


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
