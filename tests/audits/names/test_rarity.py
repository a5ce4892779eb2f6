"""Country or name: planted classifiers that dislike long names, or a country, or both; and shared names."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import geobias
from geobias.audits.names.blocks import draw_alike_chart
from geobias.audits.names.names_alike import (
    INSEPARABLE,
    NO_COUNT,
    NO_TOKENIZER,
    count_name_tokens,
    describe_covariates,
    list_covariates,
)
from geobias.audits.names.report import make_report
from geobias.audits.pages import read_run
from geobias.audits.study import prepare
from geobias.measures.crossed_variance import NameUnits
from geobias.world.gazetteer import KINDS, load_name_counts

COUNTRIES = ("Aland", "Bland", "Cland", "Dland")
WHAT, WHEN = ("sang", "left", "won", "fell", "came", "slept"), ("at noon", "at dusk", "by night", "once")
TEXTS = [f"{name} {what} {when}" for what in WHAT for when, name in zip(WHEN, ["Mary", "John"] * 2, strict=True)]
LETTERS = "abcdefghijklmnopqrst"
LONGER = {"A": 0, "B": 6, "C": 4, "D": 2}  # letters that a country's names are longer on average
SHARED = 8  # names of Cland that Dland has too


@pytest.fixture
def gazetteer(tmp_path: Path) -> Path:
    """Names such as Amaleaxxx, of different lengths within a country and between countries; "Z" is shared."""
    rows = ["country,kind,name"]
    for country in COUNTRIES:
        for kind in ("male", "female", "last"):
            for i, letter in enumerate(LETTERS):
                initial = "Z" if country in ("Cland", "Dland") and i < SHARED else country[0]
                length = 5 if initial == "Z" else LONGER[country[0]] + i % 5
                rows.append(f"{country},{kind},{initial}{kind}{letter}{'x' * length}")
    file = tmp_path / "names.csv"
    file.write_text("\n".join(rows), encoding="utf-8")
    return file


def chance(text: str) -> float:
    """Between -1 and 1, the same for the same text."""
    return np.random.default_rng(list(text.encode())).uniform(-1, 1)


def judge(texts: list[str], *, per_letter: float = 0.0, dislike: float = 0.0) -> np.ndarray:
    """p(negative), p(positive): `per_letter` for each x, `dislike` for Bland, and noise."""
    tone = np.array(
        [0.02 * chance(text) + per_letter * text.count("x") + dislike * text.startswith("B") for text in texts]
    )
    return np.column_stack([0.5 - tone / 2, 0.5 + tone / 2])


def classifier(**effects: float) -> Any:
    def score(texts: list[str]) -> np.ndarray:
        return judge(texts, **effects)

    score.labels = ["negative", "positive"]  # type: ignore[attr-defined]
    return score


def audit(model: Any, gazetteer: Path, **options: Any) -> Any:
    """A NamesResult; not typed, since most of its numbers may be None."""
    texts = pd.DataFrame({"text": TEXTS, "spans": ["[[0, 4]]"] * len(TEXTS)})
    options = {"spans": "spans", "draws": 8, **options}
    return geobias.audit_names(model, texts, gazetteer=gazetteer, **options)


def values(result: Any, name: str) -> list[float]:
    return [getattr(row, name).value for row in result.names_alike if row.label is None]


def held_fixed(result: Any) -> list[str]:
    return [row.name for row in result.covariates if row.slope and row.label is None]


def test_a_dislike_of_long_names_is_no_dislike_of_a_country(gazetteer: Path) -> None:
    """Two points less for each letter: the means of countries differ, names of equal length do not."""
    result = audit(classifier(per_letter=-0.02), gazetteer)
    rows = [row for row in result.names_alike if row.label is None]
    assert held_fixed(result) == ["characters"]
    assert result.covariates[0].slope.value == pytest.approx(-2, abs=0.1)
    assert rows[0].unadjusted.value > 4 and rows[0].unadjusted.p_adjusted < 0.05
    assert values(result, "adjusted") == pytest.approx([0] * 4, abs=0.5)
    assert all(row.adjusted.p_adjusted > 0.05 for row in rows)
    # All draws have a length, so these are the audit's own numbers.
    assert values(result, "unadjusted") == pytest.approx([row.against_mean.value for row in result.effects])
    assert [row.unadjusted.low for row in rows] == pytest.approx([row.against_mean.low for row in result.effects])
    assert result.effects[0].reason == "names' length explains it"


def test_a_dislike_of_a_country_stays(gazetteer: Path) -> None:
    result = audit(classifier(dislike=-0.2), gazetteer)
    assert values(result, "adjusted") == pytest.approx([5, -15, 5, 5], abs=1)
    assert values(result, "unadjusted") == pytest.approx([5, -15, 5, 5], abs=1)
    assert result.effects[1].stands_out and result.effects[1].reason is None


def test_both_are_told_apart(gazetteer: Path) -> None:
    """Long names are liked, and the country with the longest is disliked: in the plain means they hide each other."""
    result = audit(classifier(per_letter=0.02, dislike=-0.07), gazetteer)
    plain, adjusted = (values(result, name) for name in ("unadjusted", "adjusted"))
    assert abs(plain[1]) < 2 and adjusted == pytest.approx([1.75, -5.25, 1.75, 1.75], abs=1)


def test_tokens_are_those_of_the_classifier_and_cover_all_draws(gazetteer: Path, small_models: dict[str, Path]) -> None:
    """A classifier's own tokenizer counts tokens of all draws, whatever has a perplexity; a function may bring one."""
    from transformers import AutoTokenizer  # slow to import

    tokenizer = AutoTokenizer.from_pretrained(small_models["gpt2"])

    def score(texts: list[str]) -> np.ndarray:
        tone = np.array([-0.02 * len(tokenizer(text)["input_ids"]) + 0.002 * chance(text) for text in texts])
        return np.column_stack([0.5 - tone / 2, 0.5 + tone / 2])

    score.labels, score.tokenizer = ["negative", "positive"], tokenizer  # type: ignore[attr-defined]
    result = audit(score, gazetteer)
    assert held_fixed(result) == ["tokens"]  # letters
    assert result.covariates[0].slope.value == pytest.approx(-2, abs=0.01)
    assert values(result, "adjusted") == pytest.approx([0] * 4, abs=0.1)
    result = audit(classifier(per_letter=-0.02), gazetteer)
    assert held_fixed(result) == ["characters"]
    left_out = {row.name: row.left_out for row in result.covariates if row.left_out and row.label is None}
    assert left_out == {"tokens": NO_TOKENIZER, "log-count": NO_COUNT}
    assert "no tokenizer" in describe_covariates(result.covariates)


def test_covariates_of_renamed_texts_are_those_of_every_mention() -> None:
    """By hand: two mentions, one in capitals, of a woman with a last name; bundled names have a count."""
    text = "MARY Smith met us, and Smith left"
    frame = pd.DataFrame({"text": [text], "spans": ["[[0, 10], [23, 28]]"]})
    design = prepare(geobias.audit_names, texts=frame, spans="spans", countries=["HU", "GB"], draws=3).design
    renamed, counts = design.counterfactuals, load_name_counts()

    def split(texts: list[str]) -> dict[str, list[list[str]]]:
        return {"input_ids": [list(text.replace(" ", "")) for text in texts]}

    keys = [name for _, name in renamed.name_index[2]]
    covariates = list_covariates(renamed, NameUnits(*renamed.name_units()), count_name_tokens(split, keys))
    assert covariates.names == ("tokens", "characters", "non-ASCII", "log-count") and not covariates.left_out
    found = covariates.values[slice(0, 1)]
    rest = len(text.replace(" ", "")) - len("MarySmithSmith")
    for c, d in ((0, 0), (0, 2), (1, 1)):
        (name,) = renamed.new_names(0, c)
        first, last = name[d].first, name[d].last
        version = renamed.at(0, c, d)
        expected = [
            len(version.replace(" ", "")) - rest,
            len(version),
            not (first + last).isascii(),
            np.log1p(counts[first]) + 2 * np.log1p(counts[last]),
        ]
        np.testing.assert_allclose(found[0, c, d], np.array(expected, dtype=float))


def test_what_differs_between_countries_alone_cannot_be_held_fixed(tmp_path: Path) -> None:
    rows = [
        f"{land},{kind},{land[0]}{kind}{x}{'x' * (land == 'Bland')}"
        for land in COUNTRIES
        for kind in KINDS
        for x in LETTERS
    ]
    file = tmp_path / "same.csv"
    file.write_text("\n".join(["country,kind,name", *rows]), encoding="utf-8")
    result = audit(classifier(per_letter=-0.1), file)
    assert {row.name: row.left_out for row in result.covariates}["characters"] == INSEPARABLE
    assert result.names_alike == []
    assert result.findings[0].evidence == "suggestive" and "names differ in length as" in result.findings[0].sentence


def test_shared_names_are_counted(gazetteer: Path) -> None:
    aland, _, cland, _ = audit(classifier(), gazetteer).name_lists
    assert (aland.shared, aland.renamed_texts_with_shared) == (0, 0)
    assert (cland.male + cland.female + cland.last, cland.shared) == (60, 3 * SHARED)
    assert 0.2 < cland.renamed_texts_with_shared < 0.6  # 8 names of 20


def test_without_delta_or_a_second_country_there_is_nothing_to_adjust(gazetteer: Path) -> None:
    def topics(texts: list[str]) -> list[dict[str, float]]:
        return [{"sports": 0.4, "music": 0.6} for _ in texts]

    result = audit(topics, gazetteer)
    assert result.names_alike == [] and draw_alike_chart("a", result, result.classifiers[0]) is None
    assert audit(classifier(), gazetteer, countries="Aland").names_alike == []


def test_multi_label_classifiers_and_fixed_names(gazetteer: Path) -> None:
    def several(texts: list[str]) -> np.ndarray:
        return np.column_stack([judge(texts, per_letter=-0.02), np.full(len(texts), 0.5)])

    several.labels, several.multi_label = ["negative", "positive", "irony"], True  # type: ignore[attr-defined]
    random, fixed = (audit(several, gazetteer, names=names) for names in ("random", "fixed"))
    assert values(random, "adjusted") == pytest.approx([0] * 4, abs=0.5)
    assert values(fixed, "adjusted") == pytest.approx(values(random, "adjusted"))
    assert fixed.names_alike[0].adjusted.low is not None


def test_the_files_and_the_page(gazetteer: Path, tmp_path: Path) -> None:
    result = audit(classifier(per_letter=-0.02), gazetteer, out=tmp_path / "run")
    table = pd.read_csv(tmp_path / "run/tables/names_alike.csv")
    table = table[table["label"].isna()]
    assert list(table["place"]) == list(COUNTRIES)
    assert list(table["adjusted"]) == pytest.approx(values(result, "adjusted"))
    assert pd.read_csv(tmp_path / "run/tables/name_lists.csv")["shared"].tolist() == [0, 0, 24, 24]
    saved: Any = read_run(tmp_path / "run").result
    assert saved.to_dict() == result.to_dict()
    chart = draw_alike_chart("a", saved, saved.classifiers[0])
    assert chart is not None and len(chart.rows) == 8
    assert "frequency held fixed: 0" in chart.alt
    assert chart.title.endswith("stand out as measured, 0 with length, spelling and frequency of names held fixed")
    assert "stand out as measured, 0" in (tmp_path / "run/report.html").read_text()
    notes = " ".join(make_report(saved).full_notes)
    assert "Held fixed: characters, 8 draws of 24 texts; without tokens" in notes
