"""HERB, Table 4, upper part: how good the classifiers are once a country is named (section 4.5).

Accuracy and macro-F1 on the original texts, and on the same texts with the prefixes of all countries together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple
from typing import Any

import numpy as np

from geobias.measures.change import performance
from geobias.papers.herb.labelled_texts import load_datasets
from geobias.papers.herb.table_4 import compare_datasets
from geobias.papers.tables import Reproduction, choose_countries

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
    countries = [region.name for region in choose_countries(())]
    measured = {}
    datasets = load_datasets(models, texts, column=column, label=label, limit=limit, device=device)
    truths = [dataset.truth() for dataset in datasets]  # first: a wrong label is refused before hours of scoring
    for dataset, truth in zip(datasets, truths, strict=True):
        original, prefixed = dataset.ask(countries, progress)
        measured[dataset.name] = np.array(
            [
                astuple(performance(truth, probabilities, dataset.threshold))
                for probabilities in (original[:, None], prefixed)
            ]
        )
    return compare_datasets("table_4_overall", measured, datasets, title=TITLE)
