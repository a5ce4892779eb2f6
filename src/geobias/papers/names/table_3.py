"""Barriere and Cifuentes, Table 3: local correlations of the sentiment classifier with perplexity (section 4).

The part of Table 5 that the paper discusses: sentiment alone, fifteen countries.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from geobias.papers.names.table_1 import DRAWS
from geobias.papers.names.table_5 import measure_local
from geobias.papers.names.tasks import TASKS
from geobias.papers.tables import Reproduction

TITLE = "local correlations of sentiment with perplexity, pooled (x 100)"


def measure(
    models: Sequence[str] = (),
    *,
    perplexity: str | None = None,
    texts: Any = None,
    column: str = "text",
    limit: int | None = None,
    finder: str | None = None,
    draws: int = DRAWS,
    scripts: str = "all",
    device: str = "auto",
    progress: bool | None = None,
) -> Reproduction:
    """The correlations of sentiment."""
    options = {"texts": texts, "column": column, "limit": limit, "finder": finder, "draws": draws, "scripts": scripts}
    return measure_local("table_3", models, TASKS[:1], perplexity, device, title=TITLE, progress=progress, **options)
