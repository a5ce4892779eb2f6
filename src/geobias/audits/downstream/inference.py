"""Every comparison of a place, with intervals and tests over texts and wordings.

| comparison | with | wordings |
|---|---|---|
| mean_difference | the text without a prefix | random |
| against_control | the control of the same wording | random, of prefixes and controls |
| against_mean | the mean of places after the same wording and text (`rotated_wordings.py`) | random |
| against_invented, held_fixed | invented places and the mean of places, names held fixed (`name_line.py`) | random |
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from geobias.audits.downstream.design import DownstreamDesign
from geobias.audits.downstream.records import NameEffects
from geobias.audits.downstream.result import Predictions
from geobias.measures.bootstrap import bootstrap_means
from geobias.measures.estimates import Estimates, benjamini_hochberg
from geobias.measures.name_line import BeyondNames, compare_beyond_names, describe_names
from geobias.measures.rotated_wordings import (
    add_variance,
    estimate_reference_variance,
    estimate_wording_variance,
    remove_wordings,
)
from geobias.measures.shift import ROUNDING


class PlaceInference(NamedTuple):
    """Estimates of places x labels; those of names are None without invented places or with too few texts."""

    mean_difference: Estimates
    """Of the control first."""
    against_control: Estimates
    against_mean: Estimates
    against_invented: Estimates | None
    held_fixed: Estimates | None
    name_effects: dict[str, NameEffects] | None


class _Label(NamedTuple):
    """One class: the places' values for each text, without wordings, and what is not sampled by texts."""

    from_mean: np.ndarray  # texts x places
    wordings: float  # the variance that they add to a place's mean, as a sample of all wordings
    controls: float  # to its difference from the controls
    originals: float  # to its difference from the texts without a prefix
    beyond: BeyondNames | None


def infer_places(design: DownstreamDesign, answers: Predictions) -> PlaceInference:
    """All comparisons of all places and classes; each comparison is one family of tests."""
    parts = [_infer_label(design, answers, k) for k in range(len(answers.labels))]
    wordings = max(1, design.controls)
    contrasts = np.stack([part.from_mean for part in parts], axis=2)
    contrasts[np.abs(contrasts) < ROUNDING] = 0  # else places with equal answers differ by rounding, and clearly so
    of_wordings, of_controls, of_prefixes = (
        np.array([getattr(part, name) for part in parts]) for name in ("wordings", "controls", "originals")
    )
    from_originals, from_controls, from_mean = (
        add_variance(bootstrap_means(values), values, of_wordings + common, common**2 / max(1, wordings - 1))
        for values, common in (
            (answers.prefixed - answers.original[:, None], of_prefixes),
            (differences_from_control(design, answers), of_controls),
            (contrasts, np.zeros(len(parts))),
        )
    )
    beyond = [part.beyond for part in parts if part.beyond is not None]
    if len(beyond) < len(parts):
        return PlaceInference(from_originals, from_controls, from_mean, None, None, None)
    names = describe_names(design.names_in_sentence, answers.name_tokens)[0]
    effects = {
        label: NameEffects(
            {name: _adjust([part.slopes]).at(k, 0) for k, name in enumerate(names)},
            part.spread,
            part.explained,
            float(np.sqrt(variance * wordings)),
        )
        for label, part, variance in zip(answers.labels, beyond, of_wordings, strict=True)
    }
    return PlaceInference(
        from_originals,
        from_controls,
        from_mean,
        _adjust([part.from_invented for part in beyond]),
        _adjust([part.from_mean for part in beyond]),
        effects,
    )


def differences_from_control(design: DownstreamDesign, answers: Predictions) -> np.ndarray:
    """texts x places x labels: minus the control of the same wording before the same text."""
    places = answers.prefixed[:, 1:]
    if answers.controls is None:
        return places - answers.prefixed[:, :1]
    rotation = design.rotation[:, : places.shape[1]]
    return places - np.take_along_axis(answers.controls, rotation[:, :, None].astype(np.intp), axis=1)


def _infer_label(design: DownstreamDesign, answers: Predictions, label: int) -> _Label:
    texts, places = len(answers.original), answers.prefixed.shape[1] - 1
    values = answers.prefixed[:, 1:, label]
    if answers.invented is not None:
        values = np.concatenate([values, answers.invented[:, :, label]], axis=1)
    rotation = design.rotation[:, : values.shape[1]]
    remaining = remove_wordings(values, rotation)
    from_mean = remaining[:, :places] - remaining[:, :places].mean(axis=1, keepdims=True)
    wordings = int(rotation.max()) + 1
    variances = [estimate_wording_variance(remaining, rotation), 0.0, 0.0]
    if answers.controls is not None:
        without_prefix = np.repeat(answers.original[:, label, None], answers.controls.shape[1], axis=1)
        for k, reference in enumerate((answers.controls[:, :, label], without_prefix), 1):
            variances[k] = estimate_reference_variance(reference, values, remaining, rotation)
    beyond = None
    if answers.invented is not None and texts > 1:
        names = design.names_in_sentence
        effects = np.where(np.abs(mean := remaining.mean(axis=0)) < ROUNDING, 0, mean)
        text_variance = remaining.var(axis=0, ddof=1) / texts
        beyond = compare_beyond_names(effects, text_variance, describe_names(names, answers.name_tokens)[1], places)
    of_wordings, of_controls, of_originals = (variance / wordings for variance in variances)
    return _Label(from_mean, of_wordings, of_controls, of_originals, beyond)


def _adjust(by_label: list[Estimates]) -> Estimates:
    """places x labels: one family of tests."""
    value, low, high, p = (
        np.stack([getattr(each, name) for each in by_label], axis=1) for name in ("value", "low", "high", "p")
    )
    return Estimates(value, low, high, p, benjamini_hochberg(p))
