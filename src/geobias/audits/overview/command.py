"""`geobias audit`: its options."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from geobias import options
from geobias.options import INPUT, option


def audit(
    models: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[MODEL ...]",
            help="Language models or classifiers: Hugging Face ids, folders, GGUF or .skops files, or "
            "package.module:function (default: the bundled models).",
        ),
    ] = None,
    texts: Annotated[
        Path | None,
        option(
            INPUT,
            "Texts for classifiers: CSV, TSV, JSON, JSONL, Parquet or one text per line (default: bundled tweets).",
            metavar="FILE",
        ),
    ] = None,
    column: options.Column = "text",
    labels: options.Labels = None,
    plan: options.Plan = False,
    allow: options.Allow = None,
    device: options.Device = "auto",
    dtype: options.Dtype = "auto",
    ray: options.Ray = None,
    out: options.Out = None,
    full: options.Full = False,
    quiet: options.Quiet = False,
    json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Start here: run every audit that fits your models, or the bundled ones.

    Language models get `geobias regions`; classifiers get `geobias names` and `geobias downstream`. Writes one page
    with all findings. Sample sizes are fixed: run a single audit to change them.
    """
    from geobias.audits.overview.audit import announce_long_run, plan_overview, run_overview
    from geobias.audits.overview.design import OverviewOptions, design_overview
    from geobias.audits.show_results import LINES_OF_SEVERAL, View, show_results
    from geobias.audits.study import RunOptions
    from geobias.report.runs import new_folder, place_for
    from geobias.report.tables import console

    run_options = RunOptions(
        device, dtype, ray, out=None if plan else place_for(out or new_folder("audit")), allow=allow or ()
    )
    design = design_overview(OverviewOptions(models, texts, column, labels), run_options)
    if plan:
        plan_overview(design).show()
        return
    out_lines = 0
    if not (quiet or json):
        for line in design.scope:
            console().print(line, style="dim")
        out_lines = len(design.scope)
    announce_long_run(design)
    overview = run_overview(design, run_options)
    assert overview.folder is not None
    lines = LINES_OF_SEVERAL - out_lines
    show_results(list(overview.results.values()), overview.folder, View(full, quiet, json), lines=lines)
