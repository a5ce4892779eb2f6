"""What `geobias report`, `gate`, `evidence`, `export` and `reproduce` do and print."""

from __future__ import annotations

from pathlib import Path

import typer

from geobias.cli.commands import Values
from geobias.errors import InputError


def run_report(values: Values) -> None:
    """Write the page, or only open the one that is there, without a second of imports."""
    from geobias.report import runs as run_folders
    from geobias.report.run_folder import PAGE

    is_opened, runs = values.pop("open"), values.get("runs") or [str(run_folders.find_latest_run(Path("runs")))]
    page = Path(runs[0]) / PAGE
    if not is_opened or len(runs) > 1 or "out" in values or not page.is_file():
        from geobias.audits.finished_runs import write_report
        from geobias.audits.pages import figures_folder
        from geobias.report.runs import shown

        page = write_report(runs, out=values.get("out"))
        figures = figures_folder(page)
        typer.echo(f"Page: {shown(page.resolve())}")
        typer.echo(f"Figures: {len(list(figures.glob('*.svg')))} as SVG and PNG in {shown(figures.resolve())}")
    if is_opened:
        run_folders.open_page(page)
        typer.echo(f"Opened {page}")


def run_gate(values: Values) -> None:
    from geobias.audits.gate.audit import gate
    from geobias.audits.gate.report import show
    from geobias.report.tables import print_json

    is_json = values.pop("json")
    report = gate(**values)
    print_json(report.to_dict()) if is_json else show(report)
    if not report.passed:
        raise typer.Exit(1)


def run_evidence(values: Values) -> None:
    from geobias.audits.evidence import write_evidence
    from geobias.audits.evidence.manifest import hash_manifest, verify_evidence
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
