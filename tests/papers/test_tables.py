"""A paper's tables again: every published row is there, as published, beside what the audits measure."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import geobias
from geobias.audits.regions.design import SCORE_ONLY
from geobias.errors import InputError
from geobias.measures.ranks import rank_correlation
from geobias.models.load import load_classifier
from geobias.papers import tables
from geobias.papers.herb import table_1, table_3, table_6
from geobias.papers.herb.table_1 import MODELS, TAKEN_FOR, compare_scores
from geobias.papers.names.tasks import ENGLISH, MULTILINGUAL, find_task
from geobias.papers.reproduce import list_tables
from geobias.papers.tables import PAPERS, Reproduction, draw_tables, read_published
from geobias.world.regions import RegionTree, load_world
from geobias.world.words import Word, herb_words

FOLDER = Path(tables.__file__).parent
COUNTRIES = ["FR", "DE", "NG", "KE", "EG", "JP", "IN", "US", "CA", "MX", "AU", "NZ", "FJ", "BR", "PE"]
TEXTS = ["Mary Smith was late again.", "Thanks to John Miller!", "I hate what Paul said.", "Nobody is here."]
PUBLISHED = [path for paper in PAPERS for path in sorted((FOLDER / paper).glob("*.csv"))]


@pytest.mark.parametrize("path", PUBLISHED, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_published_numbers_are_those_of_the_files(path: Path) -> None:
    table = read_published(path.parent.name, path.stem)
    with open(path, encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == len(table.rows) and set(rows[0]) == {*table.keys, *table.columns}
    for row, names, values in zip(rows, table.rows, table.values, strict=True):
        assert tuple(row[key] for key in table.keys) == names
        assert [float(row[column]) for column in table.columns] == list(values)


def test_the_folders_are_the_papers_lists_of_tables_and_figures() -> None:
    herb = [f"table-{name}" for name in ("1", "2", "3", "4", "4-overall", "5", "6")]
    assert list_tables("herb") == [f"figure-{k}" for k in (1, 3, 4, 5)] + sorted(herb)
    assert list_tables("names") == [f"table-{k}" for k in range(1, 6)]
    with_numbers = {f"{path.parent.name}-{path.stem.replace('_', '-')}" for path in PUBLISHED}
    tables_listed = {f"{paper}-{name}" for paper in PAPERS for name in list_tables(paper) if "table" in name}
    assert with_numbers == tables_listed


def test_table_3_of_the_names_paper_is_the_part_of_table_5_that_it_prints() -> None:
    part, whole = read_published("names", "table_3"), read_published("names", "table_5")
    rows = [whole.rows.index(row) for row in part.rows]
    assert (part.values == whole.values[rows][:, :3]).all() and part.columns == whole.columns[:3]


def paper_world() -> RegionTree:
    """HERB's sentences have no articles."""
    return load_world(cities=0, countries=COUNTRIES).drop_articles()


@pytest.fixture
def small_world(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("GEOBIAS_CACHE", str(tmp_path))
    world = load_world(cities=0, countries=COUNTRIES)
    monkeypatch.setattr("geobias.papers.herb.table_1.load_world", lambda **_: world)


def cell(result: Reproduction, form: int, row: tuple[str, ...], column: str) -> Any:
    return result.forms[form].measured[result.rows.index(row), result.columns.index(column)]


@pytest.mark.usefixtures("small_world")
def test_any_model_is_measured_under_its_own_name(small_models: dict[str, Path]) -> None:
    name = str(small_models["bert"])
    first, flat = (geobias.reproduce("herb", f"table-{k}", model=name, cities=0) for k in (1, 2))
    audit = geobias.audit_regions(small_models["bert"], score="aul", tree=paper_world(), **SCORE_ONLY)
    for column in first.columns:
        region = audit.region("Earth" if column == "overall" else TAKEN_FOR.get(column, column))
        for metric in ("C_w", "C_z"):
            balanced, paper = (getattr(region, f"{metric.lower()}_{form}").value for form in ("balanced", "paper"))
            assert cell(first, 0, (name, metric), column) == pytest.approx(balanced, rel=1e-9)
            assert cell(first, 1, (name, metric), column) == pytest.approx(1000 * paper, rel=1e-9)
        labelled = audit.region("Earth" if column == "overall" else column)
        assert labelled.flat and cell(flat, 0, (name,), column) == pytest.approx(labelled.flat.value, rel=1e-9)
    assert first.rows[-2:] == ((name, "C_w"), (name, "C_z")) and first.rows[0] == ("bert-base-cased", "C_w")
    assert first.count_agreement() == (56, 0, 0) and f"is of {name}, whose numbers stand below" in first.summary()
    assert np.isnan(first.forms[1].published[-2:]).all() and np.isnan(first.forms[1].measured[:-2]).all()
    assert len(first.to_frame()) == 2 * 10 * 7


@pytest.mark.usefixtures("small_world")
@pytest.mark.slow
def test_words_left_out_or_replaced_are_what_scoring_with_those_words_gives(small_models: dict[str, Path]) -> None:
    topics = list(dict.fromkeys(word.topic for word in herb_words()))
    for module in (table_3, table_6):
        result = module.measure(str(small_models["albert"]), cities=0)
        assert [row[0].split(" ")[-1] for row in result.rows if row != ("full",)] == topics[: len(result.rows) - 1]
        for row in result.rows:
            kind, _, topic = row[0].partition(" ")
            # Numbered topics keep a word that stands there twice.
            words = [
                Word(str(word.substitute) if (kind, topic) == ("replace", word.topic) else word.word, str(k))
                for k, word in enumerate(herb_words())
                if (kind, topic) != ("without", word.topic)
            ]
            audit = geobias.audit_regions(
                small_models["albert"], score="aul", tree=paper_world(), words=words, **SCORE_ONLY
            )
            earth = audit.region("Earth")
            assert cell(result, 0, row, "overall") == pytest.approx(earth.c_w_balanced.value, rel=1e-9)
            assert cell(result, 1, row, "overall") == pytest.approx(1000 * (earth.c_w_paper.value or 0), rel=1e-9)
        assert "The published rows are albert-base-v2's" in result.notes[-1]


def test_the_second_division_is_undone_and_the_columns_are_read_in_the_released_order() -> None:
    table = read_published("herb", "table_1")
    result = compare_scores(table, {}, [], "all")
    undone = [0.0375, 0.0361, 0.0351, 0.0383, 0.0401, 0.0290, 0.0348]  # AF AS EU NA OC SA Earth: METHODS of the study
    assert result.forms[0].published[0].round(4).tolist() == undone
    assert (
        result.taken_for == {"OC": "NA", "SA": "OC", "NA": "SA"} and (result.forms[1].published == table.values).all()
    )


@pytest.mark.slow
def test_names_are_measured_as_the_audit_does() -> None:
    models = ["embedded/sentiment", "embedded/hate"]
    options: dict[str, Any] = {"model": models, "texts": {"en": TEXTS}, "draws": 3}
    changes = geobias.reproduce("names", "table-1", **options)
    local = geobias.reproduce("names", "table-5", perplexity="embedded/lm", **options)
    sentiment_only = geobias.reproduce("names", "table-3", perplexity="embedded/lm", **{**options, "model": models[0]})
    audit = geobias.audit_names(
        models, {"en": TEXTS}, draws=3, perplexity="embedded/lm", scripts="all", dtype="float32"
    )
    for effect in audit.list_deltas(models[0]):
        if (effect.place,) in changes.rows:
            delta = cell(changes, 0, (effect.place,), "delta")
            assert effect.against_originals.value in (None, pytest.approx(delta))  # the audit hides it: few texts
            assert np.isnan(cell(changes, 0, (effect.place,), "joy"))
    for positive in (row for row in audit.list_classes(models[0]) if row.label == "positive"):
        if (positive.place,) in changes.rows:
            change = 100 * (positive.after / positive.before - 1)
            assert cell(changes, 0, (positive.place,), "positive") == pytest.approx(change)
    pooled = {(row.label, row.place): row.correlation.value for row in audit.correlations if row.over == "pooled"}
    assert cell(local, 0, ("Overall",), "hate") == pytest.approx(100 * (pooled["hate", None] or np.nan))
    for effect in audit.list_deltas(models[0]):
        row = (effect.place,)
        assert cell(local, 0, row, "negative") == pytest.approx(100 * (pooled["negative", effect.place] or np.nan))
        if row in sentiment_only.rows:
            assert cell(sentiment_only, 0, row, "negative") == cell(local, 0, row, "negative")
    assert any("Morocco" in row for row in changes.rows) and "names in all scripts" in changes.notes[1]


def test_perplexity_and_classes_by_language() -> None:
    texts = {
        "en": [*TEXTS, *(f"{text} It rained again." for text in TEXTS)],  # fewer than five have no correlation
        "eu": ["Egun on denoi.", "Oso pozik nago gaur.", "Hau ez da ona.", "Bai.", "Ez dakit.", "Euria da gaur."],
    }
    fourth, second = (
        geobias.reproduce("names", f"table-{k}", model="embedded/sentiment", perplexity="embedded/lm", texts=texts)
        for k in (4, 2)
    )
    audit = geobias.audit_names(
        "embedded/sentiment", texts, draws=1, perplexity="embedded/lm", countries=["FR"], dtype="float32"
    )
    known = [row for row in audit.correlations if row.over == "originals" and row.correlation.value is not None]
    assert known  # of five texts or more
    for row in known:
        column, expected = {"en": "English", "eu": "Basque"}[row.language or ""], 100 * (row.correlation.value or 0)
        assert cell(fourth, 0, (row.label,), column) == pytest.approx(expected)
        assert cell(second, 0, ("sentiment", row.label), column) == pytest.approx(expected)
    assert np.isnan(cell(fourth, 0, ("negative",), "Dutch")) and "Dutch (nl=FILE)" in fourth.notes[-1]


def test_labels_are_read_by_name_or_by_order() -> None:
    def named(*labels: str) -> tuple[str, tuple[str, ...]]:
        function = lambda texts: [{label: 1 / len(labels) for label in labels} for _ in texts]  # noqa: E731
        function.labels = list(labels)  # type: ignore[attr-defined]
        model = find_task(load_classifier(function))
        return model.task.name, model.labels

    assert named("NOT-HATE", "HATE") == named("LABEL_0", "LABEL_1") == ("hate", ("non_hate", "hate"))
    assert named("hate", "not_hate") == ("hate", ("hate", "non_hate"))
    assert (
        named("positive", "negative", "neutral")[0] == "sentiment"
        and named("LABEL_0", "LABEL_1", "LABEL_2", "LABEL_3")[0] == "emotion"
    )
    assert named("anger", "disgust", "joy", "neutral", "sadness")[0] == "emotion"  # no optimism: an empty column
    with pytest.raises(InputError, match="has the labels no, yes, which are those of no task"):
        named("no", "yes")


@pytest.mark.parametrize(("factor", "share"), [(1.0, 1.0), (1.09, 1.0), (0.8, 0.0)])
def test_numbers_within_a_tenth_agree(factor: float, share: float) -> None:
    table = read_published("herb", "table_4_overall")  # shares of about 0.9, so that rounding does not matter
    measured = {row: values * factor for row, values in zip(table.rows, table.values, strict=True)}
    measured[table.rows[0]][0] = np.nan
    published, both, agreeing = table.compare(measured).count_agreement()
    assert published == table.values.size and both == published - 1 and agreeing == share * both


def test_the_last_printed_digit_is_tolerated_and_two_forms_count_once() -> None:
    table = read_published("herb", "table_1")
    half = 0.5 * 10.0 ** -np.array(table.places, dtype=float)
    printed = dict(zip(table.rows, table.values + half * 0.99, strict=True))
    wrong = dict(zip(table.rows, table.values * 3, strict=True))
    result = table.compare_forms({"balanced": (table.values, wrong), "paper": (table.values, printed)})
    assert result.count_agreement() == (table.values.size,) * 3


def test_ranks_are_of_measured_with_published() -> None:
    table = read_published("names", "table_4")
    measured = {row: -values for row, values in zip(table.rows, table.values, strict=True)}
    (drawn,) = draw_tables(table.compare(measured, ranked=table.columns), 200)
    *columns, rows = (list(column.cells) for column in drawn.columns[1:])
    assert {cells[-1] for cells in columns} == {"-1.00"} and rows == ["", "-1.00", "", "-1.00", "", "-1.00", ""]
    known, unknown = np.array([1.0, 2, 3, np.nan]), np.array([2.0, 3, np.nan, 0])
    assert rank_correlation(known, np.array([2.0, 3, 9, 0])) == pytest.approx(1)
    assert rank_correlation(known, unknown) is None and rank_correlation(known, np.ones(4)) is None


def test_what_was_not_measured_is_said_only_where_something_was_not() -> None:
    table = read_published("herb", "table_4_overall")
    whole = dict(zip(table.rows, table.values.copy(), strict=True))
    assert table.compare(whole).summary().endswith("published ones.")
    whole[table.rows[0]][0] = np.nan
    assert table.compare(whole).summary().endswith("1 of 8 were not measured.")


def test_the_published_models_are_four_and_missing_ones_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(InputError) as error:
        table_1.measure(cities=0)
    assert ", ".join(MODELS) in str(error.value) and "--model MODEL" in str(error.value)
    with pytest.raises(InputError) as error:
        geobias.reproduce("names", "table-5", texts=TEXTS)
    for name in (f"{MULTILINGUAL}-sentiment", f"{ENGLISH}-hate", f"{ENGLISH}-offensive", f"{ENGLISH}-emotion"):
        assert name in str(error.value)
