"""Every colour of maps, charts and figures. The colours of the page around them are in page/templates/page.css."""

from __future__ import annotations

from typing import Any, Final, Literal

Tone = Literal["better", "worse", "neutral"]
"""What a difference means for the person: better, worse, or neither."""

# Maps: Vega's colour schemes for values from low to high, and for values on both sides of a centre: where orange is
# worse for the person, and where neither side is.
SEQUENTIAL_SCHEME: Literal["viridis"] = "viridis"
DIVERGING_SCHEME: Literal["blueorange"] = "blueorange"
NEUTRAL_SCHEME: Literal["purplegreen"] = "purplegreen"
# The same at equal steps, for pictures that Vega does not draw.
SCHEME_STEPS = {
    SEQUENTIAL_SCHEME: [
        "#440154",
        "#472f7d",
        "#39568c",
        "#2a788e",
        "#1f988b",
        "#22a884",
        "#54c568",
        "#a5db36",
        "#fde725",
    ],
    DIVERGING_SCHEME: [
        "#134b85",
        "#2f78b3",
        "#74a9cf",
        "#bcd4e6",
        "#f0eee9",
        "#fdd3a1",
        "#fca651",
        "#d96b0c",
        "#994a05",
    ],
    NEUTRAL_SCHEME: [
        "#5b1667",
        "#8c559b",
        "#b897c5",
        "#dfcce3",
        "#eff0ef",
        "#ceebca",
        "#90cc8f",
        "#459954",
        "#0e5e29",
    ],
}
SCHEME_ENDS = {
    SEQUENTIAL_SCHEME: ("dark", "light"),
    DIVERGING_SCHEME: ("blue", "orange"),
    NEUTRAL_SCHEME: ("purple", "green"),
}
PALE = 0.3  # opacity of countries that are not distinguishable from what they are compared with
# Figures on white: text, captions, land without a value, borders, the hatching that says "no data".
INK, SOFT_INK, LAND, BORDER, HATCH = "#222222", "#666666", "#f0f0ee", "#ffffff", "#a8a8a4"
# Okabe and Ito's colours, which stay apart for colour-blind readers.
BLUE, ORANGE, GREY = "#0072B2", "#D55E00", "#8a8a86"
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


def map_scheme(centre: float | None, tone: int) -> Literal["viridis", "blueorange", "purplegreen"]:
    """The colour scheme of a map: diverging where its values have a centre, with orange where one side is worse.

    `tone` is 1 where a higher value is better for the person (the scheme is then reversed), -1 where it is worse and 0
    where it is neither.
    """
    if centre is None:
        return SEQUENTIAL_SCHEME
    return DIVERGING_SCHEME if tone else NEUTRAL_SCHEME


def quiet_labels(colour: str, size: int) -> dict[str, Any]:
    """The look of axes and legends."""
    return {"labelColor": colour, "titleColor": colour, "titleFontWeight": "normal", "labelFontSize": size}


def mix(colour: str, background: str, share: float) -> str:
    """A colour on a background of which the given share remains, both as "#rrggbb"."""
    pairs = [(int(colour[k : k + 2], 16), int(background[k : k + 2], 16)) for k in (1, 3, 5)]
    return "#" + "".join(f"{round((1 - share) * front + share * back):02x}" for front, back in pairs)


def _config(ink: str, soft: str, grid: str, empty: str, tones: dict[Tone, str], paper: str) -> dict[str, Any]:
    """The look of charts on a page. Charts name its `params` in expressions, since a page may be light or dark."""
    quiet = quiet_labels(soft, 12)
    pale_tones = {f"pale_{tone}": mix(colour, paper, FADING) for tone, colour in tones.items()}
    params = {"ink": ink, "soft": soft, "empty": empty, **tones, **pale_tones}
    return {
        "background": "transparent",
        "font": "system-ui, -apple-system, Segoe UI, Roboto, Liberation Sans, Arial, sans-serif",
        "view": {"stroke": None},
        "axis": quiet | {"gridColor": grid, "domainColor": grid, "tickColor": grid, "labelLimit": 190},
        "legend": quiet | {"symbolOpacity": 1, "layout": {"top": {"direction": "vertical", "anchor": "start"}}},
        "title": {"color": ink, "anchor": "start", "offset": 12},
        "text": {"color": ink},
        "rule": {"color": soft},
        "range": {"category": [tones["better"], *SERIES[1:]]},
        "params": [{"name": name, "value": value} for name, value in params.items()],
        "geoshape": {"fill": empty, "stroke": grid},
    }


# Blue and vermilion stay apart for colour-blind readers; grey says neither. Pale: not clear (adjusted p >= 0.05).
FADING: Final = 0.5  # share of the paper in a pale colour
LIGHT_TONES: dict[Tone, str] = {"better": BLUE, "worse": ORANGE, "neutral": "#4d4d4a"}
DARK_TONES: dict[Tone, str] = {"better": "#4AA8E0", "worse": "#F58A3C", "neutral": "#cfcfc9"}
THEMES = {
    "light": _config("#1c1c1a", "#595955", "#e4e4e0", "#ebebe7", LIGHT_TONES, "#fdfdfb"),
    "dark": _config("#f2f2ee", "#b4b4ae", "#3a3a38", "#2e2e2c", DARK_TONES, "#191918"),
}
