"""`geobias find` as a user types it: the folder, the page, the card, the gate, and what is refused."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path

import pytest

from tests.conftest import Run

WORDS = "sang won ran lost ate read slept wept wrote drew swam dug fell rose spoke paid met kept".split()
SMALL = ("--limit", "20", "--draws", "3", "--countries", "FR,TR,PL")
MODULE = """
import re
NAME = re.compile(r"[A-Z]\\w+(?: [A-Z]\\w+)?")

def capitals(texts):
    return [[match.span() for match in NAME.finditer(text)] for text in texts]

def places(texts):
    return [[(*match.span(), "LOC") for match in NAME.finditer(text)] for text in texts]

def nobody(texts):
    return [[] for _ in texts]

calls = []

def moody(texts):
    calls.append(texts)
    return [found if (len(text) + len(calls)) % 2 else [] for text, found in zip(texts, capitals(texts))]

def too_few(texts):
    return [[] for _ in texts[1:]]

def outside(texts):
    return [[(0, len(text) + 1)] for text in texts]

def words(texts):
    return ["Mary" for _ in texts]

def number(texts):
    return 3

def breaks(texts):
    raise KeyError("weights")
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "own_finders.py").write_text(MODULE, encoding="utf-8")
    rows = [{"text": f"Mary Smith {what}.", "who": [[0, 10]], "none": []} for what in ("sang", "won", "ran", "x", "y")]
    (tmp_path / "texts.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return tmp_path


def test_the_bundled_finder(run: Run, folder: Path) -> None:
    code, out, err = run("find", *SMALL, "--full", "--out", "here")
    assert code == 0, err
    for text in ("embedded/entities finds", "Turkey", "name in lower case", "precision", "people in 20 texts"):
        assert text in " ".join(out.split())
    results = json.loads((folder / "here/results.json").read_text(encoding="utf-8"))
    assert results["settings"]["held_out"] and results["models"][0]["fingerprint"]
    with open(folder / "here/tables/effects.csv", encoding="utf-8") as file:
        places = [row["place"] for row in csv.DictReader(file) if row["label"] == "recall"]
    assert places == ["France", "Turkey", "Poland"]
    page = (folder / "here/report.html").read_text(encoding="utf-8")
    order = [page.index(f'id="find-{block}"') for block in ("countries-0", "map", "table", "factors-0", "finders")]
    assert order == sorted(order)
    code, out, err = run("export", "here")
    assert code == 0 and "recall, mean" in out and "embedded/entities" in out
    rules = ("recall.lowest > 0.01", "gap < 1", "misses.TR < 1", "precision > 0.01")
    assert run("gate", "here", *(part for rule in rules for part in ("--rule", f"find.entities.{rule}")))[0] == 0
    assert run("gate", "here", "--rule", "find.entities.recall.mean > 0.999")[0] == 1


def test_functions_on_marked_texts(run: Run, folder: Path) -> None:
    marked = ("--texts", "texts.jsonl", "--spans", "who", "--countries", "FR,TR", "--draws", "3")
    code, out, err = run("find", "own_finders:capitals", "own_finders:places", *marked, "--json", "--out", "two")
    assert code == 0, err
    results = json.loads(out)
    capitals, places = results["finders"]
    assert not results["settings"]["held_out"] and capitals["precision"]["value"] == 1
    assert places["recall"]["value"] == 0 and places["lowest"]["value"] == 0
    wrong_types = [row for row in results["effects"] if (row["model"], row["label"]) == (places["model"], "wrong_type")]
    assert len(wrong_types) == 2 and all(row["share"]["value"] > 0.5 for row in wrong_types)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--texts", "texts.jsonl"], "--texts needs --spans"),
        (["--texts", "texts.jsonl", "--spans", "none"], "has a marked person"),
        (["--spans", "who"], "--spans needs --texts"),
        (["own_finders:too_few", *SMALL], "rows for 20 texts"),
        (["own_finders:outside", *SMALL], "with 0 <= start < end"),
        (["own_finders:words", *SMALL], "Return a list of spans"),
        (["own_finders:number", *SMALL], "of type int"),
        (["own_finders:breaks", *SMALL], "KeyError: 'weights'"),
        (["own_finders:nothing", *SMALL], "There is no 'nothing'"),
        (["--draws", "0"], "--draws"),
        (["--countries", "Atlantis"], "Unknown country 'Atlantis'"),
        (["--countries", "ET"], "was not trained with"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(run: Run, folder: Path, arguments: list[str], message: str) -> None:
    code, _, err = run("find", *arguments)
    assert code == 2 and message in err and err.count("\n") == 1


def test_one_country_and_one_draw_have_no_intervals(run: Run, folder: Path) -> None:
    few = ("--limit", "8", "--draws", "1", "--countries", "FR")
    code, out, err = run("find", "own_finders:capitals", *few, "--out", "one")
    assert code == 0, err
    assert "of names from France: one country cannot be compared" in " ".join(out.split())
    results = json.loads((folder / "one/results.json").read_text(encoding="utf-8"))
    (finder,) = results["finders"]
    assert results["effects"][0]["share"]["low"] is None and finder["gap"]["high"] is None
    assert finder["detectable_difference"] is None
    assert run("gate", "one", "--rule", 'find."own_finders:capitals".recall.lowest > 0')[0] == 1  # no interval


def test_a_plan_says_how_long_and_how_small(run: Run, folder: Path) -> None:
    code, out, err = run("find", "own_finders:capitals", "--plan", *SMALL)
    assert code == 0, err
    assert "20 texts name somebody; 3 countries x 3 draws." in out
    assert " 480 " in out  # 20 x (1 + 3 x (3 + 2 x 2)): original, as written, lower and upper; 20 texts twice
    assert "is detected with 80 % power" in " ".join(out.split()) and "scored before" not in out
    assert not (folder / "runs").exists()


@pytest.mark.parametrize(
    ("finder", "why"),
    [("nobody", "finds no name of any country"), ("moody", "Asked twice, it gave other answers to 1[0-9] of 20 texts")],
)
def test_a_finder_that_finds_nobody_or_answers_at_random_passes_no_gate(
    run: Run, folder: Path, finder: str, why: str
) -> None:
    rows = [{"text": f"Mary Smith {'really ' * (n % 7)}{word}.", "who": [[0, 10]]} for n, word in enumerate(WORDS)]
    (folder / "many.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    texts = ("--texts", "many.jsonl", "--spans", "who", "--countries", "FR,TR,PL", "--draws", "3")
    assert run("find", f"own_finders:{finder}", *texts, "--out", "here")[0] == 0
    rules = ["findings.clear <= 0", f"find.{finder}.findings.clear <= 0"]
    for rule in rules + [f"find.{finder}.gap < 0.5"] * (finder == "nobody"):
        code, out, _ = run("gate", "here", "--rule", rule)
        shown = " ".join(out.split())
        assert code == 1 and "not tested, so it cannot pass" in shown
        assert "gap" in rule or re.search(why, shown), shown
