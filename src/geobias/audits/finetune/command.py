"""`geobias finetune`: its options."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from geobias import options
from geobias.texts.defaults import DEFAULT_PREFIX


def finetune(
    models: Annotated[
        list[str],
        typer.Argument(metavar="MODEL [MODEL ...]", help="Language models to fine-tune: Hugging Face ids or folders."),
    ],
    texts: Annotated[
        Path,
        typer.Option(help="Labelled texts to train on: CSV, TSV, JSONL or Parquet.", rich_help_panel=options.INPUT),
    ],
    label: Annotated[str, typer.Option(help="Column of --texts that holds the label.", rich_help_panel=options.INPUT)],
    column: options.Column = "text",
    test: Annotated[
        Path | None,
        typer.Option(
            help="Labelled texts to evaluate on (default: a fifth of --texts).", rich_help_panel=options.INPUT
        ),
    ] = None,
    countries: options.Countries = None,
    continents: options.Continents = None,
    without: Annotated[
        str | None,
        typer.Option(
            help="Countries to leave out, one at a time, by code or name (default: IE,MX).",
            rich_help_panel=options.INPUT,
        ),
    ] = None,
    prefix: Annotated[
        str, typer.Option(help="Sentence to put before every text, with {region}.", rich_help_panel=options.INPUT)
    ] = DEFAULT_PREFIX,
    epochs: Annotated[int, typer.Option(help="Number of training epochs.", rich_help_panel=options.TRAINING)] = 3,
    batch: Annotated[int, typer.Option(help="Texts per batch.", rich_help_panel=options.TRAINING)] = 32,
    rate: Annotated[float, typer.Option(help="Peak learning rate.", rich_help_panel=options.TRAINING)] = 2e-5,
    max_length: Annotated[
        int, typer.Option(help="Longest training text, in tokens; the rest is cut.", rich_help_panel=options.TRAINING)
    ] = 128,
    seed: Annotated[
        int,
        typer.Option(
            help="Random seed for batches, new weights and the held-out texts.", rich_help_panel=options.STATISTICS
        ),
    ] = 0,
    device: options.Device = "auto",
    plain: options.Plain = False,
    out: options.Out = None,
    full: options.Full = False,
    quiet: options.Quiet = False,
    json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Fine-tune language models as classifiers and count label flips by country (HERB's Table 5).

    Keeps the best epoch, leaves the original model unchanged, and shows each model's own bias score next to the flips.
    The same command with the same --out resumes an interrupted training.
    """
    from geobias.audits.finetune.audit import audit_finetune
    from geobias.audits.finetune.design import FinetuneOptions
    from geobias.audits.show_results import View, show_result
    from geobias.audits.study import collect_options, output_folder

    finetune_options = collect_options(FinetuneOptions, locals())
    folder = output_folder(out, "finetune", models)
    result = audit_finetune(models, **vars(finetune_options), device=device, out=folder)
    show_result(result, folder, View(full, quiet, json))
