"""The audit of finders on the page: recall by country with intervals, a map, other factors, and every outcome."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial

from geobias.audits.find.gate_and_card import count_marked, describe_omissions
from geobias.audits.find.result import CountryRecall, FinderMeasures, FindResult, Share
from geobias.audits.inputs import describe_copies
from geobias.measures.estimates import Estimate
from geobias.report.findings import Finding
from geobias.report.page.blocks import Block, Chart, MapCountry, MapMeasure, Row, Section, Table, WorldMap
from geobias.report.page.charts import Valence, dots
from geobias.report.page.country_blocks import Difference, blocks_by_model, estimate_cells, title_differences
from geobias.report.results import HasInterval
from geobias.report.runs import FinishedRun
from geobias.report.tables import TOO_FEW, is_marked, listed, signed
from geobias.world.countries import load_countries

MOST_ROWS = 40  # of a chart; with more countries it shows both ends
ENDS_SHOWN = 15
RECOGNITION = Valence(1, "recognised more", "recognised less")


def describe(result: FindResult) -> str:
    """What was scored, in a sentence."""
    counts = result.counts
    finders = listed([entry.model.name for entry in result.finders])
    copies = describe_copies(counts.texts, counts.copies)
    return (
        f"The people in {counts.texts_with_names:,} texts{copies} ({result.settings.texts.source}) got common names of "
        f"{counts.countries} countries, {counts.draws} times each, and {finders} had to recognise them."
    )


def section(run: FinishedRun[FindResult], name: str) -> Section:
    result = run.result
    world_map = _map(name, result.finders) if result.has_enough_texts else None

    def choose(key: str, make_block: Callable[[str, FinderMeasures], Chart | Table | None]) -> list[Block]:
        return [*blocks_by_model(f"{name}-{key}", "Finder", result.finders, make_block)]

    return Section(
        id=name,
        title="Finders: whose names are missed",
        lead="A name that a finder misses is not masked, and is missing in an audit that relies on the finder.",
        blocks=[
            *(choose("countries", partial(_country_chart, result.findings)) if result.has_enough_texts else []),
            *([world_map] if world_map else []),
            *choose("table", partial(_country_table, result)),
            *(choose("factors", _factor_chart) if result.has_enough_texts else []),
            _outcome_table(name, result),
            *(_name_table(name, result.finders) if result.has_enough_texts else []),
        ],
        notes=[
            *describe_omissions(result),
            "Names come from lists of common names, and a name is not a nationality. Nothing is said about people.",
        ],
    )


def _country_chart(findings: Sequence[Finding], chart_id: str, entry: FinderMeasures) -> Chart:
    ranked, standing_out, cut = entry.ranked_countries, entry.standing_out, ""
    differences = [country.recall.against_mean for country in ranked]
    less, more = (
        [
            country.country
            for country in each
            if country in standing_out and RECOGNITION.tone(country.recall.against_mean.value or 0) == tone
        ]
        for each, tone in ((ranked, "worse"), (reversed(ranked), "better"))
    )
    if len(ranked) > MOST_ROWS:
        cut = f" The {ENDS_SHOWN} lowest and the {ENDS_SHOWN} highest of {len(ranked)}."
        ranked = [*ranked[:ENDS_SHOWN], *ranked[-ENDS_SHOWN:]]
    rows = [{**_country_row(country), "marked": country in standing_out} for country in ranked]
    return Chart(
        chart_id,
        title_differences(
            entry.model,
            differences,
            [
                Difference("names from", less, "are recognised less often"),
                Difference("names from", more, "are recognised more often"),
            ],
            "no country's names stand out",
            findings,
        ),
        "Dot: per cent of mentions marked as a person with the right ends; line: 95 % interval over texts and names; "
        "dashed: the mean of countries. Clear: differs from it (adjusted p < 0.05); intervals that overlap may still "
        f"differ, since countries share texts.{cut}",
        f"Countries by recall, from {rows[0]['country']} {rows[0]['value']:.1f} % to {rows[-1]['country']} "
        f"{rows[-1]['value']:.1f} %; {count_marked(entry)} of {len(entry.countries)} differ clearly from the mean of "
        "countries (adjusted p < 0.05).",
        dots(
            rows,
            label="country",
            title="recall, %",
            order=[row["country"] for row in rows],
            valence=RECOGNITION,
            centre=100 * (entry.recall.value or 0),
        ),
        rows,
    )


def _country_table(result: FindResult, table_id: str, entry: FinderMeasures) -> Table:
    rows, counts = [], result.counts
    for country in entry.ranked_countries:
        difference = country.recall.against_mean
        numbers = {
            "recall, %": _percent(country.recall.value or 0),
            "against the mean,\npercentage points": signed(_times_hundred(difference.value), 1),
            **estimate_cells(replace(difference, **_percent_values(difference)), 1, RECOGNITION),
        }
        if not result.has_enough_texts:
            numbers = dict.fromkeys(numbers, TOO_FEW)
        renamed_texts = f"{counts.texts_with_names * counts.draws:,}"
        rows.append({"country": country.country, **numbers, "renamed texts": renamed_texts})
    return Table(
        table_id,
        f"{entry.model.short_name}: all countries",
        "Recall, and its difference from the mean of countries in percentage points, with a 95 % interval over texts "
        "and names; p-values are adjusted for all countries.",
        rows,
    )


def _country_row(country: CountryRecall) -> Row:
    difference = country.recall.against_mean
    return {
        "country": country.country,
        **_percent_values(country.recall),
        "p_adjusted": difference.p_adjusted,
    }


def _factor_chart(chart_id: str, entry: FinderMeasures) -> Chart | None:
    if not entry.factors:
        return None
    rows = [
        {
            "level": level.title,
            **_percent_values(level.recall),
            "p_adjusted": level.difference.p_adjusted if level.difference else None,
            "marked": level.difference is not None and is_marked(level.difference),
        }
        for level in entry.factors
    ]
    return Chart(
        chart_id,
        _title_factors(entry),
        "Dot: recall over all countries; line: 95 % interval over texts and names; filled: differs from the first "
        "line of its kind (adjusted p < 0.05); dashed: the mean of countries. Case is changed in names alone.",
        "; ".join(f"{row['level']} {row['value']:.1f} %" for row in rows) + ".",
        dots(
            rows,
            label="level",
            title="recall, %",
            order=[row["level"] for row in rows],
            centre=100 * (entry.recall.value or 0),
        ),
        rows,
    )


def _title_factors(entry: FinderMeasures) -> str:
    """What matters besides the country: levels that clearly differ from the first one of their kind."""
    clear = [level for level in entry.factors if level.difference and is_marked(level.difference)]
    lower = [level.title for level in clear if level.difference and (level.difference.value or 0) < 0]
    if lower:
        return f"{entry.model.short_name}: recall is lower for {listed(lower)}"
    return f"{entry.model.short_name}: recall by gender, part, case and script of the names"


def _map(name: str, entries: Sequence[FinderMeasures]) -> WorldMap | None:
    """None where a country is not on the map: a user's gazetteer may have its own."""
    shapes = load_countries()
    countries = entries[0].countries
    if any(country.code not in shapes for country in countries):
        return None
    panels = {
        country.code: MapCountry(
            country.country,
            shapes[country.code].continent_name,
            facts=[_describe_country(entry, entry.countries[c]) for entry in entries],
        )
        for c, country in enumerate(countries)
    }
    measures = [
        MapMeasure(
            f"{entry.model.name}: recall against the mean of countries",
            "percentage points",
            "Recall minus the mean of countries, in percentage points; orange is lower: more people are missed.",
            {country.code: _in_points(country.recall.against_mean) for country in entry.countries},
            baseline="the mean of countries",
            centre=0,
            tone=1,
            model=entry.model.name,
        )
        for entry in entries
    ]
    return WorldMap(
        f"{name}-map",
        "Recall on the map",
        "Choose a finder. Click a country, or find it by name, for its numbers.",
        "A world map whose countries are coloured by the recall of their names against the mean of countries; the "
        "ranking next to it has the same numbers.",
        measures,
        panels,
    )


def _in_points(difference: Estimate) -> Estimate:
    """A difference of shares in percentage points."""
    scaled = {
        key: None if (share := getattr(difference, key)) is None else 100 * share for key in ("value", "low", "high")
    }
    return replace(difference, **scaled)


def _describe_country(entry: FinderMeasures, country: CountryRecall) -> str:
    return f"{entry.model.name}: recall {_describe_share(country.recall)}, missed {_describe_share(country.misses)}"


def _outcome_table(name: str, result: FindResult) -> Table:
    def describe_outcome(share: Share) -> str:
        return _describe_share(share) if result.has_enough_texts else TOO_FEW

    rows = [
        {
            **({"finder": entry.model.name} if len(result.finders) > 1 else {}),
            "country": country.country,
            "recall, %": describe_outcome(country.recall),
            "partial, %": describe_outcome(country.partial),
            "wrong type, %": describe_outcome(country.wrong_type),
            "missed, %": describe_outcome(country.misses),
        }
        for entry in result.finders
        for country in entry.ranked_countries
    ]
    return Table(
        f"{name}-outcomes",
        "What became of the names",
        "Partial: marked as a person with other ends. Wrong type: marked as something else only. Missed: not marked at "
        "all. In brackets: 95 % interval; * differs from the mean of countries.",
        rows,
    )


def _name_table(name: str, entries: Sequence[FinderMeasures]) -> Iterator[Table]:
    rows = [
        {
            **({"finder": entry.model.name} if len(entries) > 1 else {}),
            "name": each.name,
            "kind": each.kind,
            "country": each.country,
            "mentions": f"{each.mentions:,}",
            "recall, %": _percent(each.recall),
        }
        for entry in entries
        for each in entry.weakest_names
    ]
    if rows:
        yield Table(
            f"{name}-names",
            "Names that are recognised least",
            "Where to look when a country is low: are they words (Can, May) or places (Carolina) too? tables/names.csv "
            "has all names.",
            rows,
        )


def _describe_share(share: Share) -> str:
    bounds = "" if share.low is None or share.high is None else f" ({_percent(share.low)} to {_percent(share.high)})"
    return f"{_percent(share.value or 0)}{'*' if is_marked(share.against_mean) else ''}{bounds}"


def _percent_values(estimate: HasInterval) -> Row:
    return {
        key: _times_hundred(value)
        for key, value in (("value", estimate.value), ("low", estimate.low), ("high", estimate.high))
    }


def _times_hundred(value: float | None) -> float | None:
    return None if value is None else 100 * value


def _percent(share: float) -> str:
    return f"{100 * share:.1f}"
