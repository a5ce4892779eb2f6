"""`geobias gate` as a user types it: exit codes, the table, JUnit XML, JSON and TOML."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.audits.gate.results import names_result, regions_result, save_run
from tests.conftest import Run, sign_results

HOLDS, FAILS = "names.sentiment.delta.worst < 3", "names.sentiment.delta.worst < 2.0"


@pytest.fixture
def folders(tmp_path: Path) -> Path:
    """Finished runs in the folders "names" and "regions"."""
    for result in (names_result(), regions_result()):
        save_run(tmp_path / result.audit, result)
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
        (
            ("names", "--rule", HOLDS, "--rule", "names.sentment.delta.worst < 1"),
            "Did you mean 'names.sentiment.delta.worst < 1.0'",
        ),
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


@pytest.mark.parametrize(
    "index", [{"runs": []}, {}, {"runs": {}}, {"runs": [{"path": "../names"}]}, {"runs": ["names"]}]
)
def test_a_folder_that_lists_no_runs_does_not_pass(run: Run, folders: Path, index: object) -> None:
    (folders / "several").mkdir()
    (folders / "several/index.json").write_text(json.dumps(index))
    for others in ([], ["names"]):
        code, out, err = run("gate", *others, "several", "--rule", HOLDS)
        assert code == 2 and not out and "several/index.json is damaged" in err and err.count("\n") == 1


def test_edited_results_are_refused(run: Run, folders: Path) -> None:
    """A caution of a finding set by hand, the end of an interval set to NaN, a file that was cut off."""
    path = folders / "names/results.json"
    content = path.read_text()
    Path("gate.toml").write_text(f"rules = ['{HOLDS}']")
    for edited in (content.replace("2.9", "1.9"), content.replace("2.9", "NaN"), content[:-20]):
        assert edited != content
        path.write_text(edited)
        for command in (
            ("gate", "names", "--rule", HOLDS),
            ("evidence", "names", "--rules", "gate.toml", "--out", "new"),
        ):
            code, out, err = run(*command)
            assert code == 2 and not out and "names/results.json was changed after the run" in err
        assert not Path("new").exists()
    path.write_text(content)
    assert run("gate", "names", "--rule", HOLDS)[0] == 0


@pytest.mark.parametrize("number", ["NaN", "-Infinity", "1e999"])
def test_no_number_that_geobias_never_writes_is_read(run: Run, folders: Path, number: str) -> None:
    path = folders / "names/results.json"
    path.write_text(path.read_text().replace("2.9", number))
    sign_results(folders / "names")
    code, out, err = run("gate", "names", "--rule", HOLDS)
    assert code == 2 and not out and "results.json is damaged" in err and len(err) < 300


def test_a_run_without_the_hash_of_its_results_is_refused(run: Run, folders: Path) -> None:
    description = json.loads(Path("names/run.json").read_text())
    del description["results_sha256"]
    Path("names/run.json").write_text(json.dumps(description))
    code, _, err = run("gate", "names", "--rule", HOLDS)
    assert code == 2 and "earlier version of geobias. Run the audit again" in err


def test_results_of_another_version_are_named(run: Run, folders: Path) -> None:
    path = folders / "names/results.json"
    content = json.loads(path.read_text())
    path.write_text(json.dumps(content | {"versions": {**content["versions"], "geobias": "0.0.7"}}))
    sign_results(folders / "names")
    code, out, _ = run(
        "gate", "names", "regions", "--rule", HOLDS, "--rule", "regions.NA.c_w.balanced < 1", "--junit", "gate.xml"
    )
    assert code == 0 and "names are of geobias 0.0.7" in " ".join(out.split())
    notes = [case.findtext("system-out") for case in ElementTree.parse("gate.xml").iter("testcase")]
    assert len(notes) == 2 and "0.0.7" in str(notes[0]) and notes[1] is None
    said = json.loads(run("gate", "names", "--rule", HOLDS, "--json")[1])
    assert said["judgements"][0]["written_by"] == "0.0.7"
