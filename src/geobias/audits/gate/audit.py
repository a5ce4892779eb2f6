"""`geobias.gate`: rules about the numbers of finished runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from geobias.audits.gate.junit import is_junit, junit_xml
from geobias.audits.gate.rules import Judgement, judge, parse_rule, read_rules
from geobias.audits.pages import read_run
from geobias.audits.registry import audits_with
from geobias.files import check_replaceable, write_whole, writing
from geobias.report.results import SCHEMA_VERSION, AuditResult, to_json


@dataclass(frozen=True)
class GateReport:
    """Every rule, judged in every run of its audit."""

    judgements: list[Judgement]

    @property
    def passed(self) -> bool:
        return all(judgement.passed for judgement in self.judgements)

    def to_dict(self) -> dict[str, Any]:
        return {
            "schema_version": SCHEMA_VERSION,
            "passed": self.passed,
            "judgements": [
                to_json(judgement) | {"rule": str(judgement.rule), "reason": judgement.rule.reason}
                for judgement in self.judgements
            ],
        }


def gate(
    runs: str | Path | AuditResult | Sequence[str | Path | AuditResult],
    rule: str | Sequence[str] = (),
    *,
    rules: str | Path | None = None,
    junit: str | Path | None = None,
) -> GateReport:
    """Do finished runs keep to rules? Each is judged on the worse end of its number's interval.

    `runs` are folders of finished runs or results of audits, one or several; `rule` one or several texts such as
    "names.sentiment.delta.worst < 2.0" (docs/gate.md lists the paths); `rules` a TOML file of more; `junit` a file to
    write the judgements to as JUnit XML. `report.passed` says whether all of them hold.
    """
    parsed = [parse_rule(text) for text in ([rule] if isinstance(rule, str) else rule)]
    parsed += read_rules(Path(rules)) if rules else []
    several = [runs] if isinstance(runs, str | Path | AuditResult) else runs
    results: dict[str, AuditResult] = {}
    for run in several:
        if isinstance(run, AuditResult):
            results["result"] = run
        else:
            results[str(run)] = read_run(Path(run), audits_with("gate_and_card", "gate_numbers")).result
    if junit is not None:
        check_replaceable(Path(junit), is_junit)
    report = GateReport(judge(results, parsed))
    if junit is not None:
        _write_junit(Path(junit), report)
    return report


def _write_junit(path: Path, report: GateReport) -> None:
    with writing(path):
        write_whole(path, junit_xml(report.judgements))
