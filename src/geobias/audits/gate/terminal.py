"""What `geobias gate` prints."""

from __future__ import annotations

import io
from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from geobias.audits.gate.rules import Judgement
from geobias.report.tables import NOTHING, console, format_interval, titled_table

WIDE = 160  # of a table that goes into a message
MEANING = (
    "A rule with < is judged on the high end of the interval, one with > on the low end: a run too small to tell does "
    "not pass. Where a number may lie on either side of 0, its size is meant."
)


def show(judgements: Sequence[Judgement]) -> None:
    out = console()
    out.print(gate_table(judgements))
    for line in list_failures(judgements):
        out.print(line)
    out.print(MEANING, style="dim")


def gate_table(judgements: Sequence[Judgement]) -> Table:
    """A row for each rule and run; every rule is judged, also after one has failed."""
    failed = sum(not judgement.passed for judgement in judgements)
    runs = dict.fromkeys(judgement.run for judgement in judgements)
    title = f"{failed} of {len(judgements)} FAILED" if failed else f"all {len(judgements)} passed"
    table = titled_table(f"Gate: {title}")
    table.add_column("rule", overflow="fold")
    if len(runs) > 1:
        table.add_column("run", overflow="fold")
    for heading in ("value", "95 % interval", "judged"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("")
    for judgement in judgements:
        run = [judgement.run] if len(runs) > 1 else []
        numbers = _digits(judgement.value), format_interval(judgement, ".4g"), _digits(judgement.bound)
        table.add_row(str(judgement.rule), *run, *numbers, "passed" if judgement.passed else "FAILED")
    return table


def list_failures(judgements: Sequence[Judgement]) -> list[str]:
    """For each rule that does not hold a sentence that says why."""
    return [
        f"{judgement.rule} ({judgement.run}): {judgement.explain()}" for judgement in judgements if not judgement.passed
    ]


def gate_text(judgements: Sequence[Judgement]) -> str:
    """The table and the failures as plain text."""
    text = io.StringIO()
    Console(file=text, width=WIDE, highlight=False, markup=False, emoji=False).print(gate_table(judgements))
    return "\n".join([text.getvalue().rstrip(), *list_failures(judgements)])


def _digits(value: float | None) -> str:
    return NOTHING if value is None else f"{value:.4g}"
