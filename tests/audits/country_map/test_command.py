"""`geobias map` and `geobias space` as a user types them, on runs of a tiny random model."""

from __future__ import annotations

import csv
import json
import shutil
import sys
from pathlib import Path

import huggingface_hub
import numpy as np
import pyarrow.parquet as pq
import pytest

from geobias import audit_regions
from geobias.audits.pages import read_runs, run_sections
from geobias.measures.neighbours import umap_plane
from geobias.report.page.blocks import Chart
from geobias.world.regions import Region, RegionTree
from tests.conftest import SCORE_ONLY, Run, sign_results

pytestmark = pytest.mark.figures

TWELVE = "FR,DE,IT,ES,NG,KE,TD,MA,JP,CN,IN,TV"


@pytest.fixture
def words(tmp_path: Path) -> Path:
    file = tmp_path / "words.csv"
    file.write_text("word,topic\nkind,manners\nhonest,manners\nkind,hearts\nloud/soft,voice\n", encoding="utf-8")
    return file


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that keeps the run of the first test for the others."""
    return tmp_path_factory.mktemp("kept")


@pytest.fixture
def finished(run: Run, small_models: dict[str, Path], words: Path, kept: Path) -> tuple[str | Path, ...]:
    """A finished run in the folder "here"; the command that makes it."""
    command = ("regions", small_models["bert"], "--cities", "2", "--countries", TWELVE, "--words", words, *SCORE_ONLY)
    templates = ("--template", "People in {region} are {description}.", "--template", "{region}: {description}.")
    whole = (*command, *templates, "--out", "here")
    if not (kept / "run").exists():
        assert run(*whole)[0] == 0
        shutil.copytree("here", kept / "run")
    else:
        shutil.copytree(kept / "run", "here")
    return whole


def rows(path: str) -> dict[str, dict[str, str]]:
    with open(path, encoding="utf-8") as file:
        return {row["code"]: row for row in csv.DictReader(file)}


@pytest.mark.slow
def test_a_map_of_a_word(run: Run, finished: tuple[str | Path, ...]) -> None:
    code, out, _ = run("map", "here", "--word", "Kind")
    assert code == 0
    assert {path.name for path in Path("here/figures").iterdir()} == {
        f"map-word-kind.{kind}" for kind in ("svg", "png", "html")
    }
    f = pq.read_table("here/likelihoods.parquet").to_pylist()
    table = rows("here/tables/map-word-kind.csv")
    assert len(table) == 12
    for country in ("FR", "TV"):
        expected = np.mean([row["manners/kind"] for row in f if (row["level"], row["id"]) == ("country", country)])
        assert float(table[country]["value"]) == pytest.approx(expected)
    assert table["FR"]["continent"] == "Europe" and table["FR"]["has_shape"] == "True"
    assert table["TV"]["has_shape"] == "False"  # Tuvalu
    lowest, highest = (end(table.values(), key=lambda row: float(row["value"])) for end in (min, max))
    assert f"Lowest: {lowest['country']}" in out and f"Highest: {highest['country']}" in out
    shown = " ".join(out.split())
    assert "12 of the run's 12 countries" in shown and "1 have no outline" in shown and "and 1 more" in shown
    assert "here/figures/map-word-kind.png" in out


@pytest.mark.slow
def test_a_map_of_a_topic_and_of_the_score(run: Run, finished: tuple[str | Path, ...]) -> None:
    assert run("map", "here", "--topic", "manners")[0] == 0
    f = [row for row in pq.read_table("here/likelihoods.parquet").to_pylist() if row["level"] == "country"]
    expected = np.mean([row[f"manners/{word}"] for row in f for word in ("kind", "honest") if row["id"] == "NG"])
    assert float(rows("here/tables/map-topic-manners.csv")["NG"]["value"]) == pytest.approx(expected)

    assert run("map", "here")[0] == 0 and run("map", "here", "--variant", "c_z")[0] == 0
    entries = {
        e["id"]: e for e in json.loads(Path("here/results.json").read_text())["regions"] if e["level"] == "country"
    }
    for variant in ("c_w", "c_z"):
        table = rows(f"here/tables/map-{variant}.csv")
        assert float(table["FR"]["value"]) == pytest.approx(entries["FR"][variant]["balanced"])
        assert entries["TV"]["pairs"] == 0 and table["TV"]["value"] == ""  # one city: no pair, no score


@pytest.mark.slow
def test_the_same_audit_again_keeps_the_figures(run: Run, finished: tuple[str | Path, ...]) -> None:
    assert run("map", "here", "--word", "loud/soft")[0] == 0  # a slash is no folder
    (figure,) = Path("here/figures").glob("map-word-loud-soft-*.svg")
    before = figure.read_bytes()
    assert run(*finished)[0] == 0 and figure.read_bytes() == before


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("here", "--word", "kinds"), "Did you mean 'kind'?"),
        (("here", "--word", "xyzzy"), "Choose from: kind, honest, loud/soft."),
        (("here", "--topic", "maners"), "Did you mean 'manners'?"),
        (("here", "--variant", "c_x"), "Choose from: c_w, c_z"),
        (("here", "--word", "kind", "--topic", "manners"), "A map shows one value"),
        (("nowhere",), "has no finished run"),
    ],
)
def test_bad_input_is_one_line(
    run: Run, finished: tuple[str | Path, ...], arguments: tuple[str, ...], message: str
) -> None:
    code, out, err = run("map", *arguments)
    assert code == 2 and out == "" and message in err and err.count("\n") == 1
    assert not Path("here/figures").exists()


@pytest.mark.parametrize("options", [(), ("--countries", "US,CA,MX,AN")])
@pytest.mark.slow
def test_a_country_that_no_longer_exists_is_ranked_only_if_named(
    run: Run, tmp_path: Path, options: tuple[str, ...]
) -> None:
    (tmp_path / "antilles.py").write_text(
        "def likelihood(texts):\n    return [float('Antilles' in t) for t in texts]\n"
    )
    (tmp_path / "words.csv").write_text("word\nkind\nrude\n")
    command = ("regions", "antilles:likelihood", "--cities", "0", "--words", "words.csv", "--out", "here", *SCORE_ONLY)
    assert run(*command, "--continents", "North America", *options)[0] == 0
    code, out, err = run("map", "here", "--word", "kind")
    assert code == 0, err
    assert ("Highest: Netherlands Antilles" in out) == bool(options)
    assert ("Not ranked (dissolved countries): Netherlands Antilles." in out) == (not options)


@pytest.mark.slow
def test_runs_that_no_map_can_show(run: Run, small_models: dict[str, Path], words: Path) -> None:
    bert = small_models["bert"]
    few = ("--cities", "0", "--countries", "FR,DE,NG", "--words", words, *SCORE_ONLY)
    assert run("regions", bert, *few, "--score", "aul,pll", "--out", "two")[0] == 0
    _, _, err = run("map", "two")
    assert "several runs" in err and "/aul" in err and "/pll" in err
    assert run("regions", bert, *few, "--out", "flat")[0] == 0
    assert "no cities" in run("map", "flat")[2]
    Path("flat/likelihoods.parquet").write_bytes(b"damaged")
    assert "damaged" in run("map", "flat", "--word", "kind")[2]

    Path("own.csv").write_text("id,name,parent\nw,World,\nFR,France,w\nDE,Germany,w\n")
    assert run("regions", bert, "--tree", "own.csv", "--words", words, "--out", "own", *SCORE_ONLY)[0] == 0
    for command in ("map", "space"):
        code, _, err = run(command, "own")
        assert code == 2 and "no level 'country'" in err
    results = json.loads(Path("flat/results.json").read_text())
    Path("flat/results.json").write_text(json.dumps(results | {"audit": "names"}))
    sign_results(Path("flat"))
    assert "is a run of `geobias names`" in run("map", "flat")[2]


@pytest.mark.slow
def test_a_tree_of_ones_own_with_iso_codes_can_be_shown(run: Run, small_models: dict[str, Path], words: Path) -> None:
    def tree(second: str) -> RegionTree:
        country = (Region(code, code, "country", 0) for code in ("FR", second))
        return RegionTree((Region("w", "World", "root", None), *country))

    for place, second in (("codes", "NA"), ("others", "Gaul")):
        audit_regions(small_models["bert"], tree=tree(second), words=words, out=place, placebo=False, paraphrases=0)
    assert run("map", "codes", "--word", "kind")[0] == 0
    assert set(rows("codes/tables/map-word-kind.csv")) == {"FR", "NA"}
    code, _, err = run("map", "others", "--word", "kind")
    assert code == 2 and "'Gaul' is not an ISO code" in err


@pytest.mark.slow
def test_the_space_of_a_model(run: Run, finished: tuple[str | Path, ...]) -> None:
    code, out, _ = run("space", "here", "--neighbours", "3")
    assert code == 0 and "Of the 3 countries nearest" in out and "by chance" in " ".join(out.split())
    assert {path.name for path in Path("here/figures").iterdir()} == {"space.svg", "space.png", "space.html"}
    first = rows("here/tables/space.csv")
    assert first["TV"]["continent"] == "Oceania" and len({(row["x"], row["y"]) for row in first.values()}) == 12
    with open("here/tables/space-purity.csv", encoding="utf-8") as file:
        numbers = list(csv.DictReader(file))
    assert [row["space"] for row in numbers] == ["full space", "plane"]
    assert all(0 <= float(row["purity"]) <= 1 and 0 < float(row["p_value"]) <= 1 for row in numbers)
    (section,) = run_sections(read_runs(Path("here")))
    (chart,) = [block for block in section.blocks if block.id == "regions-space"]
    assert isinstance(chart, Chart) and len(chart.rows) == 12 and "by chance it would be" in chart.reading
    assert "Countries in the model&#39;s embedding space" in Path("here/report.html").read_text(encoding="utf-8")
    assert run(*finished)[0] == 0
    Path("here/tables/space.csv").write_text("damaged\n", encoding="utf-8")
    code, _, err = run("report", "here")
    assert code == 2 and "Run `geobias space` again" in err
    points = np.random.default_rng(0).normal(size=(12, 4))
    laid = [umap_plane(points, neighbours=3, seed=seed) for seed in (0, 0, 1)]
    assert (laid[0] == laid[1]).all() and (laid[0] != laid[2]).any()


def test_what_the_space_refuses(
    run: Run, finished: tuple[str | Path, ...], small_models: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "too few for 11 neighbours" in run("space", "here", "--neighbours", "11")[2]
    assert "--neighbours must be between 2 and 1,000, not 1." in run("space", "here", "--neighbours", "1")[2]
    assert "--seed must be between 0 and 4,294" in run("space", "here", "--neighbours", "3", "--seed", "-1")[2]
    monkeypatch.setitem(sys.modules, "umap", None)  # as if it were not installed
    code, _, err = run("space", "here", "--neighbours", "3")
    assert code == 2 and "pip install 'geobias[space]'" in err and err.count("\n") == 1
    results = json.loads(Path("here/results.json").read_text())
    results["model"]["name"] = str(small_models["roberta"])
    Path("here/results.json").write_text(json.dumps(results))
    sign_results(Path("here"))
    assert "has changed since this run" in run("space", "here", "--neighbours", "3")[2]
    monkeypatch.setattr(huggingface_hub, "model_info", lambda *_, **__: pytest.fail("the hub was asked"))
    results["model"]["name"] = "owner/never-downloaded"  # a run of somebody else does not choose what is downloaded
    Path("here/results.json").write_text(json.dumps(results))
    sign_results(Path("here"))
    code, _, err = run("space", "here", "--neighbours", "3")
    assert code == 2 and "hf download owner/never-downloaded" in err
    results["model"]["architecture"] = None
    Path("here/results.json").write_text(json.dumps(results))
    sign_results(Path("here"))
    assert "your own scorer" in run("space", "here", "--neighbours", "3")[2]
    assert not Path("here/figures").exists()
