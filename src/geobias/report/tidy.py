"""Tidy rows: one for each place and measure, with the same columns in every audit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from geobias.measures.estimates import Estimate
from geobias.report.results import HasInterval
from geobias.report.tables import is_marked


def tidy_row(
    place: Mapping[str, Any],
    measure: str,
    number: HasInterval,
    *,
    label: str | None = None,
    against: str | None = None,
) -> dict[str, Any]:
    """A row of `to_frame`: what tells the place apart, the measure, and its number with interval and p-values."""
    estimate = number if isinstance(number, Estimate) else None
    return {
        **place,
        "measure": measure,
        "label": label,
        "against": against,
        "value": number.value,
        "low": number.low,
        "high": number.high,
        "p": estimate.p if estimate else None,
        "p_adjusted": estimate.p_adjusted if estimate else None,
        "is_marked": estimate is not None and is_marked(estimate),
    }
