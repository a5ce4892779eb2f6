"""Two scripts: names in a country's own script are scored beside its Latin ones; it is said if they disagree."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import geobias
from geobias.audits.names.result import NamesResult
from geobias.audits.study import prepare
from geobias.engine.answer_checks import CHECKED_TEXTS
from geobias.report.findings import Finding
from geobias.world.gazetteer import is_latin
from tests.conftest import spell

GREEK = "αβγδεζηθικλμνξοπρσυφχ"


@pytest.fixture(scope="module")
def gazetteer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rows = ["country,kind,name"]
    for country in "ABCD":
        for kind in ("male", "female", "last"):
            rows += [f"{country}land,{kind},{country}{kind}{chr(97 + i)}" for i in range(20)]
            if country == "B":
                rows += [f"Bland,{kind},Ω{GREEK[i]}{kind[0].replace('m', 'μ').replace('f', 'φ').replace('l', 'λ')}"
                         for i in range(18)]  # fmt: skip
    file = tmp_path_factory.mktemp("names") / "names.csv"
    file.write_text("\n".join(rows), encoding="utf-8")
    return file


def audit(gazetteer: Path, latin: float, own: float, seed: int = 0, **options: Any) -> NamesResult:
    """Effects of Bland's names in points of 100, in Latin script and in its own."""
    chance: dict[str, float] = {}
    rng = random.Random(seed)

    def judge(texts: list[str]) -> list[dict[str, float]]:
        scores = []
        for text in texts:
            name = text.split()[0]
            effect = chance.setdefault(name, rng.gauss(0, 0.03)) + chance.setdefault(text, rng.gauss(0, 0.05))
            effect += own / 100 if name.startswith("Ω") else latin / 100 if name.startswith("B") else 0
            scores.append({"negative": 0.5 - effect / 2, "positive": 0.5 + effect / 2})
        return scores

    texts = [f"{name} came to see us on day {spell(i)}" for i, name in enumerate(["Mary", "John"] * 20)]
    frame = pd.DataFrame({"text": texts, "spans": ["[[0, 4]]"] * len(texts)})
    settings = {"spans": "spans", "draws": 8, "gazetteer": gazetteer, **options}
    return geobias.audit_names(judge, frame, **settings)


def find_script(result: NamesResult) -> list[Finding]:
    return [each for each in result.findings if "own" in each.sentence and "script" in each.sentence]


def test_scripts_that_disagree_are_told_apart(gazetteer: Path, tmp_path: Path) -> None:
    result = audit(gazetteer, latin=-12, own=0, out=tmp_path / "run")
    (gap,) = result.scripts
    assert (gap.place, gap.renamed_texts) == ("Bland", 40 * 4)
    assert gap.difference.value == pytest.approx(12, abs=3)
    assert gap.difference.low < 12 < gap.difference.high and gap.difference.p_adjusted < 0.01  # type: ignore[operator]
    assert gap.own_script.value == pytest.approx(3, abs=3)  # Bland in Latin script moves the mean by -3
    (finding,) = find_script(result)
    assert finding.code == "Bland" and "the scripts disagree" in finding.sentence and finding.role != "caution"
    table = pd.read_csv(tmp_path / "run/tables/scripts.csv")
    assert table["code"].tolist() == ["Bland"] and table["difference"].iloc[0] == pytest.approx(gap.difference.value)
    assert "names in two scripts" in (tmp_path / "run/report.html").read_text("utf-8")


def test_an_effect_of_the_other_script_alone_is_a_caution(gazetteer: Path) -> None:
    (finding,) = find_script(audit(gazetteer, latin=0, own=-12))
    assert (
        finding.role == "caution" and finding.evidence == "clear" and "lower (harsher) in their own" in finding.sentence
    )
    assert 'scripts="all"' in finding.next_step


def test_scripts_that_agree_are_both_reported(gazetteer: Path) -> None:
    (finding,) = find_script(audit(gazetteer, latin=-12, own=-12))
    assert "in its own script, it is" in finding.sentence and "disagree" not in finding.sentence


def test_no_disagreement_where_there_is_none(gazetteer: Path) -> None:
    clear = [
        gap
        for seed in range(20)
        for gap in audit(gazetteer, 0, 0, seed).scripts
        if gap.difference.p_adjusted is not None and gap.difference.p_adjusted < 0.05
    ]
    assert len(clear) <= 2


def test_what_is_scored_and_counted(gazetteer: Path) -> None:
    """Half of the draws, of the country that has both: 4 x 8 + 4 versions of a text, not twice as many."""
    result = audit(gazetteer, latin=-12, own=0)
    assert result.work["renamed_texts_scored"] <= 40 * (4 * 8 + 4)
    assert result.work["renamed_texts_scored"] > 40 * 4 * 8 * 0.9
    everything = audit(gazetteer, latin=-12, own=0, scripts="all")
    assert everything.scripts == [] and not find_script(everything)


def test_countries_of_the_paper_with_two_scripts() -> None:
    frame = pd.DataFrame({"text": ["Mary is here"], "spans": ["[[0, 4]]"]})
    design = prepare(geobias.audit_names, texts=frame, spans="spans").design
    own = design.own_scripts
    assert own is not None and set(own.countries) == {"IN", "MA"} and own.draws == 25
    assert not any(is_latin(own.new_names(0, c)[0][draw].first) for c in range(2) for draw in range(25))


def test_the_plan_counts_both_scripts(gazetteer: Path) -> None:
    frame = pd.DataFrame({"text": [f"Mary is on day {spell(i)}" for i in range(20)], "spans": ["[[0, 4]]"] * 20})

    def judge(texts: list[str]) -> list[dict[str, float]]:
        return [{"negative": 0.4, "positive": 0.6}] * len(texts)

    plan = prepare(geobias.audit_names, judge, frame, spans="spans", gazetteer=gazetteer, draws=8).plan()
    assert [step.texts - CHECKED_TEXTS for step in plan.steps] == [20 * 4 * 8, 20 * 4]
    assert "and 4 draws of names in their own script for Bland" in plan.about
