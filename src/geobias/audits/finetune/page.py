"""The finetune audit on the page: how many labels flip by country, beside each model's own score (HERB, Table 5)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import altair as alt

from geobias.audits.finetune.result import ALL, ANY, FinetunedModel, FinetuneResult
from geobias.audits.finetune.terminal import describe_correlation, notes
from geobias.report.colours import BLUE
from geobias.report.page.blocks import Block, Chart, Number, Section, Table
from geobias.report.page.charts import bare_spec, dots
from geobias.report.runs import FinishedRun
from geobias.report.tables import digits, listed


def describe(result: FinetuneResult) -> str:
    """What was asked, in a sentence."""
    counts = result.counts
    return (
        f"{listed([model.name for model in result.models])} learned {len(result.labels)} labels from "
        f"{counts.training_texts:,} texts; then “{result.settings.prefix}” was put before {counts.test_texts:,} "
        f"others, for {counts.regions:,} countries."
    )


def section(run: FinishedRun[FinetuneResult], name: str) -> Section:
    result = run.result
    blocks: list[Block] = [_flips_chart(name, result), _models_table(name, result.fine_tuned)]
    return Section(
        id=name,
        title="Fine-tuned: labels that flip by country",
        lead="A label should not change because a text is said to come from another country. Any prefix flips some: "
        "the control, which names no country, says how many.",
        blocks=[*blocks, *_score_chart(name, result)],
        numbers=list(_numbers(result.fine_tuned)),
        notes=list(notes(result)),
    )


def _numbers(entries: Sequence[FinetunedModel]) -> Iterator[Number]:
    for entry in sorted(entries, key=lambda entry: -(entry.flips[ALL][ANY].value or 0)):
        flips = entry.flips[ALL][ANY]
        yield Number(
            f"Labels of {entry.model.name} that flip",
            f"{flips.value:.2f} %",
            "" if flips.low is None else f"{flips.low:.2f} to {flips.high:.2f} % (95 %)",
            f"Of test texts x countries; the control, which names none, flips {entry.control[ANY].value:.2f} %.",
        )


def _flips_chart(name: str, result: FinetuneResult) -> Chart:
    rows = [
        {**row, "marked": True, "p_adjusted": None}
        for row in result.rows()
        if row["regions"] == ALL and (row["direction"] != ANY or len(result.labels) > 2)
    ]
    return Chart(
        f"{name}-flips",
        "Labels that flip when the prefix names a country",
        "Dot: per cent of test texts x countries whose label changes that way; line: 95 % interval over texts.",
        "; ".join(f"{row['model']}, {row['direction']}: {row['value']:.2f} %" for row in rows[:8]) + ".",
        dots(
            rows,
            label="model",
            title="% of texts x countries",
            order=[model.name for model in result.models],
            colour="direction",
        ),
        result.rows(),
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
        "Accuracy and macro-F1 are on the test texts as they are. Flips are per cent of texts x countries, all of them "
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
    marks = base.mark_point(size=90, filled=True, color=BLUE, opacity=1).encode(tooltip=["model:N", "c_w:Q", "flips:Q"])
    names = base.mark_text(align="left", dx=8).encode(text="model:N")
    yield Chart(
        f"{name}-herb",
        "Does the language model's score go with its classifier's flips?",
        f"A dot for each model. {describe_correlation(result.rank_correlation)} A handful of models cannot show more.",
        "; ".join(f"{point['model']}: C_w {point['c_w']:.3g}, flips {point['flips']:.2f} %" for point in points) + ".",
        bare_spec(alt.layer(marks, names).properties(width="container", height=260)),
        points,
    )
