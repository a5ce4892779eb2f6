"""What the letters audit measures."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from geobias.models.scorer import ModelIdentity
from geobias.report.results import AuditResult


@dataclass(frozen=True)
class LettersSettings:
    countries: list[str]


@dataclass(frozen=True)
class Letters:
    country: str
    letters: int


@dataclass(frozen=True, kw_only=True)
class LettersResult(AuditResult):
    audit: Literal["letters"] = "letters"
    settings: LettersSettings
    countries: list[Letters]

    @property
    def model_identities(self) -> list[ModelIdentity]:
        return []

    def rows(self) -> list[dict[str, str | int]]:
        return [{"country": entry.country, "letters": entry.letters} for entry in self.countries]
