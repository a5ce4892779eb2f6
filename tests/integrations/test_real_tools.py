"""geobias in the real tools: the same numbers as on the command line. `make test-integrations` installs them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import geobias
from geobias.audits.reports import list_summary_numbers
from geobias.integrations.every_eval_ever import export_run
from geobias.texts.user_texts import read_texts
from tests.conftest import Run, sign_results
from tests.integrations.runs import COUNTRIES, DRAWS, LABELS, TEXTS, judge, save_names, save_regions

pytestmark = pytest.mark.integrations


@pytest.fixture
def reviews(tmp_path: Path) -> Path:
    file = tmp_path / "reviews.txt"
    file.write_text("\n".join(TEXTS), encoding="utf-8")
    return file


def ask_inspect(reviews: Path, folder: Path, **options: Any) -> Any:
    """The log of `inspect eval geobias/names` with a model that answers as `judge` does."""
    inspect_ai = pytest.importorskip("inspect_ai")
    from inspect_ai.model import ModelOutput, ModelUsage, get_model

    def answer(messages: Any, *_: Any) -> Any:
        text = messages[-1].text.partition("Text: ")[2].rpartition("\nAnswer:")[0]
        output = ModelOutput.from_content("mockllm/model", f"{judge([text])[0].capitalize()}.")
        output.usage = ModelUsage()  # else Inspect downloads a tokenizer to count tokens
        return output

    (log,) = inspect_ai.eval(
        "geobias/names",
        model=get_model("mockllm/model", custom_outputs=answer),
        task_args={"texts": str(reviews), "labels": LABELS, "countries": COUNTRIES, "draws": DRAWS},
        log_dir=str(folder / "logs"),
        display="none",
        **options,
    )
    return log


def test_inspect_gives_the_numbers_of_the_command_line(reviews: Path, tmp_path: Path, run: Run) -> None:
    log = ask_inspect(reviews, tmp_path)
    assert log.status == "success"
    metrics = {name: metric.value for name, metric in log.results.scores[0].metrics.items()}
    code, _, err = run(
        *("names", "tests.integrations.runs:judge", "--texts", reviews, "--labels", LABELS, "--out", "names"),
        *("--countries", ",".join(COUNTRIES), "--draws", DRAWS),
    )
    assert code == 0, err
    worst = json.loads(Path("names/results.json").read_text(encoding="utf-8"))["classifiers"][0]["worst"]
    assert metrics.pop("answers_without_label") == 0
    for name, number in {"delta": worst["delta"], **{f"change.{k}": v for k, v in worst["change"].items()}}.items():
        assert metrics.pop(f"{name}.worst") == abs(number["value"])
        ends = [metrics.pop(f"{name}.worst.{end}") for end in ("low", "high")]
        assert max(ends) == max(abs(number["low"]), abs(number["high"]))
    assert not metrics


def test_inspect_without_all_answers_gives_no_numbers(reviews: Path, tmp_path: Path) -> None:
    log = ask_inspect(reviews, tmp_path, limit=5)
    assert set(log.results.scores[0].metrics) == {"answers_missing"}


def test_an_answer_without_a_label() -> None:
    pytest.importorskip("inspect_ai")
    from geobias.integrations.inspect_tasks import find_label
    from geobias.models.answers import make_prompt

    prompt = make_prompt("negative=bad,positive=good")
    answers = {"Good.": "positive", "It is BAD, not good": "negative", "Goodness!": "other", "": "other"}
    assert {answer: find_label(answer, prompt) for answer in answers} == answers


@pytest.fixture
def mlflow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """MLflow with a store of files, which its small package has without a database."""
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    mlflow = pytest.importorskip("mlflow")
    mlflow.set_tracking_uri((tmp_path / "mlruns").as_uri())
    return mlflow


def test_mlflow_has_numbers_tables_and_page(mlflow: Any, tmp_path: Path) -> None:
    from geobias.integrations.mlflow import log_run

    result = save_regions(tmp_path / "regions")
    run_id = log_run(result)
    logged = mlflow.get_run(run_id).data
    for number in list_summary_numbers(result):
        assert logged.metrics[number.path] == number.value
        assert (logged.metrics[f"{number.path}.low"], logged.metrics[f"{number.path}.high"]) == (
            number.low,
            number.high,
        )
    assert logged.params["geobias/regions/audit"] == "regions"
    assert logged.params["geobias/regions/geobias"] == geobias.__version__
    assert {"report.html", "results.json", "tables/regions.csv"} <= list_artifacts(mlflow, run_id, "geobias/regions")
    with mlflow.start_run() as active:
        assert log_run(result, every_number=True) == active.info.run_id


def list_artifacts(mlflow: Any, run_id: str, folder: str) -> set[str]:
    place = Path(mlflow.artifacts.download_artifacts(run_id=run_id, artifact_path=folder))
    return {path.relative_to(place).as_posix() for path in place.rglob("*") if path.is_file()}


def test_several_runs_in_one_run_of_mlflow(mlflow: Any, tmp_path: Path) -> None:
    from geobias.integrations.mlflow import log_run

    first, second = save_names(tmp_path / "names"), save_regions(tmp_path / "regions")
    other = save_names(tmp_path / "other")
    with mlflow.start_run() as active:
        for result in (first, second, other):
            log_run(result)
    parameters = mlflow.get_run(active.info.run_id).data.params
    names = {name.split("/")[1]: value for name, value in parameters.items() if name.endswith("/audit")}
    assert names == {"names": "names", "regions": "regions", "other": "names"}
    for name in names:
        assert "results.json" in list_artifacts(mlflow, active.info.run_id, f"geobias/{name}")


def test_mlflow_gets_no_texts(mlflow: Any, tmp_path: Path) -> None:
    from geobias.integrations.mlflow import log_run

    folder = save_names(tmp_path / "names").folder
    assert folder is not None
    results = json.loads((folder / "results.json").read_text(encoding="utf-8"))
    example = {"text_id": "1", "original": "A secret.", "changed": "A secret.", "label": "negative"}
    results["findings"][0]["examples"] = [example | {"before": 0.1, "after": 0.9}]
    (folder / "results.json").write_text(json.dumps(results), encoding="utf-8")
    (folder / "tables/secrets.csv").write_text("text\nA secret.\n", encoding="utf-8")
    description = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    description["files"].append("tables/secrets.csv")
    (folder / "run.json").write_text(json.dumps(description), encoding="utf-8")
    sign_results(folder)
    place = Path(mlflow.artifacts.download_artifacts(run_id=log_run(folder), artifact_path="geobias/names"))
    files = {path.name: path.read_bytes() for path in place.rglob("*") if path.is_file()}
    assert {"results.json", "report.html"} <= set(files) and "secrets.csv" not in files
    assert not any(b"A secret." in content for content in files.values())
    assert not any(name.endswith(".parquet") for name in files)


def test_a_dataset_by_name(tmp_path: Path) -> None:
    datasets = pytest.importorskip("datasets")
    dataset = datasets.Dataset.from_dict({"text": ["One.", "Two."]})
    dataset.save_to_disk(tmp_path / "saved")
    assert read_texts(f"datasets:{tmp_path / 'saved'}").texts == ("One.", "Two.")
    datasets.DatasetDict({"train": dataset, "test": dataset.select([1])}).save_to_disk(tmp_path / "splits")
    assert read_texts(f"datasets:{tmp_path / 'splits'}:test").texts == ("Two.",)
    with pytest.raises(geobias.InputError, match="has the splits train, test"):
        read_texts(f"datasets:{tmp_path / 'splits'}")
    (tmp_path / "files").mkdir()
    dataset.to_parquet(tmp_path / "files" / "train.parquet")
    assert read_texts(f"datasets:{tmp_path / 'files'}").texts == ("One.", "Two.")
    with pytest.raises(geobias.InputError, match="Cannot read datasets:me/no-such-dataset"):
        read_texts("datasets:me/no-such-dataset")


def test_every_eval_ever_accepts_the_export(tmp_path: Path) -> None:
    """Its validator needs Python 3.12 and none of geobias: the Makefile makes an environment for it alone."""
    python = os.environ.get("EVERY_EVAL_EVER_PYTHON") or sys.executable
    if subprocess.run([python, "-c", "import every_eval_ever"], capture_output=True).returncode:
        pytest.skip("every-eval-ever is not installed; it needs Python 3.12")
    results = (save_regions(tmp_path / "regions"), save_names(tmp_path / "names"))
    files = [file for result in results for file in export_run(result, tmp_path / "data", developer="lab")]
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    checked = subprocess.run(
        [python, "-m", "every_eval_ever", "validate", *map(str, files)],
        capture_output=True,
        text=True,
        env=environment,
    )
    assert checked.returncode == 0 and "2 passed, 0 warning-only, 0 failed" in checked.stdout, checked.stdout
