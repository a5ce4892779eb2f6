"""What `geobias drift` prints."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from rich.table import Table

from geobias.audits.drift.result import DriftResult, RegionTrend, Trend
from geobias.report.runs import shown
from geobias.report.tables import NOTHING, digits, interval, show_tables, signed, titled_table

MEANING = (
    "Balanced C_w is a weighted mean distance between what the model says of the sub-regions. That it moves says that "
    "this training moves this measure of this model. It does not say that the texts are true or the places different, "
    "nor by itself that a model with a higher score does more harm; one training with one seed is one training."
)


def show(result: DriftResult, folder: Path) -> None:
    files = "Every epoch: tables/drift.csv and figures/drift.svg; the trained model: model/."
    show_tables(tables(result), _all_notes(result), [MEANING], f"{files}\nResults: {shown(folder)}")


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
    yield _describe_trend(top, result.settings.epochs)
    if below:
        changes = ", ".join(f"{region.name} {_change(region.balanced)}" for region in below)
        yield f"By how much the others moved (and their correlation with the epochs): {changes}."
    yield from notes(result)
    if result.corpus:
        yield "What it read: tables/corpus.csv. It holds prejudice, by design."


def notes(result: DriftResult) -> Iterator[str]:
    """What was left out or cut, in words."""
    counts = result.counts
    if not result.inference.words_left_out:
        yield "No intervals: the words are too few, or the tree is too large to measure it without each of them."
    for count, meaning in (
        (counts.sentences_cut, "sentences longer than the model takes, and cut"),
        (counts.names_with_unknown_tokens, "names with characters that the model does not know"),
        (counts.corpus_sentences_cut, "sentences to train on that the model cuts before their region, left out"),
        (counts.texts_blank, "rows without text, left out"),
    ):
        if count:
            yield f"{count:,} {meaning}."


def _describe_trend(region: RegionTrend, epochs: int) -> str:
    """How far a region's score moved from the first state to the last, and how steadily."""
    difference, spearman = region.balanced.difference, region.balanced.spearman
    bounds = "" if difference.p is None else f" (95 % {interval(difference, 4)}, p {difference.p:.2g})"
    order = "" if spearman is None else f" Spearman's correlation of the score with the epochs: {spearman:+.2f}."
    return f"{region.name} moved by {signed(difference.value, 4)} in {epochs} epoch(s){bounds}.{order}"


def _change(trend: Trend) -> str:
    order = "" if trend.spearman is None else f" ({trend.spearman:+.2f})"
    return f"{signed(trend.difference.value, 4)}{order}"
