"""What `geobias find` prints: recall by country, and by gender, part, case and script."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from geobias.audits.find.gate_and_card import count_marked, describe_omissions, describe_power
from geobias.audits.find.result import CountryRecall, FactorLevel, FinderMeasures, FindResult
from geobias.audits.inputs import describe_copies
from geobias.report.results import HasInterval, Number
from geobias.report.tables import NOTHING, TOO_FEW, add_columns, add_ends, marked, signed, titled_table

MEANING = (
    "Recall: the share of mentions that are marked as a person with the right ends; partial: with other ends; wrong "
    "type: marked as something else only; missed: not marked at all. * marks a difference from the mean of countries "
    "(below: from the first row of the block) with an adjusted p-value below 0.05; intervals are over texts and "
    "names. Names come from lists of common names, and a name is not a nationality. Nothing is said about people."
)
MOST_ROWS = 24  # with more countries the terminal shows both ends of the list; the files have all
ENDS_SHOWN = 8
NAMES_SHOWN = 5
NARROW = 76
OTHER_OUTCOMES = ("partial", "wrong\ntype", "missed")
SUMMARY_ENDS, SUMMARY_ROWS = 2, 5
TEXT_COLUMNS = ("country", "finder", "lowest")
FILES = "Every number: tables/*.csv; every name with its recall: tables/names.csv; every mention: mentions.parquet."


def summary_table(result: FindResult, width: int) -> Table:
    """Of one finder the countries with the lowest and the highest recall; of several a row each."""
    return _ends_table(result, width) if len(result.finders) == 1 else _finders_table(result, width)


def _ends_table(result: FindResult, width: int) -> Table:
    table = titled_table("Recall, %; * differs from the mean")
    add_columns(table, ["country", "recall", "95 %", "against mean"][: 4 if width >= NARROW else 3], TEXT_COLUMNS)
    ranked = result.finders[0].ranked_countries
    for country in ranked if len(ranked) <= 2 * SUMMARY_ENDS else [*ranked[:SUMMARY_ENDS], *ranked[-SUMMARY_ENDS:]]:
        recall, bounds, against, *_ = _country_cells(country) if result.has_enough_texts else (TOO_FEW, "", "")
        table.add_row(*[country.country, recall, bounds, against][: len(table.columns)])
    return table


def _finders_table(result: FindResult, width: int) -> Table:
    table = titled_table("Recall, %")
    add_columns(table, ["finder", "recall", "lowest", "95 %", "marked"][: 5 if width >= NARROW else 3], TEXT_COLUMNS)
    for entry in result.finders[:SUMMARY_ROWS]:
        lowest = entry.ranked_countries[0]
        cells = [
            _percent(entry.recall.value),
            f"{lowest.country} {_percent(lowest.recall.value)}",
            _percent_interval(lowest.recall),
            f"{count_marked(entry)} of {len(entry.countries)}",
        ]
        cells = cells if result.has_enough_texts else [TOO_FEW, "", "", ""]
        table.add_row(*[entry.model.short_name, *cells][: len(table.columns)])
    return table


def full_report(result: FindResult, width: int) -> Iterator[RenderableType]:
    """Every table and note, what the numbers mean, and where the files are."""
    if result.has_enough_texts:
        for entry in result.finders:
            yield _country_table(entry, width)
            if entry.factors:
                yield _factor_table(entry, width)
        yield from notes(result)
    yield from describe_omissions(result)
    for line in (MEANING, FILES):
        yield Text(line, style="dim")


def _country_table(entry: FinderMeasures, width: int) -> Table:
    headings = ("recall", "95 %", "against\nmean", *OTHER_OUTCOMES)[: _count_columns(width)]
    table = titled_table(f"{entry.model.name}: recall by country of the names, %", ["country"], headings)
    rows = [
        [country.country, *islice(_country_cells(country), _count_columns(width))] for country in entry.ranked_countries
    ]
    add_ends(table, rows, MOST_ROWS, ENDS_SHOWN)
    return table


def _count_columns(width: int) -> int:
    """A narrow terminal shows recall only: numbers are never cut."""
    return 3 + len(OTHER_OUTCOMES) * (width >= NARROW)


def _country_cells(country: CountryRecall) -> Iterator[str]:
    difference = country.recall.against_mean
    yield _percent(country.recall.value)
    yield _percent_interval(country.recall)
    yield marked(NOTHING if difference.value is None else signed(100 * difference.value, 1), difference)
    yield from (_percent(share.value) for share in (country.partial, country.wrong_type, country.misses))


def _factor_table(entry: FinderMeasures, width: int) -> Table:
    headings = ("recall", "95 %", "against\nfirst", *OTHER_OUTCOMES)[: _count_columns(width)]
    table = titled_table(f"{entry.model.name}: recall by kind of name, all countries, %", ["names"], headings)
    factor = ""
    for level in entry.factors:
        if factor and level.factor != factor:
            table.add_section()
        table.add_row(level.title, *islice(_factor_cells(level), _count_columns(width)))
        factor = level.factor
    return table


def _factor_cells(level: FactorLevel) -> Iterator[str]:
    difference = level.difference
    yield _percent(level.recall.value)
    yield _percent_interval(level.recall)
    if difference is None or difference.value is None:
        yield ""
    else:
        yield marked(signed(100 * difference.value, 1), difference)
    yield from (_percent(share) for share in (level.partial, level.wrong_type, level.misses))


def notes(result: FindResult) -> list[str]:
    """What was read, precision on the original texts, and the names that are recognised least."""
    counts = result.counts
    copies = describe_copies(counts.texts, counts.copies)
    lines = [
        f"{counts.texts:,} texts{copies} with {counts.mentions:,} mentions of {counts.people:,} people; "
        f"{counts.countries} countries x {counts.draws} draws ({counts.recased_draws} for case, which changes the "
        "names only)."
    ]
    for entry in result.finders:
        lines.append(_describe_originals(entry))
        if entry.weakest_names:
            names = ", ".join(
                f"{name.name} ({name.country}, {name.kind}, {100 * name.recall:.0f} %)"
                for name in entry.weakest_names[:NAMES_SHOWN]
            )
            lines.append(f"{entry.model.name} recognises these names least: {names}.")
        if entry.detectable_difference is not None:
            lines.append(describe_power(entry.model.name, entry.detectable_difference))
    return lines


def _describe_originals(entry: FinderMeasures) -> str:
    originals = entry.originals
    if originals.precision.value is None:
        precision = "it marks nobody"
    else:
        precision = f"precision {_percent(originals.precision.value)} % ({_percent_interval(originals.precision)})"
    recall = f"recall {_percent(originals.recall.value)} % ({_percent_interval(originals.recall)})"
    return f"{entry.model.name} on the original texts: {precision}, {recall}."


def _percent(share: Number) -> str:
    return NOTHING if share is None else f"{100 * share:.1f}"


def _percent_interval(estimate: HasInterval) -> str:
    if estimate.low is None or estimate.high is None:
        return NOTHING
    return f"{100 * estimate.low:.1f} to {100 * estimate.high:.1f}"
