"""The numbers of a run by the paths of a gate: `names.sentiment.delta.worst`.

Classifiers, countries and regions go by any of their names. Where a number may lie on either side of 0, its absolute
value counts, and so does its interval.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import NamedTuple

from geobias.report.findings import Finding, with_role
from geobias.report.results import AuditResult, HasInterval

WORST = "worst"
_NEEDS_QUOTES = re.compile(r"""[."'<>=]|^\s|\s$""")


class Range(NamedTuple):
    """The values that a number can have. The ends of its interval may lie beyond: an estimate does not know them."""

    lowest: float
    highest: float

    def __str__(self) -> str:
        ends = f"{self.lowest:g}", f"{self.highest:g}"
        if self.highest == inf:
            return f"at least {ends[0]}"
        return f"at most {ends[1]}" if self.lowest == -inf else f"between {' and '.join(ends)}"


ANY_NUMBER = Range(-inf, inf)
NOT_NEGATIVE = Range(0, inf)
SHARE = Range(0, 1)
PER_CENT = Range(0, 100)
HERB_SCORE = Range(0, 4)  # a mean distance of vectors whose length is at most 2: measures/herb.py, Eq. 2, 7 and 8


@dataclass(frozen=True)
class TreeNumber:
    """A number of a run with its interval, None where there is none, and its range."""

    value: float | None
    low: float | None = None
    high: float | None = None
    within: Range = ANY_NUMBER
    untested: str = ""
    """Why it says nothing, though it may have a value: a rule about it does not hold."""

    def absolute(self) -> TreeNumber:
        """The distance from 0; an interval that holds 0 begins there."""
        value = None if self.value is None else abs(self.value)
        distances = Range(0, max(map(abs, self.within)))
        if self.low is None or self.high is None:
            return TreeNumber(value, within=distances)
        nearest = 0.0 if self.low <= 0 <= self.high else min(abs(self.low), abs(self.high))
        return TreeNumber(value, nearest, max(abs(self.low), abs(self.high)), distances)


def tree_number(estimate: HasInterval | None, within: Range, *, value: float | None = None) -> TreeNumber:
    """An estimate as a number of a gate; where there is none, the bare value."""
    if estimate is None:
        return TreeNumber(value, within=within)
    return TreeNumber(estimate.value, estimate.low, estimate.high, within)


def worst_number(bounds: HasInterval | None, numbers: Sequence[TreeNumber], within: Range) -> TreeNumber:
    """The largest of all with its simultaneous bounds; where the run has none, the number alone."""
    values = [number.value for number in numbers if number.value is not None]
    return tree_number(bounds, within, value=max(values, default=None)).absolute()


@dataclass(frozen=True)
class GateNumber:
    """A number with its path; each part has its names, the full one first. An audit leaves out its own name."""

    path: tuple[tuple[str, ...], ...]
    number: TreeNumber


def model_names(name: str) -> tuple[str, ...]:
    """A model goes by its full name, the short one of tables and pages, or its last part: f for package.module:f."""
    short, tail = "/".join(Path(name).parts[-2:]), name.rsplit("/", 1)[-1]
    return tuple(dict.fromkeys(part for part in (name, short, tail, tail.rsplit(":", 1)[-1]) if part))


def join_path(parts: Iterable[str]) -> str:
    """The path of a rule, with quotes around the parts that need them."""
    return ".".join(map(_quote, parts))


def _quote(part: str) -> str:
    mark = "'" if '"' in part else '"'
    return f"{mark}{part}{mark}" if _NEEDS_QUOTES.search(part) else part


FINDINGS, CLEAR, MODERATE = "findings", "clear", "moderate"
UNTESTED = "not tested, so it cannot pass"
NO_FINDINGS = "This run has no overall answer: run the audit again."


@dataclass(frozen=True)
class FindingsCount(TreeNumber):
    """How many findings are clear, with their sentences; `untested` has those of answers that could not be tested."""

    within: Range = NOT_NEGATIVE
    clear: tuple[str, ...] = ()

    def explain(self) -> str:
        """What breaks a rule: what is clear, and what could not be tested, since nothing is known of it."""
        clear = f"{len(self.clear)} clear finding{'' if len(self.clear) == 1 else 's'}: {' '.join(self.clear)}"
        untested = f"{UNTESTED}: {self.untested}"
        return "; ".join([clear] * bool(self.clear or not self.untested) + [untested] * bool(self.untested))


def count_findings(result: AuditResult) -> Iterator[GateNumber]:
    """findings.clear, AUDIT.findings.clear, and AUDIT.MODEL.findings.clear for each model that findings are about.

    Each with `moderate` below it: a size without a word (a distance) counts, since it may be large. Cautions are
    warnings about a number, not findings of their own.
    """
    audit, end = (result.audit,), ((FINDINGS,), (CLEAR,))
    models = dict.fromkeys(finding.model for finding in with_role(result.findings, "overall"))
    of_models = [((audit, model_names(model)), _about(result.findings, model)) for model in models]
    starts: list[tuple[tuple[tuple[str, ...], ...], Sequence[Finding]]]
    starts = [((), result.findings), ((audit,), result.findings), *of_models]
    for start, findings in starts:
        answers = with_role(findings, "overall")
        clear = [finding for finding in findings if finding.evidence == "clear" and finding.role != "caution"]
        moderate = [finding for finding in clear if finding.size_word not in ("tiny", "small")]
        untested = [answer.sentence for answer in answers if answer.evidence == "not testable"]
        for path, counted in (((*start, *end), clear), ((*start, *end, (MODERATE,)), moderate)):
            yield GateNumber(path, _count(counted, " ".join(untested if answers else [NO_FINDINGS])))


def _about(findings: Sequence[Finding], model: str) -> list[Finding]:
    return [finding for finding in findings if finding.model == model]


def _count(findings: Sequence[Finding], untested: str) -> FindingsCount:
    sentences = tuple(
        f"({finding.size_word}) {finding.sentence}" if finding.size_word else finding.sentence for finding in findings
    )
    return FindingsCount(len(sentences), untested=untested, clear=sentences)
