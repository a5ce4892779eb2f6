"""What an audit of finders concludes: whose names a finder recognises less often than others."""

from __future__ import annotations

from collections.abc import Iterator

from geobias.audits.find.answers import list_examples
from geobias.audits.find.result import FactorLevel, FinderMeasures, FindResult, OutcomeShare, to_percent
from geobias.audits.inputs import describe_copies
from geobias.measures.estimates import NO_ESTIMATE, Estimate
from geobias.models.finders import EMBEDDED_FINDER
from geobias.report.findings import ExampleText, Finding, Role, format_p, grade_evidence
from geobias.report.model_findings import MOST_DETAILS, Caution, Family, ModelFindings, TooLittle, conclude
from geobias.report.page.charts import Valence
from geobias.report.results import HasInterval, Interval
from geobias.report.sentences import measure_size, say_missed
from geobias.report.tables import is_marked

FEW_NAMES = 10  # of a kind: with fewer, single names weigh much
LISTED = 3
LOW_PRECISION = 0.5
UNIT = OutcomeShare.unit
RECOGNITION = Valence(1, "recognised more", "recognised less")
VOCABULARY = "training names are left out, but its vocabulary knows the bundled lists"
LISTS = "Names are common ones from lists; a name is not a nationality."
SEE_NAMES = "See tables/names.csv for the recall of each name."
OWN_NAMES = "Use names of your own (--gazetteer FILE)."
FACTORS = {  # the question, and what limits the answer
    "gender": ("Does recall depend on the gender of the name?", "It is the mean over countries."),
    "part": ("Does recall depend on the part of the name?", "Full names and single names stand in different texts."),
    "case": ("Does recall depend on the case of the name?", "Only the case of the name changes, not of the text."),
    "script": (
        "Does recall depend on the script of the name?",
        "Scripts are correlated with countries, so either may be the cause.",
    ),
}


def list_findings(result: FindResult) -> list[Finding]:
    return conclude(FinderFindings(result, entry) for entry in result.finders)


def make_family(result: FindResult, entry: FinderMeasures) -> Family[OutcomeShare]:
    """The recall of all countries; territories are named where no state stands out."""
    model = next(model for model in result.models if model.name == entry.model)
    return Family(model, "recall", result.list_effects(entry.model), RECOGNITION, prefers_states=True)


class FinderFindings(ModelFindings[OutcomeShare]):
    audit = "find"
    question = "Does the finder recognise the names of some countries less often than those of the others?"

    def __init__(self, result: FindResult, entry: FinderMeasures) -> None:
        super().__init__(make_family(result, entry), is_one_of_several=len(result.finders) > 1)
        self.result, self.entry = result, entry
        self.factors = [level for level in result.factors if level.model == entry.model]
        self.texts = result.counts.texts_with_names
        self.start = f"{self.name} finds {_percent(entry.recall)} of names"
        self.own_texts = f"Use marked texts of your own: geobias find {self.name} --texts FILE --spans COLUMN"
        self.is_held_out = result.settings.held_out and entry.model == EMBEDDED_FINDER

    def limit(self, role: Role, effect: OutcomeShare | None) -> str:
        return LISTS

    def next_step(self, role: Role, effect: OutcomeShare | None) -> str:
        return SEE_NAMES if role == "detail" else self.own_texts

    def explain_too_little(self) -> TooLittle | None:
        if self.result.has_enough_texts:
            return None
        counts = self.result.counts
        return TooLittle(
            f"{self.name}: {self.texts} texts with names{describe_copies(counts.texts, counts.copies)} are too few to "
            "compare countries: use at least 30.",
            self.own_texts,
            "Nothing can be said about recall.",
        )

    def explain_no_test(self) -> TooLittle | None:
        first = self.family.first
        if not self.entry.recall.value:
            sentence = f"{self.name} finds no name of any country, so recall cannot be compared."
            return TooLittle(sentence, self.own_texts, "It may find others.")
        if len(self.family.effects) == 1:
            sentence = f"{self.start} from {first.place}: one country cannot be compared with others."
            return TooLittle(sentence, self.own_texts, LISTS)
        if first.evidence == "not testable":
            sentence = f"{self.start}. Countries cannot be tested: use --draws 2 or more, and more texts."
            return TooLittle(sentence, self.own_texts, LISTS)
        return None

    def say(self, effect: OutcomeShare) -> str:
        """ "tagger finds only 74 % (62 to 86) of names from Vietnam, 21 percentage points (9 to 33) fewer than ..."."""
        return f"{self.name} finds {self._describe(effect)}"

    def say_answer(self, effect: OutcomeShare) -> str:
        return f"{self.start}, and {self._describe(effect)}"

    def _describe(self, effect: OutcomeShare) -> str:
        certainty = "" if is_marked(effect.against_mean) else f" ({format_p(effect.p_adjusted)}: not certain)"
        return (
            f"{'only ' if effect.value < 0 else ''}{_percent(effect.share)} of names from {effect.place}, "
            f"{_gap(effect.against_mean)} than the mean of countries{certainty}"
        )

    def close(self, effect: OutcomeShare) -> str:
        if not effect.stands_out:
            return f"{self.family.tested} were tested."
        lower, higher = (len(self.family.list_standing_out(sign)) for sign in (-1, 1))
        return (
            f"Of {self.family.tested} {lower} {'lies' if lower == 1 else 'lie'} below the mean and {higher} above it."
        )

    @property
    def closest(self) -> OutcomeShare:
        return min(self.family.effects, key=lambda effect: effect.share.value or 0)

    def say_nothing(self, closest: OutcomeShare) -> str:
        differences = [effect.against_mean.value or 0.0 for effect in self.family.effects]
        effect = self.entry.detectable_difference
        power = say_missed(f"{self.texts:,} texts", effect, differences, lambda size: f"{_points(size)} {UNIT}")
        return (
            f"{self.start}. No country's names stand out: {len(self.family.effects)} tested; the lowest is "
            f"{closest.place} with {_percent(closest.share)}, {format_p(closest.p_adjusted)}.{power}"
        )

    def list_examples(self, effect: OutcomeShare) -> list[ExampleText]:
        is_worse = effect.stands_out and effect.value < 0
        return list_examples(self.result, self.entry.model, effect.code or "") if is_worse else []

    def list_more_details(self) -> Iterator[Finding]:
        """Kinds of names whose recall differs from that of the first kind."""
        marked = sorted((level for level in self.factors if level.is_marked), key=lambda level: -abs(level.value))
        yield from (self._report_level(level, level.difference or NO_ESTIMATE) for level in marked[:MOST_DETAILS])

    def _report_level(self, level: FactorLevel, difference: Estimate) -> Finding:
        reference = next(each for each in self.factors if each.factor == level.factor)
        question, limit = FACTORS[level.factor]
        is_higher = level.value > 0
        return Finding(
            role="detail",
            audit=self.audit,
            model=self.entry.model,
            question=question,
            subject=level.title,
            direction="higher" if is_higher else "lower",
            valence="better" if is_higher else "worse",
            size=measure_size(Interval(**to_percent(difference)), UNIT),
            p=difference.p,
            p_adjusted=difference.p_adjusted,
            evidence=grade_evidence(difference.p_adjusted),
            sentence=f"{self.name}, {level.title}: {_percent(level.recall)} found, {_gap(difference)} than "
            f"{reference.title}.",
            limit=limit,
            next_step="See the table of kinds of names on the page.",
        )

    # What may be an artefact

    def list_cautions(self) -> Iterator[Caution]:
        original, precision = self.entry.original_recall, self.entry.precision
        if original.high is not None and self.entry.recall.low is not None and original.high < self.entry.recall.low:
            reason = VOCABULARY if self.is_held_out else "names from lists are easier"
            yield Caution(f"{self.name} finds only {_percent(original)} of the original names: {reason}.", OWN_NAMES)
        elif self.is_held_out:
            yield Caution(f"{self.name}: {VOCABULARY}.", OWN_NAMES)
        short = [effect.place for effect in self.family.effects if effect.fewest_names < FEW_NAMES]
        if short:
            more = f" and {len(short) - LISTED} more" if len(short) > LISTED else ""
            yield Caution(
                f"{self.name} saw few names (under {FEW_NAMES} male, female or last) from {', '.join(short[:LISTED])}"
                f"{more}: single names weigh much.",
                SEE_NAMES,
            )
        if precision.value is not None and precision.value < LOW_PRECISION:
            yield Caution(
                f"{self.name}: of what it marks as a person in the original texts only {_percent(precision)} is one, "
                "so a high recall means little.",
                "Look at precision before recall.",
            )


def _gap(difference: Estimate) -> str:
    """The size with its interval, and its direction: "22 percentage points (16 to 28) fewer"."""
    value = difference.value or 0.0
    sign = -1 if value < 0 else 1
    ends = sorted(sign * end for end in (difference.low, difference.high) if end is not None)
    interval = f" ({_points(ends[0])} to {_points(ends[1])})" if len(ends) == 2 else ""
    return f"{_points(abs(value))} {UNIT}{interval} {'fewer' if value < 0 else 'more'}"


def _percent(share: HasInterval) -> str:
    """A share with its interval: "92 % (90 to 94)"."""
    interval = "" if share.low is None or share.high is None else f" ({100 * share.low:.0f} to {100 * share.high:.0f})"
    return "no share" if share.value is None else f"{100 * share.value:.0f} %{interval}"


def _points(share: float) -> str:
    return f"{100 * share:.1f}" if abs(share) < 0.0995 else f"{100 * share:.0f}"
