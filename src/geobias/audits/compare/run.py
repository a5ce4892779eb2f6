"""`geobias compare`: finished runs of one audit, each against the first, on the same texts, names or words."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from geobias.audits.compare.design import (
    SAME,
    CompareResult,
    Comparison,
    downstream_rows,
    names_rows,
    paired_classifiers,
    refuse_incomparable,
    regions_rows,
)
from geobias.audits.compare.terminal import MOST_ROWS, notes, tables, write_files
from geobias.errors import InputError
from geobias.report import runs
from geobias.report.answers import likelihoods, name_units, predictions, renamed, tree_of
from geobias.report.run_folder import RunFolder
from geobias.report.tables import console

MEANING = (
    "Each difference is the second run minus the first, on the same texts and names or the same words, which are "
    "resampled together; the interval is a 95 % one. p is adjusted (Benjamini and Hochberg) within one measure, over "
    f"places and classes. Of more than {MOST_ROWS} rows those with the smallest p are shown. It speaks of models, not "
    "of people."
)

Found = tuple[Path, dict[str, Any]]  # a run's folder, and its results


def run_compare(folders: Sequence[Path], *, out: Path | None, as_json: bool) -> None:
    if len(folders) < 2:
        raise InputError("A comparison needs two runs or more: name their folders.")
    found = [(folder, runs.read_run(folder, *SAME)) for folder in folders]
    first, *others = found
    for other in others:
        refuse_incomparable(first[1], other[1], _named(first, other))
    place = runs.place_for(out or runs.new_folder("compare"))
    began = time.perf_counter()
    audit = first[1]["audit"]
    result = CompareResult(
        audit=audit,
        runs=tuple(str(folder) for folder in folders),
        models=[model for _, results in found for model in results.get("models") or [results["model"]]],
        comparisons=tuple(BY_AUDIT[audit](first, other) for other in others),
    )
    run = RunFolder(place, result.to_dict()["settings"])
    runs.save_run(run, result, write_files, seconds=round(time.perf_counter() - began, 1))
    if as_json:
        print(json.dumps(result.to_dict(), indent=1, ensure_ascii=False, allow_nan=False))
    else:
        _show(result, place)


def _named(first: Found, second: Found) -> tuple[str, str]:
    return str(first[0]), str(second[0])


def _names(first: Found, second: Found) -> Comparison:
    pairs, left_out = paired_classifiers(first[1], second[1], _named(first, second))
    units = name_units(*first)
    rows: list[dict[str, Any]] = []
    for pair in pairs:
        here, there = (
            renamed(*run, entry, pair[0]["labels"]) for run, entry in zip((first, second), pair, strict=True)
        )
        rows += names_rows(pair, here, there, units, names_fixed=first[1]["settings"]["names_are"] == "fixed")
    return Comparison(*_named(first, second), left_out, rows)


def _downstream(first: Found, second: Found) -> Comparison:
    pairs, left_out = paired_classifiers(first[1], second[1], _named(first, second))
    rows: list[dict[str, Any]] = []
    for pair in pairs:
        said = (predictions(*run, entry, pair[0]["labels"]) for run, entry in zip((first, second), pair, strict=True))
        rows += downstream_rows(pair, *said)
    return Comparison(*_named(first, second), left_out, rows)


def _regions(first: Found, second: Found) -> Comparison:
    values, names = zip(*(likelihoods(*run) for run in (first, second)), strict=True)
    rows = list(regions_rows((first[1], second[1]), tree_of(*first), values, names))
    return Comparison(*_named(first, second), (), rows)


BY_AUDIT: dict[str, Callable[[Found, Found], Comparison]] = {
    "names": _names,
    "downstream": _downstream,
    "regions": _regions,
}


def _show(result: CompareResult, folder: Path) -> None:
    out = console()
    for comparison in result.comparisons:
        for table in tables(comparison):
            out.print(table)
        for note in notes(comparison):
            out.print(note)
        out.print()
    out.print(MEANING, style="dim")
    out.print(f"Every difference: tables/compare.csv.\nResults: {runs.shown(folder)}", soft_wrap=True)
