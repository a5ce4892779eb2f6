"""A run as a section of a model card: what was asked, the numbers with their intervals, and what they do not say."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from typing import Any

from geobias.audits.registry import get_audit
from geobias.report.runs import FinishedRun

HEADING = "## Bias by place and nationality"
LIMITS = (
    "These numbers speak of the model and of the words, names or texts put before it, not of the people of a place.",
    "No finding does not mean no bias: other words, names or texts may show one; mind how wide the intervals are.",
)
SPECIAL = re.compile(r"([\\`*_\[\]<>|~#&$])")

Row = dict[str, str]


def render_card(runs: Sequence[FinishedRun[Any]]) -> str:
    """All runs under one heading, as Markdown; `card_rows` in the `summary.py` of their audits gives the tables."""
    parts = [HEADING, *(part for run in runs for part in _describe_run(run)), "  \n".join(LIMITS)]
    return "\n\n".join(parts) + "\n"


def is_card(text: str) -> bool:
    """Whether a text is a card and nothing else: a README that a card was pasted into has more around it."""
    return text.startswith(HEADING) and text.rstrip().endswith(LIMITS[-1])


def plain(text: str) -> str:
    """Text that Markdown shows as it is, on one line and within one cell."""
    return SPECIAL.sub(r"\\\1", " ".join(text.split()))


def _describe_run(run: FinishedRun[Any]) -> Iterator[str]:
    audit = get_audit(run.result.audit)
    yield plain(audit.load("page", "describe")(run.result))
    rows = list(audit.load("gate_and_card", "card_rows")(run.result))
    if rows:
        yield _table(rows)
    version, day = run.result.versions["geobias"], run.description.finished[:10]
    measured = f"Measured by geobias {plain(version)} on {day}."
    if run.description.command:
        yield f"{measured} To repeat it:"
        yield _code(_without_place(run.description.command))
    else:
        yield f"{measured} The settings are in the run's run.json."


def _without_place(command: str) -> str:
    """Where the results went is nobody else's matter."""
    words = shlex.split(command)
    kept = [
        word
        for before, word in zip(["", *words], words, strict=False)
        if "--out" not in (word, before) and not word.startswith("--out=")
    ]
    return shlex.join(kept)


def _table(rows: Sequence[Row]) -> str:
    lines = [list(rows[0]), *(list(row.values()) for row in rows)]
    shown = ["| " + " | ".join(map(plain, line)) + " |" for line in lines]
    return "\n".join([shown[0], "|" + "---|" * len(rows[0]), *shown[1:]])


def _code(text: str) -> str:
    """A block whose fence is longer than any in it."""
    fence = "`" * max(3, 1 + max(map(len, re.findall("`+", text)), default=0))
    return f"{fence}\n{text}\n{fence}"
