"""`geobias names --preview`: texts with their renamed versions, and doubtful spans."""

from __future__ import annotations

from geobias.audits.names.design import NamesDesign
from geobias.audits.names.finder_spans import SortedSpans, describe_spans
from geobias.checks import check_number
from geobias.report.tables import console, titled_table

WARNING = "These are real texts. Some may be offensive; they are shown to check the renaming, nothing else."
COUNTRIES_PREVIEWED, MOST_PREVIEWED = 3, 10_000


def show_preview(design: NamesDesign, count: int) -> None:
    """Original and renamed texts side by side, each text with other countries, so that all are seen."""
    check_number("--preview", count, 1, MOST_PREVIEWED)
    renamed = design.counterfactuals
    texts, countries, _ = renamed.shape
    table = titled_table(f"{texts:,} of {len(design.texts):,} texts name somebody; the first draw of some")
    table.add_column("original", overflow="fold", ratio=1)
    table.add_column("country", no_wrap=True)
    table.add_column("renamed", overflow="fold", ratio=1)
    for i in range(min(count, texts)):
        positions = dict.fromkeys((i * COUNTRIES_PREVIEWED + k) % countries for k in range(COUNTRIES_PREVIEWED))
        for k, c in enumerate(positions):
            original = renamed.texts[i] if k == 0 else ""
            table.add_row(original, renamed.gazetteer.country(renamed.countries[c]), renamed.at(i, c, 0))
        table.add_section()
    out = console()
    out.print(WARNING, style="bold")
    out.print(table)
    if design.finder_spans is not None:
        _show_doubtful_preview(design, design.finder_spans, count)


def _show_doubtful_preview(design: NamesDesign, finder_spans: SortedSpans, count: int) -> None:
    """The first doubtful spans with their reasons and texts, and a line that counts all."""
    out, treatment, texts = console(), design.options.doubtful, design.texts.texts
    table = titled_table(f"Doubtful spans, {'not renamed' if treatment == 'drop' else 'renamed too'}")
    for heading in ("span", "why", "text"):
        table.add_column(heading, overflow="fold")
    pairs = [(text, span) for text, spans in zip(texts, finder_spans.doubtful, strict=True) for span in spans]
    for text, span in pairs[:count]:
        table.add_row(text[span.start : span.end], span.reason, text)
    if pairs:
        out.print(table)
    out.print(describe_spans(finder_spans.summarise(texts), design.finder, treatment))
