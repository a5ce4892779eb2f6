"""What the letters audit measures: a list of rows."""

from dataclasses import dataclass
from typing import Literal

from geobias.report.results import AuditResult


@dataclass(frozen=True)
class Letters:
    place: str
    letters: int


@dataclass(frozen=True, kw_only=True, repr=False)
class LettersResult(AuditResult):
    audit: Literal["letters"] = "letters"
    countries: list[Letters]
