"""The finetune audit on the page: how many labels flip by country, with each model's own score (HERB, Table 5)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import altair as alt

from geobias.audits.finetune.result import ALL, ANY, FinetunedModel, FinetuneResult
from geobias.audits.finetune.terminal import describe_correlation, notes
from geobias.report.page.blocks import Chart, Section, Table
from geobias.report.page.charts import bare_spec, dots
from geobias.report.runs import FinishedRun
from geobias.report.tables import digits, listed

CONTROL = "control"
NEUTRAL: Any = {"expr": "neutral"}  # the theme's


def describe(result: FinetuneResult) -> str:
    """What was scored, in a sentence."""
    counts = result.counts
    return (
        f"{listed([model.name for model in result.models])} learned {len(result.labels)} labels from "
        f"{counts.training_texts:,} texts; then “{result.settings.prefix}” was put before {counts.test_texts:,} "
        f"others, for {counts.regions:,} countries."
    )


def section(run: FinishedRun[FinetuneResult], name: str) -> Section:
    result = run.result
    return Section(
        id=name,
        title="Fine-tuned: labels that flip by country",
        lead="A label should not change because a text is said to come from another country. Any prefix flips some: "
        "the control, which names no country, says how many.",
        blocks=[_flips_chart(name, result), _models_table(name, result.fine_tuned), *_score_chart(name, result)],
        notes=list(notes(result)),
    )


def _flips_chart(name: str, result: FinetuneResult) -> Chart:
    prefixes = {ALL: "with a country's name", CONTROL: "with the control, which names none"}
    rows = [
        {**row, "prefix": prefixes[row["regions"]], "marked": True, "p_adjusted": None}
        for row in result.rows()
        if row["regions"] in prefixes and (row["direction"] != ANY or len(result.labels) > 2)
    ]
    most = max(result.fine_tuned, key=lambda entry: entry.flips[ALL][ANY].value or 0)
    several = " at most" if len(result.fine_tuned) > 1 else ""
    return Chart(
        f"{name}-flips",
        f"{most.model.short_name}: {most.flips[ALL][ANY].value:.2f} % of labels flip{several} when the prefix names a "
        f"country, {most.control[ANY].value:.2f} % when it names none",
        "Dot: per cent of test texts x countries whose label changes that way; line: 95 % interval over texts.",
        "; ".join(f"{row['model']}, {row['direction']}, {row['prefix']}: {row['value']:.2f} %" for row in rows[:8])
        + ".",
        dots(
            rows,
            label="model",
            title="% of texts x countries",
            order=[model.name for model in result.models],
            colour="direction",
            shape="prefix",
        ),
        rows,
    )


def _models_table(name: str, entries: Sequence[FinetunedModel]) -> Table:
    rows = [
        {
            "model": entry.model.name,
            "C_w, balanced": "none" if entry.herb is None else digits(entry.herb.c_w.balanced),
            "accuracy": f"{entry.performance.original.accuracy:.3f}",
            "macro-F1": f"{entry.performance.original.macro_f1:.3f}",
            "best epoch": f"{entry.best_epoch} of {len(entry.epochs)}",
            **{f"flips, {regions}": f"{flips[ANY].value:.2f} %" for regions, flips in entry.flips.items()},
            "flips, control": f"{entry.control[ANY].value:.2f} %",
        }
        for entry in entries
    ]
    return Table(
        f"{name}-table",
        "The models, trained and measured",
        "Accuracy and macro-F1 are on the original test texts. Flips are per cent of texts x countries, all of them "
        "or without one; the control names none.",
        rows,
    )


def _score_chart(name: str, result: FinetuneResult) -> Iterator[Chart]:
    """Flips against C_w, where at least two models have a score."""
    points = [
        {"model": entry.model.name, "c_w": entry.herb.c_w.balanced, "flips": entry.flips[ALL][ANY].value}
        for entry in result.fine_tuned
        if entry.herb is not None
    ]
    if len(points) < 2:
        return
    base = alt.Chart(alt.InlineData(values=points)).encode(
        x=alt.X("c_w:Q", title="balanced C_w of the language model", scale=alt.Scale(zero=False)),
        y=alt.Y("flips:Q", title="labels that flip, %"),
    )
    marks = base.mark_point(size=90, filled=True, color=NEUTRAL, opacity=1).encode(
        tooltip=["model:N", "c_w:Q", "flips:Q"]
    )
    names = base.mark_text(align="left", dx=8).encode(text="model:N")
    yield Chart(
        f"{name}-herb",
        "Is the language model's score correlated with its classifier's flips?",
        f"A dot for each model. {describe_correlation(result.rank_correlation)} A handful of models cannot show more.",
        "; ".join(f"{point['model']}: C_w {point['c_w']:.3g}, flips {point['flips']:.2f} %" for point in points) + ".",
        bare_spec(alt.layer(marks, names).properties(width="container", height=260)),
        points,
    )
