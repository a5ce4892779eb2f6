"""Charts of a names audit that no other audit has: classes by country, names alike, and perplexity."""

from __future__ import annotations

from collections.abc import Sequence

from geobias.audits.names.cautions import describe_held_fixed
from geobias.audits.names.result import KINDNESS, TONE_OF_EMOTIONS, ClassifierReading, NamesResult, find_tone
from geobias.audits.names.rows import ClassEffect
from geobias.measures.estimates import FEWEST_TEXTS_SHOWN, Estimate
from geobias.report.page.blocks import Chart, Row
from geobias.report.page.charts import dots, heat
from geobias.report.page.country_blocks import Difference, title_differences
from geobias.report.tables import TOO_FEW, is_marked, listed, signed

NEVER = "never predicted"
AS_MEASURED, HELD_FIXED = "as measured", "names alike"
WITHIN = "within a text"
OVER = {
    "within": WITHIN,
    "pooled": "all versions, against their originals",
    "pooled, length fixed": "the same, length held fixed",
}


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
    clear = [
        Difference("names common in", countries, f"get {more} predictions of {label}")
        for label in entry.labels
        for sign, more in ((1, "more"), (-1, "fewer"))
        if (countries := [row["country"] for row in rows if _is_clear(row, label, sign)])
    ]
    if len(clear) > 2:
        marked_labels = {row["class"] for row in rows if row["marked"]}
        classes = [label for label in entry.labels if label in marked_labels]
        return f"{entry.short_name}: predictions of {listed(classes)} differ by country"
    nothing = "no clear difference in how often a class is predicted"
    return title_differences(result.find_model(entry), [each.against_mean for each in effects], clear, nothing)


def _is_clear(row: Row, label: str, sign: int) -> bool:
    return bool(row["class"] == label and row["marked"] and row["value"] * sign > 0)


def draw_alike_chart(chart_id: str, result: NamesResult, entry: ClassifierReading) -> Chart | None:
    """Delta of every country as measured and between names alike; None where nothing was held fixed."""
    countries = [row for row in result.names_alike if (row.model, row.label) == (entry.model, None)]
    if not countries:
        return None
    ranked = sorted(countries, key=lambda country: -(country.unadjusted.value or 0))
    pairs = [
        (country.place, kind, estimate)
        for country in ranked
        for kind, estimate in ((AS_MEASURED, country.unadjusted), (HELD_FIXED, country.adjusted))
    ]
    rows: list[Row] = [
        {"country": place, "delta": kind, **vars(estimate), "marked": is_marked(estimate)}
        for place, kind, estimate in pairs
    ]
    counts = {kind: sum(row["marked"] for row in rows if row["delta"] == kind) for kind in (AS_MEASURED, HELD_FIXED)}
    held_fixed = describe_held_fixed(result, entry.model, None)
    return Chart(
        chart_id,
        f"{entry.short_name}: {_title_alike([country.unadjusted for country in ranked], *counts.values())}",
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


def _title_alike(estimates: Sequence[Estimate], before: int, after: int) -> str:
    """How many countries stand out before and after: counts, since not to be clear is no proof of no difference."""
    if all(estimate.p_adjusted is None for estimate in estimates):
        return "country, or length, spelling and frequency of names? Too little data to tell"
    if not before and not after:
        return "no country stands out, whether or not length, spelling and frequency of names are held fixed"
    return (
        f"{before} of {len(estimates)} countries stand out as measured, {after} with length, spelling and frequency of "
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
