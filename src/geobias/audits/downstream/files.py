"""The files of a downstream run: CSV tables, every prediction as Parquet, and maps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from geobias.audits.downstream.contrasts import ClassifierContrasts
from geobias.audits.downstream.result import ClassifierShifts, DownstreamResult
from geobias.report.parquet import column_values, damaged, read_columns
from geobias.report.results import to_json
from geobias.report.runs import FinishedRun, slug
from geobias.report.tables import write_csv

PREDICTIONS = "predictions.parquet"
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
    """A row for every original text, with the control's prefix, and with every region's: its probabilities."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    texts = result.texts
    assert texts is not None  # a result that was just measured
    prefixes = pa.array(["none", "control", *("region" for _ in result.places)])
    regions = pa.array([None, None, *(place.id for place in result.places)], pa.string())
    names = pa.array([None, None, *(place.name for place in result.places)], pa.string())
    each = len(prefixes)
    columns = [f"{answers.model.name}/{label}" for answers in result.predictions for label in answers.labels]
    keys = [(name, pa.string()) for name in ("text_id", "prefix", "region", "name")]
    schema = pa.schema([*keys, *((column, pa.float32()) for column in dict.fromkeys(columns))])
    with pq.ParquetWriter(path, schema, compression="zstd") as writer:
        for start in range(0, len(texts), TEXTS_AT_ONCE):
            ids = pa.array(texts.ids[start : start + TEXTS_AT_ONCE])
            repeated = np.tile(np.arange(each), len(ids))
            block: Row = {"text_id": ids.take(pa.array(np.repeat(np.arange(len(ids)), each)))}
            block |= {"prefix": prefixes.take(repeated), "region": regions.take(repeated), "name": names.take(repeated)}
            rows = slice(start, start + TEXTS_AT_ONCE)
            for answers in result.predictions:
                values = np.concatenate([answers.original[rows, None], answers.prefixed[rows]], axis=1)
                for k, label in enumerate(answers.labels):
                    block[f"{answers.model.name}/{label}"] = values[:, :, k].ravel()
            writer.write_table(pa.table(block, schema=schema))


def _write_maps(folder: Path, result: DownstreamResult) -> None:
    """Figure 4: a map for each classifier of its shown class, against the control."""
    from geobias.report.figures import save_chart, world_map  # only where a map is drawn

    names = {place.id: place.name for place in result.places}
    for n, entry in enumerate(result.classifiers, start=1):
        tone = ClassifierContrasts(result, entry).tone
        label, classifier = entry.shown, entry.model.name
        values = {place.id or "": place.classes[label].against_control or 0.0 for place in entry.regions}
        chart = world_map(
            values,
            names,
            title=f"p({label}) by {classifier}: what the country adds to “{result.settings.prefix}”",
            subtitle=f"Mean over {result.counts.texts:,} texts. It describes the classifier, not people. "
            f"The control, which names no country: “{result.settings.control}”",
            legend=f"mean difference of p({label}) against the control",
            centre=0,
            tone=tone,
        )
        stem = f"map-{slug(classifier)}-{slug(label)}"
        taken = (folder / f"{stem}.svg").exists()  # by a folder of the same last names
        save_chart(chart, folder / (f"{stem}-{n}" if taken else stem))


def read_predictions(run: FinishedRun[DownstreamResult], entry: ClassifierShifts, labels: Sequence[str]) -> np.ndarray:
    """The probabilities of one classifier: texts x (no prefix, the control, then each region) x labels."""
    columns = [f"{entry.model.name}/{label}" for label in labels]
    path = run.folder / PREDICTIONS
    values = column_values(read_columns(path, columns), columns)
    counts = run.result.counts
    shape = (counts.texts, 2 + counts.regions, len(labels))
    if values.size != np.prod(shape):
        raise damaged(path)
    return values.reshape(shape)
