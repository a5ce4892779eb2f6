"""Does the agreement with recorded stereotypes rise with the pairs that a model was trained on, and with no others?

    python -m bench.planted_known docs/figures/planted_known.md      # half an hour of one core

The bundled model is trained on sentences with a country and an attribute of SeeGULL's fixed subset. In a share of
them, the dose, the pair is one of a random half of the subset's stereotypes; the other sentences have any of its
countries with any of its attributes. Their frames are none of the audit's. Three AUCs are measured by the audit's own
associations, each against the subset's pairs that are no stereotypes:

- planted half: the stereotypes that were planted;
- other half: those that were not, which nothing should move;
- all: what the audit reports, with its p-value.

Reversed runs plant half of the pairs that are no stereotypes instead: what the audit reports should fall.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from scipy import stats

from bench.dose_response import tabulate
from bench.planted_training import Pair, measure_loss
from geobias.audits.regions.answers import ask_known
from geobias.audits.regions.design import design_known_subset
from geobias.audits.regions.known import measure_known
from geobias.measures.association import associate_with_panels
from geobias.measures.ranks import compare_within
from geobias.models.fast import PARTS, leave_out
from geobias.models.load import load
from geobias.models.masked import MaskedLM
from geobias.texts.paraphrases import NEUTRAL_TEMPLATES
from geobias.world.countries import load_country_names
from geobias.world.known_stereotypes import KnownStereotype
from geobias.world.regions import load_world

FRAMES = [NEUTRAL_TEMPLATES[k] for k in (1, 2, 4)]  # the audit has the other two
DOSES, SEEDS = (0.0, 0.1, 0.25, 0.5), 3
STEPS, BATCH, LEARNING_RATE = 150, 32, 5e-5


def audit(lm: MaskedLM) -> tuple[list[KnownStereotype], np.ndarray, float, float]:
    """The pairs of the subset, their associations, and the AUC of the audit with its p-value."""
    design = design_known_subset(load_world(cities=0))
    assert design is not None
    answers = ask_known(design, lm.scorer("conditional"), lm.name, progress=False)
    values = associate_with_panels(answers.totals.mean(axis=0), design.panel_rows, design.panel_columns)
    known = measure_known(design, answers).whole
    assert known is not None and known.auc.value is not None and known.auc.p is not None
    return list(design.pairs), values[design.pair_rows, design.pair_columns], known.auc.value, known.auc.p


def train(lm: MaskedLM, planted: list[Pair], countries: list[str], words: list[str], dose: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    torch.manual_seed(seed)
    optimizer = torch.optim.AdamW(lm.model.parameters(), lr=LEARNING_RATE)
    for _ in range(STEPS):
        pairs = [
            planted[rng.integers(len(planted))]
            if rng.random() < dose
            else (countries[rng.integers(len(countries))], words[rng.integers(len(words))])
            for _ in range(BATCH)
        ]
        loss = measure_loss(lm, pairs, rng, FRAMES)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def measure(pairs: list[KnownStereotype], *, reverse: bool) -> Iterator[dict[str, Any]]:
    """Every dose and seed of one kind of training; `pairs` are those of the subset."""
    names = load_country_names()
    is_stereotype = np.array([pair.is_called_stereotype for pair in pairs])
    codes = np.array([pair.code for pair in pairs])
    strata = np.unique(codes, return_inverse=True)[1]
    countries = sorted({names[code] for code in codes.tolist()})
    words = sorted({pair.attribute for pair in pairs})
    for seed in range(SEEDS):
        drawn = np.random.default_rng(1000 + seed).permutation(np.flatnonzero(is_stereotype != reverse))
        half = np.zeros(len(pairs), dtype=bool)
        half[drawn[: len(drawn) // 2]] = True
        planted = [(names[pairs[k].code], pairs[k].attribute) for k in np.flatnonzero(half)]
        for dose in DOSES:
            with leave_out(*PARTS):  # which lay out weights before they change
                lm = load("embedded/lm", dtype="float32", device="cpu")
            assert isinstance(lm, MaskedLM)
            lm.model.eval()  # no dropout
            train(lm, planted, countries, words, dose, seed)
            trained = MaskedLM(lm.name, lm.model, lm.tokenizer, fingerprint=f"known-{reverse}-{dose}-{seed}")
            _, values, auc, p = audit(trained)
            row: dict[str, Any] = {"planted": "no stereotypes" if reverse else "stereotypes", "dose": dose}
            row |= {"seed": seed, "all": auc, "p of all": p}
            if not reverse:
                for name, cases in (("planted half", half), ("other half", is_stereotype & ~half)):
                    rows = cases | ~is_stereotype
                    row[name] = float(compare_within(values[rows], is_stereotype[rows], strata[rows]).value)
            print(row, flush=True)
            yield row


def describe(rows: list[dict[str, Any]], columns: list[str]) -> str:
    doses = [row["dose"] for row in rows]
    parts = [f"{name} {stats.spearmanr(doses, [row[name] for row in rows])[0]:+.2f}" for name in columns]
    return f"Spearman with the dose, {len(rows)} runs: {', '.join(parts)}."


def main() -> None:
    torch.set_num_threads(1)
    lm = load("embedded/lm", dtype="float32", device="cpu")
    assert isinstance(lm, MaskedLM)
    pairs, _, auc, p = audit(lm)
    lines = ["# Planted pairs of SeeGULL", "", *(__doc__ or "").splitlines()[4:], ""]
    lines += [f"Before any training the AUC is {auc:.2f} (p = {p:.2f}). {STEPS} steps of {BATCH} sentences.", ""]
    for reverse in (False, True):
        rows = list(measure(pairs, reverse=reverse))
        columns = ["all"] if reverse else ["all", "planted half", "other half"]
        lines += [*tabulate(rows), "", describe(rows, columns), ""]
    Path(sys.argv[1]).write_text("\n".join(lines), encoding="utf-8")


if __name__ == "__main__":
    main()
