"""What a names audit leads with: how much countries differ, and which stand out; not the largest of many gaps."""

from __future__ import annotations

from collections.abc import Sequence

from geobias.audits.names.explanations import ALIKE, explain
from geobias.audits.names.gaps import Gap, list_standing_out, name_origin, round_rate, shorten
from geobias.audits.names.records import CountrySpread
from geobias.report.findings import format_p
from geobias.report.sentences import MOST_NAMES, list_first
from geobias.world.places import add_article


def find_spread(gap: Gap) -> CountrySpread | None:
    """How much countries differ in what the gap is about, as measured."""
    if gap.label is None:
        return gap.entry.spread
    return next((each.spread for each in gap.entry.class_differences if each.label == gap.label), None)


def spread_unit(gap: Gap) -> str:
    return "points" if gap.label is None else "percentage points"


def say_who_leads(leading: Sequence[Gap], tested: str, overall: Gap) -> str:
    """How much countries differ, then the set that stands out, as measured and between names alike."""
    first = leading[0]
    of_measure = [gap for gap in leading if gap.label == first.label]
    who = _name_set(of_measure) if first.label is None else _name_rates(of_measure)
    count = len(leading)
    return f"{_say_spread(first, overall)}: {who}; {count} of {tested} {'stands' if count == 1 else 'stand'} out."


def say_what_explains(gaps: Sequence[Gap], overall: Gap) -> str:
    """How much countries differ, and why that is told of no country."""
    clear = [gap for gap in list_standing_out(gaps) if gap.label == overall.label]
    explanation = explain(overall.rarity, [(gap.country.code, gap.estimate) for gap in clear])
    assert explanation is not None  # otherwise one of them leads
    reason = explanation.reason
    rest = overall.rarity.spread if overall.rarity else None
    left = ""
    if rest and rest.sd.value is not None:
        amount = f"{shorten(rest.sd.value)} {spread_unit(overall)} are left"
        left = f", where {amount}" if ALIKE in reason else f": {amount} between {ALIKE}"
    return f"{_say_spread(overall, overall)}, but {reason}{left}."


def say_suggestive(gaps: Sequence[Gap], tested: str, overall: Gap) -> str:
    top = gaps[0]
    explanation = explain(overall.rarity, [(overall.country.code, overall.estimate)])
    reason = f", and {explanation.reason}" if explanation and explanation.is_explained else ""
    return (
        f"{_say_spread(overall, overall).replace(' differ', ' may differ', 1)}: the largest gap is {top.size_in_words} "
        f"for {name_origin(top.country.country)}, but none of {tested} stands out clearly{reason}."
    )


def say_shrunken(gap: Gap) -> str:
    """ "; 1.9 after shrinkage": a size that is as likely too small as too large."""
    shrunken = _shrink(gap)
    if shrunken is None or gap.label is not None or shorten(shrunken) == shorten(gap.size.value):
        return ""
    return f"; shrunk towards the mean of countries {shorten(shrunken)}"


def say_overestimated(gap: Gap) -> str:
    """By how much the largest of many gaps is overestimated."""
    shrunken, size = _shrink(gap), gap.size.value
    if shrunken is None or not size or gap.label is not None:
        return "the largest of many gaps tends to be overestimated"
    share = min(max(1 - shrunken / size, 0), 1)
    largest = f"that of {add_article(gap.country.country)} by about {share:.0%}".replace("%", " %")
    return f"the largest of many gaps tends to be overestimated, {largest}"


def _shrink(gap: Gap) -> float | None:
    spread = gap.rarity.spread if gap.alike and gap.rarity else find_spread(gap)
    return None if spread is None else spread.shrunken.get(gap.country.code)


def _say_spread(gap: Gap, overall: Gap) -> str:
    """ "Scores differ between countries by 1.4 points (standard deviation; 95 % interval 0.9 to 2.1, p < 0.001)"."""
    spread, p = find_spread(gap), format_p(overall.estimate.p_adjusted)
    what = "Scores differ" if gap.label is None else f"How often texts are called {gap.label} differs"
    if spread is None or spread.sd.value is None or spread.sd.low is None or spread.sd.high is None:
        return f"{what} between countries ({p})"
    bounds = f"{shorten(spread.sd.low)} to {shorten(spread.sd.high)}"
    return (
        f"{what} between countries by {shorten(spread.sd.value)} {spread_unit(gap)} (standard deviation; 95 % interval "
        f"{bounds}, {p})"
    )


def _name_set(leading: Sequence[Gap]) -> str:
    """ "lower (harsher) with names common in Turkey, higher (kinder) with those of Italy"; one alone with its size."""
    if len(leading) == 1:
        (gap,) = leading
        alike = f" between {ALIKE}" if gap.alike else ""
        return f"{gap.size_in_words} with {name_origin(gap.country.country)}{alike}"
    sides = sorted({gap.side for gap in leading}, reverse=True)  # always the lower first
    listed = {side: [add_article(gap.country.country) for gap in leading if gap.side == side] for side in sides}
    (side, countries), *others = listed.items()
    opening = f"{side} with {name_origin(list_first(countries))}"
    return ", ".join([opening, *(f"{other} with those of {list_first(each)}" for other, each in others)])


def _name_rates(leading: Sequence[Gap]) -> str:
    """ "23 of 100 with names common in Poland, 8 of the originals"."""
    first = leading[0]
    rates = [f"{round_rate(gap.rate)} of 100 with {name_origin(gap.country.country)}" for gap in leading]
    more = [f"{len(rates) - MOST_NAMES} more"] if len(rates) > MOST_NAMES else []
    return ", ".join([*rates[:MOST_NAMES], *more, f"{round_rate(first.rate_before)} of the originals"])
