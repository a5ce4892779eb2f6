"""action.yml: its form, and its shell steps run as GitHub runs them, with `gh` replaced by a recorder."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml

from geobias import cli
from tests.audits.gate.results import names_result, save_run
from tests.conftest import posix_only

PROJECT = Path(__file__).parents[1]
ACTION: Any = yaml.safe_load((PROJECT / "action.yml").read_text(encoding="utf-8"))
STEPS: list[dict[str, Any]] = ACTION["runs"]["steps"]
COMMAND = "geobias regions mine:likely --cities 0 --countries FR,DE,NG,KE --words words.txt --out runs/mine"
# What `gh` answers: who asks, then the authors and numbers of all comments that begin with the mark.
GH = """case "$*" in *graphql*) echo me[bot];; *--jq*) printf '%s\\n' 'else 5' 'me 6' 'me[bot] 7' 'me[bot] 8';; esac"""
MODULE = "def likely(texts):\n    return [-len(text) / 8 - sum(text.encode()) % 7 for text in texts]\n"


def test_the_form_of_a_composite_action() -> None:
    assert ACTION["name"] and ACTION["description"] and ACTION["runs"]["using"] == "composite"
    for step in STEPS:
        assert ("run" in step) != ("uses" in step)
        assert step.get("shell") == "bash" if "run" in step else step["uses"].startswith("actions/")
    text = (PROJECT / "action.yml").read_text(encoding="utf-8")
    assert set(re.findall(r"inputs\.([\w-]+)", text)) == set(ACTION["inputs"])
    scripts = "".join(step.get("run", "") for step in STEPS)
    assert "${{" not in scripts  # inputs reach scripts as variables: they cannot add code to them
    ids = {step["id"] for step in STEPS if "id" in step}
    assert set(re.findall(r"steps\.(\w+)\.", text)) <= ids


def test_every_command_parses() -> None:
    lines = [line.strip() for step in STEPS for line in step.get("run", "").splitlines()]
    commands = [match[1] for line in lines for match in re.finditer(r"(?:^|do )geobias ([^|;>]+)", line)]
    assert sorted(command.split()[0] for command in commands) == ["evidence", "export", "gate"]
    app: Any = typer.main.get_command(cli.make_app())
    for command in commands:
        words = [re.sub(r'^"\$.*', "value", word) for word in command.split()]
        app.commands[words[0]].make_context(words[0], words[1:])


def test_the_documentation_names_every_input() -> None:
    page = (PROJECT / "docs/gate.md").read_text(encoding="utf-8")
    assert set(re.findall(r"^\| `([\w-]+)` \| .+ \| .+ \|$", page, re.MULTILINE)) >= set(ACTION["inputs"])
    (workflow,) = (
        yaml.safe_load(block)
        for block in re.findall(r"^```yaml\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
        if "OWNER/geobias" in block
    )
    (step,) = (step for step in workflow["jobs"]["gate"]["steps"] if "geobias" in step["uses"])
    required = {name for name, each in ACTION["inputs"].items() if each.get("required")}
    assert required <= set(step["with"]) <= set(ACTION["inputs"])


@posix_only
@pytest.mark.slow
def test_the_steps_run(tmp_path: Path) -> None:
    programs = {
        "geobias": f'exec "{sys.executable}" -c "import sys; sys.argv[0] = \'geobias\'; from geobias.cli import main; '
        'main()" "$@"',
        "gh": f'echo "$@" >> "{tmp_path}/gh.txt"; {GH}',
    }
    write_programs(tmp_path, programs)
    (tmp_path / "mine.py").write_text(MODULE)
    (tmp_path / "words.txt").write_text("kind\nhonest\nlazy\nloyal\n")
    values = {f"inputs.{name}": str(each.get("default", "")) for name, each in ACTION["inputs"].items()}
    values |= {"inputs.command": COMMAND, "inputs.run": "runs/mine\n", "inputs.token": "t"}
    values["inputs.rule"] = "findings.clear.moderate <= 0\nregions.Earth.c_w.balanced > 3\n"
    values |= {"runner.temp": f"{tmp_path}/temp", "github.repository": "me/mine"}
    values |= {"github.event.pull_request.number": "3", "steps.gate.outputs.passed": "false"}

    steps = [step for step in STEPS if "run" in step and step["name"] != "Install"]
    assert [run_step(step, values, tmp_path).returncode for step in steps] == [0, 0, 0, 0, 1]
    assert (tmp_path / "output").read_text() == "passed=false\n"
    summary = (tmp_path / "summary").read_text(encoding="utf-8")
    assert summary.startswith("<!-- geobias -->\n**Gate: a rule does not hold.**")
    assert "1 of 2 FAILED" in summary
    assert "## Bias by place and nationality" in summary
    assert (tmp_path / "temp/geobias/evidence/runs/mine/report.html").is_file()
    uploads = [step["with"]["path"] for step in STEPS if step.get("uses", "").startswith("actions/upload-artifact")]
    for path in uploads[0].replace("${{ runner.temp }}", values["runner.temp"]).split():
        assert Path(path).exists()
    assert "1 of 2 FAILED" in (tmp_path / "temp/geobias/gate.txt").read_text(encoding="utf-8")
    assert "gate.txt" in uploads[0] and "gate.xml" in uploads[0]
    readme = (tmp_path / "temp/geobias/evidence/README.md").read_text(encoding="utf-8")
    assert "No file of rules was given to `geobias evidence`." in readme
    calls = (tmp_path / "gh.txt").read_text()
    assert calls.count("--method") == 1 and "--method PATCH repos/me/mine/issues/comments/7 " in calls

    save_run(tmp_path / "runs/names", names_result())
    gate, evidence, last = steps[1], steps[2], steps[-1]
    values |= {"inputs.run": "runs/names", "inputs.rule": "\nnames.sentiment.delta.worst < 3\n"}
    assert run_step(gate, values, tmp_path).returncode == 0
    assert (tmp_path / "output").read_text().endswith("passed=true\n")
    second = values | {"inputs.run": "runs/mine"}
    assert run_step(evidence, second, tmp_path).returncode == 0  # a second use in one job
    assert run_step(last, values | {"steps.gate.outputs.passed": "true"}, tmp_path).returncode == 0
    done = run_step(gate, values | {"inputs.run": "nowhere"}, tmp_path)
    assert done.returncode == 2 and "nowhere has no finished run" in done.stderr


@posix_only
@pytest.mark.parametrize(
    ("author", "call"),
    [("me[bot]", "PATCH repos/me/mine/issues/comments/7"), ("new", "POST repos/me/mine/issues/3/comments")],
)
def test_only_an_own_comment_is_replaced(tmp_path: Path, author: str, call: str) -> None:
    write_programs(tmp_path, {"gh": f'echo "$@" >> "{tmp_path}/gh.txt"; {GH}'.replace("me[bot];", f"{author};")})
    values = {"inputs.token": "t", "runner.temp": str(tmp_path), "github.repository": "me/mine"}
    (step,) = (step for step in STEPS if "Comment" in step.get("name", ""))
    assert run_step(step, values | {"github.event.pull_request.number": "3"}, tmp_path).returncode == 0
    calls = (tmp_path / "gh.txt").read_text()
    assert calls.count("--method") == 1 and f"--method {call} " in calls


@posix_only
@pytest.mark.parametrize(("install", "more"), [("", []), ("skops", ["skops"])])
def test_the_version_of_the_action_is_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, install: str, more: list[str]
) -> None:
    monkeypatch.setenv("GITHUB_ACTION_PATH", "/own copy")  # as GitHub sets it
    assert ACTION["inputs"]["install"]["default"] == ""
    write_programs(tmp_path, {"pip": f'printf "%s\\n" "$@" > "{tmp_path}/pip.txt"'})
    (step,) = (step for step in STEPS if step.get("name") == "Install")
    assert run_step(step, {"inputs.install": install}, tmp_path).returncode == 0
    assert (tmp_path / "pip.txt").read_text().splitlines() == ["install", "/own copy", *more]


def write_programs(folder: Path, programs: dict[str, str]) -> None:
    """Shell scripts in place of programs, in folder/bin."""
    (folder / "bin").mkdir()
    for name, code in programs.items():
        (folder / "bin" / name).write_text(f"#!/bin/sh\n{code}\n")
        (folder / "bin" / name).chmod(0o755)


def run_step(step: dict[str, Any], values: dict[str, str], folder: Path) -> subprocess.CompletedProcess[str]:
    """A step as GitHub runs it, with these values for its expressions."""
    environment = os.environ | {"PATH": f"{folder}/bin:{os.environ['PATH']}", "PYTHONPATH": os.pathsep.join(sys.path)}
    environment |= {"GITHUB_OUTPUT": f"{folder}/output", "GITHUB_STEP_SUMMARY": f"{folder}/summary"}
    environment |= {
        name: re.sub(r"\$\{\{ ([\w.-]+) \}\}", lambda match: values[match[1]], value)
        for name, value in step["env"].items()
    }
    bash = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]]
    return subprocess.run(bash, cwd=folder, env=environment, capture_output=True, text=True)
