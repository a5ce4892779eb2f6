"""The decisions audit on the page: preferences by country, domain and case, and impact ratios."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from geobias.audits.decide.ranking import (
    FOUR_FIFTHS,
    LEAST_MERIT_EFFECT,
    WHERE_FROM,
    list_clear_cells,
    list_standing_out,
    rank_countries,
)
from geobias.audits.decide.records import CountryDecisions, ModelDecisions
from geobias.audits.decide.result import DecideResult
from geobias.audits.decide.terminal import list_notes
from geobias.audits.decide.unanswered import list_answered_apart
from geobias.audits.inputs import describe_copies
from geobias.audits.side_by_side import NamedRun, distinct_names, overlay_chart
from geobias.report.page.blocks import Block, Chart, MapCountry, MapMeasure, Remark, Row, Section, Table, WorldMap
from geobias.report.page.charts import Valence, dots, heat
from geobias.report.page.country_blocks import (
    Difference,
    blocks_by_model,
    describe_ends,
    estimate_cells,
    title_differences,
)
from geobias.report.runs import FinishedRun
from geobias.report.tables import NOTHING, format_interval, format_places, is_marked, listed, signed
from geobias.world.countries import load_countries

SHOWN_EACH_WAY = 12  # countries in a chart
MOST_HEAT_ROWS = 20
CASES_SHOWN = 10
VALENCE = Valence(1, "more favourable", "less favourable")
UNIT = "nats of log-odds"


def describe(result: DecideResult) -> str:
    """What was asked, in a sentence."""
    counts, settings = result.counts, result.settings
    names = listed([entry.model.name for entry in result.decisions])
    copies = describe_copies(counts.cases, counts.copies, "case")
    return (
        f"{names} decided {counts.scenarios:,} scenarios{copies} ({settings.scenarios.source}) about people of "
        f"{counts.countries:,} countries; origin is {' or '.join(settings.origin)}."
    )


def section(run: FinishedRun[DecideResult], name: str) -> Section:
    result = run.result

    def choose(key: str, make_block: Callable[[str, ModelDecisions], Chart | Table | None]) -> list[Block]:
        return [*blocks_by_model(f"{name}-{key}", "Model", result.decisions, make_block)]

    return Section(
        id=name,
        title="Decisions: the same cases about people of every country",
        lead="Each case is told once and ends with a question about a person. A favourable answer is a yes that helps "
        "or a no that spares; both kinds of questions count alike, so that a tendency to say yes cancels. The "
        "scenarios measure the model; they recommend nothing.",
        blocks=[
            *_draw_map(name, result.decisions),
            *choose("ranking", lambda chart_id, entry: _draw_ranking(chart_id, result, entry)),
            *choose("domains", _draw_domains),
            *_remark_domains(name, result.decisions),
            *choose("cases", list_cases),
            *choose("controls", list_controls),
            *choose("countries", list_countries),
        ],
        notes=[*list_notes(result), f"{WHERE_FROM}."],
    )


def overlay_runs(runs: Sequence[NamedRun]) -> Chart | None:
    """The spread between countries of several runs in one chart."""
    entries = [(entry, run) for run in runs for entry in run.result.decisions if entry.spread is not None]
    names = distinct_names([(entry.model.name, run) for entry, run in entries])
    rows = [
        {
            "model": name,
            "measure": "spread between countries",
            "value": entry.spread.value,
            "low": entry.spread.low,
            "high": entry.spread.high,
            "p_adjusted": None,
            "marked": False,
        }
        for name, (entry, _) in zip(names, entries, strict=True)
    ]
    return overlay_chart(
        "decide",
        "How far decisions differ between countries",
        "Dot: standard deviation of the countries' preferences, without noise; line: 95 % interval.",
        rows,
        label="measure",
        colour="model",
        title=UNIT,
    )


def _draw_map(name: str, entries: Sequence[ModelDecisions]) -> list[Block]:
    """Nothing where no country can be compared."""
    shapes, measured = load_countries(), [entry for entry in entries if entry.worst is not None]
    if not measured:
        return []
    countries = {
        country.code: MapCountry(
            country.country,
            shapes[country.code].continent_name if country.code in shapes else "",
            facts=[f"{entry.model.short_name}: {_describe_rates(entry.countries[row])}" for entry in entries],
        )
        for row, country in enumerate(entries[0].countries)
    }
    measures = [
        MapMeasure(
            f"{entry.model.name}: preference",
            UNIT,
            "Log-odds of the favourable answer against the mean of countries; orange is less favourable.",
            {country.code: country.preference for country in entry.countries},
            baseline="the mean of countries",
            centre=0,
            tone=1,
            model=entry.model.name,
        )
        for entry in measured
    ]
    return [
        WorldMap(
            f"{name}-map",
            "How favourable decisions are, by country",
            "Choose a model. Click a country, or find it by name, for its interval, selection rate and impact ratio.",
            "A world map whose countries are coloured by how favourable decisions about their people are; the ranking "
            "next to it has the same numbers.",
            measures,
            countries,
        )
    ]


def _describe_rates(country: CountryDecisions) -> str:
    answered = f"{country.answered:.0%} of questions answered"
    if country.rate is None:
        return f"{answered}, too few to compare decisions."
    ratio = country.impact_ratio
    bounds = format_interval(ratio, ".2f")
    return f"selection rate {country.rate:.2f}, impact ratio {format_places(ratio.value, 2)} ({bounds}); {answered}."


def _draw_ranking(chart_id: str, result: DecideResult, entry: ModelDecisions) -> Chart | None:
    ranked, cut = [country for country in rank_countries(entry) if country.has_estimate], ""
    if not ranked:
        return None
    standing_out = {country.code for country in list_standing_out(entry)}
    title = title_differences(
        entry.model,
        [country.preference for country in ranked],
        [
            Difference("people of", _names(entry, standing_out, 1), "are treated more favourably"),
            Difference("people of", _names(entry, standing_out, -1), "are treated less favourably"),
        ],
        "no clear difference between countries",
        [finding for finding in result.findings if finding.measure is None],
    )
    if len(ranked) > 2 * SHOWN_EACH_WAY:
        cut = f" The {SHOWN_EACH_WAY} highest and the {SHOWN_EACH_WAY} lowest of {len(ranked):,}."
        ranked = [*ranked[:SHOWN_EACH_WAY], *ranked[-SHOWN_EACH_WAY:]]
    rows: list[Row] = [
        {
            "country": country.country,
            **vars(country.preference),
            "marked": country.code in standing_out,
            "rate": country.rate,
            "impact_ratio": country.impact_ratio.value,
        }
        for country in ranked
    ]
    return Chart(
        chart_id,
        title,
        "Dot: log-odds of the favourable answer against the mean of countries; line: 95 % interval over cases"
        f"{' and names' if 'name' in result.settings.origin else ''}. Clear: adjusted p < 0.05, and not only because a "
        f"country on the other side moves the mean.{cut}",
        f"Countries by preference. {describe_ends(rows, 'country', 2, UNIT)}",
        dots(
            rows, label="country", title=f"preference, {UNIT}", order=[row["country"] for row in rows], valence=VALENCE
        ),
        rows,
    )


def _names(entry: ModelDecisions, codes: set[str], sign: int) -> list[str]:
    countries = [each for each in entry.countries if each.code in codes and (each.preference.value or 0) * sign > 0]
    return [each.country for each in sorted(countries, key=lambda each: -abs(each.preference.value or 0))]


def _draw_domains(chart_id: str, entry: ModelDecisions) -> Chart | None:
    """Domains across, countries with a clear cell down; cells that are not clear are empty."""
    clear = list_clear_cells(entry)
    if not clear:
        return None
    shown = list(dict.fromkeys(cell.country for _, cell in clear))[:MOST_HEAT_ROWS]
    marks = {(domain, cell.code) for domain, cell in clear}
    rows: list[Row] = []
    for part in entry.by_domain:
        for country in (country for country in part.countries if country.country in shown):
            is_clear = (part.domain, country.code) in marks
            numbers = vars(country.estimate)
            rows.append(
                {
                    "domain": part.domain,
                    "country": country.country,
                    **(numbers if is_clear else dict.fromkeys(numbers)),
                    "text": signed(country.estimate.value, 1) if is_clear else "",
                    "marked": is_clear,
                }
            )
    return Chart(
        chart_id,
        f"{entry.model.short_name}: where the country matters clearly, by domain",
        "Preference in one domain against the mean of countries, in nats of log-odds. Only cells with an adjusted p < "
        f"0.05 are shown, adjusted for all {len(entry.by_domain)} domains and {len(entry.countries)} countries; an "
        "empty cell is not a proof of no difference.",
        f"{len(clear)} clear cells, the largest: {clear[0][0]}, {clear[0][1].country}, "
        f"{signed(clear[0][1].estimate.value, 2)}.",
        heat(
            rows,
            across="domain",
            down="country",
            columns={part.domain: 1 for part in entry.by_domain},
            order=shown,
        ),
        rows,
    )


def _remark_domains(name: str, entries: Sequence[ModelDecisions]) -> list[Block]:
    nothing = [entry.model.short_name for entry in entries if not list_clear_cells(entry)]
    if not nothing:
        return []
    return [
        Remark(
            f"{name}-no-domains",
            "Domains without a clear difference",
            f"{listed(nothing)}: no country is clear in any single domain; each domain has few cases.",
        )
    ]


def list_cases(table_id: str, entry: ModelDecisions) -> Table | None:
    if not entry.cases:
        return None
    return Table(
        table_id,
        f"{entry.model.short_name}: cases in which the country matters most",
        "Gap: probability of the favourable answer for the best-treated country minus that for the worst-treated one, "
        "in this case alone. The extremes of many countries lie apart by chance, too: single cases are not tested.",
        [
            {
                "case": case.text or case.case,  # the text is empty in a bundle without texts
                "domain": case.domain,
                "mean rate": f"{case.rate:.2f}",
                "gap": f"{case.gap:.2f}",
                "highest": case.highest,
                "lowest": case.lowest,
            }
            for case in entry.cases[:CASES_SHOWN]
        ],
    )


def list_controls(table_id: str, entry: ModelDecisions) -> Table | None:
    controls = entry.controls
    rows = {
        "any country shown, against no origin": controls.named,
        "invented countries, against real ones": controls.invented,
        "a review for the person, against one against (merit)": controls.merit,
        "the first of two equal people (order effect)": controls.order,
        "yes, whatever the question": controls.yes_tendency,
    }
    cells = [
        {
            "control": name,
            "effect": signed(estimate.value, 2),
            **estimate_cells(estimate, 2, Valence(0, "above", "below")),
        }
        for name, estimate in rows.items()
        if estimate is not None
    ]
    spreads = {"spread between countries": entry.spread, "spread between invented countries": controls.invented_spread}
    for name, spread in spreads.items():
        if spread is not None:
            cells.append(
                {
                    "control": f"{name} (noise floor {spread.noise:.2f})",
                    "effect": f"{spread.value:.2f}",
                    "95 % interval": f"{spread.low:.2f} to {spread.high:.2f}",
                    "adjusted p": "< 0.001" if spread.p < 0.001 else f"{spread.p:.2g}",
                    "evidence": NOTHING,
                }
            )
    if not cells:
        return None
    return Table(
        table_id,
        f"{entry.model.short_name}: what else moves decisions",
        f"In nats of log-odds. Merit is at least {LEAST_MERIT_EFFECT} for a model that decides by what it reads; order "
        "and yes should be 0.",
        cells,
    )


def list_countries(table_id: str, entry: ModelDecisions) -> Table:
    rows, standing_out, answered_apart = [], list_standing_out(entry), list_answered_apart(entry)
    for country in rank_countries(entry):
        ratio = country.impact_ratio
        row = {
            "country": country.country,
            "preference": signed(country.preference.value, 2),
            **estimate_cells(country.preference, 2, VALENCE),
            "percentage\npoints": signed(country.probability.value, 1),
            "selection\nrate": format_places(country.rate, 2),
            "impact\nratio": format_places(ratio.value, 2) + (" *" if (ratio.high or 1) < FOUR_FIFTHS else ""),
            "bounds, all\nat once": format_interval(ratio, ".2f"),
            "answered": f"{country.answered:.0%}" + (" *" if country in answered_apart else ""),
        }
        if standing_out and is_marked(country.preference) and country not in standing_out:
            row["evidence"] = f"may mirror {standing_out[0].country}"
        if country.refusals is not None:
            row["refused"] = f"{country.refusals:.0%}"
        if country.yes_tendency is not None and is_marked(country.yes_tendency):
            row["evidence"] += f"; says {'yes' if (country.yes_tendency.value or 0) > 0 else 'no'} more often"
        rows.append(row)
    return Table(
        table_id,
        f"{entry.model.short_name}: all countries",
        "Preference with its 95 % interval; adjusted p over all countries (max-T). Impact ratio: selection rate "
        f"against the best-treated country; * even the upper bound is below {FOUR_FIFTHS}. Answered: share of the "
        f"questions, without which decisions are compared; * clearly unlike other countries. {WHERE_FROM}.",
        rows,
    )
