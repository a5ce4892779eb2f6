"""Help in groups, shell completion, and `geobias report --open` without a run's name."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import webbrowser
from pathlib import Path

import pytest

from geobias.cli import list_commands
from tests.conftest import Run

LIGHT = """
import sys
from geobias import cli
sys.argv = {arguments!r}
try:
    cli.main()
except SystemExit as stopped:
    assert stopped.code == {code}, stopped.code
heavy = {{"torch", "transformers", "pandas", "scipy", "pyarrow", "numpy", "altair"}} & set(sys.modules)
assert not heavy, heavy
"""


def write_run(folder: Path, finished: str, page: str = "<html></html>") -> None:
    folder.mkdir(parents=True)
    (folder / "run.json").write_text(json.dumps({"schema_version": 2, "finished": finished}), encoding="utf-8")
    (folder / "report.html").write_text(page, encoding="utf-8")


def test_commands_and_options_are_in_groups(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    code, out, _ = run("--help")
    groups = [line.split("─")[1].strip() for line in out.splitlines() if line.startswith("╭")]
    assert code == 0 and groups == ["Options", "Audits", "Finished runs", "Papers", "Other"]
    assert "Start with `geobias audit`" in out and "--install-completion" in out
    code, out, _ = run("audit", "--help")
    groups = [line.split("─")[1].strip() for line in out.splitlines() if line.startswith("╭")]
    assert code == 0 and sorted(groups) == sorted(["Arguments", "Options", "Input", "Model", "Compute", "Output"])
    assert "│ --texts" in out and "\n of other countries" not in out  # paragraphs are not broken where the source is


def test_help_of_every_command_imports_nothing_heavy() -> None:
    """One after the other in one process: it answers in half a second."""
    names = ["--help", *(f"{name} --help" for commands in list_commands().values() for name in commands)]
    assert len(names) > 10
    loop = "\n".join(LIGHT.format(arguments=["geobias", *name.split()], code=0) for name in names)
    subprocess.run([sys.executable, "-c", loop], check=True, stdout=subprocess.DEVNULL)


@pytest.mark.parametrize(
    ("shell", "words", "expected"),
    [
        ("bash", {"COMP_WORDS": "geobias do", "COMP_CWORD": "1"}, {"downstream"}),
        ("bash", {"COMP_WORDS": "geobias audit --te", "COMP_CWORD": "2"}, {"--texts"}),
        ("zsh", {"_TYPER_COMPLETE_ARGS": "geobias repor"}, {"report"}),
        ("fish", {"_TYPER_COMPLETE_ARGS": "geobias repor", "_TYPER_COMPLETE_FISH_ACTION": "get-args"}, {"report"}),
    ],
)
def test_shells_complete_commands_and_options(shell: str, words: dict[str, str], expected: set[str]) -> None:
    environment = os.environ | {"_GEOBIAS_COMPLETE": f"complete_{shell}"} | words
    command = [sys.executable, "-m", "geobias.cli"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert all(name in done.stdout for name in expected) and "regions" not in done.stdout


def test_the_latest_run_is_opened_without_heavy_imports(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code, out, err = run("report", "--open")
    assert code == 2 and out == "" and err.count("\n") == 1 and "There is no finished run in runs/" in err
    Path("runs/unfinished").mkdir(parents=True)
    write_run(Path("runs/b-first"), "2026-01-01T10:00:00Z")
    write_run(Path("runs/a-second"), "2026-01-02T10:00:00Z")
    opened: list[str] = []

    def open_address(address: str) -> bool:
        opened.append(address)
        return True

    monkeypatch.setattr(webbrowser, "open", open_address)
    code, out, _ = run("report", "--open")
    assert code == 0 and out == "Opened runs/a-second/report.html\n" and opened[0].endswith("runs/a-second/report.html")
    several = Path("runs/0-several")
    write_run(several / "names", "2026-01-03T10:00:00Z")
    (several / "report.html").touch()
    (several / "index.json").write_text(json.dumps({"schema_version": 2, "runs": [{"path": "names"}]}))
    assert run("report", "--open")[1] == "Opened runs/0-several/report.html\n"
    code_lines = LIGHT.format(arguments=["geobias", "report", "--open"], code=0)
    fake_browser = "import webbrowser; webbrowser.open = lambda address: True\n"
    subprocess.run([sys.executable, "-c", fake_browser + code_lines], check=True, stdout=subprocess.DEVNULL)
