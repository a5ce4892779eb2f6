"""Scorers, finders and audits of other packages: the packages in examples/, installed by pip, used by their names."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

import geobias
from geobias import extensions
from geobias.audits.registry import list_external_audits
from geobias.models.finders import load_entity_finder

PROJECT = Path(__file__).parents[1]
EXAMPLES = PROJECT / "examples"
SHORT = ("--limit", "6", "--quiet")


@pytest.fixture
def declare(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[EntryPoint]]:
    """Entry points as if packages were installed; the test appends to the list."""
    points: list[EntryPoint] = []
    monkeypatch.setattr(extensions, "entry_points", lambda group: [p for p in points if p.group == group])
    extensions.list_extensions.cache_clear()
    yield points
    extensions.list_extensions.cache_clear()


@pytest.fixture
def own_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    judge = "def judge(texts):\n    return [{'good': 0.5, 'bad': 0.5} for _ in texts]\n"
    find = "def find(texts):\n    return [[(0, 4)] for _ in texts]\n"
    (tmp_path / "other_package.py").write_text(judge + find)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)


def test_names_stand_for_functions(declare: list[EntryPoint], own_module: None) -> None:
    declare += [
        EntryPoint("tone", "other_package:judge", extensions.SCORERS),
        EntryPoint("firsts", "other_package:find", extensions.FINDERS),
    ]
    classifier = geobias.load_classifier("tone")
    assert classifier.name == "tone" and set(classifier.labels) == {"good", "bad"}
    finder = load_entity_finder("firsts")
    assert finder.name == "firsts" and finder.find(["Mary was here."])[0][0].span == (0, 4)


def test_a_file_of_the_same_name_comes_first(declare: list[EntryPoint], own_module: None) -> None:
    declare.append(EntryPoint("tone", "other_package:judge", extensions.SCORERS))
    Path("tone").mkdir()
    with pytest.raises(geobias.InputError, match=r"The folder tone has no model: config\.json is missing"):
        geobias.load_classifier("tone")


def test_what_cannot_be_used_is_one_line(declare: list[EntryPoint], own_module: None) -> None:
    declare.append(EntryPoint("absent", "no_such_package:score", extensions.SCORERS))
    with pytest.raises(geobias.InputError, match="There is no module 'no_such_package'"):
        geobias.load_classifier("absent")


def test_rows_of_audits(declare: list[EntryPoint], caplog: pytest.LogCaptureFixture) -> None:
    declare += [
        EntryPoint("letters", "tests.audits.letters.result:LettersResult", extensions.AUDITS),
        EntryPoint("names", "other.result:NamesResult", extensions.AUDITS),
    ]
    (row,) = list_external_audits(["names"])
    assert row.result_type.__name__ == "LettersResult" and callable(row.load("findings", "list_findings"))
    assert row.find("compare", "compare_runs") is None
    assert "declares an audit 'names', which geobias has already" in caplog.text


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the example packages, installed by pip."""
    folder = tmp_path_factory.mktemp("site")
    options = ["--quiet", "--no-deps", "--no-build-isolation", "--no-index", "--disable-pip-version-check"]
    packages = [str(EXAMPLES / name) for name in ("scorer", "finder", "audit")]
    pip = [sys.executable, "-m", "pip", "install", *options, "--target", str(folder), *packages]
    subprocess.run(pip, check=True, capture_output=True)
    return folder


def use(installed: Path, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """A command in a process of its own, with the packages on its path."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(installed), *sys.path])}
    command = [sys.executable, "-m", "geobias.cli", *arguments]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_the_example_packages_work_like_bundled_names(installed: Path, tmp_path: Path) -> None:
    done = use(installed, tmp_path, "downstream", "shouting", "--countries", "IE,MX", *SHORT, "--out", "d")
    assert done.returncode == 0, done.stderr
    assert json.loads((tmp_path / "d/results.json").read_text())["models"][0]["name"] == "shouting"
    done = use(installed, tmp_path, "find", "capitals", "--countries", "FR,GB", "--draws", "1", *SHORT, "--out", "f")
    assert done.returncode == 0, done.stderr
    done = use(installed, tmp_path, "spelling", "France", "Chad", "--out", "s")
    assert done.returncode == 0 and "France is the longest name." in done.stdout and not done.stderr
    assert "This run audited 2 countries." in (tmp_path / "s/report.html").read_text(encoding="utf-8")
    done = use(installed, tmp_path, "evidence", "s", "--out", "evidence")
    assert done.returncode == 0 and (tmp_path / "evidence/runs/s/report.html").is_file(), done.stderr


def declare_audit(folder: Path, package: str, audit: str) -> None:
    info = folder / f"{package}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[geobias.audits]\n{audit} = {package}:Result\n")


def test_audits_that_cannot_be_used_do_not_break_the_others(tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text("import no_such_module\n")
    (tmp_path / "mine.py").write_text("def export() -> None:\n    print('mine')\n")
    for package, audit in {"broken": "broken", "mine": "export"}.items():
        declare_audit(tmp_path, package, audit)
    done = use(tmp_path, tmp_path, "--version")
    assert done.returncode == 0 and done.stdout == f"geobias {geobias.__version__}\n"
    assert sorted(done.stderr.splitlines(), key=str.casefold) == [
        "geobias: The audit 'broken' of another package cannot be loaded: No module named 'no_such_module'",
        "geobias: The audit 'export' of another package cannot be loaded: geobias has a command of this name",
    ]
    done = use(tmp_path, tmp_path, "export", "nowhere")
    assert done.returncode == 2 and "nowhere has no finished run" in done.stderr and not done.stdout


def test_the_examples_are_documented() -> None:
    page = (PROJECT / "docs/extending.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"`examples/scorer/pyproject.toml`:\n\n```toml\n(.*?)```", page, re.DOTALL)
    assert block.strip() in (EXAMPLES / "scorer/pyproject.toml").read_text(encoding="utf-8")
