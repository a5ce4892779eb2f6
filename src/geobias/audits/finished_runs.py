"""`geobias.write_report` and `geobias.card`: finished runs as a page, and as a section of a model card."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from geobias.audits.hub_metadata import is_hub_metadata, render_eval_results, render_model_index
from geobias.audits.model_card import is_card, render_card
from geobias.audits.pages import find_run_folder, read_runs, reads_runs, save_figures, write_page
from geobias.audits.registry import audits_with
from geobias.checks import describe_choices
from geobias.errors import InputError
from geobias.files import check_replaceable, save_file
from geobias.report.page.build import is_page
from geobias.report.results import AuditResult
from geobias.report.run_folder import PAGE, add_to_run, holds_run, write_folder
from geobias.report.runs import new_folder

Run = str | Path | AuditResult
CARD_FORMATS = ("markdown", "model-index", "eval-results")


def write_report(runs: Run | Sequence[Run], *, out: str | Path | None = None) -> Path:
    """Write one page for finished runs: findings, maps, charts, texts and limits.

    No model is needed. The page is a single file that works without a network. Its charts are also saved as SVG and PNG
    in a folder next to it.

    Parameters
    ----------
    runs : str, Path, result or sequence of them
        Finished runs: their folders, or results of audits that were saved (`out`).
    out : str or Path, optional
        Page to write, such as "page.html". Default: RUN/report.html for one run, a new folder under runs/ for several.

    Returns
    -------
    Path
        The page.

    Raises
    ------
    InputError
        If a run was not saved or is not finished, or if `out` is not a page or would replace a file of yours.

    Examples
    --------
    >>> import geobias
    >>> geobias.write_report(["runs/v1", "runs/v2"], out="versions.html")  # doctest: +SKIP
    PosixPath('versions.html')
    """
    several = [runs] if isinstance(runs, str | Path | AuditResult) else runs
    return write_page_and_figures(several, None if out is None else Path(out))[0]


@reads_runs
def write_page_and_figures(runs: Sequence[Run], page: Path | None) -> tuple[Path, list[str]]:
    """The page of these runs, and the names of its charts."""
    folders = list(dict.fromkeys(map(find_run_folder, runs)))
    finished = [run for folder in folders for run in read_runs(folder)]
    if not finished:
        raise InputError(f"{folders[0]} has no runs. Run the audit again." if folders else "Pass at least one run.")
    if page is not None and page.suffix.lower() not in (".html", ".htm"):
        raise InputError(f"--out must be an HTML file, such as {page / PAGE}.")
    if len(folders) == 1 and (page is None or page.resolve() == (folders[0] / PAGE).resolve()):
        with add_to_run(folders[0]) as staging:
            write_page(staging / PAGE, finished)
            figures = save_figures(staging / "figures", finished)
        return folders[0] / PAGE, figures
    page = page or new_folder("report") / PAGE
    if holds_run(page.parent):
        raise InputError(f"{page.parent} is the folder of another run. Choose another --out.")
    check_replaceable(page, is_page)
    with write_folder(figures_folder(page), "figures of a report") as staging:
        figures = save_figures(staging, finished)
    write_page(page, finished)
    return page, figures


def figures_folder(page: Path) -> Path:
    """The folder of a page's charts, as SVG and PNG."""
    return page.parent / ("figures" if page.name == PAGE else f"{page.stem}-figures")


@reads_runs
def card(run: Run, *, out: str | Path | None = None, format: str = "markdown", benchmark: str | None = None) -> str:
    """Describe a finished run for a model card: what was audited, the numbers and their limits.

    Parameters
    ----------
    run : str, Path or result
        A finished run: its folder (also one of several runs), or the result of an audit that was saved (`out`).
    out : str or Path, optional
        File to write it to. Default: none.
    format : {"markdown", "model-index", "eval-results"}, default "markdown"
        What to write:

        - "markdown": a section for README.md;
        - "model-index": the numbers as metadata of README.md on the Hugging Face Hub, in YAML;
        - "eval-results": the numbers as a file for the folder .eval_results of a repository on the Hub.
    benchmark : str, optional
        The dataset on the Hub that lists the tasks, as "owner/name". Needed for "eval-results" only.

    Returns
    -------
    str
        The section, as Markdown, or the metadata, as YAML.

    Raises
    ------
    InputError
        If the run was not saved, is not finished, or has no section; if `format` is unknown or lacks its `benchmark`;
        or if `out` would replace a file of yours.

    Examples
    --------
    >>> import geobias
    >>> print(geobias.card("runs/names"))  # doctest: +SKIP
    """
    if format not in CARD_FORMATS:
        raise InputError(f"Unknown format {format!r}. {describe_choices(format, CARD_FORMATS)}")
    if benchmark is not None and format != "eval-results":
        raise InputError("--benchmark needs --to eval-results. Use both, or neither.")
    runs = read_runs(find_run_folder(run), audits_with("gate_and_card", "card_rows"))
    if format == "model-index":
        text = render_model_index(runs)
    elif format == "eval-results":
        text = render_eval_results(runs, benchmark)
    else:
        text = render_card(runs)
    if out is not None:
        check_replaceable(Path(out), is_card if format == "markdown" else is_hub_metadata)
        save_file(Path(out), text.encode())
    return text
