"""`geobias names`: one run for all classifiers; or, with --preview, the renamed texts alone."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from geobias.audits.names import Asked, NamesQuestion, answer, question
from geobias.audits.names_result import NamesResult
from geobias.errors import InputError
from geobias.models.scorer import EMBEDDED_CLASSIFIERS, load_classifier
from geobias.report import runs
from geobias.report.names import notes, tables
from geobias.report.names_files import write_files
from geobias.report.tables import console, titled_table

MEANING = (
    "Δ is the mean of p(positive) - p(negative), in points of 100, minus the same on the texts as they were; the "
    "change of a class is in per cent of its predictions. Any renaming changes texts: what sets countries apart stands "
    "against their mean. * marks an adjusted p-value below 0.05; intervals allow for other texts and other names "
    "(docs/statistics.md). It speaks of the models and of lists of common names, not of people: names cross borders."
)
WARNING = "These are real texts. Some may be offensive; they are shown to check the renaming, nothing else."
COUNTRIES_PREVIEWED = 3


def run_names(
    classifiers: Sequence[str],
    options: Mapping[str, Any],
    how: Asked,
    *,
    device: str,
    dtype: str,
    out: Path | None,
    as_json: bool,
    preview: int | None,
) -> None:
    asked = question(**options, device=device)
    if preview is not None:
        _preview(asked, preview)
        return
    names = list(dict.fromkeys(classifiers or EMBEDDED_CLASSIFIERS))
    label = f"names-{runs.slug(names[0])}" if len(names) == 1 else "names"
    folder = runs.place_for(out or runs.new_folder(label))
    result = audit_into(folder, asked, names, how, device=device, dtype=dtype)
    if as_json:
        print(json.dumps(result.to_dict(), indent=1, ensure_ascii=False, allow_nan=False))
    else:
        show(result, folder)


def audit_into(
    folder: Path, asked: NamesQuestion, names: Sequence[str], how: Asked, *, device: str, dtype: str
) -> NamesResult:
    """Ask the classifiers and leave the run in its folder."""
    runs.refuse_foreign(folder, asked.settings_for(names, how))
    began = time.perf_counter()
    classifiers = [load_classifier(name, device=device, dtype=dtype) for name in names]
    result = answer(asked, classifiers, how, device=device, dtype=dtype)
    runs.save_run(folder, result, write_files, seconds=round(time.perf_counter() - began, 1))
    return result


def show(result: NamesResult, folder: Path) -> None:
    out = console()
    for table in tables(result, width=out.width):
        out.print(table)
    for note in notes(result):
        out.print(note)
    out.print()
    out.print(MEANING, style="dim")
    out.print(
        "Every number: tables/*.csv; every renamed text with its scores: counterfactuals.parquet.\n"
        f"Results: {runs.shown(folder)}",
        soft_wrap=True,
    )


def _preview(asked: NamesQuestion, count: int) -> None:
    """Originals and renamed texts side by side, each text with other countries, so that all are seen."""
    if count < 1:
        raise InputError("--preview takes a number of texts from 1 on.")
    renamed, listed = asked.renamed, asked.renamed.gazetteer
    table = titled_table(f"{len(renamed.texts):,} of {len(asked.texts):,} texts name somebody; the first draw of some")
    table.add_column("as it was", overflow="fold", ratio=1)
    table.add_column("country", no_wrap=True)
    table.add_column("renamed", overflow="fold", ratio=1)
    countries = len(renamed.countries)
    for text in range(min(count, len(renamed.texts))):
        chosen = dict.fromkeys((text * COUNTRIES_PREVIEWED + k) % countries for k in range(COUNTRIES_PREVIEWED))
        for k, country in enumerate(chosen):
            original = renamed.texts[text] if k == 0 else ""
            table.add_row(original, listed.country(renamed.countries[country]), renamed.at(text, country, 0))
        table.add_section()
    out = console()
    out.print(WARNING, style="bold")
    out.print(table)
