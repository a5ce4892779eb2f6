"""`result.plot()` draws the rows of `to_frame`: the ones the user chose, highest first, with marks and intervals."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from geobias.errors import InputError
from geobias.measures.estimates import Estimate
from geobias.report.notebook import MOST_DOTS, choose_rows, plot_rows
from geobias.report.rows import tidy_row


def rows(countries: int = 3, models: tuple[str, ...] = ("a",)) -> list[dict[str, Any]]:
    return [
        tidy_row({"model": model, "country": f"C{k}"}, measure, Estimate(float(k), k - 1.0, k + 1.0, p, p), label=label)
        for measure, label in (("delta", None), ("change", "hate"), ("change", "not-hate"))
        for model in models
        for k, p in ((k, 0.01 if k == 0 else 0.5) for k in range(countries))
    ]


def drawn(**choices: str) -> list[dict[str, Any]]:
    return list(choose_rows(rows(), choices).rows)


def test_the_first_measure_is_drawn_the_highest_place_first() -> None:
    values = drawn()
    assert [row["country"] for row in values] == ["C2", "C1", "C0"]
    assert {row["measure"] for row in values} == {"delta"} and [row["marked"] for row in values] == [False, False, True]


def test_a_label_and_a_model_are_chosen() -> None:
    assert {row["label"] for row in drawn(measure="change", label="not-hate")} == {"not-hate"}
    two = rows(models=("a", "b"))
    assert choose_rows(two, {}).title == "a, b" and choose_rows(two, {"model": "b"}).title == "b"


def test_of_many_places_both_ends_are_drawn() -> None:
    names = {row["country"] for row in choose_rows(rows(2 * MOST_DOTS), {}).rows}
    assert {"C0", f"C{2 * MOST_DOTS - 1}"} <= names and f"C{MOST_DOTS}" not in names


def test_a_plot_is_shown_and_saved(tmp_path: Path) -> None:
    plot = plot_rows(rows(), {})
    assert "data:image/svg+xml;base64," in plot._repr_html_()
    plot.save(tmp_path / "plot.svg")
    assert "Source:" in (tmp_path / "plot.svg").read_text(encoding="utf-8")
    with pytest.raises(InputError, match=r"plot\.svg"):
        plot.save(tmp_path / "plot.png")


@pytest.mark.parametrize(
    ("choices", "message"),
    [
        ({"measure": "kl"}, r"no measure 'kl'\. Choose from: delta, change"),
        ({"measure": "change", "label": "joy"}, r"no label 'joy'\. Choose from: hate, not-hate"),
        ({"model": "c"}, "no model 'c'"),
    ],
)
def test_what_is_not_there_is_refused(choices: dict[str, str], message: str) -> None:
    with pytest.raises(InputError, match=message):
        plot_rows(rows(), choices)


def test_a_result_without_places_is_refused() -> None:
    with pytest.raises(InputError, match="no numbers by region"):
        plot_rows([{"table": "1", "value": 2.0}], {})
