"""The texts behind a finding: after a place and after the control of the same wording."""

from __future__ import annotations

import numpy as np

from geobias.audits.downstream.result import ClassifierShifts, DownstreamResult, PlaceShift
from geobias.measures.change import predict_classes
from geobias.report.findings import MOST_EXAMPLES, ExampleText
from geobias.world.places import put_place


def write_prefix(result: DownstreamResult, place: PlaceShift, wording: int = 0) -> str:
    prefixes = result.settings.prefixes or [result.settings.prefix]
    return put_place(prefixes[wording], place.in_sentence or place.name)


def list_examples(
    result: DownstreamResult, entry: ClassifierShifts, place: PlaceShift, only: int | None = None
) -> list[ExampleText]:
    """Texts after the control and after the place: changed predictions first, then those nearest the mean difference.

    Only texts that move as the mean does are typical; with `only`, those with this wording (from 0). Nothing for a
    result that was read from a file.
    """
    answers = next((each for each in result.predictions if each.model == entry.model), None)
    if answers is None or result.texts is None:
        return []
    position = 1 + [each.id for each in result.places].index(place.id or "")
    prefixed, label = answers.prefixed[:, position], answers.shown
    wording = np.zeros(len(prefixed), dtype=np.intp)
    if result.rotation is not None:
        wording = result.rotation[:, position - 1].astype(np.intp)
    control = answers.prefixed[:, 0]
    if answers.controls is not None:
        control = answers.controls[np.arange(len(wording)), wording]
    before, after = control[:, label], prefixed[:, label]
    verdicts = [predict_classes(each, answers.threshold)[:, label] for each in (control, prefixed)]
    differences = after - before
    mean = differences.mean()
    is_typical = (differences * mean > 0) & (True if only is None else wording == only)
    order = np.lexsort((np.abs(differences - mean), verdicts[0] == verdicts[1]))
    prefixes = [write_prefix(result, place, k) for k in range(len(result.settings.prefixes) or 1)]
    controls = result.settings.controls or [result.settings.control]
    return [
        ExampleText(
            text_id=result.texts.ids[row],
            original=f"{controls[wording[row]]} {result.texts.texts[row]}",
            changed=f"{prefixes[wording[row]]} {result.texts.texts[row]}",
            label=entry.shown,
            before=float(before[row]),
            after=float(after[row]),
            original_names=[controls[wording[row]]],
            changed_names=[prefixes[wording[row]]],
        )
        for row in order[is_typical[order]][:MOST_EXAMPLES]
    ]
