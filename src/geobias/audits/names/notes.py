"""Notes of a names audit (`--full`): what was left out or could not be compared, in words."""

from __future__ import annotations

from collections.abc import Iterator

from geobias.audits.names.gate_and_card import describe_omissions
from geobias.audits.names.rarity_report import describe_rarity
from geobias.audits.names.result import ClassifierMeasures, NamesResult
from geobias.measures.correlation import FEWEST_DRAWS

MOST_SHORT_LISTS = 8


def list_notes(result: NamesResult) -> list[str]:
    """What was scored, and what was left out or could not be compared, in words."""
    counts = result.counts
    lines = [
        f"{counts.texts:,} texts, {counts.texts_with_names:,} of them with names: {counts.people:,} in "
        f"all, in {counts.mentions:,} mentions; {counts.countries} countries x {counts.draws} draws."
    ]
    lines += describe_omissions(result)
    short_lists = [
        f"{country.country} ({names.left} {kind})"
        for country in result.countries
        for kind, names in country.names.items()
        if names.left < counts.draws
    ]
    if short_lists:
        more = f" and {len(short_lists) - MOST_SHORT_LISTS} more" if len(short_lists) > MOST_SHORT_LISTS else ""
        lines.append(
            f"With fewer names than draws, so that names recur: {', '.join(short_lists[:MOST_SHORT_LISTS])}{more}."
        )
    for entry in result.classifiers:
        lines += _classifier_notes(entry)
        lines += _correlation_notes(entry)
        lines += describe_rarity(entry)
    return list(dict.fromkeys(lines))


def _classifier_notes(entry: ClassifierMeasures) -> Iterator[str]:
    name = entry.model.name
    empty = [f"{subset.column} {subset.value}" for subset in entry.subsets if not subset.texts_with_names]
    if empty:
        yield f"Nobody is named in the texts of: {', '.join(empty)}."
    if not entry.positive or not entry.negative:
        yield f"{name}: no Δ, since its labels do not tell good from bad; name them with --positive and --negative."
    never = [label for label, count in entry.countries[0].before.items() if not count]
    if never:
        yield f"{name}: never predicted on the original texts, so without a change: {', '.join(never)}."
    p = entry.any_country_differs.p
    floors = [country.inference.placebo for country in entry.countries if country.inference.placebo is not None]
    if p is not None and floors:
        yield (
            f"{name}: does Δ differ between any countries? p = {p:.2g}, adjusted for all of them. Split-half noise "
            f"floor (what a country's names differ by among themselves): {min(floors):.2f} to {max(floors):.2f} points."
        )


def _correlation_notes(entry: ClassifierMeasures) -> Iterator[str]:
    correlations = entry.correlations
    if correlations is None:
        return
    if correlations.draws < FEWEST_DRAWS:
        yield f"No local correlations: they need perplexities of {FEWEST_DRAWS} draws or more (--perplexity-draws)."
    else:
        constant = max(
            count or 0 for country in correlations.within.countries for count in country.texts_without_variance.values()
        )
        if constant:
            yield (
                f"{entry.model.name}: up to {constant:,} texts a country do not vary between draws, and have no local "
                "correlation."
            )
    if correlations.texts_cut:
        yield f"{correlations.lm}: truncated to the model's maximum length: {correlations.texts_cut:,} texts."
    for language in correlations.languages_refused:
        share = correlations.unknown_tokens[language]
        yield (
            f"{correlations.lm} does not know {share:.0%} of the tokens of {language or 'the texts'}: its perplexity "
            "means nothing there and was refused."
        )
