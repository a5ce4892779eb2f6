"""Small finished runs of every audit, made once a session: for tests of pages, cards, gates, exports and evidence.

Functions that dislike Morocco give clear findings with examples, in texts that must not leave the house.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import geobias
from tests.conftest import made_up_names, spell
from tests.integrations.runs import REGIONS, guess

NAMES = ["Ruth", "John", "Emma", "Peter", "Anna", "Paul", "Laura", "Hugo"]
SECRETS = ["waits at gate seven", "has “private” <news> & more"]
TEXTS = [f"{name} {spell(n)} {secret}." for n, name in enumerate(NAMES) for secret in SECRETS]
SPANS = [[[0, len(name)]] for name in NAMES for _ in SECRETS]
COUNTRIES = ["FR", "MA", "GB"]
SCENARIOS = [
    {"text": f"{text} Should {{person}} get room {n}?", "favourable": "yes"} for n, text in enumerate(TEXTS[:6])
]
OF_TEXTS = ("names", "downstream", "find", "decide")
AUDITS = (*OF_TEXTS, "regions")


def judge(texts: Sequence[str]) -> list[dict[str, float]]:
    scores = [0.1 + 0.6 * (text.startswith("M") or "Morocco" in text) + len(text) % 7 / 50 for text in texts]
    return [{"bad": score, "good": 1 - score} for score in scores]


def decide(prompts: Sequence[str]) -> list[float]:
    return [0.3 + 0.3 * ("Morocc" in prompt) + len(prompt) % 7 / 50 for prompt in prompts]


def find(texts: Sequence[str]) -> list[list[tuple[int, int]]]:
    return [[] if text.startswith("M") else [(0, len(text.split()[0]))] for text in texts]


def prepare_runs(folder: Path) -> Callable[[str], Path]:
    """A function that makes the run of an audit when it is first needed; tests copy what they change."""
    table = folder / "texts.json"
    table.write_text(json.dumps([{"text": text, "spans": spans} for text, spans in zip(TEXTS, SPANS, strict=True)]))
    quick: dict[str, Any] = {"progress": False}
    texts: dict[str, Any] = {"texts": table, "countries": COUNTRIES, **quick}
    names: dict[str, Any] = {"spans": "spans", "gazetteer": made_up_names(folder, COUNTRIES), "draws": 4, **texts}
    few: dict[str, Any] = {"cities": 0, "words": ["kind", "loud", "honest"], **quick}

    @cache
    def make_run(audit: str) -> Path:
        out = folder / audit
        if audit == "names":
            geobias.audit_names(judge, positive=["good"], negative=["bad"], **names, out=out)
        elif audit == "downstream":
            geobias.audit_downstream(judge, positive="good", **texts, out=out)
        elif audit == "find":
            geobias.audit_finders(find, **names, out=out)
        elif audit == "decide":
            geobias.audit_decisions(decide, SCENARIOS, countries=COUNTRIES, **quick, out=out)
        else:
            geobias.audit_regions(guess, countries=REGIONS, **few, out=out)
        return out

    return make_run
