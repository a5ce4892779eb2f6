"""What `geobias mitigate` prints below its findings."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import RenderableType
from rich.table import Table

from geobias.audits.inputs import list_copies
from geobias.audits.mitigate.result import MethodComparison, MitigateResult, ModelMeasures
from geobias.report.results import HasInterval
from geobias.report.tables import NOTHING, format_places, interval, marked, signed, titled_table

SUMMARY_METHODS = 7
WIDE = 72  # characters: below it, the summary has fewer columns
MEANING = (
    "Spread: standard deviation between countries of the mean of 100 (p_pos - p_neg), without the noise of texts. "
    "Ratio: the spread after divided by that before; standardised, in units of the standard deviation over texts, "
    "which does not change where probabilities only shrink towards each other. Flips: per cent of renamed texts whose "
    "label is not the one that most versions of the text have. It describes models, not people."
)


def summary_table(result: MitigateResult, width: int) -> Table:
    """The original model and every method: bias, quality and cost."""
    if result.language_model is not None:
        return _language_table(result)
    table = titled_table("Before and after, on held-out names")
    table.add_column("method", overflow="fold")
    headings = ["spread", "ratio", "flips %", "accuracy %", "time"]
    if width >= WIDE:
        headings[2:2] = ["95 % interval"]
    for heading in headings:
        table.add_column(heading, justify="right", no_wrap=True)
    if result.before is not None:
        table.add_row("original", *_cells(headings, result.before, None))
        for entry in result.methods[:SUMMARY_METHODS]:
            table.add_row(entry.method, *_cells(headings, entry.after, entry))
    return table


def _language_table(result: MitigateResult) -> Table:
    """The original language model and every method, on held-out words, regions and templates."""
    assert result.language_model is not None
    table = titled_table(
        "Before and after, on held-out words and regions",
        ["method"],
        ("score", "change", "95 % interval", "perplexity", "capitals %", "word variance"),
    )
    before = result.language_model
    numbers = [format_places(before.perplexity, 2), format_places(before.capitals, 1), "1.00"]
    table.add_row("original", format_places(before.score.value, 4), "", "", *numbers)
    for entry in result.language_models[:SUMMARY_METHODS]:
        change, after = entry.score_change, entry.after
        table.add_row(
            entry.method,
            format_places(after.score.value, 4),
            marked(signed(change.value, 4), change),
            interval(change, 4),
            format_places(after.perplexity, 2),
            format_places(after.capitals, 1),
            format_places(entry.word_variance_ratio.value, 2),
        )
    return table


def _cells(headings: list[str], measures: ModelMeasures, entry: MethodComparison | None) -> list[str]:
    ratio = None if entry is None else entry.change.spread_ratio
    time = "x 1" if entry is None else _say_time(entry)
    cells = {
        "spread": format_places(measures.spread.value, 2),
        "ratio": "" if ratio is None else format_places(ratio.value, 2),
        "95 % interval": "" if ratio is None else _bounds(ratio, 2),
        "flips %": format_places(measures.flips.value, 1),
        "accuracy %": NOTHING if measures.accuracy is None else format_places(measures.accuracy.value, 1),
        "time": time,
    }
    return [cells[heading] for heading in headings]


def _say_time(entry: MethodComparison) -> str:
    return NOTHING if entry.time_ratio is None else f"x {entry.time_ratio:.1f}"


def _bounds(number: HasInterval, places: int) -> str:
    if number.low is None or number.high is None:
        return ""
    return f"{number.low:.{places}f} to {number.high:.{places}f}"


def full_report(result: MitigateResult, width: int) -> Iterator[RenderableType]:
    yield summary_table(result, width)
    for entry in result.methods:
        yield _changes_table(entry)
        yield _countries_table(entry)
    yield from list_notes(result)
    if result.language_model is not None:
        yield "The models and their audits are in models/; the numbers in tables/methods.csv."
        return
    yield MEANING
    yield "Every country: tables/countries.csv; the methods: tables/methods.csv; the models: models/."


def _changes_table(entry: MethodComparison) -> Table:
    change = entry.change
    table = titled_table(f"{entry.method}: after minus before")
    for heading in ("measure", "change", "95 % interval"):
        table.add_column(heading, justify="left" if heading == "measure" else "right", no_wrap=True)
    rows = (
        ("spread, points", change.spread),
        ("flips, percentage points", change.flips),
        ("accuracy, percentage points", change.accuracy),
        ("macro-F1, percentage points", change.macro_f1),
    )
    for name, estimate in rows:
        if estimate is not None:
            table.add_row(name, marked(signed(estimate.value, 2), estimate), interval(estimate, 2))
    standardised = change.standardised_ratio
    table.add_row("standardised spread, ratio", f"{format_places(standardised.value, 2)} ", _bounds(standardised, 2))
    return table


def _countries_table(entry: MethodComparison) -> Table:
    table = titled_table(f"{entry.method}: Δ against the mean of countries, points")
    table.add_column("country", overflow="fold")
    headings = ["before", "after", "change", "95 % interval"]
    has_recall = entry.recall is not None
    for heading in (*headings, *(("names found %",) if has_recall else ())):
        table.add_column(heading, justify="right", no_wrap=True)
    for country in sorted(entry.countries, key=lambda each: each.before.value or 0):
        cells = [
            signed(country.before.value, 2),
            signed(country.after.value, 2),
            marked(signed(country.change.value, 2), country.change),
            interval(country.change, 2),
        ]
        if country.recall is not None:
            cells.append(format_places(100 * (country.recall.value or 0), 0))
        table.add_row(country.country, *cells)
    return table


def list_notes(result: MitigateResult) -> Iterator[str]:
    """What was held out, trained on, left out or cannot be read; the terminal and the page both say it."""
    counts = result.counts
    if result.language_model is not None:
        yield (
            f"{counts.held_out_words} words, {counts.countries} countries and a template were held out for the audit. "
            f"{counts.training_texts:,} plain texts were replayed in training; the perplexity is of {counts.texts:,} "
            "others."
        )
        return
    yield f"{counts.held_out_names:,} names were held out for the test; no method used them."
    if result.settings.finder == "embedded/entities" and any(entry.recall for entry in result.methods):
        yield "The bundled finder was not trained with them either."
    if counts.training_texts:
        yield f"Methods were trained on {counts.training_texts:,} other texts."
    if counts.rows_without_text:
        yield f"Rows without a text in the files, left out: {counts.rows_without_text:,}."
    yield from list_copies(counts.copies)
    if counts.countries_left_out:
        names = ", ".join(counts.countries_left_out)
        yield f"Countries with too few held-out names, left out: {len(counts.countries_left_out)} ({names})."
    if counts.texts_unreadable:
        yield (
            f"{counts.texts_unreadable:,} of {counts.texts:,} texts seem to be in a language that "
            f"{result.settings.finder} does not read."
        )
    yield from (f"{result.models[0].name}: {note}" for note in result.notes)
