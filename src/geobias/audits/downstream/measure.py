"""From the classifiers' probabilities to every number of a downstream audit.

A sentence before a text changes it, and so do the length, the spelling and the words of a name. So a place stands out
only if it differs, in the same direction, from the mean of all places, from invented places whose names are as long,
and from the mean of places with the length of names held fixed. Its adjusted p-value is the largest of the three (an
intersection-union test), and 1 if they point in opposite directions. None of them depends on the wording of a control.
It is no smaller than 0.05, so at most suggestive, where another reason is as good: places that share a word differ
alike ("United"), there was one wording, or the place differs after one wording alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from typing import NamedTuple

import numpy as np
from scipy import stats

from geobias.audits.doubts import list_constant_answers
from geobias.audits.downstream.answers import Predictions
from geobias.audits.downstream.design import DownstreamDesign
from geobias.audits.downstream.inference import PlaceInference, infer_places
from geobias.audits.downstream.result import (
    ClassifierReading,
    DownstreamCounts,
    DownstreamResult,
    Performance,
    PrefixEffect,
)
from geobias.audits.labels import find_label_tones, is_emotion
from geobias.measures.change import Shift, performance, shift
from geobias.measures.estimates import SIGNIFICANT, Estimate, Estimates, t_quantile
from geobias.report.results import number
from geobias.report.rows import Farthest

POWER = 0.8
CITY_COUNTRY = "city-country"  # the country is in the name on purpose
SHORTEST_WORD = 3  # letters of a word that places may share: not "of"
ALIKE = 0.5


def measure_downstream(design: DownstreamDesign, predictions: tuple[Predictions, ...]) -> DownstreamResult:
    work: Counter[str] = Counter()
    for answers in predictions:
        work.update(answers.work)
    shifts = [shift(answers.original, answers.prefixed, answers.threshold) for answers in predictions]
    inferences = [infer_places(design, answers) for answers in predictions]
    result = DownstreamResult(
        settings=design.settings_for([answers.model.name for answers in predictions]),
        models=[answers.model for answers in predictions],
        counts=DownstreamCounts.count(
            design.texts,
            places=len(design.places),
            countries_without_city=list(design.selection.without_city),
            dissolved_countries=list(design.selection.dissolved),
        ),
        classifiers=[],
        effects=[
            row for each in zip(predictions, shifts, inferences, strict=True) for row in _list_effects(design, *each)
        ],
        wording_effects=[effect for inference in inferences for effect in inference.wording_effects],
        name_traits=[trait for inference in inferences for trait in inference.name_traits],
        farthest=[
            row
            for answers, inference in zip(predictions, inferences, strict=True)
            for row in _list_farthest(design, answers, inference)
        ],
        performance=[row for answers in predictions for row in _measure_performance(answers)],
        constant_answers=list_constant_answers(
            {answers.model.name: (answers.original, answers.prefixed) for answers in predictions}
        ),
        language_doubts=design.language_doubts,
        work=dict(work),
        texts=design.texts,
        places=design.places,
        predictions=predictions,
    )
    return replace(result, classifiers=[_describe_reading(answers, result) for answers in predictions])


def _describe_reading(answers: Predictions, result: DownstreamResult) -> ClassifierReading:
    labels = list(answers.labels)
    positive, negative = find_label_tones(answers.model.name, labels, (), ())
    tone = (answers.shown in positive) - (answers.shown in negative)
    shown = labels[answers.shown]
    tests = count_tests(len(result.places), len(labels), multi_label=answers.multi_label)
    return ClassifierReading(
        **answers.describe(),
        shown=shown,
        tone=0 if any(map(is_emotion, labels)) else tone,
        detectable_difference=_find_detectable(
            result.list_effects(answers.model.name, shown), tests, len(answers.original)
        ),
    )


def count_tests(places: int, labels: int, *, multi_label: bool) -> int:
    """Tests of one family: the places and the control by class; the second of two classes mirrors the first."""
    return (places + 1) * (1 if labels == 2 and not multi_label else labels)


def _find_detectable(effects: Sequence[PrefixEffect], tests: int, texts: int) -> float | None:
    """The smallest difference of one place that stands out with a power of 80 %, for the median standard error."""
    if texts < 2:
        return None
    kinds = ("against_invented", "names_held_fixed", "against_mean")
    half_width = max(_find_median_half_width([getattr(effect, kind) for effect in effects]) for kind in kinds)
    error = half_width / float(t_quantile(texts - 1))
    return float(stats.t.isf(SIGNIFICANT / 2 / tests, texts - 1) + stats.t.ppf(POWER, texts - 1)) * error


def _find_median_half_width(estimates: Sequence[Estimate | None]) -> float:
    widths = [each.high - each.low for each in estimates if each and each.low is not None and each.high is not None]
    return float(np.median(widths)) / 2 if widths else 0.0


def _list_effects(
    design: DownstreamDesign, answers: Predictions, moved: Shift, inference: PlaceInference
) -> Iterator[PrefixEffect]:
    """The control, then every place: what it does to each class."""
    is_compared = len(design.places) > 1
    before, after = answers.original.mean(axis=0, dtype=float), answers.prefixed.mean(axis=0, dtype=float)
    by_label = [decide(design, inference, label, k) for k, label in enumerate(answers.labels)]
    for i, place in enumerate((None, *design.places)):
        for k, label in enumerate(answers.labels):
            verdict = by_label[k][i - 1] if place else Verdict(None, None, None)
            yield PrefixEffect(
                model=answers.model.name,
                place=place.name if place else design.control,
                code=place.id if place else None,
                country=place.country if place else None,
                in_sentence=place.in_sentence if place else None,
                label=label,
                **verdict._asdict(),
                against_control=inference.against_control.at(i - 1, k) if place else None,
                against_invented=_get(inference.against_invented, i - 1, k) if place else None,
                against_mean=inference.against_mean.at(i - 1, k) if place and is_compared else None,
                names_held_fixed=_get(inference.names_held_fixed, i - 1, k) if place else None,
                mean_difference=inference.mean_difference.at(i, k),
                mean_before=float(before[k]),
                mean_after=float(after[i, k]),
                gained=int(moved.gained[i, k]),
                lost=int(moved.lost[i, k]),
            )


def _get(estimates: Estimates | None, i: int, k: int) -> Estimate | None:
    return None if estimates is None else estimates.at(i, k)


class Verdict(NamedTuple):
    """What the tests of a place say together."""

    p_all_tests: float | None
    p_adjusted: float | None
    """At least 0.05 where another reason is as good."""
    shared_word: str | None


def decide(design: DownstreamDesign, inference: PlaceInference, label: str, k: int) -> list[Verdict]:
    """Whether each place stands out in a class."""
    places, invented, fixed = design.places, inference.against_invented, inference.names_held_fixed
    if invented is None or fixed is None:
        return [Verdict(None, None, None)] * len(places)
    tests = [invented, fixed, *([inference.against_mean] if len(places) > 1 else [])]
    p_values = [_join_tests([each.at(i, k) for each in tests]) for i in range(len(places))]
    values = np.nan_to_num(fixed.value[:, k])
    words = _find_shared_words(design, values, [p is not None and p < SIGNIFICANT for p in p_values])
    largest_last = reversed([effect for effect in inference.wording_effects if effect.label == label])
    by_place = {effect.code: effect for effect in largest_last}
    lonely = {
        code
        for code, effect in by_place.items()
        if not effect.also and effect.others / (effect.estimate.value or 1.0) < ALIKE
    }
    verdicts = []
    for place, p, word in zip(places, p_values, words, strict=True):
        is_doubtful = word is not None or design.has_single_wording or place.id in lonely
        verdicts.append(Verdict(p, p if p is None or not is_doubtful else max(p, SIGNIFICANT), word))
    return verdicts


def _join_tests(estimates: Sequence[Estimate]) -> float | None:
    """The largest p-value: all must be clear, and in one direction."""
    first = estimates[0]
    known = [each for each in estimates if each.value is not None]
    p_values = [each.p_adjusted for each in known]
    if first.p_adjusted is None or None in p_values:
        return first.p_adjusted
    if any((first.value or 0.0) * (each.value or 0.0) <= 0 for each in known[1:]):
        return 1.0
    return max(p for p in p_values if p is not None)


def _find_shared_words(design: DownstreamDesign, values: np.ndarray, is_clear: Sequence[bool]) -> list[str | None]:
    """For each clear place a word of its name that it shares with places that differ alike, or None.

    Alike: in the same direction, and on average at least half as far from the mean of places with names held fixed.
    """
    in_country = design.settings.regions == CITY_COUNTRY
    names = [place.name.split(",")[0] if in_country else place.name for place in design.places]
    rows: dict[str, list[int]] = {}
    for row, name in enumerate(names):
        for word in set(name.split()):
            if len(word) >= SHORTEST_WORD and word[0].isupper():
                rows.setdefault(word, []).append(row)
    found: list[str | None] = []
    for row, name in enumerate(names):
        shared = {
            word: float(np.mean([values[k] for k in rows[word] if k != row]) / values[row])
            for word in set(name.split()) & rows.keys()
            if is_clear[row] and len(rows[word]) > 1 and values[row]
        }
        alike = [word for word, ratio in shared.items() if ratio >= ALIKE]
        found.append(max(alike, key=lambda word: (shared[word], word)) if alike else None)
    return found


def _list_farthest(design: DownstreamDesign, answers: Predictions, inference: PlaceInference) -> Iterator[Farthest]:
    for label, (value, low, high, row) in zip(answers.labels, inference.farthest, strict=False):
        bounds = {"low": number(np.float64(low)), "high": number(np.float64(high))}
        place = design.places[row]
        yield Farthest(model=answers.model.name, label=label, place=place.name, code=place.id, value=value, **bounds)


def _measure_performance(answers: Predictions) -> Iterator[Performance]:
    if answers.truth is None:
        return
    parts = {"original": answers.original, "control": answers.mean_control, "places": answers.places}
    for prefix, probabilities in parts.items():
        by_text = probabilities.reshape(len(answers.original), -1, len(answers.labels))
        values = asdict(performance(answers.truth, by_text, answers.threshold))
        yield Performance(answers.model.name, prefix, **{key: number(np.float64(each)) for key, each in values.items()})
