"""What does aligning the bundled language model bring, and what does it cost?

    python -m bench.align shared/corpora/wikipedia-1.txt.xz shared/corpora/wikipedia-5.txt.xz build docs/figures

The first file has plain text for the replay, one paragraph per line; the perplexity is measured on the second. Half of
the countries, words and templates are trained on; the audit sees the others. Models and audits go to `build`, the
table to align.md. `--strengths` and `--epochs` choose points of the frontier; a CPU takes some minutes for each. What
`build` holds is not made again.

Score: balanced C_w of the Earth (`geobias regions`), with the 95 % interval over words of its paired change.
"""

from __future__ import annotations

import argparse
import lzma
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

import geobias
from geobias.audits.compare.result import Difference
from geobias.engine.ask import ask
from geobias.models.training.alignment import (
    AlignmentSettings,
    AlignmentSplit,
    align_language_model,
    split_for_alignment,
)
from geobias.models.training.word_scores import compute_word_variance_ratio, pseudo_perplexity, share_of_capitals_known
from geobias.texts.paraphrases import paraphrase_templates
from geobias.texts.templates import Sentences
from geobias.world.regions import load_world
from geobias.world.words import Word, herb_words

MODEL = "embedded/lm"
REPLAY_SENTENCES, TEST_SENTENCES = 4000, 80
SHORTEST, LONGEST = 40, 160  # characters of a sentence
TRAIN_TEMPLATES = 3
HEADER = (
    "| method | C_w before | C_w after | change | 95 % interval of the change | pseudo-perplexity | its change | "
    "capitals known | points | word variance ratio |\n|---|---:|---:|---:|---|---:|---|---:|---:|---:|\n"
)


def read_sentences(path: Path, count: int, pattern: str = "") -> list[str]:
    """The first sentences of the file's paragraphs that are neither short nor long and have the pattern.

    Sentences about capitals are left out: what the model knows of them is tested.
    """
    sentences: list[str] = []
    with lzma.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            sentence = re.split(r"(?<=[a-z]\.) ", line.strip(), maxsplit=1)[0]
            if not SHORTEST <= len(sentence) <= LONGEST or not sentence.endswith(".") or "capital" in sentence:
                continue
            if re.search(pattern, sentence):
                sentences.append(sentence)
            if len(sentences) == count:
                break
    return sentences


class Evaluation:
    """The original model and what became of it, on held-out regions, words, template and texts."""

    def __init__(self, split: AlignmentSplit, texts: Sequence[str], build: Path) -> None:
        self.split, self.texts, self.build = split, texts, build
        self.sentences = Sentences(
            split.held_out.templates[:1],
            [region.name for region in split.held_out.regions],
            [word.word for word in split.held_out.words],
            marked=True,
        )
        self.original = self.audit(MODEL, build / "audit-original")
        self.likelihoods = pseudo_perplexity(MODEL, texts)
        self.capitals = share_of_capitals_known(MODEL)

    def audit(self, model: str | Path, out: Path) -> np.ndarray:
        """Run the audit and return its scores: regions x words."""
        held_out = self.split.held_out
        geobias.audit_regions(
            model,
            cities=0,
            countries=[region.id for region in held_out.regions],
            words=list(held_out.words),
            templates=held_out.templates[0],
            placebo=False,
            paraphrases=0,
            out=out,
        )
        scorer = geobias.load(model).scorer("conditional")
        scores = ask(scorer, self.sentences, label="from the store", progress=False).scores[:, 0]
        return scores.reshape(len(held_out.regions), len(held_out.words))

    def describe_original(self) -> str:
        """The first row of the table."""
        perplexity, share = self.likelihoods.perplexity, 100 * self.capitals.share
        return f"| original | | | | | {perplexity:.2f} | | {share:.1f} % | | |"

    def compare(self, label: str, model: Path) -> str:
        """A row of the table."""
        out = self.build / f"audit-{model.name}"
        scores = self.audit(model, out)
        change = _find_root(geobias.compare([self.build / "audit-original", out]).comparisons[0].rows)
        assert change.difference.low is not None and change.difference.high is not None
        likelihoods = pseudo_perplexity(model, self.texts)
        log_ratio = self.likelihoods.log_p - likelihoods.log_p
        rng = np.random.default_rng(0)
        draws = rng.integers(len(log_ratio), size=(2000, len(log_ratio)))
        ratios = np.exp(log_ratio[draws].sum(1) / self.likelihoods.tokens[draws].sum(1))
        low, high = 100 * (np.quantile(ratios, (0.025, 0.975)) - 1)
        cost = 100 * (likelihoods.perplexity / self.likelihoods.perplexity - 1)
        capitals = share_of_capitals_known(model)
        points = 100 * (capitals.share - self.capitals.share)
        ratio = compute_word_variance_ratio(self.original, scores)
        relative = 100 * (change.second / change.first - 1) if change.first and change.second else np.nan
        return (
            f"| {label} | {change.first:.4f} | {change.second:.4f} | {relative:+.0f} % | "
            f"{change.difference.low:+.4f} to {change.difference.high:+.4f} | {likelihoods.perplexity:.2f} | "
            f"{cost:+.1f} % ({low:+.1f} to {high:+.1f}) | {100 * capitals.share:.1f} % | {points:+.1f} | {ratio:.2f} |"
        )


def _find_root(differences: Sequence[Difference]) -> Difference:
    return next(each for each in differences if each.name == "Earth")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("replay", type=Path)
    parser.add_argument("test", type=Path)
    parser.add_argument("build", type=Path)
    parser.add_argument("figures", type=Path)
    parser.add_argument("--strengths", type=float, nargs="*", default=[0.3, 0.5, 1])
    parser.add_argument("--epochs", type=int, default=1)
    arguments = parser.parse_args()
    countries = [region for region in load_world(cities=0, dissolved=False).regions if region.level == "country"]
    split = split_for_alignment(countries, herb_words(), paraphrase_templates(Word("kind")))
    train = split.train
    evaluation = Evaluation(split, read_sentences(arguments.test, TEST_SENTENCES), arguments.build)
    # Half of the replay mentions a country: knowledge of places is what alignment could take away.
    names = "|".join(re.escape(country.name) for country in countries)
    replay = read_sentences(arguments.replay, REPLAY_SENTENCES // 2)
    replay += read_sentences(arguments.replay, REPLAY_SENTENCES // 2, rf"\b({names})\b")
    lines = [evaluation.describe_original()]
    data: dict[str, Any] = {
        "regions": [region.name for region in train.regions],
        "words": [word.word for word in train.words],
        "templates": train.templates[:TRAIN_TEMPLATES],
    }

    def add_row(label: str, model: Path) -> None:
        lines.append(evaluation.compare(label, model))
        print(lines[-1], flush=True)
        (arguments.figures / "align.md").write_text(HEADER + "\n".join(lines) + "\n", encoding="utf-8")

    for strength in arguments.strengths:
        out = arguments.build / f"align-{strength:g}-{arguments.epochs}"
        settings = AlignmentSettings(strength, arguments.epochs)
        model = align_language_model(MODEL, settings, **data, replay_texts=replay, out=out)
        add_row(f"align, strength {strength:g}", model)


if __name__ == "__main__":
    main()
