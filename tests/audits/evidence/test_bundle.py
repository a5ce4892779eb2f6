"""Bundles of evidence: what they hold, and that no text of the user's is in any byte of them."""

from __future__ import annotations

import html
import json
import re
import shutil
import subprocess
import zipfile
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import geobias
from geobias.audits.evidence.bundle import is_free_of_texts, leave_out_texts
from geobias.audits.evidence.documents import list_texts, render_data_statement
from geobias.audits.pages import read_run
from geobias.report.run_folder import read_json, write_json
from tests.conftest import Run, posix_only, sign_results
from tests.finished_runs import OF_TEXTS, SECRETS


@pytest.fixture
def runs(finished_run: Callable[[str], Path]) -> dict[str, Path]:
    """Finished runs of the audits that read texts, made from texts that must not leave the house."""
    return {name: finished_run(name) for name in OF_TEXTS}


def list_bytes(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def holds_text(content: bytes) -> bool:
    """Whether a secret stands in it, as it is or as JSON and HTML write it."""
    forms = [form for secret in SECRETS for form in (secret, html.escape(secret), json.dumps(secret)[1:-1])]
    return any(form.encode() in content for form in [*forms, "gate seven", "<news>", "&lt;news&gt;"])


def test_the_runs_hold_texts_and_the_bundle_holds_none(runs: dict[str, Path], tmp_path: Path) -> None:
    for name in OF_TEXTS:
        assert holds_text((runs[name] / "results.json").read_bytes()), name
        page_holds_text = holds_text((runs[name] / "report.html").read_bytes())
        assert page_holds_text == (name == "decide"), name  # it lists its cases; others need `report --with-texts`
    bundle = geobias.write_evidence(list(runs.values()), tmp_path / "evidence")
    page = (bundle / "runs/decide/report.html").read_text(encoding="utf-8")
    assert all(f"<td>row {n}</td>" in page for n in range(1, 7))  # cases by their ids
    files = list_bytes(bundle)
    assert [name for name, content in files.items() if holds_text(content)] == []
    parquet = {name for name in files if name.endswith(".parquet")}
    assert parquet == set()  # each has a row for every text
    withheld = (bundle / "WITHHELD.sha256").read_text()
    for name in OF_TEXTS:
        assert re.search(rf"  runs/{name}/\w+\.parquet\n", withheld)
    for name, run in runs.items():
        assert (
            f"<title>Audit of {json.loads((run / 'results.json').read_text())['models'][0]['name']}"
            in files[f"runs/{name}/report.html"].decode()
        )
        tables = {path.name for path in (run / "tables").iterdir()} - {"cases.csv"}  # it has the texts of scenarios
        assert tables == {file.rsplit("/", 1)[1] for file in files if file.startswith(f"runs/{name}/tables/")}


def test_with_texts_everything_is_copied_byte_by_byte(runs: dict[str, Path], tmp_path: Path) -> None:
    bundle = geobias.write_evidence(runs["names"], tmp_path / "evidence", with_texts=True)
    copies, originals = list_bytes(bundle / "runs/names"), list_bytes(runs["names"])
    assert {name: content for name, content in copies.items() if name != "run.json"} == {
        name: content for name, content in originals.items() if name != "run.json"
    }
    assert not (bundle / "WITHHELD.sha256").exists() and geobias.verify_evidence(bundle) == []


def test_the_command_writes_what_reviewers_need(run: Run, runs: dict[str, Path], tmp_path: Path) -> None:
    Path("rules.toml").write_text('rules = ["names.findings.clear <= 0"]\n')
    code, out, err = run("evidence", runs["names"], runs["names"], "--out", "bundle.zip", "--rules", "rules.toml")
    assert code == 0 and not err and out.startswith("Evidence: bundle.zip (without texts)\nSHA-256 of its manifest: ")
    with zipfile.ZipFile("bundle.zip") as archive:
        archive.extractall("bundle")
    bundle = Path("bundle")
    names = {path.relative_to(bundle).as_posix() for path in bundle.glob("*")}
    assert names == {
        *("README.md", "DATA.md", "NOT-TESTED.md", "SIGN-OFF.md", "MANIFEST.sha256", "WITHHELD.sha256"),
        *("versions.json", "rules", "runs"),
    }
    assert [path.name for path in (bundle / "runs").iterdir()] == ["names"]  # given twice, there once
    readme = (bundle / "README.md").read_text(encoding="utf-8")
    assert "is no certificate" in readme and "rules failed" in readme and "made from Python" in readme
    assert "Nothing here shows whether the rules were set before" in readme
    not_tested = (bundle / "NOT-TESTED.md").read_text(encoding="utf-8")
    assert "- regions: " in not_tested and "- names: " not in not_tested and "gender, age, religion" in not_tested
    data = (bundle / "DATA.md").read_text(encoding="utf-8")
    assert "16 texts from" in data and "CheckList" not in data and "not known to geobias" in data
    versions = json.loads((bundle / "versions.json").read_text())
    assert versions["runs"]["names"]["versions"]["geobias"] == geobias.__version__
    gate = json.loads((bundle / "rules/gate.json").read_text())
    assert gate["passed"] is False and gate["judgements"][0]["run"] == "names"
    code, out, _ = run("evidence", "--check", "bundle")
    assert code == 0 and out.startswith("Unchanged.")
    assert subprocess.run(["sha256sum", "--check", "--quiet", "MANIFEST.sha256"], cwd=bundle).returncode == 0


def test_the_licence_of_bundled_models_is_named(runs: dict[str, Path], tmp_path: Path) -> None:
    copy = tmp_path / "run"
    copy.mkdir()
    for name in ("run.json", "results.json"):
        content: Any = read_json(runs["names"] / name)
        content = json.loads(json.dumps(content).replace(content["models"][0]["name"], "embedded/sentiment"))
        write_json(copy / name, content | ({"files": []} if name == "run.json" else {}))
    sign_results(copy)
    bundle = geobias.write_evidence(copy, tmp_path / "evidence")
    assert "licence CC BY-SA 4.0" in (bundle / "DATA.md").read_text(encoding="utf-8")


def test_every_field_of_texts_is_emptied_in_its_form() -> None:
    content = {"findings": [{"examples": [{"original": "a"}], "p": 1}], "spans": {"examples": {"why": ["God"]}}}
    assert leave_out_texts(content) == {"findings": [{"examples": [], "p": 1}], "spans": {"examples": {}}}
    assert leave_out_texts({"cases": [{"case": "7", "text": "a"}], "text": 3}) == {
        "cases": [{"case": "7", "text": ""}],
        "text": 3,
    }


def test_a_table_of_sentences_is_a_table_of_texts(tmp_path: Path) -> None:
    (tmp_path / "corpus.csv").write_text("word,sentence\nkind,A secret.\n")
    assert not is_free_of_texts(tmp_path / "corpus.csv")


def copy_of(run: Path, target: Path) -> Path:
    return Path(shutil.copytree(run, target))


@pytest.mark.parametrize("name", ["../secret.csv", "/etc/hostname", "tables/../../secret.csv", "..", 7])
def test_a_run_that_names_files_outside_is_refused(run: Run, runs: dict[str, Path], name: Any) -> None:
    Path("secret.csv").write_text("country\nFR\n")
    folder = copy_of(runs["names"], Path("copy"))
    write_json(folder / "run.json", {**read_json(folder / "run.json"), "files": [name]})
    code, out, err = run("evidence", "copy", "--out", "new")
    assert code == 2 and not out and err.count("\n") == 1 and f"names {name!r}, which is no file of the run" in err
    assert not Path("new").exists()


@posix_only
@pytest.mark.parametrize("name", ["tables/effects.csv", "tables", "results.json", "report.html"])
def test_links_in_a_run_are_refused(run: Run, runs: dict[str, Path], name: str) -> None:
    folder = copy_of(runs["names"], Path("copy"))
    (folder / name).rename("elsewhere")
    (folder / name).symlink_to(Path("elsewhere").resolve())
    files = [*read_json(folder / "run.json")["files"], "tables"]
    write_json(folder / "run.json", {**read_json(folder / "run.json"), "files": files})
    code, out, err = run("evidence", "copy", "--out", "new")
    assert code == 2 and not out and err.count("\n") == 1 and "is a link" in err and not Path("new").exists()


def test_the_data_statement_names_scenarios(runs: dict[str, Path]) -> None:
    decisions = read_run(runs["decide"])
    digest = decisions.result.settings.scenarios.digest
    data = render_data_statement({"decide": decisions})
    assert f"- decide: 6 scenarios from given in Python, digest {digest}\n" in data and "no texts" not in data
    empty = SimpleNamespace(audit="regions", settings=SimpleNamespace())
    assert "no texts" in next(list_texts("regions", empty))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("RUN", "--out", "taken"), "taken is not empty. Choose another --out"),
        (("RUN", "--out", "taken/file.txt"), "is a file"),
        (("RUN", "--out", "taken/old.zip"), "old.zip exists. Choose another --out"),
        (("RUN",), "Give the folders of finished runs and --out"),
        (("nowhere", "--out", "new"), "nowhere has no finished run"),
        (("RUN", "--check", "taken"), "--check takes a bundle alone"),
        (("RUN", "--out", "new", "--rules", "absent.toml"), "absent.toml does not exist"),
        (("RUN", "--out", "new", "--rules", "wrong.toml"), "'regions' is unknown"),
    ],
)
def test_bad_input_is_one_line_and_nothing_is_written(
    run: Run, runs: dict[str, Path], arguments: tuple[str, ...], message: str
) -> None:
    Path("taken").mkdir()
    for name in ("file.txt", "old.zip"):
        Path("taken", name).write_text("mine")
    Path("wrong.toml").write_text('rules = ["regions.findings.clear <= 0"]')
    before = list_bytes(Path())
    code, out, err = run("evidence", *(str(runs["names"]) if each == "RUN" else each for each in arguments))
    assert code == 2 and not out and message in err and err.count("\n") == 1
    assert list_bytes(Path()) == before
