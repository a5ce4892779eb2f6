"""What people and programs read of an audit of finders besides its findings: charts, map, tables, gate numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from operator import attrgetter

from geobias.audits.find.findings import RECOGNITION, make_family
from geobias.audits.find.measure import WEAKEST_NAMES
from geobias.audits.find.result import FactorLevel, FinderMeasures, FindResult, OutcomeShare, to_percent
from geobias.audits.inputs import describe_copies
from geobias.models.finders import EMBEDDED_FINDER
from geobias.report.declarations import (
    ALL_TABLES,
    CARD,
    EVERYWHERE,
    FULL,
    PAGE,
    TABLES,
    TERMINAL,
    ByModel,
    Column,
    Report,
    ReportBlock,
    Table,
    estimate_columns,
    say_bounds,
    say_left_out,
    show_interval,
)
from geobias.report.findings import Finding
from geobias.report.gate_numbers import SHARE, GateNumber, model_names, tree_number
from geobias.report.headlines import name_model
from geobias.report.model_findings import Family
from geobias.report.page.blocks import CardText, Chart, Row, WorldMap
from geobias.report.page.charts import DotPlot, Valence, dots
from geobias.report.page.effect_blocks import Difference, make_effect_map, title_differences
from geobias.report.results import Interval
from geobias.report.tables import listed, signed
from geobias.world.countries import load_countries

MOST_ROWS, ENDS_SHOWN = 40, 15  # of the chart; with more countries it shows both ends
MEANING = (
    "Recall: the share of mentions that are marked as a person with the right ends; partial: with other ends; wrong "
    "type: marked as something else only; missed: not marked at all. * marks a country that stands out from the mean "
    "of countries, and a kind of name that differs from the first of its block (adjusted p-value below 0.05); "
    "intervals are over texts and names."
)
LISTS = "Names come from lists of common names, and a name is not a nationality. Nothing is said about people."
HELD_OUT = (
    f"Names that {EMBEDDED_FINDER} was trained with are left out, and so are the bundled tweets that it learned from. "
    "Its vocabulary still knows the names of the bundled lists: for names on no list its recall is about a third lower "
    "(see its card)."
)
TITLES = {"partial": "partial", "wrong_type": "wrong\ntype", "misses": "missed"}  # of the outcomes besides recall
Shares = Family[OutcomeShare]


def make_report(result: FindResult) -> Report:
    families = {entry.model: make_family(result, entry) for entry in result.finders}
    models = list(families.values())
    tables = [_list_countries(result, family) for family in models]
    blocks: list[ReportBlock] = [*tables]
    if result.has_enough_texts:
        countries = {family.model.name: _draw_countries(result, n, family) for n, family in enumerate(models)}
        shown = models if result.factors else []
        factors = {family.model.name: _draw_factors(result, n, family) for n, family in enumerate(shown)}
        blocks = [
            ByModel(countries),
            # A user's gazetteer may have countries that are not on the map.
            *([_draw_map(models)] if set(result.settings.countries) <= load_countries().keys() else []),
            *tables,
            *([ByModel(factors)] if shown else []),
            *(_list_factors(result, family) for family in shown),
            *(_list_weakest_names(result, family) for family in models if result.weakest_names),
        ]
    counts, source = result.counts, result.settings.texts.source
    texts = f"{counts.texts_with_names:,} texts{describe_copies(counts.texts, counts.copies)} ({source})"
    return Report(
        description=f"The people in {texts} got common names of {counts.countries} countries, {counts.draws} times "
        f"each, and {listed(result.settings.finders)} had to recognise them.",
        title="Finders: whose names are missed",
        lead="A name that a finder misses is not masked, and is missing in an audit that relies on the finder.",
        blocks=[*blocks, _list_finders(result, families)],
        summary="table" if len(families) == 1 else "finders",
        model_noun="Finder",
        notes=[*_list_omissions(result), LISTS],
        full_notes=[
            f"{counts.mentions:,} mentions of {counts.people:,} people; {counts.recased_draws} draws for case, which "
            "changes the names only.",
            *(
                f"{entry.model} on the original texts: precision {show_interval(entry.precision, '.1f', 100)} %, "
                f"recall {show_interval(entry.original_recall, '.1f', 100)} %."
                for entry in result.finders
            ),
        ],
        meaning=MEANING,
        cards={"": CardText("Does the finder miss the names of some countries more often than others?")},
    )


def _rank(family: Shares) -> list[OutcomeShare]:
    """From the lowest recall to the highest."""
    return sorted(family.effects, key=lambda row: row.share.value or 0)


def _count_standing_out(family: Shares) -> str:
    return f"{len(family.standing_out)} of {len(family.effects)}"


def _draw_countries(result: FindResult, number: int, family: Shares) -> Chart:
    ranked = _rank(family)
    shown = ranked if len(ranked) <= MOST_ROWS else [*ranked[:ENDS_SHOWN], *ranked[-ENDS_SHOWN:]]
    cut = "" if shown == ranked else f" The {ENDS_SHOWN} lowest and the {ENDS_SHOWN} highest of {len(ranked)}."
    rows: list[Row] = [
        {"country": row.place, **to_percent(row.share), "p_adjusted": row.p_adjusted, "marked": row.stands_out}
        for row in shown
    ]
    less, more = ([row.place for row in family.list_standing_out(sign)] for sign in (-1, 1))
    title = title_differences(
        family.model,
        [row.against_mean for row in ranked],
        [
            Difference("names from", less, "are recognised less often"),
            Difference("names from", more, "are recognised more often"),
        ],
        "no country's names stand out",
        result.findings,
    )
    ends = " to ".join(f"{row['country']} {row['value']:.1f} %" for row in (rows[0], rows[-1]))
    return Chart(
        f"countries-{number}",
        title,
        "Dot: per cent of mentions marked as a person with the right ends; line: 95 % interval over texts and names; "
        "dashed: the mean of countries. Clear: differs from it (adjusted p < 0.05); intervals that overlap may still "
        f"differ, since countries share texts.{cut}",
        f"Countries by recall, from {ends}; {_count_standing_out(family)} differ clearly from the mean of countries "
        "(adjusted p < 0.05).",
        _draw_dots(result, family, rows, "country", RECOGNITION),
        rows,
    )


def _draw_dots(
    result: FindResult, family: Shares, rows: Sequence[Row], label: str, valence: Valence | None = None
) -> DotPlot:
    """Recalls around the mean of countries."""
    mean = next(entry.recall.value or 0 for entry in result.finders if entry.model == family.model.name)
    order = [row[label] for row in rows]
    return dots(rows, label=label, title="recall, %", order=order, valence=valence, centre=100 * mean)


def _draw_map(families: Sequence[Shares]) -> WorldMap:
    names = [family.model.name for family in families]
    return make_effect_map(
        "map",
        families,
        title="Recall on the map",
        measures={name: f"{name}: recall against the mean of countries" for name in names},
        legend=OutcomeShare.unit,
        readings=dict.fromkeys(names, "Recall minus the mean of countries, in percentage points"),
        baseline="the mean of countries",
    )


def _say_bounds(share: Interval) -> str:
    return say_bounds(share.low, share.high, 1, 100, sign=False)


def _list_countries(result: FindResult, family: Shares) -> Table:
    shares = {(row.code, row.label): row.share.value for row in result.effects if row.model == family.model.name}

    def find_share(outcome: str, row: OutcomeShare) -> float | None:
        return shares[row.code, outcome]

    return Table(
        "table",
        f"{family.model.short_name}: recall, %; * stands out",
        "Recall, and its difference from the mean of countries in percentage points, with a 95 % interval over texts "
        "and names; p-values are adjusted for all countries. Partial: marked as a person with other ends. Wrong type: "
        "marked as something else only. Missed: not marked at all.",
        _rank(family),
        [
            Column("country", "place", is_text=True),
            Column("recall", "share.value", ".1f", times=100),
            Column("95 %", lambda row: _say_bounds(row.share), on=TABLES, keep=2),
            *estimate_columns("against\nmean", 1, RECOGNITION),
            *(
                Column(title, partial(find_share, outcome), ".1f", times=100, on=TABLES, keep=3)
                for outcome, title in TITLES.items()
            ),
        ],
        model=family.model.name,
        on=ALL_TABLES if len(result.finders) == 1 else TABLES,
        too_few=not result.has_enough_texts,
    )


def _draw_factors(result: FindResult, number: int, family: Shares) -> Chart:
    levels = [level for level in result.factors if level.model == family.model.name]
    rows: list[Row] = [
        {
            "level": level.title,
            **to_percent(level.recall),
            "p_adjusted": level.difference.p_adjusted if level.difference else None,
            "marked": level.is_marked,
        }
        for level in levels
    ]
    lower = [level.title for level in levels if level.is_marked and level.value < 0]
    what = f"recall is lower for {listed(lower)}" if lower else "recall by gender, part, case and script of the names"
    return Chart(
        f"factors-{number}",
        f"{family.model.short_name}: {what}",
        "Dot: recall over all countries; line: 95 % interval over texts and names; filled: differs from the first "
        "line of its kind (adjusted p < 0.05); dashed: the mean of countries. Case is changed in names alone.",
        "; ".join(f"{row['level']} {row['value']:.1f} %" for row in rows) + ".",
        _draw_dots(result, family, rows, "level"),
        rows,
    )


def _list_factors(result: FindResult, family: Shares) -> Table:
    return Table(
        "kinds",
        f"{family.model.short_name}: recall by kind of name, all countries, %",
        "",
        [level for level in result.factors if level.model == family.model.name],
        [
            Column("names", "title", is_text=True),
            Column("recall", "recall.value", ".1f", times=100),
            Column("95 %", lambda level: _say_bounds(level.recall), keep=2),
            Column("against\nfirst", _mark_difference),
            *(Column(title, outcome, ".1f", times=100, keep=3) for outcome, title in TITLES.items()),
        ],
        model=family.model.name,
        group=attrgetter("factor"),
        on={FULL},
    )


def _mark_difference(level: FactorLevel) -> str:
    if level.difference is None:
        return ""
    return signed(to_percent(level.difference)["value"], 1) + ("*" if level.is_marked else " ")


def _list_weakest_names(result: FindResult, family: Shares) -> Table:
    return Table(
        "names",
        f"{family.model.short_name}: names that are recognised least",
        "Where to look when a country is low: are they words (Can, May) or places (Carolina) too? tables/names.csv "
        "has all names.",
        [name for name in result.weakest_names if name.model == family.model.name],
        [
            *(Column(field, field, is_text=True) for field in ("name", "kind", "country")),
            Column("mentions", "mentions", ","),
            Column("recall, %", "recall", ".1f", times=100),
        ],
        model=family.model.name,
        most={FULL: WEAKEST_NAMES},
        on=TABLES,
    )


def _list_finders(result: FindResult, families: Mapping[str, Shares]) -> Table:
    """A row for each finder: also the table of a model card, and the summary of several on the terminal."""

    def name_lowest(entry: FinderMeasures) -> str:
        return f"{100 * (entry.lowest.value or 0):.1f} ({_rank(families[entry.model])[0].place})"

    return Table(
        "finders",
        "Recall over all countries, and on the original texts",
        "Highest minus lowest: with bounds that hold for all countries at once. Could be found: the smallest "
        "difference of a country from the mean that is detected with 80 % power.",
        result.finders,
        [
            Column("finder", lambda entry: families[entry.model].model.short_name, on={TERMINAL, FULL}, is_text=True),
            Column("finder", "model", on={PAGE, CARD}, is_text=True),
            Column("recall, mean\nof countries, %", "recall.value", ".1f", times=100),
            Column("95 %", lambda entry: _say_bounds(entry.recall), keep=2),
            Column("lowest, %", name_lowest),
            Column("highest minus\nlowest, %", "gap.value", ".1f", times=100, on={FULL, PAGE, CARD}, keep=3),
            Column("95 %, all countries\nat once", lambda entry: _say_bounds(entry.gap), on={FULL, PAGE, CARD}, keep=3),
            Column("stand out", lambda entry: _count_standing_out(families[entry.model])),
            Column("could be\nfound, %", "detectable_difference", ".1f", times=100, on=TABLES, keep=3),
            Column("precision,\noriginals, %", "precision", ".1f", times=100, on={PAGE, CARD}),
            Column("recall,\noriginals, %", "original_recall", ".1f", times=100, on={PAGE, CARD}),
        ],
        on=EVERYWHERE,
        too_few=not result.has_enough_texts,
    )


def _list_omissions(result: FindResult) -> Iterator[str]:
    counts = result.counts
    if result.settings.held_out:
        yield HELD_OUT
    if counts.rows_without_text:
        yield f"Rows without a text, left out: {counts.rows_without_text:,}."
    yield from say_left_out("Countries with too few names", counts.countries_left_out)
    if counts.draws == 1:
        yield "With one draw names and texts are confounded, so there are no intervals: use --draws 2 or more."


def list_gate_numbers(result: FindResult) -> Iterator[GateNumber]:
    """find.FINDER.recall.lowest, .recall.mean, .OUTCOME.COUNTRY, .gap, .precision: shares from 0 to 1."""
    for entry in result.finders:
        sums = {"recall.lowest": entry.lowest, "recall.mean": entry.recall, "gap": entry.gap}
        for path, measure in (sums | {"precision": entry.precision}).items():
            parts = ((part,) for part in path.split("."))
            yield GateNumber((model_names(entry.model), *parts), tree_number(measure, SHARE))
    for row in result.effects:
        names = model_names(row.model), (row.label,), (row.code or "", row.place)
        yield GateNumber(names, tree_number(row.share, SHARE))


def say_headline(result: FindResult, answer: Finding, details: Sequence[Finding]) -> str:
    name, texts = name_model(answer.model), f"{result.counts.texts_with_names:,} texts"
    what = f"{name} misses the names of some countries more often than those of others"
    effects = result.list_effects(answer.model)
    if answer.evidence == "none":
        return f"No sign that {what}: none of {len(effects)} countries stands out."
    row = next((row for row in effects if row.code == answer.code), None)
    if answer.evidence == "not testable" or row is None:
        return f"These {texts} cannot tell whether {what}."
    entry = next(entry for entry in result.finders if entry.model == answer.model)
    count = sum(each.stands_out for each in effects)
    more = (
        f" It is the largest of {count} differences that stand out." if count > 1 and answer.evidence == "clear" else ""
    )
    start = "" if answer.evidence == "clear" else "Not certain: "
    return (
        f"{start}Give the people in {texts} names from {row.place}, and "
        f"{name} finds {100 * (row.share.value or 0):.0f} % of them. With the average country's names: "
        f"{100 * (entry.recall.value or 0):.0f} %.{more}"
    )
