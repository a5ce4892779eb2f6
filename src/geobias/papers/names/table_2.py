"""Barriere and Cifuentes, Table 2: perplexity, hate and sentiment of texts in three languages (section 4).

As Table 4, with the hate classifier too: does a language that the model does not know look hateful or negative to it?
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from geobias.papers.names.table_4 import measure_global, read_languages
from geobias.papers.names.tasks import TASKS
from geobias.papers.tables import Reproduction

TITLE = "global correlations with perplexity (x 100)"
SENTIMENT_AND_HATE = (TASKS[0], TASKS[2])


def measure(
    models: Sequence[str] = (),
    *,
    perplexity: str | None = None,
    texts: Any = None,
    column: str = "text",
    limit: int | None = None,
    device: str = "auto",
    progress: bool | None = None,
) -> Reproduction:
    """The correlations of sentiment and hate."""
    by_language = read_languages(texts, column=column, limit=limit)
    return measure_global(
        "table_2", models, SENTIMENT_AND_HATE, perplexity, by_language, device, title=TITLE, progress=progress
    )
