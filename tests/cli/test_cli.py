"""The command line as a user types it."""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from geobias import cli
from geobias.report.results import SCHEMA_VERSION
from tests.conftest import SCORE_ONLY, Run, posix_only

FEW = ("--cities", "0", "--countries", "FR,DE,NG,KE", *SCORE_ONLY)


@pytest.fixture
def words(tmp_path: Path) -> Path:
    file = tmp_path / "words.csv"
    file.write_text("word,topic\nkind,manners\nhonest,manners\n=loud,voice\n", encoding="utf-8")
    return file


def test_one_model_ends_in_a_folder_a_person_can_open(
    run: Run, small_models: dict[str, Path], words: Path, tmp_path: Path
) -> None:
    code, out, _ = run("regions", small_models["bert"], *FEW, "--words", words, "--out", "here")
    assert code == 0
    assert "Countries of one continent" in out and "Page: here/report.html" in out
    results = json.loads((tmp_path / "here/results.json").read_text())
    assert results["schema_version"] == SCHEMA_VERSION
    assert {"settings", "model", "versions", "counts", "regions"} <= set(results)
    assert results["model"]["architecture"] == "BertForMaskedLM" and len(results["model"]["fingerprint"]) > 32
    assert {e["name"] for e in results["regions"]} == {
        "Earth", "Africa", "Europe", "France", "Germany", "Kenya", "Nigeria",
    }  # fmt: skip
    earth = results["regions"][0]
    assert {"id", "name", "level", "parent", "children", "c_w_balanced", "c_z_paper", "flat"} <= set(earth)
    run_file = json.loads((tmp_path / "here/run.json").read_text())
    assert run_file["settings"] == results["settings"] and run_file["work"]["sentences_scored"] == 18
    rows = list(csv.DictReader((tmp_path / "here/tables/regions.csv").open(encoding="utf-8")))
    assert float(rows[0]["c_w_balanced"]) == earth["c_w_balanced"]["value"]
    listed = list(csv.DictReader((tmp_path / "here/tables/words.csv").open(encoding="utf-8")))
    assert {row["word"] for row in listed} == {"kind", "honest", "'=loud"}  # no cell runs as a formula
    assert pq.read_table(tmp_path / "here/likelihoods.parquet").num_rows == 6


def test_default_folders_are_new_ones_under_runs(run: Run, small_models: dict[str, Path], words: Path) -> None:
    for _ in range(2):
        assert run("regions", small_models["bert"], *FEW, "--words", words)[0] == 0
    assert len(list(Path("runs").iterdir())) == 2


def test_the_same_again_computes_nothing_and_says_the_same(
    run: Run, small_models: dict[str, Path], words: Path
) -> None:
    command = ("regions", small_models["roberta"], *FEW, "--words", words, "--out", "here")
    assert run(*command)[0] == 0
    first = Path("here/results.json").read_bytes()
    assert run(*command)[0] == 0
    assert Path("here/results.json").read_bytes() == first
    assert set(json.loads(Path("here/run.json").read_text())["work"].values()) == {0}


def test_several_models_and_scores(run: Run, small_models: dict[str, Path], words: Path) -> None:
    code, out, _ = run(
        "regions", small_models["bert"], small_models["albert"], *FEW, "--words", words, "--out", "both",
        "--score", "aul", "--score", "conditional", "--full",
    )  # fmt: skip
    assert code == 0
    index = json.loads(Path("both/index.json").read_text())
    assert len(index["runs"]) == 4
    for entry in index["runs"]:
        results = json.loads(Path("both", entry["path"], "results.json").read_text())
        assert (results["model"]["name"], results["model"]["score"]) == (entry["model"], entry["score"])
        assert entry["path"].endswith(f"/{entry['score']}")
        assert f"({entry['score']})" in out


def test_json_prints_the_results_alone(run: Run, small_models: dict[str, Path], words: Path) -> None:
    code, out, _ = run("regions", small_models["bert"], *FEW, "--words", words, "--out", "here", "--json")
    assert code == 0
    assert json.loads(out) == json.loads(Path("here/results.json").read_text())
    both = ("--score", "aul", "--score", "pll")
    _, out, _ = run("regions", small_models["bert"], *FEW, "--words", words, "--out", "two", "--json", *both)
    assert [r["model"]["score"] for r in json.loads(out)["runs"]] == ["aul", "pll"]


def test_a_finished_run_of_other_settings_is_not_overwritten(
    run: Run, small_models: dict[str, Path], words: Path
) -> None:
    bert = small_models["bert"]
    assert run("regions", bert, *FEW, "--words", words, "--out", "here")[0] == 0
    before = Path("here/results.json").read_bytes()
    for other in (
        ("regions", bert, *FEW, "--words", words, "--out", "here", "--score", "pll"),
        ("regions", bert, "--cities", "1", "--countries", "FR,DE,NG,KE", "--words", words, "--out", "here"),
        ("regions", small_models["albert"], *FEW, "--words", words, "--out", "here"),
        ("regions", bert, *FEW, "--words", words, "--out", "here", "--score", "pll", "--score", "aul"),
    ):
        code, _, err = run(*other)
        assert code == 2 and "other settings" in err
    assert Path("here/results.json").read_bytes() == before


def test_other_weights_under_the_same_name_are_other_settings(
    run: Run, small_models: dict[str, Path], words: Path, tmp_path: Path
) -> None:
    model = tmp_path / "model"
    model.symlink_to(small_models["bert"])
    assert run("regions", model, *FEW, "--words", words, "--out", "here")[0] == 0
    model.unlink()
    model.symlink_to(small_models["distilbert"])
    code, _, err = run("regions", model, *FEW, "--words", words, "--out", "here")
    assert code == 2 and "other models" in err


def test_out_may_be_written_in_odd_ways(run: Run, small_models: dict[str, Path], words: Path, tmp_path: Path) -> None:
    """Through a folder that is not there yet, through a link, as the empty folder one stands in."""
    Path("thesis").mkdir()
    Path("thesis/chapter.txt").write_text("years of work")
    command = ("regions", small_models["bert"], *FEW, "--words", words, "--out")
    code, _, err = run(*command, "new/../thesis")
    assert code == 2 and "not a geobias run" in err
    code, _, err = run(*command, "new/..")
    assert code == 2 and "not a geobias run" in err
    assert Path("thesis/chapter.txt").read_text() == "years of work" and words.exists()
    Path("real").mkdir()
    Path("link").symlink_to("real")
    assert run(*command, "link")[0] == 0 and Path("real/run.json").exists()
    Path("empty").mkdir()
    os.chdir("empty")
    assert run(*command, ".")[0] == 0 and Path("run.json").exists()


def test_a_reader_who_leaves_early_is_no_failure(small_models: dict[str, Path], words: Path, tmp_path: Path) -> None:
    command = f"{sys.executable} -m geobias.cli regions {small_models['bert']} {' '.join(FEW)} --words {words}"
    piped = f"set -o pipefail; {command} --out {tmp_path / 'here'} | head -1"
    assert subprocess.run(["bash", "-c", piped], capture_output=True).returncode == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("nobody/no-such-model",), "There is no model"),
        (("./no-such-folder",), "There is no model folder"),
        (("--countries", "Atlantis"), "Unknown country"),
        (("--continents", "XX"), "Unknown continent"),
        (("--cities", "many"), "number or 'all'"),
        (("--countries", ""), "An argument is empty"),
        (("--countries", "FR", "--cities", "0"), "Nothing to compare"),
        (("--words", "none.txt"), "does not exist"),
        (("--tree", "none.csv"), "does not exist"),
        (("--template", "People."), "People in {region} are {description}."),
        (("--score", "bleu"), "Unknown score"),
        (("--device", "toaster"), "not available"),
        (("--dtype", "int3"), "Unknown --dtype"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(run: Run, arguments: tuple[str, ...], message: str) -> None:
    code, out, err = run("regions", *arguments, "--out", "here")
    assert code == 2
    assert out == "" and message in err
    assert err.count("\n") == 1 and "Traceback" not in err
    assert not Path("here").exists()


def test_debug_shows_where_it_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["geobias", "regions", "--score", "bleu", "--debug"])
    with pytest.raises(Exception, match="Unknown score"):
        cli.main()


def test_a_failure_while_running_is_exit_code_3(
    run: Run, small_models: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("the model broke\nin two lines")

    monkeypatch.setattr("geobias.models.language_model.LanguageScorer.batches", broken)
    code, _, err = run("regions", small_models["bert"], *FEW, "--out", "here")
    assert code == 3 and "the model broke in two lines" in err and err.count("\n") == 1
    assert not Path("here").exists()


IN_SMALL_STEPS = (
    "import geobias.cli, geobias.engine.ask as engine, geobias.models.scorer as scorer; "
    "engine.SECONDS_AT_RISK = scorer.SHARE_SECONDS = 0.02; geobias.cli.main()"
)


def geobias(*arguments: str | Path, **options: object) -> subprocess.Popen[str]:
    """The command as a process of its own, keeping what it has more often than usual."""
    command = [sys.executable, "-c", IN_SMALL_STEPS, *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)  # type: ignore[call-overload]


@posix_only
@pytest.mark.parametrize("full", ["store", "run"])
@pytest.mark.slow
def test_a_full_disk_is_one_line_and_leaves_nothing(
    full: str, small_models: dict[str, Path], words: Path, tmp_path: Path, own_store: Path
) -> None:
    """Files limited to a few bytes: what a full disk does to a writer."""
    import resource

    out = tmp_path / "here"
    arguments = ("regions", small_models["bert"], *FEW, "--words", words)
    if full == "run":  # all scores are known already, so the run's own files are the first that do not fit
        assert geobias(*arguments, "--out", tmp_path / "elsewhere").wait() == 0
    limit = 100 if full == "store" else 1000
    process = geobias(
        *arguments, "--out", out, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
    )
    _, err = process.communicate()
    assert process.returncode == 2, err
    assert "Cannot write" in err and err.count("\n") == 1
    assert not out.exists()
    assert not [path for path in tmp_path.rglob("*") if path.name.startswith(".")]


def test_the_cache_is_shown_and_cleared(run: Run, small_models: dict[str, Path], words: Path, own_store: Path) -> None:
    run("regions", small_models["bert"], *FEW, *SCORE_ONLY, "--words", words)
    _, out, _ = run("cache")
    assert "24 texts" in out and str(own_store) in out
    _, out, _ = run("cache", "--clear")
    assert "texts" not in out and not list(own_store.rglob("*.parquet"))


def test_a_damaged_store_is_named_and_scored_again(
    run: Run, small_models: dict[str, Path], words: Path, own_store: Path, caplog: pytest.LogCaptureFixture
) -> None:
    command = ("regions", small_models["bert"], *FEW, "--words", words, "--out", "here")
    run(*command)
    first = json.loads(Path("here/results.json").read_text())["regions"]
    for file in own_store.rglob("*.parquet"):
        file.write_bytes(file.read_bytes()[:-9])
    code, _, _ = run(*command)
    assert code == 0 and "is damaged" in caplog.text
    assert json.loads(Path("here/run.json").read_text())["work"]["sentences_scored"] == 18
    assert json.loads(Path("here/results.json").read_text())["regions"] == first


def test_the_models_inside_are_listed(run: Run) -> None:
    code, out, _ = run("explain", "models")
    assert code == 0
    assert all(f"embedded/{name}" in out for name in ("lm", "sentiment", "emotion", "hate", "offensive", "entities"))
