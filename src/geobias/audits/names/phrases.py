"""Words and numbers as the findings of a names audit say them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, Literal

from geobias.audits.names.names_alike import ALIKE
from geobias.audits.names.result import NamesResult
from geobias.audits.names.rows import ClassEffect, CountryEffect, SmallestEffect
from geobias.report.findings import format_p
from geobias.report.sentences import MOST_NAMES
from geobias.world.places import add_article

MORE_TEXTS: Final = 4  # times as many texts find a gap of half the size, if texts are all that differs


def name_origin(country: str) -> str:
    """ "names common in the United States"."""
    return f"names common in {add_article(country)}"


def shorten(value: float) -> str:
    """The size of a number with two digits or so."""
    size = abs(value)
    if size >= 10:
        return f"{size:.0f}"
    return f"{size:.1f}" if size >= 1 else f"{size:.2f}"


def find_direction(effect: CountryEffect) -> Literal["higher", "lower"]:
    return "higher" if effect.value > 0 else "lower"


def name_unit(effect: CountryEffect) -> str:
    """Of how much countries differ."""
    return "percentage points" if effect.of_class else "points"


def say_certainty(effect: CountryEffect) -> str:
    """The interval on the side of the gap, and the adjusted p-value."""
    told, sign = effect.told, 1 if effect.value > 0 else -1
    assert told.low is not None and told.high is not None  # it was tested
    near, far = sorted((sign * told.low, sign * told.high))
    return f"95 % interval {_shorten_signed(near)} to {_shorten_signed(far)}, {format_p(told.p_adjusted)}"


def _shorten_signed(value: float) -> str:
    return f"-{shorten(value)}" if value < 0 and float(shorten(value)) else shorten(value)


def name_rates(leading: Sequence[ClassEffect]) -> str:
    """ "23 of 100 with names common in Poland, 8 of the originals"."""
    rates = [f"{round_rate(effect.rate)} of 100 with {name_origin(effect.place)}" for effect in leading]
    more = [f"{len(rates) - MOST_NAMES} more"] if len(rates) > MOST_NAMES else []
    originals = [f"{round_rate(effect.rate_before)} of the originals" for effect in leading[:1]]
    return ", ".join([*rates[:MOST_NAMES], *more, *originals])


def round_rate(share: float) -> str:
    """A share as a number of 100 texts."""
    rate = 100 * share
    return f"{rate:.0f}" if rate >= 1 or not rate else f"{rate:.1f}"


def say_rate(effect: ClassEffect, rates: Sequence[float]) -> str:
    """ "23 of 100 texts with names common in Poland are called X, 14 in the mean country, 8 of the originals"."""
    words = (
        f"{round_rate(effect.rate)} of 100 texts with {name_origin(effect.place)} are called {effect.label}, "
        f"{round_rate(sum(rates) / len(rates))} in the mean country, {round_rate(effect.rate_before)} of the originals"
    )
    if effect.alike and effect.alike.value is not None:
        words += f"; {shorten(effect.alike.value)} more or less between {ALIKE}"
    return words


def advise_more_data(result: NamesResult, half: SmallestEffect | None, rerun: Callable[[str], str]) -> str:
    """What would find gaps half as large as the run could find, given where its variance comes from."""
    opening = "To find gaps half as large, use"
    if half is None or half.share_of_names is None:
        texts = MORE_TEXTS * result.counts.texts_with_names
        return f"{opening} about {texts:,} texts: {rerun('--texts FILE')}"
    if half.half_texts is not None:
        shortest = min(row.shortest for row in result.name_lists)  # with more draws, names only recur
        draws = f" (or {half.half_draws} draws)" if half.half_draws and half.half_draws <= shortest else ""
        return f"{opening} about {half.half_texts:,} texts{draws}: {rerun('--texts FILE')}"
    remark = f"More texts alone would hardly help, since {half.share_of_names:.0%} of the variance is between names."
    lists, options = f"{MORE_TEXTS} times as many texts and as long lists of names", "--texts FILE --gazetteer FILE"
    if half.half_times_names is not None:
        lists, options = f"{half.half_times_names:.2g} times as long lists of names", "--gazetteer FILE"
    return f"{remark} {opening} about {lists}: {rerun(options)}"
