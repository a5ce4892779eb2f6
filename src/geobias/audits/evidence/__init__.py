"""Bundles of evidence: finished runs with everything that a reviewer needs, and a manifest that shows any change."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from geobias.audits.finished_runs import Run


def write_evidence(
    runs: Run | Sequence[Run],
    out: str | Path,
    *,
    rules: str | Path | None = None,
    with_texts: bool = False,
) -> Path:
    """Write finished runs as a bundle of evidence: results, pages, versions, data statement, manifest, sign-off sheet.

    The texts that were scored are left out of every file unless `with_texts` is given. `geobias evidence --check
    BUNDLE` and `verify_evidence` find any later change: a line for each file that was changed, is missing or was
    added, and exit code 1. The bundle records tests; it is no certificate. No model is needed.

    Parameters
    ----------
    runs : str, Path, result or sequence of them
        Folders of finished runs, also those of `geobias audit`. In Python also results of audits that were saved.
    out : str or Path
        Folder or .zip file to write. It must not exist; a folder may be empty.
    rules : str or Path, optional
        TOML file of rules to check and include. Default: no rules.
    with_texts : bool, default False
        Include the texts and the files with a row for each text. By default only the SHA-256 of the original files is
        recorded.

    Returns
    -------
    Path
        The bundle.

    Raises
    ------
    InputError
        If a run was not saved or is not finished, if a rule cannot be read, or if `out` exists already.

    Examples
    --------
    >>> import geobias
    >>> geobias.write_evidence("runs/names", "evidence.zip", rules="rules.toml")  # doctest: +SKIP
    PosixPath('evidence.zip')
    """
    from geobias.audits.evidence.bundle import write_bundle
    from geobias.audits.pages import list_several

    return write_bundle(list_several(runs), out, rules=rules, with_texts=with_texts)
