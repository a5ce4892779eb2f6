"""What a reproduction concludes: how many published numbers were measured again. It is not a test of bias."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from geobias.audits.reproduce.published import PAPERS
from geobias.audits.reproduce.result import ReproducedTable, ReproduceResult
from geobias.report.findings import Finding
from geobias.report.sentences import list_first

TOLERANCE = 0.10  # of the published number; or half a unit of its last printed digit, where that is more
QUESTION = "How many published numbers are reproduced?"


@dataclass(frozen=True)
class Agreement:
    """How many numbers of a table, in its printed form, were measured and how many of these agree."""

    table: ReproducedTable
    published: int
    measured: int
    reproduced: int


def list_findings(result: ReproduceResult) -> list[Finding]:
    """How many numbers agree in all tables together, then which models are not those of the paper."""
    return [_answer(result), *_list_cautions(result)]


def count_agreement(table: ReproducedTable) -> Agreement:
    """Compare the printed form of a table: a table in two forms has the same numbers twice."""
    form = next((form for form in table.forms if form.form == "paper"), table.forms[0])
    pairs = [
        (published, measured, form.places[column])
        for published_row, measured_row in zip(form.published, form.measured, strict=True)
        for column, (published, measured) in enumerate(zip(published_row, measured_row, strict=True))
        if published is not None
    ]
    measured_pairs = [(published, measured, places) for published, measured, places in pairs if measured is not None]
    reproduced = sum(
        abs(measured - published) <= max(TOLERANCE * abs(published), 0.5 * 10.0**-places)
        for published, measured, places in measured_pairs
    )
    return Agreement(table, len(pairs), len(measured_pairs), reproduced)


def _answer(result: ReproduceResult) -> Finding:
    paper = PAPERS[result.settings.paper]
    agreements = [count_agreement(table) for table in result.tables]
    published, measured, reproduced = (
        sum(getattr(agreement, name) for agreement in agreements) for name in ("published", "measured", "reproduced")
    )
    tables = f"{len(agreements)} table{'' if len(agreements) == 1 else 's'}"
    if measured:
        verb, tolerance = "is" if reproduced == 1 else "are", f"{100 * TOLERANCE:.0f} %"
        counts = f"{reproduced:,} of {measured:,} measured numbers {verb} within {tolerance} of the published ones"
        missing = f"{published - measured:,} of {published:,} numbers in {tables} were not measured."
        sentence = f"{paper}: {counts}.{f' {missing}' if published > measured else ''}"
    else:
        sentence = f"{paper}: none of {published:,} published numbers in {tables} was measured."
    return Finding(
        role="overall",
        audit="reproduce",
        model=", ".join(dict.fromkeys(model.name for model in result.models)) or "none",
        question=QUESTION,
        evidence="not testable",
        sentence=sentence,
        limit="This compares numbers with a paper's; it is not a test of bias, and the tolerance is a convention.",
        next_step="What can be the same and what cannot, and why: docs/reproduce.md.",
    )


def _list_cautions(result: ReproduceResult) -> Iterator[Finding]:
    replacements = {published: model for published, model in result.settings.models.items() if model != published}
    missing = result.counts.models_not_available
    if replacements:
        pairs = [f"{model} for {published}" for published, model in replacements.items()]
        sentence = f"Not the paper's models: {list_first(pairs)}. Their numbers need not agree with the published ones."
        yield _warn(next(iter(replacements.values())), sentence, "Run it with the published models to compare numbers.")
    if missing:
        sentence = f"Not available here, so without a measured number: {list_first(missing)}."
        yield _warn(missing[0], sentence, f"Give a folder for each: --model {missing[0]}=FOLDER")


def _warn(model: str, sentence: str, next_step: str) -> Finding:
    return Finding(
        role="caution",
        audit="reproduce",
        model=model,
        question=QUESTION,
        evidence="not testable",
        sentence=sentence,
        limit="Numbers of other models say nothing about the paper's.",
        next_step=next_step,
    )
