"""`geobias.compare`: the audit as a Python function."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from geobias.audits.compare.result import CompareResult
    from geobias.report.results import AuditResult


def compare(runs: Sequence[str | Path | AuditResult], *, out: str | Path | None = None) -> CompareResult:
    """Compare finished runs of one audit with the first of them, on the same texts, names, regions and words.

    Parameters
    ----------
    runs : sequence of str, Path or result
        Two or more finished runs: their folders, or results of audits that were saved (`out`).
    out : str or Path, optional
        Folder for the comparison, which is a run itself. Default: nothing is saved.

    Returns
    -------
    CompareResult
        `findings` has the conclusions, and `to_frame()` a row for each difference: the second run minus the first, with
        a 95 % interval and an adjusted p-value.

    Raises
    ------
    InputError
        If there are fewer than two runs, or if they differ in their audit, texts, words or places.

    Examples
    --------
    >>> import geobias
    >>> comparison = geobias.compare(["runs/v1", "runs/v2"], out="runs/v1-v2")  # doctest: +SKIP
    >>> comparison.to_frame().query("is_marked")  # doctest: +SKIP
    """
    from geobias.audits.compare.measure import compare_folders

    return compare_folders(runs, out)
