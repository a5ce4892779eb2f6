"""`geobias report` and `geobias open`: the page of finished runs, made again from their folders, and opened."""

from __future__ import annotations

import webbrowser
from collections.abc import Sequence
from pathlib import Path

from geobias.errors import InputError
from geobias.files import check_replaceable
from geobias.report import runs
from geobias.report.page.build import is_page, read, save_figures, write_page
from geobias.report.run_folder import PAGE, add_to_run, holds_run, write_folder
from geobias.report.tables import console


def run_report(folders: Sequence[Path], out: Path | None) -> None:
    """One page for all runs in these folders, and every chart of it as SVG and PNG."""
    found = [run for folder in dict.fromkeys(folders) for run in read(folder)]
    if not found:
        raise InputError(f"{folders[0]} names no runs: run the audit again.")
    if out is not None and out.suffix.lower() not in (".html", ".htm"):
        raise InputError(f"--out is the page to write, such as {out / PAGE}.")
    try:
        is_own_page = len(folders) == 1 and (out is None or out.resolve() == (folders[0] / PAGE).resolve())
        if is_own_page:
            place, drawings = folders[0] / PAGE, folders[0] / "figures"
            with add_to_run(folders[0]) as staging:
                write_page(staging / PAGE, found)
                figures = save_figures(staging / "figures", found)
        else:
            place = out or runs.new_folder("report") / PAGE
            drawings = place.parent / ("figures" if place.name == PAGE else f"{place.stem}-figures")
            if holds_run(place.parent):
                raise InputError(f"{place.parent} holds a run of its own: choose another --out.")
            check_replaceable(place, is_page)
            with write_folder(drawings, "figures of a report") as staging:
                figures = save_figures(staging, found)
            write_page(place, found)
    except (KeyError, TypeError, IndexError, ValueError) as error:
        raise InputError(
            f"These runs cannot be shown ({type(error).__name__}: {error}): another version may have made them; run "
            "the same audits again."
        ) from error
    shown = console()
    shown.print(f"Page: {runs.shown(place.resolve())}", soft_wrap=True)
    shown.print(f"Figures: {len(figures)} as SVG and PNG in {runs.shown(drawings.resolve())}", soft_wrap=True)


def run_open(folder: Path) -> None:
    page = folder / PAGE
    if not page.is_file():
        finished = read(folder)
        with add_to_run(folder) as staging:
            write_page(staging / PAGE, finished)
    if not webbrowser.open(page.resolve().as_uri()):
        raise InputError(f"No browser could be started here: open {page} yourself.")
    console().print(f"Opened {runs.shown(page.resolve())}", soft_wrap=True)
