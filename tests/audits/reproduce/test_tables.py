"""A paper's tables again: every published row is there, as published, beside what the audits measure."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

import geobias
from geobias.audits.regions.design import question
from geobias.audits.reproduce import published as papers
from geobias.audits.reproduce.herb import LANGUAGE_MODELS, TAKEN_FOR, _regions_table, reproduce_herb
from geobias.audits.reproduce.names_study import ENGLISH, MULTILINGUAL, TASKS, _named_labels, reproduce_names
from geobias.audits.reproduce.published import TITLES, chosen, published
from geobias.audits.reproduce.result import Reproduced, ReproduceResult
from geobias.errors import InputError
from geobias.measures.ranks import rank_correlation
from geobias.models.load import load_classifier
from geobias.world.regions import load_world

FOLDER = Path(papers.__file__).parent / "papers"
COUNTRIES = ["FR", "DE", "NG", "KE", "EG", "JP", "IN", "US", "CA", "MX", "AU", "NZ", "FJ", "BR", "PE"]
STAND_INS = {
    f"{MULTILINGUAL}-sentiment": "embedded/sentiment",
    f"{ENGLISH}-hate": "embedded/hate",
    MULTILINGUAL: "embedded/lm",
    ENGLISH: "embedded/lm",
}
TEXTS = ["Mary Smith was late again.", "Thanks to John Miller!", "I hate what Paul said.", "Nobody is here."]


@pytest.mark.parametrize(("paper", "number"), [(paper, n) for paper, tables in TITLES.items() for n in tables])
def test_published_numbers_are_those_of_the_files(paper: str, number: str) -> None:
    table = published(paper, number)
    with open(FOLDER / f"{paper}-{number}.csv", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == len(table.rows) and set(rows[0]) == {*table.keys, *table.columns}
    for row, names, values in zip(rows, table.rows, table.values, strict=True):
        assert tuple(row[key] for key in table.keys) == names
        assert [float(row[column]) for column in table.columns] == list(values)


def test_every_file_is_a_table() -> None:
    known = {f"{paper}-{number}.csv" for paper, tables in TITLES.items() for number in tables}
    assert {path.name for path in FOLDER.glob("*.csv")} == known


@pytest.fixture(scope="module")
def herb(small_models: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> ReproduceResult:
    """All of HERB's tables from tiny models, in a world of few countries."""
    kinds = ("bert", "albert", "roberta", "bart")
    stand_ins = [f"{name}={small_models[kind]}" for name, kind in zip(LANGUAGE_MODELS, kinds, strict=True)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GEOBIAS_CACHE", str(tmp_path_factory.mktemp("cache")))
        patch.setattr("geobias.audits.regions.design.load_world", lambda **_: load_world(cities=0, countries=COUNTRIES))
        return reproduce_herb(chosen("herb", None), stand_ins=stand_ins, cities=0)


def of(result: ReproduceResult, number: str) -> Reproduced:
    (found,) = [table for table in result.tables if table.table.number == number]
    return found


@pytest.mark.slow
def test_every_published_row_is_there(herb: ReproduceResult) -> None:
    assert [table.table.number for table in herb.tables] == list(TITLES["herb"])
    for table in herb.tables:
        for form in table.forms:
            assert form.published.shape == form.measured.shape == table.table.values.shape
        assert np.array_equal(table.forms[-1].published, table.table.values)  # balanced stands first
    assert [table.is_measured for table in herb.tables] == [True, True, True, False, False, False, True]
    assert "geobias finetune" in of(herb, "5").notes[0]


@pytest.mark.slow
def test_regions_are_measured_as_the_audit_does(herb: ReproduceResult, small_models: dict[str, Path]) -> None:
    audit = geobias.audit_regions(small_models["bert"], cities=0, countries=COUNTRIES)
    first, flat = of(herb, "1"), of(herb, "2")
    for k, column in enumerate(first.table.columns):
        region = "Earth" if column == "overall" else TAKEN_FOR.get(column, column)
        entry = audit.region(region)
        for row, variant in enumerate(("c_w", "c_z")):
            for form, factor in zip(first.forms, (1, 1000), strict=True):
                assert form.measured[row, k] == pytest.approx(factor * entry[variant][form.name], rel=1e-4)
        labelled = "Earth" if column == "overall" else column
        assert flat.forms[0].measured[0, k] == pytest.approx(audit.region(labelled)["flat"], rel=1e-4)


@pytest.mark.slow
def test_wordings_are_measured_as_the_audit_does(herb: ReproduceResult, small_models: dict[str, Path]) -> None:
    audit = geobias.audit_regions(
        small_models["albert"], cities=0, countries=COUNTRIES, ablate="topics", substitute="topics"
    )
    scores = {(wording.what, wording.name): wording.scores for wording in audit.wordings}
    for number, what in (("3", "without topic"), ("6", "replaced topic")):
        for row, (name,) in enumerate(of(herb, number).table.rows[1:], 1):
            found = scores[what, name.split(" ", 1)[1]]
            balanced, paper = of(herb, number).forms
            assert balanced.measured[row, -1] == pytest.approx(found["c_w.balanced"][0], rel=1e-4)
            assert paper.measured[row, -1] == pytest.approx(1000 * found["c_w.paper"][0], rel=1e-4)


def test_the_second_division_is_undone_and_the_columns_are_read_in_the_released_order() -> None:
    table = _regions_table(published("herb", "1"), {}, question(cities=0))
    undone = [0.0375, 0.0361, 0.0351, 0.0383, 0.0401, 0.0290, 0.0348]  # by the countries of AF AS EU NA OC SA, Earth
    assert table.forms[0].name == "balanced" and table.forms[0].published[0].round(4).tolist() == undone
    assert table.taken_for == {"OC": "NA", "SA": "OC", "NA": "SA"} and not table.is_measured


@pytest.mark.slow
def test_names_are_measured_as_the_audit_does() -> None:
    texts = {"en": TEXTS, "eu": ["Egun on denoi.", "Oso pozik nago gaur.", "Hau ez da ona.", "Bai."]}
    stand_ins = [f"{name}={local}" for name, local in STAND_INS.items()]
    result = reproduce_names(chosen("names", None), stand_ins=stand_ins, texts=texts, draws=2)
    audit = geobias.audit_names(
        ["embedded/sentiment", "embedded/hate"], {"en": TEXTS}, draws=2, perplexity_draws=2, lm="embedded/lm"
    )
    other = geobias.audit_names(
        "embedded/sentiment", texts, draws=1, perplexity_draws=1, lm="embedded/lm", countries=["FR"]
    )
    sentiment, hate = audit.classifiers
    assert result.missing == (f"{ENGLISH}-emotion", f"{ENGLISH}-offensive")

    def cell(number: str, *names: str) -> float:
        table, (*row, column) = of(result, number), names
        return float(table.forms[0].measured[table.table.rows.index(tuple(row)), table.table.columns.index(column)])

    for country in sentiment["countries"]:
        name = country["country"]
        if (name,) in published("names", "1").rows:
            assert cell("1", name, "delta") == pytest.approx(country["delta"])
            assert cell("1", name, "positive") == pytest.approx(country["change"]["positive"], nan_ok=True)
            assert np.isnan(cell("1", name, "joy")) and np.isnan(cell("1", name, "offensive"))
    local = hate["correlations"]["pooled"]
    assert cell("5", "Overall", "hate") == pytest.approx(100 * local["overall"]["hate"])
    for country in local["countries"]:
        assert cell("5", country["country"], "hate") == pytest.approx(100 * country["pearson"]["hate"])
    for language in other.classifiers[0]["correlations"]["global"]:
        column = {"en": "English", "eu": "Basque"}[language["language"]]
        for label, value in language["pearson"].items():
            assert cell("4", label, column) == cell("2", "sentiment", label, column) == pytest.approx(100 * value)
    assert np.isnan(cell("4", "negative", "Dutch")) and "nl=FILE" in of(result, "4").notes[0]


def test_labels_are_read_by_name_or_by_order() -> None:
    def named(*labels: str) -> tuple[str, ...]:
        function = lambda texts: [{label: 1 / len(labels) for label in labels} for _ in texts]  # noqa: E731
        function.labels = list(labels)  # type: ignore[attr-defined]
        return _named_labels(load_classifier(function), TASKS["hate"])

    assert named("NOT-HATE", "HATE") == named("non-hate", "hate") == named("LABEL_0", "LABEL_1") == ("non_hate", "hate")
    assert named("hate", "not_hate") == ("hate", "non_hate")
    with pytest.raises(
        InputError, match="cannot stand for cardiffnlp/twitter-roberta-base-hate: its labels are no, yes"
    ):
        named("no", "yes")


def test_rank_correlation_needs_an_order() -> None:
    a = np.array([1.0, 2, 3, np.nan])
    assert rank_correlation(a, np.array([2.0, 3, 9, 0])) == pytest.approx(1)
    assert rank_correlation(a, np.array([2.0, 3, np.nan, 0])) is None
    assert rank_correlation(a, np.ones(4)) is None
