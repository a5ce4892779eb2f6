"""The pytest plugin in a project of its own: marker, fixture, messages, and what it costs a project without gates."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

import pytest

from tests.audits.gate.results import names_result, save_run

pytest_plugins = ["pytester"]
HOLDS, FAILS = "names.sentiment.delta.worst < 3", "names.sentiment.delta.worst < 2.0"
IS_INSTALLED = any(point.value == "geobias.pytest_plugin" for point in entry_points(group="pytest11"))
OPTIONS = ["-p", "no:cacheprovider", "--strict-markers", *([] if IS_INSTALLED else ["-p", "geobias.pytest_plugin"])]


@pytest.fixture
def project(pytester: pytest.Pytester) -> pytest.Pytester:
    """A project with a finished run in runs/names, and a folder of tests from which pytest is started."""
    save_run(pytester.path / "runs/names", names_result())
    (pytester.path / "gate.toml").write_text(f'rules = ["{FAILS}"]\n')
    pytester.makeini("[pytest]\n")
    return pytester


def run_tests(project: pytest.Pytester, code: str, *options: str) -> pytest.RunResult:
    project.makepyfile(f"import pytest\n{code}")
    return project.runpytest_inprocess(*OPTIONS, *options)


def test_the_marker_checks_a_run_before_the_test(project: pytest.Pytester) -> None:
    result = run_tests(
        project,
        f"""
@pytest.mark.geobias_gate(run="runs/names", rules=["{HOLDS}"])
def test_holds():
    print("BODY 1")

@pytest.mark.geobias_gate("runs/names", "{FAILS}")
def test_fails():
    print("BODY 2")

@pytest.mark.geobias_gate(run="runs/names", rules="gate.toml")
def test_file():
    pass
""",
        "-s",
    )
    result.assert_outcomes(passed=1, failed=2)
    text = result.stdout.str()
    assert "BODY 1" in text and "BODY 2" not in text
    assert text.count("the high end of its interval, 2.9, is not < 2.0") >= 2


def test_the_fixture_checks_results_and_takes_the_rules_of_the_marker(project: pytest.Pytester) -> None:
    result = run_tests(
        project,
        f"""
from tests.audits.gate.results import names_result

def test_holds(geobias_gate):
    geobias_gate(names_result(), "{HOLDS}")
    geobias_gate("runs/names", "{HOLDS}")

@pytest.mark.geobias_gate(rules=["{FAILS}"])
def test_rules_of_the_marker(geobias_gate):
    geobias_gate(names_result())
""",
        "--junit-xml=out.xml",
    )
    result.assert_outcomes(passed=1, failed=1)
    xml = (project.path / "out.xml").read_text()
    assert "geobias: names.sentiment.delta.worst &lt; 3.0" in xml and "failed: the high end" in xml


@pytest.mark.parametrize(
    ("marker", "message"),
    [
        ('run="nowhere", rules="findings.clear <= 0"', "nowhere has no finished run"),
        ('run="runs/names"', "No rule."),
        ('run="runs/names", rules=["delta = 3"]', "must be PATH OP NUMBER"),
        ('run="runs/names", rules="absent.toml"', "absent.toml does not exist"),
        ('run="runs/names", rule="findings.clear <= 0"', "takes run and rules"),
    ],
)
def test_bad_input_fails_the_test_with_one_line(project: pytest.Pytester, marker: str, message: str) -> None:
    result = run_tests(project, f"@pytest.mark.geobias_gate({marker})\ndef test_it():\n    pass\n")
    result.assert_outcomes(failed=1)
    output = result.stdout.str()
    assert message in output and "Traceback" not in output and "During handling" not in output


def test_a_project_without_gates_pays_nothing(tmp_path: Path) -> None:
    code = "import sys, geobias.pytest_plugin; print([m for m in ('numpy', 'torch', 'pandas') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert done.stdout.strip() == "[]"
