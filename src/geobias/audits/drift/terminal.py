"""A drifting model as a person sees it: the files of its run, and its table on the terminal."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rich.table import Table

from geobias.audits.drift.corpus import TOXIC
from geobias.audits.drift.design import DriftResult
from geobias.audits.drift.page import forms
from geobias.measures.herb import FORMS
from geobias.models.language.masked import MaskedLM
from geobias.models.model_files import quiet_transformers
from geobias.report.page.build import save_figure
from geobias.report.run_folder import MODEL
from geobias.report.tables import NOTHING, digits, interval, signed, titled_table, write_csv

CARD = """\
---
base_model: {base}
---
The model {name} after {epochs} epochs of training on {corpus}, made by `geobias drift` to measure what that
does to it. It is an object of study, not a model to use.
"""


def write_files(folder: Path, result: DriftResult, *, lm: MaskedLM) -> None:
    """The tables of a run, its figure, and the model as it is now."""
    write_csv(folder / "tables" / "drift.csv", epoch_rows(result))
    if result.corpus:
        write_csv(folder / "tables" / "corpus.csv", result.corpus)
    balanced, *_ = forms("drift", result.to_dict()).options.values()
    save_figure(folder / "figures" / "drift", balanced)
    with quiet_transformers():
        lm.model.save_pretrained(folder / MODEL)
        lm.tokenizer.save_pretrained(folder / MODEL)
    card = CARD.format(
        base=json.dumps(lm.name), name=lm.name, epochs=result.settings["epochs"], corpus=corpus_name(result)
    )
    (folder / MODEL / "README.md").write_text(card, encoding="utf-8")


def corpus_name(result: DriftResult) -> str:
    corpus = result.settings["corpus"]
    if corpus["kind"] != TOXIC:
        return f"{result.counts['texts']:,} texts of {corpus['source']}"
    return (
        f"the {result.counts['corpus_sentences']:,} sentences that it finds likeliest ({', '.join(corpus['levels'])})"
    )


def epoch_rows(result: DriftResult) -> Iterator[dict[str, Any]]:
    """tables/drift.csv: a row for each epoch and region."""
    for epoch in result.epochs:
        for region in epoch["regions"]:
            row = {"epoch": epoch["epoch"], "loss": epoch["loss"]}
            row |= {key: region[key] for key in ("id", "name", "level")}
            for form in FORMS:
                row |= {form: region[form]["value"]}
                row |= {f"{form}_{bound}": region[form][bound] for bound in ("low", "high")}
            yield row


def tables(result: DriftResult) -> Iterator[Table]:
    """A row for each epoch: the first region in both forms, then what lies directly below it."""
    top, *below = result.epochs[0]["regions"]
    table = titled_table(f"{result.model['name']}, trained on {corpus_name(result)}: C_w by {result.model['score']}")
    table.add_column("epoch", justify="right")
    table.add_column("loss", justify="right", no_wrap=True)
    table.add_column(f"{top['name']}\nbalanced", justify="right", style="bold")
    table.add_column("\n95 % interval", justify="right", no_wrap=True)
    table.add_column("paper\n×1000", justify="right", no_wrap=True, style="dim")
    for epoch in result.epochs:
        balanced, paper = (epoch["regions"][0][form] for form in FORMS)
        table.add_row(
            str(epoch["epoch"]),
            NOTHING if epoch["loss"] is None else f"{epoch['loss']:.3f}",
            digits(balanced["value"]),
            "" if balanced["low"] is None else f"{balanced['low']:.4f}–{balanced['high']:.4f}",
            digits(paper["value"], 1000),
        )
    yield table
    if below:
        parts = titled_table("The same, balanced, of")
        parts.add_column("epoch", justify="right")
        for region in below:
            parts.add_column(region["name"], justify="right")
        for epoch in result.epochs:
            values = (digits(region["balanced"]["value"]) for region in epoch["regions"][1:])
            parts.add_row(str(epoch["epoch"]), *values)
        yield parts


def notes(result: DriftResult) -> Iterator[str]:
    """The trend in words, and what was left out."""
    top, *below = result.inference["regions"]
    yield trend(top, result.settings["epochs"])
    if below:
        told = ", ".join(f"{region['name']} {_moved(region['balanced'])}" for region in below)
        yield f"By how much the others moved (and their correlation with the epochs): {told}."
    if not result.inference["words_left_out"]:
        yield "No intervals: the words are too few, or the tree is too large to measure it without each of them."
    if result.counts.get("corpus_sentences_cut"):
        yield f"Sentences that the model cuts before their region, left out: {result.counts['corpus_sentences_cut']:,}."
    if result.counts.get("texts_blank"):
        yield f"Rows without text, left out: {result.counts['texts_blank']:,}."
    if result.corpus:
        yield "What it read: tables/corpus.csv. It holds prejudice, by design."


def trend(region: dict[str, Any], epochs: int) -> str:
    """How far a region came from the first state to the last, and how steadily."""
    found = region["balanced"]
    moved, order = found["difference"], found["spearman"]
    sure = f" (95 % {interval(moved, 4)}, p {moved['p']:.2g})" if moved["p"] is not None else ""
    along = "" if order is None else f" Spearman's correlation of the score with the epochs: {order:+.2f}."
    return f"{region['name']} moved by {signed(moved['value'], 4)} in {epochs} epoch(s){sure}.{along}"


def _moved(found: dict[str, Any]) -> str:
    order = "" if found["spearman"] is None else f" ({found['spearman']:+.2f})"
    return f"{signed(found['difference']['value'], 4)}{order}"
