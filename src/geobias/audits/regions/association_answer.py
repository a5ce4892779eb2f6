"""The overall answer about associations: more than a name, more than fame, and only then the country.

Five kinds of test answer for the whole: the signal (all regions and words together), single regions, pairs, tones and
topics. Each is made against invented places, and against known places with fame held fixed; the larger p-value of a
kind counts. The smallest of the kinds is multiplied by their number (Bonferroni). Where known places are missing, or
not as well known as the regions, country and fame cannot be told apart, and nothing is called clear.
"""

from __future__ import annotations

from geobias.audits.languages import is_other_language
from geobias.audits.regions.association_findings import (
    FILE,
    Claim,
    can_tell,
    describe_limit,
    list_clear_tones,
    list_clear_topics,
    list_p_values,
    make_finding,
    measure_departure,
)
from geobias.audits.regions.association_records import Association, AssociationSignal, list_compared
from geobias.audits.regions.caution import name_model
from geobias.audits.regions.notes import name_level, pluralise
from geobias.audits.regions.result import RegionsResult
from geobias.measures.association_signal import FEWEST_PARAPHRASES
from geobias.measures.estimates import Estimate
from geobias.report.findings import Evidence, Finding, format_p, grade_evidence
from geobias.report.sentences import format_number, list_first, measure_size
from geobias.report.tables import format_interval

TOTALS = "It holds if the function returns total log-likelihoods, not means per token."
MOSTLY_COMPARABLE = 0.5  # share of names with as many tokens as those compared with; with fewer, it is extrapolated


def answer_association(result: RegionsResult) -> Finding | None:
    """The overall answer; None if no associations were asked for."""
    association = result.association
    if result.settings.paraphrases is None:
        return None
    if association is None and any(map(is_other_language, result.settings.templates)):
        return _untestable(
            result,
            "the template is in another language, and their sentences are English.",
            "Give English templates, or add --paraphrases 0 to leave associations out.",
        )
    if association is None:
        return _untestable(
            result,
            "they need three regions of one level, and three words.",
            "Choose at least three countries and three words; with --subject demonym, countries that have one.",
        )
    p_values = list_p_values(association)
    if not p_values:
        return _untestable(
            result, "there are no invented places to compare them with.", "Run it again without --no-placebo."
        )
    smallest = min(p_values, key=lambda name: p_values[name])
    p = min(1.0, len(p_values) * p_values[smallest])
    signal = association.signal
    limits = list(_list_limits(association))
    evidence: Evidence = _weaken(grade_evidence(p)) if limits else grade_evidence(p)
    is_name_beaten = signal is not None and grade_evidence(signal.p_names) != "none"
    limit, next_step = describe_limit(association), f"See what is said of whom: {FILE}."
    size = None if signal is None else signal.beyond_names  # what the sentence leads with
    if evidence == "none" and is_name_beaten and signal is not None:
        evidence, p, sentence = "suggestive", signal.p_names, _say_name_only(association, signal)
        size = signal.beyond_names if _is_more(signal.beyond_names) else None
    elif evidence == "none":
        sentence, limit = _say_null(association), _describe_clearest(association)
        next_step = "Other words (--words) may show more."
    else:
        sentence = _say_found(association, smallest, p, can_tell=can_tell(signal))
        size = signal.beyond_fame if signal is not None and can_tell(signal) else size
    if not (result.model.architecture or result.model.endpoint):
        limit = TOTALS
    if limits and evidence != "none":
        limit = f"{limits[0]} {limit}"
    return make_finding(
        result,
        "overall",
        direction=None if size is None or size.value is None else "higher" if size.value > 0 else "lower",
        size=None if size is None else measure_size(size, "nats"),
        p=p_values[smallest],
        p_adjusted=p,
        evidence=evidence,
        sentence=f"{name_model(result)}: {sentence}",
        limit=limit,
        next_step=next_step,
    )


def _list_limits(association: Association) -> list[str]:
    """Why the answer is at most suggestive."""
    signal, limits = association.signal, []
    if association.paraphrases < FEWEST_PARAPHRASES:
        limits.append("With so few paraphrases it may hold for their wording only: use --paraphrases 4 or more.")
    if signal is None:
        return limits
    if not can_tell(signal):
        limits.append("Without known places as well known as these, country and fame cannot be told apart.")
    shares = [signal.comparable_names, *([signal.comparable_known or 0.0] if can_tell(signal) else [])]
    if max(shares) < MOSTLY_COMPARABLE:
        limits.append(
            f"Only {100 * max(shares):.0f} % of the names have as many tokens as those they are compared with: the "
            "rest is extrapolated."
        )
    return limits


def _weaken(evidence: Evidence) -> Evidence:
    return "suggestive" if evidence == "clear" else evidence


def _say_found(association: Association, kind: str, p: float, *, can_tell: bool) -> str:
    """More than a name, and more than fame where that can be told."""
    level, signal = name_level(association.level), association.signal
    meaning = (
        f"what it says depends on the {level}, not only on its name or fame"
        if can_tell
        else f"what it says depends on more than the name; cannot tell whether on the {level} or on its fame"
    )
    regions = f"{len(list_compared(association)):,} {pluralise(association.level)}"
    others = "invented and known places" if can_tell else "invented places"
    if kind == "signal" and signal is not None:
        pairs = f"{association.marked:,} of {association.tests:,} pairs"
        stand = f"{pairs} {'stands out by itself' if association.marked == 1 else 'stand out by themselves'}."
        if not association.marked:
            stand = f"None of {association.tests:,} pairs stands out by itself."
        more = _say_more(association, signal.beyond_names, "invented places", p)
        if can_tell and signal.beyond_fame is not None:
            more = (
                f"Words go with {pluralise(association.level)} more than with invented places "
                f"({signal.beyond_names.value or 0:+.2f} nats) and, fame held fixed, than with known places "
                f"({_format_nats(signal.beyond_fame)}, {format_p(p)})"
            )
        return f"{more}: {meaning}.{_say_fame(signal)} {stand}"
    if kind == "regions" and signal is not None:
        names = list_first([each.name for each in signal.standing_out])
        subject = f"{len(signal.standing_out):,} of {regions} ({names})"
        count = len(signal.standing_out)
    elif kind == "pairs":
        subject = f"{association.marked:,} of {association.tests:,} pairs of {level} and word"
        count = association.marked
    else:
        claims = list_clear_tones(association) if kind == "tones" else list_clear_topics(association)
        subject = f"{'In tone' if kind == 'tones' else 'In the words of a topic'}, {len(claims):,} of {regions}"
        count = len(claims)
    stands = "stands" if count == 1 else "stand"
    return f"{subject} {stands} out from {others} ({format_p(p)}): {meaning}.{_say_fame(signal)}"


def _say_name_only(association: Association, signal: AssociationSignal) -> str:
    """More than a name; more than fame is not clear, or cannot be told."""
    start = _say_more(association, signal.beyond_names, "invented places", signal.p_names)
    if not _is_more(signal.beyond_names):  # the test that answers is of single regions, pairs, tones or topics
        start = (
            f"Some words go with single {pluralise(association.level)} more than with invented places "
            f"({format_p(signal.p_names)}; all together {_format_nats(signal.beyond_names)})"
        )
    if not can_tell(signal) or signal.beyond_fame is None:
        level = name_level(association.level)
        return f"{start}: more than a name, but cannot tell whether {level} or fame."
    known = _format_nats(signal.beyond_fame)
    less = f"but not clearly more than with known places of the same fame ({known}): perhaps no more than fame."
    return f"{start}, {less}{_say_fame(signal)}"


def _say_fame(signal: AssociationSignal | None) -> str:
    """How much fame explains: a statement of its own, where country and fame can be told apart."""
    if signal is None or signal.fame_share is None or not can_tell(signal):
        return ""
    return f" Fame explains {100 * signal.fame_share:.0f} % of the associations."


def _is_more(estimate: Estimate) -> bool:
    return (estimate.value or 0) > 0 and (estimate.p is None or grade_evidence(estimate.p) != "none")


def _say_more(association: Association, estimate: Estimate, others: str, p: float) -> str:
    """Associations of regions against those of other places, with the interval of the same comparison."""
    levels = pluralise(association.level)
    if estimate.value is None:
        return f"Words go with {levels} more than with {others} ({format_p(p)})"
    direction = "more" if estimate.value > 0 else "less"
    return f"Words go with {levels} {direction} than with {others} ({_format_nats(estimate)}, {format_p(p)})"


def _format_nats(estimate: Estimate) -> str:
    value = f"{estimate.value or 0:+.2f} nats"
    return value if estimate.low is None else f"{value}, 95 % interval {format_interval(estimate, '+.2f')}"


def _say_null(association: Association) -> str:
    signal, missed = association.signal, association.detectable_times
    power = f"; one under {format_number(missed)} times would probably be missed" if missed else ""
    few = "" if missed else f": {len(association.words)} words are too few for that"
    if association.paraphrases < 2:
        return (
            f"In a single sentence no pair is tested, and {len(list_compared(association)):,} regions do not stand out."
        )
    pairs = f"None of {association.tests:,} pairs stands out{power or few}."
    if association.marked:  # of the pairs alone, before they are counted as one test of several
        stand = "stands" if association.marked == 1 else "stand"
        pairs = f"{association.marked:,} of {association.tests:,} pairs {stand} out, too few for all tests together."
    if signal is None or signal.beyond_names.value is None:
        return pairs
    levels, value = pluralise(association.level), signal.beyond_names.value
    explanation = "it may be names alone" if value > 0 else "no more than names alone"
    return (
        f"Words do not clearly go with {levels} more than with invented places "
        f"({_format_nats(signal.beyond_names)}): {explanation}. {pairs}"
    )


def _describe_clearest(association: Association) -> str:
    """The clearest pair, which a null has too; of a single sentence none is named."""
    claims = [
        Claim(region, word.word, word.times)
        for region in list_compared(association)
        for word in (*region.more, *region.less)
    ]
    if not claims or association.paraphrases < 2:
        return describe_limit(association)
    region, word, times = min(claims, key=lambda claim: (claim.times.p or 0, -measure_departure(claim.times)))
    return (
        f"The clearest pair is {region.name} and '{word}': {format_number(times.value or 0)} times as likely as of the "
        f"average {name_level(association.level)}, relative to other words ({format_p(times.p_adjusted)})."
    )


def _untestable(result: RegionsResult, reason: str, next_step: str) -> Finding:
    return make_finding(
        result,
        "overall",
        evidence="not testable",
        sentence=f"{name_model(result)}: Associations of regions and words cannot be tested: {reason}",
        limit="Without a test, typical words may be an effect of names alone.",
        next_step=next_step,
    )
