"""The page of a downstream run: what its section shows, and how little of a text it trusts."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import geobias
from geobias.audits.downstream.page import SHOWN_EACH_WAY, describe
from geobias.audits.pages import read_run, render_page, run_sections
from geobias.report.page.blocks import Chart, Section, Table, WorldMap
from geobias.report.runs import FinishedRun

TEXTS = [f"text {i}" for i in range(12)]
EVIL = "</script><b>hate"

Classifier = Callable[[list[str]], list[dict[str, float]]]


def dislikes_mexico(texts: list[str]) -> list[dict[str, float]]:
    found = [0.45 + 0.1 * ("Mexico" in text) + 0.001 * (len(text) % 3) for text in texts]
    return [{"fine": 1 - p, "hate": p} for p in found]


def evil(texts: list[str]) -> list[dict[str, float]]:
    return [{"fine": 1 - p["hate"], EVIL: p["hate"]} for p in dislikes_mexico(texts)]


def finished(classifier: Classifier, place: Path, **options: Any) -> FinishedRun[geobias.DownstreamResult]:
    geobias.audit_downstream(classifier, **{"texts": TEXTS, "countries": "FR,MX,UG", "out": place, **options})
    return read_run(place)


def only_section(run: FinishedRun[geobias.DownstreamResult]) -> Section:
    (section,) = run_sections([run])
    return section


def test_the_map_the_dots_and_the_verdicts(tmp_path: Path) -> None:
    section = only_section(finished(dislikes_mexico, tmp_path / "here"))
    world, moved, verdicts = section.blocks
    assert isinstance(world, WorldMap) and isinstance(moved, Chart) and isinstance(verdicts, Table)
    (measure,) = world.data["measures"]
    assert measure["centre"] == 0 and measure["values"]["MX"] == pytest.approx(0.1, abs=0.01)
    (fact,) = world.data["countries"]["MX"]["facts"]
    assert "95 % interval +0." in fact and "12 texts became hate, 0 no longer are" in fact
    assert moved.rows[0]["region"] == "Mexico" and moved.rows[0]["marked"]
    assert moved.rows[0]["low"] <= moved.rows[0]["value"] <= moved.rows[0]["high"]
    (row,) = verdicts.rows
    assert row["the place\nwith most"] == "Mexico 12/0" and "accuracy" not in " ".join(row)
    worst, marked, control = section.numbers
    assert worst.note.startswith("Mexico: ") and marked.value.endswith(" of 6") and "names no place" in control.label


def test_true_labels_tell_how_good_the_verdicts_are(tmp_path: Path) -> None:
    texts = tmp_path / "texts.csv"
    texts.write_text("text,truth\nbad,hate\ngood,fine\n", encoding="utf-8")
    run = finished(dislikes_mexico, tmp_path / "here", texts=texts, label="truth")
    verdicts = only_section(run).blocks[-1]
    assert isinstance(verdicts, Table)
    assert verdicts.rows[0]["accuracy: original,\ncontrol, places"].startswith("0.500, 0.500, ")


def test_of_many_regions_both_ends_are_shown_and_cities_have_no_map(tmp_path: Path) -> None:
    options = {"texts": TEXTS[:2], "countries": (), "continents": "EU,NA", "regions": "cities"}
    run = finished(dislikes_mexico, tmp_path / "here", **options)
    moved, _ = only_section(run).blocks
    assert isinstance(moved, Chart) and len(moved.rows) == 2 * SHOWN_EACH_WAY
    assert "highest and the" in moved.reading and "Mexico City (MX)" in {row["region"] for row in moved.rows}
    assert "cities, and" in describe(run.result)


def test_one_text_is_told_without_intervals(tmp_path: Path) -> None:
    section = only_section(finished(dislikes_mexico, tmp_path / "here", texts=TEXTS[:1]))
    world = section.blocks[0]
    assert isinstance(world, WorldMap)
    assert section.numbers[0].interval == "" and "no interval" in world.data["countries"]["MX"]["facts"][0]


def test_labels_cannot_break_the_page(tmp_path: Path) -> None:
    page = render_page([finished(evil, tmp_path / "here", positive=EVIL)])
    assert "&lt;/script&gt;&lt;b&gt;hate" in page and EVIL not in page
    assert (tmp_path / "here/report.html").is_file()
