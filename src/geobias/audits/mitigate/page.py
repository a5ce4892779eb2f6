"""Mitigation on the page: before and after side by side, and bias against quality."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import altair as alt

from geobias.audits.mitigate.gate_and_card import ORIGINAL
from geobias.audits.mitigate.result import LargestGap, MethodComparison, MitigateResult
from geobias.audits.mitigate.terminal import MEANING, list_notes
from geobias.report.page.blocks import Chart, Choice, Section, Table
from geobias.report.page.charts import bare_spec, dots
from geobias.report.results import Interval
from geobias.report.runs import FinishedRun
from geobias.report.tables import format_interval, format_places, interval, is_marked, signed

BEFORE, AFTER = "before", "after"
NEUTRAL: Any = {"expr": "neutral"}  # the theme's


def describe(result: MitigateResult) -> str:
    """What was scored, in a sentence."""
    counts = result.counts
    if result.language_model is not None:
        return (
            f"{result.models[0].name} before and after {', '.join(result.settings.methods)}: {counts.held_out_words} "
            f"held-out words for {counts.countries} held-out countries."
        )
    return (
        f"{result.models[0].name} before and after {', '.join(result.settings.methods)}: {counts.texts_with_names:,} "
        f"texts with held-out names of {counts.countries} countries."
    )


def section(run: FinishedRun[MitigateResult], name: str) -> Section:
    result = run.result
    return Section(
        id=name,
        title="Mitigation: before and after",
        lead=f"{_say_recommendation(result)} Every number is of {_say_held_out(result)} that no method has used.",
        blocks=[*_list_blocks(name, result)],
        notes=[*list_notes(result), *(() if result.before is None else (MEANING,))],
    )


def _say_recommendation(result: MitigateResult) -> str:
    return f"Take {result.recommended}." if result.recommended else "No method is worth taking."


def _say_held_out(result: MitigateResult) -> str:
    return "names" if result.language_model is None else "words, regions and templates"


def _list_blocks(name: str, result: MitigateResult) -> Iterator[Chart | Choice | Table]:
    if result.language_model is not None:
        yield _language_table(name, result)
        yield _language_chart(name, result)
        return
    yield _methods_table(name, result)
    yield _pareto_chart(name, result)
    charts = {entry.method: _countries_chart(name, result, entry) for entry in result.methods}
    if len(charts) == 1:
        yield from charts.values()
    else:
        yield Choice(f"{name}-countries", "method", charts)


def _language_table(name: str, result: MitigateResult) -> Table:
    before = result.language_model
    assert before is not None
    rows = [
        {
            "method": ORIGINAL,
            "balanced score": format_places(before.score.value, 4),
            "change": "",
            "perplexity": format_places(before.perplexity, 2),
            "capitals known, %": format_places(before.capitals, 1),
            "word variance, ratio": "1.00",
        }
    ]
    rows += [
        {
            "method": entry.method,
            "balanced score": format_places(entry.after.score.value, 4),
            "change": f"{signed(entry.score_change.value, 4)} ({interval(entry.score_change, 4)})",
            "perplexity": f"{format_places(entry.after.perplexity, 2)} ({entry.perplexity_change.value or 0:+.1f} %)",
            "capitals known, %": f"{format_places(entry.after.capitals, 1)} ({entry.capitals_change.value or 0:+.1f})",
            "word variance, ratio": format_places(entry.word_variance_ratio.value, 2),
        }
        for entry in result.language_models
    ]
    reading = "Balanced C_w of the Earth on held-out words and regions; in brackets 95 % intervals and changes."
    return Table(f"{name}-methods", "The original model and every method", reading, rows)


def _language_chart(name: str, result: MitigateResult) -> Chart:
    before = result.language_model
    assert before is not None
    points = [{"method": ORIGINAL, "score": before.score.value, "perplexity": before.perplexity}]
    points += [
        {"method": entry.method, "score": entry.after.score.value, "perplexity": entry.after.perplexity}
        for entry in result.language_models
    ]
    base = alt.Chart(alt.InlineData(values=points)).encode(
        x=alt.X("perplexity:Q", title="perplexity of plain texts", scale=alt.Scale(zero=False)),
        y=alt.Y("score:Q", title="balanced C_w", scale=alt.Scale(zero=False)),
    )
    marks = base.mark_point(size=90, filled=True, color=NEUTRAL, opacity=1).encode(
        tooltip=["method:N", "score:Q", "perplexity:Q"]
    )
    names = base.mark_text(align="left", dx=8).encode(text="method:N")
    return Chart(
        f"{name}-pareto",
        "Bias against quality",
        "Lower and further left is better.",
        "; ".join(f"{each['method']}: score {each['score']}, perplexity {each['perplexity']}" for each in points) + ".",
        bare_spec(alt.layer(marks, names).properties(width="container", height=260)),
        points,
    )


def _methods_table(name: str, result: MitigateResult) -> Table:
    before = result.before
    assert before is not None
    rows = [
        {
            "method": ORIGINAL,
            "spread": format_places(before.spread.value, 2),
            "noise floor": format_places(before.spread.noise, 2),
            "ratio": "",
            "standardised ratio": "",
            "flips, %": format_places(before.flips.value, 1),
            "accuracy, %": format_places(_value(before.accuracy), 1),
            "change": "",
            "texts read per text": "1.0",
            "names found, %": "",
        }
    ]
    for entry in result.methods:
        ratio, standardised, accuracy = (
            entry.change.spread_ratio,
            entry.change.standardised_ratio,
            entry.change.accuracy,
        )
        rows.append(
            {
                "method": entry.method,
                "spread": format_places(entry.after.spread.value, 2),
                "noise floor": format_places(entry.after.spread.noise, 2),
                "ratio": _with_interval(ratio),
                "standardised ratio": _with_interval(standardised),
                "flips, %": format_places(entry.after.flips.value, 1),
                "accuracy, %": format_places(_value(entry.after.accuracy), 1),
                "change": "" if accuracy is None else f"{signed(accuracy.value, 1)} ({interval(accuracy, 1)})",
                "texts read per text": format_places(entry.texts_per_text, 1),
                "names found, %": "" if entry.recall is None else format_places(100 * (entry.recall.value or 0), 0),
            }
        )
    return Table(
        f"{name}-methods",
        "The original model and every method",
        "Spread in points; ratio: after divided by before; in brackets 95 % intervals.",
        rows,
    )


def _value(number: Interval | None) -> float | None:
    return None if number is None else number.value


def _with_interval(ratio: Interval) -> str:
    """A ratio, with its interval if it has one."""
    value = format_places(ratio.value, 2)
    return value if ratio.low is None else f"{value} ({format_interval(ratio, '.2f')})"


def _pareto_chart(name: str, result: MitigateResult) -> Chart:
    """Bias against quality; without labels, against the cost."""
    before = result.before
    assert before is not None
    has_quality = before.accuracy is not None
    points = [_point(ORIGINAL, before.spread.value, _value(before.accuracy), 1.0)]
    points += [
        _point(
            entry.method,
            entry.after.spread.value,
            _value(entry.after.accuracy),
            entry.texts_per_text,
        )
        for entry in result.methods
    ]
    x, title = ("accuracy", "accuracy, %") if has_quality else ("cost", "texts that the model reads per text")
    for point in points:
        better = [
            other
            for other in points
            if other["spread"] <= point["spread"]
            and (other[x] >= point[x] if has_quality else other[x] <= point[x])
            and (other["spread"], other[x]) != (point["spread"], point[x])
        ]
        point["frontier"] = "dominated" if better else "on the frontier"
    base = alt.Chart(alt.InlineData(values=points)).encode(
        x=alt.X(f"{x}:Q", title=title, scale=alt.Scale(zero=False)),
        y=alt.Y("spread:Q", title="spread between countries, points"),
    )
    marks = base.mark_point(size=90, color=NEUTRAL, opacity=1).encode(
        fill=alt.condition("datum.frontier == 'on the frontier'", alt.value(NEUTRAL), alt.value("transparent")),
        tooltip=["method:N", "spread:Q", f"{x}:Q", "frontier:N"],
    )
    names = base.mark_text(align="left", dx=8).encode(text="method:N")
    corner = "right" if has_quality else "left"
    return Chart(
        f"{name}-pareto",
        "Bias against quality" if has_quality else "Bias against cost",
        f"Lower and further {corner} is better. Filled: no other method is better in both.",
        "; ".join(f"{point['method']}: spread {point['spread']:.2f}, {title} {point[x]:.1f}" for point in points) + ".",
        bare_spec(alt.layer(marks, names).properties(width="container", height=260)),
        points,
    )


def _point(method: str, spread: float | None, accuracy: float | None, cost: float) -> dict[str, Any]:
    return {"method": method, "spread": spread or 0.0, "accuracy": accuracy, "cost": cost}


def _describe_gap(gap: LargestGap | None) -> str:
    """ "4.3 (2.1 to 6.4)": with bounds for all countries at once."""
    if gap is None or gap.low is None or gap.high is None:
        return f"{gap.value if gap else 0:.1f}"
    return f"{gap.value:.1f} ({gap.low:.1f} to {gap.high:.1f})"


def _countries_chart(name: str, result: MitigateResult, entry: MethodComparison) -> Chart:
    ordered = sorted(entry.countries, key=lambda country: country.before.value or 0)
    rows = [
        {
            "country": country.country,
            "when": when,
            "value": estimate.value,
            "low": estimate.low,
            "high": estimate.high,
            "marked": is_marked(estimate),
            "p_adjusted": estimate.p_adjusted,
        }
        for country in ordered
        for when, estimate in ((BEFORE, country.before), (AFTER, country.after))
    ]
    gap_before, gap_after = (
        _describe_gap(measures.largest_gap if measures else None) for measures in (result.before, entry.after)
    )
    return Chart(
        f"{name}-{entry.method.replace(':', '-')}",
        f"{entry.method}: the largest gap goes from {gap_before} to {gap_after} points",
        "Dot: Δ of a country's names minus the mean of countries; line: 95 % interval; filled: adjusted p < 0.05.",
        "; ".join(f"{row['country']} {row['when']}: {row['value'] or 0:+.1f}" for row in rows[:12]) + ".",
        dots(
            rows,
            label="country",
            title="Δ against the mean of countries, points",
            order=[each.country for each in ordered],
            colour="when",
        ),
        rows,
    )
