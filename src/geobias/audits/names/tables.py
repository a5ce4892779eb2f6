"""The tables of a names audit, each declared once: on the terminal, with --full, on the page and in model cards."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Final

from geobias.audits.names.blocks import OVER
from geobias.audits.names.findings import rank
from geobias.audits.names.result import (
    ClassifierReading,
    NamesResult,
    make_class_families,
    make_delta_family,
    make_families,
)
from geobias.audits.names.rows import ClassEffect, CountryEffect, FarthestCountry, GenderGap, NamesAlike, ScriptGap
from geobias.measures.correlation import FEWEST_DRAWS
from geobias.measures.estimates import FEWEST_TEXTS_SHOWN, Estimate, find_standing_out
from geobias.measures.single_names import LARGE
from geobias.report.declarations import (
    ALL_TABLES,
    CARD,
    FULL,
    PAGE,
    TABLES,
    TERMINAL,
    Column,
    Table,
    estimate_columns,
    say_bounds,
    say_evidence,
    say_p,
)
from geobias.report.findings import DIFFERENCES, EVIDENCE_LABELS, grade_evidence
from geobias.report.model_findings import Family
from geobias.report.page.charts import Valence
from geobias.report.tables import MARKED_COLUMN, NOTHING, TOO_FEW, interval, is_marked, signed

NONE_BEFORE: Final = "none before"
MOST: Final = {FULL: 24}  # countries: of more both ends
MOST_CLASSES: Final = 5  # countries and classes below the findings
MOST_NAMES: Final = 30


def _name_part(entry: ClassifierReading, subset: str | None) -> str:
    return entry.short_name + (f", {subset}" if subset else "")


def _effect_columns(heading: str, places: int, family: Family[CountryEffect]) -> list[Column]:
    value, bounds, *_ = estimate_columns(heading, places, family.valence)
    return [
        value,
        bounds,
        Column("adj. p", lambda row: say_p(row.p_adjusted), keep=2),
        Column("evidence", partial(say_evidence, valence=family.valence), keep=2),
    ]


def list_countries(result: NamesResult, entry: ClassifierReading, subset: str | None) -> Table:
    """The paper's Table 1 by country: delta; KL where the labels do not tell good from bad."""
    rows, alike = result.list_deltas(entry.model, subset), dict[str | None, NamesAlike]()
    if subset is None:
        alike = {row.code: row for row in result.names_alike if (row.model, row.label) == (entry.model, None)}
    if entry.has_delta:
        title = "Δ against the mean of countries, points"
        columns = _effect_columns("Δ", 2, make_delta_family(result, entry))
        columns.append(Column("against\noriginals", lambda row: _mark(row.against_originals, 2), on={FULL}, keep=2))
    else:
        title = "divergence of predictions from the mean of countries, nats"
        columns = [
            Column("KL from\nthe mean", "kl_from_mean.value", ".4f"),
            Column("95 %", lambda row: say_bounds(row.kl_from_mean.low, row.kl_from_mean.high, 4, sign=False)),
        ]
    if alike:
        columns.append(Column("Δ, names\nalike", lambda row: _mark(alike[row.code].adjusted, 2), on=TABLES))
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


def _mark(estimate: Estimate, places: int, times: int = 1) -> str:
    if estimate.value is None:
        return NOTHING
    return signed(times * estimate.value, places) + ("*" if is_marked(estimate) else " ")


def list_classes(result: NamesResult, entry: ClassifierReading, subset: str | None) -> Iterator[Table]:
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
        return _mark(estimate, 1)
    return TOO_FEW if changed_texts and row.before else NONE_BEFORE if not row.before else NOTHING


def _percent(share: float | None) -> str:
    return NOTHING if share is None else f"{100 * share:.1f}"


def list_class_gaps(result: NamesResult, entry: ClassifierReading) -> Table:
    """Of a classifier without delta, what stands below the findings."""
    families = make_class_families(result, entry)
    effects = sorted((effect for family in families for effect in family.effects), key=rank)
    return Table(
        "class_gaps",
        "Predictions against the mean of countries, per cent",
        "",
        effects[:MOST_CLASSES],
        [
            Column("country", "place", is_text=True),
            Column("class", "label", is_text=True),
            *_effect_columns("gap", 1, families[0]),
        ],
        model=entry.model,
        most={TERMINAL: MOST_CLASSES},
        on={TERMINAL},
    )


def list_classifiers(result: NamesResult) -> Table:
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


def list_farthest(result: NamesResult) -> Table:
    """Of a model card: delta of the classifiers that have one, of the others every class."""
    has_delta = {entry.model: entry.has_delta for entry in result.classifiers}

    def count(row: FarthestCountry) -> str:
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


def list_genders(result: NamesResult, entry: ClassifierReading) -> Table | None:
    """Women's and men's names, and their difference, the largest first; None where it is not tested."""
    rows = [row for row in result.gender_gaps if (row.model, row.subset) == (entry.model, None)]
    table = Table(
        "genders",
        f"{entry.short_name}: women's and men's names",
        "Δ against the mean of countries, in points, and the difference with its 95 % interval; p-values are adjusted "
        "for all countries, together with those of Δ.",
        rows,
        [
            Column("country", "place", is_text=True),
            Column("women's\nnames", "women", "+.2f"),
            Column("men's\nnames", "men", "+.2f"),
            *_difference_columns("difference", Valence(0, "women's higher", "women's lower")),
        ],
        model=entry.model,
        most=MOST,
        on=TABLES,
    )
    return table if rows else None


def _difference_columns(heading: str, valence: Valence) -> list[Column]:
    def judge(row: GenderGap | ScriptGap) -> str:
        words = EVIDENCE_LABELS[grade_evidence(row.difference.p_adjusted)]
        is_found = words in DIFFERENCES
        return f"{words}: {valence.above if (row.difference.value or 0) > 0 else valence.below}" if is_found else words

    return [
        Column(heading, lambda row: _mark(row.difference, 2)),
        Column("95 %", lambda row: say_bounds(row.difference.low, row.difference.high, 2)),
        Column("adj. p", lambda row: say_p(row.difference.p_adjusted), keep=2),
        Column("evidence", judge, on={PAGE}),
    ]


def list_scripts(result: NamesResult, entry: ClassifierReading) -> Table | None:
    """Countries with names in two scripts; None without such countries."""
    latin = {row.code: row.against_mean.value for row in result.list_deltas(entry.model)}
    rows = [row for row in result.scripts if row.model == entry.model]
    table = Table(
        "scripts",
        f"{entry.short_name}: names in two scripts",
        "Δ against the mean of countries (of names in Latin script), in points; interval and adjusted p-value are of "
        "the difference.",
        rows,
        [
            Column("country", "place", is_text=True),
            Column("Latin\nscript", lambda row: latin[row.code], "+.2f"),
            Column("own\nscript", "own_script.value", "+.2f"),
            *_difference_columns("own - Latin", Valence(0, "own script higher", "own script lower")),
        ],
        model=entry.model,
        on=TABLES,
    )
    return table if rows else None


def list_large_names(result: NamesResult, entry: ClassifierReading) -> Table | None:
    """The names that move delta most; None where no name does."""
    rows = [row for row in result.large_names if row.model == entry.model]
    more = f" The first {MOST_NAMES}; all are in tables/names.csv." if len(rows) > MOST_NAMES else ""
    table = Table(
        "single",
        f"{entry.short_name}: {len(rows):,} of {entry.names_shown or 0:,} names move the score by more than "
        f"{LARGE:.0f} points",
        f"Against other names of the same country and gender in the same text; adjusted for all names.{more}",
        rows[:MOST_NAMES],
        [
            Column("name", "name", is_text=True),
            Column("kind", "kind", is_text=True),
            Column("countries", lambda row: ", ".join(row.countries), is_text=True),
            Column("effect,\npoints", "value", "+.1f"),
            Column("95 %", lambda row: interval(row, 1)),
            Column("texts", "texts", ",", is_count=True),
        ],
        model=entry.model,
        on=TABLES,
    )
    return table if rows else None


def list_correlations(result: NamesResult, entry: ClassifierReading) -> Table | None:
    """The paper's Tables 2 to 5 over all countries: correlations of classes with log-perplexity."""
    counts = result.perplexity
    rows = [row for row in result.correlations if (row.model, row.place) == (entry.model, None)]
    if counts is None or not rows:
        return None
    return Table(
        "correlations",
        f"{entry.short_name}: correlation x 100 with log-perplexity by {counts.lm}, {counts.draws} draws of "
        f"{counts.texts} texts",
        "",
        [row for row in rows if row.over == "originals" or counts.draws >= FEWEST_DRAWS],
        [
            Column("class", "label", is_text=True),
            Column("over", lambda row: OVER.get(row.over) or f"original texts {row.language}".rstrip(), is_text=True),
            Column("correlation", lambda row: _mark(row.correlation, 1, 100)),
            Column("95 %", lambda row: say_bounds(row.correlation.low, row.correlation.high, 1, 100)),
        ],
        model=entry.model,
        most={FULL: 60},
        on={FULL},
        too_few=counts.texts < FEWEST_TEXTS_SHOWN,
    )
