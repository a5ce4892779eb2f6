"""What every command prints at the end: the verdict, the findings, one small table, the page, and what to do next."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from geobias.audits.reports import draw_full, draw_summary
from geobias.checks import escape, shorten_middle
from geobias.models.sources import MITIGATED
from geobias.report.findings import EVIDENCE_LABELS, OUT, Finding, Role, Size, with_role
from geobias.report.headlines import state_headline
from geobias.report.results import SCHEMA_VERSION, AuditResult
from geobias.report.run_folder import PAGE
from geobias.report.runs import shown
from geobias.report.tables import console, print_json, titled_table

LINES, LINES_OF_SEVERAL = 25, 40  # of one audit, and of several, at `USUAL_WIDTH`
USUAL_WIDTH = 80  # columns
LONGEST_MODEL_NAME = 30
TERMS = "Terms: geobias explain TERM"
MOST_ROWS = 8  # of the table of several audits
INTERVAL, PADDING = "95 % interval", 2  # a column of that table, and the space between columns
DETAILS_FIRST = 3  # before answers that found nothing
ROLES: tuple[Role, ...] = get_args(Role)
STYLES = {"clear": "bold red", "suggestive": "yellow", "caution": "yellow", "no evidence": "green"}
STRENGTHS = list(EVIDENCE_LABELS)  # the strongest first


@dataclass(frozen=True)
class View:
    """How much a command prints: `--full`, `--quiet`, `--json`, or findings and one table."""

    full: bool = False
    quiet: bool = False
    json: bool = False


def show_result(result: AuditResult, folder: Path, view: View) -> None:
    """One finished audit."""
    if view.json:
        print_json(result.to_dict())
        return
    out = console()
    if view.full:
        tables = draw_full(result, out.width)
    else:
        tables = draw_summary(result, out.width)
    tables += _describe_wrappers([result])
    _show(out, result.findings, tables, folder, view, LINES)


def show_results(results: Sequence[AuditResult], folder: Path, view: View, *, lines: int = LINES_OF_SEVERAL) -> None:
    """Finished audits with a common page in `folder`; with `--json` one object that lists them as `runs`."""
    if view.json:
        print_json({"schema_version": SCHEMA_VERSION, "runs": [result.to_dict() for result in results]})
        return
    out = console()
    findings = [finding for result in results for finding in result.findings]
    if view.full:
        tables = [part for result in results for part in draw_full(result, out.width)]
    else:
        tables = [_answers_table(findings, out.width)]
    tables += _describe_wrappers(results)
    _show(out, findings, tables, folder, view, lines, name_tests=False)  # the table names them


def _show(
    out: Console,
    findings: Sequence[Finding],
    tables: Sequence[RenderableType],
    folder: Path,
    view: View,
    lines: int,
    *,
    name_tests: bool = True,
) -> None:
    """Everything, in at most so many lines at the usual width; with `--full` and `--quiet` as many as it takes."""
    verdict = Text(state_headline(findings), style="bold")
    if view.quiet:
        out.print(verdict, _findings_table(findings), sep="\n")
        return
    first = _most_important(findings)
    closing = (
        [Text(f"Limits: {first.limit}", style="dim"), Text(f"Next: {_name_folder(first, folder)}")] if first else []
    )
    left = (
        lines - sum(map(_count_lines, [verdict, *tables, *closing])) - 3
    )  # the page, the terms, and how many more there are
    selection = findings if view.full else _choose_findings(findings, left)
    out.print(verdict)
    out.print(_findings_table(selection))
    if len(selection) < len(findings):
        out.print(f"{len(findings) - len(selection)} more on the page.", style="dim")
    for part in (*tables, *closing[:1]):
        out.print(part)
    out.print(TERMS, style="dim")
    out.print(f"Page: {shown(folder / PAGE)}", soft_wrap=True)  # in one piece, however narrow the terminal is
    for part in closing[1:]:
        out.print(part, soft_wrap=first is not None and OUT in first.next_step)  # a command must not break


def _describe_wrappers(results: Sequence[AuditResult]) -> list[RenderableType]:
    """What is inside each mitigated classifier that was loaded from a file, and what finds the names."""
    models = {model.name: model for result in results for model in result.model_identities}
    return [
        Text(escape(f"{model.name} is {model.wrapped_model} without names, which {model.finder} finds."), style="dim")
        for model in models.values()
        if model.name.startswith(MITIGATED) and model.wrapped_model is not None
    ]


def _name_folder(finding: Finding, folder: Path) -> str:
    """The next step, with the folder of the run in the command that it gives."""
    place = str(shown(folder))
    return re.sub(rf"\S*{OUT}/\S*", lambda match: shlex.quote(match[0].replace(OUT, place)), finding.next_step)


def _findings_table(findings: Sequence[Finding]) -> Table:
    """The label and the sentence of each; sentences wrap below themselves."""
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True, min_width=max(map(len, EVIDENCE_LABELS.values())))
    table.add_column(overflow="fold")
    for finding in findings:
        label = Text(finding.label, style=STYLES.get(finding.label, ""))
        if finding.size_word is not None:
            label.append(f"\n{finding.size_word}", style="not bold")  # below: beside it the sentence would be narrower
        table.add_row(label, Text(finding.sentence))
    return table


def _choose_findings(findings: Sequence[Finding], lines: int) -> list[Finding]:
    """As many of the most important findings as fit, in their usual order; always the first, also where it is long."""
    selection: list[Finding] = []
    for finding in _by_importance(findings):
        needed = _count_lines(_findings_table([finding]))
        if needed > lines and selection:
            break
        selection.append(finding)
        lines -= needed
    ids = set(map(id, selection))
    return [finding for role in ROLES for finding in with_role(findings, role) if id(finding) in ids]


def _by_importance(findings: Sequence[Finding]) -> list[Finding]:
    """The first difference and the first caution, which may take it back; other differences, what stands out, the rest.

    However many differences there are, the caution then has a place.
    """
    answers, details, cautions = (with_role(findings, role) for role in ROLES)
    differences = sorted(
        (answer for answer in answers if answer.evidence in ("clear", "suggestive")), key=_rank_evidence
    )
    others = [answer for answer in answers if answer.evidence not in ("clear", "suggestive")]
    first = (differences or others)[:1]
    rest = [*differences, *details[:DETAILS_FIRST], *others, *details[DETAILS_FIRST:]]
    return [*first, *cautions[:1], *(finding for finding in rest if finding not in first), *cautions[1:]]


def _count_lines(part: RenderableType) -> int:
    usual = Console(width=USUAL_WIDTH, highlight=False, markup=False, emoji=False)
    return len(usual.render_lines(part, pad=False))


def _most_important(findings: Sequence[Finding]) -> Finding | None:
    """The first answer with the strongest evidence: its limit and its next step are printed."""
    return min(with_role(findings, "overall"), key=_rank_evidence, default=None)


def _rank_evidence(finding: Finding) -> int:
    """0 for the strongest evidence."""
    return STRENGTHS.index(finding.evidence)


def _answers_table(findings: Sequence[Finding], width: int) -> Table:
    """The overall answer of every model in every audit, the clearest first."""
    table = titled_table("Largest differences")
    table.pad_edge = False
    answers = sorted(with_role(findings, "overall"), key=_rank_evidence)
    columns = {
        "audit": [answer.test for answer in answers],
        "model": [shorten_middle(answer.short_model, LONGEST_MODEL_NAME) for answer in answers],
        "difference": [
            "" if answer.size is None else f"{answer.size.value:.2g} {answer.size.unit}" for answer in answers
        ],
        INTERVAL: [_format_interval(answer.size) for answer in answers],
        "evidence": [answer.label_with_size for answer in answers],
    }
    # On a narrow terminal the table loses a column, never a digit; the sentences have the intervals, too.
    if sum(max(map(len, (heading, *cells))) + PADDING for heading, cells in columns.items()) > width:
        del columns[INTERVAL]
    for heading in columns:
        is_name = heading == "model"
        table.add_column(heading, no_wrap=not is_name, overflow="fold", min_width=10 if is_name else None)
    for row in list(zip(*columns.values(), strict=True))[:MOST_ROWS]:
        table.add_row(*row)
    if len(answers) > MOST_ROWS:
        table.caption = f"and {len(answers) - MOST_ROWS} more on the page"
    return table


def _format_interval(size: Size | None) -> str:
    if size is None or size.low is None or size.high is None:
        return ""
    return f"{size.low:.2g} to {size.high:.2g}"
