"""What may be an artefact in a names audit, each with a better option; nothing where it does not apply."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from geobias.audits.names.explanations import ALIKE, find_country
from geobias.audits.names.gaps import (
    Gap,
    has_delta,
    list_gaps,
    list_mirrored,
    name_origin,
    rank_gaps,
    rerun,
    shorten,
)
from geobias.audits.names.rarity_report import describe_covariates
from geobias.audits.names.result import ClassifierMeasures, NamesResult
from geobias.report.findings import Finding, format_p, grade_evidence
from geobias.report.sentences import list_first
from geobias.report.tables import interval, is_marked

MUCH_DOUBTFUL: Final = 0.2  # of the finder's spans
MUCH_SHARED: Final = 0.5  # of a country's renamed texts


def list_cautions(result: NamesResult) -> list[Finding]:
    """Those that could overturn a finding first."""
    entries = result.classifiers
    return [
        *(caution for entry in entries for caution in _doubt_country(result, entry)),
        *(caution for entry in entries for caution in _note_mirrored(result, entry)),
        *_doubt_spans(result),
        *(caution for entry in entries for caution in _note_perplexity(result, entry)),
        *_note_shared_names(result),
        *_doubt_originals(result),
    ]


def _caution(result: NamesResult, model: str, sentence: str, limit: str, next_step: str, **more: Any) -> Finding:
    return Finding(
        role="caution",
        audit=result.audit,
        model=model,
        question=more.pop("question", "Could it be an artefact?"),
        evidence=more.pop("evidence", "not testable"),
        sentence=sentence,
        limit=limit,
        next_step=next_step,
        **more,
    )


def _list_clear(entry: ClassifierMeasures) -> list[Gap]:
    return [gap for gap in rank_gaps(list_gaps(entry)) if gap.evidence == "clear"]


def _doubt_country(result: NamesResult, entry: ClassifierMeasures) -> Iterator[Finding]:
    """Gaps that are clear as measured, and not between names alike."""
    explained = [(gap, gap.explanation) for gap in rank_gaps(list_gaps(entry)) if gap.explanation]
    if not explained:
        return
    gap, explanation = explained[0]
    rarity, country = gap.rarity, find_country(gap.rarity, gap.country.code)
    others = [other.country.country for other, why in explained[1:] if why == explanation]
    also = f" The same holds for {list_first(others)}." if others else ""
    unit = "points" if gap.label is None else "percentage points"
    left = ""
    if country is not None and country.adjusted.value is not None:
        before, after = country.unadjusted.value or 0, country.adjusted.value
        sign = "-" if before * after < 0 and float(shorten(after)) else ""
        left = f" {shorten(before)} {unit} become {sign}{shorten(after)} between {ALIKE}."
    yield _caution(
        result,
        entry.model.name,
        f"{entry.model.short_name}: The gap with {name_origin(gap.country.country)} is not told of the country: "
        f"{explanation.reason}.{left}{also}",
        f"Held fixed: {describe_covariates(rarity) if rarity else 'nothing'}. How long, spelt and frequent names are "
        "may itself follow from the country.",
        f"Use names that are equally long and common: {rerun(result, entry, '--gazetteer FILE')}",
        question="Is it the country, or what its names look like?",
        subject=gap.country.country,
        code=gap.country.code,
        p_adjusted=None if country is None else country.adjusted.p_adjusted,
    )


def _note_mirrored(result: NamesResult, entry: ClassifierMeasures) -> Iterator[Finding]:
    """Clear gaps that may only mirror the largest one."""
    gaps = rank_gaps(list_gaps(entry))
    mirrored = [gap.country.country for gap in list_mirrored(gaps)]
    if not mirrored:
        return
    codes = [country.code for country in entry.countries if country.code != gaps[0].country.code]
    yield _caution(
        result,
        entry.model.name,
        f"{entry.model.short_name}: The gaps of {list_first(mirrored)} may only mirror that of "
        f"{gaps[0].country.country}, which moves the mean of countries.",
        "Gaps from the mean of countries sum to 0.",
        f"Compare the others alone: {rerun(result, entry, '--countries ' + ','.join(codes))}",
        question="Do these countries differ from the others, or only from the country that stands out most?",
    )


def _doubt_spans(result: NamesResult) -> Iterator[Finding]:
    spans, treatment = result.counts.finder_spans, result.settings.doubtful
    if spans is None or not spans.doubtful:
        return
    model = _all_models(result)
    share, entry = spans.doubtful / spans.total, result.classifiers[0]
    if treatment == "keep":
        yield _caution(
            result,
            model,
            f"{spans.doubtful:,} of {spans.total:,} spans that the finder marked are probably not people, "
            "and were renamed too.",
            "Renaming spans that are not people distorts the text, and a classifier may react to that.",
            f"Leave them unchanged (the default): {rerun(result, entry)}",
        )
    elif share > MUCH_DOUBTFUL:
        yield _caution(
            result,
            model,
            f"{share:.0%} of the {spans.total:,} spans that the finder marked are probably not people, "
            "and were left out.",
            "Where the finder errs this often, some of the spans that were renamed are no people either.",
            f"Look at what is renamed, then give spans or another finder: {rerun(result, entry, '--preview 10')}",
        )


def _note_perplexity(result: NamesResult, entry: ClassifierMeasures) -> Iterator[Finding]:
    """The clearest correlation of a class with how strange a language model finds the names."""
    if entry.correlations is None:
        return
    within = entry.correlations.local.within
    marked = {label: estimate for label, estimate in within.items() if estimate.value and is_marked(estimate)}
    if not marked:
        return
    label, estimate = max(marked.items(), key=lambda item: abs(item[1].value or 0))
    value = estimate.value or 0
    yield _caution(
        result,
        entry.model.name,
        f"{entry.model.short_name}: Stranger names get a {'higher' if value > 0 else 'lower'} p({label}), whatever "
        f"their country: correlation with log-perplexity {value:+.2f} (95 % interval {interval(estimate, 2)}, "
        f"{format_p(estimate.p_adjusted)}).",
        f"Perplexity is that of {entry.correlations.lm}, which need not be what the classifier finds strange.",
        f"See what remains between equally rare names: {rerun(result, entry, '--full')}",
        question="Do names that a language model finds strange change the answers?",
        p=estimate.p,
        p_adjusted=estimate.p_adjusted,
        evidence=grade_evidence(estimate.p_adjusted),
    )


def _note_shared_names(result: NamesResult) -> Iterator[Finding]:
    """Names that several countries have: of a country that stands out, or, where none does, of most countries."""
    shares = {each.code: each.sharing.renamed_texts_with_shared for each in result.countries if each.sharing}
    clear = [gaps[0] for entry in result.classifiers if (gaps := _list_clear(entry))]
    for gap in clear:
        if shares.get(gap.country.code, 0) > MUCH_SHARED:
            yield _caution(
                result,
                gap.entry.model.name,
                f"{gap.entry.model.short_name}: {shares[gap.country.code]:.0%} of the renamed texts for "
                f"{gap.country.country} show a name that other countries also have: the gap is not specific to it.",
                "Countries that share names share their effect on a classifier.",
                f"Use names that only one country has: {rerun(result, gap.entry, '--gazetteer FILE')}",
                subject=gap.country.country,
                code=gap.country.code,
            )
    shared_count = sum(share > MUCH_SHARED for share in shares.values())
    if not clear and len(result.countries) > 1 and 2 * shared_count > len(result.countries):
        yield _caution(
            result,
            _all_models(result),
            f"In {shared_count} of {len(result.countries)} countries, most renamed texts show a name that another "
            f"country has too: shared names make countries look alike.",
            "A gap between countries is smaller the more names they share.",
            f"Compare countries that share few names: "
            f"{rerun(result, result.classifiers[0], '--countries US,MA,IN,TR')}",
        )


def _doubt_originals(result: NamesResult) -> Iterator[Finding]:
    """Δ against the originals without an interval, while that against the mean of countries has one."""
    entries = [
        entry
        for entry in result.classifiers
        if has_delta(entry) and list_gaps(entry) and entry.countries[0].inference.delta.low is None
    ]
    if not entries:
        return
    classifiers = list_first([entry.model.short_name for entry in entries])
    yield _caution(
        result,
        ", ".join(entry.model.name for entry in entries),
        f"Δ against the original texts has no interval for {classifiers}: it rests on a few texts. Read Δ against the "
        "mean of countries.",
        "A number without an interval says nothing about other texts.",
        f"Use more texts: {rerun(result, entries[0], '--texts FILE')}",
    )


def _all_models(result: NamesResult) -> str:
    return ", ".join(entry.model.name for entry in result.classifiers)
