"""`geobias report`, `geobias export` and `geobias evidence`: finished runs as a page, for other tools, for auditors."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from geobias.errors import InputError
from geobias.options import Debug

CARDS = {"card": "markdown", "model-index": "model-index", "eval-results": "eval-results"}
RECORDS = "every-eval-ever"
HUB = "hub:"
FORMATS = (*CARDS, RECORDS, f"{HUB}OWNER/NAME")


def report(
    runs: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="[RUN ...]", help="Folders of finished runs (default: the latest in runs/).", show_default=False
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="HTML file to write (default: RUN/report.html; for several runs, in a new folder in runs/)."),
    ] = None,
    open_page: Annotated[
        bool, typer.Option("--open", help="Open the page in the browser; the page of one run is not written again.")
    ] = False,
    debug: Debug = False,
) -> None:
    """Write the report page of finished runs again, without running the model; or open it.

    The page is a single HTML file that works offline. Its charts are also written as SVG and PNG. Several runs share
    one page.
    """
    from geobias.report import browser
    from geobias.report.run_folder import PAGE

    folders = list(runs or ()) or [browser.find_latest_run(Path("runs"))]
    page = folders[0] / PAGE
    if not open_page or len(folders) > 1 or out is not None or not page.is_file():
        from geobias.audits.finished_runs import figures_folder, write_page_and_figures  # a second of imports
        from geobias.report.runs import shown

        page, figures = write_page_and_figures(folders, out)
        typer.echo(f"Page: {shown(page.resolve())}")
        typer.echo(f"Figures: {len(figures)} as SVG and PNG in {shown(figures_folder(page).resolve())}")
    if open_page:
        browser.open_page(page)
        typer.echo(f"Opened {page}")


def export(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Folder of a finished run, or of several.")],
    to: Annotated[
        str,
        typer.Option(
            metavar="FORMAT",
            help="card: a section for README.md. model-index: metadata for README.md on the Hugging Face Hub. "
            "eval-results: a file for the folder .eval_results on the Hub. every-eval-ever: JSON with confidence "
            "intervals. hub:OWNER/NAME: a pull request on the Hub with the card.",
        ),
    ] = "card",
    out: Annotated[
        Path | None, typer.Option(help="File to write (default: print it); for every-eval-ever a folder (data).")
    ] = None,
    benchmark: Annotated[
        str | None,
        typer.Option(
            metavar="OWNER/NAME",
            help="Dataset on the Hub that lists the tasks, for eval-results. With hub:OWNER/NAME it adds that file.",
        ),
    ] = None,
    developer: Annotated[
        str | None,
        typer.Option(help="Developer of the model, for every-eval-ever (default: the first part of its name)."),
    ] = None,
    yes: Annotated[
        bool, typer.Option("--yes", help="Open the pull request (default: show what it would hold).")
    ] = False,
    debug: Debug = False,
) -> None:
    """Write a finished run for a model card, the Hugging Face Hub or another tool. Texts are left out.

    The card is a section in Markdown: method, numbers with intervals, and limitations. For hub:OWNER/NAME nothing is
    sent without --yes: the command reads README.md of the model and prints the new files. A section from an earlier run
    is replaced. Log in first with `hf auth login`.
    """
    from geobias.checks import describe_choices
    from geobias.report.runs import shown

    if to.startswith(HUB):
        _propose_card(to.removeprefix(HUB), run, benchmark, send=yes)
    elif to == RECORDS:
        from geobias.integrations.every_eval_ever import export_run

        for path in export_run(run, out or "data", developer=developer):
            typer.echo(f"Wrote {shown(path.resolve())}")
    elif to in CARDS:
        from geobias.audits import finished_runs

        text = finished_runs.card(run, out=out, format=CARDS[to], benchmark=benchmark)
        typer.echo(text if out is None else f"Wrote {shown(out.resolve())}", nl=out is not None)
    else:
        raise InputError(f"Unknown --to {to!r}. {describe_choices(to, FORMATS)}")


def _propose_card(repository: str, run: Path, benchmark: str | None, *, send: bool) -> None:
    from geobias.integrations import hugging_face

    update = hugging_face.prepare_card(repository, run, benchmark=benchmark)
    if send:
        typer.echo(f"Pull request: {hugging_face.push_card(update)}")
        return
    for path, content in update.files.items():
        typer.echo(f"--- {path}\n{content}")
    typer.echo(f"Nothing was sent. Add --yes to open a pull request on {repository}.")


def evidence(
    runs: Annotated[
        list[Path] | None, typer.Argument(metavar="[RUN ...]", help="Folders of finished runs.", show_default=False)
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Folder or .zip file to write. It must not exist.")] = None,
    rules: Annotated[
        Path | None, typer.Option(help="TOML file of rules to check and include (default: no rules).")
    ] = None,
    with_texts: Annotated[
        bool, typer.Option("--with-texts", help="Include the texts and the files with a row for each text.")
    ] = False,
    check: Annotated[
        Path | None,
        typer.Option(metavar="BUNDLE", help="Compare this folder or .zip file with its manifest, write nothing."),
    ] = None,
    debug: Debug = False,
) -> None:
    """Write finished runs as a bundle of evidence: results, pages, versions, data statement, manifest, sign-off sheet.

    The texts that were scored are left out of every file unless --with-texts is given. `geobias evidence --check
    BUNDLE` finds any later change: exit code 1 and a line for each file that was changed, is missing or was added. It
    records tests; it is no certificate.
    """
    from geobias.audits.evidence.manifest import hash_manifest, verify_evidence

    if check is not None:
        if runs or out or rules or with_texts:
            raise InputError("--check takes a bundle alone: leave out the runs and the other options.")
        problems = verify_evidence(check)
        for problem in problems:
            typer.echo(problem)
        if problems:
            raise typer.Exit(1)
        typer.echo(f"Unchanged. SHA-256 of its manifest: {hash_manifest(check)}")
        return
    if not runs or out is None:
        raise InputError("Give the folders of finished runs and --out, or --check BUNDLE.")
    from geobias.audits.evidence.bundle import write_evidence
    from geobias.report.runs import shown

    bundle = write_evidence(list(runs), out, rules=rules, with_texts=with_texts)
    typer.echo(f"Evidence: {shown(bundle.resolve())} ({'with' if with_texts else 'without'} texts)")
    typer.echo(f"SHA-256 of its manifest: {hash_manifest(bundle)}")
    typer.echo("Start with README.md. Copy SIGN-OFF.md to sign it, with the SHA-256 above.")
