"""What an audit of finders concludes: whose names a finder recognises less often than others."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from geobias.audits.find.answers import Outcome
from geobias.audits.find.result import CountryRecall, FactorLevel, FinderMeasures, FindResult
from geobias.audits.inputs import describe_copies
from geobias.measures.estimates import Estimate
from geobias.models.finders import EMBEDDED_FINDER
from geobias.report.findings import MOST_EXAMPLES, ExampleText, Finding, Role, Size, format_p, grade_evidence
from geobias.report.results import HasInterval
from geobias.report.sentences import say_missed
from geobias.report.tables import is_marked
from geobias.world.countries import UN_STATES

FEW_NAMES = 10  # of a kind: with fewer, single names weigh much
MOST_DETAILS = 5
LISTED = 3
LOW_PRECISION = 0.5
UNIT = "percentage points"
QUESTION = "Does the finder recognise the names of some countries less often than those of the others?"
VOCABULARY = "training names are left out, but its vocabulary knows the bundled lists"
LISTS = "Names are common ones from lists; a name is not a nationality."
FACTORS = {  # the question, and what limits the answer
    "gender": ("Does recall depend on the gender of the name?", "It is the mean over countries."),
    "part": ("Does recall depend on the part of the name?", "Full names and single names stand in different texts."),
    "case": ("Does recall depend on the case of the name?", "Only the case of the name changes, not of the text."),
    "script": (
        "Does recall depend on the script of the name?",
        "Scripts are correlated with countries, so either may be the cause.",
    ),
}
LABEL = "person"  # before and after: 1 where the name is marked as a person with the right ends, else 0


def list_findings(result: FindResult) -> list[Finding]:
    writers = [_Writer(result, entry) for entry in result.finders]
    return [
        *(writer.overall() for writer in writers),
        *(finding for writer in writers for finding in writer.details()),
        *(finding for writer in writers for finding in writer.cautions()),
    ]


class _Writer:
    """The findings of one finder."""

    def __init__(self, result: FindResult, entry: FinderMeasures) -> None:
        self.result, self.entry, self.name = result, entry, entry.model.short_name
        self.texts = result.counts.texts_with_names
        self.copies = describe_copies(result.counts.texts, result.counts.copies)
        self.has_enough = result.has_enough_texts
        self.marked = sorted(entry.standing_out, key=_rank)

    @property
    def ranked(self) -> list[CountryRecall]:
        """The strongest evidence first."""
        return sorted(self.entry.countries, key=_rank)

    def overall(self) -> Finding:
        if not self.has_enough:
            return self._overall(
                None,
                f"{self.name}: {self.texts} texts with names{self.copies} are too few to compare countries: use at "
                "least 30.",
                "Nothing can be said about recall.",
            )
        if not self.entry.recall.value:
            return self._overall(
                None, f"{self.name} finds no name of any country, so recall cannot be compared.", "It may find others."
            )
        start = f"{self.name} finds {_percent(self.entry.recall)} of names"
        first = self.marked[0] if self.marked else self.ranked[0]
        evidence = grade_evidence(first.recall.against_mean.p_adjusted)
        if len(self.entry.countries) == 1:
            return self._overall(
                None, f"{start} from {first.country}: one country cannot be compared with others.", LISTS
            )
        if evidence == "not testable":
            return self._overall(
                None, f"{start}. Countries cannot be tested: use --draws 2 or more, and more texts.", LISTS
            )
        if evidence == "none":
            lowest = self.entry.ranked_countries[0]
            return self._overall(lowest, f"{start}. {self._null(lowest)}", LISTS)
        return self._overall(first, f"{start}, and {self._describe(first)}. {self._count_marked(first)}", LISTS)

    def details(self) -> Iterator[Finding]:
        """More countries that stand out, then kinds of names; none where several finders fill the list."""
        if not self.has_enough or len(self.result.finders) > 1:
            return
        for country in self.marked[1 : 1 + MOST_DETAILS]:
            yield self._country_finding("detail", country, sentence=f"{self.name} finds {self._describe(country)}.")
        levels = [level for level in self.entry.factors if level.difference and is_marked(level.difference)]
        for level in sorted(levels, key=lambda level: -abs(_value(level.difference)))[:MOST_DETAILS]:
            yield self._factor_finding(level)

    def cautions(self) -> Iterator[Finding]:
        if not self.has_enough:
            return
        originals = self.entry.originals
        if _is_below(originals.recall, self.entry.recall):
            yield self._caution(
                f"{self.name} finds only {_percent(originals.recall)} of the original names: {self._explain_lists}.",
                "Use names of your own (--gazetteer FILE).",
            )
        elif self._is_held_out:
            yield self._caution(f"{self.name}: {VOCABULARY}.", "Use names of your own (--gazetteer FILE).")
        short = [country.country for country in self.entry.countries if min(country.names.values()) < FEW_NAMES]
        if short:
            more = f" and {len(short) - LISTED} more" if len(short) > LISTED else ""
            yield self._caution(
                f"{self.name} saw few names (under {FEW_NAMES} male, female or last) from {', '.join(short[:LISTED])}"
                f"{more}: single names weigh much.",
                "See tables/names.csv for the recall of each name.",
            )
        if originals.precision.value is not None and originals.precision.value < LOW_PRECISION:
            yield self._caution(
                f"{self.name}: of what it marks as a person in the original texts only {_percent(originals.precision)} "
                "is one, so a high recall means little.",
                "Look at precision before recall.",
            )

    def _null(self, lowest: CountryRecall) -> str:
        share, p = _percent(lowest.recall), format_p(lowest.recall.against_mean.p_adjusted)
        differences = [_value(country.recall.against_mean) for country in self.entry.countries]
        effect = self.entry.detectable_difference
        power = say_missed(f"{self.texts:,} texts", effect, differences, lambda size: f"{_points(size)} {UNIT}")
        return (
            f"No country's names stand out: {len(self.entry.countries)} tested; the lowest is {lowest.country} with "
            f"{share}, {p}.{power}"
        )

    def _describe(self, country: CountryRecall) -> str:
        difference = country.recall.against_mean
        degree = "only " if _value(difference) < 0 else ""
        certainty = "" if is_marked(difference) else f" ({format_p(difference.p_adjusted)}: not certain)"
        return (
            f"{degree}{_percent(country.recall)} of names from {country.country}, {_gap(difference)} than the mean of "
            f"countries{certainty}"
        )

    def _count_marked(self, first: CountryRecall) -> str:
        total = len(self.entry.countries)
        if first not in self.marked:
            return f"{total} countries were tested."
        lower = sum(_value(country.recall.against_mean) < 0 for country in self.marked)
        higher = len(self.marked) - lower
        return f"Of {total} countries {lower} {'lies' if lower == 1 else 'lie'} below the mean and {higher} above it."

    def _overall(self, country: CountryRecall | None, sentence: str, limit: str) -> Finding:
        command = f"geobias find {self.name} --texts FILE --spans COLUMN"
        step = f"Use marked texts of your own: {command}"
        if country is None:
            return self._finding(
                "overall", question=QUESTION, evidence="not testable", sentence=sentence, limit=limit, next_step=step
            )
        is_worse = _value(country.recall.against_mean) < 0 and country in self.marked
        examples = list_examples(self.result, self.entry, country.code) if is_worse else []
        return self._country_finding(
            "overall", country, sentence=sentence, limit=limit, next_step=step, examples=examples
        )

    def _country_finding(self, role: Role, country: CountryRecall, **parts: Any) -> Finding:
        return self._finding(
            role,
            **{
                "question": QUESTION,
                "subject": country.country,
                "code": country.code,
                "limit": LISTS,
                "next_step": "See tables/names.csv for the recall of each name.",
                **_difference_fields(country.recall.against_mean),
                **parts,
            },
        )

    def _factor_finding(self, level: FactorLevel) -> Finding:
        assert level.difference is not None
        reference = next(each for each in self.entry.factors if each.factor == level.factor)
        question, limit = FACTORS[level.factor]
        return self._finding(
            "detail",
            question=question,
            subject=level.title,
            **_difference_fields(level.difference),
            sentence=f"{self.name}, {level.title}: {_percent(level.recall)} found, {_gap(level.difference)} than "
            f"{reference.title}.",
            limit=limit,
            next_step="See the table of kinds of names on the page.",
        )

    def _caution(self, sentence: str, next_step: str) -> Finding:
        return self._finding(
            "caution",
            question=QUESTION,
            evidence="not testable",
            sentence=sentence,
            limit=LISTS,
            next_step=next_step,
        )

    def _finding(self, role: Role, **parts: Any) -> Finding:
        return Finding(role=role, audit=self.result.audit, model=self.entry.model.name, **parts)

    @property
    def _explain_lists(self) -> str:
        return VOCABULARY if self._is_held_out else "names from lists are easier"

    @property
    def _is_held_out(self) -> bool:
        return self.result.settings.held_out and self.entry.model.name == EMBEDDED_FINDER


def _rank(country: CountryRecall) -> tuple[bool, bool, float, float]:
    """Marked countries by size, states first; then the others by p-value.

    By size in both directions: a single country far above the mean puts all the others a little below it.
    """
    difference = country.recall.against_mean
    is_clear = is_marked(difference)
    p = 1.0 if difference.p_adjusted is None or is_clear else difference.p_adjusted
    return not is_clear, is_clear and country.code not in UN_STATES, p, -abs(_value(difference))


def _difference_fields(difference: Estimate) -> dict[str, Any]:
    value = _value(difference)
    low, high = (None if end is None else 100 * end for end in (difference.low, difference.high))
    return {
        "direction": "higher" if value > 0 else "lower" if value < 0 else None,
        "valence": "better" if value > 0 else "worse" if value < 0 else None,
        "size": None if difference.value is None else Size(100 * difference.value, low, high, UNIT),
        "p": difference.p,
        "p_adjusted": difference.p_adjusted,
        "evidence": grade_evidence(difference.p_adjusted),
    }


def _value(estimate: Estimate | None) -> float:
    return 0.0 if estimate is None or estimate.value is None else estimate.value


def _is_below(share: HasInterval, other: HasInterval) -> bool:
    return share.high is not None and other.low is not None and share.high < other.low


def _gap(difference: Estimate) -> str:
    """The size with its interval, and its direction: "22 percentage points (16 to 28) fewer"."""
    value = _value(difference)
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


def list_examples(result: FindResult, entry: FinderMeasures, code: str) -> list[ExampleText]:
    """One mention of each text; nothing for a result that was read from a file."""
    answers = next((each for each in result.answers if each.model == entry.model), None)
    if answers is None:
        return []
    design = result.get_design()
    country = list(design.counterfactuals.countries).index(code)
    is_missed = (answers.renamed[:, country] != Outcome.RECALL) & (answers.original == Outcome.RECALL)[:, None]
    examples: dict[int, ExampleText] = {}
    for number, draw in np.argwhere(is_missed):
        mention = design.mentions[number]
        if mention.text in examples:
            continue
        changed, spans = design.counterfactuals.render(mention.text, country, int(draw))
        start, end = spans[number - design.first_mentions[mention.text]]
        row = int(design.named[mention.text])
        original = design.texts.texts[row]
        examples[mention.text] = ExampleText(
            text_id=design.texts.ids[row],
            original=original,
            changed=changed,
            label=LABEL,
            before=1.0,
            after=0.0,
            original_names=[original[slice(*mention.span)]],
            changed_names=[changed[start:end]],
        )
        if len(examples) == MOST_EXAMPLES:
            break
    return list(examples.values())
