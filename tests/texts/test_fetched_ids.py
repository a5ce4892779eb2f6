"""The recipe of docs/reproduce.md: texts that the user has fetched, joined with the ids that a paper published."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from geobias.audits.inputs import load_texts

PAGE = Path(__file__).parents[2] / "docs/reproduce.md"


def test_fetched_tweets_are_joined_with_the_published_ids(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """In the order of the ids, each once, with all nineteen digits; what could not be fetched is counted."""
    monkeypatch.chdir(tmp_path)
    ids = ["511399566533349376", "511400464110608384", "511400464110608385"]
    Path("IDS_Eurotweets_English_val.tsv").write_text("id\n" + "\n".join(ids), encoding="utf-8")
    rows = [(ids[1], '"Mary, hello"'), ("1", "somebody else"), (ids[0], "John is here"), (ids[0], "John is here")]
    Path("tweets.csv").write_text("id,text\n" + "\n".join(map(",".join, rows)), encoding="utf-8")
    (recipe,) = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    exec(compile(recipe, PAGE.name, "exec"), {})
    assert capsys.readouterr().out == "2 of 3 tweets\n"
    texts = load_texts(Path("eurotweets.csv"))
    assert texts.ids == (ids[0], ids[1]) and texts.texts == ("John is here", "Mary, hello")
