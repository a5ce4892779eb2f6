"""`geobias models` and `geobias cache`: what ships with geobias, and what it has stored."""

from __future__ import annotations

from typing import Annotated

import typer

from geobias.options import Debug


def cache(
    clear: Annotated[bool, typer.Option("--clear", help="Delete every kept score.")] = False,
    debug: Debug = False,
) -> None:
    """Show what the store of scores holds, or clear it."""
    from geobias.engine import store
    from geobias.files import cache_folder

    if clear:
        store.clear()
    held = store.stored()
    for scores in held:
        typer.echo(f"{scores.bytes / 1e3:12,.0f} kB  {scores.texts:>9,} texts  {scores.name}  {scores.fingerprint[:8]}")
    total = f"{sum(scores.bytes for scores in held) / 1e3:12,.0f} kB in" if held else "The store is empty:"
    typer.echo(f"{total} {cache_folder()}")


def models_inside(debug: Debug = False) -> None:
    """List the models that ship inside, with size, task and measured quality."""
    from geobias.report.bundled_models import show_models

    show_models()
