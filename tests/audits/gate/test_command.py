"""`geobias gate` as a user types it: exit codes, the table, JUnit XML, JSON and TOML."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from geobias.report.results import to_json
from geobias.report.runs import RunDescription
from geobias.testing import assert_gate
from tests.audits.gate.results import names_result, regions_result
from tests.conftest import Run

HOLDS, FAILS = "names.sentiment.delta.worst < 3", "names.sentiment.delta.worst < 2.0"


@pytest.fixture
def folders(tmp_path: Path) -> Path:
    """Finished runs in the folders "names" and "regions"."""
    for result in (names_result(), regions_result()):
        folder = tmp_path / result.audit
        folder.mkdir()
        (folder / "results.json").write_text(json.dumps(result.to_dict()))
        (folder / "run.json").write_text(json.dumps(to_json(RunDescription("2026-01-01T00:00:00Z", 1.0, {}, {}))))
    return tmp_path


def test_exit_codes(run: Run, folders: Path) -> None:
    code, out, err = run("gate", "names", "--rule", HOLDS)
    assert code == 0 and "all 1 passed" in out and not err
    for shown in (HOLDS, "1.5", "0.2 to 2.9", "2.9", "passed"):
        assert shown in out
    code, out, err = run(
        "gate", "names", "regions", "--rule", FAILS, "--rule", HOLDS, "--rule", "regions.NA.c_w.balanced < 1"
    )
    assert code == 1 and "1 of 3 FAILED" in out and not err
    assert "the high end of its interval, 2.9, is not < 2.0" in " ".join(out.split())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("names", "--rule", HOLDS, "--rule", "names.sentment.delta.worst < 1"), "Did you mean names.sentiment"),
        (("names", "--rule", "regions.Earth.c_w.balanced < 1"), "'regions' is unknown"),
        (("names", "--rule", "delta = 3"), "must be PATH OP NUMBER"),
        (("names",), "No rule."),
        (("names", "--rules", "absent.toml"), "absent.toml does not exist"),
        (("nowhere", "--rule", HOLDS), "has no finished run"),
    ],
)
def test_bad_input_is_one_line_and_nothing_is_written(
    run: Run, folders: Path, arguments: tuple[str, ...], message: str
) -> None:
    code, out, err = run("gate", *arguments, "--junit", "gate.xml")
    assert code == 2 and not out and message in err and err.count("\n") == 1
    assert not Path("gate.xml").exists()


def test_toml_junit_and_json(run: Run, folders: Path) -> None:
    Path("gate.toml").write_text(
        f"rules = ['{HOLDS}']\n[[rule]]\npath = 'names.sentiment.delta.worst'\nop = '<'\nvalue = 2\n"
        'reason = "agreed <in> May \\u0007"\n'
    )
    code, out, _ = run("gate", "names", "--rules", "gate.toml", "--junit", "gate.xml", "--json")
    assert code == 1
    said = json.loads(out)
    assert said["passed"] is False and [judged["passed"] for judged in said["judgements"]] == [True, False]
    assert said["judgements"][1]["bound"] == 2.9 and said["judgements"][1]["reason"].startswith("agreed")
    suite = ElementTree.parse("gate.xml").getroot()[0]
    assert (suite.get("tests"), suite.get("failures")) == ("2", "1")
    first, second = suite.findall("testcase")
    assert first.get("name") == "names.sentiment.delta.worst < 3.0" and first.find("failure") is None
    failure = second.find("failure")
    assert failure is not None and "agreed <in> May" in str(failure.get("message"))


def test_the_helper_reads_folders(run: Run, folders: Path) -> None:
    assert_gate("names", HOLDS)
    with pytest.raises(AssertionError, match="1 of 1 FAILED"):
        assert_gate(folders / "names", FAILS)
