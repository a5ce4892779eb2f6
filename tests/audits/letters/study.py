"""What is asked of which model (the letters audit asks none), and what is measured."""

from collections.abc import Sequence

from geobias.audits.study import Study
from geobias.models.scorer import Scorer
from tests.audits.letters.result import Letters, LettersResult


class LettersStudy(Study[Scorer, list[int], LettersResult]):
    audit = "letters"

    def ask(self, scorers: Sequence[Scorer]) -> list[int]:
        return [sum(map(str.isalpha, name)) for name in self.design["countries"]]

    def measure(self, answers: list[int]) -> LettersResult:
        rows = map(Letters, self.design["countries"], answers)
        return LettersResult(settings=self.settings(), countries=list(rows))
