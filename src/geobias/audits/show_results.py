"""What every command prints at the end: the headline, the findings, one small table, the page, and what to do next."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from geobias.audits.reports import ask_everyday, draw_full, draw_summary
from geobias.checks import escape, shorten_middle
from geobias.models.sources import MITIGATED
from geobias.report.findings import DIFFERENCES, EVIDENCE_LABELS, OUT, Finding, Role, with_role
from geobias.report.headlines import choose_hero, rank_answers, say_answer, say_number, state_headline
from geobias.report.results import SCHEMA_VERSION, AuditResult
from geobias.report.run_folder import PAGE
from geobias.report.runs import shown
from geobias.report.tables import console, print_json

LINES, LINES_OF_SEVERAL = 25, 30  # of one audit, and of several, at `USUAL_WIDTH`
USUAL_WIDTH = 80  # columns
LONGEST_MODEL_NAME = 36
TERMS = "Terms: geobias explain TERM"
MOST_ROWS = 12  # tests of several audits
DETAILS_FIRST = 3  # before answers that found nothing
ROLES: tuple[Role, ...] = get_args(Role)
STYLES = {"clear": "bold red", "suggestive": "yellow", "caution": "yellow", "no evidence": "green"}


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
    tables = [*_list_tests(results), *_describe_wrappers(results)]
    if view.full:
        tables = [part for result in results for part in draw_full(result, out.width)]
    _show(out, findings, tables, folder, view, lines, with_findings=view.full)


def _show(
    out: Console,
    findings: Sequence[Finding],
    tables: Sequence[RenderableType],
    folder: Path,
    view: View,
    lines: int,
    *,
    with_findings: bool = True,
) -> None:
    """Everything, in at most so many lines at the usual width; with `--full` and `--quiet` as many as it takes."""
    headline = Text(state_headline(findings), style="bold")
    if view.quiet:
        out.print(headline, _findings_table(findings), sep="\n")
        return
    first = choose_hero(findings)
    closing = (
        [Text(f"Limits: {first.limit}", style="dim"), Text(f"Next: {_name_folder(first, folder)}")] if first else []
    )
    left = (
        lines - sum(map(_count_lines, [headline, *tables, *closing])) - 3
    )  # the page, the terms, and how many more there are
    selection = findings if view.full else _choose_findings(findings, left)
    out.print(headline)
    if with_findings:
        out.print(_findings_table(selection))
    if with_findings and len(selection) < len(findings):
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
    differences = [answer for answer in rank_answers(answers) if answer.evidence in DIFFERENCES]
    others = [answer for answer in answers if answer.evidence not in DIFFERENCES]
    first = (differences or others)[:1]
    rest = [*differences, *details[:DETAILS_FIRST], *others, *details[DETAILS_FIRST:]]
    return [*first, *cautions[:1], *(finding for finding in rest if finding not in first), *cautions[1:]]


def _count_lines(part: RenderableType) -> int:
    usual = Console(width=USUAL_WIDTH, highlight=False, markup=False, emoji=False)
    return len(usual.render_lines(part, pad=False))


def _list_tests(results: Sequence[AuditResult]) -> Iterator[RenderableType]:
    """Each question, and below it the answer of every model with its size and its certainty."""
    groups: dict[str, list[Finding]] = {}
    for result in results:
        for answer in with_role(result.findings, "overall"):
            groups.setdefault(ask_everyday(result, answer), []).append(answer)
    several = [answer for answers in groups.values() for answer in answers]
    texts = [[shorten_middle(each.short_model, LONGEST_MODEL_NAME), _say_briefly(each)] for each in several]
    widths = [max(map(len, column)) for column in zip(*texts, strict=True)]
    left = MOST_ROWS
    for question, answers in groups.items():
        yield Text(question, style="bold")
        table = Table.grid(padding=(0, 2, 0, 0))
        for width in (*widths, None, None):
            table.add_column(min_width=width, overflow="fold")
        for answer in rank_answers(answers)[: max(left, 1)]:
            certainty = Text(answer.label, style=STYLES.get(answer.label, ""))
            name = shorten_middle(answer.short_model, LONGEST_MODEL_NAME)
            size = say_number(answer) if answer.size_word else ""
            table.add_row(f"  {name}", _say_briefly(answer), certainty, size)
        yield table
        left -= len(answers)
    if left < 0:
        yield Text(f"and {-left} more on the page", style="dim")


def _say_briefly(answer: Finding) -> str:
    """ "Yes, small."."""
    return say_answer(answer).replace("the difference is ", "")
