"""geobias in other tools: `geobias.export`, and a module for each tool, which imports its package when it is used."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from geobias.audits.finished_runs import Run

RECORDS, HUB = "every-eval-ever", "hub:"


def export(
    run: Run,
    to: str = "card",
    *,
    out: str | Path | None = None,
    benchmark: str | None = None,
    developer: str | None = None,
    send: bool = False,
) -> str:
    """Write a finished run for a model card, the Hugging Face Hub or another tool. Texts are left out.

    The card is a section in Markdown: method, numbers with intervals, and limitations. For hub:OWNER/NAME nothing is
    sent without `send`: it reads README.md of the model and returns the new files. A section from an earlier run is
    replaced. Log in first with `hf auth login`.

    Parameters
    ----------
    run : str, Path or result
        Folder of a finished run, or of several. In Python also the result of an audit that was saved (`out`).
    to : str, default "card"
        card: a section for README.md; model-index: metadata for README.md on the Hugging Face Hub; eval-results: a file
        for the folder .eval_results on the Hub; every-eval-ever: JSON with confidence intervals; hub:OWNER/NAME: a pull
        request on the Hub with the card.
    out : str or Path, optional
        File to write; for every-eval-ever a folder (data). Default: print it.
    benchmark : str, optional
        Dataset on the Hub that lists the tasks, for eval-results; with hub:OWNER/NAME it adds that file.
    developer : str, optional
        Developer of the model, for every-eval-ever. Default: the first part of its name.
    send : bool, default False
        Whether to open the pull request. Default: show what it would hold.

    Returns
    -------
    str
        The section or the metadata; for every-eval-ever the paths of the files, for the Hub the files of the pull
        request or its URL.

    Raises
    ------
    InputError
        If the run was not saved, is not finished, or has no section; if the format is unknown or lacks its `benchmark`;
        or if `out` would replace a file of yours.
    GeobiasError
        If the Hub does not answer.

    Examples
    --------
    >>> import geobias
    >>> print(geobias.export("runs/names"))  # doctest: +SKIP
    """
    from geobias.checks import describe_choices
    from geobias.errors import InputError
    from geobias.integrations.hugging_face import CARDS, propose_card, write_card

    if to.startswith(HUB):
        return propose_card(to.removeprefix(HUB), run, benchmark=benchmark, send=send)
    if to == RECORDS:
        from geobias.integrations.every_eval_ever import export_run

        return "\n".join(map(str, export_run(run, out or "data", developer=developer)))
    if to in CARDS:
        return write_card(run, to=to, out=out, benchmark=benchmark)
    raise InputError(f"Unknown --to {to!r}. {describe_choices(to, (*CARDS, RECORDS, f'{HUB}OWNER/NAME'))}")
