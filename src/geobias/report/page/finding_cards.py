"""The cards of a page: each test with its question, its answer, its size and certainty, one text and its pictures."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from markupsafe import Markup

from geobias.report.findings import ExampleText, Finding, with_role
from geobias.report.headlines import rank_answers
from geobias.report.page.blocks import Block, CardText, Chart, Choice, Example, Part, Section, WorldMap
from geobias.report.page.world_map import MapPicture, list_map_rows

QUOTED = re.compile(r"(?<!\w)&#39;.+?&#39;(?!\w)")  # in HTML: not the apostrophe of a name


@dataclass(frozen=True)
class Card:
    """One test of one model."""

    id: str
    finding: Finding
    question: str
    charts: Sequence[Chart]
    related: Sequence[Finding]
    """What stands out besides, and what may be an artefact."""


def make_cards(findings: Sequence[Finding], section: Section) -> list[Card]:
    """A card for each answer of a run, with the pictures that its section names for it."""
    cards, models = [], {answer.model for answer in with_role(findings, "overall")}
    for n, answer in enumerate(with_role(findings, "overall")):
        others = [each for each in findings if each.role != "overall" and each.model == answer.model]
        related = [each for each in others if each.measure in (None, answer.measure)]
        question = _find_text(section, answer).question
        cards.append(
            Card(f"{section.id}-test-{n}", answer, question, list(_find_charts(section, answer, models)), related)
        )
    return cards


def sort_cards(cards: Sequence[Card]) -> list[Card]:
    """The test that leads first; a picture that several share is on the first of their cards."""
    order = [id(answer) for answer in rank_answers(card.finding for card in cards)]
    shown: set[str] = set()
    several = []
    for card in sorted(cards, key=lambda card: order.index(id(card.finding))):
        several.append(replace(card, charts=[chart for chart in card.charts if chart.id not in shown]))
        shown |= {chart.id for chart in card.charts}
    return several


def _find_text(section: Section, answer: Finding) -> CardText:
    default = section.cards.get("", CardText(answer.question))
    return section.cards.get(answer.measure or "", default)


def _find_charts(section: Section, answer: Finding, models: set[str]) -> Iterator[Chart]:
    """The charts of the blocks that the audit names for this answer; by default its first chart of this model.

    `models` are all: the chart of another is never shown.
    """
    names = _find_text(section, answer).blocks
    charts = [
        (block.id, name, option)
        for block in section.blocks
        for name, option in (block.options.items() if isinstance(block, Choice) else [("", block)])
        if isinstance(option, Chart) and (names or name in ("", answer.model, answer.measure))
    ]
    found: list[Chart] = []
    for name in names:
        of_block = [(key, chart) for block_id, key, chart in charts if block_id.startswith(f"{section.id}-{name}")]
        own = [chart for key, chart in of_block if key in (answer.model, answer.measure)]
        found += (own or [chart for key, chart in of_block if key not in models])[:1]
    # Where a model has none of the named charts, one of its own stands for them.
    others = models - {answer.model} | ({""} if names else set())
    yield from found or [chart for _, key, chart in charts if key not in others][:1]


def leave_out(section: Section, charts: Sequence[Chart]) -> Section:
    """The section without charts that are shown elsewhere."""
    shown = {chart.id for chart in charts}
    blocks: list[Block] = []
    for block in section.blocks:
        if isinstance(block, Choice):
            options = {name: option for name, option in block.options.items() if option.id not in shown}
            blocks += [replace(block, options=options)] if options else []
        elif block.id not in shown:
            blocks.append(block)
    return replace(section, blocks=blocks)


def draw_maps(section: Section) -> Section:
    """The section with a chart for each measure of a map."""
    return replace(section, blocks=[_draw_map(each) if isinstance(each, WorldMap) else each for each in section.blocks])


def _draw_map(block: WorldMap) -> Chart | Choice:
    charts = {
        measure.model or measure.title: Chart(
            f"{block.id}-{k}",
            measure.title,
            f"{measure.reading} {block.caution}".strip(),
            block.alt,
            MapPicture(measure, block.names),
            list_map_rows(measure, block.names),
        )
        for k, measure in enumerate(block.measures)
    }
    if len(charts) == 1:
        return replace(next(iter(charts.values())), id=block.id)
    return Choice(block.id, "Map", charts)


def mark_names(text: str, names: Sequence[str | None], mark: str, original_names: Sequence[str] = ()) -> list[Part]:
    """The text in pieces, those that are one of the names, or a word of it, with the mark.

    A name in place of an original one follows its case: lower, upper, or as it is.
    """
    words = {word for name in names if name for word in [name, *name.split()]}
    if original_names:
        words |= {word.lower() for word in words if any(name.islower() for name in original_names)}
        words |= {word.upper() for word in words if any(name.isupper() for name in original_names)}
    if not words:
        return [(text, None)]
    pattern = "|".join(re.escape(word) for word in sorted(words, key=len, reverse=True))
    pieces = re.split(rf"(?<!\w)((?:{pattern})(?:\s+(?:{pattern}))*)(?!\w)", text)
    return [(piece, mark if k % 2 else None) for k, piece in enumerate(pieces) if piece]


def split_code(text: str) -> list[tuple[str, bool]]:
    """The text in pieces; code is the text between backticks, and a command that ends the text after a colon."""
    pieces = re.split(r"`([^`]+)`|(?<=: )(geobias [a-z].*)$", text)
    return [(piece, k % 3 != 0) for k, piece in enumerate(pieces) if piece]


def hide_quoted_words(html: Markup) -> Markup:
    """The HTML with every word in single quotes set off, so that the page's switch can hide it."""
    hidden = '<span class="texts">\\g<0></span><span class="hidden-word">a word</span>'
    return Markup(QUOTED.sub(hidden, str(html)))


def show_example(example: ExampleText, finding: Finding) -> Example:
    """An example with its names marked, as the page shows real texts."""
    return Example(
        finding.subject or "changed",
        mark_names(example.original, example.original_names, "was"),
        mark_names(example.changed, example.changed_names, "is", example.original_names),
        [{"label": example.label, "before": example.before, "after": example.after}],
        "control" if finding.audit == "downstream" else "original",
    )
