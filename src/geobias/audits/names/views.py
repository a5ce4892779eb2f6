"""How the result of a names audit shows itself in Python: a summary line and tidy rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from geobias.audits.inputs import describe_copies
from geobias.report.tables import listed
from geobias.report.tidy import tidy_row

if TYPE_CHECKING:
    from geobias.audits.names.result import ClassifierMeasures, NamesResult

AGAINST_MEAN, AGAINST_ORIGINALS = "mean of countries", "originals"


def summarise(result: NamesResult) -> Iterator[str]:
    """What was audited; the findings say the rest."""
    counts, names = result.counts, [entry.model.short_name for entry in result.classifiers]
    copies = describe_copies(counts.texts, counts.copies)
    yield (
        f"{listed(names)} on {counts.texts_with_names:,} texts{copies} with names "
        f"of {counts.countries} countries, {counts.draws} draws each"
    )


def list_tidy_rows(result: NamesResult) -> Iterator[dict[str, Any]]:
    """Δ of every country against the mean of countries, then all other measures, for each classifier."""
    for against in (AGAINST_MEAN, AGAINST_ORIGINALS):
        for entry in result.classifiers:
            yield from _list_rows(entry, against)


def _list_rows(entry: ClassifierMeasures, against: str) -> Iterator[dict[str, Any]]:
    measures: list[tuple[str, str | None]] = [("delta", None)] if entry.positive and entry.negative else []
    measures += [*(("change", label) for label in entry.labels), ("kl", None)]
    for measure, label in measures:
        for country in entry.countries:
            inference = country.inference
            estimates = getattr(inference.against_mean if against == AGAINST_MEAN else inference, measure)
            estimate = estimates if label is None else estimates[label]
            place = {"model": entry.model.name, "country": country.country, "code": country.code}
            yield tidy_row(place, measure, estimate, label=label, against=against)
