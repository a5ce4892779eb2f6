"""Coverage of the intervals of regions' scores, on words drawn from populations with known scores.

    python bench/calibrate_regions.py [REPETITIONS] [FOLDER]      (make calibrate: 500, docs/figures)

A population of 5,000 words is simulated for five continents of eight countries. Each repetition draws a sample of the
words and computes the intervals of balanced C_w for the Earth and every continent. The nominal coverage of the score
on the whole population is 95 %; it is lower if words differ much in their variance or have heavy tails. Coverage below
85 % gives exit code 1.
"""

from __future__ import annotations

import json
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from geobias.measures.herb import Children, descriptive_vectors, herb_scores
from geobias.measures.word_jackknife import jackknife_regions

POPULATION, CONTINENTS, COUNTRIES = 5000, 5, 8
LEAST = 0.85
TOP = 1 + CONTINENTS  # the Earth, and what lies directly below it


@dataclass(frozen=True)
class World:
    """How many words are drawn, how unequal they are in telling regions apart, and how heavy the tails are."""

    name: str
    words: int = 112
    unequal: float = 0.0  # coefficient of variation of what words tell
    normal: bool = True  # else Student's t with five degrees of freedom


WORLDS = [
    World("112 words"),
    World("112 unequal words", unequal=0.5),
    World("112 words, heavy tails", normal=False),
    World("30 words", words=30),
]


def tree() -> Children:
    leaves = np.arange(TOP, TOP + CONTINENTS * COUNTRIES)
    return [np.arange(1, TOP), *leaves.reshape(CONTINENTS, COUNTRIES), *[np.array([], dtype=np.int64)] * len(leaves)]


def population(world: World, rng: np.random.Generator) -> np.ndarray:
    """regions x words: what words are likely anyway, times what the region and the region with this word do.

    The first continent's countries are spoken of more differently, the second one's less.
    """
    children = tree()
    region = 0.1 * rng.normal(size=len(children))
    region[TOP:] += np.repeat(region[1:TOP], COUNTRIES)
    apart = np.ones(len(children))
    apart[children[1]], apart[children[2]] = 1.5, 0.6
    word_effects = (
        rng.gamma(1 / world.unequal**2, world.unequal**2, POPULATION) if world.unequal else np.ones(POPULATION)
    )
    shape = (len(children), POPULATION)
    noise = rng.normal(size=shape) if world.normal else rng.standard_t(5, size=shape) * np.sqrt(3 / 5)
    word = 1 + rng.gamma(4, 0.5, POPULATION)
    likelihoods = -word * (np.exp(region[:, None]) + 0.1 * apart[:, None] * word_effects * noise)
    likelihoods[0] = np.nan
    return likelihoods


def judge(world: World, repetitions: int, seed: int = 0) -> np.ndarray:
    """How many intervals cover the true score, for the Earth and each continent."""
    rng = np.random.default_rng(seed)
    everything, names, children = population(world, rng), np.zeros(TOP + CONTINENTS * COUNTRIES), tree()
    truth = herb_scores(descriptive_vectors(everything), names, children).c_w["balanced"][:TOP]
    covered = np.zeros(TOP, dtype=int)
    for _ in range(repetitions):
        likelihoods = everything[None, :, rng.choice(POPULATION, world.words, replace=False)]
        estimates = jackknife_regions(likelihoods, names, children, flat=False)["c_w.balanced"].estimates(
            "c_w.balanced", len(children)
        )
        covered += (estimates.low[:TOP] <= truth) & (truth <= estimates.high[:TOP])
    return covered


def main() -> None:
    repetitions = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    rows = []
    for world in WORLDS:
        start = time.perf_counter()
        earth, *continents = judge(world, repetitions) / repetitions
        rows.append({"name": world.name, "repetitions": repetitions, "earth": earth, "continents": continents})
        print(
            f"{world.name:24} coverage: Earth {earth:.1%}, continents {np.mean(continents):.1%} "
            f"({min(continents):.1%} to {max(continents):.1%})  ({time.perf_counter() - start:.0f} s)",
            flush=True,
        )
    if len(sys.argv) > 2:
        folder = Path(sys.argv[2])
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "calibration_regions.json").write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    if min(share for row in rows for share in (row["earth"], *row["continents"])) < LEAST:
        sys.exit(f"Coverage below {LEAST:.0%}: see the table above.")


if __name__ == "__main__":
    main()
