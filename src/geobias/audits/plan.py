"""`--plan`: what a run would score, how long that would take, and how small an effect it could find.

The time is measured on a few texts, whose scores are not kept. Scores that are stored already are not computed again,
so a run takes at most that long.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

from geobias.audits.served_models import Workload
from geobias.engine.answer_checks import count_checks
from geobias.models.scorer import Scorer
from geobias.report.tables import console, titled_table

FIRST_PROBED, SECONDS_PROBED = 32, 1.5
PILOT_TEXTS, PILOT_DRAWS, PILOT_REGIONS = 24, 8, 12
POWER = 2.8  # standard errors: an effect of that size is detected with 80 % power, tested at 5 %


@dataclass(frozen=True)
class Step:
    """One part of a run: which model scores how many texts, and how long one takes."""

    what: str
    texts: int
    seconds_each: float

    @property
    def seconds(self) -> float:
        return self.texts * self.seconds_each


def timed(what: str, scorer: Scorer, texts: Sequence[str], *, besides: int = 0) -> Step:
    """Time the scorer on neighbouring texts, ever more of them: many that are alike go through a model faster.

    `besides` counts texts that will be scored too, and are no longer than these; so are those that are asked again.
    """
    count = len(texts) + besides + count_checks(scorer, len(texts) + besides)
    start, size = 0, FIRST_PROBED
    scorer.score([texts[0]])  # what happens once (compiling, warming up) is no part of the rate
    while True:
        batch = texts[start : start + size]
        began = time.perf_counter()
        scorer.score(batch)
        seconds = time.perf_counter() - began
        start += len(batch)
        if seconds > SECONDS_PROBED or start >= len(texts):
            return Step(what, count, seconds / len(batch))
        size *= 2


@dataclass(frozen=True)
class Plan:
    """What a run would score, and how small an effect it could find."""

    about: str
    steps: Sequence[Step] = ()
    effects: Sequence[str] = ()
    keeps_scores: bool = True  # whether texts that were scored before are not scored again

    @classmethod
    def of_served(cls, workload: Workload) -> Plan:
        """For a served model nothing is timed: that would send texts."""
        return cls(f"Nothing is sent with --plan. The run would send {workload}")

    @property
    def seconds(self) -> float:
        """The time of all steps together, at most."""
        return sum(step.seconds for step in self.steps)

    def show(self) -> None:
        out = console()
        out.print(self.about)
        if not self.steps:
            return
        table = titled_table("What this run would score", ["model"], ("texts", "texts/s", "at most"))
        for step in self.steps:
            table.add_row(step.what, f"{step.texts:,}", f"{1 / step.seconds_each:,.0f}", format_duration(step.seconds))
        out.print(table)
        remark = "; texts with stored scores take no time" if self.keeps_scores else ""
        out.print(f"Total: at most {format_duration(self.seconds)}{remark}.")
        for effect in self.effects:
            out.print(effect)


def join_plans(plans: Sequence[tuple[str, Plan]], scope: Sequence[str]) -> Plan:
    """One plan of several audits, each with its name; `scope` says what each of them asks."""
    return Plan(
        " ".join(scope),
        [replace(step, what=f"{audit}: {step.what}") for audit, plan in plans for step in plan.steps],
        [effect for _, plan in plans for effect in plan.effects],
    )


def format_duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
