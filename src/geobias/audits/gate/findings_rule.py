"""Rules about findings: `findings.clear <= 0` holds where no finding is clear and every answer could be tested."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from geobias.report.findings import Finding, with_role
from geobias.report.number_tree import NumberTree, TreeNumber, model_names
from geobias.report.results import AuditResult

FINDINGS, CLEAR = "findings", "clear"
NO_FINDINGS = "This run has no overall answer: run the audit again."


@dataclass(frozen=True)
class FindingsCount(TreeNumber):
    """How many findings are clear, with their sentences, and the answers that could not be tested."""

    clear: tuple[str, ...] = ()
    untested: tuple[str, ...] = ()

    def explain(self) -> str:
        """What breaks a rule: first what could not be tested, since nothing is known of it."""
        if self.untested:
            return f"not tested, so it cannot pass: {' '.join(self.untested)}"
        return f"{len(self.clear)} clear finding{'' if len(self.clear) == 1 else 's'}: {' '.join(self.clear)}"


def count_findings(result: AuditResult) -> NumberTree:
    """AUDIT.findings.clear, and AUDIT.MODEL.findings.clear for each model that findings are about."""
    models = dict.fromkeys(finding.model for finding in with_role(result.findings, "overall"))
    by_model = [
        (model_names(model), _node([finding for finding in result.findings if finding.model == model]))
        for model in models
    ]
    return NumberTree([((FINDINGS,), _clear_node(result.findings)), *by_model])


def _node(findings: Sequence[Finding]) -> NumberTree:
    return NumberTree([((FINDINGS,), _clear_node(findings))])


def _clear_node(findings: Sequence[Finding]) -> NumberTree:
    """Cautions are warnings about a number, not findings of their own."""
    answers = with_role(findings, "overall")
    clear = tuple(finding.sentence for finding in findings if finding.evidence == "clear" and finding.role != "caution")
    untested = tuple(answer.sentence for answer in answers if answer.evidence == "not testable")
    return NumberTree([((CLEAR,), FindingsCount(len(clear), clear=clear, untested=untested or _require(answers)))])


def _require(answers: Sequence[Finding]) -> tuple[str, ...]:
    return () if answers else (NO_FINDINGS,)
