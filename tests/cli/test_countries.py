"""Countries on the command line of every audit: the same texts mean the same countries everywhere."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.conftest import Run

WRITTEN = "USA,uk,GBR,Côte d'Ivoire"
CODES = ["CI", "GB", "US"]
COMMANDS = {
    "regions": ("regions", "of_countries:likelihood", "--cities", "0", "--words", "words.csv"),
    "names": ("names", "of_countries:judge", "--texts", "texts.csv", "--spans", "spans", "--draws", "2"),
    "downstream": ("downstream", "of_countries:judge", "--texts", "texts.csv"),
    "figure-5": ("reproduce", "herb", "figure-5", "--model", "embedded/lm"),
    "table-5": ("reproduce", "herb", "table-5", "--model", "embedded/lm", "--texts", "texts.csv"),
}  # fmt: skip
NOT_HERE = {"regions": "Antarctica (AQ) is not among the regions", "names": "geobias has no names for Antarctica (AQ)"}


@pytest.fixture(autouse=True)
def here(tmp_path: Path) -> None:
    (tmp_path / "of_countries.py").write_text(
        "def likelihood(texts):\n    return [float(len(text)) for text in texts]\n\n\n"
        "def judge(texts):\n    return [{'no': 0.6, 'hate': 0.4} for _ in texts]\n",
        encoding="utf-8",
    )
    (tmp_path / "words.csv").write_text("word\nkind\nrude\n", encoding="utf-8")
    rows = "".join(f'"Anna is late {k}","[[0, 4]]",{"kind" if k % 2 else "rude"}\n' for k in range(40))
    (tmp_path / "texts.csv").write_text("text,spans,label\n" + rows, encoding="utf-8")


@pytest.mark.parametrize("audit", ["regions", "names", "downstream"])
def test_codes_and_names_are_one_country(run: Run, audit: str) -> None:
    code, out, err = run(*COMMANDS[audit], "--countries", WRITTEN, "--json", "--out", "here")
    assert code == 0, err
    result = json.loads(out)
    if audit == "names":
        codes = [row["code"] for row in result["effects"]]
    elif audit == "downstream":
        codes = sorted({row["code"] for row in result["effects"] if row["code"]})
    else:
        codes = [region["id"] for region in result["regions"] if region["level"] == "country"]
    assert sorted(codes) == sorted(result["settings"]["countries"]) == CODES


@pytest.mark.parametrize("audit", COMMANDS)
@pytest.mark.parametrize(
    ("country", "message"),
    [
        ("england", "Unknown country 'england'. It is part of United Kingdom (GB). Use GB."),
        ("Frnace", "Unknown country 'Frnace'. Did you mean France (FR)?"),
        ("USB", "Unknown country 'USB'. Use a code (FR, FRA) or an English name (France)."),
        ("Antarctica", ""),
    ],
)
def test_other_texts_end_with_one_line(run: Run, audit: str, country: str, message: str) -> None:
    code, out, err = run(*COMMANDS[audit], "--countries", f"FR,{country}", "--out", "here")
    assert code == 2 and not out and err.count("\n") == 1
    assert (message or NOT_HERE.get(audit, NOT_HERE["regions"])) in err
    assert not Path("here").exists()
