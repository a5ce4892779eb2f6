"""The table that an audit in a single module gets: the ends of long lists, readable numbers, any columns."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from rich.table import Table

from geobias.audits.default_parts import make_report
from geobias.report.render import draw_full, draw_summary


def make_result(rows: list[dict[str, Any]]) -> Any:
    return SimpleNamespace(audit="letters", list_tidy_rows=lambda: rows, summarise=lambda: ["letters"])


def test_long_lists_are_cut_but_in_the_full_report() -> None:
    result = make_result([{"country": f"C{i}", "value": i / 3} for i in range(100)])
    table = draw_summary(make_report(result), 80)
    assert [str(cell) for cell in table.columns[0].cells] == ["C0", "C1", "C2", "C3", "C96", "C97", "C98", "C99"]
    assert str(list(table.columns[1].cells)[1]) == "0.3333"
    full, *_ = draw_full(make_report(result), 80)
    assert isinstance(full, Table) and full.row_count == 100


def test_rows_may_have_other_columns() -> None:
    table = draw_summary(
        make_report(make_result([{"country": "Chad", "value": None}, {"country": "Peru", "other": 2}])), 80
    )
    assert [column.header for column in table.columns] == ["country", "value", "other"]
    assert [list(column.cells) for column in table.columns[1:]] == [["–", "–"], ["–", "2"]]
