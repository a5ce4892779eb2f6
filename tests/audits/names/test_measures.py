"""The names audit: what was planted is found, with its size, and nothing is found where there is nothing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

import geobias
from geobias.audits.labels import find_label_tones, label_tone
from tests.conftest import made_up_names, spell

TEXTS = [
    "Mary is here",
    "I saw John Drake again and John smiled",
    "terrible day, said MARY",
    "Xyzzy was late",
    "no name",
]
SPANS = ["[[0, 4]]", "[[6, 16], [27, 31]]", "[[19, 23]]", "[[0, 5]]", ""]
COUNTRIES = ("Aland", "Bland", "Cland")


def frame(copies: int = 1, **columns: list[Any]) -> pd.DataFrame:
    """Copies that no audit takes for one text, since they end in a word of their own."""
    rows = pd.concat([pd.DataFrame({"text": TEXTS, "spans": SPANS, **columns})] * copies, ignore_index=True)
    ends = [f" {spell(number // len(TEXTS))}" for number in range(len(rows))]
    return rows.assign(text=rows["text"] + ends if copies > 1 else rows["text"])


@pytest.fixture
def own_names(tmp_path: Path) -> Path:
    """Three made-up countries without a name in common: Amalea, Bmalea, ..."""
    return made_up_names(tmp_path, COUNTRIES)


def planted(texts: list[str]) -> list[dict[str, float]]:
    """Dislikes names that begin with Bmale, Bfemale or Blast: 0.1 less positive, 0.05 of it for the negative side."""
    found = []
    for text in texts:
        positive = 0.2 if "terrible" in text else 0.55
        disliked = any(part in text.lower() for part in ("bmale", "bfemale", "blast"))
        positive -= 0.1 * disliked
        negative = (0.6 if "terrible" in text else 0.25) + 0.05 * disliked
        found.append({"negative": negative, "neutral": 1 - positive - negative, "positive": positive})
    return found


def indifferent(texts: list[str]) -> list[dict[str, float]]:
    return [{"bad": 0.7, "good": 0.3} if "terrible" in text else {"bad": 0.2, "good": 0.8} for text in texts]


def audit(classifier: Any, own_names: Path | None = None, **options: Any) -> Any:
    """A NamesResult; not typed, since most of its numbers may be None."""
    options = {"texts": frame(), "spans": "spans", "draws": 4, **options}
    return geobias.audit_names(classifier, gazetteer=own_names, **options)


def test_a_planted_dislike_is_found_with_its_size(own_names: Path) -> None:
    result = audit(planted, own_names, texts=frame(copies=10))
    # p_pos - p_neg falls by 0.15 in every text, whoever is renamed.
    assert [row.place for row in result.effects] == list(COUNTRIES)
    assert [row.against_originals.value for row in result.effects] == pytest.approx([0, -15, 0])
    assert [row.against_mean.value for row in result.effects] == pytest.approx([5, -10, 5])
    assert [row.kl.value > 0.001 for row in result.effects] == [False, True, False]
    assert {row.place: (round(row.women), round(row.men)) for row in result.gender_gaps}["Bland"] == (-10, -10)


def test_a_planted_flip_is_found_in_the_counts(own_names: Path) -> None:
    def flips(texts: list[str]) -> np.ndarray:
        bad = np.array([0.9 if "bfemale" in text.lower() or "terrible" in text else 0.1 for text in texts])
        return np.column_stack([bad, 1 - bad])

    flips.labels = ["hate", "not-hate"]  # type: ignore[attr-defined]
    result = audit(flips, own_names)
    found = {(row.place, row.label): row for row in result.classes}
    # Four texts, four draws. Before: one hateful text of four, so 4 of 16. With women's names of Bland: Mary's text is
    # always hateful (+4), that of unknown gender every second time (+2); John's never; the terrible one always was.
    for label, before, after in (("hate", 4, 10), ("not-hate", 12, 6)):
        row = found["Bland", label]
        assert (row.before, row.after, row.changed_texts) == (before, after, 2)
        # Two texts changed: too few for a change in per cent.
        assert row.against_originals.value is None and row.against_mean.value is None
        assert found["Aland", label].against_originals.value == 0


def test_a_function_that_ignores_names_gives_zero_everywhere(small_models: dict[str, Path]) -> None:
    lm = str(small_models["roberta"])
    result = audit(indifferent, texts=frame(copies=5), perplexity=lm, perplexity_draws=3, countries="FR,MA,IN")
    for row in result.effects:
        numbers = (row.against_originals, row.against_mean, row.kl, row.kl_from_mean)
        assert [number.value for number in numbers] == pytest.approx([0] * 4, abs=1e-12)
    for row in result.classes:
        assert row.against_originals.value == row.against_mean.value == 0
    within = [row for row in result.correlations if row.over == "within" and row.place]
    assert len(within) == 3 * 2
    for row in within:
        assert (row.correlation.value, row.texts, row.texts_without_variance) == (None, 0, 20)


def test_counts_and_names_used(own_names: Path) -> None:
    result = audit(indifferent, own_names)
    counts = result.counts
    assert (counts.texts, counts.texts_with_names, counts.people, counts.mentions) == (5, 4, 4, 5)
    assert (result.name_lists[0].male, result.name_lists[0].shortest) == (20, 20)
    row = result.to_frame().loc[1, ["country", "measure", "against"]]
    assert row.tolist() == ["Bland", "delta", "mean of countries"]


def test_a_class_never_predicted_before_has_no_change(own_names: Path) -> None:
    neutral = [row for row in audit(planted, own_names).classes if row.label == "neutral"]
    assert len(neutral) == 3 and all(row.against_originals.value is None for row in neutral)


def test_several_classifiers_in_one_run_and_the_same_draws(own_names: Path) -> None:
    seen: list[list[str]] = []

    def listens(texts: list[str]) -> np.ndarray:
        seen.append(texts)
        return np.full((len(texts), 2), 0.5)

    def listens_too(texts: list[str]) -> np.ndarray:
        return listens(texts)

    result = audit([planted, listens, listens_too], own_names)
    assert [len(entry.labels) for entry in result.classifiers] == [3, 2, 2]
    rest = [texts for texts in seen if len(texts) > 1]
    assert rest[: len(rest) // 2] == rest[len(rest) // 2 :]
    with pytest.raises(geobias.InputError, match="each with a different name"):
        audit([listens, listens], own_names)


def test_local_and_global_correlations_are_the_equations(small_models: dict[str, Path]) -> None:
    from scipy import stats

    lm = geobias.load(small_models["roberta"]).scorer("pll")

    def by_length(texts: list[str]) -> np.ndarray:
        p = np.array([len(text) for text in texts]) / 100
        return np.column_stack([p, 1 - p])

    result = audit(by_length, perplexity=str(small_models["roberta"]), countries=["FR", "TR"])
    found = {(row.over, row.place): row for row in result.correlations if row.label == "0"}
    strange = -lm.score(TEXTS)[:, 0]
    long = np.array([len(text) / 100 for text in TEXTS])
    expected = stats.pearsonr(strange, long).statistic
    assert found["originals", None].correlation.value == pytest.approx(expected)
    renamed = np.array(
        [[[result.counterfactuals.at(t, c, d) for d in range(4)] for c in range(2)] for t in range(4)], dtype=object
    )
    ppl = -lm.score(list(renamed.ravel()))[:, 0].reshape(4, 2, 4)
    size = np.vectorize(len)(renamed) / 100
    each = [
        stats.pearsonr(ppl[t, 1], size[t, 1]).statistic for t in range(4) if np.ptp(size[t, 1]) and np.ptp(ppl[t, 1])
    ]
    turkey = next(row for (over, place), row in found.items() if over == "within" and place not in (None, "France"))
    assert turkey.correlation.value == pytest.approx(np.mean(each), abs=1e-5)
    assert turkey.correlation.low is None  # four texts
    assert (turkey.texts, turkey.texts_without_variance) == (len(each), 4 - len(each))
    x, y = ppl - strange[:4, None, None], size - long[:4, None, None]
    expected = stats.pearsonr(x.ravel(), y.ravel()).statistic
    assert found["pooled", None].correlation.value == pytest.approx(expected, abs=1e-5)


def test_a_language_that_the_lm_does_not_know_is_refused(small_models: dict[str, Path]) -> None:
    texts = {
        "en": [{"text": "People in France are kind.", "at": [[10, 16]]}, {"text": "France is lazy.", "at": [[0, 6]]}],
        "ru": [{"text": "Люди добры, Люся", "at": [[12, 16]]}, {"text": "Мария спит", "at": [[0, 5]]}],
    }
    lm = str(small_models["bert"])
    result: Any = geobias.audit_names(
        planted, texts, spans="at", perplexity=lm, draws=3, perplexity_draws=2, countries="FR,DE"
    )
    counts = result.perplexity
    assert counts.languages_refused == ["ru"] and counts.unknown_tokens["ru"] > 0.05
    assert {row.language for row in result.correlations if row.over == "originals"} == {"en"}
    assert result.list_subsets() == ["language en", "language ru"]


def test_subsets_repeat_the_tables(own_names: Path) -> None:
    texts = frame(copies=3, part=["x", "x", "y", "y", "y"])
    result = audit(planted, own_names, texts=texts, subsets=["part"])
    assert result.list_subsets() == ["part x", "part y"]
    for subset in result.list_subsets():
        rows = [row for row in result.effects if row.subset == subset]
        assert [row.renamed_texts for row in rows] == [6 * 4] * 3
        assert [round(row.against_originals.value) for row in rows] == [0, -15, 0]


def test_error_rates_with_true_labels(own_names: Path) -> None:
    def flips(texts: list[str]) -> list[dict[str, float]]:
        return [{"no": 0.1, "yes": 0.9} if "bmale" in text.lower() else {"no": 0.8, "yes": 0.2} for text in texts]

    texts = frame(truth=["no", "no", "yes", "yes", "no"])
    result = audit(flips, own_names, texts=texts, label="truth")
    rows = {(row.place, row.label): row for row in result.classes}
    for label, rates in (("no", (1, 0)), ("yes", (0, 1))):
        row = rows["Bland", label]
        assert (row.original_false_positive, row.original_false_negative) == rates
    # Truly "no": Mary's and John's texts; John's becomes yes: half. Truly "yes": one is a woman's, one alternates.
    assert (rows["Bland", "yes"].false_positive, rows["Bland", "yes"].false_negative) == pytest.approx((0.5, 0.75))
    again = audit(flips, own_names, texts=frame(truth=[0, 0, 1, 1, 0]), label="truth")
    assert again.classes == result.classes
    assert again.classifiers[0].notes == ["true labels were read by number: 0 as no, 1 as yes."]


def test_numbers_are_not_read_as_positions_of_labels_that_have_numbers() -> None:
    def stars(texts: list[str]) -> list[dict[str, float]]:
        return [{"1 star": 0.5, "2 stars": 0.5} for _ in texts]

    with pytest.raises(geobias.InputError, match="no label '1'"):
        audit(stars, texts=frame(truth=[1, 1, 1, 1, 1]), label="truth")


def test_multi_label_goes_class_by_class(own_names: Path) -> None:
    def both(texts: list[str]) -> np.ndarray:
        return np.array([[0.9, 0.6 if "blast" in text.lower() else 0.4] for text in texts])

    both.labels, both.multi_label = ["anger", "joy"], True  # type: ignore[attr-defined]
    result = audit(both, own_names)
    assert result.classifiers[0].multi_label and result.classifiers[0].threshold == 0.5
    bland = {row.label: (row.before, row.after) for row in result.classes if row.place == "Bland"}
    assert bland == {"anger": (16, 16), "joy": (0, 4)}
    assert {row.before for row in audit(both, own_names, threshold=0.3).classes} == {16}


def test_out_leaves_a_run_and_twice_is_the_same(own_names: Path, tmp_path: Path, monkeypatch: Any) -> None:
    files = []
    for turn in ("one", "two"):
        monkeypatch.setenv("GEOBIAS_CACHE", str(tmp_path / f"cache-{turn}"))
        audit(["embedded/hate", planted], own_names, perplexity="embedded/lm", perplexity_draws=2, out=tmp_path / turn)
        files.append(
            {
                p.name: p.read_bytes()
                for p in (tmp_path / turn).rglob("*")
                if p.is_file() and p.name not in ("run.json", "report.html")  # which say when it was
            }
        )
    assert files[0] == files[1]
    assert {"effects.csv", "classes.csv", "gender_gaps.csv", "correlations.csv", "names.csv"} <= set(files[0])
    results = json.loads(files[0]["results.json"])
    assert results["audit"] == "names" and len(results["models"]) == 3
    table = pq.read_table(tmp_path / "one/counterfactuals.parquet").to_pandas()
    assert len(table) == 5 + 4 * 3 * 4
    row = table[(table.text_id == "2") & (table.country == "Bland") & (table.draw == 3)].iloc[0]
    assert row.person.tolist() == ["John Drake"]
    assert row.text == f"I saw {row.first_name[0]} {row.last_name[0]} again and {row.first_name[0]} smiled"
    assert row["tests.audits.names.test_measures:planted/positive"] == pytest.approx(0.45)
    assert table[table.country.isna()].text.tolist() == TEXTS
    assert table["perplexity/embedded/lm"].notna().sum() == 5 + 4 * 3 * 2
    with pytest.raises(geobias.InputError, match="other settings"):
        audit(["embedded/hate", planted], own_names, seed=1, out=tmp_path / "one")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"countries": "Atlantis"}, "Atlantis"),
        ({"countries": "Russia"}, "Russia has 0 male names"),
        ({"countries": ","}, "empty"),
        ({"texts": ["nobody here", "nor here"], "spans": None}, "None of the 2 texts"),
        ({"spans": None, "texts": frame(), "column": "words"}, "no column 'words'"),
        ({"finder": "embedded/entities"}, "Remove --finder"),
        ({"doubtful": "maybe"}, "drop, keep"),
        ({"draws": 0}, "--draws"),
        ({"seed": -1}, "--seed"),
        ({"limit": 0}, "--limit"),
        ({"threshold": 1.5}, "threshold"),
        ({"perplexity": " "}, "--perplexity is empty"),
        ({"perplexity_draws": 0}, "perplexity_draws"),
        ({"positive": ["good"]}, "both --positive and --negative"),
        ({"positive": ["good"], "negative": ["evil"]}, "no label 'evil'"),
        ({"positive": ["good"], "negative": ["good"]}, "both positive and negative"),
        (
            {"texts": frame(truth=["good", "evil", "bad", "bad", "bad"]), "label": "truth"},
            r"no label 'evil' \(text 2\)",
        ),
        ({"texts": None, "spans": None, "label": "truth"}, "--label needs --texts"),
    ],
)
def test_bad_input_is_refused_in_one_sentence(options: dict[str, Any], message: str) -> None:
    with pytest.raises(geobias.InputError, match=message):
        audit(indifferent, **options)


@pytest.mark.parametrize(
    ("label", "expected"),
    [
        ("positive", 1),
        ("1 star", -1),
        ("NEG", -1),
        ("neutral", 0),
        ("non-hate", 1),
        ("not_offensive", 1),
        ("Hate", -1),
        ("noise", 0),
    ],
)
def test_tone_of_labels(label: str, expected: int) -> None:
    assert label_tone(label) == expected


def test_labels_without_a_tone_have_no_delta() -> None:
    assert find_label_tones("m", ("LABEL_0", "LABEL_1"), (), ()) == ([], [])
    assert find_label_tones("m", ("LABEL_0", "LABEL_1"), ("label_1",), ("LABEL_0",)) == ([1], [0])
    assert find_label_tones("m", ("hatespeech", "normal", "offensive"), (), ()) == ([1], [0, 2])
