"""HERB, Table 2: the flat baseline (section 4.2).

All regions of a continent (itself, its countries and its cities) are one cluster, and its sparseness is the mean
distance of every two of its vectors (Eq. 3), whatever the hierarchy. The Earth's is of all regions together.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from geobias.audits.regions.result import RegionsResult
from geobias.measures.ranks import rank_correlation
from geobias.papers.herb.table_1 import CONTINENTS, MODELS, TAKEN_FOR, audit_herb, describe_regions, load_scorer
from geobias.papers.tables import Published, Reproduction, Row, load_each, read_published

TITLE = "flat cluster sparseness"
LABELS_NOTE = "Nothing in Table 2 itself tells whether its labels are swapped as Table 1's: they are taken as printed."


def measure(
    models: Sequence[str] = (), *, cities: int | str = "all", device: str = "auto", progress: bool | None = None
) -> Reproduction:
    """The flat sparseness of each model, of the paper's four or of others."""
    table, missing = read_published("herb", "table_2"), list[str]()
    results = {
        name: audit_herb(scorer, cities, progress=progress)
        for name, scorer in load_each(models, MODELS, lambda name: load_scorer(name, device), missing)
    }
    measured: dict[Row, np.ndarray] = {(name,): _read_flat(result, table.columns) for name, result in results.items()}
    return table.compare(
        measured,
        title=TITLE,
        models=[result.model for result in results.values()],
        missing=missing,
        ranked=CONTINENTS,
        notes=[_compare_labels(table, results), LABELS_NOTE, *describe_regions(results.values(), cities)],
    )


def _read_flat(result: RegionsResult, columns: Sequence[str]) -> np.ndarray:
    flat = {region.id: region.flat for region in result.regions if region.level == "continent"}
    estimates = [result.regions[0].flat if name == "overall" else flat[name] for name in columns]
    return np.array([each and each.value for each in estimates], dtype=float)


def _compare_labels(table: Published, results: dict[str, RegionsResult]) -> str:
    """How well the order of the continents agrees with the published one by either reading of Table 1's labels."""
    published = dict(zip(table.rows, table.values, strict=True))
    readings = {
        "with the labels as printed": CONTINENTS,
        "in the released code's order": [TAKEN_FOR.get(name, name) for name in CONTINENTS],
    }
    means = []
    for reading, labels in readings.items():
        correlations = [
            rank_correlation(published[name,][: len(CONTINENTS)], _read_flat(result, labels))
            for name, result in results.items()
            if (name,) in published
        ]
        known = [value for value in correlations if value is not None]
        means += [f"{np.mean(known):+.2f} {reading}"] if known else []
    if not means:
        return "The model is not the paper's: the order of its continents has no published one to agree with."
    return f"Order of the continents, mean rank correlation over the measured rows: {', '.join(means)}."
