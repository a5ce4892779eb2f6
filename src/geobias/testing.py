"""Gates in a test suite: `assert_gate` checks a result or the folder of a run."""

from __future__ import annotations

from pathlib import Path

from geobias.audits.gate.audit import gate
from geobias.audits.gate.terminal import gate_text
from geobias.report.results import AuditResult


def assert_gate(run: AuditResult | str | Path, *rules: str) -> None:
    """Fail a test unless every rule holds for a finished run.

    Each rule is checked at the worse end of the 95 % interval of its number, as by `geobias gate`.

    Parameters
    ----------
    run : result, str or Path
        The result of an audit, or the folder of a finished run.
    *rules : str
        Rules such as "findings.clear.moderate <= 0" or "names.sentiment.delta.worst < 2.0".

    Raises
    ------
    AssertionError
        If a rule does not hold. The message is the table of all rules with their numbers.
    geobias.InputError
        If a rule or the run cannot be read.

    Examples
    --------
    >>> import geobias
    >>> from geobias.testing import assert_gate
    >>> result = geobias.audit_names(
    ...     "embedded/sentiment", limit=20, countries=["FR", "MA", "US"], draws=4, progress=False
    ... )
    >>> assert_gate(result, "names.sentiment.delta.worst < 30")
    """
    report = gate(run, rules)
    if not report.passed:
        raise AssertionError("\n" + gate_text(report))
