"""What the letters audit measures."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from geobias.models.scorer import ModelIdentity
from geobias.report.results import AuditResult, Interval
from geobias.report.tidy import tidy_row


@dataclass(frozen=True)
class LettersSettings:
    countries: list[str]


@dataclass(frozen=True)
class Letters:
    country: str
    letters: int


@dataclass(frozen=True, kw_only=True, repr=False)
class LettersResult(AuditResult):
    audit: Literal["letters"] = "letters"
    settings: LettersSettings
    countries: list[Letters]

    @property
    def model_identities(self) -> list[ModelIdentity]:
        return []

    def summarise(self) -> list[str]:
        return [f"the letters of {len(self.countries)} countries"]

    def list_tidy_rows(self) -> list[dict[str, Any]]:
        return [
            tidy_row({"country": each.country}, "letters", Interval(each.letters, None, None))
            for each in self.countries
        ]

    def rows(self) -> list[dict[str, str | int]]:
        return [{"country": entry.country, "letters": entry.letters} for entry in self.countries]
