"""What a page offers to try: stored answers, and texts of the user's own files only where the user says so."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pandas as pd
import pytest

import geobias
from geobias.audits.names.answers import COUNTERFACTUALS
from geobias.audits.names.headline import measure_other_name
from geobias.audits.pages import read_runs
from geobias.audits.try_it import MOST_TEXTS, list_tries
from geobias.report.saved_answers import PLACE, read_answers
from geobias.world.countries import load_countries
from tests.report.pages import PEOPLE, judge, names_run


def test_texts_of_the_user_are_tried_only_if_the_user_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GEOBIAS_CACHE", str(tmp_path / "cache"))
    names_run(tmp_path / "run")
    runs = read_runs(tmp_path / "run")
    assert list_tries(runs, with_texts=False) == []
    (names,) = list_tries(runs, with_texts=True)
    assert sorted(names["countries"]) == sorted(PEOPLE) and len(names["models"]) == 2
    assert len(names["texts"]) == MOST_TEXTS
    for text in names["texts"]:
        assert "Mary Smith" in text["text"] and len(text["versions"]) == len(PEOPLE)
        assert all("x" in version and version.endswith(text["text"].split("was")[1]) for version in text["versions"])
        assert [len(draws) for draws in text["scores"][0]] == [4] * len(PEOPLE)
        assert all(-100 <= score <= 100 for draws in text["scores"][0] for score in draws)
    geobias.write_report(tmp_path / "run")
    page = (tmp_path / "run/report.html").read_text(encoding="utf-8")
    assert 'id="try"' not in page and "Mary Smith" not in page
    assert any(finding.examples for finding in runs[0].result.findings) and "--with-texts" in page
    geobias.write_report(tmp_path / "run", with_texts=True)
    page = (tmp_path / "run/report.html").read_text(encoding="utf-8")
    assert 'id="try"' in page and 'class="example"' in page


def test_another_name_of_the_same_country_is_measured_from_stored_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GEOBIAS_CACHE", str(tmp_path / "cache"))
    names_run(tmp_path / "run")
    (run,) = read_runs(tmp_path / "run")
    entry = run.result.classifiers[0]
    table = pd.read_parquet(run.folder / COUNTERFACTUALS)
    table["points"] = 100 * (table[f"{entry.model}/positive"] - table[f"{entry.model}/negative"])
    distances = [
        abs(after - before)
        for _, rows in table[table.country.notna()].groupby(["text_id", "country"])
        for before, after in pairwise(rows.sort_values("draw").points)
    ]
    assert measure_other_name(run.result, entry) == pytest.approx(sum(distances) / len(distances))
    assert "Another name of the same country" in (tmp_path / "run/report.html").read_text(encoding="utf-8")
    (run.folder / COUNTERFACTUALS).unlink()
    assert measure_other_name(run.result, entry) is None


def test_bundled_texts_can_always_be_tried(tmp_path: Path) -> None:
    geobias.audit_downstream(judge("one"), countries="FR,DE,TD", limit=14, out=tmp_path / "run")
    (run,) = read_runs(tmp_path / "run")
    (places,) = list_tries([run], with_texts=False)
    codes = list(read_answers(run.folder, [f"{run.result.models[0].name}/negative"]).select(PLACE).keys["place"][:3])
    assert places["countries"] == [load_countries()[code].name for code in codes] and len(codes) == 3
    assert len(places["texts"]) == MOST_TEXTS
    text = places["texts"][0]
    assert len(text["wordings"]) == len(text["scores"][0]) == 3 and set(text["wordings"]) <= {0, 1, 2}
    moves = [max(map(max, each["scores"][0])) - min(map(min, each["scores"][0])) for each in places["texts"]]
    assert moves == sorted(moves, reverse=True)
    (tmp_path / "run/answers.parquet").unlink()  # as in a copy without texts
    assert list_tries([run], with_texts=True) == []
