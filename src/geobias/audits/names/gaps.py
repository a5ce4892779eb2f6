"""Gaps: a country against the mean of countries, in Δ or in the predictions of one class, and how to say it."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final, Literal, NamedTuple

from geobias.audits.inputs import describe_copies
from geobias.audits.labels import is_emotion, label_tone
from geobias.audits.limits_and_sources import BUNDLED_TEXTS
from geobias.audits.names.explanations import ALIKE, REMAINS, Explanation, explain, find_country
from geobias.audits.names.records import RarityAdjustment
from geobias.audits.names.result import ClassifierMeasures, CountryChange, NamesResult
from geobias.measures.crossed_variance import FEWEST_ANSWERS, FEWEST_DRAWS, FEWEST_EFFECTIVE_TEXTS, FEWEST_TEXTS
from geobias.measures.estimates import Estimate, find_standing_out
from geobias.report.findings import Evidence, Size, format_p, grade_evidence
from geobias.report.tables import listed
from geobias.world.places import add_article

POINTS: Final = "points"
PER_CENT: Final = "per cent"
STRENGTHS: list[Evidence] = ["clear", "suggestive", "none", "not testable"]


@dataclass(frozen=True)
class Gap:
    """How far one country is from the mean of countries."""

    entry: ClassifierMeasures
    country: CountryChange
    label: str | None
    """The class whose predictions are compared; None for Δ."""
    estimate: Estimate

    @property
    def value(self) -> float:
        assert self.estimate.value is not None  # `list_gaps` leaves out those without
        return self.estimate.value

    @cached_property
    def rarity(self) -> RarityAdjustment | None:
        """What remains between names alike."""
        if self.label is None:
            return self.entry.rarity
        return next((each.rarity for each in self.entry.class_differences if each.label == self.label), None)

    @cached_property
    def explanation(self) -> Explanation | None:
        """Why the gap, clear as it is, is not told of the country; None where it may be."""
        is_clear = self.evidence_as_measured == "clear"
        return explain(self.rarity, [(self.country.code, self.estimate)]) if is_clear else None

    @property
    def evidence_as_measured(self) -> Evidence:
        return grade_evidence(self.estimate.p_adjusted)

    @property
    def evidence(self) -> Evidence:
        """Clear only if it is clear as measured and between names alike."""
        return "suggestive" if self.explanation else self.evidence_as_measured

    @cached_property
    def alike(self) -> Estimate | None:
        """What is left between names alike, where that is less than half: then the gap is told by it."""
        country = find_country(self.rarity, self.country.code)
        if self.evidence != "clear" or country is None or country.adjusted.value is None:
            return None
        before = self.value if self.label is None else country.unadjusted.value or 0
        return country.adjusted if abs(country.adjusted.value) < REMAINS * abs(before) else None

    @property
    def direction(self) -> Literal["higher", "lower"]:
        return "higher" if self.value > 0 else "lower"

    @property
    def tone(self) -> int:
        """1 where a higher value is better for the person, -1 where it is worse, 0 where the labels do not say."""
        if self.is_emotion:
            return 0
        if self.label is None:
            return 1
        if self.entry.positive and self.entry.negative:
            return (self.label in self.entry.positive) - (self.label in self.entry.negative)
        return label_tone(self.label)

    @property
    def valence(self) -> Literal["better", "worse"] | None:
        side = self.tone * self.value
        return None if not side else "better" if side > 0 else "worse"

    @property
    def is_emotion(self) -> bool:
        """Whether it is of emotions that a text expresses, which are no judgement of the people in it."""
        return has_emotions(self.entry) or (self.label is not None and is_emotion(self.label))

    @property
    def size(self) -> Size:
        if self.label is not None:
            return Size(self.value, self.estimate.low, self.estimate.high, PER_CENT)
        told = self.alike or self.estimate
        return Size(told.value or 0.0, told.low, told.high, POINTS)

    @property
    def size_in_words(self) -> str:
        """ "1.8 points lower (harsher)", "12 % more predictions of anger"."""
        if self.label is None:
            return f"{shorten(self.size.value)} points {self.side}"
        return f"{shorten(self.value)} % {'more' if self.value > 0 else 'fewer'} predictions of {self.label}"

    @property
    def side(self) -> str:
        """ "lower (harsher)"; of emotions without the second word."""
        tone = {"better": " (kinder)", "worse": " (harsher)", None: ""}[None if self.label else self.valence]
        return self.direction + tone

    @property
    def certainty(self) -> str:
        """The interval on the side of the gap, and the adjusted p-value."""
        told, sign = self.alike or self.estimate, 1 if self.value > 0 else -1
        assert told.low is not None and told.high is not None  # it was tested
        near, far = sorted((sign * told.low, sign * told.high))
        return f"95 % interval {_shorten_signed(near)} to {_shorten_signed(far)}, {format_p(told.p_adjusted)}"

    def describe(self) -> str:
        """ "Texts with names common in Hungary score 1.3 points higher (kinder) than those of the mean country"."""
        if self.label is not None:
            return self._describe_rate()
        size = self.size_in_words
        if self.alike:
            size += f" between names of equal length, spelling and frequency ({shorten(self.value)} as measured)"
        return f"Texts with {name_origin(self.country.country)} score {size} than in the mean country"

    @property
    def rate(self) -> float:
        """The share of renamed texts that get the class."""
        return self.country.after[str(self.label)] / max(self.country.renamed_texts, 1)

    @property
    def rate_before(self) -> float:
        """The share of original texts."""
        return self.country.before[str(self.label)] / max(self.country.renamed_texts, 1)

    def _describe_rate(self) -> str:
        """ "23 of 100 texts with names common in Poland are called X, 14 in the mean country, 8 of the originals"."""
        every = [each.after[str(self.label)] / max(each.renamed_texts, 1) for each in self.entry.countries]
        mean = round_rate(sum(every) / len(every))
        words = (
            f"{round_rate(self.rate)} of 100 texts with {name_origin(self.country.country)} are called "
            f"{self.label}, {mean} in the mean country, {round_rate(self.rate_before)} of the originals"
        )
        if self.alike and self.alike.value is not None:
            words += f"; {shorten(self.alike.value)} more or less between {ALIKE}"
        return words


def list_gaps(entry: ClassifierMeasures) -> list[Gap]:
    """Those of Δ; of a classifier without Δ, those of its classes."""
    if not has_delta(entry):
        return list_class_gaps(entry)
    gaps = ((country, None, country.inference.against_mean.delta) for country in entry.countries)
    return list(_list_tested(entry, gaps))


def list_class_gaps(entry: ClassifierMeasures) -> list[Gap]:
    """Those of every class; of two that complement each other, those of the rarer one."""
    left_out = _find_complement(entry)
    gaps = (
        (country, label, estimate)
        for country in entry.countries
        for label, estimate in country.inference.against_mean.change.items()
        if label != left_out
    )
    return list(_list_tested(entry, gaps))


def _find_complement(entry: ClassifierMeasures) -> str | None:
    """Of two classes of which each text gets one, that which says nothing more: less tested, or the more frequent."""
    if len(entry.labels) != 2 or entry.multi_label or entry.threshold is not None:
        return None

    def rank(label: str) -> tuple[int, int]:
        estimates = [country.inference.against_mean.change[label] for country in entry.countries]
        untested = sum(estimate.value is None or estimate.p_adjusted is None for estimate in estimates)
        return untested, sum(country.after[label] for country in entry.countries)

    return max(entry.labels, key=rank)


def _list_tested(
    entry: ClassifierMeasures, estimates: Iterable[tuple[CountryChange, str | None, Estimate]]
) -> Iterator[Gap]:
    if len(entry.countries) < 2:  # one country is its own mean
        return
    for country, label, estimate in estimates:
        if estimate.value is not None and estimate.p_adjusted is not None:
            yield Gap(entry, country, label, estimate)


def rank_gaps(gaps: Iterable[Gap]) -> list[Gap]:
    """The strongest evidence first; among equals the largest."""
    return sorted(gaps, key=lambda gap: (STRENGTHS.index(gap.evidence), -abs(gap.value)))


def list_standing_out(gaps: Sequence[Gap]) -> list[Gap]:
    """The clear gaps that do not only mirror others of their measure, in the order of `gaps`."""
    codes = set()
    for label in dict.fromkeys(gap.label for gap in gaps):
        family = [gap for gap in gaps if gap.label == label]
        marks = find_standing_out([gap.estimate for gap in family])
        codes |= {(label, gap.country.code) for gap, stands_out in zip(family, marks, strict=True) if stands_out}
    return [gap for gap in gaps if (gap.label, gap.country.code) in codes]


def list_leading(gaps: Sequence[Gap]) -> list[Gap]:
    """The gaps that stand out as measured and between names alike: those that are told of their countries."""
    return [gap for gap in list_standing_out(gaps) if gap.evidence == "clear"]


def list_mirrored(gaps: Sequence[Gap]) -> list[Gap]:
    """The clear gaps that may only mirror others."""
    standing_out = list_standing_out(gaps)
    return [gap for gap in gaps if gap.evidence_as_measured == "clear" and gap not in standing_out]


def has_delta(entry: ClassifierMeasures) -> bool:
    return bool(entry.positive and entry.negative)


def has_emotions(entry: ClassifierMeasures) -> bool:
    """Whether Δ is of emotions, which are neither better nor worse for the people in a text."""
    return any(map(is_emotion, (*entry.positive, *entry.negative)))


class MissingTest(NamedTuple):
    """Why nothing was tested, and what to run instead."""

    reason: str
    next_step: str


class MissingData(NamedTuple):
    """Why a design gives no interval, and the options that would."""

    reason: str
    remedy: str
    options: str
    alternative: str = ""


def explain_missing_data(texts: int, countries: int, draws: int, *, names_fixed: bool) -> MissingData | None:
    """For a design too small to be tested; None for all others."""
    if countries < 2:
        return MissingData("one country has no mean of countries to differ from", "Add countries", "--countries all")
    if texts < FEWEST_TEXTS:
        reason = f"tests need at least {FEWEST_TEXTS} texts that name somebody, and there are {texts}"
        return MissingData(reason, "Use more texts", "--texts FILE")
    if not names_fixed and draws < FEWEST_DRAWS:
        reason = "with one draw per text, the effect of a name cannot be separated from that of its text"
        return MissingData(reason, "Draw more names", "--draws 50", " (or --names fixed)")
    if not names_fixed and texts * draws < FEWEST_ANSWERS:
        reason = f"tests need at least {FEWEST_ANSWERS} renamed texts per country, and there are {texts * draws}"
        return MissingData(reason, "Draw more names", f"--draws {-(-FEWEST_ANSWERS // texts)}")
    return None


def explain_missing_test(result: NamesResult, entry: ClassifierMeasures) -> MissingTest:
    """For a classifier without a tested gap."""
    counts, names_fixed = result.counts, result.settings.names_are == "fixed"
    missing = explain_missing_data(counts.texts_with_names, counts.countries, counts.draws, names_fixed=names_fixed)
    if missing is not None:
        command = rerun(result, entry, missing.options)
        reason = missing.reason + describe_copies(counts.texts, counts.copies)
        return MissingTest(reason, f"{missing.remedy}: {command}{missing.alternative}")
    changes = "its answers to" if has_delta(entry) else "its predictions of"
    return MissingTest(
        f"names change {changes} fewer than {FEWEST_EFFECTIVE_TEXTS} texts or so",
        f"Use more texts: {rerun(result, entry, '--texts FILE')}",
    )


def rerun(result: NamesResult, entry: ClassifierMeasures, options: str = "") -> str:
    """The command that audits this classifier again, with the user's texts where the run had them."""
    model = entry.model
    if result.settings.texts.source != BUNDLED_TEXTS and "--texts" not in options:
        options = f"--texts FILE {options}"
    place = shlex.quote(f"{model.endpoint}#{model.name}" if model.endpoint else model.name)
    return f"geobias names {place} {options}".rstrip()


def name_origin(country: str) -> str:
    """ "names common in the United States"."""
    return f"names common in {add_article(country)}"


def describe_tone(entry: ClassifierMeasures) -> str:
    """What Δ is the mean of."""
    return f"p({listed(entry.positive)}) - p({listed(entry.negative)})"


def shorten(value: float) -> str:
    """The size of a number with two digits or so."""
    size = abs(value)
    if size >= 10:
        return f"{size:.0f}"
    return f"{size:.1f}" if size >= 1 else f"{size:.2f}"


def round_rate(share: float) -> str:
    """A share as a number of 100 texts."""
    rate = 100 * share
    return f"{rate:.0f}" if rate >= 1 or not rate else f"{rate:.1f}"


def _shorten_signed(value: float) -> str:
    return f"-{shorten(value)}" if value < 0 and float(shorten(value)) else shorten(value)
