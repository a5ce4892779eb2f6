"""`report.html`: finished runs, read from their folders, as one page. No model is needed for it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import geobias
from geobias.audits.compare.page import asked as asked_of_comparisons
from geobias.audits.compare.page import compare_section
from geobias.audits.downstream.page import asked as asked_downstream
from geobias.audits.downstream.page import downstream_section
from geobias.audits.drift.page import asked as asked_of_drift
from geobias.audits.drift.page import drift_section
from geobias.audits.finetune.page import asked as asked_of_finetuning
from geobias.audits.finetune.page import finetune_section
from geobias.audits.names.page import asked as asked_of_names
from geobias.audits.names.page import names_section
from geobias.audits.regions.page import asked as asked_of_regions
from geobias.audits.regions.page import regions_section
from geobias.audits.reproduce.page import asked as asked_of_papers
from geobias.audits.reproduce.page import reproduce_section
from geobias.files import write_whole, writing
from geobias.report import runs
from geobias.report.page import about
from geobias.report.page.parts import Block, Chart, Choice, Number, Section, Table, WorldMap
from geobias.report.page.side_by_side import Run, beside_section, short_names
from geobias.report.page.theme import THEMES
from geobias.report.page.world import shared_shapes
from geobias.report.tables import csv_text

NUMBERS = 3
FIGURE_WIDTH = 640


class Shown(NamedTuple):
    """How an audit is shown: its section of the page, and what was asked, in a sentence."""

    section: Callable[[Path, Mapping[str, Any], str], Section]
    asked: Callable[[Mapping[str, Any]], str]


AUDITS = {
    "regions": Shown(regions_section, asked_of_regions),
    "names": Shown(names_section, asked_of_names),
    "downstream": Shown(downstream_section, asked_downstream),
    "finetune": Shown(finetune_section, asked_of_finetuning),
    "compare": Shown(compare_section, asked_of_comparisons),
    "reproduce": Shown(reproduce_section, asked_of_papers),
    "drift": Shown(drift_section, asked_of_drift),
}


@dataclass(frozen=True)
class Finished:
    """A finished run: where it lies, and what it says."""

    folder: Path
    results: Mapping[str, Any]
    about: Mapping[str, Any]  # run.json


def write_page(path: Path, found: Sequence[Finished]) -> None:
    page = render(found).encode()
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, page)


def is_page(text: str) -> bool:
    """Whether a text is a page of geobias."""
    return '<meta name="generator" content="geobias ' in text[:4096]


def render(found: Sequence[Finished]) -> str:
    """The page of these runs: a section for each, one summary, one account of how it was made."""
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup

    own = sections_of(found)
    sections = [*side_by_side(found), *own]
    loader = PackageLoader("geobias.report.page")
    environment = Environment(loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True)

    def source(name: str) -> Markup:
        return Markup(loader.get_source(environment, name)[0])

    return environment.get_template("page.html").render(
        title=about.title([run.results for run in found]),
        asked=" ".join(AUDITS[run.results["audit"]].asked(run.results) for run in found),
        sections=sections,
        numbers=_three(sections),
        runs=[about.account(run.results, run.about, section) for run, section in zip(found, own, strict=True)],
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


def sections_of(found: Sequence[Finished]) -> list[Section]:
    """A section for each run; where an audit has several, a number in their ids and the run in their titles."""
    times = Counter(run.results["audit"] for run in found)
    seen: Counter[str] = Counter()
    sections = []
    for run, called in zip(found, short_names([run.folder for run in found]), strict=True):
        audit = run.results["audit"]
        seen[audit] += 1
        name = audit if seen[audit] == 1 else f"{audit}-{seen[audit]}"
        section = AUDITS[audit].section(run.folder, run.results, name)
        several = times[audit] > 1
        sections.append(replace(section, title=f"{section.title} ({called})") if several else section)
    return sections


def side_by_side(found: Sequence[Finished]) -> list[Section]:
    """The section that comes before those of the runs, where an audit has several."""
    called = short_names([run.folder for run in found])
    section = beside_section([Run(name, run.results) for name, run in zip(called, found, strict=True)])
    return [section] if section else []


def _three(sections: Sequence[Section]) -> list[Number]:
    """The first number of every section, then the second ones, and so on: three in all."""
    most = max((len(section.numbers) for section in sections), default=0)
    turns = [section.numbers[k] for k in range(most) for section in sections if k < len(section.numbers)]
    return turns[:NUMBERS]


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
    return {"themes": THEMES, "charts": charts, "worlds": worlds, **shapes}


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


def save_figures(folder: Path, found: Sequence[Finished]) -> list[str]:
    """Every chart that stands still as SVG and PNG; maps are `geobias map`'s."""
    sections = (*side_by_side(found), *sections_of(found))
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


def read(folder: Path, audits: Iterable[str] = AUDITS) -> list[Finished]:
    """The finished run in a folder, or all of them where it holds several; of these audits, or refused."""
    return [Finished(each, runs.read_run(each, *audits), runs.read_about(each)) for each in runs.runs_in(folder)]
