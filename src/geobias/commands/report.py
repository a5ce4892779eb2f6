"""`geobias report` and `geobias open`: the page of finished runs, made again from their folders, and opened."""

from __future__ import annotations

import webbrowser
from collections.abc import Sequence
from pathlib import Path

from geobias.errors import InputError
from geobias.report import runs
from geobias.report.page.build import read, save_figures, write_page
from geobias.report.runs import PAGE
from geobias.report.tables import console


def run_report(folders: Sequence[Path], out: Path | None) -> None:
    """One page for all runs in these folders, and every chart of it as SVG and PNG."""
    found = [run for folder in dict.fromkeys(folders) for run in read(folder)]
    if not found:
        raise InputError(f"{folders[0]} names no runs: run the audit again.")
    if out is not None and out.suffix.lower() not in (".html", ".htm"):
        raise InputError(f"--out is the page to write, such as {out / PAGE}.")
    place = out or (folders[0] if len(folders) == 1 else runs.new_folder("report")) / PAGE
    drawings = place.parent / ("figures" if place.name == PAGE else f"{place.stem}-figures")
    try:
        write_page(place, found)
        figures = save_figures(drawings, found)
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
        raise InputError(f"{folder} has no {PAGE}: make it with `geobias report {folder}`.")
    if not webbrowser.open(page.resolve().as_uri()):
        raise InputError(f"No browser could be started here: open {page} yourself.")
    console().print(f"Opened {runs.shown(page.resolve())}", soft_wrap=True)
