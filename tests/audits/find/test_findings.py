"""Findings of the audit of finders: whose names are missed is named, and nothing is made up."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from geobias.audits.find.answers import FinderAnswers, Outcome
from geobias.audits.find.audit import audit_finders
from geobias.audits.find.design import FindDesign
from geobias.audits.find.findings import list_findings
from geobias.audits.find.measure import measure_finders
from geobias.audits.find.report import make_report
from geobias.audits.find.result import FindResult
from geobias.audits.pages import add_findings
from geobias.audits.reports import list_card_rows
from geobias.audits.show_results import View, show_result
from geobias.audits.study import prepare
from geobias.models.finders import EMBEDDED_FINDER
from geobias.models.scorer import ModelIdentity
from geobias.report.declarations import make_section
from geobias.report.findings import Finding, with_role
from geobias.report.page.blocks import Chart, Table
from geobias.report.results import from_json
from tests.audits.find.finders import COUNTRIES, TEXTS
from tests.conftest import made_up_names

MANY = pd.concat([TEXTS.assign(id=TEXTS["id"] + suffix, text=TEXTS["text"] + suffix) for suffix in ("", " b", " c")])


@pytest.fixture(scope="module")
def design(tmp_path_factory: pytest.TempPathFactory) -> FindDesign:
    return make_design(tmp_path_factory.mktemp("names"))


def make_design(folder: Path, **options: Any) -> FindDesign:
    names = made_up_names(folder, COUNTRIES)
    options = {"texts": MANY, "spans": "people", "gazetteer": names, "countries": "all", "draws": 4, **options}
    design: FindDesign = prepare(audit_finders, "tagger", **options).design
    return design


def make_result(
    design: FindDesign,
    recalls: dict[str, float] | None = None,
    *,
    names: tuple[str, ...] = ("models/tagger",),
    lower: float = 0.9,
    original: float = 1.0,
    seed: int = 0,
) -> FindResult:
    """A world in which 90 % of names are found, whoever's they are, but for `recalls`."""
    countries = design.counterfactuals.countries
    shares = np.array([(recalls or {}).get(code, 0.9) for code in countries])[None, :, None]
    answers = []
    for number, name in enumerate(names):
        rng = np.random.default_rng([seed, number])
        count, draws = len(design.mentions), design.draws

        def draw(chance: Any, *shape: int, rng: np.random.Generator = rng) -> np.ndarray:
            return np.where(rng.random(shape) < chance, Outcome.RECALL, Outcome.MISS).astype(np.int8)

        recased = (count, len(countries), design.recased_draws)
        marks = np.ones(len(design.texts), dtype=int)
        answers.append(
            FinderAnswers(
                ModelIdentity(name, "spans", None),
                draw(shares, count, len(countries), draws),
                {"lower": draw(np.minimum(shares, lower), *recased), "upper": draw(shares, *recased)},
                draw(original, count),
                marks,
                marks,
            )
        )
    return measure_finders(design, tuple(answers))


def overall(result: FindResult) -> Finding:
    (finding,) = with_role(list_findings(result), "overall")
    return finding


def test_names_that_are_missed_more_often(design: FindDesign) -> None:
    result = make_result(design, {"Bland": 0.5})
    finding = overall(result)
    assert (finding.evidence, finding.subject, finding.valence) == ("clear", "Bland", "worse")
    assert finding.size is not None and finding.size.unit == "percentage points" and finding.size.low is not None
    assert finding.size.value == pytest.approx(-35, abs=8) and finding.size.low < finding.size.value
    assert "of names from Bland" in finding.sentence and "1 lies below the mean" in finding.sentence
    assert len(finding.sentence.split()) <= 45
    assert len(finding.examples) == 5 and len({example.text_id for example in finding.examples}) == 5
    for example in finding.examples:
        assert (example.before, example.after) == (1, 0) and example.original_names[0] in example.original
        assert example.changed_names[0].startswith("B") and example.changed_names[0] in example.changed
    saved = from_json(FindResult, add_findings(result).to_dict())
    assert replace(saved.findings[0], headline="") == finding and "84 %" in saved.findings[0].headline


def test_names_that_are_found_more_often_are_better(design: FindDesign) -> None:
    low = dict.fromkeys(COUNTRIES, 0.4) | {"Cland": 1.0}
    finding = overall(make_result(design, low))
    assert (finding.evidence, finding.subject, finding.valence) == ("clear", "Cland", "better")
    assert not finding.examples and "only" not in finding.sentence


def test_the_page_and_the_card_name_whom_the_findings_name(design: FindDesign) -> None:
    """One country far below puts all others above the mean: they only mirror it."""
    result = add_findings(make_result(design, {"Bland": 0.2}))
    assert {row.mirrors for row in result.effects if row.label == "recall"} == {None, "Bland"}
    chart = make_section(make_report(result), "find").blocks[0]
    assert isinstance(chart, Chart) and [row["country"] for row in chart.rows if row["marked"]] == ["Bland"]
    assert chart.title.endswith("names from Bland are recognised less often") and "1 of 8 differ" in chart.alt
    assert list_card_rows(result)[0]["stand out"] == "1 of 8"


def test_fewer_than_five_texts_have_no_chart_and_no_number(tmp_path: Path) -> None:
    result = add_findings(make_result(make_design(tmp_path, texts=MANY[:4]), {"Bland": 0.2}))
    for block in make_section(make_report(result), "find").blocks:
        assert isinstance(block, Table)
        assert {cell for row in block.rows for key, cell in row.items() if key not in {"country", "finder"}} == {
            "too few"
        }
    assert result.to_frame()[["value", "low", "high", "p_adjusted"]].isna().all(axis=None)


def test_no_country_stands_out_where_all_are_alike(design: FindDesign) -> None:
    findings = [overall(make_result(design, seed=seed)) for seed in range(20)]
    assert sum(finding.evidence == "clear" for finding in findings) <= 2
    null = next(finding for finding in findings if finding.evidence == "none")
    assert "No country's names stand out: 8 tested; the lowest is" in null.sentence
    assert "percentage points could be missed" in null.sentence and "finds 9" in null.sentence
    for finding in findings:
        if finding.evidence == "none":
            missed = float(finding.sentence.rsplit("under ", 1)[1].split()[0])
            assert finding.size and abs(finding.size.value) <= missed + 0.5
    perfect = overall(make_result(design, dict.fromkeys(COUNTRIES, 1.0)))
    assert perfect.evidence == "none" and "finds 100 %" in perfect.sentence


def test_kinds_of_names_are_details(design: FindDesign) -> None:
    (detail,) = with_role(list_findings(make_result(design, lower=0.5)), "detail")
    assert (detail.subject, detail.direction, detail.evidence) == ("name in lower case", "lower", "clear")
    assert "points" in detail.sentence and "fewer than name as written" in detail.sentence


def test_cautions(design: FindDesign) -> None:
    assert with_role(list_findings(make_result(design)), "caution") == []
    (caution,) = with_role(list_findings(make_result(design, original=0.3)), "caution")
    assert "of the original names: names from lists are easier" in caution.sentence
    result = make_result(design, names=(EMBEDDED_FINDER,))
    result = replace(result, settings=replace(result.settings, held_out=True))
    assert "its vocabulary knows the bundled lists" in with_role(list_findings(result), "caution")[0].sentence
    result = make_result(design)
    result = replace(result, effects=[replace(row, fewest_names=3) for row in result.effects])
    (caution,) = with_role(list_findings(result), "caution")
    assert "few names" in caution.sentence and "Aland, Bland, Cland and 5 more" in caution.sentence


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"texts": TEXTS.head(4)}, "4 texts with names are too few"),
        ({"countries": ["Aland"]}, "one country cannot be compared"),
        ({"draws": 1}, "cannot be tested"),
    ],
)
def test_too_little_is_not_tested(options: dict[str, Any], text: str, tmp_path: Path) -> None:
    finding = overall(make_result(make_design(tmp_path, **options), {"Bland": 0.1}))
    assert finding.evidence == "not testable" and text in finding.sentence and finding.size is None
    assert "texts" not in options or "%" not in finding.sentence


@pytest.mark.parametrize("width", [80, 60])
def test_the_terminal_is_short_and_narrow(
    design: FindDesign, width: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    for names in (("models/tagger",), ("models/tagger", "models/second")):
        result = add_findings(make_result(design, {"Bland": 0.4}, names=names, lower=0.5, original=0.2))
        for view in (View(), View(full=True), View(quiet=True)):
            show_result(result, Path("here"), view)
            lines = capsys.readouterr().out.splitlines()
            assert max(map(len, lines)) <= width and not any("…" in line for line in lines)
            assert view.full or width < 80 or len(lines) <= 25
            assert any("Bland" in line for line in lines)
