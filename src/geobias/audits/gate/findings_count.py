"""Counts of clear findings as numbers of a gate: `findings.clear`, and `findings.clear.moderate` of those not small."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from geobias.report.findings import Finding, with_role
from geobias.report.number_tree import NOT_NEGATIVE, NumberTree, Range, TreeNumber, model_names
from geobias.report.results import AuditResult

FINDINGS, CLEAR, MODERATE = "findings", "clear", "moderate"
UNTESTED = "not tested, so it cannot pass"
NO_FINDINGS = "This run has no overall answer: run the audit again."


@dataclass(frozen=True)
class FindingsCount(TreeNumber):
    """How many findings are clear, with their sentences; `untested` has those of answers that could not be tested."""

    within: Range = NOT_NEGATIVE
    clear: tuple[str, ...] = ()

    def explain(self) -> str:
        """What breaks a rule: what is clear, and what could not be tested, since nothing is known of it."""
        clear = f"{len(self.clear)} clear finding{'' if len(self.clear) == 1 else 's'}: {' '.join(self.clear)}"
        untested = f"{UNTESTED}: {self.untested}"
        return "; ".join([clear] * bool(self.clear or not self.untested) + [untested] * bool(self.untested))


def count_findings(result: AuditResult) -> NumberTree:
    """AUDIT.findings.clear, and AUDIT.MODEL.findings.clear for each model that findings are about.

    Each with `moderate` below it: a size without a word (a distance) counts, since it may be large.
    """
    models = dict.fromkeys(finding.model for finding in with_role(result.findings, "overall"))
    by_model = [
        (model_names(model), _node([finding for finding in result.findings if finding.model == model]))
        for model in models
        if model.casefold() != FINDINGS  # such a path counts those of all models
    ]
    return NumberTree([((FINDINGS,), _clear_node(result.findings)), *by_model])


def _node(findings: Sequence[Finding]) -> NumberTree:
    return NumberTree([((FINDINGS,), _clear_node(findings))])


def _clear_node(findings: Sequence[Finding]) -> NumberTree:
    """Cautions are warnings about a number, not findings of their own."""
    answers = with_role(findings, "overall")
    clear = [finding for finding in findings if finding.evidence == "clear" and finding.role != "caution"]
    moderate = [finding for finding in clear if finding.size_word not in ("tiny", "small")]
    untested = [answer.sentence for answer in answers if answer.evidence == "not testable"]
    counts = [_count(each, " ".join(untested if answers else [NO_FINDINGS])) for each in (clear, moderate)]
    return NumberTree([((CLEAR,), NumberTree([((MODERATE,), counts[1])], counts[0]))])


def _count(findings: Sequence[Finding], untested: str) -> FindingsCount:
    sentences = tuple(
        f"({finding.size_word}) {finding.sentence}" if finding.size_word else finding.sentence for finding in findings
    )
    return FindingsCount(len(sentences), untested=untested, clear=sentences)
