"""`geobias.gate`: rules about the numbers and the findings of finished runs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from geobias.audits.finished_runs import Run
    from geobias.audits.gate.report import GateReport


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
