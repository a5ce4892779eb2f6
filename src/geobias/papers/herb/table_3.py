"""HERB, Table 3: each topic of the words left out (section 4.4).

ALBERT's C_w from all 112 words, then without those of one topic; the vectors are normalised again on what remains.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from geobias.audits.regions.result import RegionsResult
from geobias.audits.regions.wording import FULL, WITHOUT_TOPIC
from geobias.papers.herb.table_1 import FORMS, Scores, audit_herb, compare_scores, find_columns, load_scorer
from geobias.papers.tables import Reproduction, Row, load_each, read_published

TITLE = "topics left out, C_w"
ALBERT = "albert-base-v2"


def measure(
    model: str | None = None, *, cities: int | str = "all", device: str = "auto", progress: bool | None = None
) -> Reproduction:
    """C_w of one model with each topic left out; the published numbers are ALBERT's."""
    return measure_wordings(
        model, "table_3", {"full": FULL, "without": WITHOUT_TOPIC}, TITLE, cities, device,
        ablate="topics", progress=progress,
    )  # fmt: skip


def measure_wordings(
    model: str | None, name: str, names: dict[str, str], title: str, cities: int | str, device: str, **options: Any
) -> Reproduction:
    """A table with a row for each wording; `names` says what the first word of a row means in the audit."""
    table, missing = read_published("herb", name), list[str]()
    models = [] if model is None else [model]
    ((model, scorer),) = load_each(models, [ALBERT], lambda name: load_scorer(name, device), missing)
    result = audit_herb(scorer, cities, **options)
    scores = {(wording.what, wording.name): wording.scores for wording in result.wordings}

    def read_row(row: Row) -> Scores:
        kind, _, topic = row[0].partition(" ")
        return _select(result, scores[names[kind], topic], table.columns)

    reproduction = compare_scores(table, {row: read_row(row) for row in table.rows}, [result], cities, title=title)
    if model != ALBERT:
        reproduction.notes.append(f"The published rows are {ALBERT}'s, the measured ones {model}'s.")
    return reproduction


def _select(result: RegionsResult, scores: dict[str, Any], columns: tuple[str, ...]) -> Scores:
    """C_w of a wording for the regions behind the columns."""
    positions = [result.regions.index(region) for region in find_columns(result, columns)]
    return {form: np.asarray(scores[f"c_w.{form}"])[positions] for form in FORMS}
