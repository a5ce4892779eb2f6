"""The files of a names run: tables as CSV, and every renamed text with the scores it got."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from geobias.audits.names.result import NamesResult
from geobias.report.tables import write_csv

COUNTERFACTUALS = "counterfactuals.parquet"
TEXTS_AT_ONCE = 20  # texts whose renamed versions are held while the file is written

Row = dict[str, Any]


def write_files(folder: Path, result: NamesResult) -> None:
    sections = list(_sections(result))
    tables = {
        "countries": _country_rows(sections),
        "classes": _class_rows(sections, "countries"),
        "genders": _class_rows(sections, "by_gender"),
        "correlations": _correlation_rows(sections),
        "names": _name_rows(result),
    }
    for name, rows in tables.items():
        write_csv(folder / "tables" / f"{name}.csv", rows)
    _write_counterfactuals(folder / COUNTERFACTUALS, result)


def _sections(result: NamesResult) -> Iterator[tuple[Row, Row]]:
    """Every classifier's tables, for all texts and for each part of them, with what tells them apart."""
    for entry in result.classifiers:
        about = {"classifier": entry["model"]["name"]}
        if entry["subsets"]:
            about |= {"subset": "", "value": ""}
        yield about, entry
        for part in entry["subsets"]:
            yield {**about, "subset": part["column"], "value": part["value"]}, part


def _country_rows(sections: list[tuple[Row, Row]]) -> list[Row]:
    """tables/countries.csv: Delta and KL."""
    return [
        {
            **about,
            "country": row["country"],
            "code": row["code"],
            "delta": row["delta"],
            **_sure("delta", row["inference"]["delta"]),
            "delta_from_mean": row["against_mean"]["delta"],
            **_sure("delta_from_mean", row["inference"]["against_mean"]["delta"]),
            "placebo": row["inference"]["placebo"],
            "kl": row["kl"],
            "kl_from_mean": row["against_mean"]["kl"],
            "renamed_texts": row["renamed_texts"],
        }
        for about, section in sections
        for row in section["countries"]
    ]


def _class_rows(sections: list[tuple[Row, Row]], table: str) -> list[Row]:
    """tables/classes.csv: counts and change of every class; tables/genders.csv: the same by gender, and Delta."""
    rows = []
    for about, section in sections:
        for row in section[table]:
            named = {key: row[key] for key in ("country", "code", "gender") if key in row}
            for label in row["change"]:
                found = {
                    "label": label,
                    "before": row["before"][label],
                    "after": row["after"][label],
                    "change": row["change"][label],
                    **_sure("change", row["inference"]["change"][label]),
                    "change_from_mean": row["against_mean"]["change"][label],
                    **_sure("change_from_mean", row["inference"]["against_mean"]["change"][label]),
                }
                if table == "by_gender":
                    found |= {"delta": row["delta"], **_sure("delta", row["inference"]["delta"])}
                    found |= {"delta_from_mean": row["against_mean"]["delta"]}
                    found |= _sure("delta_from_mean", row["inference"]["against_mean"]["delta"])
                found |= {kind: rates[label] for kind, rates in row.get("errors", {}).items()}
                rows.append({**about, **named, **found})
    return rows


def _sure(name: str, estimate: Row) -> Row:
    """The columns beside a number: its interval, and its p-value as it is and adjusted."""
    return {f"{name}_{key}": estimate[key] for key in ("low", "high", "p", "p_adjusted")}


def _correlation_rows(sections: list[tuple[Row, Row]]) -> list[Row]:
    """tables/correlations.csv: global ones by language, local ones by country (and overall)."""
    rows = []
    for about, section in sections:
        found = section.get("correlations")
        if not found:
            continue
        about = {**about, "lm": found["lm"]}
        for part in found["global"]:
            for label, value in part["pearson"].items():
                row = {"kind": "global", "language": part["language"], "country": "", "label": label}
                row |= {"pearson": value, **_sure("pearson", part["inference"][label]), "texts": part["texts"]}
                rows.append({**about, **row})
        for kind in ("within", "pooled"):
            for part in found[kind]["countries"]:
                for label, value in part["pearson"].items():
                    row = {"kind": kind, "language": "", "country": part["country"], "label": label, "pearson": value}
                    row |= _sure("pearson", part["inference"][label])
                    row |= {key: part[key][label] for key in ("texts", "texts_without_variance")}
                    rows.append({**about, **row})
            for label, value in found[kind]["overall"].items():
                row = {"kind": kind, "language": "", "country": "Overall", "label": label, "pearson": value}
                rows.append({**about, **row, **_sure("pearson", found["local"][kind][label])})
    return rows


def _name_rows(result: NamesResult) -> list[Row]:
    """tables/names.csv: how many names each country had, and how many different ones the texts show."""
    return [
        {
            "country": country["country"],
            "code": country["code"],
            **{f"{kind}_{what}": count for kind, counts in country["names"].items() for what, count in counts.items()},
        }
        for country in result.countries
    ]


def _write_counterfactuals(path: Path, result: NamesResult) -> None:
    """A row for every text as it was (without a country) and for every renamed one: who became whom, and its scores."""
    import pyarrow as pa
    import pyarrow.parquet as pq

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
            *((column, pa.float64()) for column in _scores(result, 0, None)),
        ]
    )
    place = {int(row): i for i, row in enumerate(result.named)}
    with pq.ParquetWriter(path, schema, compression="zstd") as writer:
        for start in range(0, len(result.texts), TEXTS_AT_ONCE):
            blocks = []
            for row in range(start, min(start + TEXTS_AT_ONCE, len(result.texts))):
                blocks.append(_original_block(result, row))
                if row in place:
                    blocks.append(_renamed_block(result, row, place[row]))
            columns = {name: [value for block in blocks for value in block[name]] for name in schema.names}
            writer.write_table(pa.table(columns, schema=schema))


def _original_block(result: NamesResult, row: int) -> Row:
    block: Row = {"text_id": [result.texts.ids[row]], "country": [None], "draw": [None], "person": [None]}
    block |= {"first_name": [None], "last_name": [None], "first_name_kind": [None], "text": [result.texts.texts[row]]}
    return block | _scores(result, row, None)


def _renamed_block(result: NamesResult, row: int, i: int) -> Row:
    renamed = result.renamed
    _, countries, draws = renamed.shape
    each = [(c, draw) for c in range(countries) for draw in range(draws)]
    people = [person.text for person in renamed.people[i]]
    new = [[names[draw] for names in renamed.new_names(i, c)] for c, draw in each]
    kinds = [list(of_draw) for of_draw in zip(*renamed.first_kinds(i), strict=True)]
    block: Row = {
        "text_id": [result.texts.ids[row]] * len(each),
        "country": [renamed.countries[c] for c, _ in each],
        "draw": [draw + 1 for _, draw in each],
        "person": [people] * len(each),
        "first_name": [[name.first or None for name in names] for names in new],
        "last_name": [[name.last or None for name in names] for names in new],
        "first_name_kind": kinds * countries,
        "text": [renamed.at(i, c, draw) for c, draw in each],
    }
    return block | _scores(result, row, i)


def _scores(result: NamesResult, row: int, i: int | None) -> Row:
    """A column for every label of every classifier, and for every language model's log-perplexity."""
    columns: Row = {}
    for judged in result.judgements:
        values = judged.original[row, None] if i is None else judged.renamed[i].reshape(-1, len(judged.labels))
        columns |= {f"{judged.model['name']}/{label}": values[:, k] for k, label in enumerate(judged.labels)}
        if judged.perplexity is not None:
            taken = judged.perplexity.original[row, None]
            if i is not None:
                some = judged.perplexity.renamed[i]
                taken = np.full((some.shape[0], result.renamed.draws), np.nan)
                taken[:, : some.shape[1]] = some
            found = [None if np.isnan(value) else float(value) for value in taken.ravel()]
            columns[f"perplexity/{judged.perplexity.model['name']}"] = found
    return columns
