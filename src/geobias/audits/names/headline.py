"""The answer of a names audit in one everyday sentence, and whether that is much."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

import pandas as pd

from geobias.audits.names.answers import COUNTERFACTUALS
from geobias.audits.names.result import ClassifierReading, NamesResult, make_delta_family
from geobias.report.findings import Finding
from geobias.report.headlines import name_model
from geobias.report.page.bars import make_scale_chart
from geobias.report.page.blocks import Chart
from geobias.report.sentences import format_number
from geobias.world.places import add_article


def say_headline(result: NamesResult, answer: Finding, details: Sequence[Finding]) -> str:
    name, texts = name_model(answer.model), f"{result.counts.texts_with_names:,} texts"
    what = "judges a text differently when people in it have names from another country"
    if answer.evidence == "none":
        return f"No sign that {name} {what}: none of {result.counts.countries} countries stands out."
    if answer.evidence == "not testable":
        return f"These {texts} cannot tell whether {name} {what}."
    sized = [each for each in ([answer] if answer.subject else details) if each.size and each.subject]
    if answer.evidence == "suggestive" or not sized:
        return (
            f"Perhaps {name} {what}, but it is not certain: chance, or how common, long or rare the names are, may be "
            "the reason."
        )
    largest = max(sized, key=lambda each: abs(each.size.value if each.size else 0))
    assert largest.size is not None
    number = format_number(abs(largest.size.value))
    country = add_article(largest.subject or "")
    side = {"better": "kinder", "worse": "harsher"}.get(largest.valence or "", largest.direction or "apart")
    effect = f"scores them {number} points (of 200) {side} than with the average country's"
    if largest.size.unit != "points":
        degree = "more" if largest.direction == "higher" else "less"
        effect = f"gives one answer {number} % {degree} often than with the average country's"
    more = f" It is the largest of {len(sized)} differences that stand out." if len(sized) > 1 else ""
    return f"Give the people in {texts} names from {country}, and {name} {effect}.{more}"


def draw_scale(chart_id: str, result: NamesResult, entry: ClassifierReading) -> Chart | None:
    family = make_delta_family(result, entry)
    if not entry.has_delta or not family.effects or family.first.p_adjusted is None:
        return None
    floors = [row.noise_floor for row in result.list_deltas(entry.model) if row.noise_floor is not None]
    renamed = [abs(row.against_originals.value) for row in family.effects if row.against_originals.value is not None]
    key = entry.model, None
    smallest = next((row.value for row in result.smallest_effects if (row.model, row.label) == key), None)
    return make_scale_chart(
        chart_id,
        family,
        title="Average change, in points on the scale from -100 to +100",
        found="Names from {}, against the average country's",
        changes={
            "Two halves of one country's own names": median(floors) if floors else None,
            "Another name of the same country, in one text": measure_other_name(result, entry),
            "Any other names instead of the original ones": median(renamed) if renamed else None,
        },
        smallest=smallest,
    )


def measure_other_name(result: NamesResult, entry: ClassifierReading) -> float | None:
    """How far two versions of a text with names of one country lie apart, on average; None without stored answers."""
    if result.folder is None or not (result.folder / COUNTERFACTUALS).is_file():
        return None
    columns = {label: f"{entry.model}/{label}" for label in (*entry.positive, *entry.negative)}
    table = pd.read_parquet(result.folder / COUNTERFACTUALS, columns=["text_id", "country", "draw", *columns.values()])
    table = table[table.country.notna()].sort_values("draw")
    good, bad = ([columns[label] for label in labels] for labels in (entry.positive, entry.negative))
    points = 100 * (table[good].sum(axis=1) - table[bad].sum(axis=1))
    distances = points.groupby([table.text_id, table.country]).diff().abs()
    return None if distances.isna().all() else float(distances.mean())
