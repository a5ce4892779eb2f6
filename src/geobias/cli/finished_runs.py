"""`geobias report`, `geobias open` and `geobias card`: finished runs as a page, and as a section of a model card."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from geobias.options import Debug

Runs = Annotated[list[Path], typer.Argument(metavar="RUN [RUN ...]", help="Folders of finished runs.")]


def report(
    runs: Runs,
    out: Annotated[
        Path | None,
        typer.Option(help="HTML file to write (default: RUN/report.html; for several runs, in a new folder in runs/)."),
    ] = None,
    debug: Debug = False,
) -> None:
    """Write the report page of finished runs again, without running the model.

    The page is a single HTML file that works offline. Its charts are also written as SVG and PNG. Several runs share
    one page.
    """
    from geobias.audits.finished_runs import figures_folder, write_page_and_figures
    from geobias.report.runs import shown
    from geobias.report.tables import console

    page, figures = write_page_and_figures(runs, out)
    console().print(f"Page: {shown(page.resolve())}", soft_wrap=True)
    folder = shown(figures_folder(page).resolve())
    console().print(f"Figures: {len(figures)} as SVG and PNG in {folder}", soft_wrap=True)


def open_page(
    run: Annotated[
        Path | None,
        typer.Argument(metavar="[RUN]", help="Folder of a finished run (default: the latest in runs/)."),
    ] = None,
    debug: Debug = False,
) -> None:
    """Open the report page of the latest run, or of RUN, in the browser."""
    from geobias.report import browser
    from geobias.report.run_folder import PAGE, RESULTS, add_to_run

    folder = run or browser.find_latest_run(Path("runs"))
    page = folder / PAGE
    if not page.is_file():
        from geobias.audits.pages import blame, read_runs, write_page  # a second of imports, for a missing page

        finished = read_runs(folder)
        with blame([run.folder / RESULTS for run in finished]), add_to_run(folder) as staging:
            write_page(staging / PAGE, finished)
    browser.open_page(page)
    typer.echo(f"Opened {page}")


def card(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Folder of a finished run, or of several.")],
    format: Annotated[
        str,
        typer.Option(
            metavar="FORMAT",
            help="markdown: a section for README.md. model-index: metadata for README.md on the Hugging Face Hub. "
            "eval-results: a file for the folder .eval_results on the Hub.",
        ),
    ] = "markdown",
    benchmark: Annotated[
        str | None,
        typer.Option(metavar="OWNER/NAME", help="Dataset on the Hub that lists the tasks, for --format eval-results."),
    ] = None,
    out: Annotated[Path | None, typer.Option(help="File to write (default: print it).")] = None,
    debug: Debug = False,
) -> None:
    """Write a section for a model card in Markdown: method, numbers with intervals, and limitations.

    For a folder of several runs, the section covers all of them. The numbers alone can also be written as metadata of
    the Hugging Face Hub.
    """
    from geobias.audits import finished_runs
    from geobias.report.runs import shown
    from geobias.report.tables import console

    text = finished_runs.card(run, out=out, format=format, benchmark=benchmark)
    if out is None:
        print(text, end="")
    else:
        console().print(f"Card: {shown(out.resolve())}", soft_wrap=True)
