"""Planted artefacts: long, rare or accented names lead with no country; a planted country leads."""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import geobias
from geobias.report.findings import Finding, with_role
from geobias.world.gazetteer import load_gazetteer, load_name_counts

Effect = Callable[[str], float]
WORDS = re.compile(r"[^\W\d_]+")
TURKISH = {name for kind in ("male", "female", "last") for name in load_gazetteer().names("TR", kind)}


def audit(effect: Effect, seed: int = 0, tokenizer: Any = None) -> Finding:
    """The overall finding about a function with this effect, and a little noise, on bundled tweets."""

    def judge(texts: list[str]) -> np.ndarray:
        noise = np.array(
            [np.random.default_rng(zlib.crc32(f"{seed}{text}".encode())).normal(0, 0.02) for text in texts]
        )
        tone = np.clip(np.array(list(map(effect, texts))) + noise, -1, 1)
        return np.column_stack([0.5 - tone / 2, 0.5 + tone / 2])

    judge.labels, judge.tokenizer = ["negative", "positive"], tokenizer  # type: ignore[attr-defined]
    result = geobias.audit_names(judge, limit=36, draws=8, seed=seed)
    (finding,) = with_role(result.findings, "overall")
    return finding


def check_artefact(finding: Finding, reason: str) -> None:
    assert (finding.evidence, finding.subject, finding.valence) == ("suggestive", None, None)
    assert reason in finding.sentence and "between names of equal length" in finding.sentence


def test_tokens_are_explained_by_length() -> None:
    from geobias.models.load import load_perplexity_scorer

    tokenizer = load_perplexity_scorer("embedded/lm", None).lm.tokenizer  # type: ignore[attr-defined]

    def count(text: str) -> float:
        return 0.5 - 0.02 * len(tokenizer(text)["input_ids"])

    check_artefact(audit(count, tokenizer=tokenizer), "but names' length explains it: 0.")
    # A function without its tokenizer: rare names have more tokens, and the sentence says that it cannot tell.
    check_artefact(audit(count), "length")


def test_characters_are_explained_by_length() -> None:
    check_artefact(audit(lambda text: 0.5 - 0.01 * len(text)), "but names' length explains it: 0.")


def test_letters_outside_ascii_are_explained_by_spelling() -> None:
    def dislike_accents(text: str) -> float:
        return -0.10 * any(letter.isalpha() and not letter.isascii() for letter in text)

    check_artefact(audit(dislike_accents), "but spelling explains it: 0.")


def test_rare_words_are_explained_by_frequency() -> None:
    counts = load_name_counts()

    def like_frequent(text: str) -> float:
        return 0.01 * sum(np.log1p(counts[word]) for word in WORDS.findall(text) if word in counts) - 0.2

    check_artefact(audit(like_frequent), "frequency")


def test_a_planted_country_stays_and_leads() -> None:
    finding = audit(lambda text: -0.14 * bool(TURKISH & set(WORDS.findall(text))))
    assert (finding.evidence, finding.code, finding.valence) == ("clear", "TR", "worse")
    assert finding.size is not None and finding.size.value == pytest.approx(-13, abs=2)
    assert "points lower (harsher) with names common in Turkey; 1 of 17 countries stands out" in finding.sentence


@pytest.mark.parametrize("seed", range(3))
def test_nothing_leads_where_nothing_was_planted(seed: int) -> None:
    assert audit(lambda text: 0.1, seed).evidence != "clear"  # of three seeds one may be a possible difference
