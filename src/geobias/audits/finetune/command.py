"""`geobias finetune`: its options."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from geobias.options import Column, Continents, Countries, Debug, Device, Json, Out, Plain
from geobias.texts.defaults import DEFAULT_PREFIX


def finetune(
    models: Annotated[list[str], typer.Argument(metavar="MODEL [MODEL ...]", help="Language models: ids or folders.")],
    texts: Annotated[Path, typer.Option(help="Labelled texts to train on: CSV, TSV, JSON lines or Parquet.")],
    label: Annotated[str, typer.Option(help="The column that holds the label.")],
    column: Column = "text",
    test: Annotated[Path | None, typer.Option(help="Labelled texts to look at (default: a fifth of --texts).")] = None,
    epochs: Annotated[int, typer.Option(help="Passes over the texts.")] = 3,
    batch: Annotated[int, typer.Option(help="Texts in a step.")] = 32,
    rate: Annotated[float, typer.Option(help="The highest learning rate.")] = 2e-5,
    max_length: Annotated[int, typer.Option(help="Tokens of a text that are read in training.")] = 128,
    seed: Annotated[int, typer.Option(help="Of the order, the new head, and what is held out.")] = 0,
    prefix: Annotated[str, typer.Option(help="The sentence that names a region.")] = DEFAULT_PREFIX,
    continents: Continents = None,
    countries: Countries = None,
    without: Annotated[
        str | None, typer.Option(help="Countries to leave out, one at a time (default: IE,MX, as the paper does).")
    ] = None,
    device: Device = "auto",
    out: Out = None,
    json: Json = False,
    plain: Plain = False,
    debug: Debug = False,
) -> None:
    """Fine-tune language models as classifiers, and see how many labels flip by country (HERB's Table 5).

    The best epoch is kept, the starting model stays as it is, and a stopped training goes on with the same --out.
    Beside the flips stands each model's own HERB score.
    """
    from geobias.audits.finetune.audit import audit_finetune
    from geobias.audits.finetune.terminal import show
    from geobias.audits.study import output_folder
    from geobias.report.tables import print_json

    options: dict[str, Any] = {
        "texts": texts,
        "label": label,
        "column": column,
        "test": test,
        "epochs": epochs,
        "batch": batch,
        "rate": rate,
        "max_length": max_length,
        "seed": seed,
        "prefix": prefix,
        "continents": continents or (),
        "countries": countries or (),
        "without": without,
    }
    folder = output_folder(out, "finetune", models)
    result = audit_finetune(models, **options, device=device, out=folder)
    print_json(result) if json else show(result, folder)
