"""What a mitigation concludes: what each method improves, for whom, what it costs, and which one to take."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence

from geobias.audits.mitigate.measure import falls, loses_quality, rises
from geobias.audits.mitigate.methods import MEANINGS
from geobias.audits.mitigate.result import CountryComparison, MethodComparison, MitigateResult
from geobias.measures.estimates import Estimate, find_standing_out
from geobias.models.sources import MITIGATED
from geobias.report.findings import OUT, Evidence, Finding, Size, grade_evidence
from geobias.report.sentences import format_evidence, format_number, list_first, measure_size
from geobias.report.tables import is_marked

QUESTION = "Does the method lower the spread between countries of people's names?"
FLIPS_QUESTION = "Does the method lower the share of labels that flip with the name?"
UNIT, SHARE_UNIT = "points", "percentage points"
LOW_RECALL, RECALL_GAP = 0.8, 0.1  # of a finder: below, or that far below the mean, names of a country leak
ROUNDED = 0.005  # of a recall: fewer misses print as 0 %
LEAST_SHRINKAGE = 0.8  # a standardised ratio above, with a spread ratio below, is shrinkage


def list_findings(result: MitigateResult) -> list[Finding]:
    """The answer for each method, then the recommendation and the countries, then cautions."""
    from geobias.audits.mitigate.language_findings import list_language_findings

    if result.before is None:
        return list_language_findings(result)
    answers = [_answer(result, entry) for entry in result.methods]
    details = [_recommend(result), *(_describe_countries(result, entry) for entry in result.methods)]
    cautions = [caution for entry in result.methods for caution in list_cautions(result, entry)]
    return [*answers, *details, *cautions, *list_text_cautions(result)]


def _answer(result: MitigateResult, entry: MethodComparison) -> Finding:
    by_flips = _helps_by_flips(result, entry)
    change = entry.change.flips if by_flips else entry.change.spread
    evidence = _grade(entry)
    return Finding(
        role="overall",
        audit="mitigate",
        model=result.models[0].name,
        measure=entry.method,
        question=FLIPS_QUESTION if by_flips else QUESTION,
        direction=None if evidence not in ("clear", "suggestive") else "lower" if _falls(change) else "higher",
        size=measure_size(change, SHARE_UNIT if by_flips else UNIT),
        p=change.p,
        p_adjusted=change.p_adjusted,
        evidence=evidence,
        sentence=f"{_say_spread(result, entry)} {_say_missed_names(result, entry)}{_say_cost(entry)}",
        limit="Measured with names that no method used, in texts like these; other texts may differ. A country's "
        "names are those common there, not those of its citizens everywhere.",
        next_step=_say_next_step(entry),
    )


def _grade(entry: MethodComparison) -> Evidence:
    """A spread that falls only because all probabilities shrink is not clear."""
    if entry.helps:
        return "clear"
    evidence = grade_evidence(entry.change.spread.p_adjusted)
    return "suggestive" if evidence == "clear" and _falls(entry.change.spread) else evidence


def _helps_by_flips(result: MitigateResult, entry: MethodComparison) -> bool:
    """Whether a method helps although there was no spread to mitigate: fewer labels flip with the name."""
    return entry.helps and not _has_spread(result)


def _has_spread(result: MitigateResult) -> bool:
    """Whether there was a spread to mitigate: clear over texts, and more than equal countries would show."""
    return result.before is not None and bool(result.before.spread.low) and result.before.spread.exceeds_noise


def _falls(change: Estimate) -> bool:
    return (change.value or 0) < 0


def _say_spread(result: MitigateResult, entry: MethodComparison) -> str:
    assert result.before is not None
    before, after, change = result.before.spread, entry.after.spread, entry.change.spread
    numbers = f"from {format_number(before.value or 0)} to {format_number(after.value or 0)} points"
    flips = (
        f"labels that flip with the name from {format_number(result.before.flips.value or 0)} to "
        f"{format_number(entry.after.flips.value or 0)} %"
    )
    start = f"{entry.method}: spread between countries {numbers}"
    if change.p_adjusted is None:
        return f"{start}, {flips}; there are too few texts to test it."
    evidence = format_evidence(change, change.p_adjusted, UNIT)
    if not _has_spread(result):
        verdict = "there is no spread to mitigate"
        if entry.helps:
            fewer = entry.change.flips
            verdict = f"fewer labels flip (change {format_evidence(fewer, fewer.p_adjusted, SHARE_UNIT)})"
        elif rises(change):
            verdict = f"it rises (change {evidence})"
        floor = f" (equal countries would show {format_number(before.noise)})" if before.noise else ""
        return f"{start}, {flips}. Before, the spread was no more than noise{floor}; {verdict}."
    if entry.helps:
        ratio = entry.change.spread_ratio.value or 0
        return f"{start}, {100 * (1 - ratio):.0f} % less (change {evidence}); {flips}."
    if is_marked(change) and _falls(change):
        return f"{start} (change {evidence}), but this does not count as fairer; {flips}."
    if is_marked(change):
        return f"{start}: it rises (change {evidence}); {flips}."
    return f"{start}: no clear change ({evidence}); {flips}."


def _say_missed_names(result: MitigateResult, entry: MethodComparison) -> str:
    """Of a method that hides what a finder marks, what the finder misses: the rest is hidden by construction."""
    if entry.recall is None or entry.recall.value is None:
        return ""
    missed = {
        country.country: 1 - country.recall.value
        for country in entry.countries
        if country.recall is not None and country.recall.value is not None and country.recall.value < 1 - ROUNDED
    }
    worst = [f"{name} {100 * missed[name]:.0f} %" for name in sorted(missed, key=lambda name: -missed[name])]
    by_country = f" ({list_first(worst)})" if worst else ""
    share = format_number(100 * (1 - entry.recall.value))
    return (
        f"What is left comes from names that {result.settings.finder} misses, {share} % of those tested{by_country}: "
        f"the others are hidden by construction. {_say_missed_originals(result)} "
    )


def _say_missed_originals(result: MitigateResult) -> str:
    missed, people = result.counts.originals_missed, result.counts.originals
    if missed is None or people is None:
        return "People whom it missed in the original texts are not tested: mark them (--spans)."
    return f"In the original texts it misses {missed:,} of {people:,} marked names."


def _say_cost(entry: MethodComparison) -> str:
    accuracy, f1 = entry.change.accuracy, entry.change.macro_f1
    # Times differ from run to run, and findings are saved: the table on the terminal has them.
    work = f"the model reads {entry.texts_per_text:.1f} texts for each text"
    if accuracy is None or f1 is None:
        return f"Cost: {work}; accuracy unknown: no true labels given."
    verdict = "clearly lower" if is_marked(accuracy) and _falls(accuracy) else "no clear change"
    if is_marked(accuracy) and not _falls(accuracy):
        verdict = "clearly higher"
    bounds = f"{format_number(accuracy.low or 0)} to {format_number(accuracy.high or 0)}"
    quality = f"accuracy {accuracy.value or 0:+.1f} {SHARE_UNIT} ({bounds}; {verdict}), macro-F1 {f1.value or 0:+.1f}"
    return f"Cost: {quality}; {work}."


def _say_next_step(entry: MethodComparison) -> str:
    if entry.folder is None or not entry.helps:
        return "Compare other methods and strengths: --method blind,average:4,average:16"
    allow = "".join(f" --allow {shlex.quote(name)}" for name in entry.allow)
    return f"Use the model in the folder of this run: geobias names {MITIGATED}{OUT}/{entry.folder}{allow}"


def _recommend(result: MitigateResult) -> Finding:
    entry = next((entry for entry in result.methods if entry.method == result.recommended), None)
    cheap = [each for each in result.methods if each.helps and not loses_quality(each) and each is not entry]
    if entry is not None:
        sentence = f"Take {entry.method} ({MEANINGS[entry.method.partition(':')[0]]})."
        if cheap:
            verb = "helps" if len(cheap) == 1 else "help"
            sentence += f" {_name_methods(cheap)} {verb} too, with more spread left or at a higher cost."
        sentence += "".join(f" {cost}." for cost in _say_costly(result))
    elif any(each.helps for each in result.methods):
        sentence = f"No method is worth taking: {'; '.join(_say_costly(result))}."
    elif all(each.change.spread.p is None for each in result.methods):
        sentence = "No method can be recommended: there are too few texts to test one."
    elif not _has_spread(result):
        sentence = "There is no spread to mitigate: before, it was no more than noise."
    else:
        sentence = "Nothing helped: no method clearly lowers the spread between countries."
    by_flips = entry is not None and _helps_by_flips(result, entry)
    fall = "flips, no clear rise of the spread" if by_flips else "the standardised spread, no rise of flips"
    return Finding(
        role="detail",
        audit="mitigate",
        model=result.models[0].name,
        measure=None if entry is None else entry.method,
        question="Which method should be taken?",
        evidence="none" if entry is None else _grade(entry),  # the choice rests on that
        sentence=sentence,
        limit=f"The choice is by rule: a clear fall of {fall}, at most one point of accuracy, then the cheaper method.",
        next_step="See the chart of bias against quality on the page.",
    )


def _say_costly(result: MitigateResult) -> Iterator[str]:
    """The methods that help, but lose accuracy: clearly, or perhaps."""
    costly = [entry for entry in result.methods if entry.helps and loses_quality(entry)]
    clear = [entry for entry in costly if entry.change.accuracy is not None and falls(entry.change.accuracy)]
    if clear:
        verbs = ("helps", "costs") if len(clear) == 1 else ("help", "cost")
        yield f"{_name_methods(clear)} {verbs[0]}, but {verbs[1]} accuracy"
    if doubtful := [entry for entry in costly if entry not in clear]:
        verb = "helps" if len(doubtful) == 1 else "help"
        yield f"{_name_methods(doubtful)} {verb}, but may cost more than a point of accuracy"


def _name_methods(entries: Sequence[MethodComparison]) -> str:
    return list_first([entry.method for entry in entries])


def _describe_countries(result: MitigateResult, entry: MethodComparison) -> Finding:
    """For whom the gap becomes smaller, for whom larger, and for how many nothing changes."""
    stands_out = find_standing_out([country.change for country in entry.countries])
    marked = [country for country in entry.countries if is_marked(country.change)]
    clear = [country for country, is_clear in zip(entry.countries, stands_out, strict=True) if is_clear]
    mirrors = [country.country for country in marked if country not in clear]
    nearer = [country for country in clear if _gap(country.after) < _gap(country.before)]
    farther = [country for country in clear if country not in nearer]
    parts = []
    if nearer:
        names = [_name_change(country) for country in sorted(nearer, key=lambda each: -_gap(each.before))]
        parts.append(f"the gap shrinks for {list_first(names)}")
    if farther:
        parts.append(f"the gap grows for {list_first([_name_change(country) for country in farther])}")
    if mirrors:
        parts.append(f"the change of {list_first(mirrors)} may only mirror {'that' if len(clear) == 1 else 'these'}")
    rest = len(entry.countries) - len(marked)
    if not clear:
        parts.append("no clear change for any country")
    elif rest:
        parts.append(f"no clear change for {rest} other {'country' if rest == 1 else 'countries'}")
    largest = max(clear, key=lambda country: abs(country.change.value or 0), default=None)
    return Finding(
        role="detail",
        audit="mitigate",
        model=result.models[0].name,
        measure=entry.method,
        question="For whom does the method change the classifier?",
        subject=None if largest is None else largest.country,
        code=None if largest is None else largest.code,
        size=None if largest is None else measure_size(largest.change, UNIT),
        p=None if largest is None else largest.change.p,
        p_adjusted=None if largest is None else largest.change.p_adjusted,
        evidence=grade_evidence(_smallest_p(entry.countries)),
        sentence=f"{entry.method}: {'; '.join(parts)} (Δ against the mean of countries, in points).",
        limit="A country whose gap was small before cannot change much.",
        next_step="Every country is in tables/countries.csv.",
    )


def _smallest_p(countries: Sequence[CountryComparison]) -> float | None:
    return min((each.change.p_adjusted for each in countries if each.change.p_adjusted is not None), default=None)


def _gap(estimate: Estimate) -> float:
    return abs(estimate.value or 0)


def _name_change(country: CountryComparison) -> str:
    after = country.after
    bounds = "" if after.low is None or after.high is None else f", 95 % interval {after.low:+.1f} to {after.high:+.1f}"
    return f"{country.country} ({country.before.value or 0:+.1f} to {after.value or 0:+.1f}{bounds})"


def list_cautions(result: MitigateResult, entry: MethodComparison) -> Iterator[Finding]:
    """What a method makes worse, and what it leaves as it was."""
    ratio, standardised = entry.change.spread_ratio, entry.change.standardised_ratio
    shrinks = (ratio.value or 1) < LEAST_SHRINKAGE <= (standardised.value or 0)
    if shrinks and is_marked(entry.change.spread) and not entry.helps:
        yield _caution(
            result,
            entry,
            f"{entry.method} shrinks all probabilities towards each other: the spread falls to "
            f"{100 * (ratio.value or 0):.0f} % in points, but in units of the differences between "
            f"texts it is {100 * (standardised.value or 0):.0f} % of what it was. Softer probabilities are not fairer.",
            "Look at flips, not at the spread.",
        )
    if rises(entry.change.flips):
        flips = f"{entry.change.flips.value or 0:+.1f} {SHARE_UNIT}"
        yield _caution(
            result, entry, f"{entry.method} makes more labels flip with the name: {flips}.", "Do not use it."
        )
    accuracy = entry.change.accuracy
    if accuracy is not None and falls(accuracy):
        yield _caution(
            result,
            entry,
            f"{entry.method} loses {abs(accuracy.value or 0):.1f} {SHARE_UNIT} of accuracy: part of what it removes "
            "is what the labels depend on.",
            "Check whether names carry the label in your task.",
            Size(accuracy.value or 0, accuracy.low, accuracy.high, SHARE_UNIT),
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
    if wrappers and counts.texts_unreadable:
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
