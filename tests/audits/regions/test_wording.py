"""What the words do to the score: left out or replaced, as if they had been asked so from the start."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

import geobias
from geobias.audits.regions.design import SCORE_ONLY
from geobias.engine.answer_checks import CHECKED_TEXTS
from geobias.world.words import Word
from tests.conftest import Run

WORDS = [
    Word("kind", "manners", "nice"),
    Word("rude", "manners", "gruff"),
    Word("tall", "looks", "big"),
    Word("old", "looks"),
]
PLACES = {"cities": 1, "countries": ["FR", "DE", "NG", "KE"], **SCORE_ONLY}


class Spelling:
    """A number for every text from its letters, and a count of how often it is asked."""

    fingerprint, columns = None, ("log_likelihood",)

    def __init__(self) -> None:
        self.asked: list[str] = []

    def score(self, texts: Sequence[str]) -> np.ndarray:
        self.asked += texts
        return np.array([[-1.0 - sum(map(ord, text)) % 97 / 97] for text in texts])


def scores(words: Sequence[Word]) -> np.ndarray:
    """Balanced C_w of every region with just these words."""
    return geobias.audit_regions(Spelling(), words=words, **PLACES).measure("c_w.balanced")


@pytest.mark.slow
def test_every_wording_is_what_asking_with_those_words_gives() -> None:
    result = geobias.audit_regions(
        Spelling(),
        words=WORDS,
        ablate="topics,words",
        substitute="topics",
        **PLACES,
    )
    found = {(w.what, w.name): w.scores["c_w.balanced"] for w in result.wordings}
    expected = {
        ("full", ""): WORDS,
        ("without topic", "manners"): WORDS[2:],
        ("without topic", "looks"): WORDS[:2],
        ("replaced topic", "manners"): [Word("nice"), Word("gruff"), Word("tall"), Word("old")],
        ("replaced topic", "looks"): [Word("kind"), Word("rude"), Word("big"), Word("old")],
        ("without word", "kind (manners)"): WORDS[1:],
        ("without word", "rude (manners)"): [WORDS[0], *WORDS[2:]],
        ("without word", "tall (looks)"): [*WORDS[:2], WORDS[3]],
        ("without word", "old (looks)"): WORDS[:3],
    }
    assert list(found) == list(expected)
    for key, words in expected.items():
        np.testing.assert_allclose(found[key], scores(words), err_msg=str(key))
    assert result.wording is not None and result.wording.words_without_substitute == ["old"]


@pytest.mark.slow
def test_intervals_of_wordings_and_of_their_differences_by_hand() -> None:
    topics = {"a": ["kind", "rude", "calm"], "b": ["tall", "old"], "c": ["shy", "loud", "quick"]}
    words = [Word(word, topic, f"{word}ly") for topic, some in topics.items() for word in some]
    result = geobias.audit_regions(
        Spelling(),
        words=words,
        ablate="topics,words",
        substitute="topics",
        **PLACES,
    )
    found = {(w.what, w.name): w for w in result.wordings}
    rest = [word for word in words if word.topic != "b"]

    def apart(chosen: Sequence[Word]) -> float:
        return float(scores([word for word in chosen if word in rest])[0] - scores(chosen)[0])

    without = np.array([apart([word for word in words if word != left]) for left in words])
    value, n = apart(words), len(words)
    centre = value - (n - 1) * (without.mean() - value)
    reach = stats.t.ppf(0.975, n - 1) * np.sqrt((n - 1) / n * ((without - without.mean()) ** 2).sum())
    difference = found["without topic", "b"].difference
    assert difference is not None
    estimate = difference.at(0)
    bounds = [estimate.value, estimate.low, estimate.high]
    assert bounds == pytest.approx([value, centre - reach, centre + reach])
    full = found["full", ""]
    assert full.difference is None and full.balanced is not None
    earth = result.region("Earth").inference
    assert earth is not None and full.balanced.at(0).low == earth.c_w.balanced.low
    assert found["without word", "shy (c)"].balanced is None
    saved = result.to_dict()["wording"]["wordings"][2]["regions"][0]
    assert saved["difference"] == asdict(estimate) and saved["inference"]["value"] == saved["c_w.balanced"]


def test_nothing_is_scored_twice(tmp_path: Path) -> None:
    class Kept(Spelling):
        fingerprint = "1"  # type: ignore[assignment]

    scorer = Kept()
    once = Spelling()  # without a fingerprint nothing is kept, and still nothing is asked twice
    own = [Word("kind", "a", "rude"), Word("rude", "a", "tall"), Word("tall", "a", "kind")]
    geobias.audit_regions(once, words=own, substitute="topics", **PLACES)
    assert len(once.asked) == len(set(once.asked)) + CHECKED_TEXTS  # asked twice, to see whether it answers alike
    geobias.audit_regions(scorer, words=WORDS, ablate=["topics", "words"], **PLACES)
    plain, before = len(scorer.asked), set(scorer.asked)
    assert len(before) == plain - CHECKED_TEXTS
    geobias.audit_regions(scorer, words=WORDS, substitute="topics", **PLACES)
    more = set(scorer.asked) - before  # "old" has no substitute and is not asked again
    assert {text.rstrip(".").split()[-1] for text in more} == {"nice", "gruff", "big"}
    assert len(scorer.asked) == plain + len(more) + 2 * CHECKED_TEXTS  # some stored ones, and some twice


def test_a_topic_without_which_one_word_remains_is_not_left_out() -> None:
    words = [Word("kind", "a"), Word("rude", "a"), Word("tall", "b")]
    result = geobias.audit_regions(Spelling(), words=words, ablate="topics", **PLACES)
    assert [(wording.what, wording.name) for wording in result.wordings] == [("full", ""), ("without topic", "b")]


def test_a_topic_without_any_substitute_is_not_called_replaced() -> None:
    words = [Word("kind", "a", "nice"), Word("rude", "a"), Word("tall", "b"), Word("old", "b")]
    result = geobias.audit_regions(Spelling(), words=words, substitute="topics", **PLACES)
    assert [(wording.what, wording.name) for wording in result.wordings] == [("full", ""), ("replaced topic", "a")]


@pytest.mark.slow
def test_the_command_writes_and_shows_it(run: Run, small_models: dict[str, Path], tmp_path: Path) -> None:
    (tmp_path / "words.csv").write_text("word,topic,substitute\nkind,a,nice\nrude,a,gruff\ntall,b,big\nold,b,\n")
    (tmp_path / "vectors.txt").write_text("kind 1 0\nnice 1 0.1\ntall 0 1\nhigh 0.1 1\n")
    code, out, err = run("regions", small_models["bert"], "--cities", "0", "--countries", "FR,DE,NG,KE",
                         "--words", "words.csv", "--ablate", "topics,words", "--substitute", "nearest",
                         "--vectors", "vectors.txt", "--out", "here", "--full")  # fmt: skip
    assert code == 0, err
    assert "without topic a" in out and "replaced topic b" in out and "most without:" in out
    assert "left as they are: 2 (rude, old)" in out
    with open(tmp_path / "here/tables/wording.csv", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == (1 + 2 + 2 + 4) * 3  # Earth, Africa, Europe
    earth = next(row for row in rows if row["region_id"] == "Earth")
    assert (earth["what"], earth["name"]) == ("full", "") and float(earth["c_w_balanced"]) > 0
    assert {"c_w_balanced_low", "c_w_balanced_difference", "c_w_balanced_difference_p_adjusted"} <= set(earth)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"ablate": "letters"}, "Unknown --ablate 'letters'. Choose from: topics, words"),
        ({"ablate": ""}, "--ablate is empty"),
        ({"ablate": "topics", "words": ["a", "b", "c"]}, "--ablate topics needs"),
        ({"ablate": "words", "words": ["a", "b"]}, "--ablate words needs"),
        ({"words": [Word("a", "t", "x"), Word("a", "t", "y"), Word("b")]}, "two substitutes"),
        ({"substitute": "random"}, "Unknown --substitute 'random'. Choose from: topics, nearest"),
        ({"substitute": "nearest"}, "--vectors FILE"),
        ({"vectors": "v.txt"}, "--substitute nearest"),
        ({"substitute": "topics", "vectors": "v.txt"}, "--substitute nearest"),
        ({"substitute": "topics", "words": ["a", "b"]}, "no substitutes"),
        ({"substitute": "nearest", "vectors": "absent.txt"}, "absent.txt does not exist"),
    ],
)
def test_bad_input(options: dict[str, object], message: str) -> None:
    with pytest.raises(geobias.InputError, match=message):
        geobias.audit_regions(Spelling(), **{**PLACES, **options})
