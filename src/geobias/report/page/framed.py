"""Pictures with their frames: on the page at several widths, in files of their own, and as a card for sharing."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib import resources
from typing import Any

from markupsafe import Markup

import geobias
from geobias.models.scorer import ModelIdentity
from geobias.report.findings import Finding
from geobias.report.headlines import DEMONSTRATION, SYMBOLS, say_size
from geobias.report.page.blocks import Chart
from geobias.report.page.svg import draw_frame, draw_paragraph, draw_text
from geobias.report.page.world_map import MapPicture, draw_outlines
from geobias.report.runs import FinishedRun

HERO_WIDTHS, WIDTHS, FILE_WIDTH = (1000, 660, 350), (640, 350), 900  # pixels, the widest first


@cache
def read_template(name: str) -> str:
    return resources.files("geobias.report.page").joinpath(f"templates/{name}").read_text(encoding="utf-8")


def describe_source(runs: Sequence[FinishedRun[Any]], only: str = "") -> str:
    """ "geobias 1.0, embedded/sentiment (a demonstration model), 2026-01-31. Describes a model, not people."."""
    models = {model.name: model for run in runs for model in run.result.model_identities}
    models = {only: models[only]} if only in models else models
    names = list(map(describe_model, models.values()))
    shown = names if len(names) < 3 else [f"{len(names)} models"]
    if len(names) > 2 and all(name.startswith(DEMONSTRATION) for name in models):
        shown = [f"{len(names)} demonstration models"]
    date = max((run.description.finished[:10] for run in runs), default="")
    return f"geobias {geobias.__version__}, {', '.join([*shown, date])}. Describes a model, not people."


def describe_model(model: ModelIdentity) -> str:
    return f"{model.name} (a demonstration model)" if model.name.startswith(DEMONSTRATION) else model.short_name


def draw_figure(chart: Chart, source: str, widths: Sequence[int], *, claim: str = "") -> str:
    """A picture at several widths, of which the page shows one, with its downloads."""
    pictures = []
    for k, width in enumerate(widths):
        part = draw_frame(chart.picture, width, title=chart.title, note=chart.reading, source=source, claim=claim)
        pictures.append(
            Markup(
                '<svg class="w{}" viewBox="0 0 {} {:.0f}" style="max-width:{}px" role="img" aria-label="{}">{}</svg>'
            ).format(k, width, part.height, round(1.15 * width), f"{chart.title}. {chart.alt}", Markup(part.svg))
        )
    buttons = Markup("").join(
        Markup('<button type="button" data-download="{}" aria-label="Download {} as {}">{}</button>').format(
            kind, chart.title, kind.upper(), kind.upper()
        )
        for kind in ("png", "svg", "csv")
    )
    texts = " texts" if chart.has_texts else ""
    return Markup('<figure id="{}" class="of{}{}">{}<div class="tools scripted">{}</div></figure>').format(
        chart.id, len(widths), texts, Markup("").join(pictures), buttons
    )


def draw_social_card(headline: str, finding: Finding, chart: Chart, source: str) -> str:
    """The headline with its picture, at the size of cards on social networks (1200 x 630)."""
    headline_part = draw_paragraph(36, headline, 1090, "ink bold", 36 if len(headline) < 170 else 30, 1.2)
    top = 52 + headline_part.height
    facts = draw_text(0, top + 20, f"{SYMBOLS[finding.evidence]} {finding.label}, {say_size(finding)}", "ink", 22)
    part = chart.picture.draw(HERO_WIDTHS[1])
    scale = max(0.2, min(1080 / HERO_WIDTHS[1], (545 - top - 44) / part.height))
    picture = f'<g transform="translate({(1080 - scale * HERO_WIDTHS[1]) / 2:.0f},{top + 44:.0f}) scale({scale:.3f})">'
    body = f"{headline_part.svg}{facts}{picture}{part.svg}</g>{draw_text(0, 596, source, 'soft', 17)}"
    alt = f"{headline} {chart.alt}"
    return Markup(
        '<svg viewBox="0 0 1200 630" role="img" aria-label="{}"><g transform="translate(56,0)">{}</g></svg>'
    ).format(alt, Markup(body))


def draw_file(chart: Chart, source: str) -> str:
    """A picture by itself, in light colours on white."""
    part = draw_frame(chart.picture, FILE_WIDTH, title=chart.title, note=chart.reading, source=source)
    style = f"<style>{read_template('figure.css')}</style>"
    outlines = draw_outlines() if isinstance(chart.picture, MapPicture) else ""
    box = f'viewBox="-24 -24 {FILE_WIDTH + 48} {part.height + 48:.0f}" width="{FILE_WIDTH + 48}"'
    paper = '<rect x="-24" y="-24" width="100%" height="100%" fill="#ffffff"/>'
    return f'<svg xmlns="http://www.w3.org/2000/svg" class="picture" {box}>{style}{outlines}{paper}{part.svg}</svg>'
