"""Charts of a names audit, and the tables that only some runs have: genders, single names and perplexity."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from geobias.audits.names.names_alike import describe_held_fixed
from geobias.audits.names.result import (
    KINDNESS,
    TONE_OF_EMOTIONS,
    ClassifierReading,
    NamesResult,
    find_tone,
    make_delta_family,
)
from geobias.audits.names.rows import ClassEffect, GenderGap
from geobias.measures.correlation import FEWEST_DRAWS
from geobias.measures.estimates import FEWEST_TEXTS_SHOWN, Estimate
from geobias.measures.single_names import LARGE
from geobias.report.declarations import FULL, PAGE, TABLES, Column, Table, say_bounds, say_p
from geobias.report.findings import DIFFERENCES, EVIDENCE_LABELS, grade_evidence
from geobias.report.page.blocks import Chart, Row
from geobias.report.page.charts import dots, heat
from geobias.report.page.effect_blocks import Difference, make_effect_chart, title_differences
from geobias.report.tables import NOTHING, TOO_FEW, interval, is_marked, listed, signed

NEVER = "never predicted"
AS_MEASURED, HELD_FIXED = "as measured", "names alike"
WITHIN = "within a text"
OVER = {
    "within": WITHIN,
    "pooled": "all versions, against their originals",
    "pooled, length fixed": "the same, length held fixed",
}
MOST_SINGLE_NAMES: Final = 30


def draw_heat_map(chart_id: str, result: NamesResult, entry: ClassifierReading) -> Chart | None:
    """Countries by classes: per cent more or fewer predictions than in the mean of countries; only where tested."""
    effects = result.list_classes(entry.model)
    if all(effect.p_adjusted is None for effect in effects):
        return None
    order = {row.code: -row.value for row in result.list_deltas(entry.model)}
    effects.sort(key=lambda effect: order[effect.code])
    tones = {label: find_tone(entry, label) for label in entry.labels}
    predicted = {effect.label for effect in effects if effect.before or effect.after}
    rows = [describe_cell(effect, NEVER if effect.label not in predicted else TOO_FEW) for effect in effects]
    marked_rows = [row for row in rows if row["marked"]]
    few = sum(row["text"] == TOO_FEW for row in rows)
    examples = ", ".join(f"{row['country']} {row['class']} {row['text']}" for row in marked_rows[:8])
    grey = " Grey: a class that is neither good nor bad." if 0 in tones.values() else ""
    too_few = f" “{TOO_FEW}”: fewer than five texts changed, so there is no number." if few else ""
    return Chart(
        chart_id,
        _title_cells(result, entry, effects, rows),
        "Predictions of a class, in per cent more or fewer than in the mean of countries (not in points); full colour "
        f"and *: clear (adjusted p < 0.05).{grey}{too_few}",
        f"{len(marked_rows)} of {len(rows)} cells are clear"
        + (f": {examples}." if marked_rows else ".")
        + (f" {few} cells rest on too few texts." if few else ""),
        heat(
            rows,
            across="class",
            down="country",
            columns=tones,
            order=list(dict.fromkeys(row["country"] for row in rows)),
        ),
        rows,
    )


def describe_cell(effect: ClassEffect, missing: str) -> Row:
    estimate = effect.against_mean
    is_clear = estimate.value is not None and effect.is_clear_as_measured and effect.mirrors is None
    return {
        "country": effect.place,
        "class": effect.label,
        "value": estimate.value,
        "low": estimate.low,
        "high": estimate.high,
        "p_adjusted": estimate.p_adjusted,
        "marked": is_clear,
        "before": effect.before,
        "after": effect.after,
        "text": missing if estimate.value is None else f"{signed(estimate.value, 1)}{'*' if is_clear else ''}",
    }


def _title_cells(
    result: NamesResult, entry: ClassifierReading, effects: Sequence[ClassEffect], rows: Sequence[Row]
) -> str:
    """The classes that some countries' names get more or fewer predictions of."""
    marked_rows = [row for row in rows if row["marked"]]
    clear = [
        Difference("names common in", countries, f"get {more} predictions of {label}")
        for label in entry.labels
        for sign, more in ((1, "more"), (-1, "fewer"))
        if (countries := [row["country"] for row in marked_rows if row["class"] == label and row["value"] * sign > 0])
    ]
    if len(clear) > 2:
        classes = [label for label in entry.labels if any(row["class"] == label for row in marked_rows)]
        return f"{entry.short_name}: predictions of {listed(classes)} differ by country"
    nothing = "no clear difference in how often a class is predicted"
    return title_differences(result.find_model(entry), [each.against_mean for each in effects], clear, nothing)


def draw_alike_chart(chart_id: str, result: NamesResult, entry: ClassifierReading) -> Chart | None:
    """Delta of every country as measured and between names alike; None where nothing was held fixed."""
    countries = [row for row in result.names_alike if (row.model, row.label) == (entry.model, None)]
    if not countries:
        return None
    ranked = sorted(countries, key=lambda country: -(country.unadjusted.value or 0))
    rows: list[Row] = [
        {"country": country.place, "delta": kind, **vars(estimate), "marked": is_marked(estimate)}
        for country in ranked
        for kind, estimate in ((AS_MEASURED, country.unadjusted), (HELD_FIXED, country.adjusted))
    ]
    counts = {kind: sum(row["marked"] for row in rows if row["delta"] == kind) for kind in (AS_MEASURED, HELD_FIXED)}
    held_fixed = describe_held_fixed(result, entry.model, None)
    return Chart(
        chart_id,
        f"{entry.short_name}: {_title_alike(rows, *counts.values())}",
        f"Circle: Δ against the mean of countries, in points (-100 to +100); square: what remains between names of "
        f"equal length, spelling and frequency ({held_fixed}); line: 95 % interval; clear: adjusted p < 0.05. How rare "
        "a name is in a model's training data may itself follow from where its texts come from.",
        f"Clear as measured (adjusted p < 0.05): {counts[AS_MEASURED]} of {len(ranked)} countries; with length, "
        f"spelling and frequency held fixed: {counts[HELD_FIXED]}. "
        + "; ".join(
            f"{country.place} {signed(country.unadjusted.value, 1)}, then {signed(country.adjusted.value, 1)} points"
            for country in (ranked[0], ranked[-1])
        )
        + ".",
        dots(
            rows,
            label="country",
            title="Δ against the mean of countries, points",
            order=[country.place for country in ranked],
            shape="delta",
            valence=TONE_OF_EMOTIONS if entry.has_emotions else KINDNESS,
        ),
        rows,
    )


def _title_alike(rows: Sequence[Row], before: int, after: int) -> str:
    """How many countries stand out before and after: counts, since not to be clear is no proof of no difference."""
    if all(row["p_adjusted"] is None for row in rows if row["delta"] == AS_MEASURED):
        return "country, or length, spelling and frequency of names? Too little data to tell"
    if not before and not after:
        return "no country stands out, whether or not length, spelling and frequency of names are held fixed"
    return (
        f"{before} of {len(rows) // 2} countries stand out as measured, {after} with length, spelling and frequency of "
        "names held fixed"
    )


def draw_correlation_chart(chart_id: str, result: NamesResult, entry: ClassifierReading) -> Chart | None:
    counts = result.perplexity
    if counts is None or counts.texts < FEWEST_TEXTS_SHOWN:
        return None
    rows: list[Row] = [
        {
            "class": row.label,
            "over": OVER.get(row.over) or f"original texts ({row.language})".removesuffix(" ()"),
            **vars(row.correlation),
            "marked": is_marked(row.correlation),
        }
        for row in sorted(result.correlations, key=lambda row: row.over == "originals")
        if (row.model, row.place) == (entry.model, None) and row.correlation.value is not None
        if row.texts is None or row.texts >= FEWEST_TEXTS_SHOWN
    ]
    if not rows:
        return None
    return Chart(
        chart_id,
        _title_correlations(entry, rows),
        f"Dot: correlation of p(class) with the log-perplexity of {counts.lm}, which is high for unusual texts; line: "
        "95 % interval over texts; filled: clear (adjusted p < 0.05). Right of 0: the more unusual, the likelier the "
        "class.",
        "; ".join(f"{row['class']}, {row['over']}: {signed(row['value'], 2)}" for row in rows[:6]) + ".",
        dots(rows, label="class", title="Pearson's correlation", order=entry.labels, colour="over"),
        rows,
    )


def _title_correlations(entry: ClassifierReading, rows: Sequence[Row]) -> str:
    """What correlates with unusual names within a text, where all else is the same."""
    within = [row for row in rows if row["over"] == WITHIN]
    if not within:
        return f"{entry.short_name}: correlation with perplexity"
    signs = {row["class"]: "more" if row["value"] > 0 else "less" for row in within if row["marked"]}
    if not signs:
        return f"{entry.short_name}: no class is clearly correlated with unusual names"
    classes = listed([f"{more} {label}" for label, more in signs.items()])
    return f"{entry.short_name}: unusual names correlate with {classes}"


def draw_deltas(chart_id: str, result: NamesResult, entry: ClassifierReading) -> Chart | None:
    family = make_delta_family(result, entry)
    if not entry.has_delta or not family.effects:  # untested numbers are in the table
        return None
    resampled = "texts" if result.settings.names_are == "fixed" else "texts and names"
    is_judgement = not entry.has_emotions
    return make_effect_chart(
        chart_id,
        family,
        words=(
            "names common in",
            "score higher (kinder)" if is_judgement else "have a higher Δ",
            "score lower (harsher)" if is_judgement else "have a lower Δ",
        ),
        nothing="no country's names stand out, as measured and between names alike",
        reading="Dot: Δ against the mean of countries, in points (-100 to +100); line: 95 % interval over "
        f"{resampled}; grey bar: split-half noise floor, what halves of one country's own names differ by. Clear: "
        "adjusted p < 0.05.",
        axis="Δ against the mean of countries, points",
        unit="points",
        findings=result.findings,
        more={"floor": "noise_floor", "against_originals": "against_originals.value"},
        places=1,
        floor=True,
    )


def mark(estimate: Estimate, places: int, times: int = 1) -> str:
    if estimate.value is None:
        return NOTHING
    return signed(times * estimate.value, places) + ("*" if is_marked(estimate) else " ")


def list_genders(result: NamesResult, entry: ClassifierReading) -> Table:
    """Women's and men's names, and their difference, the largest first."""

    def judge(row: GenderGap) -> str:
        words = EVIDENCE_LABELS[grade_evidence(row.difference.p_adjusted)]
        side = "higher" if (row.difference.value or 0) > 0 else "lower"
        return f"{words}: women's {side}" if words in DIFFERENCES else words

    return Table(
        "genders",
        f"{entry.short_name}: women's and men's names",
        "Δ against the mean of countries, in points, and the difference with its 95 % interval; p-values are adjusted "
        "for all countries, together with those of Δ.",
        [row for row in result.gender_gaps if (row.model, row.subset) == (entry.model, None)],
        [
            Column("country", "place", is_text=True),
            Column("women's\nnames", "women", "+.2f"),
            Column("men's\nnames", "men", "+.2f"),
            Column("difference", lambda row: mark(row.difference, 2)),
            Column("95 %", lambda row: say_bounds(row.difference.low, row.difference.high, 2)),
            Column("adj. p", lambda row: say_p(row.difference.p_adjusted), keep=2),
            Column("evidence", judge, on={PAGE}),
        ],
        model=entry.model,
        most={FULL: 24},
        on=TABLES,
    )


def draw_genders(chart_id: str, result: NamesResult, entry: ClassifierReading) -> Chart | None:
    """Women's against men's names of each country, where that stands out in one at least."""
    rows = [row for row in result.gender_gaps if (row.model, row.subset) == (entry.model, None)]
    clear = [row for row in rows if row.stands_out]
    if not clear:
        return None
    several = [
        {"place": row.place, **vars(row.difference), "marked": row in clear}
        for row in sorted(rows, key=lambda row: -(row.difference.value or 0))
    ]
    sides = {"kinder": [row for row in clear if (row.difference.value or 0) > 0]}
    sides["harsher"] = [row for row in clear if row not in sides["kinder"]]
    words = sides if not entry.has_emotions else {"higher": sides["kinder"], "lower": sides["harsher"]}
    said = [f"{word} for {listed([row.place for row in rows])}" for word, rows in words.items() if rows]
    return Chart(
        chart_id,
        f"{entry.short_name}: women's names against men's are {'; '.join(said)}",
        "Dot: Δ of women's names minus that of men's, each against the mean of countries, in points; line: 95 % "
        "interval. Filled: distinguishable (adjusted p < 0.05, together with those of Δ). Hollow: not.",
        f"{len(clear)} of {len(rows)} countries differ.",
        dots(
            several,
            label="place",
            title="women's minus men's names, points",
            order=[row["place"] for row in several],
            valence=TONE_OF_EMOTIONS if entry.has_emotions else KINDNESS,
        ),
        several,
    )


def list_large_names(result: NamesResult, entry: ClassifierReading) -> Table:
    """The names that move delta most."""
    rows = [row for row in result.large_names if row.model == entry.model]
    more = f" The first {MOST_SINGLE_NAMES}; all are in tables/names.csv." if len(rows) > MOST_SINGLE_NAMES else ""
    return Table(
        "single",
        f"{entry.short_name}: {len(rows):,} of {entry.names_shown or 0:,} names move the score by more than "
        f"{LARGE:.0f} points",
        f"Against other names of the same country and gender in the same text; adjusted for all names.{more}",
        rows[:MOST_SINGLE_NAMES],
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
            Column("correlation", lambda row: mark(row.correlation, 1, 100)),
            Column("95 %", lambda row: say_bounds(row.correlation.low, row.correlation.high, 1, 100)),
        ],
        model=entry.model,
        most={FULL: 60},
        on={FULL},
        too_few=counts.texts < FEWEST_TEXTS_SHOWN,
    )
