"""What `geobias decide` prints."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from geobias.audits.decide.design import choose_other_way
from geobias.audits.decide.ranking import (
    WHERE_FROM,
    list_clear_cells,
    list_standing_out,
    name_country,
    rank_countries,
)
from geobias.audits.decide.records import CountryDecisions, CountryEstimate, ModelDecisions
from geobias.audits.decide.result import DecideResult
from geobias.audits.decide.unanswered import list_answered_apart
from geobias.audits.inputs import list_copies
from geobias.measures.crossed_variance import FEWEST_DRAWS
from geobias.report.tables import (
    NOTHING,
    add_columns,
    add_ends,
    format_interval,
    format_places,
    interval,
    is_marked,
    marked,
    signed,
    titled_table,
)
from geobias.texts.counterfactuals import GENDERS

MEANING = (
    "Preference: log-odds of the favourable answer against the mean of countries, in nats, net of a tendency to say "
    "yes; percentage points: the same as probability. Rate: mean probability of the favourable answer. Impact ratio: "
    "rate against that of the best-treated country, with bounds for all countries at once. Questions that are not "
    "answered take no part; answered is their share, shown where it differs by country. * Adjusted p below 0.05. The "
    "scenarios measure the model; they recommend nothing, and say nothing about people."
)
MOST_ROWS, ENDS_SHOWN = 24, 8  # with more countries the terminal shows both ends of the list; the files have all
SUMMARY_ENDS, SUMMARY_ROWS, CASES_SHOWN = 3, 5, 6
WIDE, NARROW = 100, 76
FILES = "Every country, domain and case: tables/*.csv; every decision: decisions.parquet; maps: figures/."
TEXT_COLUMNS = ("country", "model", "worst-treated", "domain", "case", "control", "origin")


def summary_table(result: DecideResult, width: int) -> Table:
    """Of one model the countries at both ends; of several a row each."""
    if len(result.decisions) == 1:
        return _country_table(result.decisions[0], width, SUMMARY_ENDS, 2 * SUMMARY_ENDS)
    table = Table(box=None, padding=(0, 2, 0, 0))
    columns = ["model", "worst-treated", "impact ratio", "bounds", "spread", "stand out", "answered"]
    add_columns(table, columns if width >= NARROW else columns[:3], TEXT_COLUMNS)
    for entry in result.decisions[:SUMMARY_ROWS]:
        worst = entry.worst
        cells = [
            entry.model.short_name,
            *((NOTHING,) * 3 if worst is None else (name_country(entry, worst.country), f"{worst.value:.2f}")),
            *(() if worst is None else (format_interval(worst, ".2f"),)),
            NOTHING if entry.spread is None else f"{entry.spread.value:.2f}",
            f"{len(list_standing_out(entry)):,} of {len(entry.countries):,}",
            f"{entry.answered:.0%}",
        ]
        table.add_row(*cells[: len(table.columns)])
    return table


def full_report(result: DecideResult, width: int) -> Iterator[RenderableType]:
    """Every table and note, what the numbers mean, and where the files are."""
    for entry in result.decisions:
        yield _country_table(entry, width, ENDS_SHOWN, MOST_ROWS)
        yield _control_table(entry)
        if len(entry.by_origin) > 1:
            yield _origin_table(entry)
        yield _domain_table(entry)
        yield _case_table(entry, width)
    yield from list_notes(result)
    for line in (MEANING, f"{WHERE_FROM}.", FILES):
        yield Text(line, style="dim")


def _country_table(entry: ModelDecisions, width: int, ends: int, most: int) -> Table:
    table = titled_table(f"{entry.model.short_name}: favourable answers by country; * adjusted p < 0.05")
    columns = ["country", "preference", "95 %", "percentage\npoints", "rate", "impact ratio"]
    columns = columns if width >= WIDE else columns[:5] if width >= NARROW else columns[:2]
    apart = list_answered_apart(entry)
    add_columns(table, [*columns, *(["answered"] if apart else [])], TEXT_COLUMNS)
    rows = []
    for country in rank_countries(entry):
        answered = f"{country.answered:.0%}{'*' if country in apart else ' '}"
        rows.append([*_country_cells(country)[: len(columns)], *([answered] if apart else [])])
    add_ends(table, rows, most, ends)
    return table


def _country_cells(country: CountryDecisions) -> list[str]:
    ratio = country.impact_ratio
    bounds = "" if ratio.low is None else f" ({format_interval(ratio, '.2f')})"
    return [
        country.country,
        marked(signed(country.preference.value, 2), country.preference),
        interval(country.preference, 2) or NOTHING,
        signed(country.probability.value, 1),
        format_places(country.rate, 2),
        f"{format_places(ratio.value, 2)}{bounds}",
    ]


def _control_table(entry: ModelDecisions) -> Table:
    table = titled_table(f"{entry.model.short_name}: controls, in nats")
    add_columns(table, ["control", "effect", "95 %"], TEXT_COLUMNS)
    controls = entry.controls
    rows = {
        "any country against no origin": controls.named,
        "invented against real countries": controls.invented,
        "praise against blame (merit)": controls.merit,
        "first of two equal people (order)": controls.order,
        "yes whatever the question": controls.yes_tendency,
    }
    for name, estimate in rows.items():
        if estimate is not None:
            table.add_row(name, marked(signed(estimate.value, 2), estimate), interval(estimate, 2) or NOTHING)
    for name, spread in {"spread of countries": entry.spread, "spread of invented": controls.invented_spread}.items():
        if spread is not None:
            noise = f"{spread.low:.2f} to {spread.high:.2f}; noise floor {spread.noise:.2f}"
            table.add_row(name, f"{spread.value:.2f} ", noise)
    return table


def _origin_table(entry: ModelDecisions) -> Table:
    table = titled_table(f"{entry.model.short_name}: by the way that origin shows")
    add_columns(table, ["origin", "spread", "95 % ", "countries marked"], TEXT_COLUMNS)
    for way in entry.by_origin:
        marked = sum(is_marked(country.estimate) for country in way.countries)
        spread = way.spread
        cells = (
            (NOTHING, NOTHING) if spread is None else (f"{spread.value:.2f}", f"{spread.low:.2f} to {spread.high:.2f}")
        )
        table.add_row(way.origin, *cells, f"{marked:,} of {len(way.countries):,}")
    return table


def _domain_table(entry: ModelDecisions) -> Table:
    table = titled_table(f"{entry.model.short_name}: domains, with the country farthest from the mean")
    add_columns(table, ["domain", "cases", "country", "preference", "95 %"], TEXT_COLUMNS)
    clear = {(domain, cell.code) for domain, cell in list_clear_cells(entry)}
    for part in entry.by_domain:
        farthest = max(part.countries, key=lambda country: _rank_cell(country, (part.domain, country.code) in clear))
        table.add_row(
            part.domain,
            f"{part.cases}",
            farthest.country,
            marked(signed(farthest.estimate.value, 2), farthest.estimate),
            interval(farthest.estimate, 2) or NOTHING,
        )
    return table


def _rank_cell(country: CountryEstimate, is_clear: bool) -> tuple[bool, float]:
    return is_clear, abs(country.estimate.value or 0)


def _case_table(entry: ModelDecisions, width: int) -> Table:
    table = titled_table(f"{entry.model.short_name}: cases in which the country matters most")
    columns = ["case", "domain", "rate", "gap", "highest to lowest"]
    add_columns(table, columns if width >= WIDE else columns[:4], TEXT_COLUMNS)
    for case in entry.cases[:CASES_SHOWN]:
        cells = [case.case, case.domain, f"{case.rate:.2f}", f"{case.gap:.2f}", f"{case.highest} to {case.lowest}"]
        table.add_row(*cells[: len(table.columns)])
    return table


def list_notes(result: DecideResult) -> Iterator[str]:
    """What was asked, and what was left out, in words."""
    counts, settings = result.counts, result.settings
    yield (
        f"Scenarios: {counts.scenarios:,} ({settings.scenarios.source}): {counts.yes_helps:,} questions whose yes "
        f"helps, {counts.yes_harms:,} whose yes harms, {counts.numbers:,} numbers, {counts.choices:,} choices. Origin: "
        f"{', '.join(settings.origin)}."
    )
    yield from list_copies(counts.copies, "case")
    other_way = choose_other_way(settings.origin)
    if (counts.numbers or counts.choices) and settings.origin != [other_way]:
        yield f"In numbers and choices, origin is shown in one way: {other_way}."
    if counts.countries_left_out:
        more = len(counts.countries_left_out) - ENDS_SHOWN
        names = ", ".join(counts.countries_left_out[:ENDS_SHOWN]) + (f" and {more} more" if more > 0 else "")
        yield f"Countries left out, since their origin cannot be shown in every way: {names}."
    if settings.system:
        yield f"System prompt: {settings.system}"
    for entry in result.decisions:
        if entry.smallest_effect is not None:
            yield (
                f"{entry.model.name}: the smallest difference of a country that is detected with 80 % power is "
                f"{entry.smallest_effect:.2f} nats."
            )
        if entry.sampled:
            yield f"{entry.model.name}: answers were sampled; intervals contain the sampling error."
        if entry.by_gender and settings.draws < FEWEST_DRAWS * len(GENDERS):
            yield f"Intervals by gender need at least two draws of each: --draws {FEWEST_DRAWS * len(GENDERS)}."
        yield from (f"{entry.model.name}: {note}" for note in entry.notes)
