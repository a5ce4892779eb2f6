"""What to do with finished runs: `geobias.read_run`, `write_report`, `gate` and `write_evidence`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from geobias.audits.gate.report import GateReport
    from geobias.audits.overview.result import Overview
    from geobias.report.results import AuditResult

    Run = str | Path | AuditResult | Overview


def read_run(folder: str | Path) -> Any:
    """Read a finished run back as the result that its audit returned.

    `compare`, `gate`, `write_report`, `export` and `write_evidence` take it as well as the folder. Arrays behind the
    numbers are not read.

    Parameters
    ----------
    folder : str or Path
        The folder of a finished run, or of several: those of `audit`, and of `geobias regions` with several models.

    Returns
    -------
    NamesResult, RegionsResult, ... or Overview
        The result of the audit; an `Overview` for the folder of several runs.

    Raises
    ------
    InputError
        If the folder has no finished run, its files were changed, or another version of geobias wrote them.

    Examples
    --------
    >>> import geobias
    >>> geobias.read_run("runs/names").to_frame()  # doctest: +SKIP
    """
    from geobias.audits.pages import read_result

    return read_result(Path(folder))


def write_report(
    runs: Run | Sequence[Run] | None = None, *, out: str | Path | None = None, with_texts: bool = False
) -> Path:
    """Write the report page of finished runs, without running the model; or open it.

    The page is a single HTML file that works offline. Its pictures are also written as SVG, in a folder next to it; the
    page saves each as PNG. Several runs share one page.

    Parameters
    ----------
    runs : str, Path, result or sequence of them, optional
        Folders of finished runs. In Python also results of audits that were saved (`out`). Default: the latest in
        runs/.
    out : str or Path, optional
        HTML file to write. Default: RUN/report.html; for several runs, in a new folder in runs/.
    with_texts : bool, default False
        Put texts of your own files on the page, to be tried with every country. Bundled texts always are.

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
    from geobias.audits.pages import list_several, write_page_and_figures
    from geobias.report.runs import find_latest_run

    several = [find_latest_run(Path("runs"))] if runs is None else list_several(runs)
    return write_page_and_figures(several, None if out is None else Path(out), with_texts=with_texts)


def gate(
    runs: Run | Sequence[Run],
    rule: str | Sequence[str] = (),
    *,
    rules: str | Path | None = None,
    junit: str | Path | None = None,
) -> GateReport:
    """Check finished runs against rules, for CI: each at the worse end of the 95 % interval of its number.

    `geobias gate` ends with exit code 0 if all rules hold, and 1 if not. Paths: findings.clear,
    findings.clear.moderate, names.findings.clear, names.CLASSIFIER.delta.worst, regions.REGION.c_w.balanced,
    downstream.CLASSIFIER.LABEL.worst, find.FINDER.recall.lowest and more (docs/gate.md).

    Parameters
    ----------
    runs : str, Path, result or sequence of them
        Folders of finished runs. In Python also results of audits.
    rule : str or sequence of str, optional
        Rule to check: "findings.clear.moderate <= 0" or "names.sentiment.delta.worst < 2.0".
    rules : str or Path, optional
        TOML file of rules.
    junit : str or Path, optional
        File to write the outcome to, as JUnit XML.

    Returns
    -------
    GateReport
        `passed` says whether all rules hold, and `judgements` why one does not.

    Raises
    ------
    InputError
        If there is no run or no rule; if a rule cannot be read, names a number that no run has, or can never fail
        or never hold; or if the results of a run were changed after it.

    Examples
    --------
    >>> import geobias
    >>> result = geobias.audit_downstream("embedded/hate", limit=10, countries=["IE", "MX"])
    >>> geobias.gate(result, "downstream.hate.hate.worst < 0.9").passed
    True

    >>> geobias.gate(["runs/v1", "runs/v2"], rules="rules.toml", junit="gate.xml").passed  # doctest: +SKIP
    """
    from geobias.audits.gate.report import check_rules

    return check_rules(runs, [rule] if isinstance(rule, str) else rule, rules=rules, junit=junit)


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
