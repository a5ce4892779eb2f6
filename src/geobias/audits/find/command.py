"""`geobias find`: its options."""

from __future__ import annotations

from typing import Annotated

import typer

from geobias import options
from geobias.options import INPUT, option


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
    countries: options.NameCountries = None,
    scripts: options.Scripts = "latin",
    gazetteer: options.GazetteerFile = None,
    draws: options.NameDraws = 5,
    seed: options.NameSeed = 0,
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
    from geobias.models.finders import EMBEDDED_FINDER

    audited = list(dict.fromkeys(finders or [EMBEDDED_FINDER]))
    find_options = parse_options(FindOptions, locals(), texts=parse_text_files(texts))
    if plan:
        make_study(audited, find_options, RunOptions(device=device)).plan().show()
        return
    folder = output_folder(out, "find", audited)
    result = audit_finders(audited, **vars(find_options), device=device, out=folder)
    show_result(result, folder, View(full, quiet, json))
