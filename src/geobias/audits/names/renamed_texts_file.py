"""counterfactuals.parquet of a names run: every text, original or renamed, with its scores; written and read."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from geobias.audits.names.answers import ClassifierAnswers
from geobias.audits.names.result import ClassifierMeasures, NamesResult
from geobias.measures.crossed_variance import NameUnits
from geobias.measures.paired_differences import NamesAnswers
from geobias.report.runs import FinishedRun
from geobias.report.tables import column_values, damaged, read_columns
from geobias.texts.counterfactuals import Counterfactuals

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow

COUNTERFACTUALS = "counterfactuals.parquet"
TEXTS_AT_ONCE = 20  # texts whose renamed versions are held while the file is written

Row = dict[str, Any]


def write_renamed_texts(folder: Path, result: NamesResult) -> None:
    """A row for every original text (without a country) and for every renamed one: who became whom, and its scores."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    texts, named, counterfactuals = result.texts, result.named, result.counterfactuals
    assert texts is not None and named is not None and counterfactuals is not None  # a result that was just measured
    names = pa.list_(pa.string())
    schema = pa.schema(
        [
            ("text_id", pa.string()),
            ("country", pa.string()),
            ("draw", pa.int32()),
            ("person", names),
            ("first_name", names),
            ("last_name", names),
            ("first_name_kind", names),
            ("text", pa.string()),
            *((column, pa.float64()) for column in _score_columns(result.answers, "original", 0)),
        ]
    )
    positions = {int(row): i for i, row in enumerate(named)}
    with pq.ParquetWriter(folder / COUNTERFACTUALS, schema, compression="zstd") as writer:
        for start in range(0, len(texts), TEXTS_AT_ONCE):
            blocks = []
            for row in range(start, min(start + TEXTS_AT_ONCE, len(texts))):
                original = {"text_id": [texts.ids[row]], "text": [texts.texts[row]]}
                blocks.append(original | _score_columns(result.answers, "original", row))
                if row in positions:
                    i = positions[row]
                    scores = _score_columns(result.answers, "renamed", i, counterfactuals.draws)
                    blocks.append(_renamed_block(counterfactuals, i, texts.ids[row]) | scores)
            # An original text has no country, draw or names.
            columns = {name: [cell for block in blocks for cell in block.get(name, [None])] for name in schema.names}
            writer.write_table(pa.table(columns, schema=schema))


def _renamed_block(counterfactuals: Counterfactuals, i: int, text_id: str) -> Row:
    """All versions of one text, country by country and draw by draw."""
    _, countries, draws = counterfactuals.shape
    versions = [(c, draw) for c in range(countries) for draw in range(draws)]
    people = [person.text for person in counterfactuals.people[i]]
    new_names = [[names[draw] for names in counterfactuals.new_names(i, c)] for c, draw in versions]
    kinds_by_draw = [list(kinds) for kinds in zip(*counterfactuals.first_kinds(i), strict=True)]
    return {
        "text_id": [text_id] * len(versions),
        "country": [counterfactuals.countries[c] for c, _ in versions],
        "draw": [draw + 1 for _, draw in versions],
        "person": [people] * len(versions),
        "first_name": [[name.first or None for name in names] for names in new_names],
        "last_name": [[name.last or None for name in names] for names in new_names],
        "first_name_kind": kinds_by_draw * countries,
        "text": [counterfactuals.at(i, c, draw) for c, draw in versions],
    }


def _score_columns(
    answers: Sequence[ClassifierAnswers], kind: Literal["original", "renamed"], position: int, draws: int = 1
) -> Row:
    """A column for every label of every classifier, and for every language model's log-perplexity.

    Draws whose perplexity was not scored have none.
    """
    columns: Row = {}
    for classifier in answers:
        scores = getattr(classifier, kind)[position].reshape(-1, len(classifier.labels))
        columns |= {f"{classifier.model.name}/{label}": scores[:, k] for k, label in enumerate(classifier.labels)}
        if classifier.perplexities is not None:
            scored = np.atleast_2d(getattr(classifier.perplexities, kind)[position])
            values = np.pad(scored, ((0, 0), (0, draws - scored.shape[1])), constant_values=np.nan).ravel()
            name = f"perplexity/{classifier.perplexities.model.name}"
            columns[name] = [None if np.isnan(value) else float(value) for value in values]
    return columns


def read_renamed(run: FinishedRun[NamesResult], entry: ClassifierMeasures, labels: Sequence[str]) -> NamesAnswers:
    """The probabilities of one classifier for the texts that name somebody, and for their renamed versions."""
    columns, counts = [f"{entry.model.name}/{label}" for label in labels], run.result.counts
    table, is_original = _read_run(run, columns)
    values = column_values(table, columns)
    has_versions = is_original & ~np.append(is_original[1:], True)  # they follow their original
    renamed = values[~is_original].reshape(-1, counts.countries, counts.draws, len(labels))
    return NamesAnswers(values[has_versions], renamed)


def read_name_units(run: FinishedRun[NamesResult]) -> NameUnits:
    """Which renamed texts show which male, female and last names."""
    import pandas as pd
    import pyarrow as pa
    import pyarrow.compute as pc

    table, is_original = _read_run(run, ["first_name", "last_name", "first_name_kind"])
    versions = table.filter(pa.array(~is_original))

    def flatten(column: str) -> pd.Series:
        return pc.list_flatten(versions[column].combine_chunks()).to_pandas()

    rows = pc.list_parent_indices(versions["first_name"].combine_chunks()).to_numpy()
    first_names = {"row": rows, "kind": flatten("first_name_kind"), "name": flatten("first_name")}
    last_names = {"row": rows, "kind": "last", "name": flatten("last_name")}
    shown = pd.concat([pd.DataFrame(first_names), pd.DataFrame(last_names)]).dropna()
    units = shown.groupby(["kind", "name"])
    kinds = pd.factorize(np.array([kind for (kind, _), _ in units]))[0]
    return NameUnits(shown["row"].to_numpy(), units.ngroup().to_numpy(), kinds)


def _read_run(run: FinishedRun[NamesResult], columns: Sequence[str]) -> tuple[pyarrow.Table, np.ndarray]:
    """Columns of a run's file, and which rows are originals; refuses a file that holds another number of versions."""
    counts, path = run.result.counts, run.folder / COUNTERFACTUALS
    table = read_columns(path, ["country", *columns])
    is_original = _is_original(table)
    if (~is_original).sum() != counts.texts_with_names * counts.countries * counts.draws:
        raise damaged(path)
    return table, is_original


@dataclass(frozen=True)
class RenamedText:
    """A renamed text and its original: who was in it, who is now, and the scores of both."""

    text_id: str
    country: str
    person: list[str]
    first_name: list[str | None]
    last_name: list[str | None]
    text: str
    original: str
    original_scores: np.ndarray
    scores: np.ndarray


def find_most_changed(
    folder: Path, columns: Sequence[str], count: int, excluded_ids: Collection[str] = ()
) -> list[RenamedText]:
    """The renamed texts whose scores in these columns differ most from their original, one version of each text."""
    path = folder / COUNTERFACTUALS
    table = read_columns(path, ["text_id", "country", *columns])
    is_original = _is_original(table)
    values, rows = column_values(table, columns), np.arange(len(table))
    original_rows = np.maximum.accumulate(np.where(is_original, rows, 0))  # versions follow their original
    distances = np.abs(values - values[original_rows]).max(axis=1)
    row_by_text: dict[str, int] = {}
    for row in np.argsort(-distances, kind="stable"):
        text_id = table["text_id"][row].as_py()
        if len(row_by_text) == count or distances[row] == 0:
            break
        if text_id not in excluded_ids:
            row_by_text.setdefault(text_id, int(row))
    chosen_rows = list(row_by_text.values())
    details = _read_rows(
        path, ["person", "first_name", "last_name", "text"], [*chosen_rows, *original_rows[chosen_rows]]
    )
    return [
        RenamedText(
            text_id,
            table["country"][row].as_py(),
            **details[row],
            original=details[int(original_rows[row])]["text"],
            original_scores=values[original_rows[row]],
            scores=values[row],
        )
        for text_id, row in row_by_text.items()
    ]


def _read_rows(path: Path, columns: Sequence[str], rows: Sequence[int]) -> dict[int, Row]:
    """Rows by their number; only the row groups that hold them are read, since texts are long."""
    import pyarrow.parquet as pq

    file = pq.ParquetFile(path)
    ends = np.cumsum([file.metadata.row_group(k).num_rows for k in range(file.num_row_groups)])
    content = {}
    for row in map(int, rows):
        group = int(np.searchsorted(ends, row, side="right"))
        part = file.read_row_group(group, columns=list(columns))
        content[row] = part.slice(row - (int(ends[group - 1]) if group else 0), 1).to_pylist()[0]
    return content


def _is_original(table: pyarrow.Table) -> np.ndarray:
    return np.asarray(table["country"].is_null().to_numpy())
