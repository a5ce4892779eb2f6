"""What a run would score: `--plan` shows it, and before anything is sent to a server the user agrees to it.

The time is measured on a few texts, whose scores are not kept. Scores that are stored already are not computed again,
so a run takes at most that long. Nothing is sent to a server before the user agrees; who makes an `Endpoint` in Python
has agreed by doing so.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, fields, replace

import numpy as np

from geobias.checks import check_number, describe_choices
from geobias.engine.answer_checks import CHECKED_TEXTS, count_checks
from geobias.engine.ask import find_distinct
from geobias.engine.store import ScoreStore
from geobias.errors import InputError
from geobias.models.answers import Prompt
from geobias.models.endpoint import Endpoint, check_url, warn_about_key
from geobias.models.prompted import PromptedClassifier
from geobias.models.scorer import Classifier, Scorer, probability_columns
from geobias.models.served import ServedClassifier
from geobias.models.served_lm import NoLikelihoods, ServedLM
from geobias.report.tables import console, titled_table
from geobias.texts.templates import select_texts

DEFAULT_CONCURRENCY = 8
# The keys of --server: the field of `Served`, the kind of number, and its bounds. A rate is in calls per second.
LIMITS: dict[str, tuple[str, type[int] | type[float], float, float]] = {
    "calls": ("max_calls", int, 1, 1_000_000_000),
    "rate": ("rate", float, 0.0001, 100_000),
    "at-once": ("concurrency", int, 1, 1_000),
}
LETTERS_A_TOKEN = 4  # about, in English
SAMPLE = 1000  # texts whose length is looked at: those that are made when looked at may be millions


@dataclass(frozen=True)
class Served:
    """A model behind a server, as the options name it."""

    url: str
    model: str
    begin: str = ""
    yes: bool = False
    max_calls: int | None = None
    rate: float | None = None
    concurrency: int = DEFAULT_CONCURRENCY

    def endpoint(self) -> Endpoint:
        return Endpoint(self.url, self.model, concurrency=self.concurrency, rate=self.rate, max_calls=self.max_calls)


def find_served(models: Sequence[str] | None, server: str | None, yes: bool) -> Served | None:
    """The model behind a server among the models of a command; None if there is none. It is audited alone."""
    addresses = [model for model in models or () if model.startswith("http") and "//" in model]
    if not addresses:
        if yes or server is not None:
            raise InputError("--server and --yes need a model behind a server, as http://localhost:8000/v1#my-model.")
        return None
    url, _, model = addresses[0].partition("#")
    check_url(url)  # before it is repeated: it may hold a password
    if not model:
        raise InputError(f"{url} needs the name of the model on the server: {url}#my-model.")
    if len(set(models or ())) > 1:
        raise InputError(f"{url}#{model} is behind a server: audit it without other models.")
    return _read_limits(Served(url, model, yes=yes), server or "")


def _read_limits(served: Served, server: str) -> Served:
    """The options of `--server KEY=VALUE,...`."""
    for entry in filter(None, server.split(",")):
        key, equals, value = entry.partition("=")
        if key == "begin":
            served = replace(served, begin=value)
            continue
        if key not in LIMITS or not equals:
            raise InputError(f"Unknown --server {entry!r}. {describe_choices(key, [*LIMITS, 'begin'])}")
        field, kind, lowest, highest = LIMITS[key]
        try:
            number = kind(value)
        except ValueError:
            raise InputError(f"{key} in --server must be a number, not {value!r}.") from None
        check_number(f"{key} in --server", number, lowest, highest)
        served = replace(served, **{field: number})  # type: ignore[arg-type]
    return served


@dataclass(frozen=True)
class Workload:
    """How much would be sent: texts that no answer is kept for, and about how many tokens they have."""

    texts: int
    tokens: int
    known: int = 0
    again: int = 0
    """Texts that are sent again, to check the answers (`engine.answer_checks`)."""

    def __add__(self, other: Workload) -> Workload:
        return Workload(*(getattr(self, part.name) + getattr(other, part.name) for part in fields(self)))

    def add_checks(self, calls: int = 1) -> Workload:
        """Count what one scorer is asked again, and that it makes so many calls for each text."""
        texts = self.texts + self.known
        again = min(CHECKED_TEXTS, self.known) + min(CHECKED_TEXTS, texts)
        return replace(self, texts=self.texts * calls, tokens=self.tokens * calls, again=again * calls)

    def __str__(self) -> str:
        known = f" ({self.known:,} more are already stored)" if self.known else ""
        again = f", {self.again:,} texts again, to check that the answers stay the same," if self.again else ","
        return (
            f"{self.texts:,} texts with about {self.tokens:,} tokens in total{known}{again} and a few to probe the "
            f"server: about {self.texts + self.again:,} calls at most."
        )


def workload(
    texts: Sequence[str], columns: Sequence[str], fingerprints: Sequence[str], *, name: str, each: int = 0
) -> Workload:
    """What of these texts is not in the store under any of the fingerprints. `each` letters are sent with each."""
    first, *_ = find_distinct(texts)
    known = np.zeros(len(first), dtype=bool)
    for fingerprint in fingerprints:
        known |= ~np.isnan(ScoreStore(fingerprint, columns, name=name).lookup(select_texts(texts, first))[:, 0])
    sample = [len(texts[i]) for i in range(0, len(texts), max(1, len(texts) // SAMPLE))]
    letters = sum(sample) / max(len(sample), 1) + each
    counts = int((~known).sum()), int(known.sum())
    return Workload(counts[0], round(counts[0] * letters / LETTERS_A_TOKEN), counts[1])


def agree(served: Served, load: Workload) -> None:
    """Say what leaves this machine, and ask; with --yes only say it. Raises where the user does not agree."""
    where = served.endpoint().url
    warn_about_key(where)
    limit = "" if served.max_calls is None else f" This run makes at most {served.max_calls:,} calls."
    print(f"This run sends texts to {where}, model {served.model}: {load}{limit}", file=sys.stderr)
    if served.yes:
        return
    if not sys.stdin.isatty():
        raise InputError(f"Sending texts to {where} needs your confirmation. Add --yes.")
    print("Send them? [y/N] ", end="", file=sys.stderr, flush=True)
    if sys.stdin.readline().strip().casefold() not in ("y", "yes"):
        raise InputError("Nothing was sent.")


def served_classifier(served: Served, prompt: Prompt) -> Classifier:
    """By the likelihood of each label's whole word where the server gives it, else by how its answer begins."""
    endpoint = served.endpoint()
    lm = ServedLM(endpoint, begin=served.begin)
    try:
        _ = lm.source
    except NoLikelihoods:
        if prompt.calibrate:
            raise
        return ServedClassifier(endpoint, prompt.template, prompt.words)
    return PromptedClassifier(lm, prompt)


def classification(served: Served, prompt: Prompt, *blocks: Sequence[str]) -> Workload:
    """What it takes to classify these texts, at most: where a server gives likelihoods, every label is scored."""
    endpoint = served.endpoint()
    known = PromptedClassifier(ServedLM(endpoint, begin=served.begin), prompt).known_fingerprints()
    if not prompt.calibrate:
        with suppress(InputError):  # words that begin alike can still be scored as a whole
            known += ServedClassifier(endpoint, prompt.template, prompt.words).known_fingerprints()
    load, columns = Workload(0, 0), probability_columns(prompt.labels)
    for texts in blocks:
        load += workload(texts, columns, known, name=served.model, each=len(prompt.template))
    return load.add_checks(calls=len(prompt.labels))


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
