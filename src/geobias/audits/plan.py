"""`--plan`: what a run would ask, how long that would take, and how small an effect it could find; from a short probe.

Nothing of the probe is kept, and what the store already knows is not asked for: the time is what it takes at most.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from geobias.audits.served_models import Workload
from geobias.models.scorer import Scorer
from geobias.report.tables import console, titled_table

FIRST_PROBED, SECONDS_PROBED = 32, 1.5
PILOT_TEXTS, PILOT_DRAWS, PILOT_REGIONS = 12, 4, 12
POWER = 2.8  # standard errors: an effect of that size is found 4 times of 5, tested at 5 %


@dataclass(frozen=True)
class Step:
    """One part of a run: who is asked about how many texts, and batch of them to time it with."""

    what: str
    texts: int
    seconds_each: float


def timed(what: str, scorer: Scorer, texts: Sequence[str], *, besides: int = 0) -> Step:
    """Time the scorer on neighbouring texts, ever more of them: many that are alike go through a model faster.

    `besides` counts texts that will be asked too, and are no longer than these.
    """
    start, size, seconds = 0, FIRST_PROBED, 0.0
    scorer.score([texts[0]])  # what happens once (compiling, warming up) is no part of the rate
    while True:
        batch = texts[start : start + size]
        began = time.perf_counter()
        scorer.score(batch)
        seconds = time.perf_counter() - began
        start += len(batch)
        if seconds > SECONDS_PROBED or start >= len(texts):
            return Step(what, len(texts) + besides, seconds / len(batch))
        size *= 2


@dataclass(frozen=True)
class Plan:
    """What a run would ask, and how small an effect it could find."""

    about: str
    steps: Sequence[Step] = ()
    effects: Sequence[str] = ()

    @classmethod
    def of_served(cls, workload: Workload) -> Plan:
        """For a served model nothing is timed: that would send texts."""
        return cls(f"Nothing is sent now. It would be: {workload}")

    def show(self) -> None:
        out = console()
        out.print(self.about)
        if not self.steps:
            return
        table = titled_table("What this run would ask")
        table.add_column("of", overflow="fold")
        for heading in ("texts", "texts/s", "at most"):
            table.add_column(heading, justify="right", no_wrap=True)
        for step in self.steps:
            seconds = step.texts * step.seconds_each
            table.add_row(step.what, f"{step.texts:,}", f"{1 / step.seconds_each:,.0f}", _duration(seconds))
        out.print(table)
        total = sum(step.texts * step.seconds_each for step in self.steps)
        out.print(f"Together at most {_duration(total)}; texts scored before are free.")
        for effect in self.effects:
            out.print(effect)


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
