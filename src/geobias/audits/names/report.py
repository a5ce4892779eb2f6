"""What people and programs read of a names audit: its tables, charts, notes, gate numbers and the overlay of runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Final

from geobias.audits.inputs import describe_copies
from geobias.audits.names.blocks import (
    draw_alike_chart,
    draw_correlation_chart,
    draw_deltas,
    draw_genders,
    draw_heat_map,
    list_correlations,
    list_genders,
    list_large_names,
    mark,
)
from geobias.audits.names.findings import rank
from geobias.audits.names.headline import draw_scale, say_headline
from geobias.audits.names.phrases import describe_spans, list_full_notes, list_omissions
from geobias.audits.names.result import ClassifierReading, NamesResult, make_delta_family, make_families
from geobias.audits.names.rows import ClassEffect, CountryEffect, NamesAlike
from geobias.audits.side_by_side import NamedRun, distinct_names, overlay_chart
from geobias.measures.estimates import FEWEST_TEXTS_SHOWN, Estimate, find_standing_out
from geobias.report.declarations import (
    ALL_TABLES,
    CARD,
    FULL,
    TABLES,
    TERMINAL,
    ByModel,
    Column,
    Report,
    ReportBlock,
    Table,
    estimate_columns,
    say_bounds,
    say_evidence,
    say_p,
)
from geobias.report.gate_numbers import (
    ANY_NUMBER,
    NOT_NEGATIVE,
    WORST,
    GateNumber,
    Range,
    model_names,
    tree_number,
    worst_number,
)
from geobias.report.model_findings import Family
from geobias.report.page.blocks import CardText, Chart
from geobias.report.rows import Farthest
from geobias.report.tables import MARKED_COLUMN, NOTHING, TOO_FEW, interval, is_marked, listed, signed

__all__ = ["list_gate_numbers", "make_report", "overlay_runs", "say_headline"]

MEANING = (
    "Δ is the mean of p(positive) - p(negative), from -100 to +100 points, minus the same on the original texts; the "
    "change of a class is in per cent of its predictions. Any renaming changes texts: compare countries by the "
    "differences from their mean. * stands out: an adjusted p-value below 0.05, as measured and between names alike; "
    "intervals are over texts and names (docs/statistics.md). It describes the models and lists of common names, not "
    "people: names cross borders."
)
NONE_BEFORE: Final = "none before"
MOST: Final = {FULL: 24}  # countries: of more both ends
DrawChart = Callable[[str, NamesResult, ClassifierReading], Chart | None]
MakeTable = Callable[[NamesResult, ClassifierReading], Table | None]


def make_report(result: NamesResult) -> Report:
    entries, counts, settings = result.classifiers, result.counts, result.settings
    copies = describe_copies(counts.texts, counts.copies)
    blocks: list[ReportBlock] = [
        *_choose(result, "delta", draw_deltas),
        *_choose(result, "heat", draw_heat_map),
        *_choose(result, "genders-of", draw_genders),
        *(_list_countries(result, entry, None) for entry in entries),
        *_list_tables(result),
        *_choose(result, "rarity", draw_alike_chart),
        *_choose(result, "correlations", draw_correlation_chart),
        *_choose(result, "scale", draw_scale),
        _list_classifiers(result),
        _list_farthest(result),
    ]
    has_one = len(entries) == 1 and any(family.effects for family in make_families(result, entries[0]))
    without_names = counts.texts - counts.texts_with_names
    return Report(
        description=f"In {counts.texts_with_names:,} texts{copies} ({settings.texts.source}) the people were given "
        f"common names of {counts.countries} countries, {counts.draws} times each, and "
        f"{listed([entry.model for entry in entries])} judged every version.",
        title="Names: the same texts, with people from elsewhere",
        lead="Any renaming changes a text a little, so what sets countries apart is measured against the mean of all.",
        blocks=blocks,
        summary="countries" if has_one and entries[0].has_delta else "classifiers",
        model_noun="Classifier",
        notes=[
            *([f"{without_names:,} texts name nobody and are excluded."] if without_names else []),
            *list_omissions(result),
        ],
        full_notes=list(list_full_notes(result)),
        summary_note=describe_spans(counts.finder_spans, settings.finder, settings.doubtful, is_short=True),
        meaning=MEANING,
        cards={
            "": CardText(
                "Does a person's name change what the model says of a text, by the country it comes from?",
                ["delta", "genders-of"] if any(entry.has_delta for entry in entries) else [],
            )
        },
    )


def _list_tables(result: NamesResult) -> Iterator[Table]:
    """Those of one id together: the page lets the reader choose the classifier."""
    entries = result.classifiers
    makers: list[MakeTable] = [list_genders, list_large_names, list_correlations]
    for make in makers:
        yield from (table for entry in entries if (table := make(result, entry)) and table.rows)
    for entry in entries:
        yield from _list_classes(result, entry, None)
        for subset in result.list_subsets():
            if any(row.renamed_texts for row in result.list_deltas(entry.model, subset)):
                yield _list_countries(result, entry, subset)
                yield from _list_classes(result, entry, subset)


def _choose(result: NamesResult, key: str, draw: DrawChart) -> list[ByModel]:
    """The chart of each classifier that has one."""
    charts = {entry.model: draw(f"{key}-{n}", result, entry) for n, entry in enumerate(result.classifiers)}
    drawn = {model: chart for model, chart in charts.items() if chart}
    return [ByModel(drawn)] if drawn else []


def list_gate_numbers(result: NamesResult) -> Iterator[GateNumber]:
    """names.CLASSIFIER.delta.COUNTRY, .change.LABEL.COUNTRY, .kl.COUNTRY, or `worst` for COUNTRY: against the mean."""
    bounds = {(row.model, row.label): row for row in result.farthest}

    def list_measure(
        path: tuple[tuple[str, ...], ...],
        label: str | None,
        estimates: Iterable[tuple[Sequence[str], Estimate]],
        within: Range,
    ) -> Iterator[GateNumber]:
        numbers = [(tuple(names), tree_number(estimate, within).absolute()) for names, estimate in estimates]
        worst = bounds.get((path[0][0], label))
        yield GateNumber((*path, (WORST,)), worst_number(worst, [number for _, number in numbers], within))
        yield from (GateNumber((*path, names), number) for names, number in numbers)

    for entry in result.classifiers:
        # Probabilities of one label sum to 1; those of a multi-label model do not.
        widest = len(entry.positive + entry.negative) if entry.multi_label else 2
        model, deltas = model_names(entry.model), result.list_deltas(entry.model)
        names = [(row.code or "", row.place) for row in deltas]
        yield from list_measure(
            (model, ("delta",)),
            None,
            zip(names, [row.against_mean for row in deltas], strict=True),
            Range(-100 * widest, 100 * widest),
        )
        for label in entry.labels:
            rows = [row for row in result.list_classes(entry.model) if row.label == label]
            estimates = zip(names, [row.against_mean for row in rows], strict=True)
            yield from list_measure((model, ("change",), (label,)), label, estimates, ANY_NUMBER)
        for name, row in zip(names, deltas, strict=True):
            yield GateNumber((model, ("kl",), name), tree_number(row.kl_from_mean, NOT_NEGATIVE).absolute())


def _effect_columns(heading: str, places: int, family: Family[CountryEffect]) -> list[Column]:
    value, bounds, *_ = estimate_columns(heading, places, family.valence)
    return [
        value,
        bounds,
        Column("adj. p", lambda row: say_p(row.p_adjusted), keep=2),
        Column("evidence", partial(say_evidence, valence=family.valence), keep=2),
    ]


def _list_countries(result: NamesResult, entry: ClassifierReading, subset: str | None) -> Table:
    """The paper's Table 1 by country: delta; KL where the labels do not tell good from bad."""
    rows, alike = result.list_deltas(entry.model, subset), dict[str | None, NamesAlike]()
    if subset is None:
        alike = {row.code: row for row in result.names_alike if (row.model, row.label) == (entry.model, None)}
    if entry.has_delta:
        title = "Δ against the mean of countries, points"
        columns = _effect_columns("Δ", 2, make_delta_family(result, entry))
        columns.append(Column("against\noriginals", lambda row: mark(row.against_originals, 2), on={FULL}, keep=2))
    else:
        title = "divergence of predictions from the mean of countries, nats"
        columns = [
            Column("KL from\nthe mean", "kl_from_mean.value", ".4f"),
            Column("95 %", lambda row: say_bounds(row.kl_from_mean.low, row.kl_from_mean.high, 4, sign=False)),
        ]
    if alike:
        columns.append(Column("Δ, names\nalike", lambda row: mark(alike[row.code].adjusted, 2), on=TABLES))
        columns.append(Column("95 %", lambda row: interval(alike[row.code].adjusted, 1), on={FULL}, keep=3))
    texts = rows[0].renamed_texts / result.counts.draws
    return Table(
        f"countries-{subset}" if subset else "countries",
        f"{_name_part(entry, subset)}: {title}",
        "Against the mean of countries, with a 95 % interval; p-values are adjusted for all countries. Names alike are "
        "of equal length, spelling and frequency.",
        sorted(rows, key=lambda row: -row.value),
        [
            Column("country", "place", is_text=True),
            *columns,
            Column("KL", "kl.value", ".4f", on={FULL}, keep=3),
            Column("renamed\ntexts", "renamed_texts", ",", on=TABLES, keep=3, is_count=True),
        ],
        model=entry.model,
        most=MOST,
        on={FULL} if subset else ALL_TABLES if entry.has_delta else TABLES,
        too_few=texts < FEWEST_TEXTS_SHOWN,
    )


def _list_classes(result: NamesResult, entry: ClassifierReading, subset: str | None) -> Iterator[Table]:
    """For every class: its predictions, and with true labels its errors."""
    for label in entry.labels:
        rows = [row for row in result.list_classes(entry.model, subset) if row.label == label]
        title = f"{_name_part(entry, subset)}: predictions of {label}, per cent more or fewer"
        columns = [
            Column("country", "place", is_text=True),
            Column("against\nthe mean", lambda row: _say_change(row, row.against_mean, row.changed_texts_from_mean)),
            Column("95 %", lambda row: say_bounds(row.against_mean.low, row.against_mean.high, 1)),
            Column("adj. p", lambda row: say_p(row.p_adjusted), keep=2),
            Column("against\noriginals", lambda row: _say_change(row, row.against_originals, row.changed_texts)),
            Column("before", "before", ",", keep=3, is_count=True),
            Column("after", "after", ",", keep=3, is_count=True),
        ]
        if any(row.false_positive is not None or row.false_negative is not None for row in rows):
            rates = rows[0].original_false_positive, rows[0].original_false_negative
            title += f"; original texts: false + {_percent(rates[0])} %, false - {_percent(rates[1])} %"
            columns.append(Column("false +", lambda row: _percent(row.false_positive)))
            columns.append(Column("false -", lambda row: _percent(row.false_negative)))
        yield Table(
            f"classes-{subset or ''}-{label}",
            title,
            "",
            sorted(rows, key=lambda row: -row.value),
            columns,
            model=entry.model,
            most=MOST,
            on={FULL},
        )


def _say_change(row: ClassEffect, estimate: Estimate, changed_texts: int) -> str:
    if estimate.value is not None:
        return mark(estimate, 1)
    return TOO_FEW if changed_texts and row.before else NONE_BEFORE if not row.before else NOTHING


def _percent(share: float | None) -> str:
    return NOTHING if share is None else f"{100 * share:.1f}"


def _list_classifiers(result: NamesResult) -> Table:
    """The largest gap of each: below the findings on several."""
    ranked: dict[str, list[CountryEffect]] = {
        entry.model: sorted((row for family in make_families(result, entry) for row in family.effects), key=rank)
        for entry in result.classifiers
    }

    def show_first(show: Callable[[CountryEffect], str], entry: ClassifierReading) -> str:
        return show(ranked[entry.model][0]) if ranked[entry.model] else NOTHING

    def show_gap(row: CountryEffect) -> str:
        return signed(row.value, 1) + (f" % {row.label}" if row.of_class else "")

    def count(entry: ClassifierReading) -> str:
        effects = ranked[entry.model]
        return f"{sum(each.stands_out for each in effects)} of {len(effects)}" if effects else "not testable"

    unit = ", points" if all(entry.has_delta for entry in result.classifiers) else ""
    return Table(
        "classifiers",
        f"Largest gap from the mean of countries{unit}",
        "",
        result.classifiers,
        [
            Column("classifier", "short_name", is_text=True),
            Column("gap", partial(show_first, show_gap)),
            Column("country", partial(show_first, lambda row: row.place), is_text=True),
            Column("95 %", partial(show_first, lambda row: interval(row.estimate, 1)), keep=2),
            Column("adj. p", partial(show_first, lambda row: say_p(row.p_adjusted))),
            Column("stand out", count, keep=3),
        ],
        on={TERMINAL},
    )


def _list_farthest(result: NamesResult) -> Table:
    """Of a model card: delta of the classifiers that have one, of the others every class."""
    has_delta = {entry.model: entry.has_delta for entry in result.classifiers}

    def count(row: Farthest) -> str:
        effects: Sequence[CountryEffect] = result.list_deltas(row.model)
        if row.label is not None:
            effects = [each for each in result.list_classes(row.model) if each.label == row.label]
        return f"{sum(find_standing_out([each.against_mean for each in effects]))} of {len(effects)}"

    return Table(
        "farthest",
        "Farthest from the mean of countries",
        "",
        [row for row in result.farthest if (row.label is None) == has_delta[row.model]],
        [
            Column("Classifier", "model", is_text=True),
            Column("Measure", lambda row: "Δ, points" if row.label is None else f"predictions of {row.label}, %"),
            Column("Farthest from the mean of countries", "value", ".1f"),
            Column("95 %, all countries at once", lambda row: say_bounds(row.low, row.high, 1, sign=False)),
            Column("Country", "place", is_text=True),
            Column(MARKED_COLUMN.format("Countries"), count),
        ],
        on={CARD},
    )


def _name_part(entry: ClassifierReading, subset: str | None) -> str:
    return entry.short_name + (f", {subset}" if subset else "")


def overlay_runs(runs: Sequence[NamedRun]) -> Chart | None:
    """Several runs in one chart."""
    entries = [(entry, run) for run in runs for entry in run.result.classifiers]
    names = distinct_names([(entry.model, run) for entry, run in entries])
    rows = [
        {"classifier": name, "country": row.place, **vars(row.against_mean), "marked": is_marked(row.against_mean)}
        for name, (entry, run) in zip(names, entries, strict=True)
        for row in run.result.list_deltas(entry.model)
        if row.against_mean.value is not None
    ]
    is_judgement = not any(entry.has_emotions for entry, _ in entries)
    return overlay_chart(
        "names",
        "How much kinder or harsher each classifier is with a country's names"
        if is_judgement
        else "How each classifier answers to a country's names",
        "Dot: Δ against the mean of countries, in points (-100 to +100); line: 95 % interval; filled: clear (adjusted "
        "p < 0.05).",
        rows,
        label="country",
        colour="classifier",
        title="Δ against the mean of countries, points",
    )
