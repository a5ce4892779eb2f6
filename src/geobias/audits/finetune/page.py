"""Fine-tuned classifiers on the page: how many labels flip by country, beside each model's own score (Table 5)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import altair as alt

from geobias.audits.finetune.terminal import flip_rows, left_out, ranked
from geobias.report.page.parts import Block, Chart, Number, Row, Section, Table
from geobias.report.page.theme import BLUE, bare_spec, dots
from geobias.report.tables import digits, listed


def finetune_section(_folder: Path, results: Mapping[str, Any], name: str) -> Section:
    rows = results["fine_tuned"]
    blocks: list[Block] = [_flips(name, results), _table(name, rows), *_against_herb(name, results)]
    return Section(
        id=name,
        title="Fine-tuned: labels that flip by country",
        lead="A label should not change because a text is said to come from another country. Any prefix flips some: "
        "the control, which names no country, says how many.",
        blocks=blocks,
        numbers=list(_numbers(rows)),
        notes=[*left_out(results), ranked(results["rank_correlation"])],
    )


def asked(results: Mapping[str, Any]) -> str:
    counts = results["counts"]
    return (
        f"{listed([model['name'] for model in results['models']])} learned {len(results['labels'])} labels from "
        f"{counts['training_texts']:,} texts; then “{results['settings']['prefix']}” was put before "
        f"{counts['test_texts']:,} others, for {counts['regions']:,} countries."
    )


def _numbers(rows: Sequence[Row]) -> Iterator[Number]:
    for row in sorted(rows, key=lambda row: -row["flips"]["all"]["any"]["value"]):
        found = row["flips"]["all"]["any"]
        sure = "" if found["low"] is None else f"{found['low']:.2f} to {found['high']:.2f} % (95 %)"
        yield Number(
            f"Labels of {row['model']['name']} that flip",
            f"{found['value']:.2f} %",
            sure,
            f"Of test texts x countries; the control, which names none, flips {row['control']['any']['value']:.2f} %.",
        )


def _flips(name: str, results: Mapping[str, Any]) -> Chart:
    rows = [
        {**row, "marked": True, "p_adjusted": None}
        for row in flip_rows(results["fine_tuned"])
        if row["regions"] == "all" and (row["direction"] != "any" or len(results["labels"]) > 2)
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
            order=[row["model"]["name"] for row in results["fine_tuned"]],
            colour="direction",
        ),
        list(flip_rows(results["fine_tuned"])),
    )


def _table(name: str, rows: Sequence[Row]) -> Table:
    shown = []
    for row in rows:
        shown.append(
            {
                "model": row["model"]["name"],
                "C_w, balanced": "none" if row["herb"] is None else digits(row["herb"]["c_w"]["balanced"]),
                "accuracy": f"{row['performance']['original']['accuracy']:.3f}",
                "macro-F1": f"{row['performance']['original']['macro_f1']:.3f}",
                "best epoch": f"{row['best_epoch']} of {len(row['epochs'])}",
                **{f"flips, {regions}": f"{found['any']['value']:.2f} %" for regions, found in row["flips"].items()},
                "flips, control": f"{row['control']['any']['value']:.2f} %",
            }
        )
    return Table(
        f"{name}-table",
        "The models, trained and measured",
        "Accuracy and macro-F1 are on the test texts as they are. Flips are per cent of texts x countries, all of them "
        "or without one; the control names none.",
        shown,
    )


def _against_herb(name: str, results: Mapping[str, Any]) -> Iterator[Chart]:
    points = [
        {
            "model": row["model"]["name"],
            "c_w": row["herb"]["c_w"]["balanced"],
            "flips": row["flips"]["all"]["any"]["value"],
        }
        for row in results["fine_tuned"]
        if row["herb"] is not None
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
        f"A dot for each model. {ranked(results['rank_correlation'])} A handful of models cannot show more.",
        "; ".join(f"{point['model']}: C_w {point['c_w']:.3g}, flips {point['flips']:.2f} %" for point in points) + ".",
        bare_spec(alt.layer(marks, names).properties(width="container", height=260)),
        points,
    )
