"""Findings on the page: in groups, with their numbers in words, and their texts."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from markupsafe import Markup

from geobias.report.findings import ExampleText, Finding, Role, format_p, with_role
from geobias.report.page.blocks import Example, Part

ROLE_TITLES: Final[dict[Role, str]] = {
    "overall": "Overall",
    "detail": "What stands out",
    "caution": "Cautions: what may be an artefact",
}
MOST_PRINTED: Final[dict[Role, int]] = {"overall": 10, "detail": 5, "caution": 4}  # so that they fill one page


QUOTED = re.compile(r"(?<!\w)&#39;.+?&#39;(?!\w)")  # in HTML: not the apostrophe of a name


def mark_names(text: str, names: Sequence[str | None], mark: str, original_names: Sequence[str] = ()) -> list[Part]:
    """The text in pieces, those that are one of the names, or a word of it, with the mark.

    A name in place of an original one follows its case: lower, upper, or as it is.
    """
    words = {word for name in names if name for word in [name, *name.split()]}
    if original_names:
        words |= {word.lower() for word in words if any(name.islower() for name in original_names)}
        words |= {word.upper() for word in words if any(name.isupper() for name in original_names)}
    if not words:
        return [(text, None)]
    pattern = "|".join(re.escape(word) for word in sorted(words, key=len, reverse=True))
    pieces = re.split(rf"(?<!\w)((?:{pattern})(?:\s+(?:{pattern}))*)(?!\w)", text)
    return [(piece, mark if k % 2 else None) for k, piece in enumerate(pieces) if piece]


def split_code(text: str) -> list[tuple[str, bool]]:
    """The text in pieces; code is the text between backticks, and a command that ends the text after a colon."""
    pieces = re.split(r"`([^`]+)`|(?<=: )(geobias [a-z].*)$", text)
    return [(piece, k % 3 != 0) for k, piece in enumerate(pieces) if piece]


def hide_quoted_words(html: Markup) -> Markup:
    """The HTML with every word in single quotes set off, so that the page's switch can hide it."""
    hidden = '<span class="texts">\\g<0></span><span class="hidden-word">a word</span>'
    return Markup(QUOTED.sub(hidden, str(html)))


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
