"""Does the names audit lead with a country where only the length, spelling or frequency of names was planted?

    python -m bench.planted_names build/planted_names.json docs/figures/planted_names.md   # five minutes of CPU

Functions judge the bundled tweets: effects of texts, of single names and noise, and one planted effect. Every
repetition draws new names for the same texts, new effects of names and new noise. The JSON file has one line for each
repetition; an interrupted run goes on from there, and `--repetitions 0` writes the table alone.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from geobias.audits.names.answers import ClassifierAnswers
from geobias.audits.names.audit import audit_names
from geobias.audits.names.design import NamesDesign
from geobias.audits.names.findings import list_findings
from geobias.audits.names.measure import measure_names
from geobias.audits.names.names_alike import count_name_tokens
from geobias.audits.names.rows import DeltaEffect
from geobias.audits.study import prepare
from geobias.models.scorer import ModelIdentity
from geobias.report.findings import with_role
from geobias.texts.counterfactuals import Counterfactuals
from geobias.world.gazetteer import load_name_counts

TEXTS, DRAWS, SCRIPTS = 36, 8, "latin"
OF_TEXTS, OF_NAMES, NOISE = 0.2, 0.02, 0.02  # standard deviations of p(positive) - p(negative)
WORDS = re.compile(r"[^\W\d_]+")
SET = {"TR": -0.02, "MA": -0.02, "HU": -0.02, "IT": 0.02, "ES": 0.02}  # half of them would be missed often

Plant = Callable[["Answers"], np.ndarray]


@dataclass(frozen=True)
class Answers:
    """What a planted function reads: the renamed texts, in their order, and their countries."""

    design: NamesDesign
    texts: list[str]
    tokenizer: Any

    @property
    def shape(self) -> tuple[int, int, int]:
        return self.design.counterfactuals.shape

    def of_country(self, effects: dict[str, float]) -> np.ndarray:
        codes = self.design.counterfactuals.countries
        return np.broadcast_to(np.array([effects.get(code, 0.0) for code in codes])[None, :, None], self.shape)


@dataclass(frozen=True)
class World:
    title: str
    plant: Plant
    has_tokenizer: bool = False
    repetitions: int = 20


def plant_nothing(answers: Answers) -> np.ndarray:
    return np.zeros(answers.shape)


def plant_tokens(answers: Answers) -> np.ndarray:
    ids = answers.tokenizer(answers.texts)["input_ids"]
    return -0.02 * np.array(list(map(len, ids)), dtype=float).reshape(answers.shape)


def plant_characters(answers: Answers) -> np.ndarray:
    return -0.01 * np.array(list(map(len, answers.texts)), dtype=float).reshape(answers.shape)


def plant_letters(answers: Answers) -> np.ndarray:
    shown = [any(letter.isalpha() and not letter.isascii() for letter in text) for text in answers.texts]
    return -0.10 * np.array(shown, dtype=float).reshape(answers.shape)


def plant_frequency(answers: Answers) -> np.ndarray:
    """Each word of a name by itself, as a classifier reads it: the covariate counts names."""
    counts = load_name_counts()
    words = [[word for word in WORDS.findall(text) if word in counts] for text in answers.texts]
    return np.array([0.01 * np.log1p([counts[word] for word in each]).sum() for each in words]).reshape(answers.shape)


def plant_countries(effects: dict[str, float], answers: Answers) -> np.ndarray:
    return answers.of_country(effects)


def plant_both(answers: Answers) -> np.ndarray:
    return plant_characters(answers) + answers.of_country({"MA": -0.14})


WORLDS = {
    "nothing": World("nothing: names differ, countries do not", plant_nothing, repetitions=200),
    "tokens": World("0.02 a token", plant_tokens, has_tokenizer=True),
    "tokens unknown": World("0.02 a token, no tokenizer known", plant_tokens),
    "characters": World("0.01 a character", plant_characters),
    "letters": World("0.10 for a letter outside ASCII", plant_letters),
    "frequency": World("0.01 x log count of each word of a name", plant_frequency),
    "country": World("-14 points for Morocco", partial(plant_countries, {"MA": -0.14})),
    "both": World("-14 points for Morocco and 0.01 a character", plant_both),
    "set": World("-2 points for three countries, +2 for two", partial(plant_countries, SET)),
}


def run_repetition(world: World, seed: int, tokenizer: Any) -> dict[str, Any]:
    design = prepare(audit_names, limit=TEXTS, draws=DRAWS, seed=seed, scripts=SCRIPTS, device="cpu").design
    renamed = design.counterfactuals
    effects = world.plant(Answers(design, list(renamed), tokenizer))
    tone = make_tones(renamed, effects, np.random.default_rng(seed))
    names = [name for _, name in renamed.name_index[2]]
    answers = ClassifierAnswers(
        model=ModelIdentity("planted", "probabilities", None),
        labels=("negative", "positive"),
        multi_label=False,
        positive=[1],
        negative=[0],
        threshold=None,
        original=to_probabilities(np.zeros(len(design.texts))),
        renamed=to_probabilities(tone),
        truth=None,
        counts=dict.fromkeys(("texts_cut", "renamed_texts", "distinct_renamed_texts", "renamed_texts_cut"), 0),
        work={"texts_scored": 0, "renamed_texts_scored": 0},
        name_tokens=count_name_tokens(tokenizer, names) if world.has_tokenizer else None,
    )
    result = measure_names(design, (answers,))
    (overall,) = with_role(list_findings(result), "overall")
    return {
        "evidence": overall.evidence,
        "leading": [describe_effect(effect) for effect in result.effects if effect.stands_out],
        "largest": describe_effect(max(result.effects, key=lambda effect: abs(effect.value))),
        "sentence": overall.sentence,
    }


def make_tones(renamed: Counterfactuals, effects: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """texts x countries x draws: p(positive) - p(negative), without what all versions of a text share."""
    answer, unit, _, _ = renamed.name_units()
    of_names = rng.normal(0, OF_NAMES, int(np.max(unit)) + 1)
    tone = np.bincount(answer, weights=of_names[unit], minlength=effects.size).reshape(effects.shape)
    tone = tone + rng.normal(0, NOISE, effects.shape) + effects - effects.mean(axis=(1, 2), keepdims=True)
    return np.asarray(np.clip(tone + np.clip(rng.normal(0, OF_TEXTS, (len(tone), 1, 1)), -0.4, 0.4), -1, 1))


def to_probabilities(tone: np.ndarray) -> np.ndarray:
    return np.stack([0.5 - tone / 2, 0.5 + tone / 2], axis=-1)


def describe_effect(effect: DeltaEffect) -> str:
    """ "TR-": the country and its side."""
    return (effect.code or "") + ("+" if effect.value > 0 else "-")


def tabulate(rows: list[dict[str, Any]]) -> Iterator[str]:
    yield "| planted | runs | leads with a country | says what explains it | no evidence |"
    yield "|---|---:|---:|---:|---:|"
    for key, world in WORLDS.items():
        of_world = [row for row in rows if row["world"] == key]
        if not of_world:
            continue
        shares = [
            np.mean([row["evidence"] == "clear" for row in of_world]),
            np.mean(["explain" in row["sentence"] for row in of_world]),
            np.mean([row["evidence"] == "none" for row in of_world]),
        ]
        yield (
            f"| {world.title} | {len(of_world)} | "
            + " | ".join(f"{share:.0%}".replace("%", " %") for share in shares)
            + " |"
        )


def describe_stability(rows: list[dict[str, Any]]) -> Iterator[str]:
    """Of pairs of seeds: what leads is the same."""
    for key in ("country", "set"):
        of_world = [row for row in rows if row["world"] == key]
        if len(of_world) < 2:
            continue
        pairs = list(combinations(of_world, 2))
        shared = np.mean([overlap(first["leading"], second["leading"]) for first, second in pairs])
        opposite = np.mean([contradicts(first["leading"], second["leading"]) for first, second in pairs])
        largest = np.mean([first["largest"] == second["largest"] for first, second in pairs])
        grade = np.mean([row["evidence"] == "clear" for row in of_world])
        yield (
            f"| {WORLDS[key].title} | {grade:.0%} | {shared:.0%} | {opposite:.0%} | {largest:.0%} |".replace("%", " %")
        )


def overlap(first: list[str], second: list[str]) -> bool:
    """Whether two sets share a country on the same side, or both are empty."""
    return bool({*first} & {*second}) or not (first or second)


def contradicts(first: list[str], second: list[str]) -> bool:
    """Whether a country leads on opposite sides."""
    return any(code[:-1] + ("-" if code[-1] == "+" else "+") in second for code in first)


def write_table(rows: list[dict[str, Any]], file: Path) -> None:
    lines = [
        f"`python -m bench.planted_names`: {TEXTS} bundled tweets, 17 countries, {DRAWS} draws; effects of names "
        f"have a standard deviation of {100 * OF_NAMES:.0f} points.",
        "",
        *tabulate(rows),
        "",
        "| planted | clear | of pairs of seeds: sets share a country | a country on both sides | same largest gap |",
        "|---|---:|---:|---:|---:|",
        *describe_stability(rows),
    ]
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("runs", type=Path, metavar="JSON", help="one line for each repetition, read and continued")
    parser.add_argument("table", type=Path, metavar="TABLE")
    parser.add_argument("--world", choices=WORLDS, action="append", help="default: all")
    parser.add_argument("--repetitions", type=int, help="default: 200 without effects, else 20")
    arguments = parser.parse_args()
    from geobias.models.load import load_perplexity_scorer  # imports torch

    tokenizer = load_perplexity_scorer("embedded/lm", None).lm.tokenizer  # type: ignore[attr-defined]
    arguments.runs.parent.mkdir(parents=True, exist_ok=True)
    rows = [json.loads(line) for line in arguments.runs.read_text().splitlines()] if arguments.runs.exists() else []
    with arguments.runs.open("a", encoding="utf-8") as file:
        for key in arguments.world or WORLDS:
            world = WORLDS[key]
            repetitions = world.repetitions if arguments.repetitions is None else arguments.repetitions
            for seed in range(sum(row["world"] == key for row in rows), repetitions):
                rows.append({"world": key, "seed": seed, **run_repetition(world, seed, tokenizer)})
                print(json.dumps(rows[-1], ensure_ascii=False), file=file, flush=True)
    write_table(rows, arguments.table)


if __name__ == "__main__":
    main()
