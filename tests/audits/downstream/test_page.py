"""The page of a downstream run: what its section shows, and how little of a text it trusts."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import geobias
from geobias.audits.downstream.report import overlay_runs
from geobias.audits.pages import read_run, render_page, run_sections
from geobias.audits.reports import describe, list_card_rows
from geobias.audits.side_by_side import NamedRun
from geobias.report.declarations import MOST
from geobias.report.page import effect_blocks
from geobias.report.page.blocks import Chart, Section, Table, WorldMap
from geobias.report.page.swarm import Swarm
from geobias.report.page.world_map import MapPicture
from geobias.report.runs import FinishedRun
from geobias.report.tables import is_marked
from tests.conftest import spell

TEXTS = [f"text {spell(i)}" for i in range(12)]
EVIL = "</script><b>hate"

Classifier = Callable[[list[str]], list[dict[str, float]]]


def dislikes_mexico(texts: list[str]) -> list[dict[str, float]]:
    found = [0.45 + 0.1 * ("Mexico" in text) + 0.01 * zlib.crc32(text.encode()) / 2**32 for text in texts]
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
    moved, _, squares, world, places, verdicts = section.blocks
    assert isinstance(world, WorldMap) and isinstance(moved, Chart)
    assert isinstance(places, Table) and isinstance(verdicts, Table)
    (measure,) = world.measures
    estimate = measure.estimates["MX"]
    assert measure.centre == 0 and estimate.value == pytest.approx(0.1, abs=0.01) and estimate.low is not None
    assert moved.rows[0]["place"] == "Mexico" and moved.rows[0]["marked"]
    assert moved.rows[0]["low"] <= moved.rows[0]["value"] <= moved.rows[0]["high"]
    (row,) = verdicts.rows
    assert isinstance(squares, Chart) and "Mexico" in squares.rows[1]["what"]
    assert [each["changes"] for each in squares.rows] == [0, 12]
    drawn = squares.picture.draw(640).svg
    assert drawn.count('class="worse"') == 12 and drawn.count('class="pale"') == 12  # one for each text
    assert row["the place\nwith most"] == "Mexico 12/0" and "accuracy" not in " ".join(row)
    assert "naming Mexico makes hate likelier" in moved.title and "From Mexico +0.10" in moved.alt
    mexico, *others = places.rows
    assert mexico["country"] == "Mexico" and mexico["evidence"] == "clear: hate likelier"
    assert {row["evidence"] for row in others} == {"no evidence"}


def test_places_on_the_other_side_of_the_mean_do_not_stand_out(tmp_path: Path) -> None:
    """The control is above France and Uganda, and so is the mean, which Mexico raises; invented places are not."""

    def judge(texts: list[str]) -> list[dict[str, float]]:
        raised = [0.03 * ("here" in text) for text in texts]
        answers = [more + p["hate"] for more, p in zip(raised, dislikes_mexico(texts), strict=True)]
        return [{"fine": 1 - p, "hate": p} for p in answers]

    moved, _, _, world, table, _ = only_section(finished(judge, tmp_path / "here")).blocks
    assert isinstance(moved, Chart) and isinstance(world, WorldMap) and isinstance(table, Table)
    assert [row["evidence"] for row in table.rows] == ["clear: hate likelier", *["no evidence"] * 2]
    assert [row["marked"] for row in moved.rows] == [True, False, False] and "less likely" not in moved.title
    assert [code for code, each in world.measures[0].estimates.items() if is_marked(each)] == ["MX"]


def test_many_places_are_one_swarm_and_cities_have_no_map(tmp_path: Path) -> None:
    options = {"texts": TEXTS[:5], "countries": (), "continents": "EU,NA", "regions": "cities"}
    run = finished(dislikes_mexico, tmp_path / "here", **options)
    moved, *_, places, _ = only_section(run).blocks
    assert isinstance(places, Table) and len(places.rows) <= MOST["page"]
    assert isinstance(moved, Chart) and isinstance(moved.picture, Swarm) and len(moved.rows) > 90
    assert "Mexico City (MX)" in {row["place"] for row in moved.rows}
    assert "cities, and" in describe(run.result)


def test_a_swarm_shows_the_shares_that_the_headline_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(effect_blocks, "MOST_LINES", 2)
    moved = only_section(finished(dislikes_mexico, tmp_path / "here")).blocks[0]
    assert isinstance(moved, Chart) and isinstance(moved.picture, Swarm)
    average = sum(row["mean_after"] for row in moved.rows) / len(moved.rows)
    assert moved.picture.place == "mean_after" and moved.picture.centre == pytest.approx(average)


def test_fewer_than_five_texts_have_no_chart_no_map_and_no_number(tmp_path: Path) -> None:
    texts = tmp_path / "texts.csv"
    texts.write_text(
        "text,truth\n" + "".join(f"bad {end},hate\ngood {end},fine\n" for end in ("day", "night")), encoding="utf-8"
    )
    run = finished(dislikes_mexico, tmp_path / "here", texts=texts, label="truth")
    places, verdicts = only_section(run).blocks
    assert isinstance(places, Table) and isinstance(verdicts, Table)
    words = {"France", "Mexico", "Uganda", "–"}
    counts = {"become\nhate", "no\nlonger"}
    for row in places.rows:
        assert {value for name, value in row.items() if name not in counts} <= {"too few", *words}
    (row,) = verdicts.rows
    assert set(row.values()) == {run.result.models[0].name, "hate", "too few"}
    frame = run.result.to_frame()
    assert len(frame) and frame[["value", "low", "high", "p", "p_adjusted"]].isna().all(axis=None)
    assert set(list_card_rows(run.result)[0].values()) == {run.result.models[0].name, "hate", "too few"}
    assert overlay_runs([NamedRun("here", run.result)]) is None


def with_labels(hate: str, fine: str) -> Classifier:
    def judge(texts: list[str]) -> list[dict[str, float]]:
        return [{fine: p["fine"], hate: p["hate"]} for p in dislikes_mexico(texts)]

    return judge


@pytest.mark.parametrize(
    ("labels", "shown", "tone", "colour"),
    [
        (("hate", "fine"), "hate", -1, "worse"),
        (("fine", "positive"), "positive", 1, "worse"),
        (("politics", "sport"), "politics", 0, "neutral"),
        (("anger", "joy"), "anger", 0, "neutral"),
    ],
)
def test_colours_mean_better_or_worse_only_where_the_label_does(
    labels: tuple[str, str], shown: str, tone: int, colour: str, tmp_path: Path
) -> None:
    section = only_section(finished(with_labels(*labels), tmp_path / "here", positive=shown))
    moved, world = (block for block in section.blocks if isinstance(block, WorldMap) or block.id.endswith("moved-0"))
    assert isinstance(world, WorldMap) and isinstance(moved, Chart)
    (measure,) = world.measures
    mexico = MapPicture(measure, world.names).draw(640).svg.split("Mexico: ")[0].split("<use ")[-1]
    assert measure.tone == tone and f'class="{colour}-' in mexico
    assert f'class="{colour}"' in moved.picture.draw(640).svg


def test_labels_cannot_break_the_page(tmp_path: Path) -> None:
    page = render_page([finished(evil, tmp_path / "here", positive=EVIL)])
    assert "&lt;/script&gt;&lt;b&gt;hate" in page and EVIL not in page
    assert (tmp_path / "here/report.html").is_file()
