"""HERB, Table 4, upper part: how good the classifiers are once a country is named (section 4.5).

Accuracy and macro-F1 on the original texts, and on the same texts with the prefixes of all countries together.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from geobias.measures.change import performance
from geobias.papers.herb.table_4 import compare_datasets, load_datasets
from geobias.papers.tables import Reproduction, read_published
from geobias.world.regions import load_world

TITLE = "accuracy and macro-F1 with every country's prefix"


def measure(
    models: Sequence[str] = (),
    *,
    texts: Any = None,
    column: str = "text",
    label: str = "label",
    limit: int | None = None,
    device: str = "auto",
    progress: bool | None = None,
) -> Reproduction:
    """Accuracy and macro-F1 without a prefix, then with those of all countries."""
    table = read_published("herb", "table_4_overall")
    countries = [region.name for region in load_world(cities=0).regions if region.level == "country"]
    measured = {row: np.full(len(table.columns), np.nan) for row in table.rows}
    datasets = load_datasets(models, texts, column=column, label=label, limit=limit, device=device)
    truths = [dataset.truth() for dataset in datasets]  # first: a wrong label is refused before hours of scoring
    for dataset, truth in zip(datasets, truths, strict=True):
        original, prefixed = dataset.ask(countries, progress)
        columns = [k for k, name in enumerate(table.columns) if name.startswith(f"{dataset.name}_")]
        for row, probabilities in zip(table.rows, (original[:, None], prefixed), strict=True):
            quality = performance(truth, probabilities, dataset.threshold)
            measured[row][columns] = quality.accuracy, quality.macro_f1
    return compare_datasets("table_4_overall", measured, datasets, title=TITLE)
