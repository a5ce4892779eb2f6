"""`report.html`: sections of finished runs as one page, and its charts as files."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache, lru_cache
from pathlib import Path
from textwrap import wrap
from typing import Any

import geobias
from geobias.report.colours import SEQUENTIAL_SCHEME, THEMES
from geobias.report.figures import FONT, save_images
from geobias.report.findings import state_verdict, with_role
from geobias.report.glossary import Term, split_terms
from geobias.report.page.blocks import Block, Chart, Choice, Section, Table, WorldMap
from geobias.report.page.finding_cards import (
    MOST_PRINTED,
    ROLE_TITLES,
    describe_interval,
    describe_numbers,
    describe_size,
    group_findings,
    hide_quoted_words,
    show_example,
    split_code,
)
from geobias.report.page.world_map import draw_still_map, map_data, map_shapes
from geobias.report.results import to_json
from geobias.report.runs import FinishedRun
from geobias.report.tables import csv_text

STYLES = ("page.css", "map.css")
SCRIPTS = ("ranking.js", "words.js", "map.js", "page.js", "tables.js", "terms.js")  # each uses those before it
FIGURE_WIDTH = 640
TITLE_LINE = 90  # characters
LONGEST_VALUE = 400  # characters


def is_page(text: str) -> bool:
    """Whether a text is a page of geobias."""
    return '<meta name="generator" content="geobias ' in text[:4096]


def render(
    sections: Sequence[Section],
    runs: Sequence[tuple[FinishedRun[Any], Section]],
    *,
    description: str,
    background: Background,
) -> str:
    """The page: verdict and findings, the sections, and how each run (with its section) was made."""
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup

    loader = PackageLoader("geobias.report.page")
    environment = Environment(loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True)
    terms = TermMarker()
    models = {
        name for run, _ in runs for model in run.result.model_identities for name in (model.name, model.short_name)
    }
    environment.filters |= {
        "terms": terms.mark,
        "hide_words": hide_quoted_words,
        "code_parts": split_code,
        "numbers": describe_numbers,
        "size": describe_size,
        "interval": describe_interval,
        "example": show_example,
        "is_by_model": lambda block: _is_by_model(block, models),
        "still": lambda chart: Markup(draw_still(chart)),
    }
    findings = [finding for run, _ in runs for finding in run.result.findings]
    environment.globals |= {"printed_ids": _printed_ids(sections, models), "draw_still_map": draw_still_map}
    return environment.get_template("page.html").render(
        title=_title([model.name for run, _ in runs for model in run.result.model_identities]),
        description=description,
        verdict=state_verdict(findings),
        answers=with_role(findings, "overall"),
        finding_groups=group_findings(findings),
        role_titles=ROLE_TITLES,
        most_printed=MOST_PRINTED,
        sections=[(section, _section_models(section, models)) for section in sections],
        background=background,
        glossary=terms.seen,
        runs=runs,
        run_details=_run_details,
        version=geobias.__version__,
        date=f"{datetime.now(UTC):%Y-%m-%d}",
        style=Markup("".join(loader.get_source(environment, file)[0] for file in STYLES)),
        scripts=[Markup(loader.get_source(environment, name)[0]) for name in SCRIPTS],
        bundle=Markup(_bundle()),
        data=Markup(_inert(_data(sections))),
    )


@dataclass(frozen=True)
class Background:
    """What the page says at its end: limits, sources of data, what to cite."""

    limits: Sequence[str]
    sources: Sequence[str]
    citations: Sequence[str]


class TermMarker:
    """Explains terms of the glossary where a block first uses them; keeps those that the page uses."""

    def __init__(self) -> None:
        self.seen: dict[str, Term] = {}
        self._blocks: dict[str, set[str]] = defaultdict(set)

    def mark(self, text: str, block: str) -> str:
        """The text as HTML, in which terms that are new to the block refer to their definitions."""
        from markupsafe import Markup, escape

        parts: list[str] = []
        for piece, term in split_terms(text):
            if term is None or term.id in self._blocks[block]:
                parts.append(escape(piece))
                continue
            self._blocks[block].add(term.id)
            self.seen[term.id] = term
            parts.append(Markup('<dfn tabindex="0" aria-describedby="term-{}">{}</dfn>').format(term.id, piece))
        return Markup("").join(parts)


def _is_by_model(block: Block, models: Set[str]) -> bool:
    return isinstance(block, Choice) and set(block.options) <= models


def _section_models(section: Section, models: Set[str]) -> list[str]:
    """The models between which the charts of a section choose."""
    choices = [block for block in section.blocks if isinstance(block, Choice) and _is_by_model(block, models)]
    return list(dict.fromkeys(name for choice in choices for name in choice.options))


def _printed_ids(sections: Sequence[Section], models: Set[str]) -> set[str]:
    """The charts on paper: of each section the first that has intervals, for all models."""
    printed = set()
    for section in sections:
        for block in section.blocks:
            charts = list(_block_charts(block))
            if charts and charts[0].rows and "marked" in charts[0].rows[0]:
                printed |= {chart.id for chart in (charts if _is_by_model(block, models) else charts[:1])}
                break
    return printed


def _title(models: Sequence[str]) -> str:
    """What was audited. What was seen of it, and how little that may be, is for the verdict and the counts below."""
    full_names = list(dict.fromkeys(models))
    short_names = ["/".join(Path(model).parts[-2:]) for model in full_names]
    names = short_names if len(set(short_names)) == len(full_names) else full_names
    if not names:
        return "Published numbers"
    if len(names) == 1:
        return f"Audit of {names[0]}"
    return f"Audit of {names[0]} and {names[1] if len(names) == 2 else f'{len(names) - 1} other models'}"


def _run_details(run: FinishedRun[Any]) -> dict[str, list[tuple[str, str]]]:
    """Everything needed to repeat a run: settings, models, counts, time and versions, each as names and values."""
    results = to_json(run.result)
    details: dict[str, Mapping[str, Any]] = {
        "Settings": {key: value for key, value in results["settings"].items() if value is not None},
        "Models": {
            f"{model.name}, {model.score}": {  # one model may have two scores
                key: value
                for key, value in to_json(model).items()
                if key not in ("name", "score") and value is not None
            }
            for model in run.result.model_identities
        },
        "Counts": results.get("counts", {}),
        "Run": {"finished": run.description.finished, "seconds": run.description.seconds},
        "Versions": results["versions"],
    }
    return {name: [(key, _format(value)) for key, value in part.items()] for name, part in details.items() if part}


def _format(value: Any) -> str:
    if isinstance(value, Mapping):
        text = ", ".join(f"{key} {_format(each)}" for key, each in value.items())
    elif isinstance(value, list):
        text = ", ".join(map(_format, value)) or "none"
    elif isinstance(value, int) and not isinstance(value, bool):
        text = f"{value:,}"
    else:
        text = "none" if value is None else str(value)
    return text if len(text) <= LONGEST_VALUE else f"{text[:LONGEST_VALUE]} …"


def _data(sections: Sequence[Section]) -> dict[str, Any]:
    """What the page's script draws."""
    charts: dict[str, Any] = {
        chart.id: {"spec": chart.spec, "csv": csv_text(chart.rows)} for chart in _charts(sections)
    }
    blocks = [block for section in sections for block in section.blocks]
    options = [option for block in blocks if isinstance(block, Choice) for option in block.options.values()]
    tables = [block for block in [*blocks, *options] if isinstance(block, Table)]
    charts |= {table.id: {"csv": csv_text(table.rows)} for table in tables}
    worlds = {block.id: map_data(block) for block in blocks if isinstance(block, WorldMap)}
    shapes = map_shapes() if worlds else {"topology": None, "dots": []}
    return {"themes": THEMES, "sequential_scheme": SEQUENTIAL_SCHEME, "charts": charts, "worlds": worlds, **shapes}


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
    """Every chart as SVG and PNG, except the interactive map; returns their names."""
    charts = list(_charts(sections))
    for chart in charts:
        save_figure(folder / chart.id, chart)
    return [chart.id for chart in charts]


def save_figure(stem: Path, chart: Chart) -> None:
    """A chart as `stem`.svg and .png, on white."""
    config = THEMES["light"] | {"background": "white"}
    save_images({**chart.spec, "config": config, "width": FIGURE_WIDTH, "title": wrap(chart.title, TITLE_LINE)}, stem)


def _charts(sections: Sequence[Section]) -> Iterator[Chart]:
    return (chart for section in sections for block in section.blocks for chart in _block_charts(block))


def _block_charts(block: Block) -> Iterator[Chart]:
    if isinstance(block, Choice):
        yield from (option for option in block.options.values() if isinstance(option, Chart))
    elif isinstance(block, Chart):
        yield block


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
