"""A paper's tables again: every published row is there, as published, beside what the audits measure."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

import geobias
from geobias.audits.regions.design import SCORE_ONLY, RegionsOptions, design_regions
from geobias.audits.reproduce import published as papers
from geobias.audits.reproduce.audit import reproduce
from geobias.audits.reproduce.design import ENGLISH, HERB_MODELS, MULTILINGUAL, TASKS
from geobias.audits.reproduce.herb_tables import TAKEN_FOR, measure_regions_table
from geobias.audits.reproduce.names_tables import rename_labels
from geobias.audits.reproduce.published import TITLES, read_published
from geobias.audits.reproduce.result import ReproducedTable, ReproduceResult
from geobias.errors import InputError
from geobias.measures.ranks import rank_correlation
from geobias.models.load import load_classifier
from geobias.world.regions import load_world

FOLDER = Path(papers.__file__).parent / "papers"
COUNTRIES = ["FR", "DE", "NG", "KE", "EG", "JP", "IN", "US", "CA", "MX", "AU", "NZ", "FJ", "BR", "PE"]
REPLACEMENTS = {
    f"{MULTILINGUAL}-sentiment": "embedded/sentiment",
    f"{ENGLISH}-hate": "embedded/hate",
    MULTILINGUAL: "embedded/lm",
    ENGLISH: "embedded/lm",
}
TEXTS = ["Mary Smith was late again.", "Thanks to John Miller!", "I hate what Paul said.", "Nobody is here."]


@pytest.mark.parametrize(("paper", "number"), [(paper, n) for paper, tables in TITLES.items() for n in tables])
def test_published_numbers_are_those_of_the_files(paper: str, number: str) -> None:
    table = read_published(paper, number)
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
    models = {name: str(small_models[kind]) for name, kind in zip(HERB_MODELS, kinds, strict=True)}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GEOBIAS_CACHE", str(tmp_path_factory.mktemp("cache")))
        patch.setattr("geobias.audits.regions.design.load_world", lambda **_: load_world(cities=0, countries=COUNTRIES))
        return reproduce("herb", model=models, cities=0)


def find_table(result: ReproduceResult, number: str) -> ReproducedTable:
    (table,) = [table for table in result.tables if table.table == number]
    return table


@pytest.mark.slow
def test_every_published_row_is_there(herb: ReproduceResult) -> None:
    assert [table.table for table in herb.tables] == list(TITLES["herb"])
    for table in herb.tables:
        printed = read_published("herb", table.table)
        for form in table.forms:
            for values in (form.published, form.measured):
                assert (len(values), *{len(row) for row in values}) == printed.values.shape
        assert table.forms[-1].published == printed.values.tolist()  # balanced stands first
    assert [table.is_measured for table in herb.tables] == [True, True, True, False, False, False, True]
    assert "geobias finetune" in find_table(herb, "5").notes[0]
    numbers = sum(len(row) for table in herb.tables for form in table.forms for row in form.published)
    assert len(herb.to_frame()) == numbers and "<table" in herb._repr_html_()
    assert repr(herb).startswith("ReproduceResult: tables ") and "the published ones" in repr(herb)


@pytest.mark.slow
def test_regions_are_measured_as_the_audit_does(herb: ReproduceResult, small_models: dict[str, Path]) -> None:
    tree = load_world(cities=0, countries=COUNTRIES).drop_articles()  # as in the paper
    audit = geobias.audit_regions(small_models["bert"], score="aul", tree=tree, **SCORE_ONLY)
    first, flat = find_table(herb, "1"), find_table(herb, "2")
    for k, column in enumerate(first.columns):
        region = audit.region("Earth" if column == "overall" else TAKEN_FOR.get(column, column))
        for row, variant in enumerate((region.c_w, region.c_z)):
            balanced, paper = (form.measured[row][k] for form in first.forms)
            assert balanced == pytest.approx(variant.balanced, rel=1e-4)
            assert variant.paper is not None and paper == pytest.approx(1000 * variant.paper, rel=1e-4)
        labelled = audit.region("Earth" if column == "overall" else column)
        assert flat.forms[0].measured[0][k] == pytest.approx(labelled.flat, rel=1e-4)


@pytest.mark.slow
def test_wordings_are_measured_as_the_audit_does(herb: ReproduceResult, small_models: dict[str, Path]) -> None:
    audit = geobias.audit_regions(
        small_models["albert"],
        score="aul",
        tree=load_world(cities=0, countries=COUNTRIES).drop_articles(),
        ablate="topics",
        substitute="topics",
        **SCORE_ONLY,
    )
    scores = {(wording.what, wording.name): wording.scores for wording in audit.wordings}
    for number, what in (("3", "without topic"), ("6", "replaced topic")):
        table = find_table(herb, number)
        balanced, paper = table.forms
        for row, (name,) in enumerate(table.rows[1:], 1):
            wording = scores[what, name.split(" ", 1)[1]]
            assert balanced.measured[row][-1] == pytest.approx(wording["c_w.balanced"][0], rel=1e-4)
            assert paper.measured[row][-1] == pytest.approx(1000 * wording["c_w.paper"][0], rel=1e-4)


def test_the_second_division_is_undone_and_the_columns_are_read_in_the_released_order() -> None:
    table = measure_regions_table(read_published("herb", "1"), {}, design_regions(RegionsOptions(cities=0)).tree)
    undone = [0.0375, 0.0361, 0.0351, 0.0383, 0.0401, 0.0290, 0.0348]  # by the countries of AF AS EU NA OC SA, Earth
    assert table.forms[0].form == "balanced"
    assert np.round(np.array(table.forms[0].published[0], dtype=float), 4).tolist() == undone
    assert table.taken_for == {"OC": "NA", "SA": "OC", "NA": "SA"} and not table.is_measured


@pytest.mark.slow
def test_names_are_measured_as_the_audit_does() -> None:
    texts = {"en": TEXTS, "eu": ["Egun on denoi.", "Oso pozik nago gaur.", "Hau ez da ona.", "Bai."]}
    models = [f"{name}={local}" for name, local in REPLACEMENTS.items()]
    result = reproduce("names", model=models, texts=texts, draws=2)
    audit = geobias.audit_names(
        ["embedded/sentiment", "embedded/hate"], {"en": TEXTS}, draws=2, perplexity_draws=2, lm="embedded/lm"
    )
    other = geobias.audit_names(
        "embedded/sentiment", texts, draws=1, perplexity_draws=1, lm="embedded/lm", countries=["FR"]
    )
    sentiment, hate = audit.classifiers
    assert result.counts.models_not_available == [f"{ENGLISH}-emotion", f"{ENGLISH}-offensive"]

    def cell(number: str, *names: str) -> float | None:
        table, (*row, column) = find_table(result, number), names
        return table.forms[0].measured[table.rows.index(row)][table.columns.index(column)]

    for country in sentiment.countries:
        if [country.country] in find_table(result, "1").rows:
            delta = cell("1", country.country, "delta")
            assert delta is not None and country.delta in (None, pytest.approx(delta))  # the audit hides it: few texts
            change = 100 * (country.after["positive"] / country.before["positive"] - 1)  # the audit hides it: few texts
            assert cell("1", country.country, "positive") == pytest.approx(change)
            assert cell("1", country.country, "joy") is None and cell("1", country.country, "offensive") is None
    assert hate.correlations is not None
    pooled = hate.correlations.pooled
    assert cell("5", "Overall", "hate") == pytest.approx(100 * (pooled.overall["hate"] or np.nan))
    for correlation in pooled.countries:
        assert cell("5", correlation.country, "hate") == pytest.approx(100 * (correlation.pearson["hate"] or np.nan))
    correlations = other.classifiers[0].correlations
    assert correlations is not None
    for language in correlations.by_language:
        column = {"en": "English", "eu": "Basque"}[language.language]
        for label, value in language.pearson.items():
            expected = pytest.approx(100 * (value or np.nan))
            assert cell("4", label, column) == cell("2", "sentiment", label, column) == expected
    assert cell("4", "negative", "Dutch") is None and "nl=FILE" in find_table(result, "4").notes[0]


def test_labels_are_read_by_name_or_by_order() -> None:
    def named(*labels: str) -> tuple[str, ...]:
        function = lambda texts: [{label: 1 / len(labels) for label in labels} for _ in texts]  # noqa: E731
        function.labels = list(labels)  # type: ignore[attr-defined]
        return rename_labels(load_classifier(function), TASKS["hate"])

    assert named("NOT-HATE", "HATE") == named("non-hate", "hate") == named("LABEL_0", "LABEL_1") == ("non_hate", "hate")
    assert named("hate", "not_hate") == ("hate", "non_hate")
    with pytest.raises(InputError, match="cannot replace cardiffnlp/twitter-roberta-base-hate: its labels are no, yes"):
        named("no", "yes")


def test_rank_correlation_needs_an_order() -> None:
    a = np.array([1.0, 2, 3, np.nan])
    assert rank_correlation(a, np.array([2.0, 3, 9, 0])) == pytest.approx(1)
    assert rank_correlation(a, np.array([2.0, 3, np.nan, 0])) is None
    assert rank_correlation(a, np.ones(4)) is None
