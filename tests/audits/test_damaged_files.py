"""Files of finished runs that were damaged: whoever reads them ends with an input error that names the file."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from geobias.audits.pages import read_runs
from geobias.audits.reports import list_gate_numbers
from geobias.report.gate_numbers import ANY_NUMBER
from tests.conftest import Run, sign_results
from tests.finished_runs import AUDITS

RULE = "findings.clear <= 0"


@pytest.fixture
def copy(finished_run: Callable[[str], Path], tmp_path: Path) -> Callable[[str], Path]:
    return lambda audit: Path(shutil.copytree(finished_run(audit), tmp_path / "run", dirs_exist_ok=True))


def edit(folder: Path, change: Callable[[dict[str, Any]], object], file: str = "results.json") -> None:
    content = json.loads((folder / file).read_text(encoding="utf-8"))
    change(content)
    (folder / file).write_text(json.dumps(content), encoding="utf-8")
    sign_results(folder)


@pytest.mark.parametrize("value", ["[" * 100_000, "1e400", "NaN", '"\\ud800"'])
@pytest.mark.parametrize("file", ["results.json", "run.json"])
def test_what_json_can_hold_and_geobias_never_writes(
    run: Run, copy: Callable[[str], Path], file: str, value: str
) -> None:
    folder = copy("names")
    edit(folder, lambda content: content.update(versions="@"), file)
    (folder / file).write_text((folder / file).read_text().replace('"@"', value))
    if file == "results.json":
        sign_results(folder)
    for command in (("gate", folder, "--rule", RULE), ("report", folder), ("export", folder)):
        code, out, err = run(*command)
        assert code == 2 and not out and f"run/{file} is damaged" in err and err.count("\n") == 1


@pytest.mark.parametrize(
    "changes",
    [{"command": "geobias names 'unclosed"}, {"finished": "yesterday"}, {"finished": "2026-01-01"}, {"fast": 3}],
)
def test_a_damaged_description(run: Run, copy: Callable[[str], Path], changes: dict[str, Any]) -> None:
    folder = copy("names")
    edit(folder, lambda content: content.update(changes), "run.json")
    for command in (("export", folder), ("evidence", folder, "--out", "new"), ("gate", folder, "--rule", RULE)):
        code, out, err = run(*command)
        assert code == 2 and not out and "run/run.json is damaged" in err
    assert not Path("new").exists()


@pytest.mark.parametrize(
    "runs_listed", [None, 3, "names", {"path": "names"}, ["names"], [{}], [{"path": 3}], [{"path": "a\0"}]]
)
def test_a_damaged_index(run: Run, copy: Callable[[str], Path], runs_listed: Any) -> None:
    check_index(run, copy, runs_listed)


@pytest.mark.parametrize("path", ["../names", "../..", "/tmp", "names/../../names", "..\\names", ".", ""])
def test_an_index_never_leads_out_of_its_folder(run: Run, copy: Callable[[str], Path], path: str) -> None:
    check_index(run, copy, [{"path": path}])


def check_index(run: Run, copy: Callable[[str], Path], listed: Any) -> None:
    copy("names").rename("names")
    Path("runs/several").mkdir(parents=True)
    Path("runs/several/index.json").write_text(json.dumps({"schema_version": 2, "runs": listed}))
    commands: list[Sequence[str]] = [
        ("gate", "runs/several", "--rule", RULE),
        ("report", "runs/several"),
        ("report", "--open"),
    ]
    for command in [*commands, ("evidence", "runs/several", "--out", "new"), ("compare", "runs/several", "names")]:
        code, out, err = run(*command)
        assert code == 2 and not out and "runs/several/index.json is damaged" in err, command


@pytest.mark.parametrize("audit", AUDITS)
def test_every_number_of_a_gate_has_a_range_that_holds_it(audit: str, finished_run: Callable[[str], Path]) -> None:
    """A share is between 0 and 1: a rule that it is at most 1 would test nothing."""
    (finished,) = read_runs(finished_run(audit))
    numbers = list_gate_numbers(finished.result)
    assert numbers
    for each in numbers:
        value, (lowest, highest) = each.number.value, each.number.within
        assert each.number.within != ANY_NUMBER, each.path
        assert value is None or lowest <= value <= highest, each.path
