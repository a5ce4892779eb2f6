"""The files of a regions run: CSV tables, and the likelihood of every sentence as Parquet."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from geobias.audits.regions.result import RegionScores, RegionsResult
from geobias.measures.estimates import Estimates
from geobias.report.parquet import column_values, damaged, read_columns
from geobias.report.results import number
from geobias.report.runs import FinishedRun
from geobias.report.tables import write_csv
from geobias.world.words import Word

LIKELIHOODS = "likelihoods.parquet"

Row = dict[str, Any]


def write_files(folder: Path, result: RegionsResult) -> None:
    tables = {"regions": region_rows, "words": word_rows, "topics": topic_rows}
    if result.wordings:
        tables["wording"] = wording_rows
    for name, list_rows in tables.items():
        write_csv(folder / "tables" / f"{name}.csv", list_rows(result))
    _write_likelihoods(folder / LIKELIHOODS, result)


def region_rows(result: RegionsResult) -> Iterator[Row]:
    """tables/regions.csv: the regions of results.json, a row each."""
    for region in result.regions:
        row: Row = {
            name: getattr(region, name)
            for name in ("id", "name", "level", "parent", "parent_index", "children", "pairs", "leaf")
        }
        row |= {"flat": region.flat, "sparseness": region.sparseness}
        for variant in ("c_w", "c_z"):
            row |= {f"{variant}_{form}": value for form, value in vars(getattr(region, variant)).items()}
            if region.spread:
                spread = vars(getattr(region.spread, variant))
                row |= {f"{variant}_{form}_spread": value for form, value in spread.items()}
        yield row | _inference_cells(region)


def _inference_cells(region: RegionScores) -> Row:
    """The columns beside the scores; none for a region without a pair of sub-regions."""
    if region.inference is None:
        return {}
    estimate = vars(region.inference.c_w.balanced)
    cells = {f"c_w_balanced_{key}": estimate[key] for key in ("low", "high", "p", "p_adjusted")}
    return cells | {"c_w_balanced_null_mean": region.null.mean if region.null else None}


def word_rows(result: RegionsResult) -> Iterator[Row]:
    """tables/words.csv: how much the sub-regions of each region differ in each word (Eq. 6)."""
    differences, words = result.measure("words"), result.words
    for row, names in _regions_with_pairs(result):
        for k, word in enumerate(words):
            yield {**names, "word": word.word, "topic": word.topic, "sparseness": float(differences[row, k])}


def topic_rows(result: RegionsResult) -> Iterator[Row]:
    """tables/topics.csv: the same for each topic (Eq. 3 within its words)."""
    topics = dict.fromkeys(word.topic for word in result.words)
    differences = {topic: result.measure(f"topic.{topic}") for topic in topics}
    for row, names in _regions_with_pairs(result):
        for topic in topics:
            yield {**names, "topic": topic, "sparseness": float(differences[topic][row])}


def wording_rows(result: RegionsResult) -> Iterator[Row]:
    """tables/wording.csv: the scores with words left out or replaced."""
    for wording in result.wordings:
        for row, names in _regions_with_pairs(result):
            yield {
                "what": wording.what,
                "name": wording.name,
                **{f"region_{key}": value for key, value in names.items()},
                **{measure.replace(".", "_"): number(values[row]) for measure, values in wording.scores.items()},
                **_estimate_cells("c_w_balanced", wording.balanced, row, ("low", "high")),
                **_estimate_cells(
                    "c_w_balanced_difference", wording.difference, row, ("value", "low", "high", "p", "p_adjusted")
                ),
            }


def _estimate_cells(name: str, estimates: Estimates | None, row: int, keys: Sequence[str]) -> Row:
    """Columns beside a score; empty where nothing is known."""
    known = {} if estimates is None else vars(estimates.at(row))
    return {name if key == "value" else f"{name}_{key}": known.get(key) for key in keys}


def _regions_with_pairs(result: RegionsResult) -> Iterator[tuple[int, Row]]:
    """Their positions, and the columns that name them."""
    for row, region in enumerate(result.regions):
        if region.pairs:
            yield row, {"id": region.id, "name": region.name, "level": region.level}


def _write_likelihoods(path: Path, result: RegionsResult) -> None:
    """f of every sentence (Eq. 1): a row for each template and region, a column for each word."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    regions, templates = result.regions[1:], result.settings.templates
    columns: Row = {
        "template": [template for template in templates for _ in regions],
        "id": [region.id for _ in templates for region in regions],
        "level": [region.level for _ in templates for region in regions],
        "name": [region.name for _ in templates for region in regions],
        "name_likelihood": np.tile(result.name_likelihoods[1:], len(templates)),
    }
    words = result.words
    values = result.likelihoods[:, 1:].reshape(-1, len(words))
    columns |= {word_column(word): values[:, k] for k, word in enumerate(words)}
    pq.write_table(pa.table(columns), path, compression="zstd")


def word_column(word: Word) -> str:
    """The column of a word in likelihoods.parquet."""
    return f"{word.topic}/{word.word}"


def read_likelihoods(run: FinishedRun[RegionsResult]) -> tuple[np.ndarray, np.ndarray]:
    """f of every sentence (templates x regions x words) and of every region's bare name; NaN for the root."""
    result, path = run.result, run.folder / LIKELIHOODS
    columns = [word_column(word) for word in result.words]
    table = read_columns(path, ["name_likelihood", *columns])
    templates, regions = len(result.settings.templates), len(result.regions) - 1
    if len(table) != templates * regions:
        raise damaged(path)
    likelihoods = column_values(table, columns).reshape(templates, regions, len(columns))
    names = column_values(table, ["name_likelihood"])[:regions, 0]
    return np.insert(likelihoods, 0, np.nan, axis=1), np.insert(names, 0, np.nan)
