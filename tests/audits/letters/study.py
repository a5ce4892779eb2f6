"""What is asked of which model; the letters audit asks none."""

from __future__ import annotations

from collections.abc import Sequence

from geobias.audits.study import RunOptions, Study
from geobias.models.scorer import Scorer
from tests.audits.letters.result import Letters, LettersResult, LettersSettings


class LettersStudy(Study[Scorer, list[int], LettersResult]):
    audit = "letters"

    def __init__(self, countries: list[str], options: RunOptions) -> None:
        super().__init__(options)
        self.countries = countries

    def settings(self) -> LettersSettings:
        return LettersSettings(self.countries)

    def load(self, device: str, dtype: str) -> list[Scorer]:
        return []  # an audit of models returns their scorers here

    def ask(self, scorers: Sequence[Scorer]) -> list[int]:
        return [sum(map(str.isalpha, country)) for country in self.countries]

    def measure(self, answers: list[int]) -> LettersResult:
        entries = [Letters(country, letters) for country, letters in zip(self.countries, answers, strict=True)]
        return LettersResult(settings=self.settings(), countries=entries)
