"""Every comparison of a place, with intervals and tests over texts and wordings.

| comparison | with | wordings |
|---|---|---|
| mean_difference | the text without a prefix | random |
| against_control | the control of the same wording | random, of prefixes and controls |
| against_mean | the mean of places after the same wording and text (`prefix_effects.py`) | random |
| against_invented, names_held_fixed | invented places; the mean of places, names held fixed | random |
| wording_effects | both of these | each by itself |
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from geobias.audits.downstream.answers import Predictions
from geobias.audits.downstream.design import DownstreamDesign
from geobias.audits.downstream.result import NameTrait, WordingEffect
from geobias.measures.change import ROUNDING
from geobias.measures.estimates import (
    FEWEST_TEXTS_SHOWN,
    SIGNIFICANT,
    Estimates,
    LargestEffect,
    benjamini_hochberg,
    bootstrap_means,
)
from geobias.measures.prefix_effects import (
    BeyondNames,
    add_variance,
    compare_beyond_names,
    describe_names,
    estimate_reference_variance,
    estimate_within_wordings,
    estimate_wording_variance,
    remove_wordings,
)


class PlaceInference(NamedTuple):
    """Estimates of places x labels; those of names are None for a single text."""

    mean_difference: Estimates
    """Of the control first."""
    against_control: Estimates
    against_mean: Estimates
    against_invented: Estimates | None
    names_held_fixed: Estimates | None
    name_traits: list[NameTrait]
    farthest: list[LargestEffect]
    """The place farthest from invented places, of each label."""
    wording_effects: list[WordingEffect]


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
            (answers.places - answers.control_of_places, of_controls),
            (contrasts, np.zeros(len(parts))),
        )
    )
    beyond = [part.beyond for part in parts if part.beyond is not None]
    if len(beyond) < len(parts):
        return PlaceInference(from_originals, from_controls, from_mean, None, None, [], [], [])
    traits = describe_names(design.names_in_sentence, answers.name_tokens)[0]
    return PlaceInference(
        from_originals,
        from_controls,
        from_mean,
        _adjust([part.from_invented for part in beyond]),
        _adjust([part.from_mean for part in beyond]),
        [
            NameTrait(
                model=answers.model.name,
                label=label,
                trait=trait,
                slope=_adjust([part.slopes]).at(k, 0),
                explained=part.explained,
                spread=part.spread,
            )
            for label, part in zip(answers.labels, beyond, strict=True)
            for k, trait in enumerate(traits)
        ],
        [part.farthest for part in beyond],
        _list_wording_effects(design, answers),
    )


def _infer_label(design: DownstreamDesign, answers: Predictions, label: int) -> _Label:
    texts, places, _ = answers.places.shape
    values, rotation = _join_invented(answers, label), answers.rotation
    remaining = remove_wordings(values, rotation)
    from_mean = remaining[:, :places] - remaining[:, :places].mean(axis=1, keepdims=True)
    wordings = int(rotation.max()) + 1
    without_prefix = np.repeat(answers.original[:, label, None], answers.controls.shape[1], axis=1)
    references = answers.controls[:, :, label], without_prefix
    variances = [
        estimate_wording_variance(remaining, rotation),
        *(estimate_reference_variance(reference, values, remaining, rotation) for reference in references),
    ]
    beyond = None
    if texts > 1:
        names = design.names_in_sentence
        effects = np.where(np.abs(mean := remaining.mean(axis=0)) < ROUNDING, 0, mean)
        text_variance = remaining.var(axis=0, ddof=1) / texts
        beyond = compare_beyond_names(effects, text_variance, describe_names(names, answers.name_tokens)[1], places)
    of_wordings, of_controls, of_originals = (variance / wordings for variance in variances)
    return _Label(from_mean, of_wordings, of_controls, of_originals, beyond)


def _join_invented(answers: Predictions, label: int) -> np.ndarray:
    return np.concatenate([answers.places[:, :, label], answers.invented[:, :, label]], axis=1)


def _list_wording_effects(design: DownstreamDesign, answers: Predictions) -> list[WordingEffect]:
    """The cells place x wording that differ, in one direction, from invented places and from the mean of places.

    Names are held fixed, and p-values are adjusted over all cells. Few texts meet a cell, so that the variance is that
    of all invented places after the same wording (`prefix_effects.py`). A model that reacts to one sentence alone is so
    found, which three wordings together cannot tell from wordings that differ.
    """
    rotation, real = answers.rotation, len(design.places)
    wordings = int(rotation.max()) + 1
    fewest = min(int((rotation == k).sum(axis=0).min()) for k in range(wordings))
    if wordings < 2 or fewest < FEWEST_TEXTS_SHOWN:
        return []
    traits = describe_names(design.names_in_sentence, answers.name_tokens)[1]
    by_cell: list[Estimates] = []  # labels x wordings
    for label in range(len(answers.labels)):
        within = estimate_within_wordings(_join_invented(answers, label), rotation)
        for effects, variances in zip(within.effects, within.variances, strict=True):
            effects = np.where(np.abs(effects) < ROUNDING, 0, effects)
            beyond = compare_beyond_names(effects, variances, traits, real)
            if beyond is None:
                return []
            is_same = beyond.from_invented.value * beyond.from_mean.value > 0
            p = np.where(is_same, np.maximum(beyond.from_invented.p, beyond.from_mean.p), 1.0)
            by_cell.append(replace(beyond.from_invented, p=p))
    p_adjusted = benjamini_hochberg(np.stack([each.p for each in by_cell]))
    value = np.stack([each.value for each in by_cell])
    found = []
    for cell, row in sorted(np.argwhere(p_adjusted < SIGNIFICANT).tolist(), key=lambda at: -abs(value[tuple(at)])):
        label, wording = divmod(cell, wordings)
        others = [label * wordings + k for k in range(wordings) if k != wording]
        found.append(
            WordingEffect(
                model=answers.model.name,
                place=design.places[row].name,
                code=design.places[row].id,
                label=answers.labels[label],
                wording=wording + 1,
                texts=int((rotation[:, row] == wording).sum()),
                estimate=replace(by_cell[cell], p_adjusted=p_adjusted[cell]).at(row),
                others=float(value[others, row].mean()),
                also=[
                    other % wordings + 1
                    for other in others
                    if p_adjusted[other, row] < SIGNIFICANT and value[other, row] * value[cell, row] > 0
                ],
            )
        )
    return found


def _adjust(by_label: list[Estimates]) -> Estimates:
    """places x labels: one family of tests."""
    value, low, high, p = (
        np.stack([getattr(each, name) for each in by_label], axis=1) for name in ("value", "low", "high", "p")
    )
    return Estimates(value, low, high, p, benjamini_hochberg(p))
