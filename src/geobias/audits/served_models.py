"""Models behind a server, at the command line: what would be sent, whether the user agrees, and how they are called.

Nothing is sent before the user agrees. Who makes an `Endpoint` in Python has agreed by doing so.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, fields, replace

import numpy as np

from geobias.checks import check_number
from geobias.engine.answer_checks import CHECKED_TEXTS
from geobias.engine.ask import find_distinct
from geobias.engine.store import ScoreStore
from geobias.errors import InputError
from geobias.models.classifiers.prompted import Prompt, PromptedClassifier
from geobias.models.scorer import Classifier, probability_columns
from geobias.models.served.chat_classifier import ServedClassifier
from geobias.models.served.connection import warn_about_key
from geobias.models.served.endpoint import Endpoint
from geobias.models.served.likelihoods import NoLikelihoods
from geobias.models.served.served_lm import ServedLM
from geobias.texts.lazy_texts import select_texts

MOST_CALLS, DEFAULT_CONCURRENCY, MOST_AT_ONCE = 1_000_000_000, 8, 1_000
RATES = 0.0001, 100_000  # calls a second: from one in three hours
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


def served_by(
    url: str | None,
    model: str | None,
    others: Sequence[str] | None,
    *,
    begin: str | None,
    yes: bool,
    max_calls: int | None,
    rate: float | None,
    concurrency: int | None,
) -> Served | None:
    """From the options of the command line; None without an endpoint. `others` are models named next to them."""
    if url is None:
        if model is not None or yes or any(option is not None for option in (begin, max_calls, rate, concurrency)):
            raise InputError("--model, --begin, --yes, --max-calls, --rate and --concurrency need --endpoint URL.")
        return None
    if model is None:
        raise InputError("--endpoint needs --model: the name of the model on the server.")
    if others:
        raise InputError(f"Use either --endpoint with --model, or local models ({', '.join(others)}), not both.")
    if max_calls is not None:
        check_number("--max-calls", max_calls, 1, MOST_CALLS)
    if rate is not None:
        check_number("--rate", rate, *RATES)
    concurrency = DEFAULT_CONCURRENCY if concurrency is None else concurrency
    check_number("--concurrency", concurrency, 1, MOST_AT_ONCE)
    return Served(url, model, begin or "", yes, max_calls, rate, concurrency)


@dataclass(frozen=True)
class Workload:
    """How much would be sent: texts that no answer is kept for, and about how many tokens they have."""

    texts: int
    tokens: int
    known: int = 0
    known_tokens: int = 0
    again: int = 0
    """Texts that are sent again, to check the answers (`engine.answer_checks`)."""
    again_tokens: int = 0

    def __add__(self, other: Workload) -> Workload:
        return Workload(*(getattr(self, part.name) + getattr(other, part.name) for part in fields(self)))

    def add_checks(self, calls: int = 1) -> Workload:
        """Count what one scorer is asked again, and that it makes so many calls for each text."""
        texts = self.texts + self.known
        again = min(CHECKED_TEXTS, self.known) + min(CHECKED_TEXTS, texts)
        again_tokens = round(again * (self.tokens + self.known_tokens) / max(texts, 1))
        return replace(
            self,
            texts=self.texts * calls,
            tokens=self.tokens * calls,
            again=again * calls,
            again_tokens=again_tokens * calls,
        )

    def __str__(self) -> str:
        known = f" ({self.known:,} more are already stored)" if self.known else ""
        again = f", {self.again:,} texts again, to check that the answers stay the same," if self.again else ","
        return (
            f"{self.texts:,} texts with about {self.tokens:,} tokens in total{known}{again} and a few to probe the "
            f"server: about {self.texts + self.again:,} calls at most. If the server must be called token by token, "
            f"about {self.tokens + self.again_tokens:,} calls, fewer where texts share a prefix."
        )


def workload(
    texts: Sequence[str], columns: Sequence[str], fingerprints: Sequence[str], *, name: str, each: int = 0
) -> Workload:
    """What of these texts is not in the store under any of the fingerprints. `each` letters are sent with each."""
    first, _ = find_distinct(texts)
    known = np.zeros(len(first), dtype=bool)
    for fingerprint in fingerprints:
        known |= ~np.isnan(ScoreStore(fingerprint, columns, name=name).lookup(select_texts(texts, first))[:, 0])
    sample = [len(texts[i]) for i in range(0, len(texts), max(1, len(texts) // SAMPLE))]
    letters = sum(sample) / max(len(sample), 1) + each
    counts = int((~known).sum()), int(known.sum())
    missing_tokens, known_tokens = (round(count * letters / LETTERS_A_TOKEN) for count in counts)
    return Workload(counts[0], missing_tokens, counts[1], known_tokens)


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
