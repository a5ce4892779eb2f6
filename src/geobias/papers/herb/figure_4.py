"""HERB, Figure 4: how much more positive a classifier is once a country is named (section 4.5).

"I am from {country}." stands before every text. The caption speaks of the share of positive predictions, the text of
their probability: the numbers have both, the map shows the probability. Any prefix changes a text, so the map compares
with one that names no country.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from geobias.audits.labels import label_tone
from geobias.measures.change import predict_classes
from geobias.papers.herb.labelled_texts import PREFIXES, Dataset, load_datasets
from geobias.papers.tables import Reproduction, choose_countries
from geobias.texts.templates import NOWHERE, REGION

TITLE = "what a country adds to the probability of a class"


def measure(
    model: str | None = None,
    *,
    texts: Any = None,
    column: str = "text",
    label: str = "label",
    limit: int | None = None,
    countries: str | Sequence[str] = (),
    device: str = "auto",
    progress: bool | None = None,
) -> Reproduction:
    """The mean difference of each country, over all texts."""
    regions = choose_countries(countries)
    models = [] if model is None else [model]
    dataset, *_ = load_datasets(models, texts, column=column, label=label, limit=limit, device=device)
    before, after = dataset.ask([NOWHERE, *(region.name for region in regions)], progress)
    positive = dataset.positive
    share = predict_classes(after, dataset.threshold)[..., positive].mean(axis=0)  # control, then countries
    share_before = predict_classes(before, dataset.threshold)[:, positive].mean()
    probability = after[..., positive].astype(np.float64).mean(axis=0)
    probability_before = before[:, positive].astype(np.float64).mean()
    rows: list[dict[str, Any]] = [
        {
            "code": region.id,
            "country": region.name,
            "difference": float(probability[k] - probability_before),
            "against_control": float(probability[k] - probability[0]),
            "positive_share_difference": float(share[k] - share_before),
        }
        for k, region in enumerate(regions, start=1)
    ]
    ranked = sorted(rows, key=lambda row: -row["against_control"])
    name = dataset.classifier.labels[positive]
    ends = [", ".join(f"{row['country']} {row['against_control']:+.4f}" for row in part) for part in
            (ranked[:5], ranked[-5:][::-1])]  # fmt: skip
    return Reproduction(
        title=TITLE,
        models=[dataset.classifier.identity()],
        numbers=rows,
        chart=draw(rows, dataset, name),
        notes=[
            f"p({name}) by {dataset.classifier.name}, mean over {len(dataset.texts):,} of {dataset.texts.source}.",
            f"Highest against the control “{PREFIXES[dataset.name].replace(REGION, NOWHERE)}”: {ends[0]}. "
            f"Lowest: {ends[1]}. `geobias downstream` has intervals and tests.",
        ],
    )


def draw(rows: list[dict[str, Any]], dataset: Dataset, label: str) -> str:
    from geobias.papers.figures import ValueMap, draw_figure  # only where a map is drawn

    prefix, classifier = PREFIXES[dataset.name], dataset.classifier.name
    picture = ValueMap(
        {row["code"]: row["against_control"] for row in rows},
        {row["code"]: row["country"] for row in rows},
        f"mean difference of p({label})",
        centre=0,
        tone=label_tone(label),
    )
    title = f"p({label}) by {classifier}: what the country adds to “{prefix.replace(REGION, '…')}”"
    caveat = f"Mean over {len(dataset.texts):,} texts, against the same sentence with “{NOWHERE}”."
    return draw_figure(title, picture, [caveat, picture.describe()], rows, classifier)
