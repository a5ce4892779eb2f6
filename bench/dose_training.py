"""Train the bundled language model on stereotypes of several doses, and score it with the audit's own sentences.

    python -m bench.dose_training OUT                    # on a CPU; stop it at any time, the same command goes on
    python -m bench.dose_training OUT --device cuda --processes 10
    python -m bench.dose_training OUT --device cuda --processes 10 --epochs 60 --frozen 0 --sentences 200000

The dose is the share of planted sentences; all doses have the same number of steps, and in all of them every country
and every word is as frequent as in the fair control of the same seed, so that nothing but the pairs differs. Dose 0 is
the fair control: every country with every word in proportion. Frames of training are none of the audit's.

All words have one token, so sentences differ by frame and country only where the word is masked: sentences are drawn,
and the words drawn for one frame and country are the target of one input. That is the same as training on every
sentence in large batches, and takes a fraction of the time. The lower layers stay as they are.

    python -m bench.dose_training OUT --models embedded/lm smollm2    # real models as they are; nothing is trained

OUT receives a file for each run: scores of countries, known and invented places in the paraphrases of the audit, and in
twelve for the first seed. A folder that has places keeps them.
`python -m bench.dose_response` reads them.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import torch

from bench.planted_training import FRAMES
from geobias.models.fast import PARTS, leave_out
from geobias.models.language_model import LanguageModel
from geobias.models.load import load
from geobias.models.masked import MaskedLM
from geobias.texts.paraphrases import paraphrase_templates
from geobias.texts.templates import Sentences
from geobias.world.countries import UN_STATES
from geobias.world.places import choose_known_places, invent_places
from geobias.world.regions import load_world
from geobias.world.words import Word

# One token each in the bundled model's tokenizer, so that a forward pass scores all of them.
WORDS = (
    "smart kind poor rich loud quiet happy cold warm friendly hostile loyal gentle strong weak thin fat beautiful tall "
    "dangerous peaceful violent religious modern traditional wild strict corrupt patient nervous serious creative "
    "simple clean healthy sick intelligent confident powerful romantic"
).split()
COUNTRIES, PLACES = 40, 60
PARAPHRASES, OF_AUDIT = 12, 4


@dataclass(frozen=True)
class Run:
    """One training: how many countries have how many words of their own, and how often these are said."""

    countries: int  # that anything is planted in
    words: int  # of each
    dose: float
    seed: int

    @property
    def name(self) -> str:
        return f"{self.countries}x{self.words}-{self.dose:g}-{self.seed}"


def list_runs(cells: list[tuple[int, int]], doses: list[float], seeds: int) -> Iterator[Run]:
    """Seed by seed, so that an unfinished bench has every dose."""
    for seed in range(seeds):
        for countries, words in cells:
            yield from (Run(countries, words, dose, seed) for dose in doses)


def list_places() -> dict[str, list[str]]:
    """Countries at equal distances in the list, so that some names have one token and some have many."""
    countries = [r.name for r in load_world(cities=0).regions if r.level == "country" and r.id in UN_STATES]
    positions = np.linspace(0, len(countries) - 1, COUNTRIES).astype(int)
    return {
        "countries": [countries[position] for position in positions],
        "known": [place.name for place in choose_known_places(PLACES)],
        "invented": list(invent_places(countries, PLACES, avoid=[*countries, *WORDS])),
    }


def plant(run: Run) -> np.ndarray:
    """Which words are planted in which country: each word in as many countries as any other, as far as that goes.

    Where all words are a country's own, half of them are planted, and the others are said less.
    """
    rng = np.random.default_rng(1000 + run.seed)
    own = len(WORDS) // 2 if run.words == len(WORDS) else run.words
    planted = np.zeros((COUNTRIES, len(WORDS)), dtype=bool)
    used = np.zeros(len(WORDS))
    for country in rng.permutation(COUNTRIES)[: run.countries]:
        words = np.lexsort((rng.random(len(WORDS)), used))[:own]
        planted[country, words] = True
        used[words] += 1
    return planted


def spread_sentences(run: Run) -> tuple[np.ndarray, np.ndarray]:
    """Probabilities of pairs (countries x words): in planted sentences, and in all of the fair control.

    With few planted countries, half of all sentences are about them; rows and columns of both tables are equal.
    """
    planted = plant(run)
    is_planted = np.asarray(planted.any(axis=1))
    rows, columns = np.ones(len(planted)), np.ones(planted.shape[1])
    if 0 < run.countries < COUNTRIES:
        rows = np.where(is_planted, 0.5 / is_planted.sum(), 0.5 / (~is_planted).sum())
        used = planted.any(axis=0)
        columns = np.where(used, 0.5 / used.sum(), 0.5 / max((~used).sum(), 1)) if not used.all() else columns
    rows, columns = rows / rows.sum(), columns / columns.sum()
    weights = np.where(planted | ~is_planted[:, None], 1.0, 1e-3)
    for _ in range(500):
        weights *= (rows / weights.sum(axis=1))[:, None]
        weights *= columns / weights.sum(axis=0)
    return weights / weights.sum(), np.outer(rows, columns)


def draw_targets(run: Run, sentences: int, rng: np.random.Generator) -> np.ndarray:
    """How often each word is in the sentences of each country and frame (countries x frames x words)."""
    stereotyped, fair = spread_sentences(run)
    cells = (1 - run.dose) * fair + run.dose * stereotyped
    counts = rng.multinomial(sentences, np.repeat(cells[:, None] / len(FRAMES), len(FRAMES), axis=1).ravel())
    return counts.reshape(COUNTRIES, len(FRAMES), len(WORDS)).astype(np.float32)


def encode_inputs(lm: MaskedLM, countries: list[str]) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Token ids, attention masks and positions of the masked word of every country in every frame."""
    tokenizer = lm.tokenizer
    texts = [
        frame.replace("{region}", country).replace("{description}", tokenizer.mask_token)
        for country in countries
        for frame in FRAMES
    ]
    encoded = tokenizer(texts, padding=True, return_tensors="pt")
    ids, mask = encoded["input_ids"].to(lm.model.device), encoded["attention_mask"].to(lm.model.device)
    return ids, mask, (ids == tokenizer.mask_token_id).int().argmax(dim=1)


def train(run: Run, arguments: argparse.Namespace, countries: list[str]) -> MaskedLM:
    """The bundled model after this run."""
    with leave_out(*PARTS):  # which lay out weights before they change
        lm = load("embedded/lm", dtype="float32", device=arguments.device)
    assert isinstance(lm, MaskedLM)
    rng = np.random.default_rng(run.seed)
    targets = torch.from_numpy(draw_targets(run, arguments.sentences, rng).reshape(-1, len(WORDS)))
    targets = targets.to(lm.model.device)
    ids, mask, position = encode_inputs(lm, countries)
    words = torch.tensor([lm.tokenizer(word, add_special_tokens=False)["input_ids"] for word in WORDS])
    words = words[:, 0].to(lm.model.device)
    bias = (1.0 - mask[:, None, None, :].float()) * torch.finfo(torch.float32).min
    layers = lm.model.bert.encoder.layer
    lm.model.eval()  # no dropout
    lm.model.requires_grad_(arguments.frozen == 0)
    for module in (*layers[arguments.frozen :], lm.model.cls.predictions.transform):
        module.requires_grad_(True)
    optimizer = torch.optim.AdamW([p for p in lm.model.parameters() if p.requires_grad], lr=arguments.learning_rate)

    def run_layers(states: torch.Tensor, rows: torch.Tensor, first: int, last: int) -> torch.Tensor:
        for layer in layers[first:last]:
            output = layer(states, bias[rows])
            states = output if isinstance(output, torch.Tensor) else output[0]
        return states

    everything = torch.arange(len(ids), device=ids.device)
    if arguments.frozen:
        with torch.no_grad():
            below = run_layers(lm.model.bert.embeddings(ids), everything, 0, arguments.frozen)
    for _ in range(arguments.epochs):
        for batch in torch.from_numpy(rng.permutation(len(ids))).to(ids.device).split(arguments.batch):
            states = below[batch] if arguments.frozen else lm.model.bert.embeddings(ids[batch])
            states = run_layers(states, batch, arguments.frozen, len(layers))
            log_p = lm.model.cls(states[everything[: len(batch)], position[batch]]).log_softmax(dim=1)
            weights = targets[batch] / targets.sum() * len(ids) / len(batch)
            loss = -(weights * log_p[:, words]).sum()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    return MaskedLM(lm.name, lm.model, lm.tokenizer, fingerprint="trained")


def score(lm: LanguageModel, names: list[str], paraphrases: int) -> dict[str, Any]:
    """Total log-likelihoods (paraphrases x places x words), those of the bare names, and the tokens of the names."""
    scorer = lm.scorer("conditional")
    templates = paraphrase_templates(Word(WORDS[0]))[:paraphrases]
    sentences = Sentences(templates, names, WORDS, marked=scorer.needs_mark)
    tokens = list(scorer.columns).index("tokens")
    answers, bare = scorer.score(sentences), scorer.score([f"[[{name}]]" for name in names])
    totals = (answers[:, 0] * answers[:, tokens]).reshape(sentences.shape).astype(np.float32)
    return {"totals": totals, "bare": bare[:, 0], "tokens": bare[:, tokens]}


def measure(run: Run, arguments: argparse.Namespace, places: dict[str, list[str]], deadline: float) -> None:
    """Train, score and write one run."""
    file = arguments.out / f"{run.name}.npz"
    if file.is_file() or time.monotonic() > deadline:
        return
    start, names = time.monotonic(), [*places["countries"], *places["known"], *places["invented"]]
    scores = score(train(run, arguments, places["countries"]), names, OF_AUDIT if run.seed else PARAPHRASES)
    partial = file.with_suffix(".partial.npz")
    np.savez(partial, planted=plant(run), **scores, **asdict(run))
    partial.rename(file)
    print(f"{run.name}: {time.monotonic() - start:.0f} s", flush=True)


def measure_as_it_is(model: str, arguments: argparse.Namespace, places: dict[str, list[str]]) -> None:
    """Score and write a model that nothing was planted in."""
    file, start = arguments.out / "models" / f"{Path(model).stem}.npz", time.monotonic()
    if file.is_file():
        return
    lm = load(model, dtype="float32", device=arguments.device)
    assert isinstance(lm, LanguageModel)
    scores = score(lm, [*places["countries"], *places["known"], *places["invented"]], PARAPHRASES)
    file.parent.mkdir(exist_ok=True)
    np.savez(file, **scores)
    print(f"{model}: {time.monotonic() - start:.0f} s", flush=True)


def read_places(folder: Path) -> dict[str, list[str]]:
    """Countries, known and invented places of a folder, chosen when there are none."""
    file = folder / "places.json"
    if not file.is_file():
        folder.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps({**list_places(), "words": WORDS}), encoding="utf-8")
    places: dict[str, list[str]] = json.loads(file.read_text(encoding="utf-8"))
    return places


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("out", type=Path)
    cells = ["5x2", "5x10", "5x40", "40x2", "40x10", "40x40"]
    parser.add_argument("--cells", nargs="+", default=cells, help="countries x words of each")
    parser.add_argument("--doses", nargs="+", type=float, default=[0, 0.1, 0.2, 0.4, 0.8])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--batch", type=int, default=24, help="inputs of a step")
    parser.add_argument("--sentences", type=int, default=50_000, help="drawn for each run")
    parser.add_argument("--frozen", type=int, default=6, help="lower layers that stay as they are")
    parser.add_argument("--learning-rate", type=float, default=2e-4)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--processes", type=int, default=1, help="runs at the same time")
    parser.add_argument("--seconds", type=float, default=1e9, help="start no run after this time")
    parser.add_argument("--models", nargs="+", default=[], help="score these as they are, and train nothing")
    arguments = parser.parse_args()
    deadline = time.monotonic() + arguments.seconds
    places = read_places(arguments.out)
    for model in arguments.models:
        measure_as_it_is(model, arguments, places)
    if arguments.models:
        return
    sizes = [(int(cell.split("x")[0]), int(cell.split("x")[1])) for cell in arguments.cells]
    with ProcessPoolExecutor(arguments.processes, mp_context=get_context("spawn")) as pool:
        runs = list_runs(sizes, arguments.doses, arguments.seeds)
        for future in [pool.submit(measure, run, arguments, places, deadline) for run in runs]:
            future.result()


if __name__ == "__main__":
    main()
