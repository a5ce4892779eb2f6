"""`geobias reproduce`: its options."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from geobias.options import Debug, Device, Json, Out, Plain, TextFiles


def reproduce(
    paper: Annotated[str, typer.Argument(metavar="PAPER", help="herb, or names (Barriere and Cifuentes).")],
    table: Annotated[
        list[str] | None,
        typer.Option(metavar="N", help="Only this table: herb 1 to 6 and 4-overall; names 1, 2, 4, 5."),
    ] = None,
    model: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PUBLISHED=LOCAL",
            help="A folder or another id in a published model's place: bert-base-cased=models/bert.",
        ),
    ] = None,
    cities: Annotated[
        str | None, typer.Option(help="herb: each country's N largest cities (default: all, as in the paper).")
    ] = None,
    hatespeech18: Annotated[
        Path | None, typer.Option(help="herb, Table 4: labelled texts; columns text, label, split (train or test).")
    ] = None,
    imdb: Annotated[Path | None, typer.Option(help="herb, Table 4: the same of IMDB's reviews.")] = None,
    classifier: Annotated[
        list[str] | None,
        typer.Option(metavar="DATASET=MODEL", help="herb, Table 4: hatespeech18=ID, imdb=ID."),
    ] = None,
    texts: TextFiles = None,
    column: Annotated[str | None, typer.Option(help="names: the column that holds the texts (default: text).")] = None,
    finder: Annotated[
        str | None, typer.Option(help="names: what finds people (the paper's: xx_ent_wiki_sm; default: the embedded).")
    ] = None,
    draws: Annotated[
        int | None, typer.Option(help="names: renamed versions of each text for each country (default: 50).")
    ] = None,
    perplexity_draws: Annotated[
        int | None, typer.Option(help="names, Table 5: draws whose perplexity is taken; it is slow (default: all).")
    ] = None,
    limit: Annotated[int | None, typer.Option(help="Only the first N texts of each file.")] = None,
    device: Device = "auto",
    dtype: Annotated[str, typer.Option(help="float32 (as in the papers), bfloat16, float16 or auto.")] = "float32",
    out: Out = None,
    json: Json = False,
    plain: Plain = False,
    debug: Debug = False,
) -> None:
    """A paper's tables again: its own models and settings, measured beside published.

    Models come from the Hugging Face hub or cache, or from folders that you name; those that are not there are said.
    """
    from geobias.audits.inputs import parse_text_files
    from geobias.audits.reproduce.audit import reproduce as reproduce_tables
    from geobias.audits.reproduce.terminal import show
    from geobias.audits.study import output_folder
    from geobias.report.tables import print_json

    options: dict[str, Any] = {
        "table": table or (),
        "model": model or (),
        "cities": cities,
        "hatespeech18": hatespeech18,
        "imdb": imdb,
        "classifier": classifier or (),
        "texts": parse_text_files(texts),
        "column": column,
        "finder": finder,
        "draws": draws,
        "perplexity_draws": perplexity_draws,
        "limit": limit,
    }
    folder = output_folder(out, "reproduce", [paper])
    result = reproduce_tables(paper, **options, device=device, dtype=dtype, out=folder)
    print_json(result) if json else show(result, folder)
