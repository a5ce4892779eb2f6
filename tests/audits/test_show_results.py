"""What commands print: short, whole at any width, and nothing of importance left out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from geobias.audits.show_results import View, show_results
from geobias.report.findings import Evidence, Finding, Role, Size, state_verdict
from tests.audits.letters.result import LettersResult

SENTENCE = (
    "{}: names from Morocco fare worse than those from the other countries: their texts are 12 points harsher on "
    "average, with a 95 % interval from 8.1 to 16 points, adjusted for all 17 countries that were tested here."
)


def finding(model: str, evidence: Evidence, role: Role = "overall", audit: str = "names", **others: Any) -> Finding:
    return Finding(
        role=role,
        audit=audit,
        model=model,
        question="Do names change the answers?",
        size=Size(-12.345, -16.1, -8.05, "points"),
        evidence=evidence,
        sentence=SENTENCE.format(model),
        limit="36 texts are few.",
        next_step=f"geobias names {model} --draws 50",
        **others,
    )


def result(*findings: Finding) -> LettersResult:
    return LettersResult(settings={}, countries=[], findings=list(findings))


def show(capsys: pytest.CaptureFixture[str], view: View, *findings: Finding) -> list[str]:
    show_results([result(*findings[:1]), result(*findings[1:])], Path.cwd() / "runs/here", view)
    return capsys.readouterr().out.splitlines()


def overview() -> list[Finding]:
    """As of `geobias audit`: six answers, details and cautions, all long."""
    answers = [finding(f"embedded/model{i}", "none") for i in range(5)] + [finding("embedded/last", "clear")]
    details = [finding("embedded/last", "clear", "detail") for _ in range(5)]
    return [*answers, *details, finding("embedded/last", "not testable", "caution")]


def test_several_audits_fit_on_a_screen(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    lines = show(capsys, View(), *overview())
    text = " ".join(" ".join(lines).split())
    assert 30 < len(lines) <= 40 and max(map(len, lines)) <= 80
    assert text.startswith("Clear differences in 1 of 6 tests. No clear difference in 5 of 6")
    labels = [line.split("  ")[0] for line in lines]
    assert "clear" in labels and "caution" in labels  # a caution may take the difference back
    assert labels[labels.index("clear") + 1] == "moderate" and labels.count("moderate") == labels.count("clear")
    assert any(line.rstrip().endswith("clear, moderate") for line in lines)  # in the table
    assert "more on the page." in text and lines[-3:] == [
        "Terms: geobias explain TERM",
        "Page: runs/here/report.html",
        "Next: geobias names embedded/last --draws 50",
    ]
    table = lines[next(i for i, line in enumerate(lines) if line.startswith("Largest differences")) :]
    assert sum("-12 points" in line and "-16 to -8.1" in line for line in table) == 6
    assert table.index(next(line for line in table if "embedded/last" in line)) == 4  # below title and heading


def test_a_caution_has_a_place_among_many_differences(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    answers = [finding(f"embedded/model{i}", "clear") for i in range(12)]
    lines = show(capsys, View(), *answers, finding("embedded/last", "not testable", "caution"))
    labels = [line.split("  ")[0] for line in lines]
    assert len(lines) <= 40 and labels.count("caution") == 1 and 2 <= labels.count("clear") < 12
    nothing = [finding(f"embedded/model{i}", "none") for i in range(12)]
    labels = [line.split("  ")[0] for line in show(capsys, View(), *nothing, finding("last", "clear", "caution"))]
    assert labels.index("no evidence") < labels.index("caution")


def test_a_narrow_terminal_loses_a_column_and_no_digit(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    long_name = "/home/someone/models/" + "a-very-long-name-" * 4 + "/checkpoint-12000"
    lines = show(capsys, View(), finding(long_name, "clear", audit="downstream"), finding("other", "none"))
    table = lines[next(i for i, line in enumerate(lines) if line.startswith("Largest differences")) : -4]
    assert max(map(len, table)) <= 60 and sum("-12 points" in line for line in table) == 2
    assert "95 %" not in " ".join(table) and "12000" in "".join(table)
    assert "/home/someone" not in " ".join(lines[:2])  # the verdict has the short name


def test_quiet_full_and_json(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    findings = overview()
    quiet = "\n".join(show(capsys, View(quiet=True), *findings))
    assert quiet.count("Morocco") == len(findings) and "Page:" not in quiet and "Largest" not in quiet
    assert "\x1b" not in quiet  # a pipe gets no colours
    content = json.loads("\n".join(show(capsys, View(json=True), *findings)))
    assert [len(each["findings"]) for each in content["runs"]] == [1, len(findings) - 1]


def test_many_tests_are_counted_in_the_verdict() -> None:
    many = [finding(f"m{i}", "none") for i in range(9)]
    assert state_verdict(many) == "No clear difference in 9 of 9 tests."
    assert state_verdict([*many, finding("last", "clear")]) == (
        "Clear differences in 1 of 10 tests: last (names). "
        "No clear difference in 9 of 10 tests: m0 (names), m1 (names), m2 (names), m3 (names) and 5 more."
    )
    assert state_verdict(many[:1]) == "No clear difference."
