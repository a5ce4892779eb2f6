"""`geobias drift`: its options."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from geobias import options
from geobias.options import INPUT, MODEL, STATISTICS, TRAINING, option


def drift(
    model: Annotated[
        str | None,
        typer.Argument(
            metavar="[MODEL]", help="Masked language model: Hugging Face id or folder (default: the bundled one)."
        ),
    ] = None,
    texts: Annotated[
        Path | None,
        option(
            INPUT,
            "Texts to train on: CSV, TSV, JSONL, Parquet or one text per line (default: the sentences that the "
            "model scores highest).",
        ),
    ] = None,
    column: options.Column = "text",
    cities: options.Cities = "0",
    countries: options.Countries = None,
    continents: options.Continents = None,
    words: Annotated[
        Path | None, option(INPUT, "Your own words: one per line, or CSV with word, topic (default: 112 words).")
    ] = None,
    template: options.Templates = None,
    score: Annotated[str, option(MODEL, "Sentence score: aul, aula, pll, pll-word or conditional.")] = "aul",
    epochs: options.Epochs = 20,
    rate: Annotated[float, option(TRAINING, "Constant learning rate of SGD.")] = 5e-5,
    batch: Annotated[int, option(TRAINING, "Sentences per batch.")] = 32,
    levels: Annotated[
        str | None, option(TRAINING, "Train on sentences about these levels: country,continent (default: country).")
    ] = None,
    top: Annotated[
        int | None, option(TRAINING, "Train on the N highest-scored sentences per word (default: 20).")
    ] = None,
    seed: Annotated[int, option(STATISTICS, "Random seed for batches, dropout and masks.")] = 0,
    device: options.Device = "auto",
    out: options.Out = None,
    full: options.Full = False,
    quiet: options.Quiet = False,
    json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Measure how a language model's regional bias changes during training (HERB's Figure 5).

    Trains a copy on the sentences about countries that the model scores highest, or on your texts, and runs the
    regions audit after every epoch. The original model stays unchanged. The same command with the same --out resumes.
    """
    from geobias.audits.drift.audit import audit_drift
    from geobias.audits.drift.design import DriftOptions
    from geobias.audits.show_results import View, show_result
    from geobias.audits.study import output_folder, parse_options
    from geobias.models.scorer import EMBEDDED_LM

    drift_options = parse_options(
        DriftOptions, locals(), templates=template, continents=continents or None, countries=countries or None
    )
    folder = output_folder(out, "drift", [model or EMBEDDED_LM])
    result = audit_drift(model, **vars(drift_options), device=device, out=folder)
    show_result(result, folder, View(full, quiet, json))
