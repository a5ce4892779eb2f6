"""Charts as still pictures inside the page: for readers without scripts, and for paper."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from geobias.report.colours import THEMES
from geobias.report.figures import FONT
from geobias.report.page.blocks import Chart

STILL_WIDTH = 420  # pixels: two beside each other on paper are still legible
TAG = re.compile(r"<[^>]*>")
# The page says what a chart shows in its own words: labels of every mark would double the size of the picture.
LABEL = re.compile(r' (?:aria-[a-z]+|role|class)="[^"]*"')
LONG_NUMBER = re.compile(r"-?\d+\.\d{3,}")
ID = re.compile(r'(id="|url\(#|href="#)([^")]+)')


def draw_still(chart: Chart) -> str:
    """The chart as SVG in the colours of the light page, with ids that no other chart has."""
    svg = _draw(json.dumps(chart.spec, sort_keys=True))
    return TAG.sub(lambda tag: ID.sub(rf"\g<1>{chart.id}-still-\g<2>", tag[0]), svg)


@lru_cache(maxsize=512)  # a run's own page and the page of all runs draw the same charts
def _draw(spec: str) -> str:
    import vl_convert

    content: Mapping[str, Any] = json.loads(spec)
    svg = vl_convert.vegalite_to_svg({**content, "config": THEMES["light"] | {"font": FONT}, "width": STILL_WIDTH})
    return TAG.sub(lambda tag: _shorten_tag(tag[0]), svg)


def _shorten_tag(tag: str) -> str:
    return LONG_NUMBER.sub(lambda number: f"{float(number[0]):.2f}", LABEL.sub("", tag))
