"""What people and programs read of a mitigation besides its findings: tables, charts, notes and gate numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import inf
from typing import Any

from geobias.audits.inputs import list_copies
from geobias.audits.mitigate.result import CountryChange, MethodMeasures, MitigateResult
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
    get_value,
    say_left_out,
    show_interval,
)
from geobias.report.findings import Finding
from geobias.report.gate_numbers import (
    ANY_NUMBER,
    HERB_SCORE,
    NOT_NEGATIVE,
    PER_CENT,
    SHARE,
    WORST,
    GateNumber,
    Range,
    tree_number,
)
from geobias.report.headlines import name_model
from geobias.report.page.blocks import CardText, Chart
from geobias.report.page.charts import NEUTRAL, dots
from geobias.report.page.scatter import Scatter
from geobias.report.sentences import format_number
from geobias.report.tables import is_marked

SUMMARY_ROWS = 8  # on the terminal: the original model and seven methods
ALL_ROWS = 300  # countries with --full
DOMINATED = "dominated"
QUESTION_IN_SHORT = "Does the method make differences between countries smaller, and what does it cost?"
PERCENTAGE_POINTS = Range(-100, 100)
MEANING = (
    "Spread: standard deviation between countries of the mean of 100 (p_pos - p_neg), without the noise of texts. "
    "Ratio: the spread after divided by that before; standardised, in units of the standard deviation over texts, "
    "which does not change where probabilities only shrink towards each other. Flips: per cent of renamed texts whose "
    "label is not the one that most versions of the text have. It describes models, not people."
)
LANGUAGE_READING = "Balanced C_w of the Earth on held-out words and regions; in brackets 95 % intervals and changes."
NUMBERS = {  # of the gate: what is below mitigate.METHOD, the field of its row, and which values it can have
    ("spread", "value"): ("spread", NOT_NEGATIVE),
    ("spread", "ratio"): ("spread_ratio", NOT_NEGATIVE),
    ("spread", "standardised"): ("standardised_ratio", NOT_NEGATIVE),
    ("spread", "change"): ("spread_change", ANY_NUMBER),
    ("flips", "value"): ("flips", PER_CENT),
    ("flips", "change"): ("flips_change", PERCENTAGE_POINTS),
    ("accuracy", "value"): ("accuracy", PER_CENT),
    ("accuracy", "change"): ("accuracy_change", PERCENTAGE_POINTS),
    ("macro_f1", "value"): ("macro_f1", PER_CENT),
    ("macro_f1", "change"): ("macro_f1_change", PERCENTAGE_POINTS),
    ("score", "change"): ("score_change", Range(-HERB_SCORE.highest, HERB_SCORE.highest)),
    ("perplexity", "change"): ("perplexity_change", Range(-100, inf)),
    ("capitals", "change"): ("capitals_change", PERCENTAGE_POINTS),
    ("words", "ratio"): ("word_variance_ratio", NOT_NEGATIVE),
}
BIAS = {"spread": "spread between countries, points", "score": "balanced C_w"}
# Of a trade-off: its numbers (the first is bias) with their fields, its title, the number of quality or cost, the title
# of its axis, and whether more of it is better (1) or worse (-1).
MEASURED = {"spread": "spread.value", "accuracy": "accuracy.value", "cost": "texts_per_text"}
COST = MEASURED, "Bias against cost", "cost", "texts that the model reads per text", -1
ACCURACY = MEASURED, "Bias against quality", "accuracy", "accuracy, %", 1
PERPLEXITY = (
    {"score": "score.value", "perplexity": "perplexity"},
    "Bias against quality",
    "perplexity",
    "perplexity of plain texts",
    -1,
)
OTHER_NAMES = {"macro_f1": ("macro_f1", "f1")}


def make_report(result: MitigateResult) -> Report:
    counts, is_language = result.counts, result.is_of_language_model
    rows = f"{counts.texts_with_names:,} texts with held-out names of {counts.countries} countries"
    if is_language:
        rows = f"{counts.held_out_words} held-out words for {counts.countries} held-out countries"
    recommendation = f"Take {result.recommended}." if result.recommended else "No method is worth taking."
    held_out = "words, regions and templates" if is_language else "names"
    return Report(
        description=f"{result.models[0].name} before and after {', '.join(result.settings.methods)}: {rows}.",
        title="Mitigation: before and after",
        lead=f"{recommendation} Every number is of {held_out} that no method has used.",
        blocks=[_list_language_models(result), _draw_trade_off(result)] if is_language else _list_blocks(result),
        summary="methods",
        model_noun="Method",
        notes=list(_list_notes(result)),
        full_notes=["The models are in models/."],
        meaning="" if is_language else MEANING,
        cards={"": CardText(QUESTION_IN_SHORT, ["countries", "pareto"])},
    )


def _list_blocks(result: MitigateResult) -> list[ReportBlock]:
    blocks: list[ReportBlock] = [_list_methods(result), _draw_trade_off(result)]
    blocks.append(ByModel({row.method: _draw_countries(n, result, row) for n, row in enumerate(result.mitigated)}))
    countries = [_list_countries(row, result.list_countries(row.method)) for row in result.mitigated]
    return [*blocks, _list_changes(result), *countries]


def _list_methods(result: MitigateResult) -> Table:
    """The original model and every method: bias, quality and cost."""

    return Table(
        "methods",
        "Before and after, on held-out names",
        f"In brackets 95 % intervals. {MEANING}",
        result.methods,
        [
            Column("model", lambda row: result.models[0].name, on={CARD}, is_text=True),
            Column("method", "method", is_text=True),
            Column("spread", "spread.value", ".2f"),
            Column("noise floor", "noise", ".2f", on={PAGE}),
            Column("ratio (95 % interval)", "spread_ratio", ".2f"),
            Column("standardised ratio", "standardised_ratio", ".2f", on={PAGE}),
            Column("flips, %", "flips.value", ".1f"),
            Column("accuracy, %", "accuracy.value", ".1f"),
            Column("change", "accuracy_change", "+.1f", on={PAGE, CARD}),
            Column("texts read per text", "texts_per_text", ".1f", on={*ALL_TABLES}, keep=2),
            Column("names found, %", "recall.value", ".0f", on={PAGE}, times=100),
        ],
        on=EVERYWHERE,
        most={TERMINAL: SUMMARY_ROWS},
    )


def _list_changes(result: MitigateResult) -> Table:
    return Table(
        "changes",
        "After minus before; in brackets 95 % intervals; * adjusted p < 0.05",
        "",
        result.mitigated,
        [
            Column("method", "method", is_text=True),
            Column("spread,\npoints", "spread_change", "+.2f"),
            Column("standardised\nspread, ratio", "standardised_ratio", ".2f", keep=3),
            Column("flips,\npercentage points", "flips_change", "+.1f"),
            Column("accuracy,\npercentage points", "accuracy_change", "+.1f", keep=2),
            Column("macro-F1,\npercentage points", "macro_f1_change", "+.1f", keep=3),
        ],
        on={FULL},
    )


def _list_countries(row: MethodMeasures, countries: Sequence[CountryChange]) -> Table:
    found = Column("names found, %", "recall.value", ".0f", times=100)
    return Table(
        "countries",
        f"{row.method}: Δ against the mean of countries, points; * its change stands out",
        "",
        sorted(countries, key=lambda country: country.before.value or 0),
        [
            Column("country", "title", is_text=True),
            Column("before", "before.value", "+.2f"),
            Column("after", "after.value", "+.2f"),
            *estimate_columns("change", 2, NEUTRAL),
            *([] if row.recall is None else [found]),
        ],
        on={FULL},
        most={FULL: ALL_ROWS},
    )


def _draw_countries(n: int, result: MitigateResult, row: MethodMeasures) -> Chart:
    """Every country before and after."""
    ordered = sorted(result.list_countries(row.method), key=lambda country: country.before.value or 0)
    points = [
        {"country": country.place, "when": when, **vars(estimate), "marked": is_marked(estimate)}
        for country in ordered
        for when, estimate in (("before", country.before), ("after", country.after))
    ]
    spec = dots(
        points,
        label="country",
        title="Δ against the mean of countries, points",
        order=[each.place for each in ordered],
        colour="when",
    )
    before, after = (show_interval(each.largest_gap, ".1f") for each in (result.original, row))
    return Chart(
        f"countries-{n}",
        f"{row.method}: the largest gap goes from {before} to {after} points",
        "Dot: Δ of a country's names minus the mean of countries; line: 95 % interval; filled: adjusted p < 0.05.",
        "; ".join(f"{each['country']} {each['when']}: {each['value'] or 0:+.1f}" for each in points[:12]) + ".",
        spec,
        points,
    )


def _draw_trade_off(result: MitigateResult) -> Chart:
    """Bias against quality; without labels, against the cost. Filled: no other method is better in both (Pareto)."""
    rows: Sequence[Any] = result.language_models or result.methods
    kind = PERPLEXITY if result.is_of_language_model else ACCURACY if result.original.accuracy else COST
    values, title, x, x_title, sign = kind
    y = next(iter(values))
    points: list[dict[str, Any]] = [
        {"method": row.method} | {name: get_value(row, path) for name, path in values.items()} for row in rows
    ]
    for point in points:
        is_better = [
            other[y] <= point[y] and sign * other[x] >= sign * point[x] and (other[y], other[x]) != (point[y], point[x])
            for other in points
        ]
        point["frontier"] = DOMINATED if any(is_better) else "on the frontier"
    return Chart(
        "pareto",
        title,
        f"Lower and further {'right' if sign > 0 else 'left'} is better. Filled: no other method is better in both.",
        "; ".join(f"{point['method']}: {y} {point[y]:.3g}, {x_title} {point[x]:.1f}" for point in points) + ".",
        Scatter(points, "method", x, y, (x_title, BIAS[y]), lambda row: row["frontier"] != DOMINATED),
        points,
    )


def _list_language_models(result: MitigateResult) -> Table:
    return Table(
        "methods",
        "Before and after, on held-out words and regions",
        LANGUAGE_READING,
        result.language_models,
        [
            Column("model", lambda row: result.models[0].name, on={CARD}, is_text=True),
            Column("method", "method", is_text=True),
            Column("balanced\nscore", "score.value", ".4f"),
            Column("change (95 % interval)", "score_change", "+.4f"),
            Column("perplexity", "perplexity", ".2f"),
            Column("change, %", "perplexity_change.value", "+.1f", on={*TABLES, CARD}, keep=2),
            Column("capitals\nknown, %", "capitals", ".1f"),
            Column("change, percentage\npoints", "capitals_change.value", "+.1f", on={*TABLES, CARD}, keep=2),
            Column("variance over\nwords, ratio", "word_variance_ratio.value", ".2f"),
        ],
        on=EVERYWHERE,
        most={TERMINAL: SUMMARY_ROWS},
    )


def _list_notes(result: MitigateResult) -> Iterator[str]:
    """What was held out, trained on, left out or cannot be read."""
    counts = result.counts
    if result.is_of_language_model:
        yield (
            f"{counts.held_out_words} words, {counts.countries} countries and a template were held out for the audit. "
            f"{counts.training_texts:,} plain texts were replayed in training; the perplexity is of {counts.texts:,} "
            "others."
        )
        return
    yield f"{counts.held_out_names:,} names were held out for the test; no method used them."
    if result.settings.finder == "embedded/entities" and any(row.recall for row in result.mitigated):
        yield "The bundled finder was not trained with them either."
    if counts.training_texts:
        yield f"Methods were trained on {counts.training_texts:,} other texts."
    if counts.rows_without_text:
        yield f"Rows without a text in the files, left out: {counts.rows_without_text:,}."
    yield from list_copies(counts.copies)
    yield from say_left_out("Countries with too few held-out names", counts.countries_left_out)
    yield from (f"{result.models[0].name}: {note}" for note in result.notes)


def list_gate_numbers(result: MitigateResult) -> Iterator[GateNumber]:
    """mitigate.METHOD.spread.ratio, .flips.change, ..., .recall.worst; mitigate.original has the values before.

    For language models: mitigate.METHOD.score.change, .perplexity.change, .capitals.change, .words.ratio.
    """
    rows: list[Any] = [*result.methods, *result.language_models[1:]]
    for row in rows:
        method = row.method, row.method.replace(":", "-")
        for (branch, leaf), (name, within) in NUMBERS.items():
            number = getattr(row, name, None)
            if number is not None and number.value is not None:
                path = method, OTHER_NAMES.get(branch, (branch,)), (leaf,)
                yield GateNumber(path, tree_number(number, within))
        recalls = [each.recall for each in result.list_countries(row.method) if each.recall is not None]
        if recalls:
            worst = min(recalls, key=lambda recall: recall.value or 0)
            yield GateNumber((method, ("recall",), (WORST,)), tree_number(worst, SHARE))


def say_headline(result: MitigateResult, answer: Finding, details: Sequence[Finding]) -> str:
    name, method = name_model(answer.model), answer.measure
    row = next((row for row in result.mitigated if row.method == method), None)
    if row is None or row.spread.value is None or result.original.spread.value is None:
        return ""
    what = f"differences between the names of countries in {name}"
    if answer.evidence == "not testable":
        return f"These texts cannot tell whether the method {method} makes {what} smaller."
    before, after = format_number(result.original.spread.value), format_number(row.spread.value)
    change, cost = f"from {before} to {after} points (standard deviation)", ""
    if row.accuracy is not None and row.accuracy.value is not None and result.original.accuracy is not None:
        cost = f" Accuracy goes from {result.original.accuracy.value:.1f} to {row.accuracy.value:.1f} %."
    if answer.evidence == "none":
        return f"No sign that the method {method} makes {what} smaller: they go {change}.{cost}"
    start = "The" if answer.evidence == "clear" else "Not certain: the"
    return f"{start} method {method} takes {what} {change}.{cost}"
