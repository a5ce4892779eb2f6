"""What every output of a run begins with: one sentence that anyone can quote, and each answer in a few words.

`Finding.headline` is written by the audit (`say_headline` in its report.py), once evidence is known for good. The hero
is the test that leads: by its evidence, then the word for its size, then the share of its scale.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Final

from geobias.report.findings import EVIDENCE_LABELS, SCALES, WORDS, Finding, with_role
from geobias.report.sentences import format_number
from geobias.report.tables import listed

DEMONSTRATION: Final = "embedded/"  # how the names of bundled models begin
ORDER: Final = list(EVIDENCE_LABELS)  # the strongest first
PERCENT: Final = {"probability": 100}  # units that people read in percentage points
SYMBOLS: Final = {"clear": "●", "suggestive": "◐", "none": "○", "not testable": "◌"}


def name_model(name: str) -> str:
    """A model as sentences call it; models that come with geobias for trying are called so."""
    if name.startswith(DEMONSTRATION):
        return f"the demonstration model {name.removeprefix(DEMONSTRATION)}"
    return "/".join(name.split("/")[-2:])


def choose_hero(findings: Iterable[Finding]) -> Finding | None:
    """The answer that leads; None where there is none."""
    return min(with_role(findings, "overall"), key=_rank, default=None)


def rank_answers(findings: Iterable[Finding]) -> list[Finding]:
    """The answers, the one that leads first."""
    return sorted(with_role(findings, "overall"), key=_rank)


def _rank(answer: Finding) -> tuple[int, int, float]:
    word, size = answer.size_word, answer.size
    share = abs(size.value) / SCALES[size.unit] if size and size.unit in SCALES else 0.0
    return ORDER.index(answer.evidence), -WORDS.index(word) if word else 1, -share


def state_headline(findings: Iterable[Finding]) -> str:
    """The first sentence of the terminal, the page, the notebook, the card and the gate."""
    hero = choose_hero(findings)
    return "" if hero is None else hero.headline or hero.sentence


def count_answers(findings: Iterable[Finding]) -> str:
    """ "7 tests: 4 clear, 1 suggestive, 2 not testable."."""
    answers = with_role(findings, "overall")
    counts = Counter(answer.evidence for answer in answers)
    words = {"none": "without evidence"}
    parts = [f"{counts[each]} {words.get(each, each)}" for each in ORDER if counts[each]]
    if not answers:
        return ""
    return f"{len(answers)} test{'' if len(answers) == 1 else 's'}: {listed(parts)}."


def say_answer(answer: Finding) -> str:
    """ "Yes, the difference is small."."""
    if answer.evidence == "clear":
        return f"Yes, the difference is {answer.size_word}." if answer.size_word else "Yes."
    if answer.evidence == "suggestive":
        return "Perhaps: not certain."
    return "No sign of it." if answer.evidence == "none" else "Cannot tell."


def say_size(answer: Finding) -> str:
    """ "small: 1.3 points (0.4 to 2.2)"; of a null how large the largest gap is."""
    size = answer.size
    if size is None:
        return "not measurable"
    number, times = say_number(answer), PERCENT.get(size.unit, 1)
    if answer.audit == "names" and answer.subject is None:  # a set of countries leads
        number += ", the standard deviation of countries"
    if size.low is not None and size.high is not None:
        low, high = (size.low, size.high) if size.value >= 0 else (-size.high, -size.low)
        number += f" ({format_number(times * low)} to {format_number(times * high)})"
    if answer.size_word is None:
        return f"none found; the largest gap is {number}" if answer.evidence == "none" else number
    return f"{answer.size_word}: {number}"


def say_number(answer: Finding) -> str:
    """ "12 percentage points"."""
    if answer.size is None:
        return ""
    unit = "percentage points" if answer.size.unit in PERCENT else answer.size.unit
    return f"{format_number(PERCENT.get(answer.size.unit, 1) * abs(answer.size.value))} {unit}"
