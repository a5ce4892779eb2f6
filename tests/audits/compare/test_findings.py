"""What a comparison concludes: planted differences with their direction, none where there is none, models counted."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from rich.table import Table as RichTable

from geobias.audits.compare.findings import list_findings
from geobias.audits.compare.report import make_report
from geobias.audits.compare.result import (
    CompareResult,
    CompareSettings,
    Difference,
    LeftOut,
    list_differences,
    list_pairs,
)
from geobias.measures.estimates import Estimate
from geobias.measures.paired_differences import NamesAnswers
from geobias.models.scorer import ModelIdentity
from geobias.report.declarations import draw_summary
from geobias.report.findings import with_role
from geobias.report.page.build import _title
from tests.audits.compare.test_measures import band, differences, synthetic

PLACES = [(code, f"Country {code}") for code in "ABCD"]
MODELS = ("my/first", "my/second")


def compare(rows: list[Difference], left_out: list[LeftOut] | None = None) -> CompareResult:
    """The first run is v1, and v2 the second where a row does not say."""
    rows = [replace(row, first_run="v1", second_run=row.second_run or "v2") for row in rows]
    settings = CompareSettings("names", list(dict.fromkeys(["v1", *(row.second_run for row in rows)])))
    identities = [ModelIdentity(name, "probabilities", None) for name in MODELS]
    return CompareResult(settings=settings, models=identities, differences=rows, left_out=left_out or [])


def row(difference: Estimate, place: int = 0, **changes: object) -> Difference:
    start = Difference(*MODELS, "delta", "mean of countries", None, *PLACES[place], 0.0, difference.value, difference)
    return replace(start, **changes)  # type: ignore[arg-type]


def names_world(seed: int, shift: float = 0.0, labels: tuple[str, str] = ("negative", "positive")) -> CompareResult:
    """Two classifiers without a bias; `shift` is added to the tone of the third country in the second of them."""
    first, second, names = synthetic(np.random.default_rng(seed))
    versions = second.versions.copy()
    versions[:, 2, :, 1] += shift
    versions[:, 2, :, 0] -= shift
    paired = differences(first, NamesAnswers(second.original, versions), names)
    rows = [
        row
        for measure, each in paired.items()
        for row in list_differences(MODELS, measure, labels if measure.measure == "change" else (), PLACES, each)
    ]
    return compare(rows)


@pytest.mark.parametrize(("shift", "direction", "valence"), [(-0.3, "lower", "worse"), (0.3, "higher", "better")])
def test_a_planted_difference_is_clear_and_has_its_direction(shift: float, direction: str, valence: str) -> None:
    answer, detail, *_ = list_findings(names_world(1, shift))
    assert (answer.role, answer.evidence, answer.model) == ("overall", "clear", "my/second")
    assert f"with my/second the outcome is {valence} for Country C" in answer.sentence
    assert (detail.role, detail.code, detail.direction, detail.valence) == ("detail", "C", direction, valence)
    assert detail.size is not None and detail.size.low is not None and detail.size.high is not None
    assert detail.size.unit == "points" and detail.size.low < 3 / 4 * 200 * shift < detail.size.high
    assert detail.sentence.startswith(f"Names from Country C fare {valence} with my/second than with my/first: Δ ")
    assert "95 % interval" in detail.sentence and detail.next_step.endswith("geobias report v1 v2")


def test_emotions_are_neither_better_nor_worse() -> None:
    answer, detail, *_ = list_findings(names_world(1, -0.3, ("anger", "joy")))
    assert (answer.evidence, answer.valence) == (detail.evidence, detail.valence) == ("clear", None)
    assert "with my/second Δ is lower for Country C" in answer.sentence and "fare" not in detail.sentence


def test_chance_gives_no_more_clear_findings_than_it_may() -> None:
    results = [list_findings(names_world(seed)) for seed in range(20)]
    assert sum(findings[0].evidence == "clear" for findings in results) <= band(20, 0.05)[1]
    null = next(findings[0] for findings in results if findings[0].evidence == "none")
    assert "do not differ clearly in any of 4 countries" in null.sentence
    assert (
        "With these texts and names a difference under " in null.sentence
        and "points could be missed" in null.sentence
        and null.direction is None
        and null.valence is None
    )
    assert all(len(each.sentence.split()) <= 45 for findings in results for each in findings)
    for answer in (findings[0] for findings in results):
        if answer.evidence == "none":  # the largest difference was missed: it is not larger than what could be
            named, missed = (float(answer.sentence.split(word)[1].split()[0]) for word in ("in Δ is ", " under "))
            assert named <= missed


def test_equal_runs_agree() -> None:
    first, _, names = synthetic(np.random.default_rng(5))
    rows = [
        row
        for measure, each in differences(first, first, names).items()
        if measure.measure == "delta"
        for row in list_differences(MODELS, measure, (), PLACES, each)
    ]
    (answer,) = list_findings(compare(rows))
    assert answer.evidence == "none" and "every difference between them is 0" in answer.sentence


@pytest.mark.parametrize(
    ("p", "evidence", "phrase"),
    [
        (0.049, "clear", "differ clearly in 1 of 2"),
        (0.07, "suggestive", "may differ in 1 of 2"),
        (0.1, "none", "do not differ clearly in any of 2"),
        (None, "not testable", "none of 2 countries could be tested"),
    ],
)
def test_no_sentence_is_stronger_than_its_test(p: float | None, evidence: str, phrase: str) -> None:
    others = Estimate(0.1, -1.0, 1.2, 0.9, None if p is None else 0.9)
    answer, *more = list_findings(compare([row(Estimate(-3.0, -5.0, -1.0, p, p)), row(others, 1)]))
    assert answer.evidence == evidence and phrase in answer.sentence
    assert [each.evidence for each in more] == (["clear"] if evidence == "clear" else [])


def test_valence_follows_the_label_and_is_absent_without_one() -> None:
    shift = Estimate(0.2, 0.1, 0.3, 0.001, 0.001)
    for label, valence in (("hate", "worse"), ("positive", "better"), ("LABEL_1", None)):
        answer, _ = list_findings(compare([row(shift, measure="against_control", against="control", label=label)]))
        assert (answer.valence, answer.direction) == (valence, "higher")
    assert "the shift of p(LABEL_1) is higher for Country A" in answer.sentence
    score = row(Estimate(-0.04, -0.07, -0.01, 0.01, 0.03), measure="c_w.balanced", first=0.13, second=0.09)
    answer, detail = list_findings(compare([score]))
    assert "differences are smaller within Country A" in answer.sentence and answer.valence is None
    assert "The sub-regions of Country A are described less differently by my/second" in detail.sentence


def test_classes_stand_in_where_delta_has_nothing_clear() -> None:
    change = row(Estimate(12.0, 8.0, 16.0, 0.001, 0.001), measure="change", label="negative", first=3.0, second=15.0)
    findings = list_findings(compare([row(Estimate(0.5, -1.0, 2.0, 0.5, 0.7)), change]))
    assert [each.evidence for each in findings] == ["none", "clear"]
    assert (
        "change of negative predictions 15 % against 3.0 %" in findings[1].sentence and findings[1].valence == "worse"
    )


def test_models_of_one_name_are_told_apart_by_their_runs() -> None:
    clear = row(Estimate(-3.0, -5.0, -1.0, 0.001, 0.001), first_model="my/model", second_model="my/model")
    result = compare([clear, replace(clear, second_run="v3")], [LeftOut("v1", "v2", "my/other")])
    assert [(pair.first, pair.second) for pair in list_pairs(result)] == [
        ("my/model (v1)", "my/model (v2)"),
        ("my/model (v1)", "my/model (v3)"),
    ]
    findings = list_findings(result)
    assert [answer.model for answer in with_role(findings, "overall")] == ["my/model (v2)", "my/model (v3)"]
    (caution,) = with_role(findings, "caution")
    assert "my/other" in caution.sentence and "only one of v1 and v2" in caution.sentence
    assert next(iter(result.summarise())) == "3 runs of the names audit: v2 and v3, each against v1"


def test_the_title_counts_models_not_the_last_parts_of_their_names() -> None:
    assert _title(["a/v1/model/final", "a/v2/model/final"]) == "Audit of a/v1/model/final and a/v2/model/final"
    assert _title(["x", "y", "z", "x"]) == "Audit of x and 2 other models" and _title(["x", "x"]) == "Audit of x"


def test_terminal_tables_keep_their_numbers_at_any_width() -> None:
    report = make_report(names_world(1, -0.3))
    for width, columns in ((80, 5), (45, 3)):
        table, *_ = draw_summary(report, width)
        assert isinstance(table, RichTable) and len(table.rows) == 3 and len(table.columns) == columns
    (marked,) = report.tables("card")
    assert [column.show(marked.rows[0]) for column in marked.columns[2:]] == ["1", "4", "0"]
