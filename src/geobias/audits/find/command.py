"""`geobias find`: its options."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from geobias import options
from geobias.options import INPUT, STATISTICS, option


def find(
    finders: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[FINDER ...]",
            help="Models that find people: spaCy pipelines, token classifiers (Hugging Face ids or folders) or "
            "package.module:function (default: the bundled one).",
        ),
    ] = None,
    texts: options.TextFiles = None,
    column: options.Column = "text",
    spans: Annotated[
        str | None, option(INPUT, "Column of the people's offsets: [[0, 5], ...]. Required with --texts.")
    ] = None,
    limit: Annotated[int | None, option(INPUT, "Use only the first N texts of each file (default: all).")] = None,
    countries: Annotated[
        str | None,
        option(INPUT, "Countries to take names from, by code or name: FR,Nigeria; or 'all' (default: 17 countries)."),
    ] = None,
    scripts: Annotated[str, option(INPUT, "Scripts of the names: latin or all.")] = "latin",
    gazetteer: Annotated[
        Path | None, option(INPUT, "CSV of your own names: country, kind (male, female, last), name.")
    ] = None,
    draws: Annotated[int, option(STATISTICS, "Names drawn per text and country.")] = 5,
    seed: Annotated[int, option(STATISTICS, "Random seed for drawing names.")] = 0,
    plan: options.Plan = False,
    device: options.Device = "auto",
    out: options.Out = None,
    full: options.Full = False,
    quiet: options.Quiet = False,
    json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Measure which countries' names an entity recogniser misses.

    Replaces the people in annotated texts with common names of each country, and compares the recall between
    countries. Use it before masking personal data, and before `geobias names`.
    """
    from geobias.audits.find.audit import audit_finders, make_study
    from geobias.audits.find.design import FindOptions
    from geobias.audits.inputs import parse_text_files
    from geobias.audits.show_results import View, show_result
    from geobias.audits.study import RunOptions, output_folder, parse_options
    from geobias.models.entity_finders import EMBEDDED_FINDER

    audited = list(dict.fromkeys(finders or [EMBEDDED_FINDER]))
    find_options = parse_options(FindOptions, locals(), texts=parse_text_files(texts))
    if plan:
        make_study(audited, find_options, RunOptions(device=device)).plan().show()
        return
    folder = output_folder(out, "find", audited)
    result = audit_finders(audited, **vars(find_options), device=device, out=folder)
    show_result(result, folder, View(full, quiet, json))
