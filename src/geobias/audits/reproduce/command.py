"""`geobias reproduce`: its options."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from geobias import options
from geobias.options import COMPUTE, INPUT, MODEL, STATISTICS, option


def reproduce(
    paper: Annotated[
        str, typer.Argument(metavar="PAPER", help="Paper to reproduce: herb, or names (Barriere and Cifuentes).")
    ],
    table: Annotated[
        list[str] | None,
        option(
            INPUT, "Reproduce only this table: herb 1 to 6 and 4-overall; names 1, 2, 4, 5 (default: all).", metavar="N"
        ),
    ] = None,
    cities: Annotated[
        str | None, option(INPUT, "herb: each country's N largest cities (default: all, as published).")
    ] = None,
    hatespeech18: Annotated[
        Path | None, option(INPUT, "herb, Table 4: labelled texts with columns text, label, split (train or test).")
    ] = None,
    imdb: Annotated[Path | None, option(INPUT, "herb, Table 4: labelled IMDB reviews with the same columns.")] = None,
    texts: options.TextFiles = None,
    column: Annotated[
        str | None, option(INPUT, "names: column of --texts that holds the text (default: text).")
    ] = None,
    limit: Annotated[int | None, option(INPUT, "Use only the first N texts of each file (default: all).")] = None,
    model: Annotated[
        list[str] | None,
        option(
            MODEL,
            "Replace a published model by a folder or another id: bert-base-cased=models/bert.",
            metavar="PUBLISHED=LOCAL",
        ),
    ] = None,
    classifier: Annotated[
        list[str] | None,
        option(MODEL, "herb, Table 4: classifier for a data set: hatespeech18=ID, imdb=ID.", metavar="DATASET=MODEL"),
    ] = None,
    finder: Annotated[
        str | None,
        option(MODEL, "names: model that finds people (published: xx_ent_wiki_sm; default: the bundled one)."),
    ] = None,
    draws: Annotated[int | None, option(STATISTICS, "names: names drawn per text and country (default: 50).")] = None,
    perplexity_draws: Annotated[
        int | None,
        option(
            STATISTICS, "names, Table 5: names per text and country whose perplexity is computed (default: all). Slow."
        ),
    ] = None,
    device: options.Device = "auto",
    dtype: Annotated[
        str, option(COMPUTE, "Precision of the weights: float32 (as published), bfloat16, float16 or auto.")
    ] = "float32",
    out: options.Out = None,
    full: options.Full = False,
    quiet: options.Quiet = False,
    json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Reproduce the tables of a paper and compare them with the published numbers.

    Loads the paper's models from the Hugging Face Hub or cache, or from folders that you name, and lists those that
    are missing.
    """
    from geobias.audits.inputs import parse_text_files
    from geobias.audits.reproduce.audit import reproduce as reproduce_tables
    from geobias.audits.reproduce.design import ReproduceOptions
    from geobias.audits.show_results import View, show_result
    from geobias.audits.study import output_folder, parse_options

    reproduce_options = parse_options(ReproduceOptions, locals(), texts=parse_text_files(texts))
    folder = output_folder(out, "reproduce", [paper])
    result = reproduce_tables(paper, **vars(reproduce_options), device=device, dtype=dtype, out=folder)
    show_result(result, folder, View(full, quiet, json))
