"""The drift audit on the page: a model's scores against the epochs of its training."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

from geobias.audits.drift.result import DriftResult
from geobias.audits.drift.terminal import describe_corpus, notes
from geobias.audits.regions.page_continents import PAPER
from geobias.measures.estimates import Estimate
from geobias.report.page.blocks import Chart, Choice, Section, Table
from geobias.report.page.charts import lines
from geobias.report.runs import FinishedRun
from geobias.report.tables import interval, is_marked, signed

LEAD = (
    "HERB's authors expect a model that is trained on biased sentences to score higher after every epoch, and theirs "
    "did (Figure 5, Li et al. 2022). Here a model is trained further and measured after every epoch."
)
READING = {
    "balanced": "Epoch 0 is the original model. Line: balanced C_w, the mean distance between the model's descriptions "
    "of the sub-regions; band: 95 % interval over words, for the first region. All epochs use the same words, so a "
    "small change can be clear although bands overlap: see the table.",
    PAPER: "The paper's form divides by the number of pairs once more: regions cannot be compared by it, only the "
    "epochs of one of them.",
}


def describe(result: DriftResult) -> str:
    """What was done with the model, in a sentence."""
    settings = result.settings
    return (
        f"{result.model.short_name} was trained on {describe_corpus(result)} for {settings.epochs} epochs (plain SGD, "
        f"learning rate {settings.rate:g}, batches of {settings.batch}), and scored on "
        f"{result.counts.regions - 1:,} regions before and after each epoch, by {result.model.score}."
    )


def section(run: FinishedRun[DriftResult], name: str) -> Section:
    result = run.result
    return Section(
        id=name,
        title=f"Drift: how {result.model.short_name} changes by training",
        lead=LEAD,
        blocks=[Choice(f"{name}-form", "Form", form_charts(name, result)), _trend_table(name, result)],
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
            _title_change(result, form, values),
            READING[title],
            f"A line for each region over {result.settings.epochs} epochs; {top} goes from {values[0]:.3g} to "
            f"{values[-1]:.3g}.",
            lines(rows, across="epoch", label="region", title=f"C_w, {title}", band=top),
            rows,
        )
    return charts


def _title_change(result: DriftResult, form: str, scores: Sequence[float]) -> str:
    """Whether the score of the whole changed, by the test of the last epoch against the first."""
    top, model = result.inference.regions[0], result.model.short_name
    difference: Estimate = getattr(top, form).difference
    score = f"C_w of {top.name} ({'balanced' if form == 'balanced' else PAPER})"
    if difference.p_adjusted is None:
        return f"{model}: {score} over {result.settings.epochs} epochs"
    if not is_marked(difference):
        return f"{model}: no clear change of {score} over {result.settings.epochs} epochs"
    verb = "rises" if (difference.value or 0) > 0 else "falls"
    return f"{model}: {score} {verb} from {scores[0]:.3g} to {scores[-1]:.3g} over {result.settings.epochs} epochs"


def _trend_table(name: str, result: DriftResult) -> Table:
    rows = [
        {
            "region": region.name,
            f"epoch {result.settings.epochs} minus epoch 0": signed(trend.difference.value, 4),
            "95 % interval": interval(trend.difference, 4),
            "adjusted p": "" if trend.difference.p_adjusted is None else f"{trend.difference.p_adjusted:.2g}",
            "Spearman with epochs": "" if trend.spearman is None else f"{trend.spearman:+.2f}",
        }
        for region, trend in ((region, region.balanced) for region in result.inference.regions)
    ]
    return Table(
        f"{name}-trend",
        "Change by training",
        "Balanced C_w, both states on the same words; p-values are adjusted for multiple comparisons. The "
        "correlation with the epochs shows how steady the change is; epochs are not independent, so it is not a test.",
        rows,
    )
