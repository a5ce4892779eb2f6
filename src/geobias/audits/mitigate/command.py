"""`geobias mitigate`: its options."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from geobias import options
from geobias.options import INPUT, MODEL, STATISTICS, TRAINING, option


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
        option(
            MODEL,
            "Methods, with commas between: blind, average:K, augment, pair:WEIGHT; for language models align:SHARE.",
        ),
    ] = "blind,average:8",
    texts: options.TextFiles = None,
    column: options.Column = "text",
    spans: options.NameSpans = None,
    label: Annotated[str | None, option(INPUT, "Column of true labels, for accuracy and training.")] = None,
    train: Annotated[
        Path | None,
        option(TRAINING, "Labelled texts to train on (default: half of --texts, which is then not tested)."),
    ] = None,
    limit: Annotated[
        int | None, option(INPUT, "Use only the first N texts of each file (default: all; bundled tweets: 100).")
    ] = None,
    finder: options.NameFinder = None,
    countries: Annotated[
        str | None,
        option(INPUT, "Countries to test names of, by code or name: FR,Nigeria; or 'all' (default: 17 countries)."),
    ] = None,
    draws: Annotated[int, option(STATISTICS, "Held-out names per text and country.")] = 10,
    seed: Annotated[int, option(STATISTICS, "Random seed for names, texts and training.")] = 0,
    positive: Annotated[
        str | None, option(INPUT, "Labels that count as positive: joy,optimism (default: by name).")
    ] = None,
    negative: Annotated[
        str | None, option(INPUT, "Labels that count as negative: anger,sadness (default: by name).")
    ] = None,
    epochs: options.Epochs = 2,
    allow: options.Allow = None,
    device: options.Device = "auto",
    dtype: options.Dtype = "auto",
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
    from geobias.audits.study import output_folder, parse_options

    mitigate_options = parse_options(MitigateOptions, locals(), texts=parse_text_files(texts))
    folder = output_folder(out, "mitigate", [model])
    result = run_mitigation(model, **vars(mitigate_options), allow=allow or (), device=device, dtype=dtype, out=folder)
    show_result(result, folder, View(full, quiet, json))
