"""A run as a section of a model card: what was scored, the numbers with their intervals, and what they do not say."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from geobias.audits.reports import describe, list_card_rows
from geobias.report.findings import state_verdict, with_role
from geobias.report.runs import FinishedRun

HEADING = "## Bias by place and nationality"
NULL_LIMIT = "No clear difference does not mean no bias: other words, names or texts may show one."
CLOSING = "These results describe the model on these words, names or texts, not the people of a place."
SPECIAL = re.compile(r"([\\`*_\[\]<>|~#&$])")


def render_card(runs: Sequence[FinishedRun[Any]]) -> str:
    """All runs under one heading, as Markdown: findings, a table of numbers (`card_rows` of each audit), and limits.

    Example texts are left out: a card is public, and they may offend or be private.
    """
    findings = [finding for run in runs for finding in run.result.findings]
    limits = [*dict.fromkeys(plain(finding.limit) for finding in findings)]
    if any(answer.evidence != "clear" for answer in with_role(findings, "overall")):
        limits.append(NULL_LIMIT)
    parts = [
        HEADING,
        *(part for run in runs for part in _describe_run(run)),
        *(["Limits:", format_list(limits)] if limits else []),
        CLOSING,
    ]
    return "\n\n".join(parts) + "\n"


def is_card(text: str) -> bool:
    """Whether a text is a card and nothing else: a README that a card was pasted into has more around it."""
    return text.startswith(HEADING) and text.rstrip().endswith(CLOSING)


def plain(text: str) -> str:
    """Text that Markdown shows unchanged, on one line and within one cell."""
    return SPECIAL.sub(r"\\\1", " ".join(text.split()))


def _describe_run(run: FinishedRun[Any]) -> Iterator[str]:
    findings = run.result.findings
    if findings:
        yield f"**{plain(state_verdict(findings))}**"
    yield plain(describe(run.result))
    if findings:
        yield format_list([f"*{finding.label_with_size}*: {plain(finding.sentence)}" for finding in findings])
    rows = list_card_rows(run.result)
    if rows:
        yield _format_table(rows)
    measured = f"Measured by geobias {plain(run.result.versions['geobias'])} on {run.description.finished[:10]}."
    if run.description.command:
        yield f"{measured} To repeat it:"
        yield _format_command(run.description.command)
    else:
        yield f"{measured} The settings are in the run's run.json."


def format_list(lines: Iterable[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)


def _format_table(rows: Sequence[dict[str, str]]) -> str:
    head, *lines = ["| " + " | ".join(map(plain, line)) + " |" for line in (rows[0], *(row.values() for row in rows))]
    return "\n".join([head, "|" + "---|" * len(rows[0]), *lines])


def _format_command(command: str) -> str:
    """A block of code whose fence is longer than any in it. Where the results went is nobody else's matter."""
    words = shlex.split(command)
    text = shlex.join(
        word
        for before, word in zip(["", *words], words, strict=False)
        if "--out" not in (word, before) and not word.startswith("--out=")
    )
    fence = "`" * max(3, 1 + max(map(len, re.findall("`+", text)), default=0))
    return f"{fence}\n{text}\n{fence}"
