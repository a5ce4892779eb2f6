"""What `geobias.audit` returns: the results of several audits, and what they conclude together."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from geobias.report.findings import Finding, with_role
from geobias.report.headlines import state_headline
from geobias.report.notebook import render_result
from geobias.report.results import AuditResult, SavedResult
from geobias.report.run_folder import PAGE


@dataclass(frozen=True, repr=False)
class Overview(SavedResult):
    """The results of every audit that fits the models.

    Attributes
    ----------
    results : dict of str to result
        By audit ("names"), or by audit and model ("regions/gpt2") if several language models were audited.
    scope : list of str
        How much was audited, one sentence for each audit.
    folder : Path or None
        Where the runs and their common page are saved.
    findings : list of Finding
        The conclusions of all audits, in the order of `results`.

    Notes
    -----
    Returned by `audit`. Printing it shows the findings.

    Examples
    --------
    >>> overview = geobias.audit(out="runs/first")  # doctest: +SKIP
    >>> overview.results["names"].to_frame()  # doctest: +SKIP
    """

    results: dict[str, AuditResult] = field(repr=False)
    """By audit ("names"), and by audit and model ("regions/gpt2") where several language models were audited."""
    scope: list[str]
    """What is audited, one sentence for each audit."""
    folder: Path | None = None
    """Where the runs and their common page were saved."""

    @property
    def findings(self) -> list[Finding]:
        """What all audits conclude, in the order of `results`."""
        return [finding for result in self.results.values() for finding in result.findings]

    def _repr_html_(self) -> str:
        return render_result(self._list_lines(), self._list_answers())

    def _list_lines(self) -> list[str]:
        findings = self.findings
        headline = [state_headline(findings)] if findings else []
        page = [f"Page: {self.folder / PAGE}"] if self.folder else []
        return [
            f"Overview: {', '.join(self.results)}. {' '.join(self.scope)}",
            *headline,
            *(f"[{finding.label_with_size}] {finding.audit}: {finding.sentence}" for finding in findings),
            *page,
        ]

    def _list_answers(self) -> Iterator[dict[str, Any]]:
        """The overall answer of every model in every audit."""
        for finding in with_role(self.findings, "overall"):
            size = finding.size
            yield {
                "audit": finding.test,
                "model": finding.model,
                "largest difference": size and size.value,
                "low": size and size.low,
                "high": size and size.high,
                "unit": size and size.unit,
                "evidence": finding.label_with_size,
            }
