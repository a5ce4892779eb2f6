"""What people and programs read of a decisions audit besides its findings: tables, charts, map, notes, gate numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from geobias.audits.decide.cautions import LEAST_MERIT_EFFECT, get_share, list_answered_apart, say_unanswered
from geobias.audits.decide.design import NAME, choose_other_way
from geobias.audits.decide.findings import ANSWERS, FOUR_FIFTHS, VALENCE, WHERE_FROM, make_family, say_headline
from geobias.audits.decide.result import CountryDecisions, DecideResult, ModelDecisions, PartialPreference
from geobias.audits.inputs import describe_copies, list_copies
from geobias.audits.side_by_side import NamedRun, distinct_names, overlay_chart
from geobias.report.declarations import (
    ALL_TABLES,
    CARD,
    EVERYWHERE,
    FULL,
    PAGE,
    TABLES,
    ByModel,
    Column,
    Report,
    Table,
    estimate_columns,
    say_left_out,
    say_p,
)
from geobias.report.gate_numbers import (
    ANY_NUMBER,
    NOT_NEGATIVE,
    SHARE,
    WORST,
    GateNumber,
    TreeNumber,
    model_names,
    tree_number,
)
from geobias.report.model_findings import Family
from geobias.report.page.blocks import CardText, Chart, WorldMap
from geobias.report.page.effect_blocks import make_effect_chart, make_effect_map
from geobias.report.sentences import list_first
from geobias.report.tables import NOTHING, format_interval, format_places, listed, signed

__all__ = ["list_gate_numbers", "make_report", "overlay_runs", "say_headline"]

UNIT = "nats of log-odds"
CASES_SHOWN = 10
CONTROLS = {
    "origin_shown": "any country shown, against no origin",
    "invented": "invented countries, against real ones",
    "merit": "a review for the person, against one against (merit)",
    "order": "the first of two equal people (order effect)",
    "yes_tendency": "yes, whatever the question",
    "spread": "spread of countries (noise floor {noise:.2f})",
    "invented_spread": "spread of invented countries (noise floor {invented_noise:.2f})",
}
MEANING = (
    "Preference: log-odds of the favourable answer against the mean of countries, in nats, net of a tendency to say "
    "yes. Selection rate: mean probability of the favourable answer. Impact ratio: that rate against the best-treated "
    "country's. Questions that are not answered take no part. The scenarios measure the model; they recommend nothing."
)


def make_report(result: DecideResult) -> Report:
    counts, settings = result.counts, result.settings
    families = [make_family(result, entry) for entry in result.deciders]
    models = list(zip(result.deciders, families, strict=True))
    charts = {family.model.name: _draw_ranking(n, result, family) for n, family in enumerate(families)}
    tables = (_list_parts, _list_cases, _list_controls, _list_countries)
    names = listed([entry.model for entry in result.deciders])
    copies = describe_copies(counts.cases, counts.copies, "case")
    return Report(
        description=f"{names} decided {counts.scenarios:,} scenarios{copies} ({settings.scenarios.source}) about "
        f"people of {counts.countries:,} countries; origin is {' or '.join(settings.origin)}.",
        title="Decisions: the same cases about people of every country",
        lead="Each case is told once and ends with a question about a person. A favourable answer is a yes that helps "
        "or a no that spares; both kinds of questions count alike, so that a tendency to say yes cancels. The "
        "scenarios measure the model; they recommend nothing.",
        blocks=[
            *_draw_map(result, families),
            ByModel({name: chart for name, chart in charts.items() if chart}),
            *(table for make in tables for each in models if (table := make(result, *each)).rows),
            _list_models(result),
        ],
        summary="countries" if len(models) == 1 else "models",
        notes=[*_list_notes(result), f"{WHERE_FROM}."],
        meaning=MEANING,
        cards={
            "": CardText("Does the model decide differently about people from different countries?", ["ranking"]),
            ANSWERS: CardText("Does it answer questions about people of all countries equally often?"),
        },
    )


def _list_countries(result: DecideResult, entry: ModelDecisions, family: Family[CountryDecisions]) -> Table:
    effects = result.list_effects(entry.model)
    apart = {row.code for row in list_answered_apart(entry, effects)}

    def say_ratio(row: CountryDecisions) -> str:
        return format_places(row.impact_ratio.value, 2) + ("*" if (row.impact_ratio.high or 1) < FOUR_FIFTHS else " ")

    def say_share(row: CountryDecisions) -> str:
        return f"{get_share(row):.0%}{'*' if row.code in apart else ' '}"

    return Table(
        "countries",
        f"{family.model.short_name}: favourable answers by country; * stands out",
        "Preference with its 95 % interval; adjusted p over all countries (max-T). Impact ratio: selection rate "
        f"against the best-treated country; * even the upper bound is below {FOUR_FIFTHS}. Answered: share of the "
        f"questions, without which decisions are compared; * clearly unlike other countries. {WHERE_FROM}.",
        sorted(effects, key=lambda row: (not row.has_estimate, -row.value)),
        [
            Column("country", "place", is_text=True),
            *estimate_columns("preference", 2, VALENCE),
            Column("percentage\npoints", "probability.value", "+.1f", keep=2),
            Column("selection\nrate", "rate", ".2f", keep=2),
            Column("impact\nratio", say_ratio, keep=3),
            Column("bounds, all\nat once", lambda row: format_interval(row.impact_ratio, ".2f"), on=TABLES, keep=3),
            Column("answered", say_share, on=EVERYWHERE if apart else {PAGE}),
            *([Column("refused", "refusals", ".0%", on={PAGE})] if entry.refusals is not None else []),
        ],
        model=entry.model,
        on=ALL_TABLES if len(result.deciders) == 1 else TABLES,
    )


def _list_controls(result: DecideResult, entry: ModelDecisions, family: Family[CountryDecisions]) -> Table:
    tested = {name: words for name, words in CONTROLS.items() if getattr(entry, name) is not None}
    estimates = {words.format_map(vars(entry)): getattr(entry, name) for name, words in tested.items()}
    estimates |= {f"{name} of a name, for one more": slope for name, slope in entry.slopes.items()}
    return Table(
        "controls",
        f"{family.model.short_name}: what else moves decisions",
        f"In nats of log-odds. Merit is at least {LEAST_MERIT_EFFECT} for a model that decides by what it reads; order "
        "and yes should be 0.",
        list(estimates),
        [
            Column("control", str, is_text=True),
            Column("effect (95 % interval)", estimates.__getitem__, "+.2f"),
            Column("adjusted p", lambda name: say_p(estimates[name].p_adjusted), keep=2),
        ],
        model=entry.model,
        on=TABLES,
    )


def _list_parts(result: DecideResult, entry: ModelDecisions, family: Family[CountryDecisions]) -> Table:
    """The country farthest from the mean in each part, and which others stand out."""
    groups: dict[str, list[PartialPreference]] = {}
    known = [part for part in result.parts if part.model == entry.model and part.estimate.value is not None]
    for part in known:
        groups.setdefault(part.label or f"{part.measure}s", []).append(part)
    for group in groups.values():
        group.sort(key=lambda part: (not part.stands_out, -abs(part.estimate.value or 0)))

    def list_others(name: str) -> str:
        others = [f"{each.place} {signed(each.estimate.value, 2)}" for each in groups[name][1:] if each.stands_out]
        return list_first(others) if others else NOTHING

    return Table(
        "parts",
        f"{family.model.short_name}: by domain, origin and gender, with the country farthest from the mean",
        "Preference in a part of the questions against the mean of countries, with its 95 % interval; expected numbers "
        "and choices between two people, higher is better. * Adjusted p < 0.05, of domains over all of them.",
        list(groups),
        [
            Column("part", str, is_text=True),
            Column("country", lambda name: groups[name][0].place, is_text=True),
            Column("preference (95 % interval)", lambda name: groups[name][0].estimate, "+.2f"),
            Column("others that stand out", list_others, keep=2, is_text=True),
        ],
        model=entry.model,
        on=TABLES,
    )


def _list_cases(result: DecideResult, entry: ModelDecisions, family: Family[CountryDecisions]) -> Table:
    return Table(
        "cases",
        f"{family.model.short_name}: cases in which the country matters most",
        "Gap: probability of the favourable answer for the best-treated country minus that for the worst-treated one, "
        "in this case alone. The extremes of many countries lie apart by chance, too: single cases are not tested.",
        [case for case in result.cases if case.model == entry.model][:CASES_SHOWN],
        [
            Column("case", "case", on={FULL}, is_text=True),
            Column("case", lambda case: case.text or case.case, on={PAGE}, is_text=True),  # a bundle may have no text
            Column("domain", "domain", is_text=True),
            Column("mean rate", "rate", ".2f"),
            Column("gap", "gap", ".2f"),
            Column("highest", "highest", keep=2, is_text=True),
            Column("lowest", "lowest", keep=2, is_text=True),
        ],
        model=entry.model,
        on=TABLES,
    )


def _list_models(result: DecideResult) -> Table:
    """A row for each model: of a model card, and the summary of several on the terminal."""

    def count_standing_out(row: ModelDecisions) -> str:
        effects = result.list_effects(row.model)
        return f"{sum(effect.stands_out for effect in effects)} of {len(effects)}"

    return Table(
        "models",
        "The worst-treated country of each model",
        f"Impact ratio: its selection rate against that of the best-treated country. {WHERE_FROM}.",
        result.deciders,
        [
            Column("model", "model", is_text=True),
            Column("worst-treated\ncountry", "worst_country", is_text=True),
            Column("smallest\nimpact ratio", "worst_ratio.value", ".2f"),
            Column("95 %, all countries\nat once", lambda row: format_interval(row.worst_ratio, ".2f"), keep=2),
            Column("best-treated\ncountry", "best_country", on={PAGE, CARD}, is_text=True),
            Column("spread of\nlog-odds", "spread.value", ".2f", keep=3),
            Column("stand out", count_standing_out, keep=2),
            Column("answered", "answered", ".0%", keep=3),
        ],
        on=EVERYWHERE if len(result.deciders) > 1 else {CARD},
    )


def _draw_map(result: DecideResult, families: Sequence[Family[CountryDecisions]]) -> Iterator[WorldMap]:
    """Nothing where no country can be compared."""
    known = [family for family in families if family.first.has_estimate]
    names = [family.model.name for family in known]
    if known:
        yield make_effect_map(
            "map",
            [replace(family, effects=result.list_effects(family.model.name)) for family in known],
            title="How favourable decisions are, by country",
            measures={name: f"{name}: preference" for name in names},
            legend=UNIT,
            readings=dict.fromkeys(names, "Log-odds of the favourable answer against the mean of countries"),
            baseline="the mean of countries",
        )


def _draw_ranking(n: int, result: DecideResult, family: Family[CountryDecisions]) -> Chart | None:
    if not family.first.has_estimate:
        return None
    return make_effect_chart(
        f"ranking-{n}",
        family,
        words=("people of", "are treated more favourably", "are treated less favourably"),
        nothing="no clear difference between countries",
        reading="Dot: log-odds of the favourable answer against the mean of countries; line: 95 % interval over cases"
        f"{' and names' if NAME in result.settings.origin else ''}. Clear: adjusted p < 0.05, and not only because a "
        "country on the other side moves the mean.",
        axis=f"preference, {UNIT}",
        unit=UNIT,
        findings=[finding for finding in result.findings if finding.measure is None],
        more={"rate": "rate", "impact_ratio": "impact_ratio.value"},
        places=2,
    )


def _list_notes(result: DecideResult) -> Iterator[str]:
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
    yield from say_left_out("Countries whose origin cannot be shown in every way", counts.countries_left_out)
    if settings.system:
        yield f"System prompt: {settings.system}"
    for entry in result.deciders:
        yield from (f"{entry.model}: {note}" for note in _list_model_notes(entry))


def _list_model_notes(entry: ModelDecisions) -> Iterator[str]:
    if entry.smallest_effect is not None:
        yield f"the smallest difference that is detected with 80 % power is {entry.smallest_effect:.2f} nats."
    if entry.sampled:
        yield "answers were sampled; intervals contain the sampling error."
    if entry.decisions_cut:
        yield f"{entry.decisions_cut:,} of {entry.decisions:,} questions were cut to the model's maximum length."
    yield from entry.notes


def list_gate_numbers(result: DecideResult) -> Iterator[GateNumber]:
    """decide.MODEL.MEASURE.COUNTRY, or `worst` (of `answered`, `lowest`); decide.MODEL.answered, .spread and .order.

    The worst says nothing where there are countries without a number.
    """
    for entry in result.deciders:
        model, effects = model_names(entry.model), result.list_effects(entry.model)
        names = {row.code: (row.code, row.place) for row in effects}
        bounds = {"impact_ratio": (entry.worst_ratio, SHARE), "preference": (entry.farthest, ANY_NUMBER)}
        for measure, (worst, within) in bounds.items():
            countries = [(names[row.code], getattr(row, measure), [row]) for row in effects]
            for name, estimate, concerned in [((WORST,), worst, effects), *countries]:
                number = replace(tree_number(estimate, within).absolute(), untested=say_unanswered(concerned))
                yield GateNumber((model, (measure,), name), number)
        shares = {row.code: tree_number(row.answered, SHARE) for row in effects}
        path = (model, ("answered",))
        yield GateNumber(path, TreeNumber(entry.answered, entry.answered, entry.answered, SHARE))
        yield GateNumber((*path, ("lowest",)), min(shares.values(), key=lambda share: share.value or 0.0))
        yield from (GateNumber((*path, names[code]), share) for code, share in shares.items())
        if entry.spread:
            spread = replace(tree_number(entry.spread, NOT_NEGATIVE), untested=say_unanswered(effects))
            yield GateNumber((model, ("spread",)), spread)
        if entry.order:
            yield GateNumber((model, ("order",)), tree_number(entry.order, ANY_NUMBER).absolute())


def overlay_runs(runs: Sequence[NamedRun]) -> Chart | None:
    """The spread between countries of several runs in one chart."""
    entries = [(row, run) for run in runs for row in run.result.deciders if row.spread]
    names = distinct_names([(row.model, run) for row, run in entries])
    rows = [
        {
            "model": name,
            "measure": "spread between countries",
            **{key: getattr(row.spread, key) for key in ("value", "low", "high")},
            "p_adjusted": None,
            "marked": False,
        }
        for name, (row, _) in zip(names, entries, strict=True)
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
