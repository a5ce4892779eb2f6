"""Tables of associations on the page: how much of the likelihoods is content, and the columns of every country."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from geobias.audits.regions.association_records import Association, RegionAssociation, WordAssociation
from geobias.audits.regions.notes import name_level
from geobias.audits.regions.page_continents import plural
from geobias.measures.estimates import Estimate
from geobias.report.page.blocks import Table
from geobias.report.sentences import format_number
from geobias.report.tables import NOTHING, format_interval, is_marked

TYPICAL_WORDS = 3  # of each side, in the table of all countries
MORE, LESS = "said more often", "said less often"
RELIABLE = 0.7  # Nunnally's (1978) minimum for a reliability in research


def size_table(name: str, association: Association) -> Table:
    """Shares of variance, the comparisons with other places, agreement of paraphrases; with what each means."""
    noun = name_level(association.level)
    return Table(
        f"{name}-content",
        f"How much of what the model says depends on the {noun}",
        "Where the differences between log-likelihoods come from, and how far the associations can be relied on.",
        [*_variance_rows(association, noun), *_signal_rows(association), *_reliability_rows(association)],
    )


def _variance_rows(association: Association, noun: str) -> Iterator[dict[str, str]]:
    shares = association.variance
    for label, share, meaning in (
        ("Variance: the word", shares.word, "Common words are likely of everybody."),
        ("Variance: the name", shares.region, "Some names make every sentence more, or less, likely."),
        (
            f"Variance: {noun} and word together",
            shares.interaction,
            f"Some words are likelier of some {plural(association.level)}: only this can be bias.",
        ),
    ):
        yield _row(label, f"{100 * share:.1f} %", None, meaning)


def _signal_rows(association: Association) -> Iterator[dict[str, str]]:
    """More than a name, more than fame, and what goes with fame."""
    signal, regions = association.signal, plural(association.level)
    if signal is None:
        return
    for label, estimate, others in (
        ("More than a name", signal.beyond_names, "invented places"),
        ("More than fame", signal.beyond_fame, "known places that are none, with fame held fixed"),
    ):
        if estimate is not None and estimate.value is not None:
            meaning = f"How much more words go with {regions} than with {others}. 0 or less: not at all."
            yield _row(label, f"{estimate.value:+.2f} nats", estimate, meaning)
    if signal.fame_share is not None:
        meaning = f"The share of the associations of {regions} that goes with {' and '.join(signal.proxies)}."
        yield _row("Explained by fame", f"{100 * signal.fame_share:.0f} %", None, meaning)


def _reliability_rows(association: Association) -> Iterator[dict[str, str]]:
    regions, ratio = plural(association.level), association.ratio
    if ratio is not None:
        yield _row(
            "Ratio to invented places",
            f"{ratio.value:.2f}",
            ratio,
            f"Strength of associations of real {regions}, divided by that of names without meaning. 1: no more than "
            "these. Training alone moves it: do not compare models by it.",
        )
    if association.invented_times is not None:
        yield _row(
            "Noise of invented places",
            f"{format_number(association.invented_times)} times",
            None,
            "1 in 20 words is at least that much more, or less, likely of an invented place.",
        )
    if association.detectable_times is not None:
        yield _row(
            "Smallest word that would be found",
            f"{format_number(association.detectable_times)} times",
            None,
            "A single association of this size stands out in 8 of 10 cases; a smaller one may be missed.",
        )
    if association.agreement is not None:
        yield _row(
            "Agreement of paraphrases",
            f"{association.agreement:.2f}",
            None,
            f"From 0 to 1: how far the mean over {association.paraphrases} paraphrases would be the same with others. "
            f"Below {RELIABLE}, associations depend on the wording.",
        )
    if association.subject_agreement is not None:
        yield _row(
            "Agreement of demonyms and names",
            f"{association.subject_agreement:+.2f}",
            None,
            "Correlation of what is said of “Kenyans” with what is said of “people in Kenya”, over all pairs.",
        )
    if association.permuted is not None:
        yield _row(
            "Neighbours against permuted words",
            f"{association.permuted:.2f}",
            None,
            f"How far apart {regions} of one parent lie, divided by what randomly permuted words give. Below 1: "
            "neighbours share associations.",
        )


def _row(label: str, value: str, estimate: Estimate | None, meaning: str) -> dict[str, str]:
    bounds = "" if estimate is None or estimate.low is None else f" ({format_interval(estimate, '.2f')})"
    return {"quantity": label, "value (95 % interval)": f"{value}{bounds}", "what it means": meaning}


def country_cells(region: RegionAssociation | None, *, has_valence: bool) -> dict[str, str]:
    """The columns of one country: how favourably it is described, and its most typical words, * if they are clear."""
    cells = {}
    if has_valence:
        valence = region.valence if region else None
        cells = {
            "favourable words,\ntimes": f"{valence.value:.2f}" if valence and valence.value is not None else NOTHING,
            "95 % interval": format_interval(valence, ".2f") if valence else NOTHING,
            "adjusted p": format_cell_p(valence.p_adjusted if valence else None),
        }
    return cells | {
        MORE: _list_words(region.more if region else ()),
        LESS: _list_words(region.less if region else ()),
    }


def format_cell_p(p: float | None) -> str:
    if p is None:
        return NOTHING
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def _list_words(words: Sequence[WordAssociation]) -> str:
    distinct = {word.word: word.times for word in reversed(words)}  # a word of two topics is named once
    texts = [
        f"{word} {format_number(times.value or 0)}{'*' if is_marked(times) else ''}"
        for word, times in reversed(distinct.items())
    ]
    return ", ".join(texts[:TYPICAL_WORDS]) or NOTHING
