"""The benchmark is honest when all ways of a work give the same numbers, and its formula counts the right work."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bench.speed import results
from bench.speed.measure import Memory, Shape, matrix_rate, operations, operations_for
from bench.speed.models import Size, make
from bench.speed.parts import measure
from bench.speed.ways import agreement, disagreements, ways
from bench.speed.work import VARIANTS, Parts, read
from bench.speed.worker import Row
from geobias.errors import InputError

TWEETS = [
    "RT @user: Allen Iverson's jersey is retired tonight at halftime, Julius Erving says so",
    "So happy for Maria!! what a day",
    "ok",
    "Why would anybody trust Mr. Smith with money? He is just a kid...",
]
PARTS = Parts(
    ["France", "Papua New Guinea", "Ouagadougou"],
    ["kind", "hard-working", "ugly", "inquisitive", "of good family"],
    TWEETS,
    [tweet.replace("Maria", name) for tweet in TWEETS for name in ("Maria", "Jean", "Oluwaseun", "Li")],
)
TINY: dict[str, Any] = {"layers": 2, "width": 16, "heads": 2, "pieces": 400, "spread": 0.4}
SIZES = {
    "aul": Size("xlmr", 500, **(TINY | {"pieces": 100})),
    "pll": Size("bert", 500, **TINY),
    "classify": Size("bert", 500, labels=3, **TINY),
    "causal": Size("gpt2", 600, **TINY),
}


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    found = {}
    for work, size in SIZES.items():
        found[work] = tmp_path_factory.mktemp("speed") / work
        make(size, PARTS, found[work])
    return found


@pytest.mark.parametrize("work", SIZES)
@pytest.mark.slow
def test_all_ways_give_the_same(work: str, folders: dict[str, Path]) -> None:
    texts = list(PARTS.texts(work))
    scores: dict[str, np.ndarray] = {}
    for way in ways(work):
        if way.precision:
            continue  # its scores differ
        try:
            ready = way.prepare(str(folders[work]), "cpu", "float32")
        except ImportError:  # a library that is installed for the benchmark only
            continue
        except InputError as error:  # a kind of model that this version does not take is left out of the table
            assert (work, way.name) == ("causal", "geobias"), error
            continue
        for size in {way.sizes[0], way.sizes[-1], 3 if way.sizes[0] else 0}:
            scores[f"{way.name} {size}"] = ready.score(texts, size)
    assert len(scores) > 1
    first = next(iter(scores.values()))
    assert len(first) == len(texts)
    assert np.ptp(first) > 0.01  # texts differ, so agreement says something
    assert not disagreements(agreement(scores))


@pytest.mark.parametrize("work", ["classify", "causal"])
@pytest.mark.slow
def test_ways_of_another_precision_give_nearly_the_same(work: str, folders: dict[str, Path]) -> None:
    texts = list(PARTS.texts(work))
    plain = next(way for way in ways(work) if way.name == "plain loop").prepare(str(folders[work]), "cpu", "float32")
    expected = plain.score(texts, 8)
    modules = {"ONNX Runtime int8": "onnxruntime", "OpenVINO int8": "nncf", "llama.cpp": "llama_cpp"}
    for way in (way for way in ways(work) if way.precision):
        pytest.importorskip(modules[way.name])
        scores = way.prepare(str(folders[work]), "cpu", "float32").score(texts, 8)
        assert np.abs(scores - expected).max() < 0.05


def test_disagreement_is_told() -> None:
    one = np.array([1.0, 2.0])
    found = agreement({"a": one, "b": one + 0.5, "c": np.array([1.0, np.nan])})
    assert disagreements(found) == ["b: 0.5", "c: inf"]


class Encoding:
    """What a tokenizer says about a text: as many tokens, an added one at either end, a character each."""

    def __init__(self, tokens: int, first: int = 0) -> None:
        self.ids = [first, *range(1, tokens)]
        self.special_tokens_mask = [1, *[0] * (tokens - 2), 1]
        self.offsets = [(0, 0), *[(i, i + 1) for i in range(tokens - 1)]]


def test_work_by_hand() -> None:
    shape = Shape(layers=2, width=8, inner=32, vocabulary=100, labels=3)
    # A token: 2 layers of 4 x 64 + 2 x 256 = 768 weights, a multiplication and an addition each: 3,072.
    # Attention over 5 tokens: 2 layers x 25 pairs x (8 for the product, 8 for the sum) x 2 = 1,600.
    through = 5 * 3072 + 1600
    read = 2 * 64 + 2 * 8 * 100
    encoding, everything = [Encoding(5)], [(0, 99)]
    assert operations("aul", shape, encoding, everything) == [through + 3 * read]
    # The last layer for one of the five positions: queries and all that comes after them are spared for four.
    to_one = through - 4 * (2 * (2 * 64 + 2 * 8 * 32) + 4 * 8 * 5)
    assert operations("pll", shape, encoding, everything) == [3 * (to_one + read)]
    assert operations("classify", shape, encoding, everything) == [to_one + 2 * 64 + 2 * 8 * 3]


def test_what_neighbours_share_counts_once() -> None:
    shape = Shape(layers=2, width=8, inner=32, vocabulary=100)
    # Texts of five tokens; the last two (characters 2 to 4) are the description. The three before it, then its
    # first token; each token looks at itself and at those before it, 2 x 8 x 2 x 2 = 64 for each.
    texts, marks = [Encoding(5), Encoding(5), Encoding(5), Encoding(5, first=7)], [(2, 4)] * 4
    texts[1].ids[3] = 8  # begins otherwise; the third begins as the first does
    before = 3 * 3072 + 64 * (1 + 2 + 3) + 1600
    further = 3072 + 64 * 4 + 1600
    assert operations("causal", shape, texts, marks).tolist() == [before + further, further, 0, before + further]


def test_work_from_a_folder(folders: dict[str, Path]) -> None:
    for work, folder in folders.items():
        cost = operations_for(work, folder, list(PARTS.texts(work)))
        assert len(cost) == len(PARTS.texts(work)) and (cost >= 0).all() and cost.sum() > 0


@pytest.mark.slow
def test_row_measures(folders: dict[str, Path]) -> None:
    way = next(way for way in ways("pll") if way.name == "plain loop")
    row = Row(way, PARTS, "pll", str(folders["pll"]), "cpu")
    row.load("float32")
    assert len(row.check(3)["scores"]) == 3
    found = row.pilot(0.01)
    assert found["size"] in way.sizes and found["texts"] % PARTS.unit("pll") == 0
    assert row.time(found["texts"], 0.01)["seconds"] > 0
    assert row.memory_use()["peak"] > 0


def test_machine() -> None:
    assert matrix_rate("cpu", "float32", seconds=0.01, square=[64, 128]) > 1e7
    memory = Memory("cpu")
    memory.reset()
    assert memory.peak() >= memory.now() // 2


def test_parts_are_read_as_written(tmp_path: Path) -> None:
    PARTS.write(tmp_path / "texts.json")
    assert read(tmp_path / "texts.json") == PARTS
    assert PARTS.unit("aul") == 5 and PARTS.unit("classify") == VARIANTS
    assert PARTS.texts("causal")[1] == "People in France are \x02hard-working\x03."


def test_results(tmp_path: Path) -> None:
    row = {"size": 112, "counts": "texts", "peak": 2e9, "above_model": 1.5e9, "texts": 224, "seconds": [1.0]}
    table = {
        "work": "aul",
        "model": "bert",
        "device": "cpu",
        "dtype": "float32",
        "matrix_rate": 2e11,
        "needed": 2e9,
        "differences": {"HERB's method": 0.0, "geobias": 2e-6},
        "left_out": {"minicons": "No module named 'minicons'"},
        "profile": [["void gemm<float, 8>(int)", 0.9], ["aten::exp_", 0.06]],
        "rows": [
            {"way": "HERB's method", "per_second": 20.0, "share": 0.2, **row},
            {"way": "geobias", "per_second": 150.0, "share": 0.75, **row, "size": 0},
        ],
    }
    run = {
        "machine": "A machine, 2 threads",
        "date": "2026-01-02 03:04",
        "versions": {"torch": "2.0"},
        "command": "python -m bench.speed",
        "tables": [table],
        "cluster": [
            {
                "work": "aul",
                "model": "embedded/lm",
                "slower": -0.05,
                "difference": 2e-7,
                "rows": [{"way": "in process", "per_second": 100.0}, {"way": "Ray", "per_second": 105.0}],
            }
        ],
    }
    size = {"killed": True, "texts": 2_000_000, "distinct": 1_000_000, "scored_in_all": 1_100_000, "workers_killed": 3}
    memory = {"memory_scoring": 2e9, "memory_worker": 1e8, "store_bytes": 4e7}
    run["millions"] = {"rows": [size | memory | {"seconds_scoring": 10.0}], "exponents": {"store_bytes": 1.0}}
    (tmp_path / "run.json").write_text(json.dumps(run), encoding="utf-8")
    results.main([str(tmp_path / "run.json"), "--out", str(tmp_path / "RESULTS.md")])
    page = (tmp_path / "RESULTS.md").read_text(encoding="utf-8")
    assert "| HERB's method | 112 | 20.0 | 1.00 | 20.0 | 1,500 | 2,000 |" in page
    assert "| geobias |  | 150 | 7.50 | 75.0 | 1,500 | 2,000 |" in page
    assert "geobias: 7.50 x HERB's method." in page
    assert "Where the time of geobias goes: `gemm` 90 %, `aten::exp_` 6 %." in page
    assert "| AUL of templates | embedded/lm | 100 | 105 | -5.0 % time |" in page
    assert "| 2,000,000, killed and resumed | 1,000,000 | 10.0 |  | 200,000 |  |  | 3 | 2.00 |" in page
    assert "Fitted exponents against the number of texts: store_bytes 1.00." in page
    assert "## What limits the speed" in page
    assert "Left out: minicons (No module named 'minicons')." in page
    assert "## A machine, 2 threads" in page and "torch 2.0" in page


@pytest.mark.parametrize(
    ("work", "unit", "parts", "title"),
    [
        ("causal", 15, {"token_tree", "shared_prefixes", "all"}, "Causal conditional likelihood of descriptions, gpt2"),
        ("classify", 16, {"all"}, "Classification of counterfactuals, embedded/sentiment"),
    ],
)
@pytest.mark.slow
def test_what_each_part_of_the_fast_path_brings(
    folders: dict[str, Path], monkeypatch: pytest.MonkeyPatch, work: str, unit: int, parts: set[str], title: str
) -> None:
    monkeypatch.setattr("bench.speed.parts.folder_of", lambda model, parts: folders[work])
    options = argparse.Namespace(device="cpu", dtype="float32", seconds=0.01, rounds=2)
    monkeypatch.setattr("bench.speed.parts.UNITS", {work: unit})
    table = measure(work, PARTS, options)
    assert parts <= set(table["without"]) and min(table["without"].values()) > 0
    page = results.parts([table])
    assert f"| left out | {title} |" in page and all(f"| {part} |" in page for part in parts)
