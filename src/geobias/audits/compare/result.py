"""What a comparison measures: how far apart runs of one audit are, each against the first."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from geobias.audits.compare.differences import Comparison
from geobias.models.scorer import ModelIdentity
from geobias.report.results import AuditResult


@dataclass(frozen=True)
class CompareSettings:
    """Which runs are compared."""

    audit: str
    runs: list[str]


@dataclass(frozen=True, kw_only=True)
class CompareResult(AuditResult):
    """Runs of one audit, each against the first."""

    audit: Literal["compare"] = "compare"
    settings: CompareSettings
    models: list[ModelIdentity]
    comparisons: list[Comparison]

    @property
    def model_identities(self) -> list[ModelIdentity]:
        return self.models

    def rows(self) -> list[dict[str, Any]]:
        """A row for each difference: `frame`, tables/compare.csv."""
        return list(self._rows())

    def _rows(self) -> Iterator[dict[str, Any]]:
        for comparison in self.comparisons:
            for row in comparison.rows:
                yield {
                    "first_run": comparison.first,
                    "second_run": comparison.second,
                    "first_model": row.models[0],
                    "second_model": row.models[1],
                    **{key: getattr(row, key) for key in ("measure", "against", "label", "id", "name")},
                    "first": row.first,
                    "second": row.second,
                    "difference": row.difference.value,
                    **{key: getattr(row.difference, key) for key in ("low", "high", "p", "p_adjusted")},
                }
