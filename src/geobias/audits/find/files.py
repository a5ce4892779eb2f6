"""The files of a run of `geobias find`: CSV tables, and the outcome of every mention."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from geobias.audits.find.factors import AS_WRITTEN
from geobias.audits.find.name_recalls import list_name_recalls, locate_names
from geobias.audits.find.result import OUTCOMES, FindResult, Share
from geobias.report.tables import write_csv

MENTIONS = "mentions.parquet"
LABELS = ("found", "partial", "wrong type", "missed")  # of outcomes
MENTIONS_AT_ONCE = 100  # whose renamed versions are held while the file is written

Row = dict[str, Any]


def write_files(folder: Path, result: FindResult) -> None:
    tables = {
        "countries": _country_rows(result),
        "factors": _factor_rows(result),
        "originals": _original_rows(result),
        "names": _name_rows(result),
    }
    for name, rows in tables.items():
        write_csv(folder / "tables" / f"{name}.csv", rows)
    _write_mentions(folder / MENTIONS, result)


def _country_rows(result: FindResult) -> Iterator[Row]:
    """tables/countries.csv: the four shares of every country."""
    for entry in result.finders:
        for country in entry.ranked_countries:
            row: Row = {"finder": entry.model.name, "country": country.country, "code": country.code}
            for name in OUTCOMES:
                row |= _share_columns(name, getattr(country, name))
            yield row | {f"{kind}_names": count for kind, count in country.names.items()}


def _share_columns(name: str, share: Share) -> Row:
    difference = share.against_mean
    return {
        name: share.value,
        f"{name}_low": share.low,
        f"{name}_high": share.high,
        f"{name}_from_mean": difference.value,
        f"{name}_from_mean_low": difference.low,
        f"{name}_from_mean_high": difference.high,
        f"{name}_from_mean_simultaneous_low": share.simultaneous_low,
        f"{name}_from_mean_simultaneous_high": share.simultaneous_high,
        f"{name}_p": difference.p,
        f"{name}_p_adjusted": difference.p_adjusted,
    }


def _factor_rows(result: FindResult) -> Iterator[Row]:
    """tables/factors.csv: recall by gender, part of the name, case and script."""
    for entry in result.finders:
        for level in entry.factors:
            difference = vars(level.difference) if level.difference else {}
            yield {
                "finder": entry.model.name,
                "factor": level.factor,
                "level": level.level,
                "mentions": level.mentions,
                "recall": level.recall.value,
                "recall_low": level.recall.low,
                "recall_high": level.recall.high,
                "partial": level.partial,
                "wrong_type": level.wrong_type,
                "misses": level.misses,
                **{f"difference_{key}" if key != "value" else "difference": x for key, x in difference.items()},
            }


def _original_rows(result: FindResult) -> Iterator[Row]:
    """tables/originals.csv: precision and recall on the original texts."""
    for entry in result.finders:
        row: Row = {"finder": entry.model.name}
        for name in ("precision", "recall"):
            share = getattr(entry.originals, name)
            row |= {name: share.value, f"{name}_low": share.low, f"{name}_high": share.high}
        yield row | {"predictions": entry.originals.predictions, "mentions": entry.originals.mentions}


def _name_rows(result: FindResult) -> Iterator[Row]:
    """tables/names.csv: every name with its recall; the least recognised come first."""
    design = result.get_design()
    positions = locate_names(design)
    for answers in result.answers:
        for name in list_name_recalls(design, positions, answers):
            yield {"finder": answers.model.name, **vars(name)}


def _write_mentions(path: Path, result: FindResult) -> None:
    """mentions.parquet: every mention of the renamed texts, its new name, and its outcome by finder."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    strings = ("text_id", "country", "case", "original", "name", *(each.model.name for each in result.answers))
    schema = pa.schema([*((name, pa.string()) for name in strings), ("draw", pa.int32())])
    count = len(result.get_design().mentions)
    with pq.ParquetWriter(path, schema, compression="zstd") as writer:
        for case in ("", *result.answers[0].recased):
            for start in range(0, count, MENTIONS_AT_ONCE):
                numbers = range(start, min(start + MENTIONS_AT_ONCE, count))
                rows = [row for m in numbers for row in _mention_rows(result, case, m)]
                writer.write_table(pa.Table.from_pylist(rows, schema=schema))


def _mention_rows(result: FindResult, case: str, m: int) -> Iterator[Row]:
    """The renamed versions of mention m, with names in a case ("" for as written)."""
    design = result.get_design()
    counterfactuals, each = design.counterfactuals, design.mentions[m]
    outcomes = {
        answers.model.name: answers.recased[case][m] if case else answers.renamed[m] for answers in result.answers
    }
    draws = design.recased_draws if case else counterfactuals.draws
    for c, code in enumerate(counterfactuals.countries):
        for draw, new in enumerate(counterfactuals.new_names(each.text, c)[each.person][:draws]):
            yield {
                "text_id": design.texts.ids[design.named[each.text]],
                "country": code,
                "draw": draw,
                "case": case or AS_WRITTEN,
                "original": counterfactuals.texts[each.text][slice(*each.span)],
                "name": each.mention.render(new.first, new.last, case or None),
                **{name: LABELS[array[c, draw]] for name, array in outcomes.items()},
            }
