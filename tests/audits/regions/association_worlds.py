"""Small language models with planted associations, and runs of the regions audit on them."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import geobias
from geobias.audits.pages import read_run
from geobias.audits.regions.audit import audit_regions
from geobias.audits.regions.design import RegionsDesign
from geobias.audits.regions.result import RegionsResult
from geobias.audits.study import prepare
from geobias.models.scorer import Scorer
from geobias.report.runs import FinishedRun
from geobias.world.words import Word

COUNTRIES = "KE TD IT FR DE NG BR IN JP US EG PL".split()
TOPICS: dict[str, dict[str, float | None]] = {
    "character": {"honest": 2.3, "kind": 2.4, "friendly": 2.2, "lazy": -1.5, "cruel": -2.8, "selfish": -2.1},
    "manner": {"calm": 1.3, "brave": 2.4, "rude": -2.0, "weak": -1.9, "thrifty": None, "quiet": None},
    "work": {"nurse": None, "baker": None, "boxer": None, "lawyer": None, "succeed": None},
    # Most words have no rating: a region whose words all differ passes for a noisy name.
    "looks": dict.fromkeys(["tall", "short", "dark", "fair", "old", "young", "slim", "bald", "tanned", "bearded"]),
    "speech": dict.fromkeys(["loud", "terse", "fluent", "hoarse", "fast", "slow", "formal", "plain"]),
}
PARTS = {"succeed": "verb"} | dict.fromkeys(("nurse", "baker", "boxer", "lawyer"), "noun")
WORDS = [
    Word(word, topic, part_of_speech=PARTS.get(word, "adjective"), valence=valence)
    for topic, words in TOPICS.items()
    for word, valence in words.items()
]
NOISE = 0.2  # nats


class ByText(Scorer):
    """A scorer whose log-likelihood of a text is a function of the text."""

    columns = ("log_likelihood",)

    def __init__(self, rate: Callable[[str], float]) -> None:
        self.rate = rate

    def score(self, texts: Sequence[str]) -> np.ndarray:
        return np.array([[self.rate(text)] for text in texts], dtype=float)


@dataclass
class World(Scorer):
    """A model whose sentences depend on words and names, and on both together only where that is planted, in nats."""

    words: Mapping[tuple[str, str], float] = field(default_factory=dict)
    valence: Mapping[str, float] = field(default_factory=dict)
    topics: Mapping[tuple[str, str], float] = field(default_factory=dict)
    name: str = "world"
    columns = ("log_likelihood",)

    def score(self, texts: Sequence[str]) -> np.ndarray:
        return np.array([[self.rate(text)] for text in texts])

    def rate(self, text: str) -> float:
        last = text.rstrip(".").split()[-1]
        word = next((word for word in WORDS if word.word == last), Word(last, ""))
        planted = sum(effect for (name, described), effect in self.words.items() if name in text and described == last)
        planted += sum(effect * np.sign(word.valence or 0) for name, effect in self.valence.items() if name in text)
        planted += sum(effect for (name, topic), effect in self.topics.items() if name in text and topic == word.topic)
        return -20 - 0.1 * len(text) + 2 * draw(last) + NOISE * draw(text) + float(planted)


PLANTED = World(
    words={("Kenya", "thrifty"): 2.0, ("France", "nurse"): -2.0},
    valence={"Chad": 0.8, "Italy": -0.8},
    topics={("Brazil", "work"): 1.0},
)


def draw(text: str) -> float:
    """About normal, always the same for the same text."""
    digest = np.frombuffer(hashlib.blake2b(text.encode()).digest(), dtype=np.uint8)
    return float((digest.mean() - 127.5) / 73.9 * np.sqrt(len(digest)))


def world_run(folder: Path, model: World, **options: Any) -> FinishedRun[RegionsResult]:
    """A finished run of a few countries and 35 words."""
    defaults: dict[str, Any] = {
        "cities": 0,
        "countries": COUNTRIES,
        "words": WORDS,
        "paraphrases": 4,
        "progress": False,
    }
    geobias.audit_regions(model, out=folder, **defaults | options)
    run: FinishedRun[RegionsResult] = read_run(folder)
    return run


def make_design(**options: Any) -> RegionsDesign:
    """The design of an audit with these options."""
    design: RegionsDesign = prepare(audit_regions, **options).design
    return design
