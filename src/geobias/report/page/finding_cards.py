"""Findings on the page: in groups, with their numbers in words, and their texts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from geobias.report.findings import ExampleText, Finding, Role, format_p, with_role
from geobias.report.page.blocks import Example
from geobias.report.page.marked_text import mark_names

ROLE_TITLES: Final[dict[Role, str]] = {
    "overall": "Overall",
    "detail": "What stands out",
    "caution": "Cautions: what may be an artefact",
}
MOST_PRINTED: Final[dict[Role, int]] = {"overall": 10, "detail": 5, "caution": 4}  # so that they fill one page


@dataclass(frozen=True)
class FindingGroup:
    """Findings of one audit. What all of them have in common is said once."""

    audit: str
    findings: Sequence[Finding]

    @property
    def question(self) -> str | None:
        return _common([finding.question for finding in self.findings])

    @property
    def limit(self) -> str | None:
        return _common([finding.limit for finding in self.findings])

    @property
    def next_step(self) -> str | None:
        return _common([finding.next_step for finding in self.findings])


def group_findings(findings: Sequence[Finding]) -> dict[Role, list[FindingGroup]]:
    """By role, then by audit in the order in which they come; roles without findings are left out."""
    groups = {role: list(_group_by_audit(with_role(findings, role))) for role in ROLE_TITLES}
    return {role: each for role, each in groups.items() if each}


def _group_by_audit(findings: Sequence[Finding]) -> Iterator[FindingGroup]:
    for audit in dict.fromkeys(finding.audit for finding in findings):
        yield FindingGroup(audit, [finding for finding in findings if finding.audit == audit])


def _common(texts: Sequence[str]) -> str | None:
    return texts[0] if len(texts) > 1 and len(set(texts)) == 1 else None


def describe_numbers(finding: Finding) -> str:
    """Size, interval and p-value in a line; empty where there are none."""
    parts = []
    if finding.size is not None:
        parts.append(f"{describe_size(finding)}{_in_parentheses(describe_interval(finding))}")
    if finding.p_adjusted is not None:
        parts.append(format_p(finding.p_adjusted))
    return " · ".join(parts)


def describe_size(finding: Finding) -> str:
    return "" if finding.size is None else f"{_number(finding.size.value)} {finding.size.unit}"


def describe_interval(finding: Finding) -> str:
    size = finding.size
    if size is None or size.low is None or size.high is None:
        return ""
    return f"95 % interval {_number(size.low)} to {_number(size.high)}"


def show_example(example: ExampleText, finding: Finding) -> Example:
    """An example with its names marked, as the page shows real texts."""
    return Example(
        finding.subject or "changed",
        mark_names(example.original, example.original_names, "was"),
        mark_names(example.changed, example.changed_names, "is", example.original_names),
        [{"label": example.label, "before": example.before, "after": example.after}],
        "control" if finding.audit == "downstream" else "original",
    )


def _in_parentheses(text: str) -> str:
    return f" ({text})" if text else ""


def _number(value: float) -> str:
    """Three significant digits, with a minus sign and not a hyphen."""
    return f"{value:.3g}".replace("-", "−")
