"""The drift audit on the page: a model's scores against the epochs of its training."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict

from geobias.audits.drift.result import DriftResult
from geobias.audits.drift.terminal import describe_corpus, notes
from geobias.audits.regions.page import PAPER
from geobias.report.page.blocks import Chart, Choice, Number, Section, Table
from geobias.report.page.charts import lines
from geobias.report.runs import FinishedRun
from geobias.report.tables import interval, signed

LEAD = (
    "A model that reads biased sentences should score higher the more of them it has read, HERB's authors argue, and "
    "theirs did (Figure 5, Li et al. 2022). Here one is trained on, and measured after every epoch."
)
READING = {
    "balanced": "Epoch 0 is the model as it was. Line: balanced C_w, a mean distance between what the model says of "
    "the sub-regions; band: 95 % interval of the first, over words. The epochs share their words, so a small move may "
    "be sure although bands overlap: see the table.",
    PAPER: "The paper's form divides by the number of pairs once more: regions cannot be compared by it, only the "
    "epochs of one of them.",
}


def describe(result: DriftResult) -> str:
    """What was done with the model, in a sentence."""
    settings = result.settings
    return (
        f"{result.model.short_name} was trained on {describe_corpus(result)} for {settings.epochs} epochs (plain SGD, "
        f"learning rate {settings.rate:g}, batches of {settings.batch}), and asked about "
        f"{result.counts.regions - 1:,} regions before and after each, scored by {result.model.score}."
    )


def section(run: FinishedRun[DriftResult], name: str) -> Section:
    result = run.result
    return Section(
        id=name,
        title=f"Drift: how {result.model.short_name} changes by training",
        lead=LEAD,
        blocks=[Choice(f"{name}-form", "Form", form_charts(name, result)), _trend_table(name, result)],
        numbers=list(_numbers(result)),
        notes=list(notes(result)),
    )


def form_charts(name: str, result: DriftResult) -> dict[str, Chart]:
    """A chart for each form of C_w, the balanced one first."""
    top = result.epochs[0].regions[0].name
    charts = {}
    for title, form in (("balanced", "balanced"), (PAPER, "paper")):
        rows = [
            {"epoch": epoch.epoch, "region": region.name, **asdict(getattr(region, form))}
            for epoch in result.epochs
            for region in epoch.regions
        ]
        values = [row["value"] for row in rows if row["region"] == top]
        charts[title] = Chart(
            f"{name}-{form}",
            f"C_w of {top} and its parts against epochs, {title}",
            READING[title],
            f"Lines over {result.settings.epochs} epochs; {top} goes from {values[0]:.3g} to {values[-1]:.3g}.",
            lines(rows, across="epoch", label="region", title=f"C_w, {title}", band=top),
            rows,
        )
    return charts


def _trend_table(name: str, result: DriftResult) -> Table:
    last = result.epochs[-1].epoch
    rows = []
    for region in result.inference.regions:
        difference, spearman = region.balanced.difference, region.balanced.spearman
        rows.append(
            {
                "region": region.name,
                f"epoch {last} minus epoch 0": signed(difference.value, 4),
                "95 % interval": interval(difference, 4),
                "adjusted p": "" if difference.p_adjusted is None else f"{difference.p_adjusted:.2g}",
                "Spearman with epochs": "" if spearman is None else f"{spearman:+.2f}",
            }
        )
    return Table(
        f"{name}-trend",
        "How far it came",
        "Balanced C_w, both states on the same words; p-values are corrected for looking at several regions. The "
        "correlation says how steadily a score goes with the epochs, which follow each other: it is no test.",
        rows,
    )


def _numbers(result: DriftResult) -> Iterator[Number]:
    top, last = result.inference.regions[0], result.epochs[-1].epoch
    difference = top.balanced.difference
    yield Number(
        f"{top.name}: what {last} epochs of training changed",
        signed(difference.value, 4),
        "" if difference.low is None else f"{interval(difference, 4)} (95 %)",
        f"Balanced C_w by {result.model.score}, after the training minus before.",
    )
