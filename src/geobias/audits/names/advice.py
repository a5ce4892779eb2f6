"""What to run next where no country stands out: more texts, more draws or longer lists of names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from geobias.audits.names.gaps import Gap, rerun

if TYPE_CHECKING:
    from geobias.audits.names.result import NamesResult

MORE_TEXTS: Final = 4  # times as many texts find a gap of half the size, if texts are all that differs


def advise_more_data(result: NamesResult, gap: Gap) -> str:
    """What would find gaps half as large as the run could find, given where its variance comes from."""
    entry, opening = gap.entry, "To find gaps half as large, use"
    effects = entry.smallest_effects
    half = None if effects is None else effects.half_delta if gap.label is None else effects.half_change.get(gap.label)
    if half is None:
        more = f"{opening} about {MORE_TEXTS * entry.texts_with_names:,} texts"
        return f"{more}: {rerun(result, entry, '--texts FILE')}"
    if half.texts is not None:
        draws = f" (or {half.draws} draws)" if half.draws and half.draws <= _shortest_list(result) else ""
        return f"{opening} about {half.texts:,} texts{draws}: {rerun(result, entry, '--texts FILE')}"
    remark = f"More texts alone would hardly help, since {half.share_of_names:.0%} of the variance is between names."
    if half.times_names is not None:
        lists, options = f"{half.times_names:.2g} times as long lists of names", "--gazetteer FILE"
    else:
        lists, options = f"{MORE_TEXTS} times as many texts and as long lists of names", "--texts FILE --gazetteer FILE"
    return f"{remark} {opening} about {lists}: {rerun(result, entry, options)}"


def _shortest_list(result: NamesResult) -> int:
    """How many names the shortest list has: with more draws, names only recur."""
    return min(names.left for country in result.countries for names in country.names.values())
