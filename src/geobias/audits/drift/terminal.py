"""What `geobias drift` prints below its findings."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import RenderableType
from rich.table import Table

from geobias.audits.drift.findings import count_epochs, list_changes
from geobias.audits.drift.result import DriftResult, Trend
from geobias.report.findings import format_p
from geobias.report.tables import NOTHING, digits, interval, signed, titled_table

WIDE = 70  # characters: below it, the summary has no scores before and after

MEANING = (
    "Balanced C_w is a weighted mean distance between the model's descriptions of the sub-regions. A change shows that "
    "this training changes this measure of this model. It does not show that the texts are true or the places "
    "different, nor by itself that a model with a higher score does more harm. This is one training with one seed."
)


def summary_table(result: DriftResult, width: int) -> Table:
    """Balanced C_w of each region before and after the training."""
    table = titled_table(
        f"Balanced C_w before and after {count_epochs(result)} of training",
        ["region"],
        (*(("before", "after") if width >= WIDE else ()), "change", "95 % interval", "adjusted p"),
    )
    for change in list_changes(result):
        scores = [digits(change.before), digits(change.after)] if width >= WIDE else []
        p = "" if change.p_adjusted is None else f"{change.p_adjusted:.2g}"
        table.add_row(change.name, *scores, signed(change.difference.value, 4), interval(change.difference, 4), p)
    return table


def full_report(result: DriftResult, width: int) -> Iterator[RenderableType]:
    yield from tables(result)
    yield from _all_notes(result)
    yield MEANING
    yield "Every epoch: tables/drift.csv and figures/drift.svg; the trained model: model/."


def describe_corpus(result: DriftResult) -> str:
    """What the model was trained on."""
    corpus, counts = result.settings.corpus, result.counts
    if corpus.kind == "texts":
        return f"{counts.texts:,} texts of {corpus.source}"
    return f"the {counts.corpus_sentences:,} sentences that it finds likeliest ({', '.join(corpus.levels or ())})"


def tables(result: DriftResult) -> Iterator[Table]:
    """A row for each epoch: the first region in both forms, then those directly below it."""
    top, *below = result.epochs[0].regions
    table = titled_table(f"{result.model.name}, trained on {describe_corpus(result)}: C_w by {result.model.score}")
    table.add_column("epoch", justify="right")
    table.add_column("loss", justify="right", no_wrap=True)
    table.add_column(f"{top.name}\nbalanced", justify="right", style="bold")
    table.add_column("\n95 % interval", justify="right", no_wrap=True)
    table.add_column("paper\n×1000", justify="right", no_wrap=True, style="dim")
    for epoch in result.epochs:
        balanced, paper = epoch.regions[0].balanced, epoch.regions[0].paper
        table.add_row(
            str(epoch.epoch),
            NOTHING if epoch.loss is None else f"{epoch.loss:.3f}",
            digits(balanced.value),
            "" if balanced.low is None else f"{balanced.low:.4f}–{balanced.high:.4f}",
            digits(paper.value, 1000),
        )
    yield table
    if below:
        parts = titled_table("The same, balanced, of")
        parts.add_column("epoch", justify="right")
        for region in below:
            parts.add_column(region.name, justify="right")
        for epoch in result.epochs:
            parts.add_row(str(epoch.epoch), *(digits(region.balanced.value) for region in epoch.regions[1:]))
        yield parts


def _all_notes(result: DriftResult) -> Iterator[str]:
    top, *below = result.inference.regions
    difference, spearman = top.balanced.difference, top.balanced.spearman
    bounds = "" if difference.p is None else f" (95 % {interval(difference, 4)}, {format_p(difference.p_adjusted)})"
    order = "" if spearman is None else f" Spearman's correlation of the score with the epochs: {spearman:+.2f}."
    moved = f"{top.name} changed by {signed(difference.value, 4)} in {count_epochs(result)}"
    yield f"{moved}{bounds}.{order}"
    if below:
        changes = ", ".join(f"{region.name} {_change(region.balanced)}" for region in below)
        yield f"Changes of the others (and their correlations with the epochs): {changes}."
    yield from notes(result)
    if result.corpus:
        yield "Training sentences: tables/corpus.csv. They express prejudice, by design."


def notes(result: DriftResult) -> Iterator[str]:
    """What was left out or cut, in words."""
    counts = result.counts
    if not result.inference.words_left_out:
        yield "No intervals: the words are too few, or the tree is too large to measure it without each of them."
    for count, meaning in (
        (counts.sentences_cut, "sentences truncated to the model's maximum length"),
        (counts.names_with_unknown_tokens, "names with characters that the model does not know"),
        (counts.corpus_sentences_cut, "sentences to train on that the model cuts before their region, left out"),
        (counts.texts_blank, "rows without text, left out"),
    ):
        if count:
            yield f"{count:,} {meaning}."


def _change(trend: Trend) -> str:
    order = "" if trend.spearman is None else f" ({trend.spearman:+.2f})"
    return f"{signed(trend.difference.value, 4)}{order}"
