"""A result in a notebook: what it is, the verdict, the findings and the rows of its main measure; and `result.plot()`.

Text and lines of the HTML have the colours that the notebook gives them, so that both light and dark themes show it.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from geobias.checks import describe_choices
from geobias.errors import InputError
from geobias.files import save_file
from geobias.report.findings import Finding
from geobias.report.headlines import state_headline

if TYPE_CHECKING:
    from geobias.report.page.blocks import Chart

PLACES = ("place", "country", "region", "countries")  # columns that name what a row is about
MODELS = ("model", "second_model")
MOST_DOTS = 40  # with more places the chart shows both ends
MOST_ROWS = 20
FILLED = "Filled: distinguishable (adjusted p below 0.05). Hollow: not. Line: 95 % interval."
LABEL_WEIGHTS = {"clear": "font-weight:bold", "not testable": "border-style:dashed", "caution": "font-style:italic"}
_BORDER = "border-bottom:1px solid rgba(128,128,128,.4)"
_CELL = "padding:2px 10px 2px 0;background:none"


_LABEL = "display:inline-block;padding:0 7px;margin-right:6px;border:1px solid;border-radius:9px;font-size:85%"


def render_result(lines: Sequence[str], rows: Iterable[Mapping[str, Any]], findings: Sequence[Finding] = ()) -> str:
    """The lines of a summary, the findings with a picture, and a table of the first rows without empty columns."""
    rows = list(rows)
    shown = list(islice(rows, MOST_ROWS + 1))
    more = len(shown) > MOST_ROWS
    shown = shown[:MOST_ROWS]
    title, *others = (escape(line) for line in lines)
    parts = ["<div>", f"<p><b>{title}</b>", *(f"<br>{line}" for line in others), "</p>"]
    if findings:
        parts += [f"<p><b>{escape(state_headline(findings))}</b></p>", *map(_render_finding, findings)]
    if findings and any(row.get("value") is not None and any(name in row for name in PLACES) for row in rows):
        parts.append(plot_rows(rows, {})._repr_html_())
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


@dataclass(frozen=True)
class Plot:
    """A picture: notebooks show it, and `save` writes it."""

    svg: str

    def save(self, path: str | Path) -> None:
        """Write the picture as an SVG file, which every browser opens."""
        if Path(path).suffix.lower() != ".svg":
            raise InputError(f"A plot is saved as SVG. Name a file such as {Path(path).with_suffix('.svg')}.")
        save_file(Path(path), self.svg.encode())

    def _repr_html_(self) -> str:
        image = b64encode(self.svg.encode()).decode()
        return f'<img alt="" style="max-width:100%" src="data:image/svg+xml;base64,{image}">'


def plot_rows(rows: Iterable[Mapping[str, Any]], choices: Mapping[str, str | None]) -> Plot:
    """Dots with intervals, highest first; `choices` select by measure, label, reference (`against`) and model."""
    from geobias.report.page.framed import draw_file

    return Plot(draw_file(choose_rows(list(rows), choices), "this result"))


def choose_rows(rows: Sequence[Mapping[str, Any]], choices: Mapping[str, str | None]) -> Chart:
    """The chart of the chosen rows; of too many places both ends."""
    from geobias.report.page.blocks import Chart
    from geobias.report.page.charts import dots

    selection, title = _select(rows, choices)
    place = next(name for name in PLACES if name in selection[0])
    models = list(dict.fromkeys(_get_model(row) for row in selection))
    ranked = sorted(selection, key=lambda row: -row["value"])
    names = list(dict.fromkeys(row[place] for row in ranked))
    if len(names) > MOST_DOTS:
        names = [*names[: MOST_DOTS // 2], *names[-MOST_DOTS // 2 :]]
    shown = [
        {**row, "model": _get_model(row), "marked": row["is_marked"]} for row in ranked if row[place] in set(names)
    ]
    series = "model" if len(models) > 1 else ""
    picture = dots(shown, label=place, title=title, order=names, colour=series)
    return Chart("plot", ", ".join(models) or title, FILLED, title, picture, shown)


def _get_model(row: Mapping[str, Any]) -> str:
    return str(next((row[name] for name in MODELS if name in row), ""))


def _select(
    rows: Sequence[Mapping[str, Any]], choices: Mapping[str, str | None]
) -> tuple[list[Mapping[str, Any]], str]:
    """The rows of one measure: what the user chose, and for the rest what comes first."""
    numbers = [row for row in rows if row.get("value") is not None and any(name in row for name in PLACES)]
    if not numbers:
        raise InputError("This result has no numbers by region to plot. Use to_frame().")
    model = choices.get("model")
    if model is not None:
        models = list(dict.fromkeys(map(_get_model, numbers)))
        choice = _find(model, models, "model")
        numbers = [row for row in numbers if _get_model(row) == choice]
    for column in ("measure", "label", "against"):
        values = list(dict.fromkeys(row[column] for row in numbers if row[column] is not None))
        name = choices.get(column)
        choice = numbers[0][column] if name is None else _find(name, values, column)
        numbers = [row for row in numbers if row[column] == choice]
    first = numbers[0]
    title = first["measure"] if first["label"] is None else f"{first['measure']} of {first['label']}"
    return numbers, title if first["against"] is None else f"{title}, against the {first['against']}"


def _find(name: str, values: Sequence[str], column: str) -> str:
    if name not in values:
        raise InputError(f"This result has no {column} {name!r}. {describe_choices(name, values)}")
    return name
