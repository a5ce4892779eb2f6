"""What is concluded about associations: what is said of whom.

More than a name, more than fame, and only then the country. Six kinds of test answer for the whole: the signal (all
regions and words together), regions together and single regions by the length of their rows, pairs, tones and topics.
Each is made against invented places, and against known places with fame held fixed; the larger p-value of a kind
counts. The smallest of the kinds is multiplied by their number (Bonferroni). Where known places are missing, or not as
well known as the regions, country and fame cannot be told apart, and nothing is called clear.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from geobias.audits.doubts import is_other_language
from geobias.audits.regions.result import (
    Claim,
    RegionsResult,
    is_territory,
    list_clear,
    list_p_values,
    list_standing_out,
    list_tones,
    measure_departure,
    pluralise,
)
from geobias.audits.regions.rows import Association, AssociationSignal
from geobias.measures.association_signal import FEWEST_PARAPHRASES
from geobias.measures.estimates import Estimate
from geobias.report.findings import DIFFERENCES, Finding, Size, format_p, grade_evidence
from geobias.report.model_findings import Conclusions, TooLittle
from geobias.report.sentences import format_evidence, format_number, list_first, measure_size
from geobias.report.tables import format_interval, listed
from geobias.texts.paraphrases import MOST_PARAPHRASES

MOST_NAMED, MOST_PAIRS, MOST_TONES, MOST_TOPICS = 3, 5, 2, 1  # the first: of regions that stand out together only
MOSTLY_COMPARABLE = 0.5  # share of names with as many tokens as those compared with; with fewer, it is extrapolated
LOW_AGREEMENT = 0.7
THREE = "Choose at least three countries and three words; with --subject demonym, countries that have one."
ALIKE = "It is compared with invented places and, fame held fixed, with known places that are no countries."
FILE = "tables/associations.csv"
TOTALS = "It holds if the function returns total log-likelihoods, not means per token."
UNTESTED = "Without a test, typical words may be an effect of names alone."


class AssociationFindings(Conclusions):
    """Which words a model uses more of one region than of others."""

    audit = "regions"
    measure = "association"

    def __init__(self, result: RegionsResult) -> None:
        super().__init__(result.model)
        self.result, self.p_values = result, list_p_values(result)
        self.noun = "region" if result.association is None else result.association.noun
        self.members = "regions" if result.association is None else pluralise(result.association.level)
        self.average = f"the average {self.noun}"

    @property
    def question(self) -> str:
        return f"Does what the model says depend on the {self.noun}, beyond its name?"

    @property
    def association(self) -> Association:
        assert self.result.association is not None  # else there is too little to say anything
        return self.result.association

    @property
    def signal(self) -> AssociationSignal:
        assert self.association.signal is not None
        return self.association.signal

    def explain_too_little(self) -> TooLittle | None:
        reason, association = "", self.result.association
        if association is None and any(map(is_other_language, self.result.settings.templates)):
            reason = "the template is in another language, and their sentences are English."
            next_step = "Give English templates, or add --paraphrases 0 to leave associations out."
        elif association is None:
            reason = "they need three regions of one level, and three words."
            next_step = THREE
        elif association.signal is None:
            reason = "there are no invented places to compare them with."
            next_step = "Run it again without --no-placebo."
        if not reason:
            return None
        sentence = f"{self.result.label}: Associations of regions and words cannot be tested: {reason}"
        return TooLittle(sentence, next_step, UNTESTED)

    def answer(self) -> Finding:
        if too_little := self.explain_too_little():
            return self.make_plain("overall", too_little.sentence, too_little.limit, too_little.next_step)
        signal, kind = self.signal, min(self.p_values, key=lambda name: self.p_values[name])
        p, size = min(1.0, len(self.p_values) * self.p_values[kind]), None
        caps, evidence = list(self._list_caps()), grade_evidence(p)
        limit, next_step = self._describe_limit(), f"See what is said of whom: {FILE}."
        if evidence == "none" and grade_evidence(signal.p_names) != "none":
            evidence, p, sentence = "suggestive", signal.p_names, self._say_name_only()
            size = signal.beyond_names if _is_more(signal.beyond_names) else None
        elif evidence == "none":
            sentence, limit = self._say_null(), self._describe_clearest()
            size, next_step = signal.beyond_names, "Other words (--words) may show more."
        else:
            evidence = "suggestive" if evidence == "clear" and caps else evidence
            sentence = self._say_answer(kind, p)
            size = signal.beyond_fame if signal.can_tell else signal.beyond_names
        if not (self.model.architecture or self.model.endpoint):
            limit = TOTALS
        if caps and evidence != "none":
            limit = f"{caps[0]} {limit}"
        return self.make_plain(
            "overall",
            f"{self.result.label}: {sentence}",
            limit,
            next_step,
            direction=None if size is None or size.value is None else "higher" if size.value > 0 else "lower",
            size=None if size is None else measure_size(size, "nats"),
            p=self.p_values[kind],
            p_adjusted=p,
            evidence=evidence,
        )

    def _list_caps(self) -> Iterator[str]:
        """Why the answer is at most suggestive."""
        signal = self.signal
        if self.association.paraphrases < FEWEST_PARAPHRASES:
            yield "With so few paraphrases it may hold for their wording only: use --paraphrases 4 or more."
        if not signal.can_tell:
            yield "Without known places as well known as these, country and fame cannot be told apart."
        shares = [signal.comparable_names, *([signal.comparable_known or 0.0] if signal.can_tell else [])]
        if max(shares) < MOSTLY_COMPARABLE:
            yield (
                f"Only {100 * max(shares):.0f} % of the names have as many tokens as those they are compared with: "
                "the rest is extrapolated."
            )

    def _say_answer(self, kind: str, p: float) -> str:
        """More than a name, and more than fame where that can be told; by the kind of test that is clearest."""
        signal, noun, tests = self.signal, self.noun, self.association.tests
        if signal.can_tell:
            meaning = f"what it says depends on the {noun}, not only on its name or fame"
        else:
            meaning = f"what it says depends on more than the name; cannot tell whether on the {noun} or on its fame"
        end = f": {meaning}.{self._say_fame()}"
        marked, pairs = self.association.marked, f"{self.association.marked:,} of {tests:,} pairs"
        if kind == "signal":
            more = self._say_more(p)
            if signal.can_tell and signal.beyond_fame is not None:
                more = (
                    f"Words go with {self.members} more than with invented places "
                    f"({signal.beyond_names.value or 0:+.2f} nats) and, fame held fixed, than with known places "
                    f"({_format_nats(signal.beyond_fame)}, {format_p(p)})"
                )
            alone = f"{pairs} {'stands out by itself' if marked == 1 else 'stand out by themselves'}."
            return f"{more}{end} {alone if marked else f'None of {tests:,} pairs stands out by itself.'}"
        rows, others = self.result.region_associations, self.association.controls
        regions, names = f"{len(rows):,} {self.members}", [row.name for row in list_standing_out(self.result)]
        if kind == "together" and len(names) < MOST_NAMED:
            most = listed([row.name for row in sorted(rows, key=lambda row: row.p_adjusted or 0.0)[:MOST_NAMED]])
            alone = f"only {listed(names)} {'is' if len(names) == 1 else 'are'}" if names else "none is"
            return (
                f"Some of the {regions} are described unlike {others} (tested together, {format_p(p)}), most of all "
                f"{most}, of which {alone} clear when tested alone{end}"
            )
        if kind in ("regions", "together"):
            count, subject = len(names), f"{len(names):,} of {regions} ({list_first(names)})"
        elif kind == "pairs":
            count, subject = marked, f"{pairs} of {noun} and word"
        else:
            claims = list_tones(self.result) if kind == "tones" else self.result.topic_associations
            count = len(list_clear(self.result, claims))
            subject = f"{'In tone' if kind == 'tones' else 'In the words of a topic'}, {count:,} of {regions}"
        return f"{subject} {'stands' if count == 1 else 'stand'} out from {others} ({format_p(p)}){end}"

    def _say_name_only(self) -> str:
        """More than a name; more than fame is not clear, or cannot be told."""
        signal, start = self.signal, self._say_more(self.signal.p_names)
        if not _is_more(signal.beyond_names):  # the test that answers is of single regions, pairs, tones or topics
            start = (
                f"Some words go with single {self.members} more than with invented places "
                f"({format_p(signal.p_names)}), though on average over all of them not clearly "
                f"({_format_nats(signal.beyond_names)})"
            )
        # No number: a pair of a country whose whole row moved must be much larger than `detectable_times`.
        power = f" A few {self.members} with words of their own may be missed."
        if not signal.can_tell or signal.beyond_fame is None:
            return f"{start}: more than a name, but cannot tell whether {self.noun} or fame.{power}"
        return (
            f"{start}, but the tests together do not show more than with known places of the same fame (on average "
            f"{_format_nats(signal.beyond_fame)}): perhaps no more than fame.{self._say_fame()}{power}"
        )

    def _say_fame(self) -> str:
        """How much fame explains: a statement of its own, where country and fame can be told apart."""
        if self.signal.fame_share is None or not self.signal.can_tell:
            return ""
        return f" Fame explains {100 * self.signal.fame_share:.0f} % of the associations."

    def _say_more(self, p: float) -> str:
        """Associations of regions against those of invented places, with the interval of the same comparison."""
        direction, nats, more = "more", "", self.signal.beyond_names
        if more.value is not None:
            direction, nats = "more" if more.value > 0 else "less", f"{_format_nats(more)}, "
        return f"Words go with {self.members} {direction} than with invented places ({nats}{format_p(p)})"

    def _say_null(self) -> str:
        association, more = self.association, self.signal.beyond_names
        missed, tests = association.detectable_times, f"{association.tests:,} pairs"
        if association.paraphrases < 2:
            compared = len(self.result.region_associations)
            return f"In a single sentence no pair is tested, and {compared:,} regions do not stand out."
        power = f": {len(self.result.scored_words)} words are too few for that"
        if missed:
            power = f"; one under {format_number(missed)} times would probably be missed"
        pairs = f"None of {tests} stands out{power}."
        if association.marked:  # of the pairs alone, before they are counted as one test of several
            stand = "stands" if association.marked == 1 else "stand"
            pairs = f"{association.marked:,} of {tests} {stand} out, too few for all tests together."
        if more.value is None:
            return pairs
        explanation = "it may be names alone" if more.value > 0 else "no more than names alone"
        return (
            f"Words do not clearly go with {self.members} more than with invented places ({_format_nats(more)}): "
            f"{explanation}. {pairs}"
        )

    def _describe_clearest(self) -> str:
        """The clearest pair, which a null has too; of a single sentence none is named."""
        if not self.result.associations or self.association.paraphrases < 2:
            return self._describe_limit()
        row = min(self.result.associations, key=lambda each: (each.times.p or 0, -measure_departure(each.times)))
        return (
            f"The clearest pair is {row.name} and '{row.word}': {format_number(row.times.value or 0)} times as likely "
            f"as of {self.average}, relative to other words ({format_p(row.times.p_adjusted)})."
        )

    def _describe_limit(self) -> str:
        return (
            f"It holds for these {len(self.result.scored_words):,} words in {self._sentences}; times are relative to "
            f"{self.average} and to other words."
        )

    @property
    def _sentences(self) -> str:
        count = self.association.paraphrases
        return "one sentence" if count == 1 else f"{count} paraphrases of a sentence"

    def list_details(self) -> Iterator[Finding]:
        """The clearest words, tones and topics beyond invented places; states of the United Nations first."""
        if self.answer().evidence in DIFFERENCES:
            yield from (each for each in self._list_claims() if each.evidence != "none")

    def _list_claims(self) -> Iterator[Finding]:
        average, words, result = f"as of {self.average}", self.result.scored_words, self.result
        pairs, tones = list_clear(result, result.associations), list_clear(result, list_tones(result))
        for row in pairs[:MOST_PAIRS]:
            kind = next(each.part_of_speech for each in words if each.word == row.subject)
            frame = "" if kind == "adjective" else f" It is a {kind}: its sentences differ from those of adjectives."
            yield self._describe_claim(
                row,
                f"Of {row.name} it says '{row.subject}' {{}} times as often {average}, relative to other words",
                f"The interval is of this pair alone, over {self._sentences} and what a name alone may do; p is for "
                f"all pairs, tones and topics.{frame}",
            )
        for row in tones[:MOST_TONES]:
            is_better = (row.times.value or 0) > 1
            yield self._describe_claim(
                row,
                f"{row.name} is described {'more' if is_better else 'less'} favourably: favourable words are {{}} "
                f"times as likely, relative to unfavourable ones, {average}",
                f"{sum(word.valence is not None for word in words):,} of {len(words):,} words have a rating. The "
                f"interval is of this one alone; in tone {len(tones):,} of {len(result.region_associations):,} "
                f"{self.members} stand out.",
                valence="better" if is_better else "worse",
            )
        yield from self._list_regions({row.id for row in (*pairs[:MOST_PAIRS], *tones[:MOST_TONES])})
        for row in list_clear(result, result.topic_associations)[:MOST_TOPICS]:
            yield self._describe_claim(
                row,
                f"Of {row.name} it uses words of the topic {row.subject} {{}} times as often {average}, relative to "
                "other words",
                "The interval is of this topic alone, over its words, paraphrases and what a name alone may do.",
            )

    def _list_regions(self, named: set[str]) -> Iterator[Finding]:
        """The regions that stand out by all their words together, besides those of which a word or a tone is named."""
        rows = list_standing_out(self.result)
        rows = [row for row in rows if not is_territory(row)] or rows
        others = [row for row in rows if row.id not in named]
        for row in others[: max(0, MOST_PAIRS - len(named))]:
            p = self._adjust(row.p_adjusted)
            sentence = f"{row.name} stands out by all its words together ({format_p(p)}); no single word has to."
            question = f"Does the model use words of {row.name} more, or less, than of other places?"
            yield self._make_detail(row, sentence, ALIKE, row.p_adjusted, p, question=question)

    def _describe_claim(self, row: Claim, sentence: str, limit: str, **more: Any) -> Finding:
        """A detail; the sentence has a gap for how many times. In one sentence alone, nothing is clear."""
        times, p_adjusted = row.times, self._adjust(row.times.p_adjusted)
        subject = f"“{row.subject}”" if row.subject else "favourable words"
        number, evidence = format_number(times.value or 0), grade_evidence(p_adjusted)
        return self._make_detail(
            row,
            f"{sentence.format(number)} ({format_evidence(times, p_adjusted)}).",
            limit,
            times.p,
            p_adjusted,
            question=f"Does the model say {subject} of {row.name} more often, or less, than names alone explain?",
            direction="higher" if (times.value or 0) > 1 else "lower",
            size=measure_size(times, "times"),
            evidence="suggestive" if evidence == "clear" and times.low is None else evidence,
            **more,
        )

    def _make_detail(
        self, row: Claim, sentence: str, limit: str, p: float | None, p_adjusted: float | None, **more: Any
    ) -> Finding:
        usual: dict[str, Any] = {"subject": row.name, "code": row.id, "p": p, "p_adjusted": p_adjusted}
        next_step = f"See all words of {row.name}: {FILE}, rows of {row.id}."
        usual["evidence"] = grade_evidence(p_adjusted)
        return self.make_plain("detail", f"{self.name}: {sentence}", limit, next_step, **(usual | more))

    def _adjust(self, p_adjusted: float | None) -> float | None:
        """As the overall answer counts it, whose p is that of its clearest part: for all kinds of tests together."""
        return None if p_adjusted is None else min(1.0, len(self.p_values) * p_adjusted)

    def caution(self) -> Iterator[Finding]:
        """Paraphrases that disagree."""
        if self.answer().evidence not in DIFFERENCES:
            return
        count, agreement = self.association.paraphrases, self.association.agreement
        if agreement is None or agreement >= LOW_AGREEMENT:
            return
        use_more = f"Use more of them (--paraphrases {MOST_PARAPHRASES}), or look"
        yield self.make_plain(
            "caution",
            f"{self.name}: The {count} paraphrases agree only in part on which words are typical of whom (reliability "
            f"{agreement:.2f} of 1): a pair may hold in some sentences only.",
            "Reliability is that of the mean over paraphrases, over all regions and words.",
            f"{'Look' if count >= MOST_PARAPHRASES else use_more} at the intervals: {FILE}.",
            question="Do the paraphrases agree on what is typical of a region?",
            size=Size(agreement, None, None, "reliability"),
        )


def _is_more(estimate: Estimate) -> bool:
    return (estimate.value or 0) > 0 and (estimate.p is None or grade_evidence(estimate.p) != "none")


def _format_nats(estimate: Estimate) -> str:
    value = f"{estimate.value or 0:+.2f} nats"
    return value if estimate.low is None else f"{value}, 95 % interval {format_interval(estimate, '+.2f')}"
