"""What commands print: short, whole at any width, and nothing of importance left out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from geobias.audits.show_results import View, show_results
from geobias.report.findings import Evidence, Finding, Role, Size
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


@pytest.fixture(autouse=True)
def ask_in_tests(monkeypatch: pytest.MonkeyPatch) -> None:
    """The results below are of an audit that is not registered."""
    monkeypatch.setattr("geobias.audits.show_results.ask_everyday", lambda result, answer: answer.question)


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
    several = [*overview(), *(finding(f"another/model{i}", "none") for i in range(9))]
    lines = show(capsys, View(), *several)
    hero = next(each for each in several if each.evidence == "clear")
    assert len(lines) <= 30 and max(map(len, lines)) <= 80
    assert " ".join(" ".join(lines).split()).startswith(hero.sentence.split(":")[0])
    first = next(line for line in lines if "Yes, " in line)
    assert "embedded/last" in first and "12 points" in first and "clear" in first
    assert sum("No sign of it." in line for line in lines) + 1 == 12 and any(
        "more on the page" in line for line in lines
    )
    assert lines[-3:] == [
        "Terms: geobias explain TERM",
        "Page: runs/here/report.html",
        "Next: geobias names embedded/last --draws 50",
    ]


def test_a_narrow_terminal_loses_no_digit(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    long_name = "/home/someone/models/" + "a-very-long-name-" * 4 + "/checkpoint-12000"
    lines = show(capsys, View(), finding(long_name, "clear", audit="downstream"), finding("other", "none"))
    assert max(map(len, lines[:-4])) <= 60 and "12 points" in " ".join(" ".join(lines).split())
    assert "/home/someone" not in " ".join(lines[2:-4])


def test_quiet_full_and_json(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    findings = overview()
    quiet = "\n".join(show(capsys, View(quiet=True), *findings))
    assert quiet.count("Morocco") == len(findings) + 1 and "Page:" not in quiet and "Largest" not in quiet
    assert "\x1b" not in quiet  # a pipe gets no colours
    content = json.loads("\n".join(show(capsys, View(json=True), *findings)))
    assert [len(each["findings"]) for each in content["runs"]] == [1, len(findings) - 1]
