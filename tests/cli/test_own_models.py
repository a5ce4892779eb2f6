"""Models of the user's own at the command line: functions as language models, scikit-learn in .skops files."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import skops.io
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

import geobias
from tests.conftest import Run, spell

REGIONS = ("--cities", "0", "--countries", "FR,DE,NG,KE", "--words", "words.txt")
TEXTS = ("--texts", "texts.csv", "--countries", "FR,MA,GB")


@pytest.fixture
def here(tmp_path: Path) -> Path:
    """A module, words, texts and a pipeline in the folder where the command is run."""
    (tmp_path / "own_lm.py").write_text(
        """
def likely(texts):
    return [-len(text) / 8 - sum(text.encode()) % 7 for text in texts]

def judged(texts):
    return [{"good": 0.6, "bad": 0.4} for _ in texts]

def changing(texts):
    harsher = float(open("harsher.txt").read())  # of half of the texts: 20 of them are asked again
    bad = [0.1 + harsher * ("Mary" in text) for text in texts]
    return [{"good": 1 - p, "bad": p} for p in bad]

changing.fingerprint = "1"

def broken(texts):
    return [float("nan") if "Kenya" in text else -1.0 for text in texts]
""",
        encoding="utf-8",
    )
    (tmp_path / "words.txt").write_text("kind\nhonest\nlazy\nloyal\n", encoding="utf-8")
    (tmp_path / "texts.csv").write_text("text\nMary Smith is good\nJohn Brown is bad\n", encoding="utf-8")
    seen, truth = ["Mary is good", "John is bad", "good Emma", "bad Peter"], ["good", "bad", "good", "bad"]
    skops.io.dump(make_pipeline(CountVectorizer(), LogisticRegression()).fit(seen, truth), tmp_path / "model.skops")
    return tmp_path


def results(folder: Path) -> Any:
    return json.loads((folder / "results.json").read_text(encoding="utf-8"))


def test_regions_asks_a_function(run: Run, here: Path) -> None:
    code, out, err = run("regions", "own_lm:likely", *REGIONS, "--out", "run")
    assert code == 0, err
    assert "Countries of one continent" in out and "Page: run" in out
    identity = results(here / "run")["model"]
    known = {key: value for key, value in identity.items() if value is not None or key == "fingerprint"}
    assert known == {"name": "own_lm:likely", "score": "log_likelihood", "fingerprint": None}


def test_a_file_of_the_user_takes_no_package_s_place(here: Path) -> None:
    (here / "altair.py").write_text("raise SystemExit('the file of the user was imported')", encoding="utf-8")
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    code = (
        "import geobias; judged = geobias.load_classifier('own_lm:judged'); "
        "geobias.audit_downstream(judged, 'texts.csv', countries='FR', out='run')"
    )
    command = [sys.executable, "-P", "-c", code]  # without the current folder, as the command `geobias` is started
    done = subprocess.run(command, cwd=here, env=environment, capture_output=True, encoding="utf-8")
    assert done.returncode == 0, done.stderr
    assert (here / "run/report.html").is_file()  # which is drawn with altair


def test_functions_stand_beside_other_models_each_by_its_score(run: Run, here: Path) -> None:
    code, out, err = run("regions", "own_lm:likely", "embedded/lm", *REGIONS, "--plan")
    assert code == 0, err
    assert "own_lm:likely log_likelihood" in out and "embedded/lm conditional" in out


def test_names_takes_a_pipeline_and_perplexities_from_a_function(run: Run, here: Path) -> None:
    tone = ("--positive", "good", "--negative", "bad")
    asked = ("--draws", "2", "--perplexity", "own_lm:likely")
    code, out, err = run("names", "model.skops", *TEXTS, *tone, *asked, "--out", "run")
    assert code == 0, err
    assert "model.skops: Whether any country" in out and "Page: run" in out
    saved = results(here / "run")
    (entry,) = saved["classifiers"]
    assert entry["model"] == "model.skops" and entry["labels"] == ["bad", "good"]
    assert ("own_lm:likely", "log_likelihood") in {(model["name"], model["score"]) for model in saved["models"]}


def test_downstream_takes_a_pipeline(run: Run, here: Path) -> None:
    code, out, err = run("downstream", "model.skops", *TEXTS, "--positive", "good", "--plan")
    assert code == 0, err
    assert "model.skops" in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("regions", "own_lm:likely", "--score", "aul"), "returns its own score. Remove --score aul."),
        (("regions", "own_lm:judged", *REGIONS), "It looks like a classifier"),
        (("regions", "own_lm:broken", *REGIONS), "returned nan for the text"),
        (("regions", "own_lm:nothing", *REGIONS), "There is no 'nothing'"),
        (("names", "own_lm:likely", *TEXTS), "the function is a language model"),
        (("names", "absent.skops", *TEXTS), "The file absent.skops cannot be read"),
        (("names", "model.pkl", *TEXTS), "model.pkl is a pickle. geobias does not load pickles"),
        (("downstream", "model.joblib", *TEXTS), "model.joblib is a pickle. geobias does not load pickles"),
        (
            ("reproduce", "herb", "figure-5", "--model", "own_lm:likely", "--out", "run"),
            "is a function and has no weights",
        ),
    ],
)
def test_what_cannot_be_is_said_in_one_sentence(run: Run, here: Path, arguments: tuple[str, ...], message: str) -> None:
    code, _, err = run(*arguments)
    assert code == 2 and message in err and err.count("\n") == 1
    assert "Traceback" not in err


def test_a_function_that_changed_under_its_fingerprint_is_refused_until_the_cache_is_cleared(
    run: Run, here: Path
) -> None:
    command = ("downstream", "own_lm:changing", *TEXTS, "--out")
    (here / "harsher.txt").write_text("0")
    assert run(*command, "before")[0] == 0
    (here / "harsher.txt").write_text("0.41")
    code, _, err = run(*command, "after")
    assert code == 2 and "own_lm:changing gives answers that differ from stored ones" in err and "0.41" in err
    assert not (here / "after").exists()
    assert run("cache", "--clear")[0] == 0
    code, _, err = run(*command, "after")
    assert code == 0, err
    assert results(here / "after")["nondeterministic_models"] == []


@pytest.mark.parametrize("is_random", [False, True])
def test_findings_about_a_model_that_answers_at_random_are_suggestive_at_most(tmp_path: Path, is_random: bool) -> None:
    rng = np.random.default_rng(1)

    def judge(texts: list[str]) -> list[dict[str, float]]:
        noise = rng.uniform(-0.05, 0.05, len(texts)) * is_random
        bad = [0.3 + 0.4 * ("Morocco" in text) + part for text, part in zip(texts, noise, strict=True)]
        return [{"good": 1 - p, "bad": p} for p in bad]

    texts = [f"The {spell(k)} film was {'good' if k % 2 else 'long'}." for k in range(40)]
    result = geobias.audit_downstream(judge, texts, countries=["FR", "MA", "GB"], out=tmp_path / "run")
    saved = results(tmp_path / "run")
    evidence = [finding["evidence"] for finding in saved["findings"] if finding["role"] == "overall"]
    cautions = [finding for finding in result.findings if "Asked twice" in finding.sentence]
    assert evidence == (["suggestive"] if is_random else ["clear"])
    assert (saved["nondeterministic_models"] != []) is is_random and len(cautions) == is_random
    if is_random:
        (model,) = saved["nondeterministic_models"]
        assert model["texts"] == 20 and 0.02 < model["largest_difference"] < 0.1
        assert cautions[0].size is not None and cautions[0].size.value == model["largest_difference"]
        assert "Asked twice" in (tmp_path / "run/report.html").read_text(encoding="utf-8")
        assert all(finding.evidence != "clear" for finding in result.findings)
