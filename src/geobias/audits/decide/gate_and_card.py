"""The decisions audit in other tools: rows of a model card, numbers of a gate."""

from __future__ import annotations

from collections.abc import Iterator

from geobias.audits.decide.ranking import list_standing_out, name_country
from geobias.audits.decide.records import ModelDecisions
from geobias.audits.decide.result import DecideResult
from geobias.report.number_tree import (
    ANY_NUMBER,
    NOT_NEGATIVE,
    SHARE,
    WORST,
    NumberTree,
    TreeNumber,
    model_names,
    tree_number,
)
from geobias.report.tables import MARKED_COLUMN, format_interval


def card_rows(result: DecideResult) -> Iterator[dict[str, str]]:
    for entry in result.decisions:
        worst = entry.worst
        yield {
            "Model": entry.model.name,
            "Smallest impact ratio": f"{worst.value:.2f}",
            "95 %, all countries at once": format_interval(worst, ".2f"),
            "Country": name_country(entry, worst.country),
            "Against": name_country(entry, worst.best),
            "Spread of log-odds": "" if entry.spread is None else f"{entry.spread.value:.2f}",
            MARKED_COLUMN.format("Countries"): f"{len(list_standing_out(entry))} of {len(entry.countries)}",
            "Answered": f"{entry.answered:.0%}",
        }


def gate_numbers(result: DecideResult) -> NumberTree:
    """decide.MODEL.MEASURE.COUNTRY, or `worst` for a country; decide.MODEL.answered, .spread and .order."""
    return NumberTree((model_names(entry.model.name), _model_numbers(entry)) for entry in result.decisions)


def _model_numbers(entry: ModelDecisions) -> NumberTree:
    ratios = [((each.code, each.country), tree_number(each.impact_ratio, SHARE)) for each in entry.countries]
    preferences = [
        ((each.code, each.country), tree_number(each.preference, ANY_NUMBER).absolute()) for each in entry.countries
    ]
    numbers: list[tuple[tuple[str, ...], NumberTree | TreeNumber]] = [
        (("impact_ratio",), NumberTree([((WORST,), tree_number(entry.worst, SHARE)), *ratios])),
        (("preference",), NumberTree([((WORST,), tree_number(entry.farthest, NOT_NEGATIVE)), *preferences])),
        (("answered",), TreeNumber(entry.answered, entry.answered, entry.answered, SHARE)),
    ]
    if entry.spread is not None:
        numbers.append((("spread",), tree_number(entry.spread, NOT_NEGATIVE)))
    if entry.controls.order is not None:
        numbers.append((("order",), tree_number(entry.controls.order, ANY_NUMBER).absolute()))
    return NumberTree(numbers)
