"""HERB's Figures 1, 3 and 4: their numbers by hand, and the files that they leave."""

from __future__ import annotations

import csv
import json
import sys
from pathlib import Path

import numpy as np
import pytest

import geobias
from geobias.papers.herb import figure_1, figure_3, figure_4
from tests.conftest import Run

TWELVE = "FR,DE,IT,ES,NG,KE,TD,MA,JP,CN,IN,TV"


@pytest.fixture
def here(tmp_path: Path) -> Path:
    (tmp_path / "likes.py").write_text(
        """
F = {"France": -1.0, "Tuvalu": -3.0, "Europe": -0.5, "Netherlands Antilles": -0.1}

def likelihood(texts):
    return [next((f for name, f in F.items() if name in text), -2.0) - ("rude" in text) for text in texts]

def judge(texts):
    bad = [0.2 + 0.4 * text.startswith("I am from Chad.") + 0.1 * text.startswith("I am from") for text in texts]
    return [{"noHate": 1 - p, "hate": p} for p in bad]
""",
        encoding="utf-8",
    )
    (tmp_path / "hate.csv").write_text("text,label\nfine,noHate\nawful,hate\n", encoding="utf-8")
    return tmp_path


def read_rows(path: str) -> dict[str, dict[str, str]]:
    with open(path, encoding="utf-8", newline="") as file:
        return {row["code"]: row for row in csv.DictReader(file)}


def test_a_map_of_a_word(run: Run, here: Path) -> None:
    command = ("reproduce", "herb", "figure-1", "--model", "likes:likelihood", "--word", "rude", "--out", "one")
    code, out, err = run(*command, "--countries", TWELVE)
    assert code == 0, err
    said = " ".join(out.split())
    assert "Highest: France -2.000" in said and "Lowest: Tuvalu -4.000" in said and "the paper prints none" in said
    assert [path.name for path in Path("one/figures").iterdir()] == ["herb-figure-1.svg"]
    rows = read_rows("one/tables/herb-figure-1.csv")
    assert rows["FR"]["f"] == "-2.0" and rows["EU"]["f"] == "-1.5" and rows["EU"]["level"] == "continent"
    text = Path("one/figures/herb-figure-1.svg").read_text(encoding="utf-8")
    assert "People in … are rude." in text and "the continent itself" in text


@pytest.mark.parametrize("named", [False, True])
def test_a_dissolved_country_is_ranked_only_if_named(here: Path, named: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(here)
    result = figure_1.measure("likes:likelihood", countries="US,CA,MX,AN" if named else ())
    assert ("Netherlands Antilles" in result.notes[0]) == named
    assert "AN" in {row["code"] for row in result.numbers}


def test_differences_by_country(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Any prefix adds 0.1; Chad adds 0.4 more, so that its texts are predicted as hate."""
    monkeypatch.syspath_prepend(here)
    result = figure_4.measure("likes:judge", texts=here / "hate.csv", countries=TWELVE)
    rows = {row["code"]: row for row in result.numbers}
    for code, difference, against_control, share in (("TD", 0.5, 0.4, 1.0), ("FR", 0.1, 0.0, 0.0)):
        row = rows[code]
        assert row["difference"] == pytest.approx(difference, abs=1e-6)
        assert row["against_control"] == pytest.approx(against_control, abs=1e-6)
        assert row["positive_share_difference"] == pytest.approx(share)
    assert "Highest against the control “I am from here.”: Chad +0.4000" in result.notes[1]


def test_the_space_of_a_model(
    run: Run, here: Path, small_models: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without umap-learn the plane is laid out by SVD, and says so."""
    monkeypatch.setitem(sys.modules, "umap", None)  # as if it were not installed
    command = ("reproduce", "herb", "figure-3", "--model", small_models["bert"], "--countries", TWELVE, "--out", "here")
    code, out, err = run(*command)
    said = " ".join(out.split())
    assert code == 0, err
    assert "Of the 10 countries nearest" in said and "by chance it would be" in said
    assert "(SVD), since umap-learn is not installed" in said and "pip install '.[papers]'" in said
    text = Path("here/figures/herb-figure-3.svg").read_text(encoding="utf-8")
    assert text.count("<title>Tuvalu, Oceania</title>") == 2  # on the plane, and on the map
    rows = read_rows("here/tables/herb-figure-3.csv")
    assert (
        rows["TV"]["continent"] == "Oceania" and len({(row["x"], row["y"]) for row in rows.values()}) >= 6
    )  # it does not know all letters
    assert json.loads(Path("here/results.json").read_text())["models"][0]["name"] == str(small_models["bert"])


def test_a_plane_without_umap_keeps_what_differs_most(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "umap", None)
    angle = np.linspace(0, 1, 12)
    points = np.column_stack([np.cos(angle), np.sin(angle), np.full(12, 0.1)])
    plane, said = figure_3.lay_out(points, seed=0)
    assert plane.shape == (12, 2) and "SVD" in said
    order = np.argsort(plane[:, 0])
    assert list(order) in (list(range(12)), list(range(11, -1, -1)))  # neighbours stay neighbours


def test_a_plane_by_umap_depends_on_its_seed() -> None:
    pytest.importorskip("umap")
    points = np.random.default_rng(0).normal(size=(24, 4))
    (first, said), (again, _), (other, _) = (figure_3.lay_out(points, seed) for seed in (0, 0, 1))
    assert (first == again).all() and (first != other).any() and "UMAP" in said


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("figure-3", "--model", "embedded/lm", "--countries", "FR,DE"), "2 countries are too few for 10 neighbours"),
        (("figure-3", "--model", "likes:likelihood"), "has no weights"),
        (("figure-1", "--model", "embedded/sentiment"), "is a classifier, not a language model"),
        (("figure-4", "--model", "likes:judge"), "needs labelled texts and a classifier"),
        (("figure-1", "--model", "likes:likelihood", "--countries", "Atlantis"), "Unknown country 'Atlantis'"),
    ],
)
def test_what_figures_refuse(run: Run, here: Path, arguments: tuple[str, ...], said: str) -> None:
    code, out, err = run("reproduce", "herb", *arguments, "--out", "bad")
    assert code == 2 and not out and said in err and len(err.splitlines()) == 1, err
    assert not (here / "bad").exists()


def test_names_are_written_where_there_is_room() -> None:
    rows = [{"code": code, "country": name} for code, name in (("RU", "Russia"), ("FR", "France"), ("TV", "Tuvalu"))]
    places = np.array([[10.0, 10], [12, 11], [10, 200]])
    assert figure_3.find_room(rows, places) == {1, 2}  # Russia's name would cover the point of France


def test_figures_are_frames_too(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(here)
    result = geobias.reproduce("herb", "figure-1", model="likes:likelihood", countries="FR,DE", word="kind")
    assert list(result.to_frame().columns) == ["code", "name", "level", "f"] and result.chart is not None
