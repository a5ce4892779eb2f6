"""The probabilities of classifiers for every text and prefix: in memory, in answers.parquet, and as examples."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from geobias.audits.labels import ReadAnswers
from geobias.measures.change import predict_classes
from geobias.report import saved_answers
from geobias.report.findings import MOST_EXAMPLES, ExampleText
from geobias.report.saved_answers import CONTROL, INVENTED, ORIGINAL, PLACE, read_answers, reshape_answers
from geobias.world.places import put_place

if TYPE_CHECKING:
    from geobias.audits.downstream.result import DownstreamResult

TEXTS_AT_ONCE = 20  # texts whose predictions are held while the file is written


@dataclass(frozen=True)
class Place:
    """A place that texts are said to come from."""

    id: str
    name: str
    country: str  # code
    in_sentence: str  # as the prefix names it


@dataclass(frozen=True, kw_only=True)
class Predictions(ReadAnswers):
    """The probabilities of one classifier for every text, without a prefix and with each."""

    shown: int  # position of the class that the terminal and the map show
    controls: np.ndarray = field(repr=False)  # texts x wordings x labels
    places: np.ndarray = field(repr=False)  # texts x places x labels
    invented: np.ndarray = field(repr=False)  # texts x invented places x labels
    rotation: np.ndarray = field(repr=False)  # texts x (places, then invented places): which wording, from 0

    @property
    def mean_control(self) -> np.ndarray:
        """texts x labels."""
        return np.asarray(self.controls.mean(axis=1, dtype=np.float64).astype(np.float32))

    @property
    def prefixed(self) -> np.ndarray:
        """texts x (the mean control, then places) x labels."""
        return np.concatenate([self.mean_control[:, None], self.places], axis=1)

    @property
    def control_of_places(self) -> np.ndarray:
        """texts x places x labels: after the control of the wording that the text has with the place."""
        rotation = self.rotation[:, : self.places.shape[1], None]
        return np.take_along_axis(self.controls, rotation.astype(np.intp), axis=1)


def write_answers(folder: Path, result: DownstreamResult) -> None:
    """A row for every original text, and after every control, place and invented place: its probabilities."""
    columns = [f"{answers.model.name}/{label}" for answers in result.predictions for label in answers.labels]
    saved_answers.write_answers(folder, _list_blocks(result), list(dict.fromkeys(columns)))


def _list_blocks(result: DownstreamResult) -> Iterator[dict[str, Any]]:
    texts, settings, places = result.texts, result.settings, result.places
    assert texts is not None  # a result that was just measured
    controls, invented = settings.controls, settings.invented
    variants = [ORIGINAL, *[CONTROL] * len(controls), *[PLACE] * len(places), *[INVENTED] * len(invented)]
    codes = [*[None] * (1 + len(controls)), *(place.id for place in places), *[None] * len(invented)]
    names = [None, *controls, *(place.name for place in places), *invented]
    fixed = np.arange(1 + len(controls))
    for start in range(0, len(texts), TEXTS_AT_ONCE):
        rows = slice(start, start + TEXTS_AT_ONCE)
        ids = texts.ids[rows]
        block: dict[str, Any] = {"text_id": np.repeat(np.array(ids, dtype=object), len(variants))}
        block |= {key: values * len(ids) for key, values in (("variant", variants), ("place", codes), ("name", names))}
        rotation = result.predictions[0].rotation[rows]
        block["draw"] = np.concatenate([np.tile(fixed, (len(ids), 1)), rotation + 1], axis=1).ravel()
        for answers in result.predictions:
            parts = answers.original[:, None], answers.controls, answers.places, answers.invented
            values = np.concatenate([part[rows] for part in parts], axis=1)
            for k, label in enumerate(answers.labels):
                block[f"{answers.model.name}/{label}"] = values[:, :, k].ravel()
        yield block


def read_differences(
    folder: Path, result: DownstreamResult, model: str, labels: Sequence[str]
) -> dict[str, np.ndarray]:
    """texts x places x labels: how far each place lies from the original text, and from the control of its wording."""
    answers = read_answers(folder, [f"{model}/{label}" for label in labels])
    texts, places = result.counts.texts, result.counts.places
    named = answers.select(PLACE)
    values = reshape_answers(folder, named, texts, places)
    original = reshape_answers(folder, answers.select(ORIGINAL), texts, 1)
    controls = reshape_answers(folder, answers.select(CONTROL), texts, len(result.settings.controls))
    wording = named.keys["draw"].reshape(texts, places, 1) - 1
    return {
        "mean_difference": values - original,
        "against_control": values - np.take_along_axis(controls, wording.astype(np.intp), axis=1),
    }


def write_prefix(result: DownstreamResult, in_sentence: str, wording: int = 0) -> str:
    return put_place(result.settings.prefixes[wording], in_sentence)


def list_examples(
    result: DownstreamResult, model: str, code: str | None, in_sentence: str, only: int | None = None
) -> list[ExampleText]:
    """Texts after the control and after the place: changed predictions first, then those nearest the mean difference.

    Only texts that move as the mean does are typical; with `only`, those with this wording (from 0). Nothing for a
    result that was read from a file.
    """
    answers = next((each for each in result.predictions if each.model.name == model), None)
    if answers is None or result.texts is None:
        return []
    position, label = [place.id for place in result.places].index(code or ""), answers.shown
    control, prefixed = answers.control_of_places[:, position], answers.places[:, position]
    wording = answers.rotation[:, position].astype(np.intp)
    before, after = control[:, label], prefixed[:, label]
    verdicts = [predict_classes(each, answers.threshold)[:, label] for each in (control, prefixed)]
    differences = after - before
    mean = differences.mean()
    is_typical = (differences * mean > 0) & (True if only is None else wording == only)
    order = np.lexsort((np.abs(differences - mean), verdicts[0] == verdicts[1]))
    controls, texts = result.settings.controls, result.texts
    prefixes = [write_prefix(result, in_sentence, k) for k in range(len(result.settings.prefixes))]
    return [
        ExampleText(
            text_id=texts.ids[row],
            original=f"{controls[wording[row]]} {texts.texts[row]}",
            changed=f"{prefixes[wording[row]]} {texts.texts[row]}",
            label=answers.labels[label],
            before=float(before[row]),
            after=float(after[row]),
            original_names=[controls[wording[row]]],
            changed_names=[prefixes[wording[row]]],
        )
        for row in order[is_typical[order]][:MOST_EXAMPLES]
    ]
