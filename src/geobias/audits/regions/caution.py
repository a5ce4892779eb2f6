"""Whether the names of regions alone may make their scores, and other reasons not to rely on them."""

from __future__ import annotations

from collections.abc import Iterator
from math import inf

from geobias.audits.regions.notes import pluralise
from geobias.audits.regions.records import Placebo, TemplateAgreement, Tokenisation
from geobias.audits.regions.result import RegionsResult
from geobias.measures.estimates import SIGNIFICANT, Estimate
from geobias.measures.random_regions import MIN_REGIONS
from geobias.report.findings import Finding, Size, grade_evidence
from geobias.report.tables import format_interval, interval

MEDIUM, LARGE = 0.3, 0.5  # correlations, as Cohen (1988) calls them
NOTABLE_PLACEBO, FULL_PLACEBO = 0.5, 0.9  # distance between invented places, divided by that between real ones
CONDITIONAL = "conditional"
TRAITS = {"tokens": "more tokens a name has", "name_likelihood": "likelier a bare name is"}


def is_artefact(result: RegionsResult) -> bool:
    """Whether the score may be largely an effect of the names of regions.

    So it is where a region's distance from its siblings has a large and clear correlation with a trait of its bare
    name (|Spearman| >= 0.5, adjusted p < 0.05; at the highest level with ten regions), or where invented places lie at
    least 0.9 times as far apart as real ones.
    """
    correlation = _strongest_correlation(result)
    return (correlation is not None and _size(correlation[1]) >= LARGE) or _placebo_ratio(result) >= FULL_PLACEBO


def describe_artefact(result: RegionsResult) -> str:
    """The note above the map where names alone may make it; empty elsewhere."""
    if not is_artefact(result):
        return ""
    correlation, parts = _strongest_correlation(result), ["This map may be an artefact of names, not of places."]
    if correlation and _size(correlation[1]) >= LARGE:
        trait, estimate = correlation
        parts.append(f"{describe_correlation(trait, estimate.value or 0)} (Spearman {estimate.value:+.2f}).")
    if _placebo_ratio(result) >= FULL_PLACEBO:
        parts.append(f"Invented places lie {_placebo_ratio(result):.2f} times as far apart as real ones.")
    return " ".join(parts)


def describe_correlation(trait: str, value: float) -> str:
    """ "The more tokens a name has, the farther its region lies from its siblings"."""
    return f"The {TRAITS[trait]}, the {'farther' if value > 0 else 'closer'} its region lies from its siblings"


def has_names_test(result: RegionsResult) -> bool:
    """Whether anything says what names alone do."""
    return bool(result.tokenisation) or result.placebo is not None


def list_cautions(result: RegionsResult) -> Iterator[Finding]:
    correlation = _strongest_correlation(result)
    if correlation and _size(correlation[1]) >= MEDIUM:
        yield _caution_names(result, result.tokenisation[0], *correlation)
    if result.placebo and _placebo_ratio(result) >= NOTABLE_PLACEBO:
        yield _caution_placebo(result, result.placebo)
    for agreement in result.kendall_w or ():
        if agreement.p is not None and agreement.p >= SIGNIFICANT and agreement.regions >= MIN_REGIONS:
            yield _caution_templates(result, agreement)


def better_option(result: RegionsResult) -> str:
    """What depends less on names, or shows what they do; only what this run has not used."""
    options = [] if result.placebo else ["--placebo"]
    if result.model.score != CONDITIONAL and (result.model.architecture or result.model.endpoint):
        options.insert(0, f"--score {CONDITIONAL}")
    is_masked = "MaskedLM" in (result.model.architecture or "")
    other_model = "use a causal model" if is_masked else "use another model"
    if not options:
        return f"{other_model.capitalize()}; compare places whose names have as many tokens."
    return f"Add {' '.join(options)} to the command, or {other_model}."


def name_model(result: RegionsResult) -> str:
    """The model and the score in a sentence: several scores of one model may be shown together."""
    return f"{result.model.short_name} ({result.model.score})"


def _strongest_correlation(result: RegionsResult) -> tuple[str, Estimate] | None:
    """The property of the name that correlates most with the distance, among the clear ones at the highest level."""
    if not result.tokenisation:
        return None
    estimates = {trait: getattr(result.tokenisation[0], trait) for trait in TRAITS}
    clear = {
        trait: estimate
        for trait, estimate in estimates.items()
        if estimate is not None and estimate.p_adjusted is not None and estimate.p_adjusted < SIGNIFICANT
    }
    return max(clear.items(), key=lambda item: _size(item[1]), default=None)


def _size(correlation: Estimate) -> float:
    return abs(correlation.value or 0.0)


def _placebo_ratio(result: RegionsResult) -> float:
    """How far apart invented places lie, divided by real ones; minus infinity where it was not measured."""
    ratio = result.placebo.ratio if result.placebo else None
    return -inf if ratio is None or ratio.value is None else ratio.value


def _caution_names(result: RegionsResult, level: Tokenisation, trait: str, correlation: Estimate) -> Finding:
    assert correlation.value is not None
    amount = "much" if _size(correlation) >= LARGE else "part"
    bounds = f", 95 % interval {interval(correlation, 2)}" if correlation.low is not None else ""
    return Finding(
        role="caution",
        audit=result.audit,
        model=result.model.name,
        question=f"Does a {level.level}'s distance from its siblings correlate with properties of its name?",
        direction="higher" if correlation.value > 0 else "lower",
        size=Size(correlation.value, correlation.low, correlation.high, "Spearman correlation"),
        p=correlation.p,
        p_adjusted=correlation.p_adjusted,
        evidence=grade_evidence(correlation.p_adjusted),
        sentence=f"{result.model.short_name}: {describe_correlation(trait, correlation.value)} (Spearman "
        f"{correlation.value:+.2f}{bounds}): {amount} of HERB's distances may be an artefact of the "
        "names, not a description of the places.",
        limit=f"A correlation over {level.regions:,} {pluralise(level.level)}: how much names explain is not known.",
        next_step=better_option(result),
    )


def _caution_placebo(result: RegionsResult, placebo: Placebo) -> Finding:
    ratio = placebo.ratio
    assert ratio is not None and ratio.value is not None
    bounds = f" ({format_interval(ratio, '.2f')})" if ratio.low is not None else ""
    meaning = (
        "names alone may produce nearly all of HERB's distances."
        if ratio.value >= FULL_PLACEBO
        else "names alone produce much of HERB's distances."
    )
    tokens = "The invented names were not matched to the real ones by their number of tokens."
    if placebo.tokens is not None and placebo.real_tokens is not None:
        tokens = f"Invented names have {placebo.tokens:.1f} tokens on average, the real ones {placebo.real_tokens:.1f}."
    return Finding(
        role="caution",
        audit=result.audit,
        model=result.model.name,
        question=f"Do invented places lie as far apart as real {pluralise(placebo.level)}?",
        size=Size(ratio.value, ratio.low, ratio.high, "times"),
        evidence="not testable",
        sentence=f"{result.model.short_name}: {len(placebo.names)} invented places lie {ratio.value:.2f} times as far "
        f"apart as real {pluralise(placebo.level)}{bounds}: {meaning}",
        limit=tokens,
        next_step=better_option(result),
    )


def _caution_templates(result: RegionsResult, agreement: TemplateAgreement) -> Finding:
    return Finding(
        role="caution",
        audit=result.audit,
        model=result.model.name,
        question=f"Do the templates rank the {pluralise(agreement.level)} alike?",
        size=None if agreement.w is None else Size(agreement.w, None, None, "Kendall's W"),
        p=agreement.p,
        p_adjusted=agreement.p,
        evidence=grade_evidence(agreement.p),
        sentence=f"{result.model.short_name}: The {len(result.settings.templates)} templates do not rank the "
        f"{agreement.regions:,} {pluralise(agreement.level)} alike (Kendall's W {agreement.w:.2f}, p = "
        f"{agreement.p:.2g}): results may hold for one wording only.",
        limit="With few templates, even agreement may not be clear.",
        next_step="Look at how much each score varies over the templates: tables/regions.csv, columns ending in "
        "_spread.",
    )
