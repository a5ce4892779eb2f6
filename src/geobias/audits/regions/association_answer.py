"""The overall answer about associations: what is said of whom.

More than a name, more than fame, and only then the country. Six kinds of test answer for the whole: the signal (all
regions and words together), regions together and single regions by the length of their rows, pairs, tones and topics.
Each is made against invented places, and against known places with fame held fixed; the larger p-value of a kind
counts. The smallest of the kinds is multiplied by their number (Bonferroni). Where known places are missing, or not as
well known as the regions, country and fame cannot be told apart, and nothing is called clear.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from math import log
from typing import Any

from geobias.audits.languages import is_other_language
from geobias.audits.regions.result import RegionsResult, pluralise
from geobias.audits.regions.rows import (
    Association,
    AssociationSignal,
    RegionAssociation,
    TopicAssociation,
    WordAssociation,
)
from geobias.measures.association_signal import FEWEST_PARAPHRASES
from geobias.measures.estimates import SIGNIFICANT, Estimate
from geobias.report.findings import Finding, Role, format_p, grade_evidence
from geobias.report.sentences import format_number, list_first, measure_size
from geobias.report.tables import format_interval, is_marked, listed
from geobias.world.countries import UN_STATES

MOST_NAMED = 3  # of the regions that stand out together, and not by themselves
MOSTLY_COMPARABLE = 0.5  # share of names with as many tokens as those compared with; with fewer, it is extrapolated
FILE = "tables/associations.csv"
TOTALS = "It holds if the function returns total log-likelihoods, not means per token."
Claim = WordAssociation | TopicAssociation | RegionAssociation  # of a region: a word, a topic, or its tone


def answer_association(result: RegionsResult) -> Finding | None:
    """The overall answer; None if no associations were asked for."""
    association = result.association
    if result.settings.paraphrases is None:
        return None
    if association is None and any(map(is_other_language, result.settings.templates)):
        return _explain_no_test(
            result,
            "the template is in another language, and their sentences are English.",
            "Give English templates, or add --paraphrases 0 to leave associations out.",
        )
    if association is None:
        return _explain_no_test(
            result,
            "they need three regions of one level, and three words.",
            "Choose at least three countries and three words; with --subject demonym, countries that have one.",
        )
    p_values, signal = list_p_values(result, association), association.signal
    if not p_values or signal is None:
        return _explain_no_test(
            result, "there are no invented places to compare them with.", "Run it again without --no-placebo."
        )
    smallest = min(p_values, key=lambda name: p_values[name])
    p = min(1.0, len(p_values) * p_values[smallest])
    caps = list(_list_caps(association, signal))
    evidence = grade_evidence(p)
    limit, next_step, size = _describe_limit(result, association), f"See what is said of whom: {FILE}.", None
    if evidence == "none" and grade_evidence(signal.p_names) != "none":
        evidence, p, sentence = "suggestive", signal.p_names, _say_name_only(association, signal)
        size = signal.beyond_names if _is_more(signal.beyond_names) else None
    elif evidence == "none":
        sentence, limit = _say_null(result, association, signal), _describe_clearest(result, association)
        size, next_step = signal.beyond_names, "Other words (--words) may show more."
    else:
        evidence = "suggestive" if evidence == "clear" and caps else evidence
        sentence = _say_answer(result, association, signal, smallest, p)
        size = signal.beyond_fame if signal.can_tell else signal.beyond_names
    if not (result.model.architecture or result.model.endpoint):
        limit = TOTALS
    if caps and evidence != "none":
        limit = f"{caps[0]} {limit}"
    return make_association_finding(
        result,
        "overall",
        direction=None if size is None or size.value is None else "higher" if size.value > 0 else "lower",
        size=None if size is None else measure_size(size, "nats"),
        p=p_values[smallest],
        p_adjusted=p,
        evidence=evidence,
        sentence=f"{result.label}: {sentence}",
        limit=limit,
        next_step=next_step,
    )


def _explain_no_test(result: RegionsResult, reason: str, next_step: str) -> Finding:
    return make_association_finding(
        result,
        "overall",
        evidence="not testable",
        sentence=f"{result.label}: Associations of regions and words cannot be tested: {reason}",
        limit="Without a test, typical words may be an effect of names alone.",
        next_step=next_step,
    )


def _list_caps(association: Association, signal: AssociationSignal) -> Iterator[str]:
    """Why the answer is at most suggestive."""
    if association.paraphrases < FEWEST_PARAPHRASES:
        yield "With so few paraphrases it may hold for their wording only: use --paraphrases 4 or more."
    if not signal.can_tell:
        yield "Without known places as well known as these, country and fame cannot be told apart."
    shares = [signal.comparable_names, *([signal.comparable_known or 0.0] if signal.can_tell else [])]
    if max(shares) < MOSTLY_COMPARABLE:
        yield (
            f"Only {100 * max(shares):.0f} % of the names have as many tokens as those they are compared with: the "
            "rest is extrapolated."
        )


def list_p_values(result: RegionsResult, association: Association) -> dict[str, float]:
    """The smallest adjusted p-value of each kind of test that was made; fewer associations are no evidence of bias."""
    families: dict[str, Iterable[Claim]] = {
        "pairs": result.associations,
        "tones": list_tones(result),
        "topics": result.topic_associations,
    }
    p_values, signal = {}, association.signal
    if signal is not None:
        compared = [signal.beyond_names, *([signal.beyond_fame] if signal.beyond_fame and signal.can_tell else [])]
        if all(each.p is not None for each in compared):
            p_values["signal"] = max(each.p or 0.0 if (each.value or 0) > 0 else 1.0 for each in compared)
        if signal.p_regions is not None:
            p_values["regions"] = signal.p_regions
        p_values["together"] = signal.p_together
    for name, rows in families.items():
        tested = [row.times.p_adjusted for row in rows if row.times.p_adjusted is not None]
        if tested:
            p_values[name] = min(tested)
    return p_values


def _say_answer(result: RegionsResult, association: Association, signal: AssociationSignal, kind: str, p: float) -> str:
    """More than a name, and more than fame where that can be told; by the kind of test that is clearest."""
    level, members = association.noun, pluralise(association.level)
    if signal.can_tell:
        meaning = f"what it says depends on the {level}, not only on its name or fame"
    else:
        meaning = f"what it says depends on more than the name; cannot tell whether on the {level} or on its fame"
    end = f": {meaning}.{_say_fame(signal)}"
    marked, pairs = association.marked, f"{association.marked:,} of {association.tests:,} pairs"
    if kind == "signal":
        more = _say_more(association, signal.beyond_names, p)
        if signal.can_tell and signal.beyond_fame is not None:
            more = (
                f"Words go with {members} more than with invented places ({signal.beyond_names.value or 0:+.2f} nats) "
                f"and, fame held fixed, than with known places ({_format_nats(signal.beyond_fame)}, {format_p(p)})"
            )
        alone = f"{pairs} {'stands out by itself' if marked == 1 else 'stand out by themselves'}."
        return f"{more}{end} {alone if marked else f'None of {association.tests:,} pairs stands out by itself.'}"
    regions, others = f"{len(result.region_associations):,} {members}", name_controls(association)
    names = [row.name for row in list_standing_out(result)]
    if kind == "together" and len(names) < MOST_NAMED:
        farthest = sorted(result.region_associations, key=lambda row: row.p_adjusted or 0.0)[:MOST_NAMED]
        most = listed([row.name for row in farthest])
        alone = f"only {listed(names)} {'is' if len(names) == 1 else 'are'}" if names else "none is"
        return (
            f"Some of the {regions} are described unlike {others} (tested together, {format_p(p)}), most of all "
            f"{most}, of which {alone} clear when tested alone{end}"
        )
    if kind in ("regions", "together"):
        count, subject = len(names), f"{len(names):,} of {regions} ({list_first(names)})"
    elif kind == "pairs":
        count, subject = marked, f"{pairs} of {level} and word"
    else:
        count = len(list_clear(result, list_tones(result) if kind == "tones" else result.topic_associations))
        subject = f"{'In tone' if kind == 'tones' else 'In the words of a topic'}, {count:,} of {regions}"
    return f"{subject} {'stands' if count == 1 else 'stand'} out from {others} ({format_p(p)}){end}"


def _say_name_only(association: Association, signal: AssociationSignal) -> str:
    """More than a name; more than fame is not clear, or cannot be told."""
    start = _say_more(association, signal.beyond_names, signal.p_names)
    if not _is_more(signal.beyond_names):  # the test that answers is of single regions, pairs, tones or topics
        start = (
            f"Some words go with single {pluralise(association.level)} more than with invented places "
            f"({format_p(signal.p_names)}), though on average over all of them not clearly "
            f"({_format_nats(signal.beyond_names)})"
        )
    # No number: a pair of a country whose whole row moved must be much larger than `detectable_times`.
    power = f" A few {pluralise(association.level)} with words of their own may be missed."
    if not signal.can_tell or signal.beyond_fame is None:
        return f"{start}: more than a name, but cannot tell whether {association.noun} or fame.{power}"
    known = _format_nats(signal.beyond_fame)
    less = (
        f"but the tests together do not show more than with known places of the same fame (on average {known}): "
        "perhaps no more than fame."
    )
    return f"{start}, {less}{_say_fame(signal)}{power}"


def _say_fame(signal: AssociationSignal) -> str:
    """How much fame explains: a statement of its own, where country and fame can be told apart."""
    if signal.fame_share is None or not signal.can_tell:
        return ""
    return f" Fame explains {100 * signal.fame_share:.0f} % of the associations."


def _is_more(estimate: Estimate) -> bool:
    return (estimate.value or 0) > 0 and (estimate.p is None or grade_evidence(estimate.p) != "none")


def _say_more(association: Association, estimate: Estimate, p: float) -> str:
    """Associations of regions against those of invented places, with the interval of the same comparison."""
    direction, nats = "more", ""
    if estimate.value is not None:
        direction, nats = "more" if estimate.value > 0 else "less", f"{_format_nats(estimate)}, "
    return f"Words go with {pluralise(association.level)} {direction} than with invented places ({nats}{format_p(p)})"


def _format_nats(estimate: Estimate) -> str:
    value = f"{estimate.value or 0:+.2f} nats"
    return value if estimate.low is None else f"{value}, 95 % interval {format_interval(estimate, '+.2f')}"


def _say_null(result: RegionsResult, association: Association, signal: AssociationSignal) -> str:
    missed, value = association.detectable_times, signal.beyond_names.value
    if association.paraphrases < 2:
        compared = len(result.region_associations)
        return f"In a single sentence no pair is tested, and {compared:,} regions do not stand out."
    power = f"; one under {format_number(missed)} times would probably be missed" if missed else ""
    few = "" if missed else f": {len(result.scored_words)} words are too few for that"
    pairs = f"None of {association.tests:,} pairs stands out{power or few}."
    if association.marked:  # of the pairs alone, before they are counted as one test of several
        stand = "stands" if association.marked == 1 else "stand"
        pairs = f"{association.marked:,} of {association.tests:,} pairs {stand} out, too few for all tests together."
    if value is None:
        return pairs
    explanation = "it may be names alone" if value > 0 else "no more than names alone"
    return (
        f"Words do not clearly go with {pluralise(association.level)} more than with invented places "
        f"({_format_nats(signal.beyond_names)}): {explanation}. {pairs}"
    )


def _describe_clearest(result: RegionsResult, association: Association) -> str:
    """The clearest pair, which a null has too; of a single sentence none is named."""
    if not result.associations or association.paraphrases < 2:
        return _describe_limit(result, association)
    row = min(result.associations, key=lambda each: (each.times.p or 0, -measure_departure(each.times)))
    return (
        f"The clearest pair is {row.name} and '{row.word}': {format_number(row.times.value or 0)} times as likely as "
        f"of the average {association.noun}, relative to other words ({format_p(row.times.p_adjusted)})."
    )


def _describe_limit(result: RegionsResult, association: Association) -> str:
    return (
        f"It holds for these {len(result.scored_words):,} words in {count_sentences(association)}; "
        f"times are relative to the average {association.noun} and to other words."
    )


def count_sentences(association: Association) -> str:
    count = association.paraphrases
    return "one sentence" if count == 1 else f"{count} paraphrases of a sentence"


def make_association_finding(result: RegionsResult, role: Role, **fields: Any) -> Finding:
    noun = "region" if result.association is None else result.association.noun
    question = f"Does what the model says depend on the {noun}, beyond its name?"
    names = {"audit": result.audit, "model": result.model.name, "measure": "association", "question": question}
    return Finding(role=role, **(names | fields))


def name_controls(association: Association) -> str:
    """The places that the tests of words, tones and topics compare with."""
    can_tell = association.signal is not None and association.signal.can_tell
    return "invented and known places" if can_tell else "invented places"


def list_tones(result: RegionsResult) -> list[RegionAssociation]:
    return [row for row in result.region_associations if row.valence]


def list_standing_out(result: RegionsResult) -> list[RegionAssociation]:
    """The regions that stand out by all their words together, the clearest first."""
    rows = [row for row in result.region_associations if row.p_adjusted is not None and row.p_adjusted < SIGNIFICANT]
    return sorted(rows, key=lambda row: row.p_adjusted or 0.0)


def list_clear(result: RegionsResult, rows: Sequence[Claim]) -> list[Claim]:
    """The clearest row of each region that has one beyond invented places, the clearest first.

    States of the United Nations come first: other countries of GeoNames are mostly territories, which lead many
    rankings.
    """
    marked = [row for row in rows if is_marked(row.times)]
    by_region: dict[str, Claim] = {}
    for row in sorted(marked, key=lambda row: (is_territory(row), -measure_certainty(row.times))):
        by_region.setdefault(row.id, row)
    return list(by_region.values())


def is_territory(row: Claim) -> bool:
    return row.level == "country" and row.id not in UN_STATES


def measure_certainty(times: Estimate) -> float:
    """How far from the average region the nearer end of the interval is, in nats; the value if there is no interval."""
    if times.low is None or times.high is None:
        return measure_departure(times)
    return max(log(times.low), -log(times.high), 0.0)


def measure_departure(times: Estimate) -> float:
    """How far from the average region, in nats, in either direction."""
    return abs(log(times.value)) if times.value else 0.0
