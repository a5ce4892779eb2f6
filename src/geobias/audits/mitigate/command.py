"""`geobias mitigate`: its options."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from geobias import options


def mitigate(
    model: Annotated[
        str,
        typer.Argument(
            metavar="[MODEL]",
            help="Classifier: bundled model, Hugging Face id, folder, .skops file or package.module:function.",
        ),
    ] = "embedded/sentiment",
    method: Annotated[
        str,
        typer.Option(
            help="Methods, with commas between: blind, average:K, augment, pair:WEIGHT, erase; for language models "
            "align:SHARE, erase.",
            rich_help_panel=options.MODEL,
        ),
    ] = "blind,average:8",
    texts: options.TextFiles = None,
    column: options.Column = "text",
    spans: Annotated[
        str | None,
        typer.Option(
            help="Column of name offsets: [[0, 5], ...] (default: --finder finds the names).",
            rich_help_panel=options.INPUT,
        ),
    ] = None,
    label: Annotated[
        str | None,
        typer.Option(help="Column of true labels, for accuracy and training.", rich_help_panel=options.INPUT),
    ] = None,
    train: Annotated[
        Path | None,
        typer.Option(
            help="Labelled texts to train on (default: half of --texts, which is then not tested).",
            rich_help_panel=options.TRAINING,
        ),
    ] = None,
    limit: Annotated[
        int | None,
        typer.Option(
            help="Use only the first N texts of each file (default: all; bundled tweets: 100).",
            rich_help_panel=options.INPUT,
        ),
    ] = None,
    finder: Annotated[
        str | None,
        typer.Option(
            help="Model that finds names: spaCy pipeline, token classifier or package.module:function (default: the "
            "bundled one).",
            rich_help_panel=options.INPUT,
        ),
    ] = None,
    countries: Annotated[
        str | None,
        typer.Option(
            help="Countries to test names of, by code or name: FR,Nigeria; or 'all' (default: 17 countries).",
            rich_help_panel=options.INPUT,
        ),
    ] = None,
    draws: Annotated[
        int, typer.Option(help="Held-out names per text and country.", rich_help_panel=options.STATISTICS)
    ] = 10,
    seed: Annotated[
        int,
        typer.Option(help="Random seed for names, texts and training.", rich_help_panel=options.STATISTICS),
    ] = 0,
    positive: Annotated[
        str | None,
        typer.Option(
            help="Labels that count as positive: joy,optimism (default: by name).", rich_help_panel=options.INPUT
        ),
    ] = None,
    negative: Annotated[
        str | None,
        typer.Option(
            help="Labels that count as negative: anger,sadness (default: by name).", rich_help_panel=options.INPUT
        ),
    ] = None,
    epochs: Annotated[int, typer.Option(help="Number of training epochs.", rich_help_panel=options.TRAINING)] = 2,
    device: options.Device = "auto",
    dtype: options.Dtype = "auto",
    plain: options.Plain = False,
    out: options.Out = None,
    full: options.Full = False,
    quiet: options.Quiet = False,
    json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Mitigate bias by people's names, and measure before, after and the cost.

    Makes a new model with each method and compares it with the original one on names that no method has used. The
    models are saved in the folder of the run: use one as mitigated:FOLDER.
    """
    from geobias.audits.inputs import parse_text_files
    from geobias.audits.mitigate.audit import mitigate as run_mitigation
    from geobias.audits.mitigate.design import MitigateOptions
    from geobias.audits.show_results import View, show_result
    from geobias.audits.study import collect_options, output_folder

    mitigate_options = collect_options(MitigateOptions, locals(), texts=parse_text_files(texts))
    folder = output_folder(out, "mitigate", [model])
    result = run_mitigation(model, **vars(mitigate_options), device=device, dtype=dtype, out=folder)
    show_result(result, folder, View(full, quiet, json))
