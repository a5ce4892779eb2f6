"""`geobias report`, `geobias open` and `geobias card`: finished runs as a page, and as a section of a model card."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from geobias.errors import InputError
from geobias.options import Debug

Runs = Annotated[list[Path], typer.Argument(metavar="RUN [RUN ...]", help="Folders of finished runs.")]


def report(
    runs: Runs,
    out: Annotated[
        Path | None,
        typer.Option(
            help="The page to write. Unless given: RUN/report.html; for several runs a new folder under runs/."
        ),
    ] = None,
    debug: Debug = False,
) -> None:
    """One page of finished runs, made again without the model: maps, charts, texts, and what they do not say.

    A single file that needs no network. Its charts are also left as SVG and PNG. Several runs share one page.
    """
    from geobias.audits.pages import read_runs, save_figures, write_page
    from geobias.files import check_replaceable
    from geobias.report.page.build import is_page
    from geobias.report.run_folder import PAGE, add_to_run, holds_run, write_folder
    from geobias.report.runs import new_folder, shown
    from geobias.report.tables import console

    finished = [run for folder in dict.fromkeys(runs) for run in read_runs(folder)]
    if not finished:
        raise InputError(f"{runs[0]} names no runs: run the audit again.")
    if out is not None and out.suffix.lower() not in (".html", ".htm"):
        raise InputError(f"--out is the page to write, such as {out / PAGE}.")
    if len(runs) == 1 and (out is None or out.resolve() == (runs[0] / PAGE).resolve()):
        page, figures_folder = runs[0] / PAGE, runs[0] / "figures"
        with add_to_run(runs[0]) as staging:
            write_page(staging / PAGE, finished)
            figures = save_figures(staging / "figures", finished)
    else:
        page = out or new_folder("report") / PAGE
        figures_folder = page.parent / ("figures" if page.name == PAGE else f"{page.stem}-figures")
        if holds_run(page.parent):
            raise InputError(f"{page.parent} holds a run of its own: choose another --out.")
        check_replaceable(page, is_page)
        with write_folder(figures_folder, "figures of a report") as staging:
            figures = save_figures(staging, finished)
        write_page(page, finished)
    console().print(f"Page: {shown(page.resolve())}", soft_wrap=True)
    console().print(f"Figures: {len(figures)} as SVG and PNG in {shown(figures_folder.resolve())}", soft_wrap=True)


def open_page(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The folder of a finished run.")],
    debug: Debug = False,
) -> None:
    """Open the page of a finished run in the browser."""
    import webbrowser

    from geobias.audits.pages import read_runs, write_page
    from geobias.report.run_folder import PAGE, add_to_run
    from geobias.report.runs import shown
    from geobias.report.tables import console

    page = run / PAGE
    if not page.is_file():
        finished = read_runs(run)
        with add_to_run(run) as staging:
            write_page(staging / PAGE, finished)
    if not webbrowser.open(page.resolve().as_uri()):
        raise InputError(f"No browser could be started here: open {page} yourself.")
    console().print(f"Opened {shown(page.resolve())}", soft_wrap=True)


def card(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The folder of a finished run.")],
    out: Annotated[Path | None, typer.Option(help="The file to write; the terminal unless given.")] = None,
    debug: Debug = False,
) -> None:
    """A short section for a model card, as Markdown: what was asked, the numbers with their intervals, and limits.

    Of a folder that holds several runs, all of them.
    """
    from geobias.audits.model_card import is_card, render_card
    from geobias.audits.pages import read_runs
    from geobias.audits.registry import audits_with
    from geobias.files import check_replaceable, write_whole, writing
    from geobias.report.runs import shown
    from geobias.report.tables import console

    text = render_card(read_runs(run, audits_with("gate_and_card", "card_rows")))
    if out is None:
        print(text, end="")
        return
    check_replaceable(out, is_card)
    with writing(out):
        out.parent.mkdir(parents=True, exist_ok=True)
        write_whole(out, text.encode())
    console().print(f"Card: {shown(out.resolve())}", soft_wrap=True)
