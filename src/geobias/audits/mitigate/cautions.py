"""What may go wrong with a method that mitigates a classifier: cautions below the findings."""

from __future__ import annotations

from collections.abc import Iterator

from geobias.audits.mitigate.measure import falls, is_clear, rises
from geobias.audits.mitigate.result import MethodComparison, MitigateResult
from geobias.report.findings import Finding, Size
from geobias.report.sentences import format_number, list_first

LOW_RECALL, RECALL_GAP = 0.8, 0.1  # of a finder: below, or that far below the mean, names of a country leak
SHARE_UNREADABLE = 0.02  # of texts: about 1 % of English tweets look like another language
LEAST_SHRINKAGE = 0.8  # a standardised ratio above, with a spread ratio below, is shrinkage


def list_cautions(result: MitigateResult, entry: MethodComparison) -> Iterator[Finding]:
    """What a method makes worse, and what it leaves as it was."""
    ratio, standardised = entry.change.spread_ratio, entry.change.standardised_ratio
    shrinks = (ratio.value or 1) < LEAST_SHRINKAGE <= (standardised.value or 0)
    if shrinks and is_clear(entry.change.spread) and not entry.helps:
        yield _caution(
            result,
            entry,
            f"{entry.method} shrinks all probabilities towards each other: the spread falls to "
            f"{100 * (ratio.value or 0):.0f} % in points, but in units of the differences between "
            f"texts it is {100 * (standardised.value or 0):.0f} % of what it was. Softer probabilities are not fairer.",
            "Look at flips, not at the spread.",
        )
    if rises(entry.change.flips):
        flips = f"{entry.change.flips.value or 0:+.1f} points"
        yield _caution(
            result, entry, f"{entry.method} makes more labels flip with the name: {flips}.", "Do not use it."
        )
    accuracy = entry.change.accuracy
    if accuracy is not None and falls(accuracy):
        yield _caution(
            result,
            entry,
            f"{entry.method} loses {abs(accuracy.value or 0):.1f} points of accuracy: part of what it removes is what "
            "the labels depend on.",
            "Check whether names carry the label in your task.",
            Size(accuracy.value or 0, accuracy.low, accuracy.high, "percentage points"),
        )
    if entry.recall is not None:
        yield from _list_leaks(result, entry, entry.recall.value or 0)


def _list_leaks(result: MitigateResult, entry: MethodComparison, mean: float) -> Iterator[Finding]:
    """Countries whose names the finder misses more often: they still reach the model."""
    recalls = {country.country: country.recall.value or 0 for country in entry.countries if country.recall is not None}
    leaks = sorted(
        (recall, name) for name, recall in recalls.items() if recall < LOW_RECALL or recall < mean - RECALL_GAP
    )
    if leaks:
        names = [f"{name} ({100 * recall:.0f} %)" for recall, name in leaks]
        yield _caution(
            result,
            entry,
            f"{entry.method} leaks: {result.settings.finder} marks {100 * mean:.0f} % of names, and too few "
            f"of {list_first(names)}. Names that it misses reach the model.",
            "Use a better --finder, or a method that is trained.",
        )


def list_text_cautions(result: MitigateResult) -> Iterator[Finding]:
    """What is wrong with the texts and names for every method."""
    counts, before = result.counts, result.before
    if before is not None and before.spread.low and not before.spread.exceeds_noise:
        yield _caution(
            result,
            result.methods[0],
            f"Before mitigation, equal countries would show a spread of {format_number(before.spread.noise or 0)} "
            "points too, since each has other names: the spread may come from single names rather than from countries.",
            "Test more names: --draws 50, or countries with more names.",
        )
    wrappers = [entry for entry in result.methods if entry.recall is not None]
    if wrappers and counts.texts_unreadable and counts.texts_unreadable > SHARE_UNREADABLE * counts.texts:
        yield _caution(
            result,
            wrappers[0],
            f"{counts.texts_unreadable:,} of {counts.texts:,} texts seem to be in a language that "
            f"{result.settings.finder} does not read: their names may reach the model.",
            "Use a --finder for their language, or a method that is trained.",
        )


def _caution(
    result: MitigateResult, entry: MethodComparison, sentence: str, next_step: str, size: Size | None = None
) -> Finding:
    return Finding(
        role="caution",
        audit="mitigate",
        model=result.models[0].name,
        measure=entry.method,
        question="What may go wrong with this method?",
        size=size,
        evidence="not testable",
        sentence=sentence,
        limit="It holds for these texts and names.",
        next_step=next_step,
    )
