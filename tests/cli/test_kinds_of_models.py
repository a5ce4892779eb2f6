"""The command line with causal and sequence-to-sequence models, and with language models as classifiers."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import geobias
from geobias.models import sources
from tests.conftest import SCORE_ONLY, Run, made_up_names, spell

FEW = ("--countries", "FR,DE,NG,KE", "--cities", "0", *SCORE_ONLY)


@pytest.mark.parametrize(
    ("kind", "score"),
    [
        ("gpt2", "mean"),
        ("t5", "aul"),
        pytest.param("llama", "mean", marks=pytest.mark.slow),
        pytest.param("bart", "aul", marks=pytest.mark.slow),
    ],
)
def test_regions_of_any_kind_of_model(run: Run, small_models: dict[str, Path], kind: str, score: str) -> None:
    code, out, err = run("regions", small_models[kind], *FEW, "--score", score, "--json", "--out", "out")
    assert code == 0, err
    found = json.loads(out)
    assert found["model"]["score"] == found["settings"]["score"] == score  # the way it was asked is in the results
    assert found["regions"][0]["c_w_balanced"]["value"] > 0
    expected = geobias.audit_regions(
        small_models[kind], score=score, countries="FR,DE,NG,KE", cities=0, placebo=False, paraphrases=0
    )
    assert expected.to_dict()["regions"][0]["c_w_paper"] == found["regions"][0]["c_w_paper"]


def test_all_kinds_have_one_default_and_their_own_scores(run: Run, small_models: dict[str, Path]) -> None:
    gpt2, bert = small_models["gpt2"], small_models["bert"]
    code, _, err = run("regions", gpt2, bert, *FEW, "--out", "both")
    assert code == 0, err
    runs = json.loads(Path("both/index.json").read_text(encoding="utf-8"))["runs"]
    assert [one["score"] for one in runs] == ["conditional"] * 2
    code, _, err = run("regions", gpt2, *FEW, "--score", "pll", "--out", "no")
    assert code == 2 and "is a causal LM, which has no score 'pll'. Choose from: mean, sum, conditional." in err
    assert not Path("no").exists()


def test_names_with_a_prompted_model_and_its_own_perplexity(
    run: Run, small_models: dict[str, Path], tmp_path: Path
) -> None:
    texts = "".join(f"Mary is kind to {spell(i)}.\n" for i in range(6))
    (tmp_path / "texts.csv").write_text(f"text\n{texts}", encoding="utf-8")
    gazetteer = made_up_names(tmp_path, ["AA", "BB"])
    given = ("--texts", "texts.csv", "--gazetteer", gazetteer, "--draws", "3")
    asked = (
        small_models["gpt2"],
        "--perplexity",
        small_models["gpt2"],
        "--labels",
        "negative=lazy,positive=kind",
        *given,
    )
    code, out, err = run("names", *asked, "--json", "--out", "out")
    assert code == 0, err
    found = json.loads(out)
    assert found["settings"]["prompt"]["words"] == {"negative": "lazy", "positive": "kind"}
    (classifier,) = found["classifiers"]
    assert found["models"][0]["prompt"]["calibrate"] is False
    assert [(model["name"], model["score"]) for model in found["models"]] == [
        (str(small_models["gpt2"]), "probabilities"),
        (str(small_models["gpt2"]), "mean"),
    ]
    assert classifier["notes"] == []
    assert np.isfinite([row["against_originals"]["value"] or 0 for row in found["effects"]]).all()
    code, _, err = run("names", *asked, "--prompt", "{text} So it is", "--out", "out")
    assert code == 2 and "has a finished run with other settings" in err
    code, _, err = run("names", small_models["gpt2"], *given, "--out", "no")
    assert code == 2 and "is a language model. Add the labels to choose from" in err
    code, _, err = run("names", small_models["gpt2"], *given, "--prompt", "{text} So it is", "--out", "no")
    assert code == 2 and "needs --labels" in err and not Path("no").exists()


def test_what_cannot_be_asked_so_is_said(run: Run, small_models: dict[str, Path]) -> None:
    after = ("--template", "The {description} people of {region}.", "--score", "conditional", *FEW)
    code, _, err = run("regions", small_models["gpt2"], *after, "--out", "no")
    assert code == 2 and "Put the region first, or use --score mean" in err and not Path("no").exists()
    assert run("regions", small_models["bert"], *after, "--out", "yes")[0] == 0  # which sees the whole sentence
    code, _, err = run("names", "embedded/sentiment", "--limit", "2", "--draws", "1", "--labels", "a,b", "--out", "no")
    assert code == 2 and "--labels: it is for language models and for functions" in err and "embedded/sentiment" in err
    for missing in ("model.gguf", "some/dir/model.GGUF"):
        code, _, err = run("regions", missing, *FEW)
        assert code == 2 and f"There is no file {missing}. Pass a GGUF file" in err


@pytest.mark.parametrize(
    ("command", "model", "kind", "remedy"),
    [
        ("names", "embedded/lm", "is a language model", "geobias regions"),
        ("downstream", "embedded/lm", "is a language model", "geobias regions"),
        ("mitigate", "embedded/lm", "is a language model", "geobias regions"),
        ("regions", "embedded/sentiment", "is a classifier", "geobias names"),
        ("decide", "embedded/sentiment", "is a classifier", "geobias names"),
        ("names", "embedded/entities", "finds people and places", "geobias find"),
        ("regions", "embedded/entities", "finds people and places", "geobias find"),
        ("regions", "mitigated:blind", "is a classifier", "geobias names"),
        ("decide", "mitigated:runs/one/models/blind", "is a classifier", "geobias names"),
    ],
)
def test_a_model_of_another_kind_is_named_with_its_command(
    run: Run, command: str, model: str, kind: str, remedy: str
) -> None:
    code, _, err = run(command, model, "--out", "no")
    assert code == 2 and model in err and kind in err and remedy in err
    assert not Path("no").exists()


def test_downstream_with_a_prompted_model(run: Run, small_models: dict[str, Path], tmp_path: Path) -> None:
    (tmp_path / "texts.csv").write_text("text\nA day.\nThe fox.\nA dog.", encoding="utf-8")
    given = ("--texts", "texts.csv", "--countries", "FR,NG", "--labels", "no,yes", "--positive", "yes")
    code, out, err = run("downstream", small_models["t5"], *given, "--json", "--out", "out")
    assert code == 0, err
    assert json.loads(out)["settings"]["prompt"]["words"] == {"no": "no", "yes": "yes"}


def test_a_model_in_another_package_is_listed_where_it_is_installed(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code, out, _ = run("explain", "models")
    assert code == 0 and "carrier" not in out
    code, _, err = run("regions", "carrier", *FEW)
    assert code == 2
    (tmp_path / "carried").mkdir()
    (tmp_path / "carried/__init__.py").write_text("raise RuntimeError('its code must not run')", encoding="utf-8")
    (tmp_path / "carried/small.gguf").write_bytes(b"GGUF" + bytes(2_000_000))
    monkeypatch.setitem(sources.INSTALLED, "carrier", ("carried", "small.gguf", "causal LM", "MIT"))
    code, _, err = run("regions", "carrier", *FEW)
    assert code == 2 and "The model carrier needs the package carried: pip install '.[carrier]'." in err
    monkeypatch.syspath_prepend(str(tmp_path))
    code, out, _ = run("explain", "models")
    assert code == 0 and "carrier" in out and "2.0 MB" in out and "MIT" in out
