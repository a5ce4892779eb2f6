"""What colours mean, and the colours of figures of papers; those of pages are in page/templates/figure.css."""

from __future__ import annotations

from typing import Any, Literal

Tone = Literal["better", "worse", "neutral"]
"""What a difference means for the person: better, worse, or neither."""

# Maps: Vega's colour schemes for values from low to high, and for values on both sides of a centre: where orange is
# worse for the person, and where neither side is.
SEQUENTIAL_SCHEME: Literal["viridis"] = "viridis"
DIVERGING_SCHEME: Literal["blueorange"] = "blueorange"
NEUTRAL_SCHEME: Literal["purplegreen"] = "purplegreen"
# Figures on white: text, captions, land without a value, borders, the hatching that says "no data".
INK, SOFT_INK, LAND, BORDER, HATCH = "#222222", "#666666", "#f0f0ee", "#ffffff", "#a8a8a4"
# Okabe and Ito's colours, which stay apart for colour-blind readers.
BLUE, ORANGE = "#0072B2", "#D55E00"
CONTINENT_COLOURS = {
    "Africa": "#E69F00",
    "Asia": ORANGE,
    "Europe": BLUE,
    "North America": "#56B4E9",
    "Oceania": "#CC79A7",
    "South America": "#009E73",
}


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
