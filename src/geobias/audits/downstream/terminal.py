"""The downstream audit as a person sees it: the files of its run, its maps, and its tables on the terminal."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from rich.table import Table

from geobias.audits.downstream.result import DownstreamResult
from geobias.report.runs import slug
from geobias.report.tables import NOTHING, interval, marked, signed, titled_table, write_csv

PREDICTIONS = "predictions.parquet"
TEXTS_AT_ONCE = 20  # texts whose predictions are held while the file is written
MOST_ROWS = 24  # with more regions the terminal shows both ends of the list; the files have all
ENDS_SHOWN = 8
FLIP_COLUMNS = ("classifier", "region", "name", "from", "to", "texts")  # also where nothing flips
AGAINST = "against\ncontrol"
WIDE = 104
WIDE_COLUMNS = ("rose", "by", "fell", "by ", "mean\ndiff.", AGAINST, "95 %", "%\npred.", "flips\nto/from")
COLUMNS = ("rose", "by", "fell", "by ", AGAINST, "95 %", "flips\nto/from")

Row = dict[str, Any]


def write_files(folder: Path, result: DownstreamResult) -> None:
    """The tables of a run, every prediction, and, where the regions are countries, a map for each classifier."""
    write_csv(folder / "tables" / "regions.csv", result.rows())
    write_csv(folder / "tables" / "flips.csv", _flip_rows(result), FLIP_COLUMNS)
    if result.texts.labels is not None:
        write_csv(folder / "tables" / "performance.csv", _performance_rows(result))
    _write_predictions(folder / PREDICTIONS, result)
    if result.settings["regions"] == "countries":
        _write_maps(folder / "figures", result)


def _flip_rows(result: DownstreamResult) -> Iterator[Row]:
    """tables/flips.csv: which class became which; without a side where a text may have several classes or none."""
    for entry in result.classifiers:
        for region in (entry["control"], *entry["regions"]):
            about = {"classifier": entry["model"]["name"], "region": region["id"], "name": region["name"]}
            yield from ({**about, **flip} for flip in region["flips"])


def _performance_rows(result: DownstreamResult) -> Iterator[Row]:
    """tables/performance.csv: how good the classifiers are, without a prefix and with."""
    for entry in result.classifiers:
        for texts, found in entry["performance"].items():
            yield {"classifier": entry["model"]["name"], "texts": texts, **found}


def _write_predictions(path: Path, result: DownstreamResult) -> None:
    """A row for every text as it was, with the control's prefix, and with every region's: its probabilities."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    prefixes = pa.array(["none", "control", *("region" for _ in result.places)])
    regions = pa.array([None, None, *(place.id for place in result.places)], pa.string())
    names = pa.array([None, None, *(place.name for place in result.places)], pa.string())
    each = len(prefixes)
    columns = [f"{judged.model['name']}/{label}" for judged in result.judgements for label in judged.labels]
    texts = [(name, pa.string()) for name in ("text_id", "prefix", "region", "name")]
    schema = pa.schema([*texts, *((column, pa.float32()) for column in dict.fromkeys(columns))])
    with pq.ParquetWriter(path, schema, compression="zstd") as writer:
        for start in range(0, len(result.texts), TEXTS_AT_ONCE):
            ids = pa.array(result.texts.ids[start : start + TEXTS_AT_ONCE])
            repeated = np.tile(np.arange(each), len(ids))
            block: Row = {"text_id": ids.take(pa.array(np.repeat(np.arange(len(ids)), each)))}
            block |= {"prefix": prefixes.take(repeated), "region": regions.take(repeated), "name": names.take(repeated)}
            some = slice(start, start + TEXTS_AT_ONCE)
            for judged in result.judgements:
                values = np.concatenate([judged.original[some, None], judged.prefixed[some]], axis=1)
                for k, label in enumerate(judged.labels):
                    block[f"{judged.model['name']}/{label}"] = values[:, :, k].ravel()
            writer.write_table(pa.table(block, schema=schema))


def _write_maps(folder: Path, result: DownstreamResult) -> None:
    """Figure 4: a map for each classifier of its shown class, against the control."""
    from geobias.report.charts import save_chart, world_map  # only where a map is drawn

    names = {place.id: place.name for place in result.places}
    for n, entry in enumerate(result.classifiers, start=1):
        label, classifier = entry["shown"], entry["model"]["name"]
        values = {region["id"]: region["classes"][label]["against_control"] for region in entry["regions"]}
        chart = world_map(
            values,
            names,
            title=f"p({label}) by {classifier}: what the country adds to “{result.settings['prefix']}”",
            subtitle=f"Mean over {len(result.texts):,} texts. It speaks of the classifier, not of people. "
            f"The control, which names no country: “{result.control}”",
            legend=f"mean difference of p({label}) against the control",
            centre=0,
        )
        stem = f"map-{slug(classifier)}-{slug(label)}"
        taken = (folder / f"{stem}.svg").exists()  # by a folder of the same last names
        save_chart(chart, folder / (f"{stem}-{n}" if taken else stem))


def tables(result: DownstreamResult, *, width: int) -> Iterator[Table]:
    """The paper's Table 4, a table for each classifier: the control on top, then the regions.

    Numbers are never cut: a narrow terminal shows fewer columns.
    """
    columns = WIDE_COLUMNS if width >= WIDE else COLUMNS
    for entry in result.classifiers:
        label = entry["shown"]
        table = titled_table(f"{entry['model']['name']}: p({label}) after “{result.settings['prefix']}”")
        table.add_column("region", overflow="fold")
        for heading in columns:
            table.add_column(heading.strip(), justify="right", no_wrap=True, style="bold" if heading == AGAINST else "")
        table.add_row("control", *_cells(entry["control"]["classes"][label], columns), end_section=True)
        for region in _shown(entry):
            if region is None:
                table.add_row("...")
            else:
                table.add_row(_named(result, region), *_cells(region["classes"][label], columns))
        yield table


def _cells(found: Row, columns: tuple[str, ...]) -> list[str]:
    against = found["inference"]["against_control"]
    cells = {
        "rose": f"{found['rose']:,}",
        "by": _size(found["mean_rise"]),
        "fell": f"{found['fell']:,}",
        "by ": _size(found["mean_fall"]),
        "mean\ndiff.": signed(found["mean_difference"], 3),
        AGAINST: marked(signed(found["against_control"], 3), against),
        "95 %": interval(against, 2),
        "%\npred.": f"{_percent(found['share_before'])} to {_percent(found['share_after'])}",
        "flips\nto/from": f"{found['gained']:,}/{found['lost']:,}",
    }
    return [cells[column] for column in columns]


def _shown(entry: Row) -> list[Row | None]:
    """The regions from the highest to the lowest; of very many both ends, and None for those between."""
    label = entry["shown"]
    ranked = sorted(entry["regions"], key=lambda region: -region["classes"][label]["against_control"])
    if len(ranked) <= MOST_ROWS:
        return list(ranked)
    return [*ranked[:ENDS_SHOWN], None, *ranked[-ENDS_SHOWN:]]


def _named(result: DownstreamResult, region: Row) -> str:
    """Cities of one name are told apart by their countries."""
    return f"{region['name']} ({region['country']})" if result.settings["regions"] == "cities" else region["name"]


def notes(result: DownstreamResult) -> list[str]:
    """What was asked, how good the classifiers were, and what was left out or cut, in words."""
    counts, about = result.counts, result.settings["texts"]["source"]
    said = [f"Texts: {counts['texts']:,} ({about}); regions: {counts['regions']:,}; the control: “{result.control}”"]
    if counts["rows_without_text"]:
        said.append(f"Rows without a text, left out: {counts['rows_without_text']:,}.")
    if counts["countries_without_city"]:
        without = counts["countries_without_city"]
        more = f" and {len(without) - ENDS_SHOWN} more" if len(without) > ENDS_SHOWN else ""
        said.append(f"Countries of which no city is known, left out: {', '.join(without[:ENDS_SHOWN])}{more}.")
    for entry in result.classifiers:
        said += _notes_of(entry)
    return said


def _notes_of(entry: Row) -> Iterator[str]:
    name, label = entry["model"]["name"], entry["shown"]
    against = [region["classes"][label]["against_control"] for region in entry["regions"]]
    alone = entry["control"]["classes"][label]["mean_difference"]
    yield (
        f"{name}: the control alone moves p({label}) by {signed(alone, 4)}; "
        f"beyond that the regions move it by {signed(min(against), 4)} to {signed(max(against), 4)}."
    )
    yield from (f"{name}: {note}" for note in entry["notes"])
    if "performance" in entry:
        for measure, title in (("accuracy", "accuracy"), ("macro_f1", "macro-F1")):
            values = (entry["performance"][texts][measure] for texts in ("original", "control", "regions"))
            original, control, regions = (NOTHING if value is None else f"{value:.4f}" for value in values)
            yield f"{name}: {title} {original} without a prefix, {control} with the control, {regions} with regions."
    cut = entry["counts"]["prefixed_texts_cut"]
    if cut:
        yield (
            f"{name}: {cut:,} of {entry['counts']['prefixed_texts']:,} prefixed texts were longer than the model takes "
            f"and cut at their end ({entry['counts']['texts_cut']:,} without a prefix)."
        )


def _size(value: float | None) -> str:
    return NOTHING if value is None else f"{value:.3f}"


def _percent(value: float) -> str:
    return f"{100 * value:.1f}"
