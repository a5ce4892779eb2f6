"""`geobias reproduce`: a paper's tables again, measured beside published; saved and shown."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from geobias.audits.reproduce.published import chosen
from geobias.audits.reproduce.result import ReproduceResult
from geobias.audits.reproduce.terminal import tables, write_files
from geobias.errors import InputError
from geobias.report import runs
from geobias.report.run_folder import RunFolder
from geobias.report.tables import console

MEANING = (
    "Rank corr.: Spearman's correlation of measured with published, over the rows of a column, or over the columns "
    "(continents, languages) of a row; +1 is the same order. What can be the same and what cannot, and why: "
    "docs/reproduce.md."
)


def run_reproduce(
    paper: str,
    numbers: Sequence[str],
    options: Mapping[str, Any],
    own: Mapping[str, Mapping[str, Any]],
    *,
    out: Path | None,
    as_json: bool,
) -> None:
    """`options` are for any paper, `own` those that one paper alone has; given for another, they are refused."""
    wanted = chosen(paper, [number.replace("_", "-") for number in numbers])
    for other, theirs in own.items():
        for option, value in theirs.items() if other != paper else ():
            if value is not None:
                raise InputError(f"--{option.replace('_', '-')} is for `geobias reproduce {other}`: leave it out.")
    folder = runs.place_for(out or runs.new_folder(f"reproduce-{paper}"))
    began = time.perf_counter()
    given = {
        "ready": lambda settings: RunFolder(folder, settings).check(),
        **options,
        **{option: value for option, value in own[paper].items() if value is not None},
    }
    if paper == "herb":
        from geobias.audits.reproduce.herb import reproduce_herb

        texts: dict[str, Path] = {name: given.pop(name) for name in ("imdb", "hatespeech18") if name in given}
        result = reproduce_herb(wanted, texts=texts, classifiers=given.pop("classifier", ()), **given)
    else:
        from geobias.audits.inputs import parse_text_files
        from geobias.audits.reproduce.names_study import reproduce_names

        result = reproduce_names(wanted, texts=parse_text_files(given.pop("texts", None)), **given)
    run = RunFolder(folder, result.settings)
    runs.save_run(run, result, write_files, seconds=round(time.perf_counter() - began, 1))
    if as_json:
        print(json.dumps(result.to_dict(), indent=1, ensure_ascii=False, allow_nan=False))
    else:
        _show(result, folder)


def _show(result: ReproduceResult, folder: Path) -> None:
    out = console()
    for shown, notes in tables(result, width=out.width):
        for table in shown:
            out.print(table)
        for note in notes:
            out.print(note)
        out.print()
    for note in result.notes:
        out.print(note)
    out.print(MEANING, style="dim")
    out.print(f"Every number: tables/reproduce-*.csv.\nResults: {runs.shown(folder)}", soft_wrap=True)
