"""What a gate found: in Python, on the terminal, as plain text and as JUnit XML, which most CI services show."""

from __future__ import annotations

import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

from rich.console import Console
from rich.table import Table

from geobias import __version__
from geobias.audits.gate.rules import Judgement, Rule, judge, parse_rule, read_rules
from geobias.audits.pages import find_run_folder, list_several, read_runs
from geobias.errors import InputError
from geobias.files import check_replaceable, write_whole, writing
from geobias.report.headlines import state_headline
from geobias.report.notebook import render_result
from geobias.report.results import SCHEMA_VERSION, AuditResult, to_json
from geobias.report.tables import NOTHING, console, format_interval, titled_table

if TYPE_CHECKING:
    import pandas as pd

    from geobias.audits.finished_runs import Run

WIDE = 160  # of a table that goes into a message
SUITE = "geobias gate"
NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
MEANING = (
    "A rule with < is judged on the high end of the interval, one with > on the low end: an inconclusive "
    "run does not pass. For a number that can be negative, its absolute value is used. Findings that "
    "could not be tested do not pass either."
)


@dataclass(frozen=True, repr=False)
class GateReport:
    """The outcome of `gate`: every rule, checked in every run of its audit.

    Attributes
    ----------
    judgements : list of Judgement
        For each rule and run: `rule`, `run`, `value`, `low`, `high`, `bound` (the end of the interval that was
        checked), `passed` and `why`.
    not_judged : list of str
        The runs that no rule is about: of another audit, or without the model of the rule.
    headline : str
        The sentence with which the page of the runs begins.
    passed : bool
        Whether all rules hold.

    Examples
    --------
    >>> report = geobias.gate("runs/names", "findings.clear.moderate <= 0")  # doctest: +SKIP
    >>> report.to_frame()  # doctest: +SKIP
    """

    judgements: list[Judgement]
    not_judged: list[str] = field(default_factory=list)
    headline: str = ""

    def __post_init__(self) -> None:
        if not self.judgements:
            raise InputError("No run was judged, so nothing passes. Pass at least one finished run and one rule.")

    def __repr__(self) -> str:
        return "\n".join(self._summary_lines())

    def _repr_html_(self) -> str:
        return render_result(self._summary_lines(), self._rows())

    def _summary_lines(self) -> list[str]:
        failures = list_failures(self.judgements)
        title = f"{len(failures)} of {len(self.judgements)} rules failed" if failures else "all rules passed"
        more = [f"and {len(failures) - 1} more in to_frame()"] if len(failures) > 1 else []
        return [f"GateReport: {title}", *failures[:1], *more]

    def to_frame(self) -> pd.DataFrame:
        """Return a row for each rule and run.

        Returns
        -------
        pandas.DataFrame
            Columns: `rule`, `run`, `value`, `low`, `high`, `bound` (the end of the interval that was checked),
            `passed`.
        """
        import pandas as pd

        return pd.DataFrame(self._rows())

    def _rows(self) -> list[dict[str, Any]]:
        fields = ("run", "value", "low", "high", "bound", "passed")
        return [
            {"rule": str(judgement.rule), **{name: getattr(judgement, name) for name in fields}}
            for judgement in self.judgements
        ]

    @property
    def passed(self) -> bool:
        """Whether all rules hold."""
        return all(judgement.passed for judgement in self.judgements)

    def to_dict(self) -> dict[str, Any]:
        """Return the outcome as `geobias gate --json` prints it.

        Returns
        -------
        dict
            `schema_version`, `passed`, `judgements` and `not_judged`.
        """
        return {
            "schema_version": SCHEMA_VERSION,
            "passed": self.passed,
            "judgements": [
                to_json(judgement) | {"rule": str(judgement.rule), "reason": judgement.rule.reason}
                for judgement in self.judgements
            ],
            "not_judged": self.not_judged,
        }


def show(report: GateReport) -> None:
    out = console()
    if report.headline:
        out.print(report.headline, style="bold")
    out.print(gate_table(report.judgements))
    for line in [*list_failures(report.judgements), *list_notes(report)]:
        out.print(line)
    out.print(MEANING, style="dim")


def gate_table(judgements: Sequence[Judgement]) -> Table:
    """A row for each rule and run; every rule is judged, also after one has failed."""
    failed = sum(not judgement.passed for judgement in judgements)
    runs = dict.fromkeys(judgement.run for judgement in judgements)
    title = f"{failed} of {len(judgements)} FAILED" if failed else f"all {len(judgements)} passed"
    table = titled_table(f"Gate: {title}")
    table.add_column("rule", overflow="fold")
    if len(runs) > 1:
        table.add_column("run", overflow="fold")
    for heading in ("value", "95 % interval", "judged"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("")
    for judgement in judgements:
        run = [judgement.run] if len(runs) > 1 else []
        numbers = _digits(judgement.value), format_interval(judgement, ".4g"), _digits(judgement.bound)
        table.add_row(str(judgement.rule), *run, *numbers, "passed" if judgement.passed else "FAILED")
    return table


def list_failures(judgements: Sequence[Judgement]) -> list[str]:
    """For each rule that does not hold a sentence that says why."""
    return [
        f"{judgement.rule} ({judgement.run}): {judgement.explain()}" for judgement in judgements if not judgement.passed
    ]


def list_notes(report: GateReport) -> list[str]:
    """Results of another version of geobias, and runs that no rule is about: neither fails a rule."""
    versions = [_describe_version(judgement) for judgement in report.judgements]
    return [*dict.fromkeys(filter(None, versions)), *(f"No rule is about {run}." for run in report.not_judged)]


def _describe_version(judgement: Judgement) -> str:
    if judgement.written_by is None:
        return ""
    return f"The results of {judgement.run} are of geobias {judgement.written_by}; this is geobias {__version__}."


def gate_text(report: GateReport) -> str:
    """The table, the failures and the notes as plain text."""
    text = io.StringIO()
    Console(file=text, width=WIDE, highlight=False, markup=False, emoji=False).print(gate_table(report.judgements))
    return "\n".join([text.getvalue().rstrip(), *list_failures(report.judgements), *list_notes(report)])


def _digits(value: float | None) -> str:
    return NOTHING if value is None else f"{value:.4g}"


def junit_xml(judgements: Sequence[Judgement]) -> bytes:
    """A test case for each rule and run."""
    failures = sum(not judgement.passed for judgement in judgements)
    counts = {"tests": str(len(judgements)), "failures": str(failures)}
    suites = ElementTree.Element("testsuites", counts)
    suite = ElementTree.SubElement(suites, "testsuite", {"name": SUITE, "errors": "0", **counts})
    for judgement in judgements:
        names = {"classname": _xml(f"geobias.gate.{judgement.run}"), "name": _xml(str(judgement.rule)), "time": "0"}
        case = ElementTree.SubElement(suite, "testcase", names)
        if not judgement.passed:
            ElementTree.SubElement(case, "failure", {"message": _xml(judgement.explain()), "type": "gate"})
        if version := _describe_version(judgement):
            ElementTree.SubElement(case, "system-out").text = _xml(version)
    ElementTree.indent(suites)
    return ElementTree.tostring(suites, encoding="utf-8", xml_declaration=True) + b"\n"


def is_junit(text: str) -> bool:
    """Whether a text is the judgements of a gate and nothing else: other suites may have been merged into it."""
    return text.count("<testsuite ") == 1 and f'<testsuite name="{SUITE}"' in text


def _xml(text: str) -> str:
    """Without the characters that no XML may hold."""
    return NOT_XML.sub("\ufffd", text)


def check_rules(
    runs: Run | Sequence[Run], rule: Sequence[str], *, rules: str | Path | None, junit: str | Path | None
) -> GateReport:
    """Judge finished runs and results by the names that the report has of them."""
    parsed = [parse_rule(text) for text in rule]
    parsed += read_rules(Path(rules)) if rules else []
    results: dict[str, AuditResult] = {}
    for run in list_several(runs):
        if isinstance(run, AuditResult):
            results[f"result {len(results) + 1}" if results else "result"] = run
        else:
            folder = find_run_folder(run)
            several = read_runs(folder)
            results |= {str(folder) if len(several) == 1 else str(each.folder): each.result for each in several}
    if junit is not None:
        check_replaceable(Path(junit), is_junit)
    report = judge_runs(results, parsed)
    if junit is not None:
        with writing(Path(junit)):
            write_whole(Path(junit), junit_xml(report.judgements))
    return report


def judge_runs(results: Mapping[str, AuditResult], rules: Sequence[Rule]) -> GateReport:
    """The outcome of rules in runs by their names."""
    judgements = judge(results, rules)
    not_judged = [name for name in results if name not in {each.run for each in judgements}]
    headline = state_headline([finding for result in results.values() for finding in result.findings])
    return GateReport(judgements, not_judged, headline)
