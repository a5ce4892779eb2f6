"""The regions audit as a person sees it: the files of its run, and its tables on the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from rich.table import Table

from geobias.audits.numbers import number
from geobias.audits.regions.design import RegionsResult
from geobias.audits.regions.terminal_inference import MARK, between, csv_cells, name_cell, score_cell
from geobias.audits.regions.wording import FULL, WITHOUT_TOPIC, WITHOUT_WORD, Wording
from geobias.measures.estimates import SIGNIFICANT, Estimates
from geobias.report.tables import digits, titled_table, write_csv

LIKELIHOODS = "likelihoods.parquet"
WORDS_SHOWN = 3
NARROW, TEMPLATES = 76, 10  # columns that a table with words needs, and those that a column for templates takes
RANK_WIDTH = 12  # of "rank 6 (6-6)", which is never folded
SCORE_WIDTH = 6  # of "0.133*"
INTERVAL_WIDTH = 11  # of "0.088–0.209"


def write_files(folder: Path, result: RegionsResult) -> None:
    """The tables of a run, and the likelihood of every sentence."""
    for name, rows in (("regions", region_rows), ("words", word_rows), ("topics", topic_rows)):
        write_csv(folder / "tables" / f"{name}.csv", rows(result))
    if result.wordings:
        write_csv(folder / "tables" / "wording.csv", wording_rows(result))
    _write_likelihoods(folder / LIKELIHOODS, result)


def _write_likelihoods(path: Path, result: RegionsResult) -> None:
    """f of every sentence (Eq. 1): a row for each template and region, a column for each word."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    regions = result.question.tree.regions[1:]
    templates = result.question.templates
    columns: dict[str, Any] = {
        "template": [template for template in templates for _ in regions],
        "id": [region.id for _ in templates for region in regions],
        "level": [region.level for _ in templates for region in regions],
        "name": [region.name for _ in templates for region in regions],
        "name_likelihood": np.tile(result.name_likelihoods[1:], len(templates)),
    }
    values = result.likelihoods[:, 1:].reshape(-1, len(result.question.words))
    for k, word in enumerate(result.question.words):
        columns[f"{word.topic}/{word.word}"] = values[:, k]
    pq.write_table(pa.table(columns), path, compression="zstd")


def region_rows(result: RegionsResult) -> list[dict[str, Any]]:
    """tables/regions.csv: results.json's regions, a row each."""
    rows = []
    for entry in result.regions:
        row = {key: value for key, value in entry.items() if not isinstance(value, dict)}
        for variant in ("c_w", "c_z"):
            row |= {f"{variant}_{form}": value for form, value in entry[variant].items()}
            spread = entry.get("spread", {}).get(variant, {})
            row |= {f"{variant}_{form}_spread": value for form, value in spread.items()}
        rows.append(row | csv_cells(entry))
    return rows


def word_rows(result: RegionsResult) -> list[dict[str, Any]]:
    """tables/words.csv: how much the sub-regions of each region differ in each word (Eq. 6)."""
    differences = result.measure("words")
    return [
        {**_named(result, i), "word": word.word, "topic": word.topic, "sparseness": float(differences[i, k])}
        for i in _regions_with_pairs(result)
        for k, word in enumerate(result.question.words)
    ]


def topic_rows(result: RegionsResult) -> list[dict[str, Any]]:
    """tables/topics.csv: the same for each topic (Eq. 3 within its words)."""
    topics = dict.fromkeys(word.topic for word in result.question.words)
    differences = {topic: result.measure(f"topic.{topic}") for topic in topics}
    return [
        {**_named(result, i), "topic": topic, "sparseness": float(differences[topic][i])}
        for i in _regions_with_pairs(result)
        for topic in topics
    ]


def wording_rows(result: RegionsResult) -> list[dict[str, Any]]:
    """tables/wording.csv: the scores with words left out or replaced."""
    return [
        {
            "what": wording.what,
            "name": wording.name,
            **{f"region_{key}": value for key, value in _named(result, i).items()},
        }
        | {measure.replace(".", "_"): number(values[i]) for measure, values in wording.scores.items()}
        | _bounds("c_w_balanced", wording.balanced, i, ("low", "high"))
        | _bounds("c_w_balanced_difference", wording.difference, i, ("value", "low", "high", "p", "p_adjusted"))
        for wording in result.wordings
        for i in _regions_with_pairs(result)
    ]


def _bounds(name: str, found: Estimates | None, i: int, keys: Sequence[str]) -> dict[str, float | None]:
    """Columns beside a score; empty where nothing is known."""
    known = {} if found is None else asdict(found.at(i))
    return {name if key == "value" else f"{name}_{key}": known.get(key) for key in keys}


def _regions_with_pairs(result: RegionsResult) -> list[int]:
    return [i for i, below in enumerate(result.question.tree.children) if len(below) > 1]


def _named(result: RegionsResult, i: int) -> dict[str, Any]:
    region = result.question.tree.regions[i]
    return {"id": region.id, "name": region.name, "level": region.level}


def overview(result: RegionsResult, *, width: int) -> Table:
    """The terminal's table: the root and what lies directly below it, balanced first, the paper's form beside it.

    Numbers are never cut: where the terminal is narrow the words are left out.
    """
    several = len(result.question.templates) > 1
    with_words = width >= NARROW + (TEMPLATES if several else 0)
    table = titled_table(f"How differently {result.model['name']} speaks of sub-regions, by {result.model['score']}")
    table.add_column("region", overflow="fold", min_width=RANK_WIDTH)
    table.add_column("sub-\nregions", justify="right", no_wrap=True)
    table.add_column("balanced\nC_w, 95 %", justify="right", style="bold", no_wrap=True)
    if several:
        table.add_column("± over\ntemplates", justify="right", no_wrap=True)
    table.add_column("balanced\nC_z", justify="right", no_wrap=True)
    table.add_column("flat", justify="right", no_wrap=True)
    with_paper = with_words or not several  # a narrow terminal has no room for both it and the templates
    if with_paper:
        table.add_column("paper\nC_w×1000", justify="right", style="dim", no_wrap=True)
    if with_words:
        table.add_column("words that\ndiffer most")
    for i in top_rows(result):
        entry = result.regions[i]
        cells = [name_cell(entry), f"{entry['children']:,}", score_cell(entry)]
        if several:
            cells.append(digits(entry["spread"]["c_w"]["balanced"]))
        cells += [digits(entry["c_z"]["balanced"]), digits(entry["flat"])]
        if with_paper:
            cells.append(digits(entry["c_w"]["paper"], 1000))
        if with_words:
            cells.append("\n".join(result.differing_words(i, WORDS_SHOWN)))
        table.add_row(*cells, end_section=i == 0)
    return table


def side_by_side(results: Sequence[RegionsResult], names: Sequence[str]) -> Table:
    """Balanced C_w of several models or scores, a column each."""
    table = titled_table("Balanced C_w side by side")
    table.add_column("region", overflow="fold")
    for name in names:
        table.add_column(name, justify="right", no_wrap=True)
    for i in top_rows(results[0]):
        cells = [score_cell(result.regions[i]) for result in results]
        table.add_row(results[0].regions[i]["name"], *cells, end_section=i == 0)
    return table


def wording_table(result: RegionsResult) -> Table:
    """Balanced C_w with topics left out or replaced (the paper's Tables 3 and 6), for the regions at the top."""
    table = titled_table(f"What the words do to the balanced C_w of {result.model['name']}, by {result.model['score']}")
    table.add_column("words", overflow="fold", min_width=len(WITHOUT_TOPIC))
    scored = [i for i in top_rows(result) if len(result.question.tree.children[i]) > 1]
    below, whole = scored[1:], scored[:1]  # the root, if it has a score, has most room
    for i in (*below, *whole):
        name = result.regions[i]["name"]
        widest = max(map(len, name.split()))
        width = max(INTERVAL_WIDTH if i in whole else SCORE_WIDTH, widest)
        table.add_column(name, justify="right", min_width=width, max_width=width)
    for wording in result.wordings:
        if wording.what != WITHOUT_WORD:
            cells = [*(_wording_cell(wording, i) for i in below), *(_sure_cell(wording, i) for i in whole)]
            table.add_row(f"{wording.what} {wording.name}".strip(), *cells, end_section=wording.what == FULL)
    return table


def _wording_cell(wording: Wording, i: int) -> str:
    """The score, and a mark where it differs from the score as it is."""
    value = f"{wording.scores['c_w.balanced'][i]:.3g}"
    is_marked = wording.difference is not None and wording.difference.p_adjusted[i] < SIGNIFICANT
    return value + MARK if is_marked else value


def _sure_cell(wording: Wording, i: int) -> str:
    """With its interval, for which a terminal has no room in every column."""
    value = _wording_cell(wording, i)
    return value if wording.balanced is None else f"{value}\n{between(asdict(wording.balanced.at(i)))}"


def carrying_words(result: RegionsResult, count: int) -> tuple[list[tuple[str, float]], list[tuple[str, float]]]:
    """The words without which the root's balanced C_w is lowest, and those without which it is highest."""
    full = result.wordings[0].scores["c_w.balanced"][0]
    changes = [
        (wording.name, float(wording.scores["c_w.balanced"][0] - full))
        for wording in result.wordings
        if wording.what == WITHOUT_WORD
    ]
    ranked = sorted(changes, key=lambda change: change[1])
    falls, rises = [one for one in ranked if one[1] < 0], [one for one in ranked[::-1] if one[1] > 0]
    return falls[:count], rises[:count]


def top_rows(result: RegionsResult) -> list[int]:
    """The root, then the inner regions directly below it; where all of those are leaves the root stands alone."""
    below = result.question.tree.children[0]
    return [0, *(int(i) for i in below if len(result.question.tree.children[i]))]
