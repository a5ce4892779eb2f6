"""`geobias drift`: its options."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from geobias.options import Column, Continents, Countries, Debug, Device, Json, Out, Plain
from geobias.texts.defaults import DEFAULT_TEMPLATE


def drift(
    model: Annotated[
        str | None,
        typer.Argument(metavar="[MODEL]", help="A masked LM: Hugging Face id or folder; none: the embedded one."),
    ] = None,
    texts: Annotated[
        Path | None,
        typer.Option(help="Train on these instead: CSV, TSV, JSONL, Parquet or lines, also .gz."),
    ] = None,
    column: Column = "text",
    levels: Annotated[
        str | None, typer.Option(help="Whose sentences it reads (default: country); several: country,continent.")
    ] = None,
    top: Annotated[int | None, typer.Option(help="Likeliest sentences of each word (default: 20).")] = None,
    epochs: Annotated[int, typer.Option(help="How often it reads all of them.")] = 20,
    rate: Annotated[float, typer.Option(help="Learning rate of plain SGD; it stays the same.")] = 5e-5,
    batch: Annotated[int, typer.Option(help="Sentences read together.")] = 32,
    seed: Annotated[int, typer.Option(help="Of the order, of dropout and of what is masked.")] = 0,
    score: Annotated[str, typer.Option(help="aul, aula, pll, pll-word or conditional.")] = "aul",
    cities: Annotated[str, typer.Option(help="Each country's N largest cities; 0 for none, or 'all'.")] = "0",
    continents: Continents = None,
    countries: Countries = None,
    words: Annotated[Path | None, typer.Option(help="Your own words: one a line, or CSV with word, topic.")] = None,
    template: Annotated[
        list[str] | None, typer.Option(help=f"Default: {DEFAULT_TEMPLATE} Several: give it several times.")
    ] = None,
    device: Device = "auto",
    out: Out = None,
    json: Json = False,
    plain: Plain = False,
    debug: Debug = False,
) -> None:
    """How a language model's regional bias moves while it is trained on (HERB's Figure 5).

    It reads the sentences about countries that it finds likeliest itself, or your texts, and is asked about the world
    after every epoch. The trained model is left beside the results; the one you name is only read. Stopped, the
    same command with the same --out goes on.
    """
    from geobias.audits.drift.audit import audit_drift
    from geobias.audits.drift.terminal import show
    from geobias.audits.study import output_folder
    from geobias.models.scorer import EMBEDDED_LM
    from geobias.report.tables import print_json

    options: dict[str, Any] = {
        "texts": texts,
        "column": column,
        "levels": levels,
        "top": top,
        "epochs": epochs,
        "rate": rate,
        "batch": batch,
        "seed": seed,
        "score": score,
        "cities": cities,
        "continents": continents or (),
        "countries": countries or (),
        "words": words,
        "templates": template or DEFAULT_TEMPLATE,
    }
    folder = output_folder(out, "drift", [model or EMBEDDED_LM])
    result = audit_drift(model, **options, device=device, out=folder)
    print_json(result) if json else show(result, folder)
