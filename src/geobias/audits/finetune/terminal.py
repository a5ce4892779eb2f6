"""What `geobias finetune` prints below its findings."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import RenderableType
from rich.table import Table

from geobias.audits.downstream.gate_and_card import describe_dissolved
from geobias.audits.finetune.result import ALL, ANY, FinetuneResult, RankCorrelation
from geobias.report.results import Interval
from geobias.report.run_folder import MODELS
from geobias.report.tables import NOTHING, digits, interval, signed, titled_table

SUMMARY_MODELS = 6
WIDE = 72  # characters: below it, the summary has the differences only
MEANING = (
    "Flips: per cent of test texts x countries whose predicted label changes when the prefix names the country, with a "
    "95 % interval over texts. C_w: how differently the language model itself describes the world's countries. The "
    "paper found both in a similar order; a handful of models cannot show more. It describes models, not people."
)


def summary_table(result: FinetuneResult, width: int) -> Table:
    """Flips of countries and of the control, for the first models."""
    table = titled_table("Labels that flip, per cent of test texts x countries")
    table.add_column("model", overflow="fold")
    headings = (*(("country named", "none named") if width >= WIDE else ()), "difference", "95 % interval", "p")
    for heading in headings:
        table.add_column(heading, justify="right", no_wrap=True)
    for entry in result.fine_tuned[:SUMMARY_MODELS]:
        estimate = entry.against_control
        flips = [f"{each[ANY].value:.2f}" for each in (entry.flips[ALL], entry.control)] if width >= WIDE else []
        if estimate is None:
            numbers = [NOTHING, "", ""]
        else:
            p = "" if estimate.p_adjusted is None else f"{estimate.p_adjusted:.2g}"
            numbers = [signed(estimate.value, 2), interval(estimate, 2), p]
        table.add_row(entry.model.short_name, *flips, *numbers)
    return table


def full_report(result: FinetuneResult, width: int) -> Iterator[RenderableType]:
    yield table(result)
    yield from _all_notes(result)
    yield MEANING
    yield f"Every direction: tables/flips.csv; the classifiers and their audits: {MODELS}/."


def table(result: FinetuneResult) -> Table:
    """Table 5: for two classes both directions, for more all flips together; and the control, which names no region."""
    first, second, *others = result.labels
    directions = [ANY] if others else [f"{first} to {second}", f"{second} to {first}"]
    table = titled_table(f"Labels that flip after “{result.settings.prefix}”, per cent")
    table.add_column("model", overflow="fold")
    split_directions = (direction.replace(" to ", "\nto ") for direction in directions)
    for heading in ("C_w", "macro-F1\non tests", *split_directions, "control,\nany"):
        table.add_column(heading, justify="right", no_wrap=True)
    for entry in result.fine_tuned:
        table.add_row(
            entry.model.name,
            NOTHING if entry.herb is None else digits(entry.herb.c_w.balanced),
            f"{entry.performance.original.macro_f1:.3f}",
            *(_percent(entry.flips[ALL][direction]) for direction in directions),
            f"{entry.control[ANY].value:.2f}",
        )
        for regions, flips in entry.flips.items():
            if regions != ALL:
                table.add_row(f"  {regions}", "", "", *(_percent(flips[direction]) for direction in directions), "")
    return table


def _percent(flips: Interval) -> str:
    bounds = "" if flips.low is None else f"\n{flips.low:.2f}–{flips.high:.2f}"
    return f"{flips.value:.2f}{bounds}"


def _all_notes(result: FinetuneResult) -> Iterator[str]:
    counts = result.counts
    yield (
        f"Trained on {counts.training_texts:,} texts, the best epoch chosen on {counts.validation_texts:,}; "
        f"{counts.test_texts:,} test texts x {counts.regions:,} countries."
    )
    yield from notes(result)


def notes(result: FinetuneResult) -> Iterator[str]:
    """What was left out, which models have no HERB score, and the rank correlation, in words."""
    counts = result.counts
    if counts.rows_without_text:
        yield f"{counts.rows_without_text:,} rows without a text."
    if counts.test_texts_of_training:
        yield f"{counts.test_texts_of_training:,} test texts are training texts too, and were left out."
    yield from describe_dissolved(counts.dissolved_countries)
    for entry in result.fine_tuned:
        if entry.without_score:
            yield f"{entry.model.name} has no HERB score: {entry.without_score}"
    yield describe_correlation(result.rank_correlation)


def describe_correlation(correlation: RankCorrelation | None) -> str:
    if correlation is None:
        return "Fewer than three models with a HERB score: no rank correlation of the score with the flips."
    forms = {"balanced": correlation.balanced, "paper": correlation.paper}
    if any(form.value is None for form in forms.values()):
        return f"All {correlation.models} models have the same score or flip equally many labels: no rank correlation."
    parts = (f"{form.value:+.2f} ({name}, p = {form.p:.2f})" for name, form in forms.items())
    return f"Rank correlation of C_w with all flips over {correlation.models} models: {', '.join(parts)}."
