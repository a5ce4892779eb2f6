"""`audit_letters`: the audit as a Python function."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from geobias.audits.study import RunOptions, Study
from geobias.models.scorer import Scorer
from tests.audits.letters.result import Letters, LettersResult, LettersSettings


def audit_letters(countries: Sequence[str], *, out: str | Path | None = None) -> LettersResult:
    """How many letters the names of these countries have."""
    return LettersStudy(countries, RunOptions(out=out)).run()


class LettersStudy(Study[Scorer, list[int], LettersResult]):
    audit = "letters"

    def __init__(self, countries: Sequence[str], options: RunOptions) -> None:
        super().__init__(options)
        self.countries = list(countries)

    def settings(self) -> LettersSettings:
        return LettersSettings(self.countries)

    def load(self, device: str, dtype: str) -> list[Scorer]:
        return []  # an audit of models returns their scorers here

    def ask(self, scorers: Sequence[Scorer]) -> list[int]:
        return [sum(map(str.isalpha, country)) for country in self.countries]

    def measure(self, answers: list[int]) -> LettersResult:
        entries = [Letters(country, letters) for country, letters in zip(self.countries, answers, strict=True)]
        return LettersResult(settings=self.settings(), countries=entries)
