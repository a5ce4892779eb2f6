"""The files of a regions run: CSV tables; likelihoods and associations as Parquet."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from geobias.audits.regions.association import to_times
from geobias.audits.regions.association_records import Association, list_compared
from geobias.audits.regions.known_views import known_rows
from geobias.audits.regions.result import RegionsResult
from geobias.measures.estimates import SIGNIFICANT, Estimate, Estimates
from geobias.report.runs import FinishedRun
from geobias.report.tables import column_values, damaged, read_columns, write_csv
from geobias.world.words import Word

LIKELIHOODS = "likelihoods.parquet"
ASSOCIATIONS = "associations.parquet"
MOST_TYPICAL = 6  # words of each region in tables/associations.csv, beside those that are marked
ASSOCIATION_NUMBERS = ("times", "low", "high", "p", "p_adjusted")

Row = dict[str, Any]


def write_files(folder: Path, result: RegionsResult) -> None:
    tables = {"regions": region_rows, "words": word_rows}
    if result.association is not None:
        tables |= {"associations": association_rows, "valence": valence_rows}
    if result.known and not result.known.is_subset:  # its content is offensive, and was not asked for
        tables["known"] = known_rows
    for name, list_rows in tables.items():
        write_csv(folder / "tables" / f"{name}.csv", list_rows(result))
    _write_likelihoods(folder / LIKELIHOODS, result)
    if result.association is not None:
        _write_associations(folder / ASSOCIATIONS, result.association)


def region_rows(result: RegionsResult) -> Iterator[Row]:
    """tables/regions.csv: the regions of results.json, a row each."""
    columns = "id name level parent parent_index children pairs leaf flat sparseness".split()
    for region in result.regions:
        row = {name: getattr(region, name) for name in columns}
        for variant in ("c_w", "c_z"):
            row |= {f"{variant}_{form}": value for form, value in vars(getattr(region, variant)).items()}
            if region.spread:
                spread = vars(getattr(region.spread, variant))
                row |= {f"{variant}_{form}_spread": value for form, value in spread.items()}
        if region.inference:
            row |= _estimate_cells("c_w_balanced", region.inference.c_w.balanced, ("low", "high", "p", "p_adjusted"))
            row["c_w_balanced_null_mean"] = region.null and region.null.mean
        yield row


def word_rows(result: RegionsResult) -> Iterator[Row]:
    """tables/words.csv: how much the sub-regions of each region differ in each word (Eq. 6)."""
    differences, words = result.measure("words"), result.words
    for row, names in _regions_with_pairs(result):
        for k, word in enumerate(words):
            yield {**names, "word": word.word, "topic": word.topic, "sparseness": float(differences[row, k])}


def association_rows(result: RegionsResult) -> Iterator[Row]:
    """tables/associations.csv: of each region the words beyond invented places, and the six that are most typical."""
    association = result.association
    assert association is not None and association.estimates is not None
    times = to_times(association.estimates)
    once = list({word.word: k for k, word in enumerate(association.words)}.values())  # a word may be in two topics
    for k, region in enumerate(list_compared(association)):
        is_beyond = times.p_adjusted[k] < SIGNIFICANT
        order = [at for at in np.lexsort((-np.abs(association.estimates.value[k]), ~is_beyond)) if at in once]
        for position in order[: max(MOST_TYPICAL, is_beyond[once].sum())]:
            word, estimate = association.words[position], times.at(k, int(position))
            yield {
                **{key: getattr(region, key) for key in ("id", "name", "level")},
                **{"word": word.word, "topic": word.topic, "word_valence": word.valence},
                "times": estimate.value,
                **{key: getattr(estimate, key) for key in ("low", "high", "p", "p_adjusted")},
                "is_marked": bool(is_beyond[position]),
            }


def valence_rows(result: RegionsResult) -> Iterator[Row]:
    """tables/valence.csv: how favourably each region is described, and how often by the words of each topic."""
    assert result.association is not None
    keys = ("low", "high", "p", "p_adjusted")
    for region in list_compared(result.association):
        row = {key: getattr(region, key) for key in ("id", "name", "level")}
        row |= {"times": region.valence and region.valence.value}
        row |= {key: region.valence and getattr(region.valence, key) for key in keys}
        for topic, estimate in region.topics.items():
            row |= {f"topic_{topic}": estimate.value, **_estimate_cells(f"topic_{topic}", estimate, keys)}
        yield row


def _estimate_cells(name: str, estimate: Estimate | None, keys: Sequence[str]) -> Row:
    """Columns next to a score; empty where nothing is known."""
    return {f"{name}_{key}": estimate and getattr(estimate, key) for key in keys}


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
    words, f = result.words, result.likelihoods[:, 1:]
    columns: Row = {
        "template": [template for template in templates for _ in regions],
        **{key: [getattr(region, key) for region in regions] * len(templates) for key in ("id", "level", "name")},
        "name_likelihood": np.tile(result.name_likelihoods[1:], len(templates)),
        **{_word_column(word): f[..., k].ravel() for k, word in enumerate(words)},
    }
    pq.write_table(pa.table(columns), path, compression="zstd")


def read_likelihoods(
    run: FinishedRun[RegionsResult], words: Sequence[Word] | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """f of every sentence (templates x regions x words) and of every region's bare name; NaN for the root.

    With `words`, of the sentences with these words only.
    """
    result, path = run.result, run.folder / LIKELIHOODS
    columns = ["name_likelihood", *map(_word_column, words or result.words)]
    table = read_columns(path, columns)
    shape = len(result.settings.templates), len(result.regions) - 1, len(columns)
    if len(table) != shape[0] * shape[1]:
        raise damaged(path)
    values = np.insert(column_values(table, columns).reshape(shape), 0, np.nan, axis=1)
    return values[..., 1:], values[0, :, 0]


def _write_associations(path: Path, association: Association) -> None:
    """Every region of the level that is compared with every word: a row for each pair, region by region."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    assert association.estimates is not None  # of results that were just measured
    times = to_times(association.estimates)
    regions, words = list_compared(association), association.words
    columns: Row = {
        **{key: [getattr(region, key) for region in regions for _ in words] for key in ("id", "name")},
        **{key: [getattr(word, key) for word in words] * len(regions) for key in ("word", "topic")},
        **{name: numbers.ravel() for name, numbers in zip(ASSOCIATION_NUMBERS, vars(times).values(), strict=True)},
    }
    pq.write_table(pa.table(columns), path, compression="zstd")


def read_associations(run: FinishedRun[RegionsResult]) -> Estimates:
    """The associations of a run that has some, in nats as in `Association.estimates`: regions x words.

    The regions are those of `list_compared`, the words those of `Association.words`.
    """
    association, path = run.result.association, run.folder / ASSOCIATIONS
    assert association is not None
    table = read_columns(path, ASSOCIATION_NUMBERS)
    shape = len(list_compared(association)), len(association.words)
    if len(table) != shape[0] * shape[1]:
        raise damaged(path)
    times, low, high, p, p_adjusted = (column.reshape(shape) for column in column_values(table, ASSOCIATION_NUMBERS).T)
    return Estimates(np.log(times), np.log(low), np.log(high), p, p_adjusted)


def _word_column(word: Word) -> str:
    return f"{word.topic}/{word.word}"
