"""How fast a causal model decides about every country, against a plain loop in the same run.

    python -m bench.speed.decide [--model smollm2] [--scenarios 2] [--loop 24]

For each kind of question, a few scenarios are asked about every country. The loop reads every prompt by itself, in one
forward pass, and takes the probabilities of the answers' spellings that are one token; geobias reads common beginnings
once and sums all spellings. They take turns, and times are seconds of processor time on one thread. The last lines
extrapolate to 40 scenarios, and to all texts of `geobias decide MODEL`.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter

import numpy as np
import torch

from geobias.audits.decide.audit import audit_decisions
from geobias.audits.decide.design import DecideDesign
from geobias.audits.study import prepare
from geobias.models.answers import ANSWER_SETS
from geobias.models.language_model import LanguageModel
from geobias.models.load import load, load_decider
from geobias.models.prompted import LMDecider
from geobias.texts.origins import ChoiceTexts, ScenarioTexts
from geobias.texts.scenarios import CHOICE, YES_NO

SCENARIOS = 40  # of the extrapolation
TURNS = 2


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


def count_texts(design: DecideDesign) -> dict[str, int]:
    """Distinct texts of a whole run with controls, by kind of question."""
    questions = {(kind, text) for kind, texts in design.list_questions() for text in texts}
    return dict(Counter(kind for kind, _ in questions))


def measure(decider: LMDecider, model: torch.nn.Module, texts: list[str], loop: int) -> tuple[float, float, float]:
    """Seconds for a text, by geobias and by the loop, in turns; and the largest difference of log P."""
    sample = texts[:: max(len(texts) // loop, 1)][:loop]
    seconds, difference = np.zeros(2), 0.0
    decider.score(texts[:8])
    for _ in range(TURNS):
        began = time.process_time()
        scores = decider.score(texts)
        middle = time.process_time()
        plain = decide_one_by_one(decider, model, sample)
        seconds += (middle - began) / len(texts), (time.process_time() - middle) / len(sample)
        difference = np.abs(scores[[texts.index(text) for text in sample], 2:] - plain).max()
    return seconds[0] / TURNS, seconds[1] / TURNS, difference


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="smollm2")
    parser.add_argument("--scenarios", type=int, default=2, help="of each kind of question")
    parser.add_argument("--loop", type=int, default=24, help="texts of the loop, of each kind of question")
    options = parser.parse_args()
    torch.set_num_threads(1)
    lm = load(options.model, device="cpu", dtype="float32")
    design = prepare(audit_decisions).design
    by_text = {}
    print("| question | texts | geobias, ms | loop, ms | ratio | largest difference |\n|---|---|---|---|---|---|")
    for kind in ANSWER_SETS:
        decider = load_decider(lm, ANSWER_SETS[kind])
        assert isinstance(decider, LMDecider) and isinstance(lm, LanguageModel)
        make_texts = ChoiceTexts if kind == CHOICE else ScenarioTexts
        texts = list(make_texts(design.of_kind(kind)[: options.scenarios], design.countries, "stated", paraphrases=1))
        seconds, of_loop, difference = measure(decider, lm.model, texts, options.loop)
        by_text[kind] = seconds
        print(
            f"| {kind} | {len(texts)} | {1000 * seconds:.1f} | {1000 * of_loop:.0f} | {of_loop / seconds:.1f} | "
            f"{difference:.0e} |",
            flush=True,
        )
    forty, counts = SCENARIOS * len(design.countries), count_texts(design)
    total = sum(counts[kind] * by_text[kind] for kind in counts)
    print(
        f"{SCENARIOS} yes/no scenarios x {len(design.countries)} countries: {forty:,} texts, "
        f"{forty * by_text[YES_NO] / 60:.1f} minutes of processor time"
    )
    print(
        f"geobias decide {options.model}: {', '.join(f'{count:,} {kind}' for kind, count in counts.items())} texts, "
        f"{total / 60:.1f} minutes of processor time"
    )


if __name__ == "__main__":
    main()
