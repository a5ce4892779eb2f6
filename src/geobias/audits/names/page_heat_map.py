"""The heat map of a names audit: how often each class is predicted, by country."""

from __future__ import annotations

from collections.abc import Sequence

from geobias.audits.labels import is_emotion
from geobias.audits.names.result import ClassifierMeasures, CountryChange
from geobias.measures.estimates import find_standing_out
from geobias.report.page.blocks import Chart, Row
from geobias.report.page.charts import heat
from geobias.report.page.country_blocks import Difference, title_differences
from geobias.report.tables import TOO_FEW, listed, signed

NEVER = "never predicted"


def draw_heat_map(chart_id: str, countries: Sequence[CountryChange], entry: ClassifierMeasures) -> Chart | None:
    """Countries by classes: per cent more or fewer predictions than in the mean of countries; only where tested."""
    changes = {label: [each.inference.against_mean.change[label] for each in countries] for label in entry.labels}
    if all(change.p_adjusted is None for estimates in changes.values() for change in estimates):
        return None
    clear = {label: find_standing_out(estimates) for label, estimates in changes.items()}
    tones = {
        label: 0 if is_emotion(label) else (label in entry.positive) - (label in entry.negative)
        for label in entry.labels
    }
    rows = [
        describe_cell(countries, country, label, is_clear=clear[label][k])
        for k, country in enumerate(countries)
        for label in entry.labels
    ]
    marked_rows = [row for row in rows if row["marked"]]
    few = sum(row["text"] == TOO_FEW for row in rows)
    examples = ", ".join(f"{row['country']} {row['class']} {row['text']}" for row in marked_rows[:8])
    grey = " Grey: a class that is neither good nor bad." if 0 in tones.values() else ""
    return Chart(
        chart_id,
        _title_cells(entry, rows),
        "Predictions of a class, in per cent more or fewer than in the mean of countries (not in points); full colour "
        f"and *: clear (adjusted p < 0.05).{grey}{_describe_too_few(few)}",
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


def _describe_too_few(cells: int) -> str:
    """What the cells without a number mean."""
    return f" “{TOO_FEW}”: fewer than five texts changed, so there is no number." if cells else ""


def _title_cells(entry: ClassifierMeasures, rows: Sequence[Row]) -> str:
    """The classes that some countries' names get more or fewer predictions of."""
    estimates = [country.inference.against_mean.change[label] for country in entry.countries for label in entry.labels]
    differences = [
        Difference(
            "names common in",
            [row["country"] for row in rows if row["class"] == label and row["marked"] and row["value"] * sign > 0],
            f"get {more} predictions of {label}",
        )
        for label in entry.labels
        for sign, more in ((1, "more"), (-1, "fewer"))
    ]
    clear = [difference for difference in differences if difference.countries]
    if len(clear) > 2:
        classes = [label for label in entry.labels if any(row["marked"] for row in rows if row["class"] == label)]
        return f"{entry.model.short_name}: predictions of {listed(classes)} differ by country"
    nothing = "no clear difference in how often a class is predicted"
    return title_differences(entry.model, estimates, clear, nothing)


def describe_cell(countries: Sequence[CountryChange], country: CountryChange, label: str, *, is_clear: bool) -> Row:
    value, estimate = country.against_mean.change[label], country.inference.against_mean.change[label]
    is_clear = value is not None and is_clear
    if value is None:
        text = TOO_FEW if any(each.before[label] or each.after[label] for each in countries) else NEVER
    else:
        text = f"{signed(value, 1)}{'*' if is_clear else ''}"
    return {
        "country": country.country,
        "class": label,
        "value": value,
        "low": estimate.low,
        "high": estimate.high,
        "p_adjusted": estimate.p_adjusted,
        "marked": is_clear,
        "before": country.before[label],
        "after": country.after[label],
        "text": text,
    }
