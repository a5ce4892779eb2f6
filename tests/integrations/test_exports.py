"""Finished runs as metadata of the Hub and as records of Every Eval Ever, and texts by names on the Hub."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest
import yaml
from huggingface_hub import ModelCard, ModelCardData, parse_eval_result_entries
from huggingface_hub.errors import EntryNotFoundError
from huggingface_hub.repocard_data import model_index_to_eval_results

import geobias
from geobias.audits.reports import RunNumber, list_numbers, list_summary_numbers
from geobias.audits.study import prepare
from geobias.integrations import hugging_face
from geobias.integrations.every_eval_ever import export_run
from geobias.integrations.hugging_face import HEADING
from geobias.integrations.mlflow import list_metrics, log_run
from geobias.integrations.recorded_answers import RecordedClassifier, make_recorded_model
from geobias.models.answers import ANSWER_SETS, FunctionDecider
from geobias.models.scorer import ModelIdentity
from geobias.texts.input_table import read_table
from geobias.texts.user_texts import read_texts
from tests.conftest import Run
from tests.integrations.runs import answer, save_names, save_regions


@pytest.fixture(scope="module")
def regions(tmp_path_factory: pytest.TempPathFactory) -> geobias.RegionsResult:
    return save_regions(tmp_path_factory.mktemp("runs") / "regions")


@pytest.fixture(scope="module")
def names(tmp_path_factory: pytest.TempPathFactory) -> geobias.NamesResult:
    return save_names(tmp_path_factory.mktemp("runs") / "names")


def test_numbers_are_those_of_a_gate(regions: geobias.RegionsResult, names: geobias.NamesResult) -> None:
    for result in (regions, names):
        for number in list_numbers(result):
            (judgement,) = geobias.gate(result, f"{number.path} <= {number.value}").judgements
            assert judgement.value == number.value and judgement.low == number.low
    assert [number.path for number in list_summary_numbers(regions)] == [
        f"regions.{region}.c_w.balanced" for region in ("Earth", "AF", "EU")
    ]
    assert all(number.parts[-1] == "worst" for number in list_summary_numbers(names))


def test_the_model_index_is_read_by_the_hub_s_own_classes(names: geobias.NamesResult) -> None:
    metadata = yaml.safe_load(geobias.export(names, "model-index"))
    model, results = model_index_to_eval_results(metadata["model-index"])
    card = ModelCard(f"---\n{ModelCardData(model_name=model, eval_results=results).to_yaml()}\n---\n")
    worst = {number.path: number for number in list_summary_numbers(names)}
    assert model == names.classifiers[0].model
    results_of_card = getattr(card.data, "eval_results", None) or []
    assert {result.metric_name: result.metric_value for result in results_of_card} == {
        path: number.value for path, number in worst.items()
    }
    assert {result.task_type for result in results} == {"text-classification"}
    first = worst[str(results[0].metric_name)]
    assert (results[0].metric_args or {})["interval_95"] == [first.low, first.high]


def test_eval_results_are_read_by_the_hub_s_own_classes(regions: geobias.RegionsResult) -> None:
    text = geobias.export(regions, "eval-results", benchmark="me/geobias")
    entries = parse_eval_result_entries(yaml.safe_load(text))
    assert {entry.task_id: entry.value for entry in entries} == {
        number.path: number.value for number in list_summary_numbers(regions)
    }
    assert {entry.dataset_id for entry in entries} == {"me/geobias"}
    assert all("95 % interval" in str(entry.notes) for entry in entries)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--to", "eval-results"), "--to eval-results needs --benchmark OWNER/NAME"),
        (("--to", "eval-results", "--benchmark", "a b"), "--benchmark must be the id of a dataset"),
        (("--benchmark", "me/geobias"), "--benchmark needs --to eval-results"),
        (("--to", "xml"), "Unknown --to 'xml'"),
    ],
)
def test_bad_card_options(run: Run, regions: geobias.RegionsResult, options: tuple[str, ...], message: str) -> None:
    assert regions.folder is not None
    code, out, err = run("export", regions.folder, "--out", "card.yaml", *options)
    assert code == 2 and message in err and err.count("\n") == 1 and not out and not Path("card.yaml").exists()


def test_a_card_in_yaml_replaces_only_its_like(run: Run, regions: geobias.RegionsResult) -> None:
    assert regions.folder is not None
    for _ in range(2):
        assert run("export", regions.folder, "--to", "model-index", "--out", "index.yaml")[0] == 0
    Path("mine.yaml").write_text("a: 1\n", encoding="utf-8")
    code, _, err = run("export", regions.folder, "--to", "model-index", "--out", "mine.yaml")
    assert code == 2 and "mine.yaml" in err and Path("mine.yaml").read_text(encoding="utf-8") == "a: 1\n"


def test_export_of_scores_with_intervals(run: Run, regions: geobias.RegionsResult) -> None:
    assert regions.folder is not None
    code, out, _ = run("export", regions.folder, "--to", "every-eval-ever", "--developer", "My Lab")
    (file,) = Path("data").rglob("*.json")
    assert code == 0 and file.name in out and file.parts[1:3] == ("geobias-regions", "My-Lab")
    record = json.loads(file.read_text(encoding="utf-8"))
    assert (
        record["model_info"]["developer"] == "My-Lab" and record["source_metadata"]["source_type"] == "evaluation_run"
    )
    for number, entry in zip(list_summary_numbers(regions), record["evaluation_results"], strict=True):
        interval = entry["score_details"]["uncertainty"]["confidence_interval"]
        assert entry["metric_config"]["metric_id"] == number.path and entry["metric_config"]["lower_is_better"]
        assert entry["score_details"]["score"] == number.value
        assert interval == {"lower": number.low, "upper": number.high, "confidence_level": 0.95}
    assert export_run(regions, "data", developer="My Lab") == [file]  # the same run, the same file


def test_bad_export_options(run: Run, regions: geobias.RegionsResult) -> None:
    assert regions.folder is not None
    code, _, err = run("export", regions.folder, "--to", "csv")
    assert code == 2 and "Unknown --to 'csv'" in err
    assert not Path("data").exists()


class StubHub:
    """A Hub that holds one README.md and keeps what it is sent."""

    def __init__(self, readme: Path | None) -> None:
        self.readme = readme
        self.commits: list[tuple[Any, ...]] = []

    def hf_hub_download(self, repository: str, path: str) -> str:
        if self.readme is None:
            raise EntryNotFoundError("no README.md")
        return str(self.readme)

    def create_commit(self, repository: str, operations: list[Any], **options: Any) -> Any:
        self.commits.append((repository, {item.path_in_repo: item.path_or_fileobj for item in operations}, options))
        return SimpleNamespace(pr_url="https://huggingface.co/me/model/discussions/1")


def test_push_card_sends_nothing_unless_told_to(
    run: Run, regions: geobias.RegionsResult, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    readme = tmp_path / "card.md"
    readme.write_text("---\nlicense: mit\n---\n# Mine\n", encoding="utf-8")
    hub = StubHub(readme)
    monkeypatch.setattr("huggingface_hub.HfApi", lambda: hub)
    assert regions.folder is not None
    code, out, _ = run("export", regions.folder, "--to", "hub:me/model")
    assert code == 0 and HEADING in out and "Nothing was sent" in out and not hub.commits
    code, out, _ = run("export", regions.folder, "--to", "hub:me/model", "--benchmark", "me/geobias", "--yes")
    ((repository, files, options),) = hub.commits
    assert code == 0 and "discussions/1" in out and repository == "me/model" and options["create_pr"]
    assert files["README.md"].decode() == f"---\nlicense: mit\n---\n# Mine\n\n{geobias.export(regions)}"
    assert parse_eval_result_entries(yaml.safe_load(files[".eval_results/geobias.yaml"]))


def test_a_new_section_replaces_the_old_one(regions: geobias.RegionsResult, monkeypatch: pytest.MonkeyPatch) -> None:
    section = geobias.export(regions)
    readme = f"# Mine\n\n{section}\n## Licence\n"
    assert hugging_face.insert_section(readme, section) == readme
    assert hugging_face.insert_section("", section) == section
    with pytest.raises(geobias.InputError, match="was edited"):
        hugging_face.insert_section(f"{HEADING}\nMine.", section)
    monkeypatch.setattr("huggingface_hub.HfApi", lambda: StubHub(None))
    assert geobias.export(regions, "hub:me/model").startswith(f"--- README.md\n{section}\nNothing was sent.")


def test_a_hub_that_cannot_be_reached(run: Run, regions: geobias.RegionsResult) -> None:
    assert regions.folder is not None
    code, _, err = run("export", regions.folder, "--to", "hub:me/model")  # tests are offline
    assert code == 3 and "me/model" in err and err.count("\n") == 1


def test_recorded_answers_refuse_texts_without_an_answer() -> None:
    assert RecordedClassifier("m", ["x", "y"], {"a": "y"}).score(["a"]).tolist() == [[0.0, 1.0, 0.0]]
    with pytest.raises(geobias.InputError, match="m has no answer to 1 text"):
        RecordedClassifier("m", ["x", "y"], {}).score(["a"])


def test_a_file_on_the_hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "test.parquet"
    pd.DataFrame({"body": ["One.", "Two."]}).to_parquet(file)
    calls: list[Any] = []

    def download(*arguments: Any, **options: Any) -> str:
        calls.append((arguments, options))
        return str(file)

    monkeypatch.setattr("huggingface_hub.hf_hub_download", download)
    texts = read_texts("hf://datasets/me/reviews@v1/data/test.parquet", column="body")
    assert texts.texts == ("One.", "Two.") and texts.source == "hf://datasets/me/reviews@v1/data/test.parquet"
    assert calls.pop() == (("me/reviews", "data/test.parquet"), {"repo_type": "dataset", "revision": "v1"})
    for revision in ("refs/convert/parquet", "refs/pr/1"):
        read_texts(f"hf://datasets/me/reviews@{revision}/default/test/0000.parquet", column="body")
        arguments, options = calls.pop()
        assert arguments == ("me/reviews", "default/test/0000.parquet") and options["revision"] == revision
    for path in ("hf://models/a/b/c", "hf://datasets/me", "hf://datasets/me/reviews", "hf://datasets/me/a@refs/pr/1"):
        with pytest.raises(geobias.InputError, match="is not a file of a dataset"):
            read_table(path)


def test_the_command_passes_hub_names_on(run: Run) -> None:
    code, _, err = run("names", "embedded/sentiment", "--texts", "en=hf://datasets/me/reviews")
    assert code == 2 and "hf://datasets/me/reviews is not a file of a dataset" in err


def test_the_names_of_metrics_are_paths_that_mlflow_takes() -> None:
    for model, name in {"http://host//a": "names.http:/host/a.delta", "a/../b/.": "names._a/b/._.delta"}.items():
        number = RunNumber(("names", model, "delta"), None, 1.0, 0.5, 2.0)
        assert dict(list_metrics(number)) == {name: 1.0, f"{name}.low": 0.5, f"{name}.high": 2.0}


def test_a_model_named_like_a_measure_changes_no_direction() -> None:
    def is_lower_better(*parts: str) -> bool:
        return RunNumber(parts, ModelIdentity("me/recall", "mean", None), 1.0, None, None).lower_is_better

    assert is_lower_better("names", "me/recall", "delta", "worst") and is_lower_better("names", "recall", "delta")
    assert not is_lower_better("find", "recall", "recall", "lowest") and not is_lower_better("find", "x", "precision")
    assert not is_lower_better("decide", "x", "impact_ratio", "worst") and is_lower_better("decide", "x", "preference")


def test_missing_packages_are_named(monkeypatch: pytest.MonkeyPatch, regions: geobias.RegionsResult) -> None:
    for package in ("datasets", "mlflow"):
        monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(geobias.InputError, match=r"pip install '\.\[datasets\]'"):
        read_table("datasets:me/reviews")
    with pytest.raises(geobias.InputError, match=r"pip install '\.\[mlflow\]'"):
        log_run(regions)


def test_a_recorded_model_decides_as_the_model_does() -> None:
    options: dict[str, Any] = {"countries": ["FR", "KE", "JP"], "limit": 10}
    deciders = {kind: FunctionDecider(answer, answers, name="answer") for kind, answers in ANSWER_SETS.items()}
    rows: dict[str, dict[str, Any]] = {}
    for kind, texts in prepare(geobias.audit_decisions, **options).design.list_questions():
        questions = list(texts)
        rows.setdefault(kind, {}).update(zip(questions, deciders[kind].score(questions), strict=True))
    recorded = geobias.audit_decisions(make_recorded_model("answer", rows), **options, progress=False)
    expected = geobias.audit_decisions(answer, **options, progress=False)
    assert [number.value for number in list_numbers(recorded)] == [number.value for number in list_numbers(expected)]
    rows["yes_no"].popitem()
    with pytest.raises(geobias.InputError, match="answer has no answer to 1 text"):
        geobias.audit_decisions(make_recorded_model("answer", rows), **options, progress=False)
