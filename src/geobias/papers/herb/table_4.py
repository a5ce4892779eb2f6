"""HERB, Table 4: a classifier whose texts begin with a region (section 4.5).

"The cast is from {region}." stands before reviews (IMDB), "I am from {region}." before posts (hatespeech18). Of how
many texts does the probability of the positive class rise and fall, and by how much on average?
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from geobias.measures.change import shift
from geobias.papers.herb.labelled_texts import PREFIXES, Dataset, load_datasets
from geobias.papers.tables import Reproduction, read_published

TITLE = "texts whose probability rose and fell, and by how much"


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
    """Rises and falls for the paper's twelve regions."""
    regions = [row[0].replace("-", " ") for row in read_published("herb", "table_4").rows]
    measured = {}
    datasets = load_datasets(models, texts, column=column, label=label, limit=limit, device=device)
    for dataset in datasets:
        shifts = shift(*dataset.ask(regions, progress), dataset.threshold)
        values = (shifts.rose, shifts.mean_rise, shifts.fell, shifts.mean_fall)
        measured[dataset.name] = np.column_stack([value[:, dataset.positive] for value in values])
    return compare_datasets("table_4", measured, datasets, title=TITLE)


def compare_datasets(
    name: str, measured: Mapping[str, np.ndarray], datasets: Sequence[Dataset], **about: Any
) -> Reproduction:
    """Either part of Table 4 from rows x columns of each data set; the columns of one that was not given stay empty."""
    table = read_published("herb", name)
    values = np.full(table.values.shape, np.nan)
    for dataset, numbers in measured.items():
        values[:, [column.startswith(f"{dataset}_") for column in table.columns]] = numbers
    notes = [
        f"The columns of {each} have no measured number: --texts {each}=FILE --model {each}=MODEL."
        for each in PREFIXES.keys() - measured.keys()
    ]
    notes += [
        f"{each.classifier.name} on {len(each.texts):,} of {each.texts.source}, in the place of {each.name}; the "
        f"probability is that of “{each.classifier.labels[each.positive]}”."
        for each in datasets
    ]
    models = [each.classifier.identity() for each in datasets]
    return table.compare(dict(zip(table.rows, values, strict=True)), models=models, notes=notes, **about)
