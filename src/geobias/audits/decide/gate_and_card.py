"""The decisions audit in other tools: rows of a model card, numbers of a gate."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from geobias.audits.decide.ranking import list_standing_out, name_country
from geobias.audits.decide.records import ModelDecisions
from geobias.audits.decide.result import DecideResult
from geobias.audits.decide.unanswered import list_unanswered, say_unanswered
from geobias.report.number_tree import (
    ANY_NUMBER,
    NOT_NEGATIVE,
    SHARE,
    WORST,
    NumberTree,
    Range,
    TreeNumber,
    model_names,
    tree_number,
)
from geobias.report.results import HasInterval
from geobias.report.tables import MARKED_COLUMN, format_interval


def card_rows(result: DecideResult) -> Iterator[dict[str, str]]:
    for entry in result.decisions:
        worst = entry.worst
        yield {
            "Model": entry.model.name,
            "Smallest impact ratio": "" if worst is None else f"{worst.value:.2f}",
            "95 %, all countries at once": "" if worst is None else format_interval(worst, ".2f"),
            "Country": "" if worst is None else name_country(entry, worst.country),
            "Against": "" if worst is None else name_country(entry, worst.best),
            "Spread of log-odds": "" if entry.spread is None else f"{entry.spread.value:.2f}",
            MARKED_COLUMN.format("Countries"): f"{len(list_standing_out(entry))} of {len(entry.countries)}",
            "Answered": f"{entry.answered:.0%}",
        }


def gate_numbers(result: DecideResult) -> NumberTree:
    """decide.MODEL.MEASURE.COUNTRY, or `worst` (of `answered`, `lowest`); decide.MODEL.answered, .spread and .order."""
    return NumberTree((model_names(entry.model.name), _model_numbers(entry)) for entry in result.decisions)


def _model_numbers(entry: ModelDecisions) -> NumberTree:
    unanswered = [country.country for country in list_unanswered(entry)]
    untested = say_unanswered(unanswered) if unanswered else ""

    def list_numbers(worst: HasInterval | None, measure: str, within: Range) -> NumberTree:
        """Of each country; the worst says nothing where there are countries without a number."""
        numbers: list[tuple[Sequence[str], TreeNumber]] = [
            ((WORST,), replace(tree_number(worst, within).absolute(), untested=untested))
        ]
        for country in entry.countries:
            reason = "" if country.has_estimate else say_unanswered([country.country])
            number = replace(tree_number(getattr(country, measure), within).absolute(), untested=reason)
            numbers.append(((country.code, country.country), number))
        return NumberTree(numbers)

    answered = [
        ((each.code, each.country), replace(tree_number(each.answered_interval, SHARE), value=each.answered))
        for each in entry.countries
    ]
    lowest = min((number for _, number in answered), key=lambda number: number.value or 0.0)
    of_all = TreeNumber(entry.answered, entry.answered, entry.answered, SHARE)
    numbers: list[tuple[tuple[str, ...], NumberTree | TreeNumber]] = [
        (("impact_ratio",), list_numbers(entry.worst, "impact_ratio", SHARE)),
        (("preference",), list_numbers(entry.farthest, "preference", ANY_NUMBER)),
        (("answered",), NumberTree([(("lowest",), lowest), *answered], of_all)),
    ]
    if entry.spread is not None:
        numbers.append((("spread",), replace(tree_number(entry.spread, NOT_NEGATIVE), untested=untested)))
    if entry.controls.order is not None:
        numbers.append((("order",), tree_number(entry.controls.order, ANY_NUMBER).absolute()))
    return NumberTree(numbers)
