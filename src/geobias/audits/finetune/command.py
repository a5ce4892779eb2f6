"""`geobias finetune`: its options."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from geobias import options
from geobias.options import INPUT, STATISTICS, TRAINING, option
from geobias.texts.defaults import DEFAULT_PREFIX


def finetune(
    models: Annotated[
        list[str],
        typer.Argument(metavar="MODEL [MODEL ...]", help="Language models to fine-tune: Hugging Face ids or folders."),
    ],
    texts: Annotated[
        Path,
        option(INPUT, "Labelled texts to train on: CSV, TSV, JSONL or Parquet."),
    ],
    label: Annotated[str, option(INPUT, "Column of --texts that holds the label.")],
    column: options.Column = "text",
    test: Annotated[Path | None, option(INPUT, "Labelled texts to evaluate on (default: a fifth of --texts).")] = None,
    countries: options.Countries = None,
    continents: options.Continents = None,
    without: Annotated[
        str | None, option(INPUT, "Countries to leave out, one at a time, by code or name (default: IE,MX).")
    ] = None,
    prefix: options.Prefix = DEFAULT_PREFIX,
    epochs: options.Epochs = 3,
    batch: Annotated[int, option(TRAINING, "Texts per batch.")] = 32,
    rate: Annotated[float, option(TRAINING, "Peak learning rate.")] = 2e-5,
    max_length: Annotated[int, option(TRAINING, "Longest training text, in tokens; the rest is cut.")] = 128,
    seed: Annotated[int, option(STATISTICS, "Random seed for batches, new weights and the held-out texts.")] = 0,
    device: options.Device = "auto",
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
    from geobias.audits.study import output_folder, parse_options

    finetune_options = parse_options(
        FinetuneOptions, locals(), continents=continents or None, countries=countries or None
    )
    folder = output_folder(out, "finetune", models)
    result = audit_finetune(models, **vars(finetune_options), device=device, out=folder)
    show_result(result, folder, View(full, quiet, json))
