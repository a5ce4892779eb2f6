"""A result in a notebook: what it is, the verdict, the findings and the rows of its main measure, without scripts.

Text and lines have the colours that the notebook gives them, so that both light and dark themes show it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from itertools import islice
from typing import Any

from geobias.report.findings import Finding, state_verdict

MOST_ROWS = 20
LABEL_WEIGHTS = {"clear": "font-weight:bold", "not testable": "border-style:dashed", "caution": "font-style:italic"}
_BORDER = "border-bottom:1px solid rgba(128,128,128,.4)"
_CELL = "padding:2px 10px 2px 0;background:none"


_LABEL = "display:inline-block;padding:0 7px;margin-right:6px;border:1px solid;border-radius:9px;font-size:85%"


def render_result(lines: Sequence[str], rows: Iterable[Mapping[str, Any]], findings: Sequence[Finding] = ()) -> str:
    """The lines of a summary, the findings, and a table of the first rows; columns without any value are left out."""
    shown = list(islice(rows, MOST_ROWS + 1))
    more = len(shown) > MOST_ROWS
    shown = shown[:MOST_ROWS]
    title, *others = (escape(line) for line in lines)
    parts = ["<div>", f"<p><b>{title}</b>", *(f"<br>{line}" for line in others), "</p>"]
    if findings:
        parts += [f"<p><b>{escape(state_verdict(findings))}</b></p>", *map(_render_finding, findings)]
    columns = [name for name in (shown[0] if shown else ()) if any(row[name] is not None for row in shown)]
    if columns:
        parts += ['<table style="border-collapse:collapse;background:none">', _render_header(columns)]
        parts += [_render_row([row[name] for name in columns]) for row in shown]
        parts.append("</table>")
    if more:
        parts.append(f"<p>The first {MOST_ROWS} rows. <code>to_frame()</code> has all of them, and all measures.</p>")
    return "\n".join([*parts, "</div>"])


def _render_finding(finding: Finding) -> str:
    label = f'<span style="{_LABEL};{LABEL_WEIGHTS.get(finding.label, "")}">{escape(finding.label_with_size)}</span>'
    return f'<p style="margin:4px 0">{label}{escape(finding.sentence)}</p>'


def _render_header(columns: Sequence[str]) -> str:
    cells = "".join(f'<th style="{_CELL};{_BORDER};text-align:left">{escape(name)}</th>' for name in columns)
    return f"<tr>{cells}</tr>"


def _render_row(values: Sequence[Any]) -> str:
    return f"<tr>{''.join(map(_render_cell, values))}</tr>"


def _render_cell(value: Any) -> str:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    align = "right" if is_number else "left"
    return f'<td style="{_CELL};text-align:{align}">{escape(_format_value(value))}</td>'


def _format_value(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.4g}" if isinstance(value, float) else str(value)
