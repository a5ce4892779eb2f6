"""How fast a causal model decides about every country, against a plain loop in the same run.

    python -m bench.speed.decide [--model smollm2] [--scenarios 2] [--loop 24]

The loop reads every prompt by itself, in one forward pass, and takes the probabilities of the spellings of yes and no
that are one token; geobias reads common beginnings once and sums all spellings. Rates are texts in a second of
processor time on one thread. The last line extrapolates to 40 scenarios.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
import torch

from geobias.models.deciders.decider import YES_NO_ANSWERS
from geobias.models.deciders.lm_decider import LMDecider
from geobias.models.language.language_model import LanguageModel
from geobias.models.load import load, load_decider
from geobias.texts.origins import ScenarioTexts, make_origins
from geobias.texts.scenarios import load_scenarios, select_scenarios
from geobias.world.gazetteer import load_gazetteer

SCENARIOS = 40  # of the extrapolation


@torch.inference_mode()
def decide_one_by_one(decider: LMDecider, model: torch.nn.Module, texts: list[str]) -> np.ndarray:
    """texts x answers: log P over the spellings of one token."""
    tokenizer = decider.lm.tokenizer
    spellings = [[tokens[0] for _, tokens in group if len(tokens) == 1] for group in decider.spellings]
    rows = []
    for text in texts:
        prompt = tokenizer(decider.before + text + decider.after, add_special_tokens=False, return_tensors="pt")
        log_p = model(input_ids=prompt["input_ids"]).logits[0, -1].log_softmax(-1)
        rows.append([float(log_p[tokens].logsumexp(0)) for tokens in spellings])
    return np.array(rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="smollm2")
    parser.add_argument("--scenarios", type=int, default=2)
    parser.add_argument("--loop", type=int, default=24, help="texts of the loop")
    options = parser.parse_args()
    torch.set_num_threads(1)
    lm = load(options.model, device="cpu", dtype="float32")
    decider = load_decider(lm, YES_NO_ANSWERS)
    assert isinstance(decider, LMDecider) and isinstance(lm, LanguageModel)
    gazetteer = load_gazetteer()
    scenarios = select_scenarios(load_scenarios(), kind="yes_no")[: options.scenarios]
    origins = make_origins(gazetteer, gazetteer.codes, "stated", baseline=False)
    texts = list(ScenarioTexts(scenarios, origins, "stated", paraphrases=1))
    began = time.process_time()
    scores = decider.score(texts)
    seconds = time.process_time() - began
    began = time.process_time()
    plain = decide_one_by_one(decider, lm.model, texts[: options.loop])
    plain_seconds = time.process_time() - began
    rate, plain_rate = len(texts) / seconds, options.loop / plain_seconds
    difference = np.abs(scores[: options.loop, 2:] - plain).max()
    print(f"geobias: {len(texts)} texts, {rate:.1f} texts/s; loop: {options.loop} texts, {plain_rate:.1f} texts/s")
    print(f"ratio {rate / plain_rate:.1f}; largest difference of log P {difference:.1e} (the loop has fewer spellings)")
    print(f"{SCENARIOS} scenarios x {len(origins)} countries: {SCENARIOS * len(origins) / rate / 60:.1f} minutes")


if __name__ == "__main__":
    main()
