"""The audit of finders in other tools: rows of a model card, numbers of a gate, and what was left out."""

from __future__ import annotations

from collections.abc import Iterator

from geobias.audits.find.result import OUTCOMES, FinderMeasures, FindResult
from geobias.models.finders import EMBEDDED_FINDER
from geobias.report.number_tree import SHARE, NumberTree, TreeNumber, model_names, tree_number
from geobias.report.tables import MARKED_COLUMN, format_interval

HELD_OUT = (
    f"Names that {EMBEDDED_FINDER} was trained with are left out, and so are the bundled tweets that it learned from. "
    "Its vocabulary still knows the names of the bundled lists: for names on no list its recall is about a third lower "
    "(see its card)."
)


def card_rows(result: FindResult) -> Iterator[dict[str, str]]:
    for entry in result.finders:
        yield {
            "Finder": entry.model.name,
            "Recall, mean of countries": f"{entry.recall.value:.3f}",
            "95 %": format_interval(entry.recall, ".3f"),
            "Lowest": f"{entry.lowest.value:.3f} ({entry.country_name(entry.lowest.country)})",
            "Highest minus lowest": f"{entry.gap.value:.3f}",
            "95 %, all countries at once": format_interval(entry.gap, ".3f"),
            MARKED_COLUMN.format("Countries"): f"{count_marked(entry)} of {len(entry.countries)}",
            "Precision, original texts": "none marked"
            if entry.originals.precision.value is None
            else f"{entry.originals.precision.value:.3f} ({format_interval(entry.originals.precision, '.3f')})",
        }


def count_marked(entry: FinderMeasures) -> int:
    """Countries that stand out from the mean of countries."""
    return len(entry.standing_out)


def gate_numbers(result: FindResult) -> NumberTree:
    """find.FINDER.recall.lowest, .recall.mean, .OUTCOME.COUNTRY, .gap, .precision: shares from 0 to 1."""
    return NumberTree((model_names(entry.model.name), _finder_numbers(entry)) for entry in result.finders)


def _finder_numbers(entry: FinderMeasures) -> NumberTree:
    summaries = {
        "recall": [(("lowest",), tree_number(entry.lowest, SHARE)), (("mean",), tree_number(entry.recall, SHARE))]
    }
    outcomes = [
        (
            (name,),
            NumberTree(
                [
                    *summaries.get(name, []),
                    *(
                        ((country.code, country.country), tree_number(getattr(country, name), SHARE))
                        for country in entry.countries
                    ),
                ]
            ),
        )
        for name in OUTCOMES
    ]
    singles: list[tuple[tuple[str], TreeNumber]] = [
        (("gap",), tree_number(entry.gap, SHARE)),
        (("precision",), tree_number(entry.originals.precision, SHARE)),
    ]
    return NumberTree([*outcomes, *singles])


def describe_power(finder: str, difference: float) -> str:
    """How small a difference a run can find."""
    points = f"{100 * difference:.1f} percentage points"
    return f"{finder}: a country that differs from the mean by {points} is detected with 80 % power."


def describe_omissions(result: FindResult) -> Iterator[str]:
    """What was left out; the terminal and the page both say it."""
    counts = result.counts
    if result.settings.held_out:
        yield HELD_OUT
    if counts.rows_without_text:
        yield f"Rows without a text, left out: {counts.rows_without_text:,}."
    if counts.countries_left_out:
        names = ", ".join(counts.countries_left_out)
        yield f"Countries with too few names, left out: {len(counts.countries_left_out)} ({names})."
    if counts.draws == 1:
        yield "With one draw names and texts are confounded, so there are no intervals: use --draws 2 or more."
