"""`geobias.gate`: rules about the numbers and the findings of finished runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from geobias.audits.gate.rules import Judgement, Rule, judge, parse_rule, read_rules
from geobias.audits.gate.terminal import is_junit, junit_xml, list_failures
from geobias.audits.pages import read_runs, reads_runs
from geobias.errors import InputError
from geobias.files import check_replaceable, write_whole, writing
from geobias.report.notebook_html import render_result
from geobias.report.results import SCHEMA_VERSION, AuditResult, to_json

if TYPE_CHECKING:
    import pandas as pd


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
    passed : bool
        Whether all rules hold.

    Examples
    --------
    >>> report = geobias.gate("runs/names", "findings.clear.moderate <= 0")  # doctest: +SKIP
    >>> report.to_frame()  # doctest: +SKIP
    """

    judgements: list[Judgement]
    not_judged: list[str] = field(default_factory=list)

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


def judge_runs(results: Mapping[str, AuditResult], rules: Sequence[Rule]) -> GateReport:
    """The outcome of rules in runs by their names."""
    judgements = judge(results, rules)
    return GateReport(judgements, [name for name in results if name not in {each.run for each in judgements}])


@reads_runs
def gate(
    runs: str | Path | AuditResult | Sequence[str | Path | AuditResult],
    rule: str | Sequence[str] = (),
    *,
    rules: str | Path | None = None,
    junit: str | Path | None = None,
) -> GateReport:
    """Check finished runs against rules, each at the worse end of the 95 % interval of its number.

    Parameters
    ----------
    runs : str, Path, result or sequence of them
        Finished runs: their folders, also those of `audit`, or results of audits.
    rule : str or sequence of str, optional
        Rules such as "findings.clear.moderate <= 0" or "names.sentiment.delta.worst < 2.0".
    rules : str or Path, optional
        TOML file with more rules.
    junit : str or Path, optional
        File to write the outcome to, as JUnit XML.

    Returns
    -------
    GateReport
        `passed` says whether all rules hold, and `judgements` why one does not.

    Raises
    ------
    InputError
        If there is no run or no rule; if a rule cannot be read, names a number that no run has, or can never fail
        or never hold; or if the results of a run were changed after it.

    Examples
    --------
    >>> import geobias
    >>> result = geobias.audit_downstream("embedded/hate", limit=10, countries=["IE", "MX"])
    >>> geobias.gate(result, "downstream.hate.hate.worst < 0.9").passed
    True

    >>> geobias.gate(["runs/v1", "runs/v2"], rules="rules.toml", junit="gate.xml").passed  # doctest: +SKIP
    """
    parsed = [parse_rule(text) for text in ([rule] if isinstance(rule, str) else rule)]
    parsed += read_rules(Path(rules)) if rules else []
    results: dict[str, AuditResult] = {}
    for run in [runs] if isinstance(runs, str | Path | AuditResult) else runs:
        if isinstance(run, AuditResult):
            results[f"result {len(results) + 1}" if results else "result"] = run
        else:
            several = read_runs(Path(run))
            results |= {str(run) if len(several) == 1 else str(each.folder): each.result for each in several}
    if junit is not None:
        check_replaceable(Path(junit), is_junit)
    report = judge_runs(results, parsed)
    if junit is not None:
        with writing(Path(junit)):
            write_whole(Path(junit), junit_xml(report.judgements))
    return report
