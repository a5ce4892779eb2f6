"""Which score, and which form of it, finds a planted stereotype and stays silent without one?

    python -m bench.planted_stereotypes --prepare build/places.json   # names of countries and of invented places
    python -m bench.planted_stereotypes build/places.json docs/figures --part functions
    python -m bench.planted_stereotypes build/places.json docs/figures --part gpu      # hours without a GPU
    python -m bench.planted_stereotypes build/places.json docs/figures --part cpu      # a few minutes of CPU
    python -m bench.planted_stereotypes build/places.json docs/figures --model smollm2 --largest 100 --paraphrases 3

Each command writes its own section of planted.md and leaves the others as they are.

Models with a known truth:

- the bundled language model, trained for some steps on planted sentences or on a fair control (planted_training.py);
- functions whose likelihood depends on the length of a name and the frequency of a word alone.

Each is scored by each score with the audit's paraphrases. Three forms of the scores are compared: HERB's vectors
(divided by their norm), scores minus the mean of their word, and associations (minus the mean of their region, too).
Each form is centred over countries and standardised by its word, so that the audit's test against invented places
applies to all. `--model` compares the forms on a model as it is (planted_real_models.py).
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from pathlib import Path

import numpy as np

from bench.planted_real_models import audit_model, describe_model
from bench.planted_tables import Row, tabulate, write_section
from bench.planted_training import PLANTED, load_trained
from geobias.measures.association import adjust_over_regions, associate, compare_with_invented, remove_length
from geobias.measures.estimates import SIGNIFICANT
from geobias.measures.herb import descriptive_vectors
from geobias.models.masked import MaskedLM
from geobias.texts.paraphrases import paraphrase_templates
from geobias.texts.templates import Sentences
from geobias.world.words import herb_words

FORMS = ("HERB vector", "centred", "association")
INVENTED = 120
Places = dict[str, list[str]]


@dataclass(frozen=True)
class Training:
    """A comparison of planted training with its control, as large as its device allows."""

    title: str
    device: str
    strengths: tuple[int, ...]  # training steps
    batch: int
    learning_rate: float
    paraphrases: dict[str, int]  # of each score
    countries: int | None = None  # None: all
    invented: int = INVENTED
    words: int | None = None  # None: all
    dropout: bool = True
    processes: int = 1


TRAININGS = {
    "gpu": Training(
        "The bundled model, trained on a GPU", "cuda", (0, 100, 800), 64, 5e-5, {"conditional": 12, "aul": 12, "pll": 1}
    ),
    "cpu": Training(
        "The bundled model, trained on a CPU", "cpu", (0, 200), 24, 2e-4, {"conditional": 2}, 45, 45, 45, False, 3
    ),
}


def prepare(path: Path) -> None:
    """Names of countries, and invented names of the same lengths."""
    from geobias.world.places import invent_places
    from geobias.world.regions import load_world

    countries = [region.name for region in load_world(cities=0).regions if region.level == "country"]
    invented = invent_places(countries, INVENTED, avoid=countries)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"countries": countries, "invented": invented}), encoding="utf-8")


def list_words() -> list[str]:
    """The adjectives of HERB, and the planted words that are not among them."""
    adjectives = [word.word for word in herb_words() if word.part_of_speech == "adjective"]
    return list(dict.fromkeys([*adjectives, *(word for pair in PLANTED.values() for word in pair)]))


def score(
    lm: MaskedLM, method: str, paraphrases: int, names: list[str], words: list[str]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Mean and total log-likelihoods (paraphrases x places x words), and the tokens of each name."""
    scorer = lm.scorer(method)
    templates = paraphrase_templates(herb_words()[21])[:paraphrases]  # of an adjective
    sentences = Sentences(templates, names, words, marked=scorer.needs_mark)
    answers = scorer.score(sentences)
    tokens = answers[:, list(scorer.columns).index("tokens")]
    lengths = np.array([len(lm.tokenizer(name, add_special_tokens=False)["input_ids"]) for name in names])
    return answers[:, 0].reshape(sentences.shape), (answers[:, 0] * tokens).reshape(sentences.shape), lengths


def to_form(form: str, means: np.ndarray, totals: np.ndarray) -> np.ndarray:
    if form == "association":
        return associate(totals)
    values = descriptive_vectors(means) if form == "HERB vector" else means
    return np.asarray(values - values.mean(axis=-2, keepdims=True))


def judge(
    means: np.ndarray, totals: np.ndarray, lengths: np.ndarray, places: Places, words: list[str]
) -> Iterator[Row]:
    """Every form of one model's scores against the truth."""
    countries = len(places["countries"])
    truth = np.zeros((countries, len(words)), dtype=bool)
    for country, own in PLANTED.items():
        truth[places["countries"].index(country), [words.index(word) for word in own]] = True
    for form in FORMS:
        real = to_form(form, means[:, :countries], totals[:, :countries])
        invented = to_form(form, means[:, countries:], totals[:, countries:])
        if form == "association":
            real, invented = remove_length(real, lengths[:countries], invented, lengths[countries:])
        value, null = real.mean(axis=0), invented.mean(axis=0)
        scale = np.median(np.abs(null)) or 1.0  # the smallest spread of the test is in nats
        p = adjust_over_regions(compare_with_invented(value / scale, null / scale))
        extremeness = np.abs(value) / np.maximum(value.std(axis=0), 1e-12)
        rows = np.sqrt((value**2).sum(axis=1))
        yield {
            "form": form,
            "auc": area_under_curve(extremeness[truth], extremeness[~truth]),
            "signed_auc": area_under_curve((value / np.maximum(value.std(axis=0), 1e-12))[truth], extremeness[~truth]),
            "power": float((p[truth] < SIGNIFICANT).mean()),
            "planted_marks": int((p[truth] < SIGNIFICANT).sum()),
            "false_marks": int((p[~truth] < SIGNIFICANT).sum()),
            "distance_auc": area_under_curve(rows[truth.any(axis=1)], rows[~truth.any(axis=1)]),
            "invented_ratio": float(np.sqrt((null**2).mean() / max((value**2).mean(), 1e-300))),
            "size": float(np.exp(value[truth].mean())) if form == "association" else None,
        }


def area_under_curve(positives: np.ndarray, negatives: np.ndarray) -> float:
    """How often a positive is above a negative; ties count half."""
    ordered = np.sort(negatives)
    below = np.searchsorted(ordered, positives, "left") + np.searchsorted(ordered, positives, "right")
    return float(below.mean() / 2 / len(ordered))


def judge_functions(places: Places, words: list[str]) -> Iterator[Row]:
    """Likelihoods that depend on lengths and frequencies alone, as totals and as means per letter.

    In the last, how well known a place is makes some words likelier: fame x word, which centring does not remove.
    """
    rng = np.random.default_rng(0)
    names = [*places["countries"], *places["invented"]]
    lengths = np.array([len(name) for name in names])
    frequency = np.where(np.arange(len(names)) < len(places["countries"]), rng.normal(0, 2, len(names)), -4.0)
    rarity = np.array([float(len(word)) for word in words]) + rng.normal(0, 1, len(words))
    noise = rng.normal(0, 0.05, (12, len(names), len(words)))
    total = frequency[:, None] - 0.8 * lengths[:, None] - rarity + noise
    letters = lengths[:, None] + np.array([len(word) for word in words]) + 14
    by_fame = total + 0.15 * np.outer(frequency, rng.normal(size=len(words)))
    for name, means, totals in (
        ("function, totals", total, total),
        ("function, means per letter with their counts", total / letters, total),
        ("function, means per letter taken for totals", total / letters, total / letters),
        ("function, fame x word", by_fame / letters, by_fame),
    ):
        for row in judge(means, totals, lengths, places, words):
            yield {"model": name, "score": "own", "steps": 0, "planted": False, **row}


def judge_training(training: Training, places: Places, words: list[str]) -> Iterator[Row]:
    """The bundled model after each kind and strength of training, each in a process of its own."""
    places, words = select_places(places, training), select_words(words, training)
    kinds = [(steps, planted) for steps in training.strengths for planted in ((True, False) if steps else (False,))]
    with ProcessPoolExecutor(training.processes, get_context("spawn")) as pool:
        for rows in pool.map(partial(judge_kind, training, places, words), kinds):
            yield from rows


def judge_kind(training: Training, places: Places, words: list[str], kind: tuple[int, bool]) -> list[Row]:
    steps, planted = kind
    lm = load_trained(
        places["countries"],
        words,
        steps,
        planted=planted,
        batch=training.batch,
        learning_rate=training.learning_rate,
        dropout=training.dropout,
        device=training.device,
    )
    names, rows = [*places["countries"], *places["invented"]], []
    for method, paraphrases in training.paraphrases.items():
        for row in judge(*score(lm, method, paraphrases, names, words), places, words):
            rows.append({"model": "embedded/lm", "score": method, "steps": steps, "planted": planted, **row})
            print(rows[-1], flush=True)
    return rows


def select_places(places: Places, training: Training) -> Places:
    """The planted countries and others at equal distances in the list, as many as the training has."""
    if training.countries is None:
        return places
    others = [country for country in places["countries"] if country not in PLANTED]
    positions = np.linspace(0, len(others) - 1, training.countries - len(PLANTED)).astype(int)
    return {
        "countries": [*PLANTED, *(others[position] for position in positions)],
        "invented": places["invented"][: training.invented],
    }


def select_words(words: list[str], training: Training) -> list[str]:
    """The planted words and others at equal distances in the list, as many as the training has."""
    if training.words is None:
        return words
    planted = [word for pair in PLANTED.values() for word in pair]
    others = [word for word in words if word not in planted]
    positions = np.linspace(0, len(others) - 1, training.words - len(planted)).astype(int)
    return [*planted, *(others[position] for position in positions)]


def describe_training(training: Training, rows: list[Row]) -> list[str]:
    countries, words = ("all" if count is None else count for count in (training.countries, training.words))
    paraphrases = ", ".join(f"`{score}` {count}" for score, count in training.paraphrases.items())
    dropout = "" if training.dropout else ", no dropout"
    return [
        f"Device: {training.device}. Batches of {training.batch} sentences, AdamW with a learning rate of "
        f"{training.learning_rate:g}{dropout}. Countries: {countries}, invented places: {training.invented}, "
        f"words: {words}. Paraphrases: {paraphrases}. Control: every country with every word equally often, in the "
        "same frames.",
        "",
        *tabulate(rows),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--prepare", type=Path, help="write the names of places to this file")
    parser.add_argument("places", type=Path, nargs="?")
    parser.add_argument("out", type=Path, nargs="?")
    parser.add_argument("--part", choices=["functions", *TRAININGS], action="append", default=[])
    parser.add_argument("--model", help="compare the forms on this model as it is")
    parser.add_argument("--score", help="score of --model (default: conditional)")
    parser.add_argument("--largest", type=int, default=100, help="countries of --model, the most populous ones")
    parser.add_argument("--paraphrases", type=int, default=3, help="of --model")
    arguments = parser.parse_args()
    if arguments.prepare:
        prepare(arguments.prepare)
        return
    places, words = json.loads(arguments.places.read_text(encoding="utf-8")), list_words()
    file = arguments.out / "planted.md"
    for part in arguments.part:
        if part == "functions":
            write_section(file, "Functions of the name alone", tabulate(list(judge_functions(places, words))))
        else:
            rows = list(judge_training(TRAININGS[part], places, words))
            write_section(file, TRAININGS[part].title, describe_training(TRAININGS[part], rows))
    if arguments.model:
        result = audit_model(arguments.model, arguments.score, arguments.largest, arguments.paraphrases)
        write_section(file, f"{arguments.model}, {result.model.score}", describe_model(result))


if __name__ == "__main__":
    main()
