"""What the sections of audits with countries as rows share: titles in words, cells of tables, one block per model."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple, Protocol, TypeVar

from geobias.measures.estimates import Estimate
from geobias.models.scorer import ModelIdentity
from geobias.report.findings import EVIDENCE_LABELS, Finding, grade_evidence, with_role
from geobias.report.page.blocks import Chart, Choice, Row, Table
from geobias.report.page.charts import Valence
from geobias.report.tables import NOTHING, interval, listed, signed

MOST_NAMED = 3  # countries in a title; of more it names two and counts the others
TOO_LITTLE = "too little data to tell"


class HasModel(Protocol):
    @property
    def model(self) -> ModelIdentity: ...


Entry = TypeVar("Entry", bound=HasModel)


class Difference(NamedTuple):
    """What is said of some countries: "names from", the countries, "are judged more harshly"."""

    before: str
    countries: Sequence[str]
    after: str


def title_differences(
    model: ModelIdentity,
    estimates: Iterable[Estimate],
    differences: Sequence[Difference],
    nothing: str,
    findings: Sequence[Finding] = (),
) -> str:
    """What is clear (adjusted p < 0.05), in words, and `nothing` where nothing is; never more than the findings say."""
    evidence = {finding.evidence for finding in with_role(findings, "overall") if finding.model == model.name}
    parts = [f"{before} {_name_countries(names)} {after}" for before, names, after in differences if names]
    if evidence == {"not testable"} or all(estimate.p_adjusted is None for estimate in estimates):
        parts = [TOO_LITTLE]
    elif evidence and "clear" not in evidence:
        parts = []
    return f"{model.short_name}: {'; '.join(parts) or nothing}"


def _name_countries(names: Sequence[str]) -> str:
    if len(names) <= MOST_NAMED:
        return listed(names)
    return f"{names[0]}, {names[1]} and {len(names) - 2} other countries"


def estimate_cells(estimate: Estimate, places: int, valence: Valence) -> dict[str, str]:
    """Interval, adjusted p-value and evidence of one row of a table."""
    p, evidence = estimate.p_adjusted, grade_evidence(estimate.p_adjusted)
    words = EVIDENCE_LABELS[evidence]
    if evidence in ("clear", "suggestive"):
        words = f"{words}: {valence.above if (estimate.value or 0) > 0 else valence.below}"
    return {
        "95 % interval": interval(estimate, places) or NOTHING,
        "adjusted p": NOTHING if p is None else "< 0.001" if p < 0.001 else f"{p:.2g}",
        "evidence": words,
    }


def blocks_by_model(
    block_id: str,
    label: str,
    entries: Sequence[Entry],
    make_block: Callable[[str, Entry], Chart | Table | None],
) -> list[Chart | Table | Choice]:
    """The block of each model, of which the reader looks at one at a time; nothing where no model has one."""
    made = {entry.model.name: make_block(f"{block_id}-{n}", entry) for n, entry in enumerate(entries)}
    blocks: Mapping[str, Chart | Table] = {name: block for name, block in made.items() if block}
    if len(entries) > 1 and blocks:
        return [Choice(block_id, label, blocks)]
    return list(blocks.values())


def describe_ends(rows: Sequence[Row], label: str, places: int, unit: str) -> str:
    """The first and the last row of a chart and how many are clear, for those who cannot see it."""
    ends = " to ".join(f"{row[label]} {signed(row['value'], places)}" for row in (rows[0], rows[-1]))
    return f"From {ends} {unit}; {sum(row['marked'] for row in rows)} of {len(rows)} are clear (adjusted p < 0.05)."
