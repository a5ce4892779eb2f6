"""Files of the user in a folder that geobias is told to write: none is replaced or deleted."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import geobias
from geobias.errors import InputError
from geobias.report.run_folder import ANSWERS, RECORD, RESERVED, STAGING, RunFolder, add_to_run
from tests.conftest import SCORE_ONLY, Run, posix_only

MINE = "the user's own"
SETTINGS = {"audit": "toy"}
WORDS = ["kind", "honest", "loud"]
COUNTRIES = ["FR", "DE", "NG", "KE"]


def tree(folder: Path) -> dict[str, bytes | str]:
    """Every path below a folder with what it holds; links with where they point."""
    return {
        path.relative_to(folder).as_posix(): os.readlink(path) if path.is_symlink() else path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_symlink() or path.is_file()
    }


def like(texts: list[str]) -> list[float]:
    return [-float(len(text)) for text in texts]


def judge(texts: list[str]) -> list[dict[str, float]]:
    return [{"good": len(text) % 7 / 10, "bad": 1 - len(text) % 7 / 10} for text in texts]


like.fingerprint = judge.fingerprint = "1"  # type: ignore[attr-defined]


def regions(out: Path) -> object:
    return geobias.audit_regions(
        like, cities=0, countries=COUNTRIES, words=WORDS, out=out, placebo=False, paraphrases=0
    )


def names(out: Path) -> object:
    texts = ["Mary was late again.", "Thanks, John!"]
    return geobias.audit_names(judge, texts, countries=["FR", "MA"], draws=2, out=out)


def downstream(out: Path) -> object:
    return geobias.audit_downstream(judge, ["It works.", "It does not."], countries=COUNTRIES, out=out)


@pytest.fixture(params=[regions, names, downstream])
def audit(request: pytest.FixtureRequest) -> Callable[[Path], object]:
    function: Callable[[Path], object] = request.param
    return function


def test_no_file_of_the_user_is_replaced_whatever_its_name(audit: Callable[[Path], object], tmp_path: Path) -> None:
    audit(tmp_path / "run")
    written = [*tree(tmp_path / "run"), *RESERVED, ".partial/data.csv", "training/state.json", "notes.txt"]
    for number, name in enumerate(written):
        folder = tmp_path / f"user-{number}"
        (folder / name).parent.mkdir(parents=True)
        (folder / name).write_text(MINE)
        with pytest.raises(InputError, match=r"not a geobias run|is damaged|several finished|other settings"):
            if name in ("results.json", "tables", "training/state.json", ".partial/data.csv"):
                audit(folder)
            else:  # what every audit calls first, in a fraction of the time
                RunFolder(folder, SETTINGS).check()
        assert tree(folder) == {name: MINE.encode()}


def test_every_file_of_a_run_is_recorded(audit: Callable[[Path], object], tmp_path: Path) -> None:
    audit(tmp_path / "run")
    recorded = json.loads((tmp_path / "run/run.json").read_text())["files"]
    assert sorted([*recorded, "run.json"]) == sorted(tree(tmp_path / "run"))
    assert {Path(name).parts[0] for name in recorded} <= RESERVED


def test_several_runs_below_one_folder(run: Run, small_models: dict[str, Path]) -> None:
    Path("words.txt").write_text("kind\nhonest\nloud\n")
    command = (
        "regions", small_models["bert"], "--cities", "0", "--countries", "FR,DE", "--words", "words.txt", "--score",
        "aul,pll", *SCORE_ONLY, "--out",
    )  # fmt: skip
    assert run(*command, "both")[0] == 0
    before = tree(Path("both"))
    sub_folder = next(path for path in Path("both").iterdir() if path.is_dir()).name
    of_each_kind = {Path(name).suffix: name for name in before}.values()
    for name in (*of_each_kind, f"{sub_folder}/weights.bin", "index.json", "report.html"):
        shutil.rmtree("mine", ignore_errors=True)
        Path("mine", name).parent.mkdir(parents=True)
        Path("mine", name).write_text(MINE)
        code, _, err = run(*command, "mine")
        assert code == 2 and err.count("\n") == 1, (name, err)
        assert tree(Path("mine")) == {name: MINE.encode()}
    Path("both/mine.txt").write_text(MINE)
    assert run(*command, "both")[0] == 0 and Path("both/mine.txt").read_text() == MINE


@pytest.mark.parametrize("name", ["tables", "figures", "results.json", "report.html", "likelihoods.parquet"])
def test_nothing_is_written_through_a_link(name: str, tmp_path: Path) -> None:
    regions(tmp_path / "run")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    for file in ("regions.csv", "content"):
        (elsewhere / file).write_text(MINE)
    path = tmp_path / "run" / name
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
    path.symlink_to(elsewhere if not path.suffix else elsewhere / "content")
    before = tree(elsewhere)
    if path.suffix:  # the link is one of the run's own names: it is replaced, and what it points to stays
        regions(tmp_path / "run")
    else:
        with pytest.raises(InputError, match="is a link to another folder"):
            regions(tmp_path / "run")
    assert tree(elsewhere) == before


def test_what_was_put_into_an_unfinished_run_stays(tmp_path: Path) -> None:
    """The folder is of this run, but a name that it will need was taken meanwhile."""
    for name in ("results.json", "tables/regions.csv", "figures/mine.png", *ANSWERS):
        folder = RunFolder(tmp_path / name.replace("/", "-"), SETTINGS)
        folder.claim()
        (folder.path / name).parent.mkdir(exist_ok=True)
        (folder.path / name).write_text(MINE)
        with pytest.raises(InputError, match="not written by geobias"):
            folder.check()
        assert (folder.path / name).read_text() == MINE


def test_a_file_beside_those_that_are_recorded_is_found_before_anything_moves(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path / "run", SETTINGS)
    with folder.stage() as staging:
        (staging / "tables").mkdir()
        (staging / "tables/one.csv").write_text("1")
        folder.move_in(staging)
        folder.finish({"schema_version": 1, "settings": SETTINGS})
    (folder.path / "tables/two.csv").write_text(MINE)
    before = tree(folder.path)
    with pytest.raises(InputError, match=r"two\.csv exists"), folder.stage() as staging:
        (staging / "tables").mkdir()
        for name in ("one", "two"):
            (staging / f"tables/{name}.csv").write_text("2")
        folder.move_in(staging)
    assert tree(folder.path) == before


@pytest.fixture
def killed_in(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Make the process die, as it seems, at the n-th file that is moved or written whole."""

    def kill(step: int) -> None:
        steps = iter(range(10**6))
        replace = Path.replace

        def fail(path: Path, target: Path) -> Path:
            if next(steps) == step:
                os._exit(9)
            return replace(path, target)

        monkeypatch.setattr(Path, "replace", fail)

    return kill


def save(folder: Path, content: str) -> None:
    run = RunFolder(folder, SETTINGS)
    with run.stage() as staging:
        (staging / "tables").mkdir()
        for name in ("results.json", "tables/one.csv", "tables/two.csv"):
            (staging / name).write_text(content)
        run.move_in(staging)
        (staging / "report.html").write_text(content)
        run.move_in(staging)
        run.finish({"schema_version": 1, "settings": SETTINGS, "content": content})


@posix_only
@pytest.mark.parametrize("before", ["nothing", "a finished run"])
def test_killed_at_any_step_of_saving(before: str, tmp_path: Path, killed_in: Callable[[int], None]) -> None:
    """A finished run is whole; an unfinished one is finished by the next, which leaves nothing behind."""
    step = 0
    while True:
        folder = tmp_path / f"{step}"
        if before != "nothing":
            save(folder, "old")
        child = os.fork()
        if child == 0:
            try:
                killed_in(step)
                save(folder, "new")
            except BaseException:  # else the copy would go on with the tests
                os._exit(1)
            os._exit(0)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        assert code in (0, 9)
        if (folder / "run.json").is_file():
            content = json.loads((folder / "run.json").read_text())["content"]
            files = {(folder / name).read_text() for name in ("results.json", "tables/two.csv", "report.html")}
            assert files == {content}
        save(folder, "again")
        assert set(tree(folder)) == {"run.json", "results.json", "report.html", "tables/one.csv", "tables/two.csv"}
        assert not [path for path in folder.iterdir() if path.name.startswith(STAGING)]
        if code == 0:
            break
        step += 1
    assert step > 8


def test_two_processes_do_not_train_into_one_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("fcntl")
    with RunFolder(tmp_path / "run", SETTINGS).lock():
        other = RunFolder(tmp_path / "run", SETTINGS)
        with pytest.raises(InputError, match="Another process is writing"), other.lock(seconds=0):
            pass
    with other.lock(seconds=0):
        pass

    def refuse(*_: object) -> None:
        raise OSError("no locks here")

    monkeypatch.setattr("geobias.report.run_folder.fcntl.flock", refuse)
    with other.lock(seconds=0), RunFolder(tmp_path / "run", SETTINGS).lock(seconds=0):
        pass


def test_a_run_that_fails_leaves_nothing(tmp_path: Path) -> None:
    run = RunFolder(tmp_path / "run", SETTINGS)
    with pytest.raises(ZeroDivisionError), run.stage() as staging:
        (staging / "results.json").write_text("1")
        _ = 1 / 0
    assert not run.path.exists()
    (tmp_path / "run").mkdir()  # the user's own empty folder stays
    with pytest.raises(ZeroDivisionError), RunFolder(tmp_path / "run", SETTINGS).stage():
        _ = 1 / 0
    assert list((tmp_path / "run").iterdir()) == []


def test_a_page_that_is_added_to_a_finished_run_replaces_nothing_of_the_users(run: Run, tmp_path: Path) -> None:
    regions(tmp_path / "run")
    description = json.loads((tmp_path / "run/run.json").read_text())
    description["files"].remove("report.html")
    (tmp_path / "run/run.json").write_text(json.dumps(description))
    (tmp_path / "run/report.html").write_text(MINE)
    before = tree(tmp_path / "run")
    code, _, err = run("report", "run")
    assert code == 2 and "not written by geobias" in err and tree(tmp_path / "run") == before


def test_open_makes_a_page_that_is_missing(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    regions(tmp_path / "run")
    (tmp_path / "run/report.html").unlink()
    monkeypatch.setattr("webbrowser.open", lambda address: True)
    code, out, _ = run("report", "run", "--open")
    assert code == 0 and out.endswith("Opened run/report.html\n")
    assert (tmp_path / "run/report.html").stat().st_size > 100_000


@pytest.fixture
def finished(tmp_path: Path) -> Iterator[Path]:
    names(tmp_path / "run")
    yield tmp_path / "run"


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        (("export", "run", "--out", "README.md"), "README.md"),
        (("report", "run", "--out", "index.html"), "index.html"),
        (("report", "run", "--out", "page.html"), "page-figures/names-delta.svg"),
        (
            (
                "gate",
                "run",
                "--rule",
                'names."tests.report.test_run_folder:judge".delta.worst < 90',
                "--junit",
                "tests.xml",
            ),
            "tests.xml",
        ),
    ],
)
def test_a_file_named_by_the_user_is_replaced_only_if_geobias_wrote_it(
    run: Run, finished: Path, arguments: tuple[str, ...], name: str
) -> None:
    folder = finished.parent / "work"
    folder.mkdir()
    os.chdir(folder)
    shutil.copytree(finished, "run")
    Path(name).parent.mkdir(exist_ok=True)
    Path(name).write_text(MINE)
    before = tree(folder)
    code, _, err = run(*arguments)
    assert code == 2 and err.count("\n") == 1 and tree(folder) == before
    Path(name).unlink()
    if Path(name).parent != Path("."):
        Path(name).parent.rmdir()
    for _ in range(2):  # what geobias wrote it may write again
        assert run(*arguments)[0] in (0, 1)


def test_add_to_run_records_what_it_adds(tmp_path: Path) -> None:
    save(tmp_path / "run", "1")
    with add_to_run(tmp_path / "run") as staging:
        (staging / "figures").mkdir()
        (staging / "figures/map.svg").write_text("drawn")
    description = json.loads((tmp_path / "run/run.json").read_text())
    assert "figures/map.svg" in description["files"] and description["content"] == "1"
    assert not (tmp_path / "run" / RECORD).exists()


def test_a_file_that_a_card_or_a_junit_file_was_pasted_into_is_the_users(run: Run, finished: Path) -> None:
    rule = ("--rule", 'names."tests.report.test_run_folder:judge".delta.worst < 90')
    assert run("export", "run", "--out", "card.md")[0] == 0
    assert run("gate", "run", *rule, "--junit", "gate.xml")[0] in (0, 1)
    card, junit = Path("card.md").read_text(), Path("gate.xml").read_text()
    merged = junit.replace("<testsuite ", '<testsuite name="pytest"/><testsuite ')
    pasted = {
        "card.md": (f"{card}\n## Training\n\nMine.\n", ("export", "run", "--out", "card.md")),
        "gate.xml": (merged, ("gate", "run", *rule, "--junit", "gate.xml")),
    }
    for name, (content, arguments) in pasted.items():
        Path(name).write_text(content)
        code, _, err = run(*arguments)
        assert code == 2 and "not written by geobias" in err and Path(name).read_text() == content


def test_a_page_does_not_go_into_another_run(run: Run, finished: Path, tmp_path: Path) -> None:
    regions(tmp_path / "other")
    before = tree(tmp_path / "other")
    code, _, err = run("report", "run", "--out", "other/report.html")
    assert code == 2 and "is the folder of another run" in err and tree(tmp_path / "other") == before


def test_a_record_cannot_lead_out_of_its_folder(tmp_path: Path) -> None:
    """A run folder may come from anybody."""
    save(tmp_path / "run", "1")
    (tmp_path / "victim").mkdir()
    (tmp_path / "victim/file").write_text(MINE)
    (tmp_path / "run/.geobias-partial-x").mkdir()
    description = json.loads((tmp_path / "run/run.json").read_text())
    description["files"] += [".geobias-partial-x/../../victim/", "/tmp/", "../victim/", "..\\victim/"]
    (tmp_path / "run/run.json").write_text(json.dumps(description))
    with add_to_run(tmp_path / "run") as staging:
        (staging / "report.html").write_text("new")
    assert (tmp_path / "victim/file").read_text() == MINE
    recorded = json.loads((tmp_path / "run/run.json").read_text())["files"]
    assert not [name for name in recorded if "victim" in name or name.startswith("/")]


def test_other_models_are_refused_also_beside_the_record_of_a_killed_command(tmp_path: Path) -> None:
    save(tmp_path / "run", "1")
    run = RunFolder(tmp_path / "run", SETTINGS)
    description = json.loads((tmp_path / "run/run.json").read_text()) | {"model": {"fingerprint": "old"}}
    (tmp_path / "run/run.json").write_text(json.dumps(description))
    run.claim()
    run.check(["old"])
    with pytest.raises(InputError, match="other models"):
        run.check(["new"])


def test_messages_about_folders_that_are_not_ours(tmp_path: Path) -> None:
    run = RunFolder(tmp_path / "run", SETTINGS)
    run.path.mkdir()
    (run.path / ".DS_Store").write_text("")
    run.check()  # it looks empty
    (run.path / "run.json").write_text('{"wandb": 1}')
    with pytest.raises(InputError, match=r"not a geobias run \(it has run.json\)\. Choose another --out\.$"):
        run.check()
    (run.path / "run.json").write_text(json.dumps({"schema_version": 1, "settings": SETTINGS}))
    with pytest.raises(InputError, match="written by an earlier version"):
        run.check()
