"""HERB, Table 6: the words of each topic replaced (section 4.6).

ALBERT's C_w from all 112 words, then with those of one topic replaced by their nearest words (the paper's Appendix A),
which are listed with the words.
"""

from __future__ import annotations

from geobias.audits.regions.wording import FULL, REPLACED
from geobias.papers.herb.table_3 import measure_wordings
from geobias.papers.tables import Reproduction

TITLE = "topics replaced, C_w"


def measure(
    model: str | None = None, *, cities: int | str = "all", device: str = "auto", progress: bool | None = None
) -> Reproduction:
    """C_w of one model with the words of each topic replaced; the published numbers are ALBERT's."""
    return measure_wordings(
        model, "table_6", {"full": FULL, "replace": REPLACED}, TITLE, cities, device,
        substitute="topics", progress=progress,
    )  # fmt: skip
