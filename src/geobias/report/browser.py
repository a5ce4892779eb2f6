"""The page of a run in the browser. Nothing heavy is imported here: `geobias report --open` answers at once."""

from __future__ import annotations

import webbrowser
from collections.abc import Iterator
from pathlib import Path

from geobias.errors import InputError
from geobias.report.run_folder import INDEX, RUN, read_json, read_run_paths


def open_page(page: Path) -> None:
    """Open a page in the browser; where there is none, say where the page is."""
    if not webbrowser.open(page.resolve().as_uri()):
        raise InputError(f"Cannot start a browser. Open {page} yourself.")


def find_latest_run(folder: Path) -> Path:
    """The run below a folder that was finished last; one that holds several runs counts by its last one."""
    finished = [(time, run) for run in sorted(folder.glob("*/")) for time in _list_times(run)]
    if not finished:
        raise InputError(
            f"There is no finished run in {folder}/. Run `geobias audit` first, or pass the folder of a run."
        )
    return max(finished)[1]


def _list_times(folder: Path) -> Iterator[str]:
    """When the runs in a folder were finished, as run.json says; none for a folder of something else."""
    for path in read_run_paths(folder) if (folder / INDEX).is_file() else [folder]:
        if (path / RUN).is_file():
            yield str(read_json(path / RUN).get("finished", ""))
