"""`geobias explain`: the terms of the output, from the glossary."""

from __future__ import annotations

import shutil
import textwrap
from typing import Annotated

import typer

from geobias.checks import shorten
from geobias.errors import InputError
from geobias.options import Debug

WIDEST = 100  # characters of a line


def explain(
    term: Annotated[
        list[str] | None,
        typer.Argument(metavar="[TERM]", help="The term, such as C_w or adjusted p (default: list all)."),
    ] = None,
    debug: Debug = False,
) -> None:
    """Explain a term of the output, or list all terms."""
    from geobias.report.glossary import find_term, suggest_terms

    if not term:
        typer.echo(list_terms())
        return
    text = " ".join(term)
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
