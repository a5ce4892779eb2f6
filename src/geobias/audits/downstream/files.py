"""The files of a downstream run: CSV tables, every prediction as Parquet, and maps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from geobias.audits.downstream.contrasts import ClassifierContrasts
from geobias.audits.downstream.result import ClassifierShifts, DownstreamResult, Predictions
from geobias.report.results import to_json
from geobias.report.runs import FinishedRun, slug
from geobias.report.tables import column_values, damaged, read_columns, write_csv

PREDICTIONS = "predictions.parquet"
WORDING = "wording"  # its column: which prefix, from 1 on
TEXTS_AT_ONCE = 20  # texts whose predictions are held while the file is written
FLIP_COLUMNS = ("classifier", "region", "name", "from", "to", "texts")  # also where nothing flips

Row = dict[str, Any]


def write_files(folder: Path, result: DownstreamResult) -> None:
    write_csv(folder / "tables" / "regions.csv", result.rows())
    write_csv(folder / "tables" / "flips.csv", _flip_rows(result), FLIP_COLUMNS)
    if any(entry.performance for entry in result.classifiers):
        write_csv(folder / "tables" / "performance.csv", _performance_rows(result))
    _write_predictions(folder / PREDICTIONS, result)
    if result.is_mapped and result.has_enough_texts:
        _write_maps(folder / "figures", result)


def _flip_rows(result: DownstreamResult) -> Iterator[Row]:
    """tables/flips.csv: which class became which; without a side where a text may have several classes or none."""
    for entry in result.classifiers:
        for place in (entry.control, *entry.regions):
            about = {"classifier": entry.model.name, "region": place.id, "name": place.name}
            yield from ({**about, **to_json(flips)} for flips in place.flips)


def _performance_rows(result: DownstreamResult) -> Iterator[Row]:
    """tables/performance.csv: how good the classifiers are, without a prefix and with."""
    for entry in result.classifiers:
        for texts, performance in vars(entry.performance).items() if entry.performance else ():
            yield {"classifier": entry.model.name, "texts": texts, **vars(performance)}


def _write_predictions(path: Path, result: DownstreamResult) -> None:
    """A row for every original text, and after every control, region and invented place: its probabilities."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    texts = result.texts
    assert texts is not None  # a result that was just measured
    controls, invented = result.settings.controls, result.settings.invented
    kinds = ["none", *["control"] * len(controls), *["region"] * len(result.places), *["invented"] * len(invented)]
    before: list[str | None] = [None] * (1 + len(controls))
    prefixes, each = pa.array(kinds), len(kinds)
    regions = pa.array([*before, *(place.id for place in result.places), *[None] * len(invented)], pa.string())
    names = pa.array([*before, *(place.name for place in result.places), *invented], pa.string())
    fixed = np.tile(np.arange(1 + len(controls)), (len(texts), 1))  # the first wording is 1
    assert result.rotation is not None
    wordings = np.concatenate([fixed, result.rotation + 1], axis=1).astype(np.int8)
    columns = [f"{answers.model.name}/{label}" for answers in result.predictions for label in answers.labels]
    keys = [(name, pa.string()) for name in ("text_id", "prefix", "region", "name")]
    schema = pa.schema([*keys, (WORDING, pa.int8()), *((column, pa.float32()) for column in dict.fromkeys(columns))])
    with pq.ParquetWriter(path, schema, compression="zstd") as writer:
        for start in range(0, len(texts), TEXTS_AT_ONCE):
            ids = pa.array(texts.ids[start : start + TEXTS_AT_ONCE])
            repeated = np.tile(np.arange(each), len(ids))
            block: Row = {"text_id": ids.take(pa.array(np.repeat(np.arange(len(ids)), each)))}
            block |= {"prefix": prefixes.take(repeated), "region": regions.take(repeated), "name": names.take(repeated)}
            rows = slice(start, start + TEXTS_AT_ONCE)
            block[WORDING] = wordings[rows].ravel()
            for answers in result.predictions:
                values = np.concatenate([part[rows] for part in _list_parts(answers)], axis=1)
                for k, label in enumerate(answers.labels):
                    block[f"{answers.model.name}/{label}"] = values[:, :, k].ravel()
            writer.write_table(pa.table(block, schema=schema))


def _write_maps(folder: Path, result: DownstreamResult) -> None:
    """Figure 4: a map for each classifier of its shown class, against the control."""
    from geobias.report.figures import save_chart, world_map  # only where a map is drawn

    names = {place.id: place.name for place in result.places}
    for n, entry in enumerate(result.classifiers, start=1):
        family = ClassifierContrasts(result, entry)
        label, classifier = entry.shown, entry.model.name
        values = {contrast.place.id or "": contrast.value for contrast in family.contrasts}
        chart = world_map(
            values,
            names,
            title=f"p({label}) by {classifier}: what the country adds to “{result.settings.prefix}”",
            subtitle=f"Mean over {result.counts.texts:,} texts. It describes the classifier, not people.",
            legend=f"mean difference of p({label}) against {family.reference}",
            centre=0,
            tone=family.tone,
        )
        stem = f"map-{slug(classifier)}-{slug(label)}"
        taken = (folder / f"{stem}.svg").exists()  # by a folder of the same last names
        save_chart(chart, folder / (f"{stem}-{n}" if taken else stem))


def _list_parts(answers: Predictions) -> list[np.ndarray]:
    """Probabilities in the order of the file: texts x prefixes x labels each."""
    controls = answers.prefixed[:, :1] if answers.controls is None else answers.controls
    parts = [answers.original[:, None], controls, answers.prefixed[:, 1:]]
    return parts if answers.invented is None else [*parts, answers.invented]


class SavedPredictions(NamedTuple):
    """The probabilities of one classifier, all texts x regions x labels."""

    original: np.ndarray
    """Without a prefix, the same for all regions."""
    control: np.ndarray
    """After the control of the wording that the text has with the region."""
    regions: np.ndarray


def read_predictions(
    run: FinishedRun[DownstreamResult], entry: ClassifierShifts, labels: Sequence[str]
) -> SavedPredictions:
    columns = [f"{entry.model.name}/{label}" for label in labels]
    path = run.folder / PREDICTIONS
    counts, settings = run.result.counts, run.result.settings
    controls = max(1, len(settings.controls))  # runs of earlier versions had one, and no column of wordings
    wanted = [*columns, WORDING] if settings.controls else columns
    values = column_values(read_columns(path, wanted), wanted)
    shape = (counts.texts, 1 + controls + counts.regions + len(settings.invented), len(wanted))
    if values.size != np.prod(shape):
        raise damaged(path)
    values = values.reshape(shape)
    probabilities, last = values[..., : len(labels)], 1 + controls + counts.regions
    regions = probabilities[:, 1 + controls : last]
    wording = np.zeros(regions.shape[:2], dtype=np.intp)
    if settings.controls:
        wording = values[:, 1 + controls : last, -1].astype(np.intp) - 1
    control = np.take_along_axis(probabilities[:, 1 : 1 + controls], wording[:, :, None], axis=1)
    return SavedPredictions(np.broadcast_to(probabilities[:, :1], regions.shape), control, regions)
