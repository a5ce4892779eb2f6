"""The associations of regions and words in the terminal: typical words, tones, scores of continents."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import RenderableType
from rich.table import Table

from geobias.audits.regions.association_findings import list_clear_pairs, measure_departure, name_controls
from geobias.audits.regions.association_records import (
    Association,
    RegionAssociation,
    WordAssociation,
    list_compared,
)
from geobias.audits.regions.notes import name_level, pluralise
from geobias.report.sentences import format_number, list_first
from geobias.report.tables import NOTHING, digits, is_marked, marked, titled_table
from geobias.world.countries import UN_STATES

SUMMARY_ROWS, SUMMARY_WORDS = 4, 3
FULL_WORDS = 5
EXTREMES = 5  # tones on each side


def summary_of_words(association: Association) -> Table:
    """The most typical words of the few regions in which a word stands out most."""
    regions = [claim.region for claim in list_clear_pairs(association)[:SUMMARY_ROWS]]
    return _words_table(association, regions, SUMMARY_WORDS)


def association_report(association: Association) -> Iterator[RenderableType]:
    """Every table and note about associations."""
    yield from association_notes(association)
    yield _scores_table(association)
    if any(region.valence for region in association.regions):
        yield _tones_table(association)
    regions = [claim.region for claim in list_clear_pairs(association)]
    if association.level == "country":
        regions = [region for region in regions if region.id in UN_STATES]
    if regions:
        yield _words_table(association, regions, FULL_WORDS)


def association_notes(association: Association) -> Iterator[str]:
    """Where the variance lies, how far names alone go, and what was left out."""
    shares = association.variance
    yield (
        f"Of the variance of log-likelihoods {_per_cent(shares.word)} is the word, {_per_cent(shares.region)} the "
        f"region's name, {_per_cent(shares.interaction)} their interaction: the association."
    )
    if association.invented_times is not None:
        yield (
            f"Of invented places 1 word in 20 is at least {format_number(association.invented_times)} times as likely, "
            "or as unlikely, as of the average one, relative to other words."
        )
    if association.permuted is not None:
        yield (
            f"{pluralise(association.level).capitalize()} of one parent lie {association.permuted:.2f} times as far "
            "apart as with randomly permuted words (below 1: they share associations)."
        )
    if association.agreement is not None:
        yield f"Reliability of the mean over {association.paraphrases} paraphrases: {association.agreement:.2f} of 1."
    if association.subject_agreement is not None:
        yield f"Correlation of the associations of demonyms and of regions: {association.subject_agreement:+.2f}."
    if association.without_demonym:
        yield (
            f"Left out, since there is no usual word for their people: {len(association.without_demonym):,} "
            f"({list_first(association.without_demonym)})."
        )


def _scores_table(association: Association) -> Table:
    table = titled_table("Association score of sub-regions", ["region"], ["score"])
    for region in association.regions:
        if region.score is not None:
            table.add_row(region.name, digits(region.score))
    return table


def _tones_table(association: Association) -> Table:
    """The regions that are described most and least favourably."""
    tones = [(region.valence, region) for region in list_compared(association) if region.valence]
    tones.sort(key=lambda each: -(each[0].value or 0))
    table = titled_table(
        f"Favourable words relative to unfavourable ones, × the average {name_level(association.level)}; the interval "
        "is of one alone, * stands out among all"
    )
    table.add_column("region", overflow="fold")
    table.add_column("times", justify="right", style="bold", no_wrap=True)
    table.add_column("95 % interval", justify="right", no_wrap=True)
    lowest = tones[EXTREMES:][-EXTREMES:]
    for k, (tone, region) in enumerate([*tones[:EXTREMES], *lowest]):
        bounds = (
            NOTHING
            if tone.low is None or tone.high is None
            else f"{format_number(tone.low)}–{format_number(tone.high)}"
        )
        is_last = k == EXTREMES - 1 and bool(lowest)
        table.add_row(region.name, marked(format_number(tone.value or 0), tone), bounds, end_section=is_last)
    return table


def _words_table(association: Association, regions: Sequence[RegionAssociation], count: int) -> Table:
    table = titled_table(
        f"Typical words, × the average {name_level(association.level)}, relative to other words; "
        f"* beyond {name_controls(association)}"
    )
    table.show_edge = False
    table.add_column("region", overflow="fold")
    table.add_column("words", overflow="fold")
    for region in regions:
        table.add_row(region.name, ", ".join(map(_format_word, _most_typical(region)[:count])))
    return table


def _most_typical(region: RegionAssociation) -> list[WordAssociation]:
    """Words said more and less often, those beyond invented places first, then the largest."""
    words = [*region.more, *region.less]
    return sorted(words, key=lambda word: (not is_marked(word.times), -measure_departure(word.times)))


def _format_word(word: WordAssociation) -> str:
    return marked(f"{word.word} {format_number(word.times.value or 0)}×", word.times).rstrip()


def _per_cent(share: float) -> str:
    return f"{format_number(100 * share)} %" if share < 0.01 else f"{100 * share:.0f} %"
