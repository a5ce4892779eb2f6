"""Fine-tuned classifiers as a person sees them: Table 5 on the terminal and as files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from rich.table import Table

from geobias.audits.finetune.design import FinetuneResult
from geobias.report.tables import NOTHING, digits, titled_table, write_csv

Row = dict[str, Any]


def write_files(folder: Path, result: FinetuneResult) -> None:
    write_csv(folder / "tables" / "flips.csv", flip_rows(result.rows))
    write_csv(folder / "tables" / "training.csv", _training_rows(result))


def flip_rows(rows: list[Row]) -> Iterator[Row]:
    """tables/flips.csv: for every model, set of regions and direction, the per cent that flips."""
    for row in rows:
        for regions, found in {**row["flips"], "control": row["control"]}.items():
            for direction, estimate in found.items():
                yield {"model": row["model"]["name"], "regions": regions, "direction": direction, **estimate}


def _training_rows(result: FinetuneResult) -> Iterator[Row]:
    for row in result.rows:
        for epoch in row["epochs"]:
            yield {"model": row["model"]["name"], **epoch, "best": epoch["epoch"] == row["best_epoch"]}


def table(result: FinetuneResult) -> Table:
    """Table 5: of two classes both directions, of more all flips together; and the control, which names no region."""
    labels = result.question.labels
    shown = [f"{labels[0]} to {labels[1]}", f"{labels[1]} to {labels[0]}"] if len(labels) == 2 else ["any"]
    found = titled_table(f"Labels that flip after “{result.settings['prefix']}”, per cent")
    found.add_column("model", overflow="fold")
    for heading in (
        "C_w",
        "macro-F1\non tests",
        *(direction.replace(" to ", "\nto ") for direction in shown),
        "control,\nany",
    ):
        found.add_column(heading, justify="right", no_wrap=True)
    for row in result.rows:
        found.add_row(
            row["model"]["name"],
            NOTHING if row["herb"] is None else digits(row["herb"]["c_w"]["balanced"]),
            f"{row['performance']['original']['macro_f1']:.3f}",
            *(_per_cent(row["flips"]["all"][direction]) for direction in shown),
            f"{row['control']['any']['value']:.2f}",
        )
        for regions in (name for name in row["flips"] if name != "all"):
            cells = [_per_cent(row["flips"][regions][direction]) for direction in shown]
            found.add_row(f"  {regions}", "", "", *cells, "")
    return found


def _per_cent(found: Row) -> str:
    sure = "" if found["low"] is None else f"\n{found['low']:.2f}–{found['high']:.2f}"
    return f"{found['value']:.2f}{sure}"


def notes(result: FinetuneResult) -> Iterator[str]:
    counts = result.to_dict()["counts"]
    yield (
        f"Trained on {counts['training_texts']:,} texts, the best epoch chosen on {counts['validation_texts']:,}; "
        f"{counts['test_texts']:,} test texts x {counts['regions']:,} countries."
    )
    yield from left_out(result.to_dict())
    yield ranked(result.to_dict()["rank_correlation"])


def left_out(results: Mapping[str, Any]) -> Iterator[str]:
    """What took no part, and which models have no score of their own, in words."""
    counts = results["counts"]
    if counts["rows_without_text"]:
        yield f"{counts['rows_without_text']:,} rows without a text."
    if counts["test_texts_of_training"]:
        yield f"{counts['test_texts_of_training']:,} test texts are training texts too, and were left out."
    for row in results["fine_tuned"]:
        if row["without_score"]:
            yield f"{row['model']['name']} has no HERB score: {row['without_score']}"


def ranked(found: Mapping[str, Any] | None) -> str:
    if found is None:
        return "Fewer than three models with a HERB score: no rank correlation of the score with the flips."
    forms = ("balanced", "paper")
    if any(found[form]["value"] is None for form in forms):
        return f"All {found['models']} models have the same score or flip equally many labels: no rank correlation."
    parts = (f"{found[form]['value']:+.2f} ({form}, p = {found[form]['p']:.2f})" for form in forms)
    return f"Rank correlation of C_w with all flips over {found['models']} models: {', '.join(parts)}."
