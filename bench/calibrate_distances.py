"""How often HERB's distance is called more than chance in worlds where continents say nothing.

    python -m bench.calibrate_distances 500 build/distances docs/figures/calibration_distances.json

The folder keeps the p-value of every world: the same command goes on after an interruption. A fourth argument is how
many worlds are measured at the same time.

In every world the likelihood of a sentence is that of its word, noise, and what the length of the name does: nothing,
or a tenth of a nat for each letter, as if the names of a continent made its countries alike. The overall answer should
be "suggestive" or "clear" in at most 10 % of the worlds, and its p-value below 0.05 in at most 5 %.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np

import geobias
from geobias.models.scorer import Scorer
from geobias.world.regions import load_world
from geobias.world.words import herb_words

SLOPES = (0.0, 0.1)  # nats for each letter
COUNTRIES, WORDS = 100, 40
NOISE = 0.2


class NullWorld(Scorer):
    """A model that knows words and letters, and no place."""

    fingerprint = None
    columns = ("log_likelihood",)

    def __init__(self, seed: int, slope: float) -> None:
        self.name, self.slope = f"world {seed}", slope
        self.rng = np.random.default_rng(seed)
        self.words: dict[str, float] = {}

    def score(self, texts: Sequence[str]) -> np.ndarray:
        return np.array([[self._score_text(text)] for text in texts])

    def _score_text(self, text: str) -> float:
        word = text.rstrip(".").split()[-1]
        if word not in self.words:
            self.words[word] = 2 * self.rng.normal()
        return -20 - self.slope * len(text) + self.words[word] + NOISE * self.rng.normal()


def find_p(slope: float, seed: int) -> float:
    """The p-value of the overall answer in one world, adjusted for all its tests."""
    countries = [region.id for region in load_world(cities=0).regions if region.level == "country"]
    result = geobias.audit_regions(
        NullWorld(seed, slope),
        cities=0,
        countries=np.random.default_rng(seed).choice(countries, COUNTRIES, replace=False).tolist(),
        words=list(dict.fromkeys(word.word for word in herb_words()))[:WORDS],
        paraphrases=0,
        placebo=False,
        progress=False,
    )
    answer = next(finding for finding in result.findings if finding.role == "overall")
    return 1.0 if answer.p_adjusted is None else answer.p_adjusted


def judge(slope: float, worlds: int, folder: Path, processes: int) -> dict[str, float]:
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{slope}.txt"
    known = file.read_text(encoding="utf-8").split() if file.is_file() else []
    with file.open("a", encoding="utf-8") as stream, ProcessPoolExecutor(processes) as pool:
        for p in pool.map(partial(find_p, slope), range(len(known), worlds)):
            print(p, file=stream, flush=True)
    p_values = np.array(file.read_text(encoding="utf-8").split()[:worlds], dtype=float)
    shares = {f"p below {limit}": float((p_values < limit).mean()) for limit in (0.05, 0.1)}
    return {"nats per letter": slope, "worlds": worlds, **shares}


def main() -> None:
    worlds, folder, processes = int(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[4]) if len(sys.argv) > 4 else 1
    rows = [judge(slope, worlds, folder, processes) for slope in SLOPES]
    for row in rows:
        print(row, flush=True)
    if len(sys.argv) > 3:
        Path(sys.argv[3]).write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
