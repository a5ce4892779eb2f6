"""geobias in other tools: `geobias.export`, and a module for each tool, which imports its package when it is used."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from geobias.audits.finished_runs import Run


def export(run: Run, to: str = "card", *, out: str | Path | None = None) -> str:
    """Write a finished run for a model card or the Hugging Face Hub. Texts are left out.

    The card is a section in Markdown: method, numbers with intervals, and limitations.

    Parameters
    ----------
    run : str, Path or result
        Folder of a finished run, or of several. In Python also the result of an audit that was saved (`out`).
    to : str, default "card"
        card: a section for README.md; model-index: metadata for README.md on the Hugging Face Hub.
    out : str or Path, optional
        File to write. Default: print it.
    Returns
    -------
    str
        The section or the metadata.

    Raises
    ------
    InputError
        If the run was not saved, is not finished, or has no section; if the format is unknown; or if `out` would
        replace a file of yours.

    Examples
    --------
    >>> import geobias
    >>> print(geobias.export("runs/names"))  # doctest: +SKIP
    """
    from geobias.checks import describe_choices
    from geobias.errors import InputError
    from geobias.integrations.hugging_face import CARDS, write_card

    if to not in CARDS:
        raise InputError(f"Unknown --to {to!r}. {describe_choices(to, CARDS)}")
    return write_card(run, to=to, out=out)
