"""Does geobias score a model of some architecture as the definitions say, and refuse in one line what it cannot?"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

import numpy as np

from geobias.errors import InputError
from geobias.models.language_model import LanguageModel, LanguageScorer
from geobias.models.load import load_weights
from geobias.texts.templates import Sentences, TextSelection
from tests.models.architectures.brute_force import PlainModel
from tests.models.architectures.tiny_models import build_tiny_model

METHODS = {
    "masked": ("aul", "pll", "conditional", "aula"),
    "causal": ("mean", "conditional"),
    "seq2seq": ("aul", "mean", "conditional"),
}
TOLERANCE = 1e-4
REGIONS, WORDS = ["France", "Papua New Guinea"], ["kind", "hard-working"]
TEMPLATES = ["People in {region} are {description}.", "The {description} dog of {region}"]
SMALL_BUDGET = 25  # tokens in a batch


@dataclass(frozen=True)
class Check:
    """One score of one architecture; without a score, what happened when it was built or loaded."""

    kind: str
    architecture: str
    method: str
    status: str
    error: float = np.nan  # the largest difference from brute force
    spread: float = np.nan  # the largest difference between batches, orders, and ways to read templates
    message: str = ""


def check_architecture(kind: str, architecture: str, folder: Path) -> Iterator[Check]:
    """Build a tiny model in this folder, and check all scores of its kind."""
    try:
        build_tiny_model(kind, architecture, folder)
    except Exception as error:  # sizes that do not fit together, or a library that is missing
        yield Check(kind, architecture, "", "not built", message=describe_error(error))
        return
    try:
        lm = load_weights(folder)
        plain = PlainModel(kind, folder, lm.tokenizer)
    except Exception as error:  # whatever it is shows in the table
        yield Check(kind, architecture, "", judge_error(error), message=describe_error(error))
        return
    for method in METHODS[kind]:
        try:
            difference, spread = compare_scores(lm, plain, method)
        except Exception as failure:
            yield Check(kind, architecture, method, judge_error(failure), message=describe_error(failure))
            continue
        status = "WRONG" if not difference <= TOLERANCE else "ok" if spread <= TOLERANCE else "VARIES"
        yield Check(kind, architecture, method, status, difference, spread)


def compare_scores(lm: LanguageModel, plain: PlainModel, method: str) -> tuple[float, float]:
    """The largest differences from brute force, and between ways of scoring the same texts."""
    scorer = lm.scorer(method)
    sentences = Sentences(TEMPLATES, REGIONS, WORDS, marked=scorer.needs_mark)
    texts = list(sentences)
    expected = np.array([plain.score(method, text) for text in texts])
    scores = scorer.score(texts)[:, 0]
    others = score_otherwise(lm, scorer, sentences)
    return float(np.abs(scores - expected).max()), max(float(np.abs(other - scores).max()) for other in others)


def score_otherwise(lm: LanguageModel, scorer: LanguageScorer, sentences: Sentences) -> Iterator[np.ndarray]:
    """Scores of all sentences: as a template, in another order, and in small batches."""
    with mock.patch("geobias.models.language_model.SAMPLE_SIZE", -1000):  # though they are few
        yield scorer.score(TextSelection(sentences, np.arange(len(sentences))))[:, 0]
    order = np.random.default_rng(0).permutation(len(sentences))
    yield scorer.score([sentences[int(index)] for index in order])[np.argsort(order), 0]
    with mock.patch.object(lm, "token_budget", SMALL_BUDGET):
        yield scorer.score(list(sentences))[:, 0]


def judge_error(error: Exception) -> str:
    """An InputError of one line is a refusal; anything else is a fault of ours."""
    return "refused" if isinstance(error, InputError) and "\n" not in str(error) else "CRASH"


def describe_error(error: Exception) -> str:
    """The error in one line."""
    text = " ".join(str(error).split())
    return text if isinstance(error, InputError) else f"{type(error).__name__}: {text}"
