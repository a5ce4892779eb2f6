"""What a regions audit concludes: what is said of whom (`association_findings.py`), and what HERB's score tells.

HERB's score is a distance: it says that descriptions differ, not which place is described better. Every finding about
it is relative to random regions of the same level. Three kinds of test answer for the whole tree, so each counts as
many times as there are tests (Bonferroni):

- all groups at once, such as the countries of every continent (`measures/grouping.py`);
- for each level, its regions one by one; the smallest Benjamini-Hochberg p-value is Simes' test of the level.

Single regions are reported only where the overall test is not negative (gatekeeping). Where names alone may make the
score (`is_artefact`), nothing is called clear.
"""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median
from typing import Any

from scipy import stats

from geobias.audits.regions.association_findings import AssociationFindings
from geobias.audits.regions.known import KnownFindings
from geobias.audits.regions.result import RegionsResult, pluralise
from geobias.audits.regions.rows import RegionScores
from geobias.audits.regions.tables import (
    FULL_PLACEBO,
    LARGE,
    compare_placebo,
    describe_correlation,
    find_strongest,
    is_artefact,
)
from geobias.measures.estimates import POWER, SIGNIFICANT
from geobias.measures.random_regions import MIN_REGIONS, top_groups
from geobias.report.findings import DIFFERENCES, Finding, Role, Size, format_p, grade_evidence
from geobias.report.model_findings import MOST_DETAILS, Conclusions, conclude
from geobias.report.sentences import measure_size, say_missed
from geobias.report.tables import digits, format_interval, interval
from geobias.world.countries import UN_STATES

CONDITIONAL = "conditional"
MEDIUM = 0.3  # correlations, as Cohen (1988) calls them
NOTABLE_PLACEBO = 0.5  # distance between invented places, divided by that between real ones
LARGEST_P = 0.9  # of regions whose standard error is read off: near 1 it is a ratio of two numbers near 0
NO_DIRECTION = "A distance has no direction: it does not say which place is described better or worse."
NAMES_NOT_TESTED = "Whether names alone explain it was not tested: that takes ten regions of a level, or --placebo."
UNIT = "times"


def list_findings(result: RegionsResult) -> list[Finding]:
    """The overall answers, what stands out, and what may be an artefact; associations before distances."""
    parts: list[Conclusions] = [DistanceFindings(result)]
    if result.settings.paraphrases is not None:
        parts.insert(0, AssociationFindings(result))
    if result.known is not None:
        parts.append(KnownFindings(result, result.known))
    return conclude(parts)


class DistanceFindings(Conclusions):
    """How far apart the sub-regions of regions lie, by HERB's score."""

    audit = "regions"

    def __init__(self, result: RegionsResult) -> None:
        super().__init__(result.model)
        self.result, self.is_artefact = result, is_artefact(result)
        # Two answers are told apart by their measures; a single one needs no name.
        self.measure = None if result.settings.paraphrases is None else "distance"
        # The root is left out: its score rests on the bare names of the regions directly below it, so that random
        # reassignment of what lies below them hardly changes it.
        self.tested = [region for region in result.regions[1:] if region.c_w_balanced.p_adjusted is not None]
        self.levels: dict[str, list[RegionScores]] = {}
        for region in self.tested:
            self.levels.setdefault(region.level, []).append(region)
        groups = top_groups(result.tree.children)
        self.parent = self.members = ""  # of the groups that were tested together: their level, and their members'
        if groups:
            member = result.regions[groups[0][0]]
            self.parent, self.members = result.regions[member.parent_index or 0].level, pluralise(member.level)

    @property
    def question(self) -> str:
        if not self.members:
            return "Are the sub-regions of a region described more alike than random ones?"
        return f"Are the {self.members} of {self._one_parent} described more alike than random {self.members}?"

    @property
    def _one_parent(self) -> str:
        """A single region of the level, and which level if that has only a number."""
        return f"one region at {self.parent}" if self.parent.startswith("level ") else f"one {self.parent}"

    def _make(self, role: Role, sentence: str, limit: str, next_step: str, **more: Any) -> Finding:
        """No clear evidence of a difference between places where names alone may make it; cautions have no measure."""
        if role == "caution":
            more["measure"] = None
        elif more.get("evidence") == "clear" and self.is_artefact:
            more["evidence"] = "suggestive"
        return self.make_plain(role, sentence, limit, next_step, **more)

    def answer(self) -> Finding:
        p_values = [min(each.c_w_balanced.p_adjusted or 0.0 for each in regions) for regions in self.levels.values()]
        ratio = self.result.grouping.ratio if self.result.grouping else None
        if ratio and ratio.p is not None:
            p_values.append(ratio.p)
        if not p_values:
            return self._explain_no_test()
        p = min(1.0, len(p_values) * min(p_values))
        is_negative = grade_evidence(p) == "none"
        carries_p = ratio is not None and ratio.p is not None and ratio.p == min(p_values)
        if ratio and ratio.value is not None and (carries_p or is_negative):
            size = Size(ratio.value, ratio.low, ratio.high, UNIT)
            sentence = self._describe_groups(size, p, is_negative=is_negative)
        else:  # a single region carries the evidence: size and direction are its own
            region = self._choose_clearest(is_negative=is_negative)
            size = Size(region.ratio or 1.0, None, None, UNIT)
            start = "No region's" if is_negative else "Single regions'"
            sentence = (
                f"{start} sub-regions are described more alike or more differently than random ones: "
                f"{len(self.tested):,} tested; the clearest: {region.name}, {size.value:.2f} times as far apart "
                f"({format_p(p)})"
            )
        if is_negative:
            effect = self._find_detectable_departure(len(p_values))
            missed = say_missed("words and regions", effect, [size.value - 1], lambda share: f"{100 * share:.2g} %")
            sentence = f"{sentence}.{missed}"
        else:
            doubt = ", but names alone may explain it" if self.is_artefact else ""
            sentence = " ".join([f"{sentence}{doubt}.", *self._count_marked()])
        return self._make(
            "overall",
            f"{self.result.label}: {sentence}",
            NO_DIRECTION if self.result.tokenisation or self.result.placebo else NAMES_NOT_TESTED,
            self._choose_next_step(is_negative=is_negative),
            direction="higher" if size.value > 1 else "lower",
            size=size,
            p=min(p_values),
            p_adjusted=p,
            evidence=grade_evidence(p),
        )

    def _explain_no_test(self) -> Finding:
        """There are no two groups, so there is nothing that a score can be compared with."""
        region = next((region for region in self.result.regions if region.has_pairs), None)
        score = "no region has two sub-regions."
        if region and region.c_w_balanced.value is not None:
            score = (
                f"the {region.children:,} sub-regions of {region.name} lie {digits(region.c_w_balanced.value)} apart, "
                "with no random ones to compare them with."
            )
        return self._make(
            "overall",
            f"{self.result.label}: Whether it describes regions of one parent alike cannot be tested: {score}",
            NO_DIRECTION,
            "Choose regions below at least two parents, such as the countries of two continents.",
            size=measure_size(region.c_w_balanced, "distance") if region else None,
        )

    def _describe_groups(self, size: Size, p: float, *, is_negative: bool) -> str:
        bounds = "" if size.low is None else f"95 % interval {format_interval(size, '.2f')}, "
        if is_negative:
            level = "region" if self.parent.startswith("level ") else self.parent
            meaning = f"no pattern by {level} beyond single {self.members}"
        else:
            meaning = f"described more {'alike' if size.value < 1 else 'differently'}"
        return (
            f"{self.members.capitalize()} of {self._one_parent} lie {size.value:.2f} times as far "
            f"apart as random ones ({bounds}{format_p(p)}): {meaning}"
        )

    def _count_marked(self) -> Iterator[str]:
        """How many regions of each level stand out."""
        for level, regions in self.levels.items():
            marked = sum(region.stands_out for region in regions)
            if marked:
                yield f"{marked:,} of {len(regions):,} {pluralise(level)} {'stands' if marked == 1 else 'stand'} out."

    def _is_left_behind(self, region: RegionScores) -> bool:
        """Whether a country is none of the UN; findings name those first, unless the user chose the countries."""
        return self.result.is_of_all_countries and region.level == "country" and region.id not in UN_STATES

    def _choose_clearest(self, *, is_negative: bool) -> RegionScores:
        """The region with the smallest p-value; a territory only where it stands out and no other region does."""
        tested, others = self.tested, [region for region in self.tested if not self._is_left_behind(region)]
        if is_negative or any(region.stands_out for region in others):
            tested = others or tested
        return min(tested, key=lambda region: (region.c_w_balanced.p_adjusted or 0.0, -region.departure))

    def _find_detectable_departure(self, tests: int) -> float | None:
        """The smallest departure of the ratio from 1 that is found with a power of 80 %, by the normal approximation.

        Without a test of all groups at once it is that of a single region, whose standard error follows from its ratio
        and p-value; the median over regions.
        """
        if self.result.grouping:
            spread = self.result.grouping.null_spread
        else:
            spreads = [
                abs(region.ratio - 1) / float(stats.norm.isf(region.c_w_balanced.p / 2))
                for region in self.tested
                if region.ratio and region.c_w_balanced.p is not None and 0 < region.c_w_balanced.p < LARGEST_P
            ]
            if not spreads:
                return None
            spread, tests = median(spreads), len(self.tested)
        return float(stats.norm.isf(SIGNIFICANT / 2 / tests) + stats.norm.ppf(POWER)) * spread

    def _choose_next_step(self, *, is_negative: bool) -> str:
        if self.is_artefact:
            return self._find_better_option()
        if is_negative:
            return "More words (--words) and templates (--template) find smaller differences."
        if self.result.placebo is None:
            return "Add --placebo to see how far apart invented names lie."
        return "Look at the words in which regions differ most: tables/words.csv."

    def list_details(self) -> Iterator[Finding]:
        """The regions that stand out: the highest level first, then states, then the largest departure."""
        if self.answer().evidence not in DIFFERENCES:
            return
        marked = [
            region
            for regions in self.levels.values()
            for region in sorted(regions, key=lambda each: (self._is_left_behind(each), -each.departure))
            if region.stands_out
        ]
        levels = list(dict.fromkeys(region.level for region in self.result.regions))
        for region in marked[:MOST_DETAILS]:
            c_w, ratio = region.c_w_balanced, region.ratio or 1.0
            members = pluralise(levels[levels.index(region.level) + 1])
            limit = NO_DIRECTION
            if region.influential is not None:
                limit = (
                    f"Without {region.influential} its balanced C_w would be {digits(region.c_w_without_it)} instead "
                    f"of {digits(c_w.value)}."
                )
            yield self._make(
                "detail",
                f"{self.name}: The {region.children:,} {members} of {region.name} lie {ratio:.2f} "
                f"times as far apart as random ones ({format_p(c_w.p_adjusted)}): described more "
                f"{'differently' if region.is_sparser else 'alike'}.",
                limit,
                f"Look at the words in which they differ most: tables/words.csv, rows of {region.id}.",
                question=f"Are the {members} of {region.name} described more alike or more differently than random "
                "ones?",
                subject=region.name,
                code=region.id,
                direction="higher" if region.is_sparser else "lower",
                size=Size(ratio, None, None, UNIT),
                p=c_w.p,
                p_adjusted=c_w.p_adjusted,
                evidence=grade_evidence(c_w.p_adjusted),
            )

    def _find_better_option(self) -> str:
        """What depends less on names, or shows what they do; only what this run has not used."""
        model = self.result.model
        options = [] if self.result.placebo else ["--placebo"]
        if model.score != CONDITIONAL and (model.architecture or model.endpoint):
            options.insert(0, f"--score {CONDITIONAL}")
        other_model = "use a causal model" if "MaskedLM" in (model.architecture or "") else "use another model"
        if not options:
            return f"{other_model.capitalize()}; compare places whose names have as many tokens."
        return f"Add {' '.join(options)} to the command, or {other_model}."

    def caution(self) -> Iterator[Finding]:
        strongest, placebo = find_strongest(self.result), self.result.placebo
        if strongest and strongest.size >= MEDIUM:
            correlation = strongest.correlation
            bounds = f", 95 % interval {interval(correlation, 2)}" if correlation.low is not None else ""
            yield self._make(
                "caution",
                f"{self.name}: {describe_correlation(strongest)} (Spearman {correlation.value:+.2f}{bounds}): "
                f"{'much' if strongest.size >= LARGE else 'part'} of HERB's distances may be an artefact of the names, "
                "not a description of the places.",
                f"A correlation over {strongest.regions:,} {pluralise(strongest.level)}: how much names explain is not "
                "known.",
                self._find_better_option(),
                question=f"Does a {strongest.level}'s distance from its siblings correlate with properties of its "
                "name?",
                direction="higher" if (correlation.value or 0.0) > 0 else "lower",
                size=measure_size(correlation, "Spearman correlation"),
                p=correlation.p,
                p_adjusted=correlation.p_adjusted,
                evidence=grade_evidence(correlation.p_adjusted),
            )
        if placebo and placebo.ratio and compare_placebo(self.result) >= NOTABLE_PLACEBO:
            ratio, members = placebo.ratio, pluralise(placebo.level)
            bounds = f" ({format_interval(ratio, '.2f')})" if ratio.low is not None else ""
            is_full = compare_placebo(self.result) >= FULL_PLACEBO
            may = "alone may produce nearly all" if is_full else "alone produce much"
            tokens = "The invented names were not matched to the real ones by their number of tokens."
            if placebo.tokens is not None and placebo.real_tokens is not None:
                tokens = (
                    f"Invented names have {placebo.tokens:.1f} tokens on average, the real ones "
                    f"{placebo.real_tokens:.1f}."
                )
            yield self._make(
                "caution",
                f"{self.name}: {len(placebo.names)} invented places lie {ratio.value:.2f} times as far apart as real "
                f"{members}{bounds}: names {may} of HERB's distances.",
                tokens,
                self._find_better_option(),
                question=f"Do invented places lie as far apart as real {members}?",
                size=measure_size(ratio, UNIT),
            )
        for agreement in self.result.kendall_w:
            if agreement.p is not None and agreement.p >= SIGNIFICANT and agreement.regions >= MIN_REGIONS:
                members = pluralise(agreement.level)
                yield self._make(
                    "caution",
                    f"{self.name}: The {len(self.result.settings.templates)} templates do not rank the "
                    f"{agreement.regions:,} {members} alike (Kendall's W {agreement.w:.2f}, p = {agreement.p:.2g}): "
                    "results may hold for one wording only.",
                    "With few templates, even agreement may not be clear.",
                    "Look at how much each score varies over the templates: tables/regions.csv, columns ending in "
                    "_spread.",
                    question=f"Do the templates rank the {members} alike?",
                    size=None if agreement.w is None else Size(agreement.w, None, None, "Kendall's W"),
                    p=agreement.p,
                    p_adjusted=agreement.p,
                    evidence=grade_evidence(agreement.p),
                )
