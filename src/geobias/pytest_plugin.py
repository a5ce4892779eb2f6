"""pytest plugin: the marker `geobias_gate` checks a finished run before a test, the fixture a result inside it.

pytest imports this module in every project where geobias is installed, so everything else is imported when a gate is
checked.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from geobias.report.results import AuditResult

MARKER = "geobias_gate"
RULES_FILE = ".toml"
USAGE = f'@pytest.mark.{MARKER}(run="runs/names", rules=["findings.clear.moderate <= 0"])'


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers",
        f"{MARKER}(run, rules): fail unless the rules hold in a finished run of geobias; without `run`, the rules of "
        "the fixture geobias_gate",
    )


@pytest.hookimpl(tryfirst=True)  # no wrapper: pluggy before 1.2 has other ones
def pytest_runtest_call(item: pytest.Item) -> None:
    """Check the runs that the markers of a test name, before the test."""
    for marker in item.iter_markers(MARKER):
        arguments = _read_marker(marker)
        if arguments.get("run") is not None:
            check_gate(item, arguments["run"], _list_rules(arguments.get("rules")))


@pytest.fixture
def geobias_gate(request: pytest.FixtureRequest) -> Callable[..., None]:
    """A function that fails the test unless rules hold: `geobias_gate(result, "findings.clear.moderate <= 0")`.

    It takes the result of an audit or the folder of a finished run, and rules; without rules, those of the test's
    marker.
    """

    def check(run: AuditResult | str | Path, *rules: str) -> None:
        marker = request.node.get_closest_marker(MARKER)
        marker_rules = _list_rules(_read_marker(marker).get("rules")) if marker else []
        check_gate(request.node, run, rules or marker_rules)

    return check


def check_gate(item: pytest.Item, run: AuditResult | str | Path, rules: Sequence[str]) -> None:
    """Fail a test with the table of all rules unless they hold; bad input fails it with one line."""
    from geobias.audits.finished_runs import gate
    from geobias.audits.gate.report import gate_text
    from geobias.errors import InputError

    root = item.config.rootpath
    files = [rule for rule in rules if rule.endswith(RULES_FILE)]
    lines = [rule for rule in rules if not rule.endswith(RULES_FILE)]
    if len(files) > 1:
        pytest.fail(f"{MARKER}: pass one file of rules, not {', '.join(files)}.", pytrace=False)
    try:
        report = gate(
            root / run if isinstance(run, str | Path) else run, lines, rules=root / files[0] if files else None
        )
    except InputError as error:
        raise pytest.fail.Exception(f"{MARKER}: {error}", pytrace=False) from None  # not shown twice
    for judgement in report.judgements:
        outcome = "passed" if judgement.passed else f"failed: {judgement.explain()}"
        item.user_properties.append((f"geobias: {judgement.rule}", outcome))
    if not report.passed:
        pytest.fail(gate_text(report), pytrace=False)


def _read_marker(marker: pytest.Mark) -> dict[str, Any]:
    """The arguments of a marker, which are `run` and `rules`, by name or in this order."""
    names = ("run", "rules")
    arguments = {**dict(zip(names, marker.args, strict=False)), **marker.kwargs}
    if len(marker.args) > len(names) or set(arguments) - set(names):
        pytest.fail(f"The marker {MARKER} takes run and rules: {USAGE}", pytrace=False)
    return arguments


def _list_rules(rules: Any) -> list[str]:
    several = [rules] if isinstance(rules, str | Path) else rules or []
    return [str(rule) for rule in several]
