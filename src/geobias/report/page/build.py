"""`report.html`: sections of finished runs as one page."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import geobias
from geobias.files import write_whole, writing
from geobias.report.colours import DIVERGING_SCHEME, SEQUENTIAL_SCHEME, THEMES
from geobias.report.page import about
from geobias.report.page.blocks import Block, Chart, Choice, Number, Section, Table, WorldMap
from geobias.report.page.run_details import RunAccount
from geobias.report.page.world_map import shared_shapes
from geobias.report.tables import csv_text

NUMBERS = 3
FIGURE_WIDTH = 640


def is_page(text: str) -> bool:
    """Whether a text is a page of geobias."""
    return '<meta name="generator" content="geobias ' in text[:4096]


def render(sections: Sequence[Section], accounts: Sequence[RunAccount], description: str) -> str:
    """The page: one summary, the sections, one account of how each run was made."""
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup

    loader = PackageLoader("geobias.report.page")
    environment = Environment(loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True)

    def source(name: str) -> Markup:
        return Markup(loader.get_source(environment, name)[0])

    return environment.get_template("page.html").render(
        title=about.title([model.name for account in accounts for model in account.result.model_identities]),
        asked=description,
        sections=sections,
        numbers=_first_numbers(sections),
        runs=accounts,
        limits=about.LIMITS,
        sources=about.SOURCES,
        citations=about.CITATIONS,
        version=geobias.__version__,
        made=f"{datetime.now(UTC):%Y-%m-%d}",
        style=source("page.css"),
        script=source("page.js"),
        bundle=Markup(_bundle()),
        data=Markup(_inert(_data(sections))),
    )


def _first_numbers(sections: Sequence[Section]) -> list[Number]:
    """The first number of every section, then the second ones, and so on: three in all."""
    longest = max((len(section.numbers) for section in sections), default=0)
    in_turn = [section.numbers[k] for k in range(longest) for section in sections if k < len(section.numbers)]
    return in_turn[:NUMBERS]


def _data(sections: Sequence[Section]) -> dict[str, Any]:
    """What the page's script draws."""
    charts: dict[str, Any] = {}
    worlds: dict[str, Any] = {}

    def add(block: Block) -> None:
        if isinstance(block, Choice):
            for option in block.options.values():
                add(option)
        elif isinstance(block, Chart):
            charts[block.id] = {"spec": block.spec, "csv": csv_text(block.rows)}
        elif isinstance(block, Table):
            charts[block.id] = {"csv": csv_text(block.rows)}
        elif isinstance(block, WorldMap):
            worlds[block.id] = {"spec": block.spec, **block.data}

    for section in sections:
        for block in section.blocks:
            add(block)
    shapes = shared_shapes() if worlds else {"topology": None, "dots": []}
    schemes = {"sequential": SEQUENTIAL_SCHEME, "diverging": DIVERGING_SCHEME}
    return {"themes": THEMES, "schemes": schemes, "charts": charts, "worlds": worlds, **shapes}


def _inert(data: Mapping[str, Any]) -> str:
    """JSON in which no text can end the script that holds it, or begin another."""
    text = json.dumps(data, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    for mark in "<>&\u2028\u2029":
        text = text.replace(mark, f"\\u{ord(mark):04x}")
    return text


@cache
def _bundle() -> str:
    """Vega, Vega-Lite and Vega-Embed as one script."""
    import vl_convert

    return vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;").replace("</script", "<\\/script")


def save_figures(folder: Path, sections: Sequence[Section]) -> list[str]:
    """Every chart as SVG and PNG, except the interactive map, which `geobias map` draws; returns their names."""
    charts = [chart for section in sections for chart in _charts(section)]
    for chart in charts:
        save_figure(folder / chart.id, chart)
    return [chart.id for chart in charts]


def save_figure(stem: Path, chart: Chart) -> None:
    """A chart as `stem`.svg and .png, on white."""
    import vl_convert

    config = THEMES["light"] | {"background": "white"}
    spec = {**chart.spec, "config": config, "width": FIGURE_WIDTH, "title": chart.title}
    for kind, content in (
        ("svg", vl_convert.vegalite_to_svg(spec).encode()),
        ("png", vl_convert.vegalite_to_png(spec, scale=2)),
    ):
        path = stem.with_name(f"{stem.name}.{kind}")
        with writing(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            write_whole(path, content)


def _charts(section: Section) -> Iterator[Chart]:
    for block in section.blocks:
        if isinstance(block, Choice):
            yield from block.options.values()
        elif isinstance(block, Chart):
            yield block
