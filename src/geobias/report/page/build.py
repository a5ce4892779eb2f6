"""`report.html`: the answers of finished runs as one page, and its pictures as files."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import geobias
from geobias.files import save_file
from geobias.report.findings import Finding, with_role
from geobias.report.glossary import Term, split_terms
from geobias.report.headlines import (
    DEMONSTRATION,
    SYMBOLS,
    count_answers,
    say_answer,
    say_size,
    state_headline,
)
from geobias.report.page.blocks import Block, Chart, Choice, Row, Section, Table
from geobias.report.page.charts import DotPlot
from geobias.report.page.finding_cards import (
    Card,
    draw_maps,
    hide_quoted_words,
    leave_out,
    make_cards,
    show_example,
    sort_cards,
    split_code,
)
from geobias.report.page.framed import (
    HERO_WIDTHS,
    WIDTHS,
    describe_source,
    draw_figure,
    draw_file,
    draw_social_card,
    read_template,
)
from geobias.report.page.world_map import MapPicture, draw_outlines
from geobias.report.results import to_json
from geobias.report.runs import FinishedRun
from geobias.report.tables import csv_text

SCRIPTS = ("page.js", "try.js", "tables.js", "terms.js")
LONGEST_VALUE = 400  # characters
HERO_ROWS = 11  # that fit the first screen with the headline and the caveat
FIXED_LIMITS = (
    "Every number describes a model and the texts it was tested with. None describes people.",
    "“No sign of it” is no proof of equal treatment: other texts, names or wordings may show a difference.",
    "The largest of many differences is named because it is the largest, so it tends to be overestimated.",
)


def is_page(text: str) -> bool:
    """Whether a text is a page of geobias."""
    return '<meta name="generator" content="geobias ' in text[:4096]


def render(
    sections: Sequence[Section],
    runs: Sequence[tuple[FinishedRun[Any], Section]],
    *,
    description: str,
    background: Background,
    tries: Sequence[Mapping[str, Any]] = (),
    hides_texts: bool = False,
) -> str:
    """The page: its headline and picture, all tests with a card each, and every table and chart, folded."""
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup

    loader = PackageLoader("geobias.report.page")
    environment = Environment(loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True)
    terms = TermMarker()
    drawn = {section.id: draw_maps(section) for section in sections}
    own = {section.id: (run, draw_maps(section)) for run, section in runs}
    cards = sort_cards([card for run, section in own.values() for card in make_cards(run.result.findings, section)])
    untested = [card for card in cards[1:] if card.finding.evidence == "not testable"]
    untested = untested if len(untested) > 1 else []  # share a card without pictures
    shown = [chart for card in cards if card not in untested for chart in card.charts]
    sources = {name: describe_source([run]) for name, (run, _) in own.items()}
    source = describe_source([run for run, _ in runs])
    of_charts = {
        chart.id: describe_source([run], model)
        for run, section in own.values()
        for model, chart in _name_models(section, [card for card in cards if card.id.startswith(section.id)])
    }
    findings = [finding for run, _ in runs for finding in run.result.findings]
    headline = state_headline(findings)
    scales = [each for name in ("scale", "squares") if (each := _find_scale(drawn.values(), cards, name))]
    shown += scales
    top = _shorten(cards[0].charts[0]) if cards and cards[0].charts else None

    def draw(chart: Chart, *, is_hero: bool = False) -> Markup:
        section = max((name for name in sources if chart.id.startswith(f"{name}-")), key=len, default="")
        of_run = sources.get(section, source)
        of_run = of_charts.get(chart.id.removesuffix("-first"), of_run)
        widths = HERO_WIDTHS if is_hero else WIDTHS
        return Markup(draw_figure(chart, of_run, widths, claim=headline if is_hero else ""))

    environment.filters |= {
        "terms": terms.mark,
        "hide_words": hide_quoted_words,
        "code_parts": split_code,
        "answer": say_answer,
        "size": say_size,
        "example": show_example,
        "draw": draw,
    }
    environment.globals |= {"symbols": SYMBOLS}
    rest = [leave_out(section, shown) for section in drawn.values()]
    models = {model.name: model for run, _ in runs for model in run.result.model_identities}
    return environment.get_template("page.html").render(
        title=_title([model.name for run, _ in runs for model in run.result.model_identities]),
        description=description,
        headline=headline,
        scales=scales,
        tries=tries,
        hides_texts=hides_texts,
        social=draw_social_card(
            headline, cards[0].finding, cards[0].charts[0], of_charts.get(cards[0].charts[0].id, source)
        )
        if cards and cards[0].charts
        else "",
        quote=_quote(headline, cards[0].finding, source) if cards else "",
        cards=cards,
        untested=untested,
        top=top,
        is_cut=top is not None and top is not cards[0].charts[0],
        questions=_group_questions(cards),
        tally=count_answers(findings),
        demonstrations=[name for name in models if name.startswith(DEMONSTRATION)],
        source=source,
        limits=[*FIXED_LIMITS, *dict.fromkeys(each.sentence for each in with_role(findings, "caution"))],
        sections=[section for section in rest if section.blocks],
        background=background,
        glossary=terms.seen,
        runs=runs,
        run_details=_run_details,
        version=geobias.__version__,
        date=f"{datetime.now(UTC):%Y-%m-%d}",
        style=Markup(read_template("page.css")),
        figure_style=Markup(read_template("figure.css")),
        scripts=[Markup(read_template(name)) for name in SCRIPTS],
        outlines=Markup(draw_outlines() if _has_map(drawn.values()) else ""),
        data=Markup(_inert({"tries": tries, "csv": _list_files(drawn.values(), sources, source)})),
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


def _shorten(chart: Chart) -> Chart:
    """The chart that leads with fewer rows, if it has many; it says how many it leaves out."""
    picture = chart.picture
    if not isinstance(picture, DotPlot) or (short := picture.shorten(HERO_ROWS)) is picture:
        return chart
    left_out = len(picture.order) - len(short.order)
    reading = f"{chart.reading} {left_out} of {len(picture.order)} are left out here: see its card below."
    return replace(chart, id=f"{chart.id}-first", picture=short, reading=reading)


def _find_scale(sections: Iterable[Section], cards: Sequence[Card], name: str) -> Chart | None:
    """The chart of everyday changes, or of predictions that change, of the test that leads."""
    if not cards:
        return None
    start, model = f"{cards[0].id.rpartition('-test-')[0]}-{name}", cards[0].finding.model
    blocks = [block for section in sections for block in section.blocks if block.id.startswith(start)]
    charts = [(name, each) for block in blocks for name, each in _list_options(block)]
    return next((each for name, each in charts if name in ("", model) and isinstance(each, Chart)), None)


def _list_options(block: Block) -> list[tuple[str, Block]]:
    return list(block.options.items()) if isinstance(block, Choice) else [("", block)]


def _name_models(section: Section, cards: Sequence[Card]) -> Iterator[tuple[str, Chart]]:
    """The charts that are of one model of several, with its name."""
    for block in section.blocks:
        if isinstance(block, Choice):
            yield from ((name, option) for name, option in block.options.items() if isinstance(option, Chart))
    yield from ((card.finding.model, chart) for card in cards for chart in card.charts)


def _quote(headline: str, hero: Finding, source: str) -> str:
    return f"{headline} ({say_size(hero)}; {hero.label}. {source} {hero.limit})"


def _group_questions(cards: Sequence[Card]) -> dict[str, list[Card]]:
    """The cards by what they ask, in the order of the first of each."""
    groups: dict[str, list[Card]] = {}
    for card in cards:
        groups.setdefault(card.question, []).append(card)
    return groups


def _has_map(sections: Iterable[Section]) -> bool:
    return any(isinstance(chart.picture, MapPicture) for chart in _charts(sections))


def _title(models: Sequence[str]) -> str:
    """What was audited."""
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


def _list_files(sections: Iterable[Section], sources: Mapping[str, str], source: str) -> dict[str, str]:
    """The CSV file of every chart and table; title, caveat and source are its first lines."""
    files = {}
    for section in sections:
        for block in section.blocks:
            for _, each in _list_options(block):
                if isinstance(each, Chart | Table):
                    lines = (each.title, each.reading, f"Source: {sources.get(section.id, source)}")
                    # The script reads the rows of a table from the page.
                    rows = csv_text(map(_round_row, each.rows)) if isinstance(each, Chart) else ""
                    files[each.id] = "".join(map(_quote_line, lines)) + rows
    return files


def _round_row(row: Row) -> Row:
    """Six digits of every number: the run's own files have all of them."""
    return {name: float(f"{value:.6g}") if isinstance(value, float) else value for name, value in row.items()}


def _quote_line(line: str) -> str:
    """A line of a CSV file in one cell, whatever is in it."""
    return '"# {}"\n'.format(" ".join(line.split()).replace('"', '""'))


def _inert(data: Mapping[str, Any]) -> str:
    """JSON in which no text can end the script that holds it, or begin another."""
    text = json.dumps(data, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    for mark in "<>&\u2028\u2029":
        text = text.replace(mark, f"\\u{ord(mark):04x}")
    return text


def save_figures(folder: Path, sections: Sequence[Section], source: str) -> list[str]:
    """Every picture as SVG; returns their names."""
    charts = list(_charts(map(draw_maps, sections)))
    for chart in charts:
        save_file(folder / f"{chart.id}.svg", draw_file(chart, source).encode())
    return [chart.id for chart in charts]


def _charts(sections: Iterable[Section]) -> Iterator[Chart]:
    blocks: Iterator[Block] = (block for section in sections for block in section.blocks)
    for block in blocks:
        for _, each in _list_options(block):
            if isinstance(each, Chart):
                yield each
