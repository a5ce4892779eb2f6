"""`result.plot()`: one measure of a result as an Altair chart, drawn from the rows of `to_frame`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from geobias.checks import describe_choices
from geobias.errors import InputError

if TYPE_CHECKING:
    import altair as alt

PLACES = ("place", "country", "region", "countries")  # columns that name what a row is about
MODELS = ("model", "second_model")
MOST_ROWS = 40  # with more places the chart shows both ends


def plot_rows(rows: Iterable[Mapping[str, Any]], choices: Mapping[str, str | None]) -> alt.LayerChart:
    """Dots with intervals, highest first; `choices` select by measure, label, reference (`against`) and model."""
    import altair as alt

    from geobias.report.colours import THEMES
    from geobias.report.page.charts import dots

    selection, title = _select(list(rows), choices)
    place = next(name for name in PLACES if name in selection[0])
    models = list(dict.fromkeys(_get_model(row) for row in selection))
    ranked = sorted(selection, key=lambda row: -row["value"])
    names = list(dict.fromkeys(row[place] for row in ranked))
    if len(names) > MOST_ROWS:
        names = [*names[: MOST_ROWS // 2], *names[-MOST_ROWS // 2 :]]
    shown = [
        {**row, "model": _get_model(row), "marked": row["is_marked"]} for row in ranked if row[place] in set(names)
    ]
    spec = dots(shown, label=place, title=title, order=names, colour="model" if len(models) > 1 else None)
    theme = THEMES["light"]
    legend = {name: value for name, value in theme["legend"].items() if name != "layout"}  # not in Altair's schema
    spec |= {"config": {**theme, "legend": legend, "background": "white"}, "width": 560}
    if len(models) == 1:
        spec["title"] = models[0]
    return alt.LayerChart.from_dict(spec)


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
