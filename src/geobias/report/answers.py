"""What models answered, read again from the Parquet files of finished runs."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from geobias.audits.country_map.values import words_of
from geobias.audits.downstream.terminal import PREDICTIONS
from geobias.audits.names.files import COUNTERFACTUALS
from geobias.audits.regions.terminal import LIKELIHOODS
from geobias.errors import InputError
from geobias.measures.names_bootstrap import NameUnits
from geobias.measures.paired_differences import NamesAnswers
from geobias.world.regions import Region, RegionTree

if TYPE_CHECKING:
    import pyarrow

Results = Mapping[str, Any]


@dataclass(frozen=True)
class Moved:
    """A renamed text beside its original: who was in it, who is now, and its scores."""

    text_id: str
    country: str
    person: list[str]
    first_name: list[str | None]
    last_name: list[str | None]
    text: str
    before: str
    scores_before: np.ndarray
    scores: np.ndarray


def renamed(folder: Path, results: Results, entry: Results, labels: Sequence[str]) -> NamesAnswers:
    """What one classifier said of the texts that name somebody."""
    table = _read(folder, COUNTERFACTUALS, ["country", *_columns(entry, labels)])
    is_original = _is_original(table)
    shape = _shape(folder, results, is_original)
    values = _values(table, _columns(entry, labels))
    named = is_original & ~np.append(is_original[1:], True)  # its versions follow it
    return NamesAnswers(values[named], values[~is_original].reshape(*shape, len(labels)))


def name_units(folder: Path, results: Results) -> NameUnits:
    """Which versions of the texts bear which men's, women's and last names (or cities)."""
    import pandas as pd
    import pyarrow as pa
    import pyarrow.compute as pc

    table = _read(folder, COUNTERFACTUALS, ["country", "first_name", "last_name", "first_name_kind"])
    is_original = _is_original(table)
    _shape(folder, results, is_original)  # refuses a damaged file
    versions = table.filter(pa.array(~is_original))

    def flat(column: str) -> pd.Series:
        return pc.list_flatten(versions[column].combine_chunks()).to_pandas()

    rows = pc.list_parent_indices(versions["first_name"].combine_chunks()).to_numpy()
    borne = pd.concat(
        [
            pd.DataFrame({"row": rows, "kind": flat("first_name_kind"), "name": flat("first_name")}),
            pd.DataFrame({"row": rows, "kind": "last", "name": flat("last_name")}),
        ]
    ).dropna()
    units = borne.groupby(["kind", "name"])
    kinds = pd.factorize(np.array([kind for (kind, _), _ in units]))[0]
    return NameUnits(borne["row"].to_numpy(), units.ngroup().to_numpy(), kinds)


def most_moved(folder: Path, columns: Sequence[str], count: int, without: Collection[str] = ()) -> list[Moved]:
    """The renamed texts whose scores in these columns moved most from their original, one a text, none of `without`."""
    table = _read(folder, COUNTERFACTUALS, ["text_id", "country", *columns])
    is_original = _is_original(table)
    values, rows = _values(table, columns), np.arange(len(table))
    original = np.maximum.accumulate(np.where(is_original, rows, 0))  # its versions follow it
    moved = np.abs(values - values[original]).max(axis=1)
    found: dict[str, int] = {}
    for row in np.argsort(-moved, kind="stable"):
        text = table["text_id"][row].as_py()
        if len(found) == count or moved[row] == 0:
            break
        if text not in without:
            found.setdefault(text, int(row))
    chosen = list(found.values())
    about = _rows(folder, ["person", "first_name", "last_name", "text"], [*chosen, *original[chosen]])
    return [
        Moved(
            text,
            table["country"][row].as_py(),
            **about[row],
            before=about[int(original[row])]["text"],
            scores_before=values[original[row]],
            scores=values[row],
        )
        for text, row in found.items()
    ]


def _rows(folder: Path, columns: Sequence[str], rows: Sequence[int]) -> dict[int, dict[str, Any]]:
    """Some rows of the counterfactuals: only the parts of the file that hold them are read, since texts are long."""
    import pyarrow.parquet as pq

    file = pq.ParquetFile(folder / COUNTERFACTUALS)
    ends = np.cumsum([file.metadata.row_group(k).num_rows for k in range(file.num_row_groups)])
    found = {}
    for row in map(int, rows):
        group = int(np.searchsorted(ends, row, side="right"))
        part = file.read_row_group(group, columns=list(columns))
        found[row] = part.slice(row - (int(ends[group - 1]) if group else 0), 1).to_pylist()[0]
    return found


def predictions(folder: Path, results: Results, entry: Results, labels: Sequence[str]) -> np.ndarray:
    """What one classifier said: texts x (as it was, with the control, then with each region) x labels."""
    columns = _columns(entry, labels)
    values = _values(_read(folder, PREDICTIONS, columns), columns)
    shape = (results["counts"]["texts"], 2 + results["counts"]["regions"], len(labels))
    if values.size != np.prod(shape):
        raise InputError(_damaged(folder / PREDICTIONS))
    return values.reshape(shape)


def likelihoods(folder: Path, results: Results) -> tuple[np.ndarray, np.ndarray]:
    """f of every sentence (templates x regions x words) and of every region's bare name; the root has none."""
    columns = [f"{word.topic}/{word.word}" for word in words_of(results)]
    table = _read(folder, LIKELIHOODS, ["name_likelihood", *columns])
    templates, regions = len(results["settings"]["templates"]), len(results["regions"])
    if len(table) != templates * (regions - 1):
        raise InputError(_damaged(folder / LIKELIHOODS))
    f = np.full((templates, regions, len(columns)), np.nan)
    f[:, 1:] = _values(table, columns).reshape(templates, regions - 1, len(columns))
    return f, np.append(np.nan, _values(table, ["name_likelihood"])[: regions - 1, 0])


def tree_of(folder: Path, results: Results) -> RegionTree:
    """The tree of a regions run. An id counts within its level: a parent is of another one, the last of its name."""
    regions: list[Region] = []
    at: dict[str, list[int]] = {}
    for i, entry in enumerate(results["regions"]):
        above = [k for k in at.get(entry["parent"], ()) if regions[k].level != entry["level"]]
        regions.append(Region(entry["id"], entry["name"], entry["level"], above[-1] if above else None))
        at.setdefault(entry["id"], []).append(i)
    tree = RegionTree(tuple(regions))
    if tree.digest != results["settings"]["regions_digest"]:
        raise InputError(f"The tree of regions cannot be read from {folder}: its ids do not tell who belongs to whom.")
    return tree


def _columns(entry: Results, labels: Sequence[str]) -> list[str]:
    return [f"{entry['model']['name']}/{label}" for label in labels]


def _is_original(table: pyarrow.Table) -> np.ndarray:
    return np.asarray(table["country"].is_null().to_numpy())


def _shape(folder: Path, results: Results, is_original: np.ndarray) -> tuple[int, int, int]:
    """texts with names x countries x draws, as the run says and its file holds."""
    counts = results["counts"]
    shape = (counts["texts_with_names"], counts["countries"], counts["draws"])
    if (~is_original).sum() != np.prod(shape):
        raise InputError(_damaged(folder / COUNTERFACTUALS))
    return shape


def _values(table: pyarrow.Table, columns: Sequence[str]) -> np.ndarray:
    return np.column_stack([table[column].to_numpy() for column in columns]).astype(float)


def _read(folder: Path, name: str, columns: Sequence[str]) -> pyarrow.Table:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        table = pq.read_table(folder / name, columns=list(columns))
    except (OSError, pa.ArrowException) as error:
        raise InputError(_damaged(folder / name)) from error
    if set(table.column_names) != set(columns):  # absent columns are passed over in silence
        raise InputError(_damaged(folder / name))
    return table


def _damaged(path: Path) -> str:
    return f"{path} is missing, damaged or of another run: run the same audit again with --out {path.parent}."
