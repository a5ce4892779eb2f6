"""Every colour of maps, charts and figures. The colours of the page around them are in page/templates/page.css."""

from __future__ import annotations

from typing import Any, Literal

# Maps and cells: Vega's colour schemes for values from low to high, and for values on both sides of 0.
SEQUENTIAL_SCHEME: Literal["viridis"] = "viridis"
DIVERGING_SCHEME: Literal["blueorange"] = "blueorange"
# Figures on white: text, captions, land without a value, borders, the hatching that says "no data".
INK, SOFT_INK, LAND, BORDER, HATCH = "#222222", "#666666", "#f0f0ee", "#ffffff", "#a8a8a4"
# Okabe and Ito's colours, which stay apart for colour-blind readers.
BLUE, ORANGE, GREY = "#0072B2", "#D55E00", "#8a8a86"
LIGHTER_BLUE = "#4AA8E0"  # on a dark page
SERIES = [BLUE, "#E69F00", "#009E73", "#CC79A7", "#56B4E9", ORANGE, "#B5A900", "#7A7A7A"]
CONTINENT_COLOURS = {
    "Africa": "#E69F00",
    "Asia": ORANGE,
    "Europe": BLUE,
    "North America": "#56B4E9",
    "Oceania": "#CC79A7",
    "South America": "#009E73",
}
DARK_TEXT, LIGHT_TEXT = "#000000", "#ffffff"  # inside coloured cells: one of them can be read on any colour
FONT = "system-ui, -apple-system, Segoe UI, Roboto, Liberation Sans, Arial, sans-serif"


def map_scheme(centre: float | None) -> Literal["viridis", "blueorange"]:
    """The colour scheme of a map: diverging where its values have a centre."""
    return SEQUENTIAL_SCHEME if centre is None else DIVERGING_SCHEME


def _config(ink: str, soft: str, grid: str, empty: str, blue: str) -> dict[str, Any]:
    quiet = {"labelColor": soft, "titleColor": soft, "titleFontWeight": "normal", "labelFontSize": 12}
    return {
        "background": "transparent",
        "font": FONT,
        "view": {"stroke": None},
        "axis": quiet | {"gridColor": grid, "domainColor": grid, "tickColor": grid, "labelLimit": 190},
        "legend": quiet,
        "title": {"color": ink},
        "text": {"color": ink},
        "rule": {"color": soft},
        "range": {"category": [blue, *SERIES[1:]]},
        "params": [{"name": "blue", "value": blue}],
        "geoshape": {"fill": empty, "stroke": grid},
    }


THEMES = {
    "light": _config("#1c1c1a", "#595955", "#e4e4e0", "#ebebe7", BLUE),
    "dark": _config("#f2f2ee", "#b4b4ae", "#3a3a38", "#2e2e2c", LIGHTER_BLUE),
}
