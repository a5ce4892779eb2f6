"""Files of finished runs that were damaged: whoever reads them ends with an input error that names the file."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

import geobias
from geobias.audits.pages import read_runs, reads_runs
from geobias.audits.reports import list_gate_numbers
from geobias.integrations.every_eval_ever import export_run
from geobias.report.number_tree import ANY_NUMBER
from tests.conftest import Run, sign_results
from tests.finished_runs import AUDITS

HUGE = "9" * 400
RULE = "findings.clear <= 0"


@pytest.fixture
def copy(finished_run: Callable[[str], Path], tmp_path: Path) -> Callable[[str], Path]:
    return lambda audit: Path(shutil.copytree(finished_run(audit), tmp_path / "run", dirs_exist_ok=True))


def list_readers(folder: Path, intact: Path, scratch: Path) -> dict[str, Callable[[], object]]:
    @reads_runs
    def read_tables() -> None:
        for run in read_runs(folder):
            run.result.to_frame()
            run.result.summary()

    readers: dict[str, Callable[[], object]] = {
        "gate": lambda: geobias.gate(folder, RULE),
        "page": lambda: geobias.write_report(folder, out=scratch / "page.html"),
        "side by side": lambda: geobias.write_report([folder, intact], out=scratch / "page.html"),
        "card": lambda: geobias.export(folder),
        "metadata": lambda: geobias.export(folder, "model-index"),
        "export": lambda: export_run(folder, scratch / "export"),
        "tables": read_tables,
    }
    if intact.name != "find":
        readers["compare"] = lambda: geobias.compare([folder, intact])
    if not (scratch / "evidence").exists():  # a bundle is never replaced
        readers["evidence"] = lambda: geobias.write_evidence(folder, scratch / "evidence")
    return readers


def list_places(content: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The way to every value of a JSON document, itself left out."""
    entries = content.items() if isinstance(content, dict) else enumerate(content) if isinstance(content, list) else ()
    for key, value in entries:
        yield (*place, key)
        yield from list_places(value, (*place, key))


def damage(content: dict[str, Any], rng: random.Random) -> str:
    """One damage that may befall a file: lost, renamed, repeated, of another type, or not to be read at all."""
    places = list(list_places(content))
    depth = rng.choice(sorted({len(place) for place in places}))  # few values are far up, and all rest on them
    *way, key = rng.choice([place for place in places if len(place) == depth])
    parent: Any = content
    for step in way:
        parent = parent[step]
    value = parent[key]
    kind = rng.choice(["lose", "replace", "replace", "change", "change", "change", "rename", "number", "cut"])
    if kind == "lose":
        del parent[key]
    elif kind == "replace":
        parent[key] = rng.choice([None, [], {}, "", "x'y", -1, 1e308, True, ["x"], {"x": 1}, "2026-13-45", "../.."])
    elif kind == "number":
        parent[key] = "@"
        return json.dumps(content).replace('"@"', rng.choice([HUGE, "1e999", "NaN", "[" * 100_000]))
    elif kind == "rename" and isinstance(value, str):
        return json.dumps(content).replace(json.dumps(value), '"renamed"')
    elif kind == "change" and isinstance(value, list):
        parent[key] = rng.choice([value * 2, value[:-1], value[1:]])
    elif kind == "change" and isinstance(value, float | int):
        parent[key] = rng.choice([-value, 1e6 * value, 0, value + 0.5])
    elif kind == "change":
        parent[key] = f"{value}x"
    text = json.dumps(content)
    return text[: rng.randrange(len(text))] if kind == "cut" else text


@pytest.mark.slow
@pytest.mark.parametrize("audit", AUDITS)
def test_damaged_files_end_in_an_input_error_or_are_read(
    audit: str, finished_run: Callable[[str], Path], copy: Callable[[str], Path], tmp_path: Path
) -> None:
    """Signed again after the damage: the check of the hash would hide what happens without it."""
    refused = 0
    for seed in range(15):
        rng = random.Random(seed)
        folder = copy(audit)
        file = folder / rng.choice(["results.json", "results.json", "results.json", "run.json"])
        file.write_text(damage(json.loads(file.read_text(encoding="utf-8")), rng), encoding="utf-8")
        if file.name == "results.json":
            sign_results(folder)
        readers = list_readers(folder, finished_run(audit), tmp_path)
        for name in rng.sample(sorted(readers), 2):
            try:
                readers[name]()
            except geobias.InputError as error:
                refused += 1
                assert len(str(error)) < 600, (seed, name)
    assert refused > 10


def edit(folder: Path, change: Callable[[dict[str, Any]], object], file: str = "results.json") -> None:
    content = json.loads((folder / file).read_text(encoding="utf-8"))
    change(content)
    (folder / file).write_text(json.dumps(content), encoding="utf-8")
    sign_results(folder)


def rename_label(content: dict[str, Any]) -> None:
    content["classifiers"][0]["shown"] = "renamed"


@pytest.mark.parametrize("change", [rename_label, lambda content: content.update(classifiers=[])])
def test_results_that_only_their_reader_finds_damaged(copy: Callable[[str], Path], tmp_path: Path, change: Any) -> None:
    folder = copy("downstream")
    edit(folder, change)
    for read in (lambda: geobias.write_report(folder, out=tmp_path / "page.html"), lambda: geobias.export(folder)):
        with pytest.raises(
            geobias.InputError, match=r"run/results\.json is damaged \(.+\)\. Run the audit again"
        ) as error:
            read()
        assert error.value.__cause__ is not None  # which --debug shows
    assert not (tmp_path / "page.html").exists()


@pytest.mark.parametrize("value", [HUGE, "1" + "0" * 5000, "[" * 100_000, "1e400", "NaN", '"\\ud800"'])
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


@pytest.mark.slow
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
