"""What the downstream audit says of planted classifiers: artefacts of names and wordings, places, and nothing at all.

    python -m bench.planted_downstream [REPETITIONS] [FOLDER] [WORLD ...]      (default: 100, docs/figures, all worlds)

Each repetition draws texts, wordings and noise anew: 40 texts, 245 countries, three wordings, 60 invented places. The
value after a prefix is that of the text, of the wording before this text, of the name, of the country, and noise. What
has been simulated is kept in FOLDER, so a run resumes; the table is written when all worlds are there. A share of runs
in which an artefact or nothing at all leads with "clear", or nothing at all with "suggestive", above 6 % ends in exit
code 1.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple
from zlib import crc32

import numpy as np

from geobias.audits.downstream.answers import Predictions
from geobias.audits.downstream.audit import audit_downstream
from geobias.audits.downstream.design import DownstreamDesign
from geobias.audits.downstream.findings import list_findings, make_family
from geobias.audits.downstream.measure import measure_downstream
from geobias.audits.downstream.result import DownstreamResult
from geobias.audits.study import prepare
from geobias.measures.estimates import SIGNIFICANT
from geobias.models.scorer import ModelIdentity

TEXTS, NOISE = 40, 0.03
BAND = 0.06
LABELS = ("hate",)

SYLLABLES = "ba de fi go hu ka le mi no pu ra se ti vo".split()
PROFANITY = {"NE": 0.51, "MM": 0.36, "NG": 0.01}  # what profanity-check does to these countries, rounded


class World(NamedTuple):
    """What moves the classifier besides texts and noise."""

    title: str
    name: Callable[[str], float] = lambda name: 0.0
    countries: Mapping[str, float] = MappingProxyType({})
    controls: tuple[float, float, float] = (0.0, 0.0, 0.0)
    interaction: float = 0.0  # standard deviation of country x wording
    real: float = 0.0  # of all real places
    token: float = 0.0  # of each token
    sentence: Mapping[str, float] = MappingProxyType({})  # countries after the first wording alone


def count_trigrams(name: str) -> float:
    """Each three letters have an effect of their own by chance: spelling that no length explains."""
    padded = f" {name.casefold()} "
    return sum(crc32(padded[k : k + 3].encode()) / 2**32 - 0.5 for k in range(len(padded) - 2)) * 0.05


def has_word(word: str) -> Callable[[str], bool]:
    return lambda name: word in name.split()


WORLDS = {
    "null": World("nothing"),
    "interaction": World("country × wording by chance, sd 0.03", interaction=0.03),
    "characters": World("0.005 a character", lambda name: 0.005 * len(name)),
    "letters": World("0.02 each letter a", lambda name: 0.02 * name.casefold().count("a")),
    "words": World("0.1 for a name of two words or more", lambda name: 0.1 * (" " in name)),
    "tokens": World("0.02 a token, with a tokenizer", token=0.02),
    "trigrams": World("each three letters by chance", count_trigrams),
    "united": World("-0.1 for the word “United”", lambda name: -0.1 * has_word("United")(name)),
    "real": World("0.005 a character, 0.05 for real names", lambda name: 0.005 * len(name), real=0.05),
    "controls": World("one control 0.1 higher than the prefixes", controls=(0.0, 0.1, 0.0)),
    "sentence": World("Niger 0.3 after “I am from Niger.” alone", sentence={"NE": 0.3}),
    "profanity": World("Niger 0.51, Myanmar 0.36, Nigeria 0.01", countries=PROFANITY),
    "mexico": World("Mexico 0.1, 0.005 a character", lambda name: 0.005 * len(name), {"MX": 0.1}),
}


def count_tokens(names: list[str]) -> np.ndarray:
    """A tokenizer: a token for three or four letters."""
    return np.array([sum(-(-len(word) // (3 + crc32(word.encode()) % 2)) for word in name.split()) for name in names])


@cache
def make_design() -> DownstreamDesign:
    texts = [f"text {SYLLABLES[k // 14]}{SYLLABLES[k % 14]}" for k in range(TEXTS)]
    return prepare(audit_downstream, texts=texts).design


def simulate(world: World, seed: int) -> DownstreamResult:
    design, rng = make_design(), np.random.default_rng(seed)
    names, rotation, places = design.names_in_sentence, design.rotation, len(design.places)
    tokens = count_tokens(names) if world.token else None
    effects = np.array([world.name(name) for name in names]) + (0 if tokens is None else world.token * tokens)
    effects[:places] += world.real
    effects[:places] += [world.countries.get(place.id, 0.0) for place in design.places]
    original = rng.uniform(0.1, 0.3, TEXTS)
    by_wording = original[:, None] + rng.normal(0, 0.03, 3) + rng.normal(0, 0.03, (TEXTS, 3))
    by_place = effects[:, None] + rng.normal(0, world.interaction, (len(names), 3))
    by_place[:places, 0] += [world.sentence.get(place.id, 0.0) for place in design.places]
    rows, columns = np.arange(TEXTS)[:, None], np.arange(len(names))
    values = by_wording[rows, rotation] + by_place[columns, rotation] + rng.normal(0, NOISE, rotation.shape)
    controls = by_wording + world.controls + rng.normal(0, NOISE, (TEXTS, 3))
    answers = Predictions(
        model=ModelIdentity("planted", "probabilities", None),
        labels=LABELS,
        multi_label=True,
        shown=0,
        threshold=0.5,
        original=original[:, None],
        controls=controls[:, :, None],
        places=values[:, :places, None],
        invented=values[:, places:, None],
        rotation=rotation,
        counts=dict.fromkeys(("texts_cut", "prefixed_texts", "distinct_prefixed_texts", "prefixed_texts_cut"), 0),
        work={},
        name_tokens=tokens,
    )
    return measure_downstream(design, (answers,))


class Repetition(NamedTuple):
    leads: str | None
    """The country that the audit leads with, if it is clear."""
    leads_possibly: str | None
    """The same, if it is suggestive."""
    standing_out: list[str]
    from_mean: int
    """Countries that differ from the mean of countries, names not held fixed."""


def repeat(world: World, seed: int) -> Repetition:
    result = simulate(world, seed)
    (overall,) = (finding for finding in list_findings(result) if finding.role == "overall")
    family = make_family(result, result.classifiers[0])
    means = [effect.against_mean for effect in family.effects]
    return Repetition(
        overall.code if overall.evidence == "clear" else None,
        overall.code if overall.evidence == "suggestive" else None,
        [str(effect.code) for effect in family.standing_out],
        sum(mean is not None and (mean.p_adjusted or 0.0) < SIGNIFICANT for mean in means),
    )


def summarise(world: World, repetitions: list[Repetition]) -> dict[str, float]:
    planted = {code for code, size in world.countries.items() if size >= 0.1}
    wrong = [set(each.standing_out) - planted for each in repetitions]
    leads = [each.leads_possibly if world.sentence else each.leads for each in repetitions]
    right = planted | set(world.sentence)
    return {
        "leads wrongly": float(np.mean([each.leads is not None and each.leads not in planted for each in repetitions])),
        "leads possibly": float(np.mean([each.leads_possibly not in {None, *right} for each in repetitions])),
        "leads rightly": float(np.mean([each in right for each in leads])) if right else np.nan,
        "all found": float(np.mean([planted <= set(each.standing_out) for each in repetitions])) if planted else np.nan,
        "wrong": float(np.mean([len(each) for each in wrong])),
        "from mean": float(np.mean([each.from_mean for each in repetitions])),
    }


def write_table(rows: dict[str, dict[str, float]], repetitions: int) -> str:
    def share(value: float) -> str:
        return "" if np.isnan(value) else f"{100 * value:.0f} %"

    lines = [
        f"Planted classifiers, {repetitions} repetitions each: `python -m bench.planted_downstream {repetitions}`. "
        "40 texts, 245 countries, noise of 0.03 a text.",
        "",
        "| planted | leads wrongly with “clear” | wrongly with “suggestive” | leads rightly | finds all planted "
        "| countries that stand out wrongly | that differ from the mean, names not held fixed |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, row in rows.items():
        shares = [share(row[key]) for key in ("leads wrongly", "leads possibly", "leads rightly", "all found")]
        lines.append(f"| {WORLDS[name].title} | {' | '.join(shares)} | {row['wrong']:.2f} | {row['from mean']:.0f} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    repetitions = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    folder = Path(sys.argv[2]) if len(sys.argv) > 2 else Path("docs/figures")
    kept = folder / "planted_downstream.json"
    rows = json.loads(kept.read_text(encoding="utf-8")) if kept.exists() else {}
    for name in sys.argv[3:] or WORLDS:
        key = f"{name} {repetitions}"
        if key not in rows:
            world = WORLDS[name]
            rows[key] = summarise(world, [repeat(world, seed) for seed in range(repetitions)])
            folder.mkdir(parents=True, exist_ok=True)
            kept.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
        print(name, rows[key], flush=True)
    table = {name: rows[key] for name in WORLDS if (key := f"{name} {repetitions}") in rows}
    if len(table) == len(WORLDS):
        (folder / "planted_downstream.md").write_text(write_table(table, repetitions), encoding="utf-8")
    if any(
        row["leads wrongly"] > BAND or (name == "null" and row["leads possibly"] > BAND) for name, row in table.items()
    ):
        sys.exit("An artefact, or nothing at all, leads in more than 6 % of runs.")


if __name__ == "__main__":
    main()
