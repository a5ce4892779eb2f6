"""`geobias reproduce`: its options."""

from __future__ import annotations

from typing import Annotated

import typer

from geobias import options
from geobias.options import INPUT, MODEL, STATISTICS, TRAINING, option


def reproduce(
    paper: Annotated[str, typer.Argument(metavar="PAPER", help="herb (Li et al.) or names (Barriere and Cifuentes).")],
    table: Annotated[str, typer.Argument(metavar="TABLE", help="table-1, figure-1, ...")],
    model: Annotated[
        list[str] | None,
        option(MODEL, "Model to measure; repeat the option for several (default: those of the paper)."),
    ] = None,
    perplexity: Annotated[
        str | None,
        option(MODEL, "names, Tables 2 to 5: language model for perplexities (default: the classifier's base)."),
    ] = None,
    finder: Annotated[
        str | None, option(MODEL, "names: model that finds people (paper: xx_ent_wiki_sm; default: the bundled one).")
    ] = None,
    texts: Annotated[
        list[str] | None,
        option(
            INPUT,
            "Texts: CSV, TSV, JSONL or Parquet. Labelled for herb Tables 4 and 5 and Figure 4; by language for names "
            "Tables 2 and 4: --texts eu=FILE (default: bundled tweets for names).",
            metavar="[NAME=]FILE",
        ),
    ] = None,
    column: Annotated[str | None, option(INPUT, "Column of --texts that holds the text (default: text).")] = None,
    label: Annotated[str | None, option(INPUT, "Column of --texts that holds the label (default: label).")] = None,
    limit: Annotated[int | None, option(INPUT, "Use only the first N texts (default: all).")] = None,
    cities: Annotated[
        str | None, option(INPUT, "herb: each country's N largest cities, or 'all' (default: as in the paper).")
    ] = None,
    countries: options.Countries = None,
    word: Annotated[str | None, option(INPUT, "herb, Figure 1: word to map (default: bald).")] = None,
    draws: Annotated[int | None, option(STATISTICS, "names: names drawn per text and country (default: 50).")] = None,
    epochs: Annotated[
        int | None, option(TRAINING, "herb, Table 5 and Figure 5: passes over the texts (default: 3 and 20).")
    ] = None,
    device: options.Device = "auto",
    out: options.Out = None,
    quiet: options.Quiet = False,
    json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Reproduce a table or figure of a paper, with the paper's models or yours.

    Prints the published numbers and, below each, the measured one. Writes them as CSV, and figures as SVG, PNG and
    HTML. The same command with the same --out resumes an interrupted training.
    """
    from geobias.audits.inputs import parse_text_files
    from geobias.papers.reproduce import find_table
    from geobias.papers.reproduce import reproduce as reproduce_table
    from geobias.papers.tables import RANKS_MEANING, draw_tables
    from geobias.report.runs import new_folder, place_for, shown
    from geobias.report.tables import console, print_json

    name, _ = find_table(paper, table)
    folder = place_for(out or new_folder(f"{paper}-{name}"))
    result = reproduce_table(
        paper, name, model=model or (), perplexity=perplexity, texts=parse_text_files(texts), column=column,
        label=label, limit=limit, finder=finder, cities=cities, countries=countries or None, draws=draws,
        epochs=epochs, word=word, device=device, out=folder,
    )  # fmt: skip
    if json:
        print_json(result.to_dict())
        return
    terminal = console()
    tables = [] if quiet else list(draw_tables(result, terminal.width))
    for part in tables:
        terminal.print(part)
    terminal.print(result.summary(), style="bold")
    if not quiet:
        for note in (*result.notes, *([RANKS_MEANING] if tables else [])):
            terminal.print(note)
        if result.missing:
            terminal.print(f"Not available here, so without a measured number: {', '.join(result.missing)}.")
    terminal.print(f"Results: {shown(folder)}", soft_wrap=True)
