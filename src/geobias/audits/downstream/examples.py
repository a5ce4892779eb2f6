"""Typical texts behind a finding, from the probabilities in memory."""

from __future__ import annotations

import numpy as np

from geobias.audits.downstream.result import ClassifierShifts, DownstreamResult, PlaceShift
from geobias.measures.change import predict_classes
from geobias.report.findings import MOST_EXAMPLES, ExampleText
from geobias.texts.templates import REGION


def list_examples(result: DownstreamResult, entry: ClassifierShifts, place: PlaceShift) -> list[ExampleText]:
    """Texts after the control and after the place: changed predictions first, then those nearest the mean difference.

    Only texts that move as the mean does are typical. Nothing for a result that was read from a file.
    """
    answers = next((each for each in result.predictions if each.model == entry.model), None)
    if answers is None or result.texts is None:
        return []
    position = 1 + [each.id for each in result.places].index(place.id or "")
    control, prefixed, label = answers.prefixed[:, 0], answers.prefixed[:, position], answers.shown
    before, after = control[:, label], prefixed[:, label]
    verdicts = [predict_classes(each, answers.threshold)[:, label] for each in (control, prefixed)]
    differences = after - before
    mean = differences.mean()
    is_typical = differences * mean > 0
    order = np.lexsort((np.abs(differences - mean), verdicts[0] == verdicts[1]))
    prefix = result.settings.prefix.replace(REGION, place.name)
    return [
        ExampleText(
            text_id=result.texts.ids[row],
            original=f"{result.settings.control} {result.texts.texts[row]}",
            changed=f"{prefix} {result.texts.texts[row]}",
            label=entry.shown,
            before=float(before[row]),
            after=float(after[row]),
            original_names=[result.settings.control],
            changed_names=[prefix],
        )
        for row in order[is_typical[order]][:MOST_EXAMPLES]
    ]
